// Rules of the user's: "condition > 1e6 -> gram=f64".
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/part_formats.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

enum class RuleVariable : std::uint8_t {
  condition,  // κ of H + λI, scaled
  epsilon_j,  // error of J by the probe's rows, ε_J; 0 where rows are f64 and J is not rounded
  epsilon_f,  // noise of the cost by the probe, ε_F, as a share of the cost; 0 in f64
  decrement,  // ν/σ: predicted distance to the optimum, damped, in standard errors
  rho,        // gain ratio of the last step judged
  lambda,     // damping relative to the squared column norms
  iteration,  // from 0
  rows,       // in a pass over all the data
  n,          // free parameters
  memory,     // bytes of the solver's buffers
  nonfinite,  // share of tiles, 0 to 1, redone in f64 in the last pass
};
inline constexpr std::size_t kRuleVariables = 11;
NLSQ_API const char* name(RuleVariable variable) noexcept;

// The variables' values at one iteration. What is not known is NaN, and no condition on it holds.
struct RuleValues {
  RuleValues() { values.fill(std::numeric_limits<double>::quiet_NaN()); }
  double& operator[](RuleVariable v) noexcept { return values[static_cast<std::size_t>(v)]; }
  double operator[](RuleVariable v) const noexcept { return values[static_cast<std::size_t>(v)]; }
  std::array<double, kRuleVariables> values;
};

enum class Comparison : std::uint8_t { less, less_equal, greater, greater_equal };

struct RuleCondition {
  RuleVariable variable = RuleVariable::condition;
  Comparison comparison = Comparison::greater;
  double value = 0;
  bool operator==(const RuleCondition&) const = default;
};

struct NLSQ_API PrecisionRule {
  std::vector<RuleCondition> conditions;  // all must hold
  FormatChange change;                    // residual: f64 or nothing, for rows never go back

  // "condition > 1e6 && n < 16 -> gram=f64". Throws ValidationError.
  static PrecisionRule parse(std::string_view text);
  std::string to_string() const;
  // What is wrong with a rule made by hand; empty when it is sound.
  std::vector<Violation> validate() const;
  bool holds(const RuleValues& values) const noexcept;
  bool operator==(const PrecisionRule&) const = default;
};

struct RuleMatch {
  std::size_t index = 0;  // of the rule
  FormatChange change;
};

// The first rule whose conditions hold. Pure; checked once an iteration.
NLSQ_API std::optional<RuleMatch> apply_rules(std::span<const PrecisionRule> rules, const RuleValues& values);

}  // namespace nlsq::inline v0
