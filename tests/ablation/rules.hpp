// Lists the names of the rules as the table prints them, in the order of the enumeration.
#pragma once

#include <ablation.hpp>

#include <array>

struct NamedRule {
  nlsq::Rule rule;
  const char* name;
};

inline constexpr std::array<NamedRule, static_cast<std::size_t>(nlsq::Rule::count)> kNamedRules{{
    {nlsq::Rule::entry_gate, "entry gate"},
    {nlsq::Rule::linear_models_begin_in_f64, "linear models begin in f64"},
    {nlsq::Rule::parameters_choose_first_gram, "16 bits and tile sums by parameters: begins in f32/f64"},
    {nlsq::Rule::sixteen_bits_need_parameters, "16 bits gated below 24 parameters"},
    {nlsq::Rule::redone_tiles_are_limited, "overflow: share of tiles redone"},
    {nlsq::Rule::tiles_are_redone, "overflow: tiles redone in f64"},
    {nlsq::Rule::columns_may_underflow, "columns below f32's range"},
    {nlsq::Rule::not_definite, "not-definite: no factor of the matrix"},
    {nlsq::Rule::condition_of_gram, "condition: of the form of the matrix"},
    {nlsq::Rule::condition_of_f64_gram, "condition: QR beyond κ 1e12"},
    {nlsq::Rule::sampled_jacobian_error, "jacobian-error: of a J of 16 bits, sampled"},
    {nlsq::Rule::step_error, "jacobian-error: of the step proposed"},
    {nlsq::Rule::gradient_noise, "gradient-noise: of the gradient itself"},
    {nlsq::Rule::parameter_grid, "gradient-noise: grid of the parameters"},
    {nlsq::Rule::cost_noise, "cost-noise: of the cost itself"},
    {nlsq::Rule::undecided_steps_are_limited, "cost-noise: twice undecided"},
    {nlsq::Rule::undecided_steps_are_judged_in_f64, "undecided steps judged again in f64"},
    {nlsq::Rule::rejections_blame_gram, "rejected-step: put down to the Gram matrix"},
    {nlsq::Rule::stalled_rows, "stalled: rows go to f64"},
    {nlsq::Rule::finishing, "finishing: in f64"},
    {nlsq::Rule::finishing_step_lowers_gradient, "finishing: the step must not raise the gradient"},
    {nlsq::Rule::wasted_work_is_limited, "wasted work is capped"},
    {nlsq::Rule::iterations_below_f64_are_limited, "no more than a quarter of the iterations below f64"},
    {nlsq::Rule::parameters_on_f32_grid, "parameters on the f32 grid"},
    {nlsq::Rule::gain_ratio_below_f64, "gain ratio 0.1 below f64"},
    {nlsq::Rule::checkpoints_are_verified, "checkpoint verified every eight steps"},
    {nlsq::Rule::certificate_beside_checkpoint, "certificate beside the checkpoint"},
    {nlsq::Rule::escalation_restores_damping, "escalation restores the damping"},
    {nlsq::Rule::escalation_forgets_scales, "escalation forgets the scales"},
    {nlsq::Rule::another_attempt_in_f64, "no certificate: once more in f64"},
    {nlsq::Rule::never_above_start, "never above the start's cost"},
    {nlsq::Rule::last_step, "last step without a pass at its end"},
    {nlsq::Rule::last_step_by_contraction, "last step: contraction by the passes before"},
    {nlsq::Rule::last_step_part_has_cost_of_all, "last step: the part's cost is like that of all rows"},
    {nlsq::Rule::last_step_counts_missing_share, "last step: what the part lacks counts"},
    {nlsq::Rule::last_step_part_is_checked, "last step: what the part finds at the end"},
    {nlsq::Rule::samples_represent_all_rows, "samples must represent all rows"},
    {nlsq::Rule::samples_end_below_start, "samples must not end above the start"},
}};

constexpr bool in_order() {
  for (std::size_t k = 0; k < kNamedRules.size(); ++k) {
    if (static_cast<std::size_t>(kNamedRules[k].rule) != k || kNamedRules[k].name == nullptr) return false;
  }
  return true;
}
static_assert(in_order());
