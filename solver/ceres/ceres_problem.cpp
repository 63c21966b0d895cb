// Implements CeresProblem: builds an nlsq::Problem from the public interface of a ceres::Problem.
#include "ceres_problem.hpp"

#include "ceres_parts.hpp"
#include "kept_solves.hpp"

#include <nlsq/problem_control.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// With an evaluation callback, cost functions depend on data that a recording does not see, so nothing may be
// recorded. Only Ceres 2.2 reports whether there is a callback. With 2.1, the comparison with the functions
// themselves at the start and at the end detects stale recordings.
template <class Problem>
bool may_record(const Problem& problem) {
  if constexpr (requires { problem.options().evaluation_callback; })
    return problem.options().evaluation_callback == nullptr;
  else return true;
}

// The parameter blocks in the order in which residual blocks name them. Ceres gives them by their addresses,
// which differ from run to run, and with the order of the parameters the last bits would. Blocks that no
// residual block names come last.
std::vector<double*> blocks_in_order(const ceres::Problem& problem) {
  std::vector<double*> by_address, out, pointers;
  std::vector<ceres::ResidualBlockId> ids;
  problem.GetParameterBlocks(&by_address);
  problem.GetResidualBlocks(&ids);
  std::unordered_set<const double*> named;
  named.reserve(by_address.size());
  const auto name = [&](double* block) {
    if (named.insert(block).second) out.push_back(block);
  };
  for (const ceres::ResidualBlockId id : ids) {
    if (out.size() == by_address.size()) break;
    problem.GetParameterBlocksForResidualBlock(id, &pointers);
    std::ranges::for_each(pointers, name);
  }
  std::ranges::for_each(by_address, name);
  return out;
}

}  // namespace

CeresProblem::CeresProblem(ceres::Problem& problem, const ceres::Solver::Options& options)
    : theirs_(problem) {
  add_parameters(options);
  add_residuals();
}

void CeresProblem::add_parameters(const ceres::Solver::Options& options) {
  blocks_ = blocks_in_order(theirs_);
  const ceres::ParameterBlockOrdering* ordering = options.linear_solver_ordering.get();
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    double* block = blocks_[k];
    const int size = theirs_.ParameterBlockSize(block);
    sizes_.push_back(size);
    start_.insert(start_.end(), block, block + size);
    mine_.add_parameter_block(block, size, wrap_manifold(theirs_, block));
    const bool constant = theirs_.IsParameterBlockConstant(block);
    if (constant) mine_.set_constant(block);
    free_.push_back(!constant && theirs_.ParameterBlockTangentSize(block) > 0);
    if (ordering && ordering->NumGroups() > 1 && ordering->IsMember(block))
      mine_.set_elimination_group(block, ordering->GroupId(block));
    counts_.parameters += size;
    counts_.effective_parameters += theirs_.ParameterBlockTangentSize(block);
    check_block(k);
  }
  counts_.parameter_blocks = static_cast<int>(blocks_.size());
}

std::string CeresProblem::ordering_fault(const ceres::ParameterBlockOrdering& ordering) const {
  int named = 0, left_out = 0;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    if (ordering.IsMember(blocks_[k])) ++named;
    else if (free_[k]) ++left_out;
  }
  if (left_out > 0) return fmt::format("it leaves out {} of {} parameter blocks", left_out, blocks_.size());
  if (ordering.NumElements() == named) return {};
  return fmt::format("it names {} blocks that are not in the problem", ordering.NumElements() - named);
}

// Copies bounds and detects what Ceres calls a failure.
void CeresProblem::check_block(std::size_t number) {
  double* block = blocks_[number];
  const bool constant = theirs_.IsParameterBlockConstant(block);
  for (int i = 0; i < sizes_[number]; ++i) {
    if (!std::isfinite(block[i]) && fault_.empty()) {
      fault_ = fmt::format("parameter block {} has at least one value that is not finite: {} at {}", number,
                           block[i], i);
    }
    const double lower = theirs_.GetParameterLowerBound(block, i),
                 upper = theirs_.GetParameterUpperBound(block, i);
    const bool below = lower > -std::numeric_limits<double>::max(),
               above = upper < std::numeric_limits<double>::max();
    if (!below && !above) continue;
    const bool outside = constant ? block[i] < lower || block[i] > upper : lower >= upper;
    if (outside && fault_.empty()) {
      fault_ =
          fmt::format("the bounds of parameter block {} at {} leave no room: lower {}, upper {}, value {}",
                      number, i, lower, upper, block[i]);
    }
    if (constant) continue;
    constrained_ = true;
    if (below) mine_.set_lower_bound(block, i, lower);
    if (above) mine_.set_upper_bound(block, i, upper);
  }
}

