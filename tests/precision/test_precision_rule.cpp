// Tests rules: what parses, when they hold, and what they change.
#include <nlsq/error.hpp>
#include <nlsq/precision_rule.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;
using enum Format;

namespace {

std::string complaint(const std::string& text) {
  try {
    PrecisionRule::parse(text);
  } catch (const ValidationError& error) {
    REQUIRE(error.details().size() == 1);
    CHECK(error.details()[0].field.find("rule '") == 0);
    return error.details()[0].reason;
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RuleValues with(RuleVariable variable, double value) {
  RuleValues values;
  values[variable] = value;
  return values;
}

std::vector<PrecisionRule> rules(const std::vector<std::string>& texts) {
  std::vector<PrecisionRule> all;
  for (const std::string& text : texts) all.push_back(PrecisionRule::parse(text));
  return all;
}

}  // namespace

TEST_CASE("a rule is conditions and a change, blanks or none") {
  const PrecisionRule rule = PrecisionRule::parse("condition > 1e6 -> gram=f64");
  REQUIRE(rule.conditions.size() == 1);
  CHECK(rule.conditions[0] == RuleCondition{RuleVariable::condition, Comparison::greater, 1e6});
  CHECK(rule.change.gram == f64);
  CHECK_FALSE(rule.change.residual);
  CHECK(rule == PrecisionRule::parse("  condition>1000000->gram = double "));

  const PrecisionRule both =
      PrecisionRule::parse("n<=16&&epsilon_j >= -1.5e-3 -> residual=f64, jacobian=bf16");
  CHECK(both.conditions[0] == RuleCondition{RuleVariable::n, Comparison::less_equal, 16});
  CHECK(both.conditions[1] == RuleCondition{RuleVariable::epsilon_j, Comparison::greater_equal, -1.5e-3});
  CHECK(both.change.residual == f64);
  CHECK(both.change.jacobian == bf16);
  CHECK(both.to_string() == "n <= 16 && epsilon_j >= -0.0015 -> residual=f64,jacobian=bf16");
}

TEST_CASE("every variable, comparison and change is printed as a text that parses back") {
  for (std::size_t v = 0; v < kRuleVariables; ++v)
    for (const char* sign : {"<", "<=", ">", ">="})
      for (const char* change :
           {"residual=f64", "jacobian=bf16", "jacobian=f16", "gram=f32", "gram=f64", "jacobian=f32,gram=f32"})
        for (const char* value : {"0", "0.1", "-3e-200", "1e300", "+2"}) {
          const std::string text =
              std::string(name(static_cast<RuleVariable>(v))) + sign + value + "->" + change;
          CAPTURE(text);
          const PrecisionRule rule = PrecisionRule::parse(text);
          CHECK(rule.conditions[0].variable == static_cast<RuleVariable>(v));
          CHECK(PrecisionRule::parse(rule.to_string()) == rule);
          CHECK(rule.validate().empty());
        }
}

TEST_CASE("each variable is the one that is compared, and each comparison is its own") {
  for (std::size_t v = 0; v < kRuleVariables; ++v)
    for (std::size_t other = 0; other < kRuleVariables; ++other) {
      const PrecisionRule rule =
          PrecisionRule::parse(std::string(name(static_cast<RuleVariable>(v))) + " > 0.5 -> gram=f64");
      CHECK(rule.holds(with(static_cast<RuleVariable>(other), 1)) == (v == other));
    }
  const auto holds = [](const char* text, double n) {
    return PrecisionRule::parse(text).holds(with(RuleVariable::n, n));
  };
  for (const double n : {2.0, 3.0, 4.0}) {
    CHECK(holds("n < 3 -> gram=f64", n) == (n < 3));
    CHECK(holds("n <= 3 -> gram=f64", n) == (n <= 3));
    CHECK(holds("n > 3 -> gram=f64", n) == (n > 3));
    CHECK(holds("n >= 3 -> gram=f64", n) == (n >= 3));
  }
}

TEST_CASE("all conditions of a rule must hold, and the first rule that holds wins") {
  const auto all = rules(
      {"condition > 1e6 && n < 4 -> gram=f64", "condition > 1e3 -> gram=f32", "n >= 0 -> jacobian=bf16"});
  RuleValues values;
  values[RuleVariable::n] = 3;
  values[RuleVariable::condition] = 1e7;
  CHECK(apply_rules(all, values)->index == 0);
  values[RuleVariable::n] = 4;
  CHECK(apply_rules(all, values)->index == 1);
  CHECK(apply_rules(all, values)->change.gram == f32);
  values[RuleVariable::condition] = 1e3;
  CHECK(apply_rules(all, values)->index == 2);
  CHECK(apply_rules(all, values)->change.jacobian == bf16);
  values[RuleVariable::n] = -1;
  CHECK_FALSE(apply_rules(all, values));
  CHECK_FALSE(apply_rules({}, values));
}

TEST_CASE("no condition on an unknown value holds; infinity is a value") {
  for (const char* text : {"condition > -1e300 -> gram=f64", "condition < 1e300 -> gram=f64",
                           "condition >= 0 -> gram=f64", "condition <= 0 -> gram=f64"}) {
    const auto all = rules({text});
    CHECK_FALSE(apply_rules(all, RuleValues{}));
    CHECK_FALSE(apply_rules(all, with(RuleVariable::condition, std::nan(""))));
  }
  CHECK(apply_rules(rules({"condition > 1e6 -> gram=f64"}),
                    with(RuleVariable::condition, std::numeric_limits<double>::infinity())));
}

TEST_CASE(
    "a rule's change is sound whatever formats are in force, and applying it twice changes nothing more") {
  for (const char* text : {"residual=f64", "jacobian=bf16", "jacobian=f16", "jacobian=f32", "jacobian=f64",
                           "gram=f32", "gram=f64", "jacobian=f32,gram=f32", "residual=f64,jacobian=bf16",
                           "residual=f64,jacobian=f32,gram=f32"}) {
    const FormatChange change = PrecisionRule::parse(std::string("n > 0 -> ") + text).change;
    for (const Format r : {f32, f64})
      for (const Format j : {bf16, f16, f32, f64})
        for (const Format g : {f32, f64}) {
          const PartFormats from{r, j, g, f64};
          if (!validate(from).empty()) continue;
          CAPTURE(text);
          const PartFormats to = changed(from, change);
          CHECK(validate(to).empty());
          CHECK(to.residual >= from.residual);
          CHECK(changed(to, change) == to);
          CHECK(to.residual == change.residual.value_or(to.residual));
          CHECK(to.jacobian == change.jacobian.value_or(to.jacobian));
          CHECK(to.gram == change.gram.value_or(to.gram));
        }
  }
}

TEST_CASE("a text that is no rule is refused, with what to write instead") {
  CHECK(contains(complaint(""), "no '->'"));
  CHECK(contains(complaint("condition > 1e6"), "no '->'"));
  CHECK(contains(complaint("condition > 1e6 gram=f64"), "no '->'"));
  CHECK(contains(complaint("kappa > 1e6 -> gram=f64"),
                 "use one of condition, epsilon_j, epsilon_f, decrement, rho, lambda, "
                 "iteration, rows, n, memory, nonfinite"));
  CHECK(contains(complaint("condition = 1e6 -> gram=f64"), "is not a condition"));
  CHECK(contains(complaint("-> gram=f64"), "'' is not a condition"));
  CHECK(contains(complaint("n > 1 && -> gram=f64"), "'' is not a condition"));
  CHECK(contains(complaint("n > 1 || n < 3 -> gram=f64"), "not a number"));
  for (const char* number : {"", "x", "1e6x", "nan", "inf", "1e999", "--1", "0x10", "1 2"}) {
    CAPTURE(number);
    CHECK(contains(complaint(std::string("n > ") + number + " -> gram=f64"), "not a number"));
  }
  CHECK(contains(complaint("n > 1 ->"), "sets nothing"));
  CHECK(contains(complaint("n > 1 -> f64"), "sets nothing"));
  CHECK(contains(complaint("n > 1 -> gate=off"), "sets nothing"));
  CHECK(contains(complaint("n > 1 -> gram=f64,"), "sets nothing"));
  CHECK(contains(complaint("n > 1 -> gram=f8"), "unknown number format"));
  CHECK(contains(complaint("n > 1 -> gram=f32,gram=f64"), "named twice"));
  CHECK(contains(complaint("n > 1 -> residual=f32"), "never back"));
  CHECK(contains(complaint("n > 1 -> solve=f64"), "always f64"));
  CHECK(contains(complaint("n > 1 -> gram=bf16"), "below what sums can bear"));
  CHECK(contains(complaint("n > 1 -> jacobian=bf16,gram=f64"), "wider than its jacobian"));
  CHECK(contains(complaint("n > 1 -> residual=f64,gram=f32"), "thrown away"));
}

TEST_CASE("rules made by hand are checked in full") {
  PrecisionRule rule;
  CHECK(rule.validate().size() == 2);  // it has neither condition nor change
  rule.conditions.push_back({RuleVariable::rho, Comparison::less, std::nan("")});
  rule.change.residual = f32;
  CHECK(rule.validate().size() == 2);
  rule.conditions[0].value = 0;
  rule.change.residual = f64;
  CHECK(rule.validate().empty());
}
