// Parses --precision, --rule and --optimize.
#include "arguments/precision_options.hpp"

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

namespace nlsq::cli {

PrecisionPolicy precision_policy(const std::string& precision, const std::vector<std::string>& rules) {
  std::vector<std::string> wrong;
  const auto blame = [&wrong](const char* option, const std::vector<std::string>& faults) {
    for (const std::string& fault : faults)
      wrong.push_back(fmt::format("{}: {}", option, printable(fault, 2000)));
  };
  PrecisionPolicy policy;
  try {
    policy = PrecisionPolicy::parse(precision);
  } catch (const ValidationError& e) {
    blame("--precision", e.violations());
  }
  for (const std::string& rule : rules) {
    try {
      policy.rules.push_back(PrecisionRule::parse(rule));
    } catch (const ValidationError& e) {
      blame("--rule", e.violations());
    }
  }
  if (wrong.empty()) blame("--rule", policy.violations());  // a rule may contradict the policy
  if (!wrong.empty()) throw UsageError(fmt::format("{}", fmt::join(wrong, "\n")));
  return policy;
}

PrecisionObjective precision_objective(const std::string& text, bool precision_given, bool rules_given) {
  if (precision_given || rules_given) {
    throw UsageError(fmt::format("--optimize chooses the policy itself: leave {} out, or --optimize",
                                 precision_given ? "--precision" : "--rule"));
  }
  try {
    return PrecisionObjective::parse(text);
  } catch (const ValidationError& e) {
    throw UsageError(fmt::format("--optimize: {}", printable(e.what(), 2000)));
  }
}

}  // namespace nlsq::cli
