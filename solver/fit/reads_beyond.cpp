// Calls a function with NaN behind its parameters, and again with other numbers there.
#include "fit/reads_beyond.hpp"

#include "rows/calls/padded_parameters.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

// Throws if NaN behind the parameters changes the result. `spoilt(span)` returns true if the function is NaN
// at these parameters.
template <class Spoilt>
void refuse_if(const std::vector<double>& p, Spoilt spoilt) {
  if (!spoilt(PaddedParameters(p).parameters())) return;
  if (spoilt(PaddedParameters(p, 0.5).parameters()) && spoilt(PaddedParameters(p, 1).parameters()))
    return;                                               // it is NaN with these parameters anyway
  if (!spoilt(PaddedParameters(p).parameters())) return;  // it does not happen again
  throw ValidationError(fmt::format(
      "the callable reads p[{0}] or beyond, but has {0} starting value{1}: give one for each parameter",
      p.size(), p.size() == 1 ? "" : "s"));
}

}  // namespace

void refuse_no_parameters(const std::vector<double>& p0) {
  if (!p0.empty()) return;
  throw ValidationError(
      "p0 is empty: a callable has no other way to tell how many parameters it has. Give a starting value "
      "for each, as in curve_fit(f, x, y, {1.0, 0.5})");
}

void refuse_reads_beyond(const ModelFunction& function, const RowSource& data, const std::vector<double>& p) {
  std::vector<double> row(static_cast<std::size_t>(data.columns()));
  for (int c = 0; c < data.columns(); ++c) data.read(0, 1, c, &row[static_cast<std::size_t>(c)]);
  refuse_if(p, [&](std::span<const double> q) { return std::isnan(function.value(row.data(), q)); });
}

void refuse_reads_beyond(const VectorFunction& function, const std::vector<double>& p) {
  refuse_if(p, [&](std::span<const double> q) {
    return std::ranges::any_of(function.value(q), [](double r) { return std::isnan(r); });
  });
}

namespace {

// Returns true if `e` is the base of a power somewhere in the text: e^x, e ** x.
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
