// The table of functions of the formula language, their aliases, and suggestions for unknown names.
#include "formula/formula_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr FormulaFunction kFunctions[] = {
    {"exp", Op::exp, 1},
    {"expm1", Op::expm1, 1},
    {"log", Op::log, 1},
    {"log10", Op::log10, 1},
    {"log2", Op::log2, 1},
    {"log1p", Op::log1p, 1},
    {"sqrt", Op::sqrt, 1},
    {"cbrt", Op::cbrt, 1},
    {"pow", Op::pow, 2},
    {"abs", Op::abs, 1},
    {"sign", Op::sign, 1},
    {"min", Op::min, 2, true},
    {"max", Op::max, 2, true},
    {"floor", Op::floor, 1},
    {"ceil", Op::ceil, 1},
    {"hypot", Op::hypot, 2},
    {"sin", Op::sin, 1},
    {"cos", Op::cos, 1},
    {"tan", Op::tan, 1},
    {"asin", Op::asin, 1},
    {"acos", Op::acos, 1},
    {"atan", Op::atan, 1},
    {"atan2", Op::atan2, 2},
    {"sinh", Op::sinh, 1},
    {"cosh", Op::cosh, 1},
    {"tanh", Op::tanh, 1},
    {"asinh", Op::asinh, 1},
    {"acosh", Op::acosh, 1},
    {"atanh", Op::atanh, 1},
    {"erf", Op::erf, 1},
    {"erfc", Op::erfc, 1},
    {"erfcx", Op::erfcx, 1},
    {"gamma", Op::gamma, 1},
    {"lgamma", Op::lgamma, 1},
    {"digamma", Op::digamma, 1},
    {"besj0", Op::besj0, 1},
    {"besj1", Op::besj1, 1},
    {"if", Op::select, 3},
    {"mod", Op::copy, 2, false, CompoundFunction::mod},
    {"voigt", Op::copy, 3, false, CompoundFunction::voigt},
};

struct Alias {
  std::string_view other, ours;
};

// The names of other programs.
constexpr Alias kAliases[] = {
    {"ln", "log"},        {"lg", "log10"},      {"lb", "log2"},        {"arctan", "atan"},
    {"arcsin", "asin"},   {"arccos", "acos"},   {"arctan2", "atan2"},  {"arcsinh", "asinh"},
    {"arccosh", "acosh"}, {"arctanh", "atanh"}, {"fabs", "abs"},       {"sgn", "sign"},
    {"power", "pow"},     {"tgamma", "gamma"},  {"gammaln", "lgamma"}, {"psi", "digamma"},
    {"j0", "besj0"},      {"j1", "besj1"},      {"fmod", "mod"},       {"remainder", "mod"},
    {"where", "if"},      {"select", "if"},     {"ifelse", "if"},      {"fmin", "min"},
    {"fmax", "max"},      {"minimum", "min"},   {"maximum", "max"},    {"voigt_profile", "voigt"},
};

// The Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string lower_case(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::span<const FormulaFunction> formula_functions() { return kFunctions; }

const FormulaFunction* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &FormulaFunction::name);
  return found == std::end(kFunctions) ? nullptr : &*found;
}

std::string suggest_function(std::string_view name) {
  if (name.size() > 20) return {};
  const std::string plain = lower_case(name);
  std::string_view best;
  const auto alias = std::ranges::find(kAliases, std::string_view(plain), &Alias::other);
  if (alias != std::end(kAliases)) best = alias->ours;
  std::size_t least = std::min<std::size_t>(2, plain.size() / 2) + 1;
  for (const FormulaFunction& function : kFunctions) {
    if (alias != std::end(kAliases)) break;
    if (const std::size_t d = distance(plain, function.name); d < least) {
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
