// An nlsq::Problem built from a ceres::Problem through its public interface. Both use the same parameter
// memory. ceres_solve.cpp uses it.
#pragma once

#include <nlsq/problem.hpp>

#include <ceres/ordered_groups.h>
#include <ceres/problem.h>
#include <ceres/solver.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

class CeresProblem {
 public:
  CeresProblem(ceres::Problem& problem, const ceres::Solver::Options& options);

  nlsq::Problem& problem() { return mine_; }
  // Call reuse_earlier_solve() before the solve, and keep() after it, when this object is no longer needed.
  void reuse_earlier_solve();
  void keep();
  // Why it cannot be solved: a value that is not finite, or contradictory bounds. Empty if it can.
  const std::string& fault() const { return fault_; }
  bool nothing_to_find() const { return counts_.effective_parameters_reduced == 0; }
  bool robust() const { return robust_; }
  bool constrained() const { return constrained_; }
  // What linear_solver_ordering lacks: blocks that are free and not in it, or addresses that are no blocks of
  // the problem. Empty if it is complete.
  std::string ordering_fault(const ceres::ParameterBlockOrdering& ordering) const;

  // Writes the values of all parameter blocks, concatenated in the order of nlsq::Problem.
  void write(std::span<const double> x) const;
  void restore() const { write(start_); }
  // Runs the evaluation callback, if there is one, by evaluating one residual block at the current parameter
  // values.
  void run_evaluation_callback(bool derivatives) const;
  // The cost according to Ceres; NaN if it has none. It uses one thread, because with several Ceres adds in
  // the order in which threads finish.
  double cost() const;
  // Cost of residual blocks whose parameters are all constant.
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
  void add_parameters(const ceres::Solver::Options& options);
  void add_residuals();
  void check_block(std::size_t number);

  ceres::Problem& theirs_;
  nlsq::Problem mine_;
  std::vector<double*> blocks_;
  std::vector<int> sizes_;
  std::vector<std::uint8_t> free_;
  std::vector<double> start_;
  std::vector<std::uint64_t> serials_;  // of recorded cost functions, by residual block of mine_
  ceres::ResidualBlockId probe_ = nullptr;
  int probe_residuals_ = 0;
  Counts counts_;
  double fixed_cost_ = 0;
  bool robust_ = false, constrained_ = false;
  std::string fault_;
};

}  // namespace nlsq::inline v0
