// Fits drawn at random: built-in models and formulas, well and badly conditioned, of all scales, noises and
// sizes.
#pragma once

#include "problem.hpp"

#include <cstdint>

namespace problems {

// Problem `index` of a series; the same numbers for the same seed and index, in any order.
// About a third have κ above 1e8, a tenth 10^5 rows and more, a sixth weights.
Problem random_problem(std::uint64_t seed, std::uint64_t index);

}  // namespace problems
