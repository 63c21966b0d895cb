// The tests of first order of a block problem, and the verdict that they give. They use the undamped f64 J at
// the point and no data from other points. Every parameter is tested on its own; a large parameter does not
// excuse a small one. BlockSystem::certify runs them and then checks what they say (block_certificate.cpp).
#pragma once

#include "blocks/block_distance.hpp"
#include "certificate/certificate.hpp"

#include <nlsq/options.hpp>
#include <nlsq/summary.hpp>

#include <memory>
#include <span>
#include <string>

namespace nlsq::inline v0 {

// A step below this share of tau standard errors is short enough, however large it is beside its parameter.
constexpr double kShortOfTau = 1e-4;

struct BlockTests : CertificateTests {
  std::span<const double> start;  // x at the start; used to detect parameters that diverged from it
  double short_of_tau = kShortOfTau;
};

struct BlockJudgement {
  Certificate certificate;  // without the re-evaluation check
  std::shared_ptr<const BlockTerms> terms;
  BlockDistance distance;
  double sigma = 0;   // 0: no degrees of freedom and no residuals
  std::string doubt;  // why the tests failed, in words; empty if only the distance is too large

  // Half the squared decrement: the decrease that the linear model predicts.
  double promised() const { return 0.5 * distance.decrement * distance.decrement; }
  // A decrease of the cost that would contradict a certificate.
  double contradiction() const;
};

// σ = √(2F / (m - rank)). Without degrees of freedom, ‖r‖ replaces it.
double block_sigma(double cost, std::size_t residuals, std::size_t determined);

// The largest cosine between r and a column of J, and the rounding errors of the gradient on the same scale.
struct BlockGradient : GradientNoise {
  double cosine = 0;
};
BlockGradient block_gradient(const SchurSolver& solver, double cost, std::span<const double> noise);

// Whether the residuals at a point are rounding errors alone. `explained`: the decrement in standard errors,
// or 0 if it is not known. `vanishing`: what each residual may be at most, beside the terms of its row.
bool residuals_vanish(const BlockPoint& at, const BlockTerms& terms, double initial_cost, double explained,
                      double vanishing = kVanishing);

// `terms`: of the residuals at the point. `solved`: as for block_distance. If the loop has stopped, a point
// that fails already by the undamped step is not examined further, and its rank stays unknown.
BlockJudgement judge_point(const BlockPoint& at, const BlockTests& tests,
                           std::shared_ptr<const BlockTerms> terms, const BlockStep* solved);
// Applies the tests to a known step and decrement. Sets certificate.verdict, governed_by and passed.
void apply_tests(const BlockPoint& at, const BlockTests& tests, BlockJudgement& out);

}  // namespace nlsq::inline v0
