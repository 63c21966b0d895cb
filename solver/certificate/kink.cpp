// Implements judge_at_kink() by a bundle of gradients (Lemaréchal 1978; Bonnans et al., Numerical
// Optimization, chapter 10): if a convex combination of gradients close to x vanishes, no direction leads
// down from x.
#include "certificate/ends_of_fits.hpp"

#include "certificate/certificate.hpp"
#include "certificate/difference_errors.hpp"
#include "linear/dot.hpp"
#include "linear/linear_solver.hpp"
#include "minimizer/step_rules.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// An end that is farther from the optimum than this, in standard errors, is not examined.
constexpr double kFarFromKink = 3;
// The lengths of the steps to points beside x, in standard errors: the first is this share of tau, and each
// further one is longer by this factor. Differences for derivatives smooth a kink over their own length, and
// a step must lead beyond it.
constexpr double kShortest = 0.5, kLonger = 4;
constexpr double kMostLength = 0.5 * kNearInNoise;
// The combined gradient has to fall to tau, and to this share of the gradient at x.
constexpr double kMostLeft = 0.5;
// On one side of a kink, the gradient changes as JᵀJ predicts, and the cost as the gradient predicts. The
// errors of these predictions are at most this share of the jump.
constexpr double kSame = 0.1;
// The largest jump of the gradient, in units of ‖r‖. If J jumps to C, the gradient jumps by (C - J)ᵀr. After
// a larger jump, C has little in common with J: x does not lie at a kink, but in a curved valley.
constexpr double kMostJump = 4;
// Rounding errors of J may change the gradient by this part of a standard error.
constexpr double kMostNoise = 5e-3;
// A point beside x has to shorten the combined gradient by this factor, or there is no kink.
constexpr double kLeastGained = 0.9;

// Holds the end of a fit, and the metric (JᵀJ)⁻¹ in which its gradients are measured: a gradient of length σ
// leads one standard error away.
class Surroundings {
 public:
  Surroundings(DenseEvaluator& evaluator, const Limits& limits, const MinimizerResult& end)
      : evaluator_(evaluator), limits_(limits), x_(end.x), noise_(2 * end.cost_noise),
        here_(evaluator.linearize(end.x, kF64Plan)) {
    if (!here_.finite) return;
    Vector norms = column_norms(here_);
    if (std::ranges::any_of(norms, [](double norm) { return !(norm > 0); })) return;
    solver_.set(here_, norms);
    determined_ = solver_.solve(0).factored;
  }
  bool determined() const { return determined_; }
  const Linearization& here() const { return here_; }

  // Returns the parameter whose derivatives change most among points that differ from x in a few last digits,
  // if the gradient changes by more than `most` there. These derivatives are rounding errors. At a kink they
  // change only between two neighbours, so they must change on both sides of x.
  std::optional<std::size_t> column_of_noise(double most) {
    constexpr double kFewDigits = 16 * kUnitRoundoff;
    constexpr int kPoints = 4;  // on each side
    std::optional<std::size_t> noisy;
    for (const double direction : {1.0, -1.0}) {
      double furthest = most;
      noisy.reset();
      std::optional<Linearization> before;
      for (int k = 1; k <= kPoints; ++k) {
        Linearization at = at_other_digits(direction * k * kFewDigits);
        if (!at.finite) return std::nullopt;
        if (before) compare(*before, at, furthest, noisy);
        before = std::move(at);
      }
      if (!noisy) return std::nullopt;
    }
    return noisy;
  }

  // Combines gradients at x and at points `length` away until their shortest convex combination is at most
  // `most_left`, and clearly shorter than the gradient at x. Finds nothing if the cost jumps, if its gradient
  // is not that of a kink, or if a point lies beyond the limits.
  struct Found {
    std::optional<double> distance;  // to the optimum, at most
    std::optional<Vector> lower;     // a point beside x where the cost is lower
  };
  Found examine(double length, double most_left) {
    Vector gradient = here_.gradient, downhill;
    double size = solver_.norm_in_metric(gradient);
    const double left = std::min(most_left, kMostLeft * size);
    const std::size_t most = 2 * x_.size() + 2;
    for (std::size_t k = 0; k < most && size > left; ++k) {
      solver_.apply_inverse(gradient, downhill);
      if (!limits_.allow(point_along(downhill, 1.5 * length / size))) return {};
      const Linearization there = beside(downhill, length / size);
      if (!there.finite) return {};
      if (there.cost < here_.cost - noise_) return {{}, lowest_downhill(downhill, length / size)};
      const std::optional<Vector> across = across_kink(there, downhill, length / size, gradient);
      if (!across) return {};
      shorten(gradient, *across);
      const double shorter = solver_.norm_in_metric(gradient);
      if (!(shorter <= kLeastGained * size)) return {};
      size = shorter;
    }
    return size <= left ? Found{size + length, {}} : Found();
  }

