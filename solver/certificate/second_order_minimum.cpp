// Computes second derivatives of the cost by differences of its gradient, and decides by them whether a point
// is a minimum or a saddle.
#include "certificate/second_order_minimum.hpp"

#include "certificate/certificate_face.hpp"
#include "linear/negative_curvature.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMost = 64;         // parameters
constexpr double kFlat = 1e-6;            // the least curvature, relative to the largest
constexpr double kFarFromMinimum = 1e-3;  // of a parameter's size

// Second derivatives by the free parameters, stored by columns, and bounds of their rounding errors.
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
    if (!room.allow(k, there[k])) continue;
    const Linearization at = evaluator.linearize(there, kF64Plan);
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

// Holds what examine() computes at a point x for the parameters `free`, those that are not in `fixed`.
struct Examined {
  std::vector<std::size_t> free;
  Vector norms, gradient, sizes;
  double cost = 0;
  Curvature curvature;
};

// Returns true if some parameter is an offset. `lengths` are the parameters' sizes.
bool any_offset(const Vector& lengths, const Vector& norms, double cost) {
  for (std::size_t j = 0; j < norms.size(); ++j) {
    if (is_offset(lengths[j], norms[j] > 0 ? norms[j] : 1, cost)) return true;
  }
  return false;
}

// Computes the second derivatives at x. Returns nothing if there are no free parameters or too many, or if
// some number is not finite.
std::optional<Examined> examine(Evaluator& evaluator, std::span<const double> x, const Box& room,
                                std::span<const int> fixed, double magnitude, ShiftBy by) {
  Examined out;
  out.free = face_without(x.size(), fixed).kept;
  const std::size_t n = out.free.size();
  if (n == 0 || n > kMost) return std::nullopt;
  const Linearization here = evaluator.linearize(x, kF64Plan);
  if (!here.finite) return std::nullopt;
  out.cost = here.cost;
  for (const std::size_t k : out.free) {
    const double length = std::sqrt(here.normal(k, k));
    out.norms.push_back(length);
    out.gradient.push_back(here.gradient[k]);
    out.sizes.push_back(shift_length(std::fabs(x[k]), length > 0 ? length : 1, here.cost, by));
  }
  out.curvature = {Vector(n * n, 0.0), Vector(n * n, 0.0)};
  for (std::size_t j = 0; j < n; ++j) {
    if (!add_column(evaluator, x, room, out.free, j, here, kCurvatureShift * out.sizes[j], magnitude,
                    out.curvature))
      return std::nullopt;
  }
  return out;
}

// Returns the sum of the squared rounding errors of the matrix of second derivatives, scaled by `scale`.
double squared_error(const Curvature& of, const Vector& scale) {
  const std::size_t n = scale.size();
  double error = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) error += std::pow(of.errors[j * n + i] / (scale[i] * scale[j]), 2);
  }
  return error;
}

// Returns true if all eigenvalues are positive beyond their errors, the cost rises by more than `least_rise`
// where parameters change by their own sizes, and the step to the predicted minimum is short.
bool is_minimum(const Curvature& of, const Vector& norms, const Vector& gradient, const Vector& sizes,
                double least_rise) {
  const std::size_t n = norms.size();
  ScaledSpectrum spectrum;
  if (!scaled_spectrum(of.values, norms, spectrum)) return false;
  const auto& [scale, values, V] = spectrum;
  const double largest = std::ranges::max(values);
  const double least = std::max(kFlat * largest, 2 * std::sqrt(squared_error(of, scale)));
  if (!std::ranges::all_of(values, [&](double v) { return v > least; })) return false;
  Vector step(n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    double along = 0, length = kInfinity;
    for (std::size_t i = 0; i < n; ++i) {
      along += V[k * n + i] * gradient[i] / scale[i];
      if (V[k * n + i] != 0) length = std::min(length, sizes[i] * scale[i] / std::fabs(V[k * n + i]));
    }
    if (!(0.5 * values[k] * length * length > least_rise)) return false;
    for (std::size_t i = 0; i < n; ++i) step[i] -= V[k * n + i] * along / (values[k] * scale[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!(std::fabs(step[i]) <= kFarFromMinimum * sizes[i])) return false;
  }
  return true;
}

// Returns a bound of the rounding error of the curvature along eigenvector k of the scaled matrix.
double error_along(const Curvature& of, const ScaledSpectrum& spectrum, std::size_t k) {
  const std::size_t n = spectrum.values.size();
  const auto part = [&](std::size_t i) { return std::fabs(spectrum.vectors[k * n + i]) / spectrum.scale[i]; };
  double error = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) error += part(i) * of.errors[j * n + i] * part(j);
  }
  return error;
}

