// Declares large fits that suit low precision: they are well conditioned, have noise above rounding, and have
// starting values from which every solver converges.
#pragma once

#include "problem.hpp"

#include <cstdint>
#include <vector>

namespace problems {

// Well separated Gaussian peaks of random widths and heights, three parameters each. Starting values are
// within a tenth of a width. With a pedestal, a constant of that height and one more parameter are added.
Problem gaussian_peaks(int peaks, std::size_t rows, std::uint64_t seed, double pedestal = 0);

// Curves with 2 to 5 parameters, an image of one spot, and sums of 6, 12 and 20 peaks, each with `rows` rows.
std::vector<Problem> benign(std::size_t rows);

}  // namespace problems
