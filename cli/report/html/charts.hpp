// Declares the pictures of the HTML report. html_report.cpp uses it.
#pragma once

#include "plot/plot_data.hpp"

#include <string>

namespace nlsq::cli {

std::string fit_chart(const PlotData& plot);
std::string residual_chart(const PlotData& plot);
std::string quantile_chart(const PlotData& plot);  // empty if there are no quantiles
// The cost by iteration, with the number format of each; empty without iterations.
std::string trace_chart(const FitReport& report);

}  // namespace nlsq::cli
