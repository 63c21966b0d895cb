// The f64 verdict on a point of a block problem. It takes J as it is there, undamped, and nothing that other
// points left: every parameter is tested by itself, and none is excused by the size of another.
#pragma once

#include "blocks/block_distance.hpp"

#include <nlsq/options.hpp>
#include <nlsq/summary.hpp>

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Success needs a distance that is known, and at most so many standard errors.
constexpr double kFarthest = 0.1;

struct BlockTests {
  double tau, xtol, gtol;  // of SolverOptions
  double initial_cost;
  std::span<const double> start;  // x at the start: a parameter that ran away from it is no optimum
};

struct BlockJudgement {
  Certificate certificate;  // without the re-check
  BlockTerms terms;
  BlockDistance distance;
  double sigma = 0;   // 0: neither degrees of freedom nor residuals
  std::string doubt;  // why it did not pass, in words; empty where only the distance is too large

  // Half the squared decrement: what the linear model promises.
  double promised() const { return 0.5 * distance.decrement * distance.decrement; }
  // A decrease of the cost that contradicts a certificate.
  double contradiction() const;
};

// σ = √(2F / (m - rank)). Without degrees of freedom ‖r‖ stands for it.
double block_sigma(double cost, std::size_t residuals, std::size_t determined);

// The largest cosine between r and a column of J, and whether each gradient is within its own rounding error.
struct BlockGradient {
  double cosine = 0;
  double bound =
      0;  // on the same scale: the largest; where some are beyond theirs, of the one furthest beyond
  bool rounding = false;
};
BlockGradient block_gradient(const SchurSolver& solver, double cost, std::span<const double> noise);

BlockJudgement judge_point(const BlockPoint& at, const BlockTests& tests);
// The tests on a step and a decrement that are known: certificate.verdict, governed_by and passed.
void apply_tests(const BlockPoint& at, const BlockTests& tests, BlockJudgement& out);

}  // namespace nlsq::inline v0
