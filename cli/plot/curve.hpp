// Declares the points at which the fitted curve is drawn. plot_data.cpp uses it.
#pragma once

#include "plot/axis.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace nlsq::cli {

// Returns values of the model at values of its predictor.
using CurveFunction = std::function<std::vector<double>(const std::vector<double>&)>;

struct CurvePoints {
  std::vector<double> x, y;
};

// Evaluates `f` at some thousand x between `low` and `high` and at the x of `data`, so that no peak of the
// data is missed. Keeps an even grid, and beside it the points without which straight lines between the kept
// points would differ from the curve by more than a thousandth of the height of the curve. At most about
// `most` points are kept. `log_x` and `log_y` say that the axes are logarithmic.
CurvePoints curve_points(const CurveFunction& f, double low, double high, std::span<const double> data,
                         bool log_x, bool log_y, std::size_t most);

}  // namespace nlsq::cli
