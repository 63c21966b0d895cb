// Peers that are programs of their own: SciPy in a Python process, and gnuplot.
#pragma once

#include "curves/curve_data.hpp"
#include "harness.hpp"

#include <optional>
#include <string>

namespace bench {

// A Python that imports scipy: `python3` of PATH, else /usr/bin/python3; empty: there is none.
const std::string& python_with_scipy();
// Whether `gnuplot` is in PATH.
bool has_gnuplot();

// scipy.optimize.curve_fit with its defaults, over arrays a Python process holds in memory and is asked to
// fit again and again: neither its start nor the reading is in its time. `by_hand`: with `jac` written in
// NumPy.
std::optional<Contender> scipy_curve_fit(const CurveCase& c, const Data& data, bool by_hand);

// The same from a file of columns x, y with a header line, in a process of its own each time: start,
// numpy.loadtxt, fit, report of values and standard errors.
std::optional<Contender> scipy_script(const CurveCase& c, const std::string& csv);
// gnuplot's `fit`, likewise.
std::optional<Contender> gnuplot_script(const CurveCase& c, const std::string& csv);

namespace detail {
std::string scipy_name();  // with versions; empty: not found
std::string gnuplot_name();
}  // namespace detail

}  // namespace bench
