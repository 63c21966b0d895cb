// The numbers that the precision scheduler compares with. Presets are sets of them.
#pragma once

#include <nlsq/export.hpp>

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace nlsq::inline v0 {

// u: unit roundoff of a format; n: parameters; κ: condition number of H + λI, scaled.
struct NLSQ_API Thresholds {
  // The entry.
  double entry_work = 2e6;          // rows * operations of a row, in f64 adds, that repay a start below f64
  int sixteen_bit_parameters = 24;  // fewer: J of 16 bits saves nothing, rows are what costs; gated to f32

  // What each form of the Gram matrix bears, as κ.
  double gram_contraction = 0.1;   // sums in f32: n·u32·κ at most this
  double wide_condition = 2.8e12;  // J of f32, sums in f64: κ·n at most this
  double f64_condition = 1e12;     // f64: κ at most this, QR beyond

  // When digits have run out.
  double nonfinite_tiles = 0.01;  // E1 share of tiles redone in f64 above which rows go to f64
  double epsilon_j = 0.1;         // E4 sampled error of J, or contraction of a step, above which G goes up
  double gradient_noise = 0.1;  // E5 ‖L̃⁻¹ε_g‖, and what the parameters' f32 grid moves, as a share of ν
  double cost_noise = 1.0;             // E6 ε_F as a share of the predicted decrease
  int undecided_steps = 2;             // E6 gain ratios in a row that noise left open
  double rejected_contraction = 0.05;  // E7 above it a rejection is put down to the Gram matrix, not to λ

  // The way back, G alone.
  int steps_before_descent = 3;      // accepted in a row
  double descent_epsilon_j = 0.025;  // ε_J at most this
  int descents = 2;                  // at most so many in a solve

  // Safety.
  double gain_ratio = 0.1;    // least gain ratio of a step judged below f64
  int checkpoint_steps = 8;   // accepted steps between verifications in f64
  double wasted_work = 0.25;  // evaluations discarded, as a share of the counted f64 work

  static Thresholds balanced() { return {}; }
  static Thresholds conservative();
  static Thresholds aggressive();

  bool operator==(const Thresholds&) const = default;
};

// A threshold by name, for texts; least and most are the values it may take.
struct ThresholdInfo {
  const char* name;
  std::variant<double Thresholds::*, int Thresholds::*> member;
  double least, most;
};
NLSQ_API std::span<const ThresholdInfo> threshold_table() noexcept;
NLSQ_API double value_of(const Thresholds& thresholds, const ThresholdInfo& info);
// A value out of range is set all the same: validate() of the policy reports it.
NLSQ_API void set_value(Thresholds& thresholds, const ThresholdInfo& info, double value);

}  // namespace nlsq::inline v0
