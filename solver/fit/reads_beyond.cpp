// Calls a function with NaN behind its parameters, and again with other numbers there.
#include "fit/reads_beyond.hpp"

#include "rows/calls/padded_parameters.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace nlsq::inline v0 {

namespace {

// `spoilt(span)`: whether the function gives NaN at these parameters. NaN behind them must not matter.
template <class Spoilt>
void refuse_if(const std::vector<double>& p, Spoilt spoilt) {
  if (!spoilt(PaddedParameters(p).parameters())) return;
  if (spoilt(PaddedParameters(p, 0.5).parameters()) && spoilt(PaddedParameters(p, 1).parameters()))
    return;                                               // it is NaN there
  if (!spoilt(PaddedParameters(p).parameters())) return;  // it does not repeat
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

}  // namespace nlsq::inline v0
