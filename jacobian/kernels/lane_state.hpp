// LaneState holds the numbers of many small fits that iterate at once. Each fit has one lane. LaneMinimizer
// (solver/batch) decides what each fit does next; the kernels lane_take and lane_propose do the arithmetic
// of all fits at once.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// Pointers to arrays of `lanes` numbers for each entry: entry k of lane l is at k * lanes + l. The point x,
// the trial point and the steps have n entries, one for each free parameter; sums are the packed triangles
// of [J | r]ᵀ[J | r], as lane_gram_f64 makes them.
struct LaneState {
  std::size_t lanes = 0;          // a multiple of lanes_f64
  int n = 0;                      // free parameters
  const int* free = nullptr;      // their positions among the parameters of `trial`
  double freedom = 1;             // rows less n
  bool unit_sigma = false;        // sigma is 1, not estimated
  bool single = false;            // trial points are rounded to float
  double scale_memory = 0;        // a scale is at least this part of the last one
  double most_extrapolation = 0;  // |γ| up to which extrapolation applies

  double* trial = nullptr;  // all parameters
  double *trial_sums = nullptr, *trial_step = nullptr, *trial_nu_squared = nullptr;
  // At x: the linearization, the undamped step and ν².
  double *x = nullptr, *sums = nullptr, *step = nullptr, *nu_squared = nullptr;
  double *scale = nullptr, *cost = nullptr, *decrement_sigma = nullptr;
  double* step_size = nullptr;  // ‖D s‖ / ‖D x‖ with the column norms D; NaN where ν² is
  // The damped step of each lane, its ν² and λ.
  double *other_step = nullptr, *other_nu_squared = nullptr, *lambda = nullptr;
  double *moved = nullptr, *last_step = nullptr;  // from the point before to x; the undamped step there
  double* predicted = nullptr;  // decrease of the cost by the proposed step, by the quadratic model

  // Decisions, 1 or 0, which select lanes:
  double* taken = nullptr;     // the trial point becomes x
  double* iterated = nullptr;  // and a step of the iteration led there
  double* rescaled = nullptr;  // the scale follows the columns at x
  double* undamped = nullptr;  // the next step is undamped
  double* stepped = nullptr;   // the step to x was undamped, so `moved` and `last_step` serve
  double* moves = nullptr;     // set by lane_propose: the step changes a parameter
};

}  // namespace nlsq::inline v0
