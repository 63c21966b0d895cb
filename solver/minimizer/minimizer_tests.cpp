// Decides whether the solve may end at x, by first-order tests and by whether rounding decides about steps.
// The certificate of minimizer_conclude.cpp then confirms or rejects this end.
#include "minimizer/loop.hpp"

#include "certificate/certificate.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Returns true if x is so near to the optimum that rounding may decide about steps.
bool near_in_noise(const Loop& loop) {
  const UndampedStep& s0 = loop.point.undamped_step;
  return undamped_step_known(loop) && (s0.decrement_sigma <= kNearInNoise ||
                                       s0.decrement <= decrement_noise(loop.cost(), loop.rounding.magnitude));
}

// Tests whether the damped step is short enough to end the solve. If it comes from conjugate gradients, it
// may be short only because their iteration was cut short. So it is computed again with a tight tolerance.
bool reached_by_damped_step(Loop& loop) {
  System& system = *loop.system;
  const auto flat = [&] {
    const bool small = loop.step.nu <= loop.options->tau * loop.sigma() ||
                       system.gradient_cosine(loop.point.x) <= loop.options->gtol ||
                       system.gradient_is_noise(loop.point.x, loop.rounding.last());
    return small && loop.lambda() <= 1e-4 && loop.step.scaled_norm <= loop.options->xtol * loop.scaled_size();
  };
  if (!flat()) return false;
  system.set_solve_accuracy(0);
  system.solve(loop.lambda(), loop.step);
  return flat();
}

// Returns true if undamped steps hardly become shorter although almost nothing is left to gain. Then they
// probably lead along directions that the data leave undetermined, such as the position of a whole scene, and
// only rounding errors move x there. The certificate finds such directions and takes no step along them, so
// it is formed now. Dense systems find them by their condition.
bool drifts_along_gauge(const Loop& loop) {
  constexpr int kTries = 2;
  constexpr double kNothing = 1e-3;  // of tau
  constexpr double kAsLong = 0.1;    // as the last step
  const UndampedStep& s0 = loop.point.undamped_step;
  return loop.system->residuals_stay_f64() && loop.ending.failed_certificates < kTries &&
         s0.decrement_sigma <= kNothing * loop.options->tau && loop.point.last_decrement > 0 &&
         s0.step_size >= kAsLong * loop.point.last_step_size;
}

}  // namespace

double gain_by_gradients(const Loop& loop) {
  if (loop.step.nu <= decrement_noise(loop.cost(), loop.rounding.magnitude)) return 1;
  return loop.system->gain_by_gradients(loop.point.x, loop.trial.x, loop.step);
}

