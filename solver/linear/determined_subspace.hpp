// Computes what the rows determine: rank, covariance and step, from the triangle R of [J | r] with columns
// scaled to unit length. The certificate uses it.
#pragma once

#include "certificate/certificate.hpp"

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

// Singular values below this share of the largest are rounding errors: a column computed to a few units in
// the last place cannot show a smaller angle to the others.
double rank_tolerance(std::size_t n);

// A parameter is reported as confounded if its unit vector has a part of more than this length in the null
// directions.
inline constexpr double kConfounded = 0.05;

// Holds R, n x n upper triangular by columns, and z = Qᵀr. Both are destroyed. `scale` holds the divisors of
// the columns. `qr` says that R comes from QR of the rows, not from Cholesky of JᵀJ.
struct ScaledTriangle {
  double* R;
  double* z;
  std::span<const double> scale;
  bool qr = false;
  const Parallelism* threads = nullptr;  // used if there are many parameters; null for one thread
  double error = 0;                      // norm of the error of R beyond rounding, 0 if not known
  bool covariance = true;                // true if a covariance is wanted
};

// Fills rank, condition, confounded parameters, covariance error and ν₀ of out.certificate, and
// out.covariance and out.step. ν₀ is stored in decrement_sigma; the caller divides it by σ. out.step must
// have size n.
void analyse(const ScaledTriangle& triangle, Certified& out);

// Returns κ(RᵀR) by power iteration. It is never too large, and accurate to some percent. Changes nothing.
double normal_condition(const ScaledTriangle& triangle);

// Returns the numerical rank of R. Singular values below 64 u √n times the largest count as rounding, and
// those below the error of R are meaningless.
std::size_t numerical_rank(const ScaledTriangle& triangle);

}  // namespace nlsq::inline v0
