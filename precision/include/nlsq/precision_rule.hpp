// Declares a user's rules for changing precision during a fit, such as "condition > 1e6 -> gram=f64". A
// PrecisionPolicy holds them.
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
  condition,  // condition number κ of H + λI, in scaled variables
  epsilon_j,  // sampled error ε_J of J; 0 where rows are f64 and J is not rounded
  epsilon_f,  // sampled noise ε_F of the cost, as a fraction of the cost; 0 in f64
  decrement,  // ν/σ: predicted distance to the optimum with damping, in standard errors
  rho,        // gain ratio of the last step that was judged
  lambda,     // damping relative to the squared column norms
  iteration,  // from 0
  rows,       // number of rows in a pass over all the data
  n,          // number of free parameters
  memory,     // bytes of the solver's buffers
  nonfinite,  // fraction of tiles, 0 to 1, recomputed in f64 in the last pass
};
inline constexpr std::size_t kRuleVariables = 11;
NLSQ_API const char* name(RuleVariable variable) noexcept;

// Holds the values of the variables at one iteration. A variable without a value is NaN, and no condition on
// it holds.
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
  std::vector<RuleCondition> conditions;  // all of them must hold
  FormatChange change;                    // residual can only become f64: rows are never lowered again

  // Parses "condition > 1e6 && n < 16 -> gram=f64". Throws ValidationError.
  static PrecisionRule parse(std::string_view text);
  std::string to_string() const;
  // Returns the faults of a rule that was not parsed; empty if it is valid.
  std::vector<Violation> validate() const;
  bool holds(const RuleValues& values) const noexcept;
  bool operator==(const PrecisionRule&) const = default;
};

struct RuleMatch {
  std::size_t index = 0;  // index of the rule
  FormatChange change;
};

// Returns the first rule whose conditions all hold. It is a pure function that is called once per iteration.
NLSQ_API std::optional<RuleMatch> apply_rules(std::span<const PrecisionRule> rules, const RuleValues& values);

}  // namespace nlsq::inline v0