void CeresProblem::add_residuals() {
  std::vector<ceres::ResidualBlockId> ids;
  theirs_.GetResidualBlocks(&ids);
  const bool record = may_record(theirs_);
  std::unordered_map<const double*, std::size_t> number;
  number.reserve(blocks_.size());
  for (std::size_t k = 0; k < blocks_.size(); ++k) number.emplace(blocks_[k], k);
  std::vector<double*> pointers;
  std::vector<BlockRef> refs;
  std::vector<std::uint8_t> used(blocks_.size(), 0);
  std::vector<std::pair<const double*, std::size_t>>
      last;  // by position in a residual block; most often one is unchanged
  const ceres::LossFunction* latest = nullptr;
  Loss wrapped;
  for (const ceres::ResidualBlockId id : ids) {
    theirs_.GetParameterBlocksForResidualBlock(id, &pointers);
    const ceres::CostFunction* function = theirs_.GetCostFunctionForResidualBlock(id);
    const ceres::LossFunction* loss = theirs_.GetLossFunctionForResidualBlock(id);
    counts_.residuals += function->num_residuals();
    bool free = false;
    last.resize(std::max(last.size(), pointers.size()));
    for (std::size_t place = 0; place < pointers.size(); ++place) {
      if (last[place].first != pointers[place]) last[place] = {pointers[place], number.at(pointers[place])};
      const std::size_t k = last[place].second;
      used[k] = 1;
      free = free || free_[k];
    }
    if (!free) {
      double cost = 0;
      if (theirs_.EvaluateResidualBlock(id, true, &cost, nullptr, nullptr)) fixed_cost_ += cost;
      else fixed_cost_ = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    ++counts_.residual_blocks_reduced;
    counts_.residuals_reduced += function->num_residuals();
    robust_ = robust_ || loss != nullptr;
    if (probe_ == nullptr || function->num_residuals() < probe_residuals_) {
      probe_ = id;
      probe_residuals_ = function->num_residuals();
    }
    refs.assign(pointers.begin(), pointers.end());
    if (loss != latest) wrapped = wrap(loss);
    latest = loss;
    WrappedFunction mine = wrap(function, record);
    mine_.add_residual_block(std::move(mine.function), wrapped, refs);
    serials_.push_back(mine.serial);
  }
  counts_.residual_blocks = static_cast<int>(ids.size());
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    if (!free_[k] || !used[k]) continue;
    ++counts_.parameter_blocks_reduced;
    counts_.parameters_reduced += sizes_[k];
    counts_.effective_parameters_reduced += theirs_.ParameterBlockTangentSize(blocks_[k]);
  }
}

void CeresProblem::reuse_earlier_solve() {
  std::optional<KeptSolve> earlier = take_kept(&theirs_);
  if (earlier) inherit(mine_, earlier->problem, find_earlier(serials_, earlier->serials));
}

void CeresProblem::keep() { nlsq::keep({&theirs_, std::move(mine_), std::move(serials_)}); }

void CeresProblem::write(std::span<const double> x) const {
  const double* from = x.data();
  for (std::size_t k = 0; k < blocks_.size(); from += sizes_[k++]) {
    if (free_[k]) std::copy_n(from, sizes_[k], blocks_[k]);
  }
}

void CeresProblem::run_evaluation_callback(bool derivatives) const {
  std::vector<double*> blocks, J;
  std::vector<std::vector<double>> storage;
  if (derivatives) theirs_.GetParameterBlocksForResidualBlock(probe_, &blocks);
  // As in ceres::Solve, only constant blocks get no memory. Many functions test nothing but the outer
  // pointer.
  for (const double* block : blocks) {
    const bool constant = theirs_.IsParameterBlockConstant(block);
    const int size = constant ? 0 : theirs_.ParameterBlockTangentSize(block);
    storage.emplace_back(static_cast<std::size_t>(size * probe_residuals_));
    J.push_back(size > 0 ? storage.back().data() : nullptr);
  }
  double cost = 0;
  theirs_.EvaluateResidualBlock(probe_, false, &cost, nullptr, derivatives ? J.data() : nullptr);
}

std::string CeresProblem::first_without_residuals() const {
  std::vector<ceres::ResidualBlockId> ids;
  theirs_.GetResidualBlocks(&ids);
  std::vector<double*> blocks;
  std::vector<double> residuals;
  // Calls the functions directly; Ceres's own evaluation would write to stderr.
  for (std::size_t b = 0; b < ids.size(); ++b) {
    const ceres::CostFunction* function = theirs_.GetCostFunctionForResidualBlock(ids[b]);
    theirs_.GetParameterBlocksForResidualBlock(ids[b], &blocks);
    const auto count = static_cast<std::size_t>(function->num_residuals());
    residuals.assign(count, std::numeric_limits<double>::quiet_NaN());
    const char* fault = nullptr;
    const auto finite = [](double r) { return std::isfinite(r); };
    if (!function->Evaluate(blocks.data(), residuals.data(), nullptr)) fault = "returns false";
    else if (!std::ranges::all_of(residuals, finite)) fault = "gives a residual that is not finite";
    if (fault) return fmt::format("the cost function of residual block {} {}", b, fault);
  }
  return {};
}

double CeresProblem::cost() const {
  double cost = 0;
  return theirs_.Evaluate({}, &cost, nullptr, nullptr, nullptr) ? cost
                                                                : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace nlsq::inline v0
