// Implements CeresProblem: builds an nlsq::Problem from the public interface of a ceres::Problem.
#include "ceres_problem.hpp"

#include "ceres_parts.hpp"
#include "kept_solves.hpp"

#include <nlsq/error.hpp>
#include <nlsq/problem_control.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Begins to load what the loop over residual blocks reads of later ones, because Ceres allocates each of them
// anywhere in memory. An id is the address of what Ceres knows of the block.
void load_ahead(const ceres::Problem& problem, std::span<const ceres::ResidualBlockId> ids, std::size_t i) {
  constexpr std::size_t kAhead = 8;
  if (i + 2 * kAhead < ids.size()) __builtin_prefetch(ids[i + 2 * kAhead]);
  if (i + kAhead < ids.size()) prefetch_object(problem.GetCostFunctionForResidualBlock(ids[i + kAhead]));
}

// Says whether the problem has an evaluation callback. Only Ceres 2.2 reports that.
enum class HasCallback : std::uint8_t { no, yes, unknown };
template <class Problem>
HasCallback has_callback(const Problem& problem) {
  if constexpr (requires { problem.options().evaluation_callback; })
    return problem.options().evaluation_callback == nullptr ? HasCallback::no : HasCallback::yes;
  else return HasCallback::unknown;
}

// Returns false with an evaluation callback, because cost functions then depend on data that a recording does
// not contain. If it is not known whether there is one, the comparison with the functions themselves at the
// start and at the end detects stale recordings.
bool may_record(const ceres::Problem& problem) { return has_callback(problem) != HasCallback::yes; }

}  // namespace

void require(const char* function, const ceres::Problem* problem) {
  if (problem != nullptr) return;
  throw ValidationError(
      fmt::format("{}: the problem is a null pointer: pass the address of a ceres::Problem", function));
}

CeresProblem::CeresProblem(ceres::Problem& problem, const ceres::Solver::Options& options)
    : theirs_(problem) {
  if (options.linear_solver_ordering && options.linear_solver_ordering->NumGroups() > 1)
    ordering_ = options.linear_solver_ordering.get();
  set_fetch(mine_, CostBlocks::fetch);
  add_residual_blocks();
  const std::size_t named = blocks_.size();
  if (theirs_.NumParameterBlocks() > static_cast<int>(named)) {
    std::vector<double*> all;
    theirs_.GetParameterBlocks(&all);
    for (double* data : all) block_at(data, [&] { return theirs_.ParameterBlockSize(data); });
  }
  counts_.parameter_blocks = static_cast<int>(blocks_.size());
  count_reduced_parameters(named);
}

// Returns the place in blocks_ of the parameter block at this address, which is added if it is new.
std::uint32_t CeresProblem::block_at(double* data, const auto& size) {
  const std::uint32_t number = addresses_.find(std::span<const Block>(blocks_), data);
  if (number != BlockAddresses::kNone) return number;
  add_parameter_block(data, size());
  const auto added = static_cast<std::uint32_t>(blocks_.size() - 1);
  addresses_.add(std::span<const Block>(blocks_), added);
  return added;
}

// Adds a parameter block. Ceres searches a block by its address in each query, which takes more time than
// anything else here. So no query is made twice.
void CeresProblem::add_parameter_block(double* data, int size) {
  if (size == 0) {  // nlsq::Problem has no such blocks
    ++empty_;
    blocks_.push_back({data, 0, 0, false, 0});
    return;
  }
  start_.insert(start_.end(), data, data + size);
  ManifoldPtr manifold = manifolds_.wrap(theirs_, data);
  const int tangent = manifold ? manifold->tangent() : size;
  mine_.add_parameter_block(data, size, std::move(manifold));
  const bool constant = theirs_.IsParameterBlockConstant(data);
  if (constant) mine_.set_constant(data);
  if (ordering_ && ordering_->IsMember(data)) mine_.set_elimination_group(data, ordering_->GroupId(data));
  counts_.parameters += size;
  counts_.effective_parameters += tangent;
  const auto number = static_cast<std::uint32_t>(blocks_.size() - empty_);
  blocks_.push_back({data, size, tangent, !constant && tangent > 0, number});
  check_block(blocks_.back(), constant);
}

