// --precision and --rule as one policy.
#pragma once

#include <nlsq/precision_objective.hpp>
#include <nlsq/precision_policy.hpp>

#include <string>
#include <vector>

namespace nlsq::cli {

// Throws UsageError listing everything that is wrong, each line with the option it came from.
PrecisionPolicy precision_policy(const std::string& precision, const std::vector<std::string>& rules);

// --optimize. It chooses the policy: --precision and --rule beside it are refused. Throws UsageError.
PrecisionObjective precision_objective(const std::string& text, bool precision_given, bool rules_given);

}  // namespace nlsq::cli
