// Writes tables of results after a fit: derived quantities and the bootstrap. html_report.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Each is empty without the option that asks for it.
std::string html_derived_table(const FitReport& report);
std::string html_bootstrap_table(const FitReport& report);

}  // namespace nlsq::cli