 private:
  Vector point_along(const Vector& along, double share) const {
    Vector there = x_;
    for (std::size_t j = 0; j < there.size(); ++j) there[j] += share * along[j];
    return there;
  }
  Linearization beside(const Vector& along, double share) {
    return evaluator_.linearize(point_along(along, share), kF64Plan);
  }
  // If the gradients at two points differ by more than `furthest`, sets it to their distance, and `noisy` to
  // the parameter that causes most of it.
  void compare(const Linearization& a, const Linearization& b, double& furthest,
               std::optional<std::size_t>& noisy) const {
    Vector change(x_.size());
    for (std::size_t j = 0; j < change.size(); ++j) change[j] = b.gradient[j] - a.gradient[j];
    const double distance = solver_.norm_in_metric(change);
    if (!(distance > furthest)) return;
    furthest = distance;
    for (std::size_t j = 0; j < change.size(); ++j)
      change[j] = std::fabs(change[j]) / std::sqrt(here_.normal(j, j));
    noisy = static_cast<std::size_t>(std::ranges::max_element(change) - change.begin());
  }

  // Returns the linearization at a point whose numbers differ from those of x by about this part of their
  // size, as far as the limits allow it. No two numbers change by the same part.
  Linearization at_other_digits(double part) {
    Random random(1);
    Vector there = x_;
    for (std::size_t j = 0; j < there.size(); ++j) {
      const double moved = there[j] * (1 + part * random.of_either_sign(0.5, 1));
      if (limits_.allow(j, moved)) there[j] = moved;
    }
    return evaluator_.linearize(there, kF64Plan);
  }

  // Returns the lowest of the points x + share * downhill that the limits allow. The shares are halved from 1
  // down to `least`.
  Vector lowest_downhill(const Vector& downhill, double least) {
    Vector lowest = point_along(downhill, least);
    double cost = evaluator_.cost(lowest, Format::f64);
    for (double share = 1; share > least; share *= 0.5) {
      Vector there = point_along(downhill, share);
      if (!limits_.allow(there)) continue;
      const double found = evaluator_.cost(there, Format::f64);
      if (!(found < cost)) continue;
      cost = found;
      lowest = std::move(there);
    }
    return lowest;
  }

  // Returns the gradient at x of the smooth piece on which x + share * downhill (`there`) lies. Without a
  // kink this is the gradient at x itself. Returns nothing if cost and gradient are not those beyond a kink:
  // the cost must be no higher than the slope there explains, and a bit further on the gradient must be the
  // same and the cost must have changed by it. Otherwise the function jumps, or what looks like a kink is
  // noise.
  std::optional<Vector> across_kink(const Linearization& there, const Vector& downhill, double share,
                                    const Vector& gradient) {
    if (!(there.cost - here_.cost <= share * dot(there.gradient, downhill) + noise_)) return std::nullopt;
    const Linearization further = beside(downhill, 1.5 * share);
    if (!further.finite) return std::nullopt;
    // On one side the gradient changes by JᵀJ share downhill = -share * gradient.
    Vector bend(x_.size()), jump(x_.size()), across(x_.size());
    for (std::size_t j = 0; j < x_.size(); ++j) {
      bend[j] = further.gradient[j] - there.gradient[j] + 0.5 * share * gradient[j];
      across[j] = there.gradient[j] + share * gradient[j];
      jump[j] = across[j] - gradient[j];
    }
    const double size = solver_.norm_in_metric(jump);
    if (!(size <= kMostJump * std::sqrt(2 * here_.cost))) return std::nullopt;
    // The trapezoidal rule is exact for a quadratic cost.
    const double slopes = dot(there.gradient, downhill) + dot(further.gradient, downhill);
    const double unexplained = std::fabs(further.cost - there.cost - 0.25 * share * slopes);
    const bool straight = unexplained <= kSame * 0.5 * share * std::fabs(dot(jump, downhill)) + noise_ &&
                          solver_.norm_in_metric(bend) <= kSame * size;
    return straight ? std::optional(std::move(across)) : std::nullopt;
  }

