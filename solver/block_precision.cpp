// What a block problem's derivatives are evaluated in, and when that changes: program by program where sampled blocks
// show that f32 spoils it, as a whole where the steps do, or where a rule of the policy says so.
#include "block_minimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

// Share of the threshold epsilon_j, which is of J's error as the normal matrix measures it, that the error of a single
// column may have: that matrix may magnify it. By default 1e-3: four of f32's seven digits are gone then.
constexpr double kOfColumn = 0.01;

bool unbounded(const float* first, std::size_t count) {
  return std::any_of(first, first + count, [](float v) { return !std::isfinite(v); });
}

}  // namespace

void BlockModel::start_formats(const PrecisionPolicy& policy) {
  most_error_ = kOfColumn * policy.thresholds.epsilon_j;
  component_wide_.assign(1, policy.residual == Format::f64);
  for (const std::string& name : problem_.component_names) component_wide_.push_back(policy.formats_of(name).residual == Format::f64);
  escalations_of_.assign(component_wide_.size(), 0);
  sampled_error_ = 0;
  apply_formats();
}

void BlockModel::apply_formats() {
  for (std::size_t p = 0; p < evaluator_.programs(); ++p) evaluator_.set_wide(p, component_wide_.empty() ? false : component_wide_[evaluator_.program(p).component]);
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
  widened_.push_back({info.component > 0 ? problem_.component_names[info.component - 1] : std::string(), info.blocks, error});
}

// Programs whose f32 derivatives are spoilt are evaluated again.
void BlockModel::heed_samples(std::span<const double> x) {
  sampled_error_ = 0;
  std::vector<std::uint8_t> again(evaluator_.programs(), 0);
  bool any = false;
  for (const auto& pass : passes_) {
    if (!pass) continue;
    for (const SampledError& sample : pass->take_samples()) {
      if (sample.error <= most_error_) {
        sampled_error_ = std::max(sampled_error_, sample.error);
        continue;
      }
      widen(sample.program, sample.error);
      again[sample.program] = 1;
      any = true;
    }
  }
  if (!any) return;
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t) {
    const std::size_t program = evaluator_.program_of(tile);
    if (program < again.size() && again[program]) pass.jacobian(tile, x, J_f32_.data());
  });
}

// After finish(): derivatives that are not finite in f32 may be so in f64.
bool BlockModel::widen_unbounded() {
  const BlockStructure& s = structure_;
  const std::vector<BlockPlace> places = evaluator_.places();
  bool any = false;
  for (std::size_t slot = 0; slot < s.list.blocks(); ++slot) {
    const std::uint32_t program = places[slot].group;
    if (program == BlockPlace::kNowhere || evaluator_.program(program).wide) continue;
    if (!unbounded(J_f32_.data() + s.record()[slot], std::size_t{s.stride()[slot]} * s.rows[slot])) continue;
    widen(program, std::numeric_limits<double>::infinity());
    any = true;
  }
  return any;
}

std::vector<ComponentSummary> BlockModel::components() const {
  std::vector<ComponentSummary> parts;
  if (!problem_.has_components()) return parts;
  std::vector<std::size_t> rows(problem_.component_names.size() + 1, 0);
  for (std::size_t slot = 0; slot < structure_.list.blocks(); ++slot) rows[structure_.list.component[slot]] += structure_.rows[slot];
  for (std::uint32_t c = 0; c < rows.size(); ++c) {
    if (rows[c] == 0) continue;
    parts.push_back({c > 0 ? problem_.component_names[c - 1] : "", rows[c], escalations_of_[c], counters(c)});
  }
  return parts;
}

void BlockMinimizer::report_widened() {
  for (const BlockModel::WidenedProgram& program : model_.take_widened()) {
    std::vector<std::string> components;
    if (!program.component.empty()) components.push_back(program.component);
    const bool overflow = std::isinf(program.error);
    std::string reason = overflow ? fmt::format("f32 derivatives of {} blocks leave its range", program.blocks)
                                  : fmt::format("f32 derivatives of {} blocks are off by {:.1e}", program.blocks, program.error);
    record(StepOutcome::promoted, overflow ? Event::overflow : Event::jacobian_error, std::move(reason), std::move(components));
    ++summary_.precision.escalations;
  }
}

// What rules may ask for. NaN where it is not known: no condition number is taken here, and rows are never redone.
RuleValues BlockMinimizer::rule_values() const {
  using V = RuleVariable;
  RuleValues v;
  v[V::epsilon_j] = low() ? model_.sampled_error() : 0;
  if (sigma() > 0) v[V::decrement] = step_.decrement / sigma();
  const int steps = summary_.accepted + summary_.rejected;
  if (steps > 0) v[V::rho] = rho_;
  v[V::lambda] = trust_.lambda();
  v[V::iteration] = steps;
  v[V::rows] = static_cast<double>(structure_.residuals);
  v[V::n] = static_cast<double>(free_size());
  v[V::memory] = static_cast<double>(structure_.bytes() + model_.bytes() + solver_.bytes());
  return v;
}

// True: a rule of the policy's has raised a format. It never lowers one.
bool BlockMinimizer::ruled() {
  if (policy_.rules.empty()) return false;
  const auto match = apply_rules(policy_.rules, rule_values());
  if (!match) return false;
  const bool wide = model_.all_wide();
  const PartFormats now{wide || !low() ? Format::f64 : Format::f32, low() ? Format::f32 : Format::f64,
                        plan_.gram == Gram::f32_tile ? Format::f32 : Format::f64, Format::f64};
  const PartFormats asked = changed(now, match->change);
  const Gram gram = asked.jacobian == Format::f64 ? Gram::f64 : asked.gram == Format::f64 ? Gram::f32_wide : Gram::f32_tile;
  const bool widens = low() && !wide && asked.residual == Format::f64;
  if (!widens && gram <= plan_.gram) return false;
  if (widens) model_.widen_all();
  promote(std::max(gram, plan_.gram), Event::rule, policy_.rules[match->index].to_string());
  if (widens) recorded_ = false;
  return true;
}

void BlockMinimizer::promote(Gram gram, Event event, std::string reason) {
  record(StepOutcome::promoted, event, std::move(reason));
  ++summary_.precision.escalations;
  // The same records serve sums of another format.
  recorded_ = recorded_ && known_ && held_count_ == 0 && plan_.gram == Gram::f32_tile && gram == Gram::f32_wide;
  known_ = false;
  // What was rejected in the format before says nothing of the next one.
  if (rejections_ > 0) trust_.restore(streak_lambda_);
  rejections_ = 0;
  enter(gram);
}

// Formats only go up: what the one before needed is memory of no more use.
void BlockMinimizer::enter(Gram gram) {
  if (plan_.gram == Gram::f32_tile && gram > Gram::f32_tile) solver_.release_f32();
  if (low() && gram >= Gram::f64) model_.release<float>();
  plan_.gram = gram;
}

}  // namespace nlsq::inline v0
