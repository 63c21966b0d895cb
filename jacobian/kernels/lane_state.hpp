// LaneState holds the numbers of many small fits that iterate at once. Each fit has one lane. The kernel
// lane_take decides for all fits at once which trial points are good enough, and lane_propose computes the
// next trial points. LaneMinimizer (solver/batch) looks only at fits for which lane_take reports an event.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// The states of the trial point of a lane. They are doubles, because kernels compare them as numbers.
namespace lane_phase {
inline constexpr double idle = 0;          // there is no fit
inline constexpr double start = 1;         // the start of a fit that iterates from there
inline constexpr double start_linear = 2;  // a start whose linear parameters are to be solved for
inline constexpr double linear = 3;        // the point with those parameters
inline constexpr double iterate = 4;       // a step away from x
}  // namespace lane_phase

// The cases in which lane_take leaves a decision to the caller.
namespace lane_event {
inline constexpr double none = 0;
inline constexpr double refused = 1;  // the trial point is not taken
inline constexpr double may_end = 2;  // the fit is near its end, or has used up its iterations
}  // namespace lane_event

// Pointers to arrays of `lanes` numbers for each entry: entry k of lane l is at k * lanes + l. The point x,
// the trial point and the steps have n entries, one for each free parameter; sums are the packed triangles
// of [J | r]ᵀ[J | r], as lane_gram makes them.
struct LaneState {
  std::size_t lanes = 0;          // a multiple of lanes_f64
  int n = 0;                      // free parameters
  const int* free = nullptr;      // their positions among the parameters of `trial`
  double freedom = 1;             // rows less n
  bool unit_sigma = false;        // sigma is 1, not estimated
  bool single = false;            // trial points are rounded to float
  double scale_memory = 0;        // a scale is at least this part of the last one
  double most_extrapolation = 0;  // |γ| up to which extrapolation applies
  // A trial point is taken if the cost falls by at least least_gain * predicted. Where `predicted` is less
  // than flat * cost, rounding hides the decrease. There the point is taken if its ν² is below nu_left * ν²,
  // with ν² at x.
  double least_gain = 0, flat = 0, nu_left = 0;
  double least_lambda = 0, first_growth = 0;  // of TrustRegion (solver/minimizer)
  double near = 0;                            // standard errors within which undamped steps are taken
  double enough = 0;                          // distance (single) or size of a step at which a fit may end
  double most_iterations = 0;                 // a fit may also end after so many iterations

  double* trial = nullptr;  // all parameters
  double *trial_sums = nullptr, *trial_step = nullptr, *trial_nu_squared = nullptr;
  // These belong to x: the linearization, the undamped step and ν².
  double *x = nullptr, *sums = nullptr, *step = nullptr, *nu_squared = nullptr;
  double *scale = nullptr, *cost = nullptr, *decrement_sigma = nullptr;
  double* step_size = nullptr;  // ‖D s‖ / ‖D x‖ with the column norms D; NaN where ν² is; not if `single`
  // These are the damped step of each lane, its ν² and λ.
  double *other_step = nullptr, *other_nu_squared = nullptr, *lambda = nullptr;
  double *moved = nullptr, *last_step = nullptr;  // from the point before to x; the undamped step there
  double* predicted = nullptr;  // decrease of the cost by the proposed step, by the quadratic model

  double *phase = nullptr, *event = nullptr;        // of lane_phase and lane_event
  double *iterations = nullptr, *growth = nullptr;  // `growth` multiplies λ at the next rejection
  double* initial_cost = nullptr;                   // lane_take sets it at the start if it is NaN

  // These are decisions, 1 or 0.
  double* undamped = nullptr;  // the next step is undamped
  double* stepped = nullptr;   // the step to x was undamped, so `moved` and `last_step` serve
  double* moves = nullptr;     // the step changes a parameter, and its predicted decrease is finite
};

}  // namespace nlsq::inline v0
