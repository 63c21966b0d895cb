// Declares the picture of a fit as a Vega-Lite specification, with its data: for web pages, notebooks and
// editors that draw it. plot_output.cpp writes it for files with the ending .vl.json.
#pragma once

#include "plot/plot_data.hpp"

#include <string>

namespace nlsq::cli {

// Returns a JSON object after the schema of Vega-Lite 5. It ends with a newline.
std::string vega_lite(const FitReport& report, const PlotData& plot);

}  // namespace nlsq::cli
