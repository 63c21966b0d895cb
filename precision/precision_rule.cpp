// Parses, prints, validates and applies a user's precision rules.
#include <nlsq/error.hpp>
#include <nlsq/precision_rule.hpp>

#include "policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::array<const char*, kRuleVariables> kVariables{
    "condition", "epsilon_j", "epsilon_f", "decrement", "rho",      "lambda",
    "iteration", "rows",      "n",         "memory",    "nonfinite"};
// Longer operators come first, because "<=" begins with "<".
constexpr std::array<std::pair<std::string_view, Comparison>, 4> kComparisons{
    {{"<=", Comparison::less_equal},
     {">=", Comparison::greater_equal},
     {"<", Comparison::less},
     {">", Comparison::greater}}};

[[noreturn]] void refuse_rule(std::string_view rule, std::string reason) {
  throw ValidationError(std::vector<Violation>{{fmt::format("rule '{}'", rule), "", std::move(reason)}});
}

RuleVariable parse_variable(std::string_view text, std::string_view rule) {
  for (std::size_t i = 0; i < kVariables.size(); ++i) {
    if (text == kVariables[i]) return static_cast<RuleVariable>(i);
  }
  refuse_rule(rule, fmt::format("unknown variable '{}': use one of {}", text, fmt::join(kVariables, ", ")));
}

RuleCondition parse_condition(std::string_view text, std::string_view rule) {
  const std::size_t at = text.find_first_of("<>");
  for (const auto& [sign, comparison] : kComparisons) {
    if (at == std::string_view::npos || !text.substr(at).starts_with(sign)) continue;
    const std::string_view right = trimmed(text.substr(at + sign.size()));
    const std::optional<double> value = number(right);
    if (!value) refuse_rule(rule, fmt::format("'{}' is not a number to compare with", right));
    return {parse_variable(trimmed(text.substr(0, at)), rule), comparison, *value};
  }
  refuse_rule(rule, fmt::format("'{}' is not a condition: write variable > number, or <, >=, <=", text));
}

std::vector<RuleCondition> parse_conditions(std::string_view text, std::string_view rule) {
  std::vector<RuleCondition> conditions;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find("&&", begin), text.size());
    conditions.push_back(parse_condition(trimmed(text.substr(begin, end - begin)), rule));
    begin = end + 2;
  }
  return conditions;
}

// Returns what makes a change invalid in a rule, or an empty text. The change must be valid whatever formats
// are in force.
std::string fault(const FormatChange& change) {
  if (change.residual && *change.residual != Format::f64) {
    return fmt::format("residual={}: rows go up to f64 and never back; a rule can set residual=f64",
                       name(*change.residual));
  }
  if (change.solve)
    return fmt::format("solve={}: the factorisation is always f64, there is nothing to set",
                       name(*change.solve));
  if (change.empty()) return "it sets nothing: write residual=, jacobian= or gram= and a format after ->";
  using enum Format;
  for (const Format residual : {f32, f64})
    for (const Format jacobian : {bf16, f16, f32, f64})
      for (const Format gram : {f32, f64}) {
        const PartFormats from{residual, jacobian, gram, f64};
        if (!nlsq::validate(from).empty()) continue;
        if (const auto found = nlsq::validate(changed(from, change)); !found.empty())
          return found.front().message();
      }
  return {};
}

FormatChange parse_change(std::string_view text, std::string_view rule) {
  FormatChange change;
  for (const std::string_view piece : split(text, ',')) {
    const std::optional<Assignment> item = assignment(piece);
    std::optional<Format>* part = item ? part_named(change, item->key) : nullptr;
    if (part == nullptr) {
      refuse_rule(
          rule,
          fmt::format("'{}' sets nothing: write residual=, jacobian= or gram= and a format after ->", piece));
    }
    if (const auto wrong = set_format(*part, std::string(item->key), item->value))
      refuse_rule(rule, wrong->message());
  }
  return change;
}

bool compare(Comparison comparison, double a, double b) noexcept {
  switch (comparison) {
    case Comparison::less: return a < b;
    case Comparison::less_equal: return a <= b;
    case Comparison::greater: return a > b;
    case Comparison::greater_equal: return a >= b;
  }
  return false;
}

}  // namespace

const char* name(RuleVariable variable) noexcept { return kVariables[static_cast<std::size_t>(variable)]; }

PrecisionRule PrecisionRule::parse(std::string_view text) {
  text = trimmed(text);
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos)
    refuse_rule(text, "no '->': write it as in condition > 1e6 -> gram=f64");
  PrecisionRule rule{parse_conditions(text.substr(0, arrow), text),
                     parse_change(text.substr(arrow + 2), text)};
  if (std::string wrong = fault(rule.change); !wrong.empty()) refuse_rule(text, std::move(wrong));
  return rule;
}

std::vector<Violation> PrecisionRule::validate() const {
  std::vector<Violation> found;
  const auto add = [&](std::string reason) {
    if (!reason.empty()) found.push_back({fmt::format("rule '{}'", to_string()), "", std::move(reason)});
  };
  if (conditions.empty()) add("it has no condition; use the policy's own formats for what always holds");
  for (const RuleCondition& c : conditions) {
    if (!std::isfinite(c.value))
      add(fmt::format("{} is compared with {}: use a finite number", name(c.variable), c.value));
  }
  add(fault(change));
  return found;
}

std::string PrecisionRule::to_string() const {
  std::string text;
  for (const RuleCondition& c : conditions) {
    std::string_view sign;
    for (const auto& [known, comparison] : kComparisons) {
      if (comparison == c.comparison) sign = known;
    }
    text += fmt::format("{}{} {} {}", text.empty() ? "" : " && ", name(c.variable), sign, c.value);
  }
  return fmt::format("{} -> {}", text, nlsq::to_string(change));
}

bool PrecisionRule::holds(const RuleValues& values) const noexcept {
  for (const RuleCondition& c : conditions) {
    if (!compare(c.comparison, values[c.variable], c.value)) return false;  // also false for NaN
  }
  return true;
}

std::optional<RuleMatch> apply_rules(std::span<const PrecisionRule> rules, const RuleValues& values) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].holds(values)) return RuleMatch{i, rules[i].change};
  }
  return std::nullopt;
}

}  // namespace nlsq::inline v0
