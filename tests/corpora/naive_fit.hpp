// What f32 or bf16 alone make of a problem: stopped by the usual tests, and believed.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

struct NaiveFit {
  std::vector<double> p;
  bool converged = false;  // it says so itself
  bool finite = false;     // parameters and cost
};

// What such a fit comes to, beside a certified one.
enum class NaiveOutcome : std::uint8_t { right, silent_wrong, not_finite, gave_up };
NaiveOutcome judge(const Problem& problem, const NaiveFit& naive, const nlsq::FitResult& certified);

// Levenberg and Marquardt by QR, in float throughout; ends at a relative gain of √u, as MINPACK does.
NaiveFit naive_f32(const Problem& problem);
// The same with all that is stored in bf16 (parameters, data, every step of the model and its derivatives,
// residuals) and sums and the factorisation in f32, as hardware for it computes.
NaiveFit naive_bf16(const Problem& problem);

}  // namespace problems
