// The part of the text report that --certify adds. report.cpp uses it.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <string>

namespace nlsq::cli {

// How far each parameter moves in a fit that starts at the parameters judged. Ends with an empty line.
std::string moves_table(const FitResult& judged, const FitResult& fitted);

}  // namespace nlsq::cli
