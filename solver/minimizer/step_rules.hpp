// Declares the rules that scale, judge and damp steps, as pure functions of numbers. The loop of one problem
// (minimizer.hpp) and that of many small ones in lanes (lane_minimizer.hpp) share them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0::rules {

// The scale D of a parameter is its column norm, but at least half of its last scale. This rule lies between
// two known ones. Moré's (1978) largest norm so far makes progress slow where columns shrink for good
// (MGH10). With the present norm, a parameter is damped too little where its column shrinks while it grows,
// and it may go to infinity (MGH17). This rule solves 324 of 324 perturbed NIST runs; each of the other two
// solves 318.
inline constexpr double kScaleMemory = 0.5;
inline double remembered_scale(double norm, double last) { return std::max(norm, kScaleMemory * last); }

// Updates all scales. A zero column gets the largest scale, or 1: any positive value will do.
inline void remember_scale(const std::vector<double>& norms, std::vector<double>& scale) {
  scale.resize(norms.size(), 0.0);
  double largest = 0;
  for (std::size_t j = 0; j < norms.size(); ++j) {
    scale[j] = remembered_scale(norms[j], scale[j]);
    largest = std::max(largest, scale[j]);
  }
  for (double& d : scale) {
    if (!(d > 0)) d = largest > 0 ? largest : 1;
  }
}

// Returns true if a step is so near the optimum that ν₀ is within `trusted` standard errors. With few degrees
// of freedom the distance contributes to σ itself, so the step must be a small part of the residual, too. The
// kernel lane_take (jacobian/kernels) has the same rule.
inline bool near_optimum(double decrement_squared, double decrement_sigma, double cost, double trusted) {
  return decrement_sigma <= trusted && decrement_squared <= 0.1 * 2 * cost;
}

// Where each step lowers the cost by more than this share, Gauss-Newton converges well (Fletcher and Xu, IMA
// J. Numer. Anal. 7, 1987).
inline constexpr double kFastDecrease = 0.2;
inline constexpr double kLeastGain = 1e-4;  // least gain ratio of an accepted step, in float64

inline constexpr double kNormalCondition = 1e12;  // up to this κ₀, undamped normal equations are trusted

// After this many iterations, or accepted steps, a fit counts as hard. It may then use geodesic acceleration,
// the curvature of the residuals and second derivatives, which would not pay in an easy fit.
inline constexpr int kHardFit = 10;

enum class Judgement { accept, reject, invalid, undecided };

// Judges a step by its gain ratio. The result is `undecided` where the noise of the costs covers the
// difference. This function does not return `invalid`, which is for trial points without a finite cost.
inline Judgement judge(double before, double after, double least_decrease, double noise) {
  const double decrease = before - after;
  if (decrease - noise >= least_decrease) return Judgement::accept;
  if (decrease + noise < least_decrease || !std::isfinite(after)) return Judgement::reject;
  return Judgement::undecided;
}

// Returns the noise of a cost in float64: Σ|r_i||δr_i|, where δr_i is a few rounding errors of the terms of
// r_i. `magnitude` is Σ|r_i| |terms of r_i| / ‖r‖. The weights |r_i| prevent that the terms of one row of
// huge weight, which is fitted exactly, hide the effect of a step on all others.
inline double cost_noise(double magnitude, double cost) {
  return 4 * 0x1p-53 * (magnitude * std::sqrt(2 * cost) + 2 * cost);
}

// Returns the gain ratio of a step, between 0 and 1, from the slopes gᵀs of the cost at both of its ends, by
// the trapezoid rule. It has digits where rounding hides the difference of the costs.
inline double gain_by_slopes(double before, double after, double predicted) {
  const double gain = -0.5 * (before + after) / predicted;
  return predicted > 0 && std::isfinite(gain) ? std::clamp(gain, 0.0, 1.0) : 1;
}

// Returns true for an undamped step along a direction that the data do not determine. Costs and gradients at
// so far a point are dominated by rounding.
inline bool leads_nowhere(double scaled_norm, double scaled_size, double cost) {
  constexpr double kFar = 1e8;
  return scaled_norm > kFar * std::max(scaled_size, std::sqrt(2 * cost));
}

inline constexpr double kMostBend = 0.75;  // beyond this 2‖D a‖/‖D s‖ the acceleration is not trusted

// Decides whether to compute the geodesic acceleration, which takes one evaluation of the residuals here. The
// ratio 2‖D a‖/‖D s‖ grows with the step's length; `expected` is its prediction from the last measurement, or
// NaN if there was none. If `expected` shows that the path is straight, or too curved for the series to be
// trusted, the acceleration is skipped. The exception is a straight step after one with a low gain ratio. On
// Ladybug-49, 19 accelerated steps do what 28 did; on pose graphs it gains nothing.
inline bool worth_accelerating(double expected, double last_gain) {
  constexpr double kStraight = 0.005, kShort = 0.25;
  return std::isnan(expected) || (expected <= kMostBend && (expected > kStraight || last_gain < kShort));
}

// Returns true if the model was linear over the length of the last step. Then little damping is needed, and
// damping would slow convergence along weakly determined directions. A gain ratio of 1 alone is no proof: the
// sum of many nonlinear residuals may behave like a linear one.
inline bool model_was_exact(double bend, double gain) {
  constexpr double kStraight = 0.05, kExact = 0.05;
  return bend <= kStraight && std::fabs(gain - 1) <= kExact;
}

}  // namespace nlsq::inline v0::rules
