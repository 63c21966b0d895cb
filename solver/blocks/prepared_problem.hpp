// What a solve of a problem works with: structure, programs, buffers. Kept by the problem for its next solve:
// used as it is where nothing was added or removed since, else drawn upon.
#pragma once

#include "blocks/block_model.hpp"
#include "blocks/schur/schur.hpp"

#include <memory>

namespace nlsq::inline v0 {

struct PreparedProblem {
  // `earlier`, of a shape that the problem had, may be null; else it is used up. What a user's function
  // throws passes through.
  PreparedProblem(const Problem::Impl& problem, std::span<const double> x, const Parallelism& parallelism,
                  StepSolver how, const ProblemControl* control, PreparedProblem* earlier);

  BlockStructure structure;
  BlockModel model;
  SchurSolver solver;
  std::uint64_t shape;

  std::size_t bytes() const { return structure.bytes() + model.bytes() + solver.bytes(); }
};

// Of all parameter blocks, side by side.
std::vector<double> numbers_of(const Problem::Impl& problem);

// Takes the problem's own, or makes one. `problem` has no gaps.
std::shared_ptr<PreparedProblem> take_prepared(Problem::Impl& problem, std::span<const double> x,
                                               const Parallelism& parallelism, StepSolver how,
                                               const ProblemControl* control);
// Back to the problem, unless it is so large that memory is worth more than the time it saves.
void keep_prepared(Problem::Impl& problem, std::shared_ptr<PreparedProblem> prepared);

}  // namespace nlsq::inline v0