  // Replaces `gradient` by the shortest vector between itself and `other`.
  void shorten(Vector& gradient, const Vector& other) {
    Vector difference(gradient.size()), inverse;
    for (std::size_t j = 0; j < gradient.size(); ++j) difference[j] = gradient[j] - other[j];
    solver_.apply_inverse(difference, inverse);
    const double squared = -dot(difference, inverse);
    if (!(squared > 0)) return;
    const double share = std::clamp(-dot(gradient, inverse) / squared, 0.0, 1.0);
    for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] -= share * difference[j];
  }

  DenseEvaluator& evaluator_;
  const Limits& limits_;
  const Vector& x_;
  double noise_;
  Linearization here_;
  LinearSolver solver_;
  bool determined_ = false;
};

// Returns true if the fit may have ended at a kink. Where J is ill-conditioned the metric consists of
// rounding errors, and parameters may be going to infinity, so the result is false. `judged` says that the
// fit takes no steps and only judges x.
bool may_lie_at_kink(const MinimizerResult& end, bool judged) {
  const Summary& s = end.summary;
  const Certificate& c = s.certificate;
  const bool ended = judged || (s.termination == Termination::no_progress && !end.spent);
  return s.verdict == Verdict::budget && ended && !end.underflow && !end.limited_by_rounding &&
         c.recheck_passed && c.wrong_column < 0 && c.at_bound.empty() &&
         c.rank == static_cast<int>(end.x.size()) && c.condition <= rules::kNormalCondition &&
         c.decrement_sigma <= kFarFromKink;
}

// Returns true if rounding errors of the values, divided by the width of differences, give errors of J that
// the condition number makes large. Gradients beside x then differ by noise, as they do across a kink.
bool derivatives_are_noise(const DenseEvaluator& evaluator, const RowModel& rows, const MinimizerResult& end,
                           const Linearization& here) {
  const double squares = squared_error_of_differences(evaluator, end.x, here);
  if (squares == 0) return false;  // J is not computed by differences
  std::vector<double> residuals(rows.rows()), magnitudes(rows.rows());
  rows.reference_residuals(end.x, 0, rows.rows(), residuals.data(), magnitudes.data());
  double terms = 0;
  for (const double size : magnitudes) terms += size * size;
  return kUnitRoundoff * std::sqrt(terms * squares * end.summary.certificate.condition) > kMostNoise;
}

void certify_end(MinimizerResult& end, const char* governed_by, double distance) {
  Certificate& c = end.summary.certificate;
  c.decrement_sigma = distance;
  c.governed_by = governed_by;
  c.passed = true;
  end.summary.verdict = c.verdict = Verdict::converged;
  end.summary.termination = Termination::converged;
}

}  // namespace

void judge_by_distance(const SolveRequest& request, MinimizerResult& end) {
  const double distance = end.summary.certificate.decrement_sigma;
  if (end.maybe_at_kink && may_lie_at_kink(end, false) && distance <= request.options.tau)
    certify_end(end, "decrement", distance);
}

std::optional<Vector> judge_at_kink(DenseEvaluator& evaluator, const SolveRequest& request,
                                    MinimizerResult& end) try {
  const SolverOptions& options = request.options;
  if (!may_lie_at_kink(end, options.max_iterations == 0)) return std::nullopt;
  const double sigma = scatter(end.summary.final_cost, request.rows.rows(), end.x.size(), request.unit_sigma);
  Surroundings around(evaluator, request.limits, end);
  if (!around.determined() || !(sigma > 0)) return std::nullopt;
  if (derivatives_are_noise(evaluator, request.rows, end, around.here())) return std::nullopt;
  if (evaluator.jacobian_error() == 0) end.noisy_column = around.column_of_noise(kMostNoise * sigma);
  if (end.noisy_column) return std::nullopt;
  const double tau = std::min(options.tau, kNearInNoise), shortest = kShortest * tau;
  for (double length = shortest; length > 0 && length <= kMostLength; length *= kLonger) {
    Surroundings::Found found = around.examine(length * sigma, tau * sigma);
    if (found.lower) return std::move(found.lower);
    if (!found.distance) continue;
    certify_end(end, kKink, *found.distance / sigma);
    return std::nullopt;
  }
  return std::nullopt;
} catch (...) {
  return std::nullopt;  // a function that throws beside x gives no information
}

}  // namespace nlsq::inline v0
