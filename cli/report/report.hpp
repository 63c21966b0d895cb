// Declares the text report for people: the data read, the fit, and its uncertainty. fit_command.cpp prints
// it.
#pragma once

#include "fit_command.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

std::string text_report(const FitReport& report);

// Returns the lines of a report on the data that were read and the model that was fitted.
std::string data_lines(const FitData& data);
std::string model_lines(const ModelChoice& model);

// Returns `value` with enough digits to show three digits of `error`, at least 6 and at most 17.
std::string format_estimate(double value, double error);
// Returns the word that replaces a standard error that is not a number: "undetermined" if the data determine
// only some of the parameters, "undefined" if nothing scatters.
const char* missing_error(const FitResult& fit);
// Returns an interval of an estimate with this error, or "undefined".
std::string interval_text(double low, double high, double error);
// Returns the value with so many digits, or "undefined" for NaN.
std::string significant(double value, int digits = 6);

// Returns a table with columns padded to the widest cell. The first column is left-aligned, the others
// right-aligned.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows, const char* indent);

}  // namespace nlsq::cli
