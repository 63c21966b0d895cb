// The tables of the HTML report. html_report.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

std::string data_table(const FitReport& report);
std::string parameter_table_html(const FitReport& report);
std::string statistics_table(const FitReport& report);
// The matrix, or a list of the largest correlations if there are many parameters.
std::string correlation_table(const FitReport& report);
std::string trace_table(const FitReport& report);

}  // namespace nlsq::cli
