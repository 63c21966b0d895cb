// Implements the functions of names.hpp.
#include "expression/names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_name(std::string_view text) noexcept {
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view tied_name(std::string_view tie) { return trimmed(tie.substr(0, tie.find('='))); }

FormulaOptions predictor_options(std::size_t predictors) {
  FormulaOptions options;
  if (predictors != 1) {
    options.predictors.clear();
    for (std::size_t k = 1; k <= predictors; ++k) options.predictors.push_back(fmt::format("x{}", k));
  }
  return options;
}

}  // namespace nlsq::inline v0
