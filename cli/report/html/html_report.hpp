// Declares the page that --report writes: one file without scripts or references to other files.
#pragma once

#include "plot/plot_data.hpp"

#include <string>

namespace nlsq::cli {

// The largest number of points that the pictures of a page show.
constexpr std::size_t kMostHtmlPoints = 4000;

std::string html_report(const FitReport& report, const PlotData& plot);

}  // namespace nlsq::cli
