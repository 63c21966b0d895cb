// Candidate frequencies of data at even or uneven abscissae.
#pragma once

#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {

// Frequencies (cycles per unit x, u sorted in [0, 1]) of the highest peaks of the spectrum of y less its
// mean, highest first, up to one cycle every two rows. Rows are laid on a fine grid before a fast
// Fourier transform, four-fold oversampled (compare Press and Rybicki, Astrophys. J. 338 (1989) 277).
std::vector<double> spectrum_peaks(std::span<const double> u, std::span<const double> y, std::size_t most);

}  // namespace nlsq::inline v0::guessing
