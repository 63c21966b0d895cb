// A ceres::Problem, walked by its public interface, as an nlsq::Problem that works on the same numbers.
#pragma once

#include <nlsq/problem.hpp>

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
  // Before it is solved; and after, when it is not needed any more.
  void draw_upon_earlier();
  void keep();
  // Why it cannot be solved: a value that is not finite, bounds that leave no room; empty where it can.
  const std::string& fault() const { return fault_; }
  bool nothing_to_find() const { return counts_.effective_parameters_reduced == 0; }
  bool robust() const { return robust_; }
  bool constrained() const { return constrained_; }

  // All parameter blocks, side by side, as nlsq::Problem has them.
  void write(std::span<const double> x) const;
  void restore() const { write(start_); }
  // Fires an evaluation callback, if there is one: it asks the problem for one residual block, at what is in
  // the blocks.
  void fire(bool derivatives) const;
  // The problem's own; NaN where it has none. On one thread: with more, Ceres adds in the order in which they
  // finish.
  double cost() const;
  // Of residual blocks whose parameters are all constant.
  double fixed_cost() const { return fixed_cost_; }
  // The first residual block without finite residuals at what is in the parameter blocks, in words; empty
  // where there is none.
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
  std::vector<std::uint64_t> serials_;  // of what is recorded, by residual block of mine_
  ceres::ResidualBlockId probe_ = nullptr;
  std::size_t probe_blocks_ = 0;
  int probe_residuals_ = 0;
  Counts counts_;
  double fixed_cost_ = 0;
  bool robust_ = false, constrained_ = false;
  std::string fault_;
};

}  // namespace nlsq::inline v0
