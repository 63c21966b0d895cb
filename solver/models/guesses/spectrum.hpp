// Candidate frequencies of data at even or uneven abscissae. The guesses of the sine models use it.
#pragma once

#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {

// Returns the frequencies (cycles per unit x, u sorted in [0, 1]) of the highest peaks in the spectrum of y
// minus its mean, highest first, up to one cycle every two rows. Few rows are summed directly. Many are put
// on a fine grid before a fast Fourier transform with four-fold oversampling (compare Press and Rybicki,
// Astrophys. J. 338 (1989) 277).
std::vector<double> spectrum_peaks(std::span<const double> u, std::span<const double> y, std::size_t most);

}  // namespace nlsq::inline v0::guessing
