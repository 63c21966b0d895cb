// Declares the points of a normal Q-Q picture. plot_data.cpp uses it.
#pragma once

#include "plot/plot_data.hpp"

#include <vector>

namespace nlsq::cli {

// Returns the i-th smallest of n residuals, divided by `scatter`, beside the normal quantile of (i - 1/2)/n.
// If there are many rows, about 500 are kept, the ten at each end among them. The result is empty if the
// residuals have no scatter.
NormalQuantiles normal_quantiles(std::vector<double> residuals, double scatter);

}  // namespace nlsq::cli
