// Eigenvalues of a matrix of second derivatives whose unknowns may have very different sizes. The checks of a
// minimum by second derivatives use them, for blocks and for curves.
#pragma once

#include "minimizer/minimizer_step_values.hpp"

#include <span>

namespace nlsq::inline v0 {

struct ScaledSpectrum {
  Vector scale;    // by which row i and column i were divided
  Vector values;   // eigenvalues of the scaled matrix
  Vector vectors;  // its eigenvectors, by columns
};

// Scales G (n x n, by columns, symmetric up to rounding) to a diagonal of 1 or -1. `norms`: the lengths of
// the columns of J, for the size of an unknown whose second derivative is zero. Returns false if an entry is
// not finite.
bool scaled_spectrum(std::span<const double> G, std::span<const double> norms, ScaledSpectrum& out);

}  // namespace nlsq::inline v0
