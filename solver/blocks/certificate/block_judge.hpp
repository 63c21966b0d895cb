// Declares the first-order tests of a block problem, and their verdict. They use the undamped f64 J at the
// point and no data from other points. Every parameter is tested on its own; the step of a small parameter
// must be short even if another is large. BlockSystem::certify runs the tests and then checks their result
// (block_certificate.cpp).
#pragma once

#include "blocks/certificate/block_distance.hpp"
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
  double sigma = 0;   // 0 if there are neither degrees of freedom nor residuals
  std::string doubt;  // why the tests failed, in words; empty if only the distance is too large

  // Returns half the squared decrement: the decrease that the linear model predicts.
  double promised() const { return 0.5 * distance.decrement * distance.decrement; }
  // Returns a decrease of the cost that would contradict a certificate.
  double contradiction() const;
};

// Returns σ = √(2F / (m - rank)). Without degrees of freedom, ‖r‖ replaces it.
double block_sigma(double cost, std::size_t residuals, std::size_t determined);

// Holds the largest cosine between r and a column of J, and the rounding errors of the gradient on the same
// scale.
struct BlockGradient : GradientNoise {
  double cosine = 0;
};
BlockGradient block_gradient(const SchurSolver& solver, double cost, std::span<const double> noise);

// Returns true if the residuals at a point are only rounding errors. `explained` is the decrement in standard
// errors, or 0 if it is not known. `vanishing` is the largest ratio of a residual to the terms of its row.
bool residuals_vanish(const BlockPoint& at, const BlockTerms& terms, double initial_cost, double explained,
                      double vanishing = kVanishing);

// Judges a point. `terms` are those of the residuals at the point, and `solved` is as for block_distance. If
// the loop has stopped and the undamped step is already too long, the point is not examined further, and its
// rank remains unknown.
BlockJudgement judge_point(const BlockPoint& at, const BlockTests& tests,
                           std::shared_ptr<const BlockTerms> terms, const BlockStep* solved);
// Applies the tests to a known step and decrement. Sets certificate.verdict, governed_by and passed.
void apply_tests(const BlockPoint& at, const BlockTests& tests, BlockJudgement& out);

}  // namespace nlsq::inline v0
