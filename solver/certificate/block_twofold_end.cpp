// The end of a block problem in numbers of twice the digits of f64, as certificate/twofold_end.cpp has it for
// curves.
#include "blocks/block_system.hpp"

#include "blocks/block_twofold.hpp"
#include "certificate/hidden_minimum.hpp"
#include "certificate/twofold_end.hpp"

#include <numeric>

namespace nlsq::inline v0 {

namespace {

bool found_no_way_on(const Summary& summary) {
  return summary.verdict == Verdict::budget && (summary.termination == Termination::no_progress ||
                                                summary.termination == Termination::max_iterations);
}

// The numbers of x that may move. Empty where a manifold or a loss makes this another problem.
std::vector<std::size_t> plain_numbers(const Problem::Impl& problem, const BlockStructure& structure) {
  std::vector<std::size_t> free;
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    if (structure.tangent_offset(p) < 0) continue;
    if (block.manifold || !structure.losses.empty()) return {};
    for (int i = 0; i < block.size; ++i)
      free.push_back(structure.list.offsets[p] + static_cast<std::size_t>(i));
  }
  return free;
}

}  // namespace

// The cost that the user's own functions have in f64, without losses. Programs round terms otherwise, which
// shows where they cancel.
double BlockSystem::cost_of_functions(std::span<const double> x) {
  trial_.x.clear();
  std::vector<double> own;
  model_.cost(x, trial_.r);
  model_.recheck(x, trial_.r, own);
  return 0.5 * std::inner_product(own.begin(), own.end(), own.begin(), 0.0);
}

EndByTwofold BlockSystem::judge_by_twofold(Summary& summary, Vector& x, bool may_move) {
  const bool hidden = hides_minimum(summary.certificate);
  // At an end without success, is it rounding errors that kept the fit from its minimum?
  const auto rounding_stopped_it = [&] {
    return found_no_way_on(summary) && !low_jacobian() && at_.model.finite &&
           (summary.certificate.gradient_bound >= kMostlyRounding || cancels());
  };
  if (!hidden && !rounding_stopped_it()) return EndByTwofold::unknown;
  const auto found = [&]() -> std::optional<TwofoldMinimum> {
    std::vector<std::size_t> free = plain_numbers(model_.problem(), structure_);
    if (free.empty() || at_.fixed_count > 0) return std::nullopt;
    const std::unique_ptr<TwofoldRows> rows = twofold_blocks(structure_.list, x);
    if (rows == nullptr) return std::nullopt;
    const auto allowed = [&](std::span<const double> there) {
      std::vector<double> inside(there.begin(), there.end());
      return !model_.bounds().project(inside);
    };
    return minimum_by_twofold({*rows, structure_.residuals, std::move(free), allowed, false, may_move}, x);
  }();
  Certificate& c = summary.certificate;
  const bool whole = c.rank == static_cast<int>(structure_.tangent_size());
  const EndByTwofold end = found ? settle(*found, whole, summary, c) : EndByTwofold::unknown;
  if (c.governed_by == kByTwofold) {
    if (!whole) c.condition = found->condition;
    c.rank = static_cast<int>(structure_.tangent_size());
    c.confounded.clear();
  }
  if (end != EndByTwofold::unknown) {
    x = found->x;
    c.cost = summary.final_cost = cost_of_functions(x);
  }
  const bool refused = end == EndByTwofold::far || (end == EndByTwofold::unknown && hidden);
  if (refused) withdraw_hidden(summary, kHiddenMinimum);
  return refused ? EndByTwofold::far : end;
}

}  // namespace nlsq::inline v0
