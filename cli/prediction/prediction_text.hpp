// Declares the parts of the text report on derived quantities, the bootstrap and predictions. report.cpp uses
// it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Each is empty if the options did not ask for it, and otherwise ends with an empty line.
std::string derived_table(const FitReport& report);
std::string bootstrap_table(const FitReport& report);
// Returns the first points. It is empty also with --csv, which writes all.
std::string prediction_table(const FitReport& report);

}  // namespace nlsq::cli
