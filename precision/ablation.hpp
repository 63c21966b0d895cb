// Rules that a test can switch off, to measure what each one is worth. They are the rules of the scheduler,
// and the rules by which the minimizer carries out and guards the scheduler's decisions. tests/ablation uses
// them to make the table of docs/accuracy.md.
//
// The mask belongs to the process. Only tests set it, and never during a solve, so it is constant in a solve.
#pragma once

#include <atomic>
#include <cstdint>

namespace nlsq::inline v0 {

enum class Rule : std::uint8_t {
  // These rules choose the formats at the start.
  entry_gate,
  linear_models_begin_in_f64,
  parameters_choose_first_gram,
  sixteen_bits_need_parameters,
  // These rules handle numbers that a format cannot hold (`overflow` and others).
  redone_tiles_are_limited,
  tiles_are_redone,
  columns_may_underflow,
  // These rules test the Gram matrix (`not_definite`, `condition`, `jacobian_error`).
  not_definite,
  condition_of_gram,
  condition_of_f64_gram,
  sampled_jacobian_error,
  step_error,
  // These rules test the noise below f64 (`gradient_noise`, `cost_noise`).
  gradient_noise,
  parameter_grid,
  cost_noise,
  undecided_steps_are_limited,
  undecided_steps_are_judged_in_f64,
  // These rules follow from what the steps show (`rejected_step`, `stalled`, `finishing`).
  rejections_blame_gram,
  stalled_rows,
  finishing,
  finishing_step_lowers_gradient,
  wasted_work_is_limited,
  iterations_below_f64_are_limited,
  // These rules concern steps and checkpoints.
  parameters_on_f32_grid,
  gain_ratio_below_f64,
  checkpoints_are_verified,
  certificate_beside_checkpoint,
  escalation_restores_damping,
  escalation_forgets_scales,
  another_attempt_in_f64,
  never_above_start,
  // These rules concern the last step.
  last_step,
  last_step_by_contraction,
  last_step_part_has_cost_of_all,
  last_step_counts_missing_share,
  last_step_part_is_checked,
  // These rules concern samples.
  samples_represent_all_rows,
  samples_end_below_start,
  count,  // number of rules
};
static_assert(static_cast<int>(Rule::count) <= 64);

inline std::atomic<std::uint64_t> rules_switched_off{0};  // bit by Rule

inline bool rule_active(Rule rule) noexcept {
  return (rules_switched_off.load(std::memory_order_relaxed) >> static_cast<int>(rule) & 1) == 0;
}

// Switches one rule off during its lifetime. Only tests use it.
class WithoutRule {
 public:
  explicit WithoutRule(Rule rule) noexcept : bit_(std::uint64_t{1} << static_cast<int>(rule)) {
    rules_switched_off |= bit_;
  }
  ~WithoutRule() { rules_switched_off &= ~bit_; }
  WithoutRule(const WithoutRule&) = delete;
  WithoutRule& operator=(const WithoutRule&) = delete;

 private:
  std::uint64_t bit_;
};

}  // namespace nlsq::inline v0
