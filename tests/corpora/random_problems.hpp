// Declares random fits: built-in models and formulas, well and badly conditioned, of all scales, noise levels
// and sizes.
#pragma once

#include "problem.hpp"

#include <cstdint>

namespace problems {

// Returns problem `index` of a series. The same seed and index give the same numbers, in any order. About a
// third have κ above 1e8, a tenth have at least 10^5 rows, and a sixth have weights.
Problem random_problem(std::uint64_t seed, std::uint64_t index);

}  // namespace problems
