// The rules by which steps are scaled, judged and damped: pure functions of numbers, shared by the loop of
// one problem (minimizer.hpp) and that of many small ones in lanes (lane_minimizer.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nlsq::inline v0::rules {

// D, the scale of a parameter, is its column's norm; a column that shrinks keeps half of its last scale. That
// lies between Moré's (1978) largest norm ever seen, which creeps where columns shrink for good (MGH10), and
// the present norm, which lets parameters run away where they shrink on the way out (MGH17): 324 of 324
// perturbed NIST runs against 318 and 318.
inline constexpr double kScaleMemory = 0.5;
inline double remembered_scale(double norm, double last) { return std::max(norm, kScaleMemory * last); }

// The same for all parameters. A column that is zero gets the largest scale, or 1: any positive one will do.
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

// A step is near the optimum where ν₀ is within so many standard errors. With few degrees of freedom σ is
// itself made of the distance: the step must be a small part of the residual, too.
inline bool near_optimum(double decrement_squared, double decrement_sigma, double cost, double trusted) {
  return decrement_sigma <= trusted && decrement_squared <= 0.1 * 2 * cost;
}

inline constexpr double kLeastGain = 1e-4;  // gain ratio of a step that is taken, in float64

enum class Judgement { accept, reject, invalid, undecided };

// The three-valued gain ratio: undecided where the noise of the costs covers the difference.
inline Judgement judge(double before, double after, double least_decrease, double noise) {
  const double decrease = before - after;
  if (decrease - noise >= least_decrease) return Judgement::accept;
  if (decrease + noise < least_decrease || !std::isfinite(after)) return Judgement::reject;
  return Judgement::undecided;
}

// Noise of a cost in float64: Σ|r_i||δr_i|, δr_i a few roundings of the terms that r_i is made of.
// `magnitude` is Σ|r_i| |terms of r_i| / ‖r‖: one row of huge weight that is fitted exactly must not hide
// what a step does to all others.
inline double cost_noise(double magnitude, double cost) {
  return 4 * 0x1p-53 * (magnitude * std::sqrt(2 * cost) + 2 * cost);
}

// An undamped step along a direction that the data do not determine: costs and gradients out there are
// rounding.
inline bool leads_nowhere(double scaled_norm, double scaled_size, double cost) {
  constexpr double kFar = 1e8;
  return scaled_norm > kFar * std::max(scaled_size, std::sqrt(2 * cost));
}

// Geodesic acceleration of problems for which it costs one evaluation of the residuals. A bend, 2‖D a‖/‖D s‖,
// grows with the step's length. Where the last one measured says that this step is straight, or too bent for
// the series to be trusted, it is not measured again, but for a straight step after one that fell short of
// its promise. `expected`: NaN where no bend was measured. On Ladybug-49 19 accelerated steps do what 28 did;
// on pose graphs nothing is won.
inline bool worth_accelerating(double expected, double last_gain) {
  constexpr double kMost = 0.75, kStraight = 0.005, kShort = 0.25;
  return std::isnan(expected) || (expected <= kMost && (expected > kStraight || last_gain < kShort));
}

// The model is linear as far as the last step went: little damping is called for, and what there is slows
// weak directions down. A gain ratio of 1 alone says little: the sum of many residuals that bend may do as a
// linear one.
inline bool model_was_exact(double bend, double gain) {
  constexpr double kStraight = 0.05, kExact = 0.05;
  return bend <= kStraight && std::fabs(gain - 1) <= kExact;
}

}  // namespace nlsq::inline v0::rules
