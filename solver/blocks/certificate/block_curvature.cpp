// Uses second derivatives of the cost in the certificate: they measure the distance to the optimum where
// those of JᵀJ alone do not, and tell minima from saddles. Only problems with few unknowns take them.
#include "blocks/block_system.hpp"
#include "certificate/second_order_minimum.hpp"
#include "linear/negative_curvature.hpp"
#include "support/all_finite.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

bool BlockSystem::has_second_order() const {
  return !low_jacobian() && !solver_.iterative() &&
         structure_.tangent_size() - at_.fixed_count <= kMostSecondOrder;
}

// Returns a function that computes the gradient at other points. J must be known in f64 at x. Each call
// restores it.
GradientAt BlockSystem::gradient_beside() {
  return [this, r = std::vector<double>(), records = std::vector<double>()](
             std::span<const double> x, std::vector<double>& gradient) mutable {
    const std::vector<double> there(x.begin(), x.end());
    if (!std::isfinite(model_.cost(there, r))) return false;
    ++facts_.cost_evaluations;
    model_.exchange_records(records);
    model_.linearize<double>(there, r);
    solver_.gather_aside(model_.records<double>(), gradient);
    model_.exchange_records(records);
    model_.return_to(at_.x, at_.r);
    if (at_.fixed_count > 0) model_.hold<double>(at_.fixed);
    return all_finite(gradient);
  };
}

bool BlockSystem::second_order_step(Step& out) {
  const SecondOrder found = second_order(point(), gradient_beside(), ShiftBy::size, CurvatureWanted::all);
  if (!found.known) return false;
  out.step = found.step;
  out.predicted = 0.5 * found.decrement * found.decrement;
  return true;
}

// Returns true if the curvature leaves some parameter undetermined: its standard error is a thousand times
// its size, or a change by its own size changes the cost by less than the rounding error of the cost. Where a
// parameter left the range in which the data depend on it, the gradient and the second derivatives are tiny
// together. There a Newton step of any length looks like the last one before a minimum.
bool BlockSystem::leaves_parameters_open(const SecondOrder& found, const BlockJudgement& judgement) {
  constexpr double kMostErrors = 1e3;  // standard errors, in sizes of the parameter
  const std::vector<double> here = tangent_sizes(model_.problem(), structure_, at_.x),
                            before = tangent_sizes(model_.problem(), structure_, start_);
  const double sigma = judgement.sigma / kMostErrors;
  const double least = std::max(sigma * sigma, judgement.terms->cost_noise);
  for (std::size_t k = 0; k < here.size(); ++k) {
    const double size = std::max({here[k], before[k], 1.0});
    if (!point().is_fixed(k) && found.curvature[k] * size * size <= least) return true;
  }
  return false;
}

// Repeats the tests on the step and the decrement with second derivatives of the cost, unless these are JᵀJ
// alone. Where a tolerance of the user ends the solve, a short distance counts although it passes no test, if
// the step is short, too. On plateaus and in valleys that run to infinity second derivatives vanish together
// with the gradient, so that the distance seems short there. If it does not count, or the cost falls along
// the step or further out, the distance is that of the linear model again.
void BlockSystem::judge_by_second_order(const BlockTests& tests, BlockJudgement& judgement, Certified& out) {
  constexpr double kShort = 0.01;  // of the parameters
  if (curves_like_normal(point(), gradient_beside(), kLeastCurvature)) return;
  SecondOrder found = second_order(point(), gradient_beside(), ShiftBy::size, CurvatureWanted::all);
  if (!found.known) return;
  if (sizes_are_offsets(point())) {
    SecondOrder nearer = second_order(point(), gradient_beside(), ShiftBy::residual, CurvatureWanted::all);
    if (!nearer.known) return;
    if (!nearer.definite || nearer.decrement > found.decrement) found = std::move(nearer);
  }
  out.step = found.step;
  if (!found.definite || leaves_parameters_open(found, judgement)) return;
  Certificate& c = judgement.certificate;
  const double by_linear_model = c.decrement_sigma;
  judgement.distance.known = judgement.distance.reached = true;
  judgement.distance.decrement = found.decrement;
  judgement.distance.step = found.step;
  judgement.distance.rank = static_cast<int>(point().free());
  judgement.distance.rank_hidden = false;
  judgement.distance.error = 0;
  apply_tests(point(), tests, judgement);
  const bool passed = c.passed, near = tests.stopped && c.decrement_sigma <= kNearInNoise;
  if (passed) c.governed_by += " by second derivatives";
  if (passed || near) found_lower_ = contradicted(tests, judgement) || falls_further_out(judgement, out);
  if (found_lower_) c.passed = false;
  if (found_lower_ || (near && !passed && !(c.step <= kShort))) c.decrement_sigma = by_linear_model;
}

