// Fits in f32 or bf16 alone, with the usual convergence tests and no certificate.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

struct NaiveFit {
  std::vector<double> p;
  bool converged = false;  // by its own convergence test
  bool finite = false;     // parameters and cost are finite
};

// Says how good such a fit is, compared with a certified one.
enum class NaiveOutcome : std::uint8_t { right, silent_wrong, not_finite, gave_up };
NaiveOutcome judge(const Problem& problem, const NaiveFit& naive, const nlsq::FitResult& certified);

// Fits by Levenberg-Marquardt with QR, all in float. It ends at a relative gain of √u, as MINPACK does.
NaiveFit naive_f32(const Problem& problem);
// Does the same with everything stored in bf16 (parameters, data, every step of the model and its
// derivatives, residuals). Sums and the factorization are in f32, as in bf16 hardware.
NaiveFit naive_bf16(const Problem& problem);

}  // namespace problems
