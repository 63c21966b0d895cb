// Chooses the point at which the functions of a block problem are recorded.
#pragma once

#include "blocks/block_structure.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Returns x, with each number that is exactly 0 replaced by a small one. A rotation often starts as 0, where
// functions take a branch of their own: a small angle has no axis. A program of that branch would be of no
// use from the first step on. A number stays 0 if steps do not move it, if 0 is one of its bounds, or if the
// small number is outside of them. A parameter block with a manifold is moved as a whole if one of its
// numbers is 0, unless it has bounds.
std::vector<double> recording_place(const Problem::Impl& problem, const BlockStructure& structure,
                                    std::span<const double> x);

}  // namespace nlsq::inline v0
