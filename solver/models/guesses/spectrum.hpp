// Candidate frequencies of data at even or uneven abscissae. The guesses of the sine models use it.
#pragma once

#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {

// Up to which frequency (cycles per unit x) rows tell waves apart: one cycle every two rows. Uneven rows show
// faster waves, too: up to half a cycle in the gap that a tenth of the gaps are below, at most eight times as
// many. u is sorted in [0, 1].
double highest_cycles(std::span<const double> u);

// Returns the frequencies of the highest peaks in the spectrum of y minus its mean, highest first, up to
// highest_cycles. Few rows are summed directly. Many are put
// on a fine grid before a fast Fourier transform with four-fold oversampling (compare Press and Rybicki,
// Astrophys. J. 338 (1989) 277).
// `weight`: of each row's residual; empty: 1.
std::vector<double> spectrum_peaks(std::span<const double> u, std::span<const double> y,
                                   std::span<const double> weight, std::size_t most);

}  // namespace nlsq::inline v0::guessing
