// Implements pole_within() and pole_warning().
#include "models/poles.hpp"

#include "support/column_blocks.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0::guessing {

std::optional<double> pole_within(std::span<const double> b, double low, double high) {
  const auto within = [&](double v) { return v >= low && v <= high; };
  const double b1 = b[0], b2 = b.size() > 1 ? b[1] : 0;
  if (b2 == 0) return b1 != 0 && within(-1 / b1) ? std::optional(-1 / b1) : std::nullopt;
  const double discriminant = b1 * b1 - 4 * b2;
  if (!(discriminant >= 0)) return std::nullopt;
  // The zeros of b2 v^2 + b1 v + 1 are 2/(-b1 +- root), in the form without cancellation for the first.
  const double sum = -(b1 + std::copysign(std::sqrt(discriminant), b1));
  for (const double zero : {2 / sum, sum / (2 * b2)})
    if (within(zero)) return zero;
  return std::nullopt;
}

std::string pole_warning(const Model& model, std::span<const double> parameters, const Column& x) {
  const std::size_t degree = model.name == "rational11" ? 1 : model.name == "rational22" ? 2 : 0;
  if (degree == 0) return {};
  const ColumnRange range = range_of(x);
  const auto pole = pole_within(parameters.last(degree), range.least, range.most);
  if (!pole) return {};
  return fmt::format(
      "the curve has a pole at x = {:.6g}, between the data: its denominator is 0 there. If that is not what "
      "you "
      "expect, fit a model with fewer parameters, or start elsewhere (p0)",
      *pole);
}

}  // namespace nlsq::inline v0::guessing
