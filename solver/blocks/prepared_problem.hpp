// Holds the structure, programs and buffers of a solve. The problem keeps them for its next solve: unchanged
// if no block was added or removed since, otherwise as a source of parts to reuse.
#pragma once

#include "blocks/block_model.hpp"
#include "blocks/schur/schur.hpp"

#include <memory>

namespace nlsq::inline v0 {

struct PreparedProblem {
  // If `earlier` is not null, it belongs to an earlier shape of the problem, and its parts are moved out.
  // Exceptions from user functions propagate.
  PreparedProblem(const Problem::Impl& problem, std::span<const double> x, const Parallelism& parallelism,
                  StepSolver how, const ProblemControl* control, PreparedProblem* earlier);

  BlockStructure structure;
  BlockModel model;
  SchurSolver solver;
  std::uint64_t shape;

  std::size_t bytes() const { return structure.bytes() + model.bytes() + solver.bytes(); }
};

// Returns the values of all parameter blocks, concatenated.
std::vector<double> numbers_of(const Problem::Impl& problem);

// Takes the PreparedProblem that the problem keeps, or makes one. `problem` must have no gaps.
std::shared_ptr<PreparedProblem> take_prepared(Problem::Impl& problem, std::span<const double> x,
                                               const Parallelism& parallelism, StepSolver how,
                                               const ProblemControl* control);
// Returns a PreparedProblem to the problem, unless it takes too much memory.
void keep_prepared(Problem::Impl& problem, std::shared_ptr<PreparedProblem> prepared);

}  // namespace nlsq::inline v0