// Returns the direction of the lowest curvature that is negative beyond its error, or nothing if none is. A
// direction in which the cost is level may have a lower value, but that is rounding error.
std::optional<Vector> direction_down(const Examined& at, std::size_t parameters) {
  ScaledSpectrum spectrum;
  if (!scaled_spectrum(at.curvature.values, at.norms, spectrum)) return std::nullopt;
  const auto& [scale, values, V] = spectrum;
  const std::size_t n = values.size();
  double largest = 0, value = 0;
  std::size_t lowest = n;
  for (const double v : values) largest = std::max(largest, std::fabs(v));
  for (std::size_t k = 0; k < n; ++k) {
    const double certain = std::max(kNegativeCurvature * largest, 2 * error_along(at.curvature, spectrum, k));
    if (values[k] < std::min(value, -certain)) value = values[lowest = k];
  }
  if (lowest == n) return std::nullopt;
  Vector along(parameters, 0.0);
  const double length = std::sqrt(2 * at.cost / -value);
  for (std::size_t i = 0; i < n; ++i) along[at.free[i]] = length * V[lowest * n + i] / scale[i];
  return along;
}

}  // namespace

bool is_second_order_minimum(Evaluator& evaluator, std::span<const double> x, const Box& room,
                             std::span<const int> fixed, double magnitude) {
  const std::optional<Examined> at = examine(evaluator, x, room, fixed, magnitude, ShiftBy::size);
  if (!at) return false;
  const double r = std::sqrt(2 * at->cost), cost_noise = 8 * kUnitRoundoff * (magnitude + r) * r;
  // A rise below this leaves a standard error of more than a thousand sizes, so the parameter is
  // undetermined.
  const double undetermined = 0.5e-6 * 2 * at->cost / static_cast<double>(evaluator.residuals());
  return is_minimum(at->curvature, at->norms, at->gradient, at->sizes, std::max(cost_noise, undetermined));
}

std::optional<Vector> descent_from_saddle(Evaluator& evaluator, std::span<const double> x, const Box& room,
                                          std::span<const int> fixed, double magnitude) {
  std::optional<Examined> at = examine(evaluator, x, room, fixed, magnitude, ShiftBy::size);
  std::optional<Vector> along = at ? direction_down(*at, x.size()) : std::nullopt;
  if (!at || along || !any_offset(at->sizes, at->norms, at->cost)) return along;
  at = examine(evaluator, x, room, fixed, magnitude, ShiftBy::residual);
  return at ? direction_down(*at, x.size()) : std::nullopt;
}

std::optional<Vector> descent_of_some(Evaluator& evaluator, std::span<const double> x, const Box& room,
                                      std::span<const std::size_t> some, std::size_t passes) {
  const Linearization here = evaluator.linearize(x, kF64Plan);
  if (!here.finite) return std::nullopt;
  Vector norms, lengths;
  for (const std::size_t k : some) {
    const double norm = std::sqrt(here.normal(k, k));
    norms.push_back(norm > 0 ? norm : 1);
    lengths.push_back(shift_length(std::fabs(x[k]), norms.back(), here.cost, ShiftBy::size));
  }
  if (any_offset(lengths, norms, here.cost)) {
    for (std::size_t j = 0; j < some.size(); ++j)
      lengths[j] = shift_length(std::fabs(x[some[j]]), norms[j], here.cost, ShiftBy::residual);
  }
  const auto times = [&](std::span<const double> v, std::span<double> product) {
    double shift = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < v.size(); ++j)
      shift = std::min(shift, kCurvatureShift * lengths[j] * norms[j] / std::fabs(v[j]));
    Vector there(x.begin(), x.end());
    for (std::size_t j = 0; j < v.size(); ++j) {
      there[some[j]] += shift * v[j] / norms[j];
      if (!room.allow(some[j], there[some[j]])) return false;
    }
    const Linearization at = evaluator.linearize(there, kF64Plan);
    for (std::size_t j = 0; j < v.size(); ++j)
      product[j] = (at.gradient[some[j]] - here.gradient[some[j]]) / norms[j] / shift;
    return at.finite;
  };
  const NegativeCurvature found = negative_curvature(some.size(), passes, times);
  if (found.along.empty()) return std::nullopt;
  Vector along(x.size(), 0.0);
  const double length = std::sqrt(2 * here.cost / -found.value);
  for (std::size_t j = 0; j < some.size(); ++j) along[some[j]] = length * found.along[j] / norms[j];
  return along;
}

}  // namespace nlsq::inline v0