// Returns the cost below which a valley begins. Even a small fall along a straight line can be its beginning.
double BlockSystem::lower_in_a_valley(const BlockJudgement& judgement) const {
  constexpr double kOfContradiction = 1e-5, kOfNoise = 8;
  return at_.model.cost -
         std::max(kOfContradiction * judgement.contradiction(), kOfNoise * judgement.terms->cost_noise);
}

// Returns true if x is beside a saddle. This is a shorter form of curvature_at_end() for ends by a tolerance
// of the user, which takes at most some twenty evaluations. If it returns true, out.step leads to a lower
// cost.
bool BlockSystem::is_beside_saddle(const BlockJudgement& judgement, Certified& out) {
  constexpr std::size_t kFew = 8;
  if (low_jacobian() || point().free() > kFew) return false;
  if (curves_like_normal(point(), gradient_beside(), kNegativeCurvature)) return false;
  const ShiftBy by = sizes_are_offsets(point()) ? ShiftBy::residual : ShiftBy::size;
  const SecondOrder found = second_order(point(), gradient_beside(), by, CurvatureWanted::sign);
  return found.known && found.least < -kNegativeCurvature &&
         falls_along(found, lower_in_a_valley(judgement), out);
}

// Decides whether x is a saddle. It is one if the cost has negative curvature along some direction. Large
// residuals and redescending losses can cause this although JᵀJ is positive. In that case out.step leads to a
// lower cost. The curvature is unknown if it differs from that of JᵀJ by less than `limit`, relative to the
// largest curvature.
BlockSystem::Curved BlockSystem::curvature_at_end(const BlockJudgement& judgement, double limit,
                                                  Certified& out) {
  const std::size_t free = point().free();
  if (low_jacobian() || judgement.certificate.governed_by == kZeroResidual) return Curved::unknown;
  const double enough = lower_in_a_valley(judgement);
  const bool offsets = sizes_are_offsets(point());
  const ShiftBy first = offsets ? ShiftBy::residual : ShiftBy::size,
                second = offsets ? ShiftBy::size : ShiftBy::residual;
  if (free > kMostExamined) {
    const SecondOrder found = curvature_where_level(point(), gradient_beside(), first);
    return found.known && falls_along(found, enough, out) ? Curved::down : Curved::unknown;
  }
  // If the residuals are nearly linear, JᵀJ is all of the curvature, which is never negative then.
  if (curves_like_normal(point(), gradient_beside(), limit)) return Curved::unknown;
  // Where J has lost rank, the sign of a one-sided difference may come from third derivatives alone, so both
  // sides are used. A curvature that leaves a parameter undetermined does not show a minimum.
  const bool deficient = judgement.certificate.verdict == Verdict::rank_deficient;
  const CurvatureWanted wanted = deficient ? CurvatureWanted::all : CurvatureWanted::sign;
  for (const ShiftBy by : {first, second}) {
    const SecondOrder found = second_order(point(), gradient_beside(), by, wanted);
    const bool up = found.known && found.definite;
    if (up && !(deficient && leaves_parameters_open(found, judgement))) return Curved::up;
    if (found.known && found.least < -kNegativeCurvature && falls_along(found, enough, out))
      return Curved::down;
  }
  return Curved::unknown;
}

// Searches the direction of least curvature for a cost below `enough`. The first length is the one at which
// the quadratic model predicts a cost of zero. If it returns true, out.step leads to the lowest cost that it
// found.
bool BlockSystem::falls_along(const SecondOrder& found, double enough, Certified& out) {
  std::vector<double> along = found.along_least, trial;
  for (double& v : along) v *= std::sqrt(2 * at_.model.cost / -found.least);
  Vector step = lowest_along(along, enough, [&](const Vector& tried) {
    model_.plus(at_.x, tried, trial);
    return cost_or_none(trial);
  });
  if (step.empty()) return false;
  out.step = std::move(step);
  return true;
}

}  // namespace nlsq::inline v0
