// The rows of residual blocks with twice the digits of f64. The certificate uses them where terms cancel.
#pragma once

#include "blocks/block_evaluator.hpp"
#include "rows/twofold_rows.hpp"

#include <memory>
#include <span>

namespace nlsq::inline v0 {

// Records all blocks at x. Returns null if some cannot be recorded, or if one takes a branch: at other points
// it might take another one. Rows are numbered as in list.row, and their numbers of x as in list.offsets.
NLSQ_API std::unique_ptr<TwofoldRows> twofold_blocks(const BlockList& list, std::span<const double> x);

}  // namespace nlsq::inline v0
