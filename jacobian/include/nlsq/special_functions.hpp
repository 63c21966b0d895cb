// Declares functions that the C library lacks, in double. tests/jacobian tests their error bounds.
#pragma once

#include <nlsq/export.hpp>

#include <complex>

namespace nlsq::inline v0 {

NLSQ_API double erfcx(double x) noexcept;            // exp(x²) erfc(x)
NLSQ_API double digamma(double x) noexcept;          // Γ'/Γ
NLSQ_API double trigamma(double x) noexcept;         // its derivative
NLSQ_API double gamma_function(double x) noexcept;   // Γ; NaN at 0 and negative integers
NLSQ_API double lgamma_function(double x) noexcept;  // log|Γ|, thread-safe
NLSQ_API double besj0(double x) noexcept;
NLSQ_API double besj1(double x) noexcept;
// This is the Faddeeva function w(z) = exp(-z²) erfc(-iz), for Im z >= 0, or for any z where it does not
// overflow.
NLSQ_API std::complex<double> wofz(std::complex<double> z) noexcept;
// This is the Voigt profile: a Gaussian of standard deviation sigma convolved with a Lorentzian of half width
// gamma. Its area is 1 (SciPy's voigt_profile).
NLSQ_API double voigt(double x, double sigma, double gamma) noexcept;

}  // namespace nlsq::inline v0
