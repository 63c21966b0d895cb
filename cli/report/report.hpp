// The report for a person: what was read, what was fitted, how sure it is.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

std::string text_report(const FitReport& report);

// `value` with enough digits to show `error` to three of its own, at least 6 and at most 17.
std::string format_estimate(double value, double error);

}  // namespace nlsq::cli
