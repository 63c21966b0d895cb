// Holds the thresholds of the precision scheduler. A PrecisionPolicy holds one set; presets are sets of them.
#pragma once

#include <nlsq/export.hpp>

#include <span>
#include <variant>

namespace nlsq::inline v0 {

// u is the unit roundoff of a format, n the number of parameters, κ the condition number of H + λI in scaled
// variables.
struct NLSQ_API Thresholds {
  // The start.
  double entry_work = 2e6;  // least rows * operations per row, in f64 additions, that repay a start below f64
  int sixteen_bit_parameters = 24;  // with fewer parameters a 16-bit J saves nothing, because evaluating rows
                                    // dominates; J is f32 then

  // Limits of the Gram forms on κ.
  double gram_contraction = 0.1;   // f32 sums: largest n·u32·κ
  double wide_condition = 2.8e12;  // f32 J with f64 sums: largest κ·n
  double f64_condition = 1e12;     // f64: largest κ; above it, QR

  // When an escalation to more digits is due. Each name in brackets is the Event (scheduler.hpp) that the
  // threshold decides.
  double nonfinite_tiles = 0.01;  // [overflow] fraction of tiles recomputed in f64 above which rows go to f64
  double epsilon_j = 0.1;  // [jacobian_error] sampled error of J, or contraction of a step, above which the
                           // Gram form is widened
  double gradient_noise = 0.1;  // [gradient_noise] largest ‖L̃⁻¹ε_g‖, and largest effect of rounding the
                                // parameters to f32, as fractions of ν
  double cost_noise = 1.0;             // [cost_noise] largest ε_F as a fraction of the predicted decrease
  int undecided_steps = 2;             // [cost_noise] consecutive gain ratios that noise left undecided
  double rejected_contraction = 0.05;  // [rejected_step] contraction above which a rejection is attributed to
                                       // the Gram matrix and not to λ

  // Safeguards.
  int descents = 2;           // most times that rules lower the Gram form in a solve
  double gain_ratio = 0.1;    // least gain ratio of a step judged below f64
  int checkpoint_steps = 8;   // accepted steps between checks in f64
  double wasted_work = 0.25;  // limit on discarded evaluations, as a fraction of the counted f64 work

  static Thresholds balanced() { return {}; }
  static Thresholds conservative();
  static Thresholds aggressive();

  bool operator==(const Thresholds&) const = default;
};

// This is a threshold by name, for parsing and printing. `least` and `most` bound the values it may take.
struct ThresholdInfo {
  const char* name;
  std::variant<double Thresholds::*, int Thresholds::*> member;
  double least, most;
};
NLSQ_API std::span<const ThresholdInfo> threshold_table() noexcept;
NLSQ_API double value_of(const Thresholds& thresholds, const ThresholdInfo& info);
// Sets a value even if it is out of range: validate() of the policy then reports it.
NLSQ_API void set_value(Thresholds& thresholds, const ThresholdInfo& info, double value);

}  // namespace nlsq::inline v0