std::string CeresProblem::ordering_fault(const ceres::ParameterBlockOrdering& ordering) const {
  int named = 0, left_out = 0;
  for (const Block& block : blocks_) {
    if (ordering.IsMember(block.data)) ++named;
    else if (block.free) ++left_out;
  }
  if (left_out > 0) return fmt::format("it leaves out {} of {} parameter blocks", left_out, blocks_.size());
  if (ordering.NumElements() == named) return {};
  return fmt::format("it names {} blocks that are not in the problem", ordering.NumElements() - named);
}

// Copies bounds and detects values that Ceres reports as a failure.
void CeresProblem::check_block(const Block& block, bool constant) {
  const std::size_t number = blocks_.size() - 1;
  for (int i = 0; i < block.size; ++i) {
    const double value = block.data[i];
    if (!std::isfinite(value) && fault_.empty()) {
      fault_ = fmt::format("parameter block {} has at least one value that is not finite: {} at {}", number,
                           value, i);
    }
    const double lower = theirs_.GetParameterLowerBound(block.data, i),
                 upper = theirs_.GetParameterUpperBound(block.data, i);
    const bool below = lower > -std::numeric_limits<double>::max(),
               above = upper < std::numeric_limits<double>::max();
    if (!below && !above) continue;
    const bool outside = constant ? value < lower || value > upper : lower >= upper;
    if (outside && fault_.empty()) {
      fault_ =
          fmt::format("the bounds of parameter block {} at {} leave no room: lower {}, upper {}, value {}",
                      number, i, lower, upper, value);
    }
    if (constant) continue;
    constrained_ = true;
    if (below) mine_.set_lower_bound(block.data, i, lower);
    if (above) mine_.set_upper_bound(block.data, i, upper);
  }
}

// Adds the residual blocks, and the parameter blocks that they name.
void CeresProblem::add_residual_blocks() {
  std::vector<ceres::ResidualBlockId> ids;
  theirs_.GetResidualBlocks(&ids);
  counts_.residual_blocks = static_cast<int>(ids.size());
  CostBlocks functions(may_record(theirs_));
  std::vector<double*> pointers;
  std::vector<std::uint32_t> numbers;
  const ceres::LossFunction* latest = nullptr;
  std::size_t probe_number = 0;  // among the wrapped functions
  Loss wrapped;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const ceres::ResidualBlockId id = ids[i];
    load_ahead(theirs_, ids, i);
    theirs_.GetParameterBlocksForResidualBlock(id, &pointers);
    const ceres::CostFunction* function = theirs_.GetCostFunctionForResidualBlock(id);
    counts_.residuals += function->num_residuals();
    bool free = false;
    numbers.clear();
    for (std::size_t place = 0; place < pointers.size(); ++place) {
      const std::uint32_t at =
          block_at(pointers[place], [&] { return function->parameter_block_sizes()[place]; });
      const Block& block = blocks_[at];
      free = free || block.free;
      if (block.size > 0) numbers.push_back(block.number);
    }
    // Ceres allows residual blocks without residuals. They add nothing to the cost.
    if (free && function->num_residuals() == 0) {
      ++counts_.residual_blocks_reduced;
      continue;
    }
    if (!free) {
      double cost = 0;
      if (theirs_.EvaluateResidualBlock(id, true, &cost, nullptr, nullptr)) fixed_cost_ += cost;
      else fixed_cost_ = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    ++counts_.residual_blocks_reduced;
    counts_.residuals_reduced += function->num_residuals();
    if (probe_ == nullptr || function->num_residuals() < probe_residuals_) {
      probe_ = id;
      probe_number = serials_.size();
      probe_residuals_ = function->num_residuals();
    }
    const ceres::LossFunction* loss = theirs_.GetLossFunctionForResidualBlock(id);
    robust_ = robust_ || loss != nullptr;
    if (loss != latest) wrapped = wrap(loss);
    latest = loss;
    CostBlocks::Wrapped mine = functions.wrap(function, numbers.size() < pointers.size());
    add_residual_block(mine_, std::move(mine.function), wrapped, numbers);
    serials_.push_back(mine.serial);
  }
  if (probe_ != nullptr) functions.look_in(probe_number, answer_);
}

