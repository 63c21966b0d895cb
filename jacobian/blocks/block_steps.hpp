// Steps of differences for blocks whose functions give no derivatives.
#pragma once

#include "blocks/block_groups.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Returns for each number of x the share of the usual step over which the residuals are straight at x. The
// result is empty if no block needs differences. Where many residual blocks depend on a number, only some are
// called. The usual step is relative to the number, which is too long for an offset such as a date
// (ShareSearch, rows/calls/difference_step.hpp), and too short where other terms of the residuals are so
// large that their rounding errors hide what the number does.
std::vector<double> block_step_shares(const BlockList& list, const BlockGroups& groups,
                                      std::span<const double> x);

}  // namespace nlsq::inline v0
