// Recognises parameters that most likely are meant as constants.
#include "fit/constant_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

// Whether `e` is the base of a power somewhere in the text: e^x, e ** x.
bool has_power_of_e(std::string_view text) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || (c & 0x80) != 0;
  };
  for (std::size_t i = text.find('e'); i != std::string_view::npos; i = text.find('e', i + 1)) {
    if (i > 0 && in_name(text[i - 1])) continue;
    const std::size_t next = text.find_first_not_of(" \t", i + 1);
    if (next == std::string_view::npos) return false;
    if (text[next] == '^' || text.substr(next, 2) == "**") return true;
  }
  return false;
}

}  // namespace

std::string note_on_constants(const Formula& formula, const NamedValues& p0, const FitOptions& options) {
  const auto fitted = [&](std::string_view name) {
    return std::ranges::find(formula.parameters, name) != formula.parameters.end() &&
           std::ranges::find(p0, name, &NamedValues::value_type::first) == p0.end() &&
           std::ranges::find(options.fixed, name) == options.fixed.end();
  };
  if (fitted("e") && has_power_of_e(formula.text))
    return "'e' is fitted as a parameter: for a power of Euler's number write exp(...)";
  for (const char* const name : {"Pi", "PI", "π"})
    if (fitted(name)) return fmt::format("'{}' is fitted as a parameter: the constant is called pi", name);
  return {};
}

}  // namespace nlsq::inline v0
