// Declares the tables of the HTML report. html_report.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

std::string html_data_table(const FitReport& report);
std::string html_parameter_table(const FitReport& report);
std::string html_statistics_table(const FitReport& report);
// Returns the matrix, or a list of the largest correlations if there are many parameters.
std::string html_correlation_table(const FitReport& report);
std::string html_trace_table(const FitReport& report);

}  // namespace nlsq::cli
