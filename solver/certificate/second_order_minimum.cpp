// Implements is_second_order_minimum(): second derivatives of the cost by differences of its gradient.
#include "certificate/second_order_minimum.hpp"

#include "linear/scaled_spectrum.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMost = 64;         // parameters
constexpr double kShift = 0x1p-17;        // relative to a parameter; balances third derivatives and rounding
constexpr double kFlat = 1e-6;            // the least curvature, relative to the largest
constexpr double kFarFromMinimum = 1e-3;  // of a parameter's size

// Second derivatives by the free parameters, by columns, and bounds of their rounding errors.
struct Curvature {
  Vector values, errors;
};

// Adds to column j of `out` the differences of the gradient over a shift of parameter free[j] to either side.
// A side that lies beyond a bound is left out.
bool add_column(Evaluator& evaluator, std::span<const double> x, const Box& room,
                const std::vector<std::size_t>& free, std::size_t j, const Linearization& here, double shift,
                double magnitude, Curvature& out) {
  const std::size_t n = free.size();
  double span = 0;
  Vector there(x.begin(), x.end());
  for (const double way : {shift, -shift}) {
    const std::size_t k = free[j];
    there[k] = x[k] + way;
    if (!room.empty() && (there[k] < room.lower[k] || there[k] > room.upper[k])) continue;
    const Linearization at = evaluator.linearize(there, {Format::f64, Gram::f64});
    if (!at.finite) return false;
    for (std::size_t i = 0; i < n; ++i) {
      const double change = at.gradient[free[i]] - here.gradient[free[i]];
      out.values[j * n + i] += way > 0 ? change : -change;
      // The bound of gradient_noise(), at both ends of the difference.
      const double columns =
          std::sqrt(at.normal(free[i], free[i])) + std::sqrt(here.normal(free[i], free[i]));
      const double r = std::sqrt(2 * std::max(at.cost, here.cost));
      out.errors[j * n + i] +=
          columns * (kUnitRoundoff * (4 * magnitude + 32 * r) + evaluator.jacobian_error() * r);
    }
    span += shift;
  }
  for (std::size_t i = 0; i < n; ++i) {
    out.values[j * n + i] /= span;
    out.errors[j * n + i] /= span;
  }
  return span > 0;
}

// Whether all eigenvalues are positive beyond their errors, the cost rises by more than `cost_noise` where
// parameters change by their own sizes, and the step to the predicted minimum is short.
bool is_minimum(const Curvature& of, const Vector& norms, const Vector& gradient, const Vector& sizes,
                double cost_noise) {
  const std::size_t n = norms.size();
  ScaledSpectrum spectrum;
  if (!scaled_spectrum(of.values, norms, spectrum)) return false;
  const auto& [scale, values, V] = spectrum;
  double error = 0, largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    largest = std::max(largest, values[j]);
    for (std::size_t i = 0; i < n; ++i) error += std::pow(of.errors[j * n + i] / (scale[i] * scale[j]), 2);
  }
  const double least = std::max(kFlat * largest, 2 * std::sqrt(error));
  if (!std::ranges::all_of(values, [&](double v) { return v > least; })) return false;
  Vector step(n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    double along = 0, length = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      along += V[k * n + i] * gradient[i] / scale[i];
      if (V[k * n + i] != 0) length = std::min(length, sizes[i] * scale[i] / std::fabs(V[k * n + i]));
    }
    if (!(0.5 * values[k] * length * length > cost_noise)) return false;
    for (std::size_t i = 0; i < n; ++i) step[i] -= V[k * n + i] * along / (values[k] * scale[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!(std::fabs(step[i]) <= kFarFromMinimum * sizes[i])) return false;
  }
  return true;
}

}  // namespace

bool is_second_order_minimum(Evaluator& evaluator, std::span<const double> x, const Box& room,
                             std::span<const int> fixed, double magnitude) {
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (std::ranges::find(fixed, static_cast<int>(k)) == fixed.end()) free.push_back(k);
  }
  const std::size_t n = free.size();
  if (n == 0 || n > kMost) return false;
  const Linearization here = evaluator.linearize(x, {Format::f64, Gram::f64});
  if (!here.finite) return false;
  Vector norms(n), gradient(n), sizes(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double length = std::sqrt(here.normal(free[j], free[j]));
    norms[j] = length > 0 ? length : 1;
    gradient[j] = here.gradient[free[j]];
    // A parameter at 0 has no size of its own.
    const double size = std::fabs(x[free[j]]);
    sizes[j] = size > 0 ? size : std::min(1.0, std::sqrt(2 * here.cost) / norms[j]);
  }
  Curvature curvature{Vector(n * n, 0.0), Vector(n * n, 0.0)};
  for (std::size_t j = 0; j < n; ++j) {
    if (!add_column(evaluator, x, room, free, j, here, kShift * sizes[j], magnitude, curvature)) return false;
  }
  const double r = std::sqrt(2 * here.cost), cost_noise = 8 * kUnitRoundoff * (magnitude + r) * r;
  return is_minimum(curvature, norms, gradient, sizes, cost_noise);
}

}  // namespace nlsq::inline v0