// Counts the parameters that take part. `named` is the number of parameter blocks that residual blocks name.
void CeresProblem::count_reduced_parameters(std::size_t named) {
  for (const Block& block : std::span(blocks_).first(named)) {
    if (!block.free) continue;
    ++counts_.parameter_blocks_reduced;
    counts_.parameters_reduced += block.size;
    counts_.effective_parameters_reduced += block.tangent;
  }
}

void CeresProblem::reuse_earlier_solve() {
  std::optional<KeptSolve> earlier = take_kept(&theirs_);
  if (earlier) inherit(mine_, earlier->problem, find_earlier(serials_, earlier->serials));
}

void CeresProblem::keep() { nlsq::keep({&theirs_, std::move(mine_), std::move(serials_)}); }

void CeresProblem::write(std::span<const double> x) const {
  const double* from = x.data();
  for (const Block& block : blocks_) {
    if (block.free) std::copy_n(from, block.size, block.data);
    from += block.size;
  }
}

void CeresProblem::run_evaluation_callback(bool derivatives) const {
  if (has_callback(theirs_) != HasCallback::no) call_probe(derivatives);
}

void CeresProblem::call_probe(bool derivatives) const {
  if (probe_blocks_.empty()) prepare_probe();
  answer_->of = CostAnswer::Of::none;
  if (!probe_usable()) return;
  double cost = 0;
  const bool fine = theirs_.EvaluateResidualBlock(probe_, false, &cost, answer_->residuals.data(),
                                                  derivatives ? probe_derivatives_.data() : nullptr);
  if (!fine || !answers_) return;
  answer_->of = derivatives ? CostAnswer::Of::derivatives : CostAnswer::Of::residuals;
  double* number = answer_->at.data();
  for (std::size_t k = 0; k < probe_blocks_.size(); ++k)
    number = std::copy_n(probe_blocks_[k], theirs_.ParameterBlockSize(probe_blocks_[k]), number);
}

bool CeresProblem::probe_usable() const {
  return std::ranges::all_of(probe_blocks_, [this](const double* block) {
    const ceres::Manifold* manifold = theirs_.GetManifold(block);
    return manifold == nullptr || theirs_.IsParameterBlockConstant(block) || usable_at(*manifold, block);
  });
}

// Makes memory for what the probe returns. As in ceres::Solve, only constant blocks get no derivatives. Many
// functions test nothing but the outer pointer.
void CeresProblem::prepare_probe() const {
  theirs_.GetParameterBlocksForResidualBlock(probe_, &probe_blocks_);
  answers_ = true;
  std::vector<std::size_t> counts;
  std::size_t numbers = 0;
  for (const double* block : probe_blocks_) {
    const int size = theirs_.IsParameterBlockConstant(block) ? 0 : theirs_.ParameterBlockTangentSize(block);
    answers_ = answers_ && size > 0 && theirs_.GetManifold(block) == nullptr;
    counts.push_back(static_cast<std::size_t>(size * probe_residuals_));
    numbers += static_cast<std::size_t>(theirs_.ParameterBlockSize(block));
  }
  answer_->at.resize(numbers);
  answer_->residuals.resize(static_cast<std::size_t>(probe_residuals_));
  answer_->J.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  double* next = answer_->J.data();
  for (const std::size_t count : counts) {
    probe_derivatives_.push_back(count > 0 ? next : nullptr);
    next += count;
  }
}

void CeresProblem::prepare(std::span<const double> x, bool derivatives, bool new_point) const {
  answer_->of = CostAnswer::Of::none;
  if (!new_point && !derivatives) return;
  write(x);
  run_evaluation_callback(derivatives);
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
