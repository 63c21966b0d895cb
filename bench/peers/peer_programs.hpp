// Declares the peers that are separate programs: SciPy in a Python process, and gnuplot. Suites curve and cli
// use them.
#pragma once

#include "curves/curve_data.hpp"
#include "harness.hpp"

#include <optional>
#include <string>

namespace bench {

// Returns a Python that can import scipy: `python3` in PATH, otherwise /usr/bin/python3, or an empty text.
const std::string& python_with_scipy();
// Returns true if `gnuplot` is in PATH.
bool has_gnuplot();

// Runs scipy.optimize.curve_fit with its defaults, in a Python process that keeps the arrays in memory and
// fits repeatedly. Its time excludes start-up and reading. If `by_hand` is true, `jac` is given, written in
// NumPy.
std::optional<Contender> scipy_curve_fit(const CurveCase& c, const Data& data, bool by_hand);

// Runs the same from a file of columns x, y with a header line, in a new process each time. Its time includes
// start-up, numpy.loadtxt, fit, and a report of values and standard errors.
std::optional<Contender> scipy_script(const CurveCase& c, const std::string& csv);
// Runs gnuplot's `fit` in the same way.
std::optional<Contender> gnuplot_script(const CurveCase& c, const std::string& csv);

namespace detail {
std::string scipy_name();  // with versions; empty: not found
std::string gnuplot_name();
}  // namespace detail

}  // namespace bench
