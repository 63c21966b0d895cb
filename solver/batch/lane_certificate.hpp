// The certificate of a fit done in a lane: certificate.hpp's tests where the normal equations suffice.
// LaneBatch uses it.
#pragma once

#include "certificate/certificate.hpp"

#include <span>

namespace nlsq::inline v0 {

struct LaneCertificate {
  double condition = 0;        // κ₀, 1-norm
  double decrement_sigma = 0;  // ν₀/σ
  double step = 0;             // ‖D s₀‖ / ‖D x‖
  Vector variances;            // diagonal of (JᵀJ)⁻¹
};

// Returns true if `at`, linearized in f64 at x, is a minimum by the tests of certify(), all parameters are
// determined, and the covariance keeps ten digits. False decides nothing: certify() has other means.
bool certify_plain(const Linearization& at, std::span<const double> x, std::size_t rows,
                   const CertificateTests& tests, LaneCertificate& out);

}  // namespace nlsq::inline v0
