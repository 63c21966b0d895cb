// Builds an nlsq::Problem from a ceres::Problem through its public interface. Both use the same parameter
// memory. ceres_solve.cpp uses it.
#pragma once

#include "ceres_parts.hpp"
#include "support/block_addresses.hpp"

#include <nlsq/problem.hpp>

#include <ceres/ordered_groups.h>
#include <ceres/problem.h>
#include <ceres/solver.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Throws ValidationError if the problem is a null pointer. `function` begins the message.
void require(const char* function, const ceres::Problem* problem);

class CeresProblem {
 public:
  CeresProblem(ceres::Problem& problem, const ceres::Solver::Options& options);

  nlsq::Problem& problem() { return mine_; }
  // reuse_earlier_solve() must be called before the solve. keep() may be called after it, when this object is
  // no longer needed.
  void reuse_earlier_solve();
  void keep();
  // Returns why the problem cannot be solved: a value that is not finite, or contradictory bounds. It is
  // empty if it can be solved.
  const std::string& fault() const { return fault_; }
  bool nothing_to_find() const {
    return counts_.effective_parameters_reduced == 0 || counts_.residuals_reduced == 0;
  }
  bool robust() const { return robust_; }
  bool constrained() const { return constrained_; }
  // Describes the faults of linear_solver_ordering: blocks that are free and not in it, or addresses that are
  // no blocks of the problem. It is empty if the ordering is complete.
  std::string ordering_fault(const ceres::ParameterBlockOrdering& ordering) const;

  // Writes the values of all parameter blocks, concatenated in the order of nlsq::Problem.
  void write(std::span<const double> x) const;
  void restore() const { write(start_); }
  // Runs the evaluation callback, if there is one or may be one, by evaluating one residual block at the
  // current parameter values.
  void run_evaluation_callback(bool derivatives) const;
  // Prepares the cost functions for an evaluation: see ProblemControl::before_evaluation.
  void prepare(std::span<const double> x, bool derivatives, bool new_point) const;
  // Returns the cost according to Ceres; NaN if it has none. Calls all cost functions and uses one thread,
  // because with several threads Ceres adds in the order in which they finish.
  double cost() const;
  // Returns the cost of residual blocks whose parameters are all constant.
  double fixed_cost() const { return fixed_cost_; }
  // Describes the first residual block whose residuals are not finite at the current parameter values; empty
  // if there is none.
  std::string first_without_residuals() const;

  struct Counts {
    int parameter_blocks = 0, parameters = 0, effective_parameters = 0, residual_blocks = 0, residuals = 0;
    int parameter_blocks_reduced = 0, parameters_reduced = 0, effective_parameters_reduced = 0,
        residual_blocks_reduced = 0, residuals_reduced = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Block {
    double* data;
    int size, tangent;
    bool free;
    std::uint32_t number;  // in mine_, if it is not empty
    static constexpr bool removed = false;
  };
  std::uint32_t block_at(double* data, const auto& size);
  void add_parameter_block(double* data, int size);
  void check_block(const Block& block, bool constant);
  void add_residual_blocks();
  void prepare_probe() const;
  bool probe_usable() const;
  void call_probe(bool derivatives) const;
  void count_reduced_parameters(std::size_t named);

  ceres::Problem& theirs_;
  const ceres::ParameterBlockOrdering* ordering_ = nullptr;  // null unless it has several groups
  nlsq::Problem mine_;
  Manifolds manifolds_;
  // The parameter blocks in the order in which residual blocks name them. Ceres returns them in the order of
  // their addresses, which differs from run to run, so that the last bits of the result would differ, too.
  // Blocks that no residual block names come last.
  std::vector<Block> blocks_;
  std::size_t empty_ = 0;     // the number of parameter blocks without numbers
  BlockAddresses addresses_;  // of blocks_
  std::vector<double> start_;
  std::vector<std::uint64_t> serials_;  // of recorded cost functions, by residual block of mine_
  ceres::ResidualBlockId probe_ = nullptr;
  int probe_residuals_ = 0;
  mutable std::vector<double*> probe_blocks_;       // empty until the probe is first called
  mutable std::vector<double*> probe_derivatives_;  // the places for those by each block, or null
  // Holds what the probe returned. If a problem consists of one residual block, this saves half of all calls.
  std::shared_ptr<CostAnswer> answer_ = std::make_shared<CostAnswer>();
  mutable bool answers_ = false;  // true if the probe has no manifold and no constant blocks
  Counts counts_;
  double fixed_cost_ = 0;
  bool robust_ = false, constrained_ = false;
  std::string fault_;
};

}  // namespace nlsq::inline v0
