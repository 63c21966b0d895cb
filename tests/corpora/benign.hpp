// Large fits that low precision is made for: well conditioned, noise above rounding, starts from which every
// solver gets there.
#pragma once

#include "problem.hpp"

#include <cstdint>
#include <vector>

namespace problems {

// Well separated Gaussian peaks of widths and heights drawn at random: three parameters each. Starts within a
// tenth of a width. With a pedestal they stand on a constant of that height, a parameter more.
Problem gaussian_peaks(int peaks, std::size_t rows, std::uint64_t seed, double pedestal = 0);

// Curves of 2 to 5 parameters, an image of one spot, and sums of 6, 12 and 20 peaks, all of `rows` rows.
std::vector<Problem> benign(std::size_t rows);

}  // namespace problems