bool test_for_end(Loop& loop) {
  if (loop.low_rows()) return false;
  System& system = *loop.system;
  const SolverOptions& options = *loop.options;
  const UndampedStep& s0 = loop.point.undamped_step;
  if (loop.ending.stalled || !loop.ending.stopped_by.empty()) return true;
  if (loop.ending.held_off || (system.residuals_stay_f64() && loop.low_gram())) return false;
  const double left = s0.usable ? s0.decrement_sigma : loop.step.nu / loop.sigma();
  if (system.residuals_vanish(loop.summary.initial_cost, left, !loop.damping.last_accepted)) return true;
  if (zero_residual(loop.cost(), loop.summary.initial_cost, loop.rounding.magnitude)) return true;
  if (system.solves_iteratively()) return reached_by_damped_step(loop);
  const bool known = undamped_step_known(loop);
  // The gradient is within rounding. If columns are nearly dependent, x may still be far from the optimum
  // unless ν₀ is within rounding, too. The rounding bounds are worst cases, so steps continue while they
  // help, until only few standard errors are left, or until several steps in a row have not helped.
  const double magnitude = loop.rounding.magnitude;
  constexpr int kRepeatedly = 4;  // steps
  const bool few_left = !loop.damping.last_accepted && s0.decrement_sigma <= kNearInNoise;
  const bool rejected_repeatedly = loop.digits.rejected_in_a_row >= kRepeatedly;
  const bool in_noise = s0.decrement <= decrement_noise(loop.cost(), magnitude) &&
                        (residuals_are_rounding(loop.cost(), magnitude) || few_left || rejected_repeatedly);
  const bool close = s0.decrement_sigma <= options.tau || in_noise;
  if ((known ? close : !system.residuals_stay_f64()) &&
      system.gradient_is_noise(loop.point.x, loop.rounding.last())) {
    return true;
  }
  const double cosine = system.gradient_cosine(loop.point.x);
  if (known) {
    static const double usual_gtol = SolverOptions().gtol;
    const bool near = s0.decrement_sigma <= options.tau;
    const bool flat = is_flat(cosine, options.gtol, s0.decrement_sigma);
    if (s0.step_size > std::max(options.xtol, step_noise(s0.condition, system.parameters())))
      return drifts_along_gauge(loop);
    // A gtol that the user chose ends the fit farther from the optimum, too, but without a certificate.
    if (!near && !flat && cosine <= options.gtol && options.gtol > usual_gtol) {
      loop.ending.stopped_by = "the cosine of the gradient fell below gtol in f64";
      return true;
    }
    return near || flat;
  }
  // κ₀ is too large for the normal equations, and only a QR pass can decide. It is made once the damped
  // problem is solved.
  return cosine <= options.gtol || loop.step.nu <= 1e-3 * options.tau * loop.sigma();
}

// Where rounding keeps the steps longer than xtol, the test of their length never holds. Without this rule
// such steps would go on until the iteration limit. Each failed certificate doubles the number of steps that
// may pass without progress. A decrease of the cost counts as progress if it is more than a small share of
// the cost, and more than the likely rounding error of the cost. The bound of that error assumes that all
// rounding errors have the same sign, which they hardly ever have.
bool test_for_stagnation(Loop& loop) {
  constexpr double kVisible = 1e-10;
  const UndampedStep& s0 = loop.point.undamped_step;
  Stagnation& past = loop.ending.stagnation;
  if (loop.low_rows() || loop.low_gram() || !undamped_step_known(loop)) return false;
  const bool nearer = s0.decrement <= 0.5 * past.decrement;
  if (nearer) past.decrement = s0.decrement;
  const double likely = loop.noise() / std::sqrt(static_cast<double>(loop.system->residuals()));
  if (nearer || loop.cost() < past.cost - std::max(kVisible * loop.cost(), likely)) {
    past.cost = loop.cost();
    past.iterations = past.short_rises = 0;
  }
  if (!near_in_noise(loop) || (++past.iterations < past.patience && !past.at_kink())) return false;
  past.iterations = 0;
  past.patience *= 2;
  return true;
}

bool test_for_slow_descent(Loop& loop) {
  constexpr int kSlowly = 20, kStuck = 15;  // iterations
  constexpr double kSlow = 5e-3, kVisible = 1e-9, kGrown = 1e3;
  Stagnation& past = loop.ending.stagnation;
  if (!loop.request->by_calls) return false;
  const auto falls = [&](double by, double& cost, int& iterations) {
    const bool fell = loop.cost() < (1 - by) * cost;
    if (fell) cost = loop.cost();
    iterations = fell ? 0 : iterations + 1;
  };
  falls(kVisible, past.stuck_cost, past.stuck_iterations);
  if (near_in_noise(loop)) past.stuck_iterations = 0;  // test_for_stagnation() decides
  falls(kSlow, past.slow_cost, past.slow_iterations);
  const Vector &x = loop.point.x, &start = loop.checkpoint.x;
  for (std::size_t j = 0; j < x.size() && past.slow_iterations > kSlowly; ++j)
    loop.ran_off = loop.ran_off || (start[j] != 0 && std::fabs(x[j]) > kGrown * std::fabs(start[j]));
  return loop.ran_off || past.stuck_iterations > kStuck;
}

}  // namespace nlsq::inline v0
