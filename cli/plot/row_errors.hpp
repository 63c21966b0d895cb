// Declares the residual of each row in units of its standard deviation, and the error bars. plot_data.cpp
// uses it.
#pragma once

#include "fit_command.hpp"

#include <vector>

namespace nlsq::cli {

constexpr std::size_t kMostErrorBars = 1000;  // more of them would cover the points

struct RowErrors {
  // y - fit; divided by sigma where sigma is given, by the effective sigma where the predictors have errors,
  // too, and by the root of the fitted value for counts
  std::vector<double> residual;
  std::vector<double> x_error, y_error;  // the sigmas; empty where none are given
};

RowErrors row_errors(const FitReport& report, const std::vector<double>& y, const std::vector<double>& fit);

// Returns the standard deviation that such a residual has according to the fit: 1 for sigmas in units of y
// and for counts, otherwise the root of the reduced chi².
double standard_scatter(const FitReport& report);

}  // namespace nlsq::cli
