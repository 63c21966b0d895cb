// Defines the table of functions of the formula language, their aliases, and suggestions for unknown names.
#include "formula/formula_functions.hpp"

#include "expression/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nlsq::inline v0 {

namespace {

std::vector<FormulaFunction> all_functions() {
  using enum Op;
  std::vector<FormulaFunction> all;
  // The operations that formulas call by their own names.
  for (const Op op :
       {exp,   expm1, log,   log10, log2, log1p, sqrt,  cbrt,   pow,     abs,   sign, min,  max,
        floor, ceil,  hypot, sin,   cos,  tan,   asin,  acos,   atan,    atan2, sinh, cosh, tanh,
        asinh, acosh, atanh, erf,   erfc, erfcx, gamma, lgamma, digamma, besj0, besj1})
    all.push_back({name(op), op, arity(op), op == min || op == max});
  all.push_back({"if", select, 3});
  all.push_back({"mod", copy, 2, false, CompoundFunction::mod});
  all.push_back({"voigt", copy, 3, false, CompoundFunction::voigt});
  return all;
}

struct Alias {
  std::string_view other, ours;
};

// These are the names that other programs use.
constexpr Alias kAliases[] = {
    {"ln", "log"},        {"lg", "log10"},      {"lb", "log2"},        {"arctan", "atan"},
    {"arcsin", "asin"},   {"arccos", "acos"},   {"arctan2", "atan2"},  {"arcsinh", "asinh"},
    {"arccosh", "acosh"}, {"arctanh", "atanh"}, {"fabs", "abs"},       {"sgn", "sign"},
    {"power", "pow"},     {"tgamma", "gamma"},  {"gammaln", "lgamma"}, {"psi", "digamma"},
    {"j0", "besj0"},      {"j1", "besj1"},      {"fmod", "mod"},       {"remainder", "mod"},
    {"where", "if"},      {"select", "if"},     {"ifelse", "if"},      {"fmin", "min"},
    {"fmax", "max"},      {"minimum", "min"},   {"maximum", "max"},    {"voigt_profile", "voigt"},
    {"heaviside", "if"},  {"piecewise", "if"},
};

std::string lower_case(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::span<const FormulaFunction> formula_functions() {
  static const std::vector<FormulaFunction> all = all_functions();
  return all;
}

const FormulaFunction* find_function(std::string_view name) {
  const auto all = formula_functions();
  const auto found = std::ranges::find(all, name, &FormulaFunction::name);
  return found == all.end() ? nullptr : &*found;
}

std::string suggest_function(std::string_view name) {
  if (name.size() > 20) return {};
  const std::string plain = lower_case(name);
  std::string_view best;
  const auto alias = std::ranges::find(kAliases, std::string_view(plain), &Alias::other);
  if (alias != std::end(kAliases)) best = alias->ours;
  std::size_t least = std::min<std::size_t>(2, plain.size() / 2) + 1;
  for (const FormulaFunction& function : formula_functions()) {
    if (alias != std::end(kAliases)) break;
    if (const std::size_t d = edit_distance(plain, function.name); d < least) {
      least = d;
      best = function.name;
    }
  }
  return best.empty() ? std::string{} : fmt::format("; did you mean '{}'?", best);
}

std::string expected_arguments(const FormulaFunction& function) {
  return fmt::format("{}{} argument{}", function.arguments, function.more_allowed ? " or more" : "",
                     function.arguments == 1 ? "" : "s");
}

}  // namespace nlsq::inline v0
