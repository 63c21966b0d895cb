// Declares the part of the text report that --certify adds. report.cpp uses it.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <string>

namespace nlsq::cli {

// Returns a table of how far each parameter moves in a fit that starts at the parameters judged. The table
// ends with an empty line.
std::string moves_table(const FitResult& judged, const FitResult& fitted);

}  // namespace nlsq::cli
