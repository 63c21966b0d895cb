// What rows determine, from the triangle R of [J | r] with columns scaled to unit length: rank, covariance,
// step.
#pragma once

#include "certificate/certificate.hpp"

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

// R, n x n upper triangular by columns, and z = Qᵀr; both are destroyed. `scale`: what the columns were
// divided by. `qr`: R is by QR of the rows, not by Cholesky of JᵀJ.
struct ScaledTriangle {
  double* R;
  double* z;
  std::span<const double> scale;
  bool qr = false;
  const Parallelism* threads = nullptr;  // that may take part where there are many parameters; null: none
};

// Fills rank, condition, confounded parameters, the covariance's error and ν₀ (as decrement_sigma: the caller
// divides by σ) of out.certificate, and out.covariance and out.step, which has size n already.
void analyse(const ScaledTriangle& triangle, Certified& out);

// κ(RᵀR) by power iteration: never too large, and within some percent. Destroys nothing.
double normal_condition(const ScaledTriangle& triangle);

// Of R alone. Singular values below 64 u √n of the largest are rounding.
std::size_t numerical_rank(const ScaledTriangle& triangle);

}  // namespace nlsq::inline v0
