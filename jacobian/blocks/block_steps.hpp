// Steps of differences for blocks whose functions give no derivatives.
#pragma once

#include "blocks/block_groups.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// The shares of the usual steps, by number of x, that are short enough at x for all residuals together, or
// for some of them if many depend on a number. Empty if no block needs differences. Steps are relative to the
// numbers, which is too long for an offset such as a date (StepCheck, rows/calls/difference_step.hpp).
std::vector<double> block_step_shares(const BlockList& list, const BlockGroups& groups,
                                      std::span<const double> x);

}  // namespace nlsq::inline v0
