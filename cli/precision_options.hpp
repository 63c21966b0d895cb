// --precision and --rule as one policy.
#pragma once

#include <nlsq/precision_policy.hpp>

#include <string>
#include <vector>

namespace nlsq::cli {

// Throws UsageError listing everything that is wrong, each line with the option it came from.
PrecisionPolicy precision_policy(const std::string& precision, const std::vector<std::string>& rules);

}  // namespace nlsq::cli
