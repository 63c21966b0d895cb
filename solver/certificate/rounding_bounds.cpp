// Computes bounds of the effect of rounding errors on the gradient, the decrement and the residuals, and
// decides whether a quantity is within its bound.
#include "certificate/certificate.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

namespace {

bool is_held(const Linearization& at, const Box& room, std::size_t j) {
  return !room.empty() && held(room, j, at.gradient[j]) != Held::none;
}

}  // namespace

double scatter(double cost, std::size_t rows, std::size_t parameters, bool unit_sigma) {
  if (unit_sigma) return 1;
  return rows > parameters ? std::sqrt(2 * cost / static_cast<double>(rows - parameters)) : 0;
}

double gradient_cosine(const Linearization& at, const Box& room) {
  const double r = std::sqrt(2 * at.cost);
  double largest = 0;
  for (std::size_t j = 0; j < at.gradient.size(); ++j) {
    if (is_held(at, room, j)) continue;
    const double column = std::sqrt(at.normal(j, j));
    if (column > 0 && r > 0) largest = std::max(largest, std::fabs(at.gradient[j]) / column / r);
  }
  return largest;
}

// |fl(g_j) - g_j| <= 4u Σ_i |J_ij| |terms of r_i| + 32u ‖J_j‖‖r‖: a few roundings in each residual, and sums
// of at most some tens of additions in a chain (lanes, tiles, tree) over products. The bound is taken for
// each column, so that one row of huge weight does not enlarge the bound of a parameter that the row does not
// depend on.
GradientNoise gradient_noise(const Linearization& at, double magnitude,
                             std::span<const double> column_magnitude, double jacobian_error,
                             const Box& room) {
  const double r = std::sqrt(2 * at.cost);
  if (!(r > 0)) return {true, 1.0};
  GradientNoise out;
  for (std::size_t j = 0; j < at.gradient.size(); ++j) {
    if (is_held(at, room, j)) continue;
    const double column = std::sqrt(at.normal(j, j));
    const double cosine = column > 0 ? std::fabs(at.gradient[j]) / column / r : 0;
    const double terms = column_magnitude.empty() ? magnitude : column_magnitude[j];
    const double bound = kUnitRoundoff * (4 * terms / r + 32) + jacobian_error;
    out.add(cosine, bound);
  }
  return out;
}

void GradientNoise::add(double cosine, double its_bound) {
  if (!(cosine <= furthest * its_bound)) {
    furthest = cosine / its_bound;
    noise = false;
    bound = its_bound;
  } else if (noise) {
    bound = std::max(bound, its_bound);
  }
}

// ν₀ = ‖Qᵀr‖ changes by no more than r does.
double decrement_noise(double cost, double magnitude) {
  return 32 * kUnitRoundoff * (magnitude + std::sqrt(2 * cost));
}

bool residuals_are_rounding(double cost, double magnitude) {
  return std::sqrt(2 * cost) <= 4 * kUnitRoundoff * magnitude;
}

namespace {

// Returns a step in which each parameter moves the residuals by `times` rounding errors of their terms.
// Neighbouring parameters move in opposite directions, within the bounds. x plus the step is a sum without
// rounding.
std::vector<double> step_of_rounding(std::span<const double> x, const Vector& norms,
                                     const CertificateTests& tests, double times) {
  std::vector<double> out(x.size(), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (!(norms[j] > 0)) continue;
    double step = (j % 2 == 0 ? times : -times) * kUnitRoundoff * tests.magnitude / norms[j];
    if (!tests.room.empty()) {
      if (step < tests.room.lower[j] || step > tests.room.upper[j]) step = -step;
      if (step < tests.room.lower[j] || step > tests.room.upper[j]) step = 0;
    }
    const double moved = x[j] + step;
    out[j] = moved - x[j];
  }
  return out;
}

}  // namespace

// Few rows may have no rounding error by chance, so x is then moved several times.
MeasuredRounding measure_rounding(Evaluator& evaluator, std::span<const double> x, const Linearization& at,
                                  const CertificateTests& tests, UndampedSolver& scratch) {
  constexpr std::size_t kEnough = 64, kMost = 8;
  const std::size_t moves =
      std::clamp<std::size_t>(kEnough / std::max<std::size_t>(1, evaluator.residuals()), 1, kMost);
  Vector norms, projection;
  column_norms(at, norms);
  solve_undamped(at, scratch);
  MeasuredRounding sums;
  for (std::size_t k = 0; k < moves; ++k) {
    const std::vector<double> step =
        step_of_rounding(x, norms, tests, (k % 2 == 0 ? 4.0 : -4.0) + 0.7 * static_cast<double>(k));
    sums.residuals += evaluator.second_order_into(x, step, 1, projection);
    if (!sums.known()) return {kNaN, kNaN};
    const double shift = scratch.step.factored ? scratch.solver.norm_in_metric(projection) : kInfinity;
    sums.decrement += shift * shift;
  }
  // r_vv of length 1 is twice the difference, and the errors of two points are √2 times those of one.
  const double of_one = 0.5 * std::sqrt(0.5 / static_cast<double>(moves));
  return {of_one * std::sqrt(sums.residuals), of_one * std::sqrt(sums.decrement)};
}

bool rests_on_rounding(const Certificate& c) {
  return is_success(c.verdict) && (c.decrement_sigma > kNearInNoise || c.gradient_bound >= 1);
}

double grid_decrement(const Linearization& at, std::span<const double> x) {
  double squares = 0;
  for (std::size_t j = 0; j < x.size(); ++j) squares += x[j] * x[j] * at.normal(j, j);
  return kUnitRoundoff * std::sqrt(squares);
}

double step_noise(double condition, std::size_t parameters) {
  return static_cast<double>(parameters) * kUnitRoundoff * std::sqrt(condition);
}

bool zero_residual(double cost, double initial_cost, double magnitude) {
  return cost == 0 || (cost <= kUnitRoundoff * kUnitRoundoff * initial_cost &&
                       std::sqrt(2 * cost) <= kVanishing * magnitude);
}

}  // namespace nlsq::inline v0
