// The text report for people: the data read, the fit, and its uncertainty. fit_command.cpp prints it.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

std::string text_report(const FitReport& report);

// `value` with enough digits to show three digits of `error`; at least 6 and at most 17.
std::string format_estimate(double value, double error);

}  // namespace nlsq::cli
