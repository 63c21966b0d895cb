// Fits of a batch whose certificates are withdrawn: float64 cannot see the minimum
// (certificate/hidden_minimum.hpp), or the end is no success (certificate/doubtful_end.hpp).
#pragma once

#include "batch/batch.hpp"
#include "minimizer/loop.hpp"

#include <string>

namespace nlsq::inline v0 {

// Withdraws the certificate of a stored fit where it must be. `rows` are those of the fit, and `minimum` is
// its end. Returns the message of this fit, or nothing.
std::string withdraw_uncertain(const Batch& batch, std::size_t fit, const MinimizerResult& minimum,
                               const RowModel& rows, BatchResult& out);

}  // namespace nlsq::inline v0
