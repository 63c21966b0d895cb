// Chooses the format of the derivatives for each program of a block problem. A program moves to f64 when
// sampled blocks show too large an f32 error, or when its values leave the range of f32.
#include "blocks/block_model.hpp"
#include "blocks/block_system.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// The threshold epsilon_j limits the error of J as it appears in the normal matrix. That matrix can magnify
// the error of a single column, so a column may only have this share of epsilon_j. The default limit is 1e-3,
// which means that four of the seven digits of f32 are lost.
constexpr double kOfColumn = 0.01;

bool unbounded(const float* first, std::size_t count) {
  return std::any_of(first, first + count, [](float v) { return !std::isfinite(v); });
}

}  // namespace

void BlockModel::start_formats(const PrecisionPolicy& policy) {
  most_error_ = kOfColumn * policy.thresholds.epsilon_j;
  component_wide_.assign(1, policy.residual == Format::f64);
  for (const std::string& name : problem_.component_names)
    component_wide_.push_back(policy.formats_of(name).residual == Format::f64);
  escalations_of_.assign(component_wide_.size(), 0);
  sampled_error_ = 0;
  apply_formats();
}

void BlockModel::apply_formats() {
  for (std::size_t p = 0; p < evaluator_.programs(); ++p)
    evaluator_.set_wide(p,
                        component_wide_.empty() ? false : component_wide_[evaluator_.program(p).component]);
}

bool BlockModel::all_wide() const {
  for (std::size_t p = 0; p < evaluator_.programs(); ++p) {
    if (!evaluator_.program(p).wide) return false;
  }
  return true;
}

void BlockModel::widen_all() {
  component_wide_.assign(component_wide_.size(), true);
  apply_formats();
}

void BlockModel::widen(std::size_t program, double error) {
  const BlockProgramInfo info = evaluator_.program(program);
  evaluator_.set_wide(program, true);
  ++escalations_of_[info.component];
  widened_.push_back({info.component > 0 ? problem_.component_names[info.component - 1] : std::string(),
                      info.blocks, error});
}

// Evaluates programs again in f64 if their sampled f32 derivatives are too inaccurate.
void BlockModel::heed_samples(std::span<const double> x) {
  sampled_error_ = 0;
  std::vector<std::uint8_t> again(evaluator_.programs(), 0);
  bool any = false;
  std::vector<SampledError> samples;
  for (const auto& pass : passes_.all()) {
    const std::vector<SampledError> taken = pass->take_samples();
    samples.insert(samples.end(), taken.begin(), taken.end());
  }
  std::ranges::sort(samples, {}, &SampledError::program);  // whichever thread took these samples
  for (const SampledError& sample : samples) {
    if (sample.error <= most_error_) {
      sampled_error_ = std::max(sampled_error_, sample.error);
      continue;
    }
    widen(sample.program, sample.error);
    again[sample.program] = 1;
    any = true;
  }
  if (!any) return;
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t) {
    const std::size_t program = evaluator_.program_of(tile);
    if (program < again.size() && again[program]) pass.jacobian(tile, x, J_f32_.numbers.data());
  });
}

// Derivatives that overflow in f32 may be finite in f64.
bool BlockModel::widen_unbounded() {
  const BlockStructure& s = structure_;
  const std::vector<BlockPlace> places = evaluator_.places();
  bool any = false;
  for (std::size_t slot = 0; slot < s.list.blocks(); ++slot) {
    const std::uint32_t program = places[slot].group;
    if (program == BlockPlace::kNowhere || evaluator_.program(program).wide) continue;
    if (!unbounded(J_f32_.numbers.data() + s.record()[slot], std::size_t{s.stride()[slot]} * s.rows[slot]))
      continue;
    widen(program, kInfinity);
    any = true;
  }
  return any;
}

std::vector<ComponentSummary> BlockModel::components() const {
  std::vector<ComponentSummary> parts;
  if (!problem_.has_components()) return parts;
  std::vector<std::size_t> rows(problem_.component_names.size() + 1, 0);
  for (std::size_t slot = 0; slot < structure_.list.blocks(); ++slot)
    rows[structure_.list.component[slot]] += structure_.rows[slot];
  for (std::uint32_t c = 0; c < rows.size(); ++c) {
    if (rows[c] == 0) continue;
    parts.push_back({c > 0 ? problem_.component_names[c - 1] : "", rows[c], escalations_of_[c], counters(c)});
  }
  return parts;
}

void BlockSystem::measure(std::span<const double>, const Step& step, HealthReport& health) {
  constexpr double kFinishing = 1e-2;          // distance in standard errors at which J becomes f64
  constexpr double kMeasurableDamping = 1e-4;  // the largest λ at which ν still measures the distance
  health.contraction_known = false;
  health.kappa_lambda = 1;  // no condition number is computed here
  if (!low_jacobian()) return;
  health.epsilon_j = model_.sampled_error();
  const double sigma = scatter_at(at_.model.cost);
  if (step.factored && health.lambda <= kMeasurableDamping && sigma > 0) {
    health.relative_distance = std::min(health.relative_distance, step.nu / (kFinishing * sigma));
  }
}

// NaN marks values that are unknown. Rows are never recomputed.
void BlockSystem::rule_values(RuleValues& values) const {
  values[RuleVariable::epsilon_j] = low_jacobian() ? model_.sampled_error() : 0;
  values[RuleVariable::epsilon_f] = kNaN;
  values[RuleVariable::nonfinite] = kNaN;
  values[RuleVariable::n] = static_cast<double>(structure_.tangent_size() - at_.fixed_count);
  values[RuleVariable::memory] = static_cast<double>(structure_.bytes() + model_.bytes() + solver_.bytes());
}

}  // namespace nlsq::inline v0
