// Implements PreparedProblem: creates it, reuses it between solves, and moves it between problems.
#include "blocks/prepared_problem.hpp"

#include <nlsq/error.hpp>
#include <nlsq/problem_control.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostKept = std::size_t{256} << 20;  // bytes

bool factor_if_cheaper(const ProblemControl* control) { return control && control->factor_if_cheaper; }

// Two blocks that share a number would both be moved, and one of the results would be lost.
void require_separate_blocks(const Problem::Impl& problem) {
  std::vector<std::pair<const double*, int>> blocks;
  blocks.reserve(problem.parameters.size());
  for (const ParameterBlock& block : problem.parameters) blocks.emplace_back(block.data, block.size);
  if (!std::ranges::is_sorted(blocks)) std::ranges::sort(blocks);
  for (std::size_t b = 1; b < blocks.size(); ++b) {
    if (blocks[b - 1].first + blocks[b - 1].second <= blocks[b].first) continue;
    throw ValidationError("two parameter blocks share numbers: one of " +
                          std::to_string(blocks[b - 1].second) + " numbers, and one of " +
                          std::to_string(blocks[b].second) + " that begins " +
                          std::to_string(blocks[b].first - blocks[b - 1].first) + " numbers after it");
  }
}

BlockStructure structure_of(const Problem::Impl& problem, bool known, StepSolver how,
                            const ProblemControl* control) {
  require_separate_blocks(problem);
  BlockStructure made(problem, block_kernels().lanes_f32, block_kernels().lanes_f64, known, how,
                      factor_if_cheaper(control));
  if (made.tangent_size() == 0)
    throw ValidationError("solve: no residual block depends on a parameter block that is free");
  return made;
}

}  // namespace

PreparedProblem::PreparedProblem(const Problem::Impl& problem, std::span<const double> x,
                                 const Parallelism& parallelism, StepSolver how,
                                 const ProblemControl* control, PreparedProblem* earlier)
    : structure(structure_of(problem, earlier != nullptr, how, control)),
      model(problem, structure, x, parallelism, control, earlier ? &earlier->model : nullptr),
      solver(structure, parallelism, earlier ? &earlier->solver : nullptr), shape(problem.shape) {}

std::vector<double> numbers_of(const Problem::Impl& problem) {
  std::size_t count = 0;
  for (const ParameterBlock& block : problem.parameters) count += static_cast<std::size_t>(block.size);
  std::vector<double> x;
  x.reserve(count);
  for (const ParameterBlock& block : problem.parameters)
    x.insert(x.end(), block.data, block.data + block.size);
  return x;
}

std::shared_ptr<PreparedProblem> take_prepared(Problem::Impl& problem, std::span<const double> x,
                                               const Parallelism& parallelism, StepSolver how,
                                               const ProblemControl* control) {
  // The problem does not own the prepared data during the solve. So nothing remains after an exception, and a
  // nested solve inside a callback makes its own data.
  const std::shared_ptr<PreparedProblem> earlier = std::move(problem.prepared);
  problem.prepared = nullptr;
  if (earlier && earlier->shape == problem.shape &&
      earlier->structure.implicit == earlier->structure.implicit_if(how, factor_if_cheaper(control))) {
    earlier->model.begin(parallelism, control);
    earlier->solver.begin(parallelism);
    return earlier;
  }
  return std::make_shared<PreparedProblem>(problem, x, parallelism, how, control, earlier.get());
}

void inherit(Problem& problem, Problem& earlier, std::span<const std::size_t> was) {
  Problem::Impl &to = problem.impl(), &from = earlier.impl();
  if (!from.prepared) return;
  to.prepared = std::move(from.prepared);
  from.prepared = nullptr;
  to.shape = to.prepared->shape + 1;  // its parts are reused, but not the whole
  const std::size_t count = to.functions.size();
  for (std::size_t b = 0; b < count; ++b)
    to.traced.set(b, b < was.size() && was[b] < from.functions.size() ? from.traced[was[b]] : BlockPlace(),
                  count);
}

void keep_prepared(Problem::Impl& problem, std::shared_ptr<PreparedProblem> prepared) {
  if (prepared->bytes() > kMostKept || prepared->shape != problem.shape) return;
  problem.traced.clear();
  const std::vector<BlockPlace> places = prepared->model.evaluator().places();
  for (std::size_t slot = 0; slot < places.size(); ++slot)
    problem.traced.set(prepared->structure.list.residual_block[slot], places[slot], problem.functions.size());
  prepared->model.end();
  problem.prepared = std::move(prepared);
}

}  // namespace nlsq::inline v0
