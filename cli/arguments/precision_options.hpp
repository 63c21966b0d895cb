// Parses the precision options of the command line. arguments.cpp uses it.
#pragma once

#include <nlsq/precision_objective.hpp>
#include <nlsq/precision_policy.hpp>

#include <string>
#include <vector>

namespace nlsq::cli {

// Combines --precision and --rule. Throws UsageError that lists every error with the option that caused it.
PrecisionPolicy precision_policy(const std::string& precision, const std::vector<std::string>& rules);

// Parses --optimize. It chooses the policy, so --precision and --rule must not be given. Throws UsageError.
PrecisionObjective precision_objective(const std::string& text, bool precision_given, bool rules_given);

}  // namespace nlsq::cli
