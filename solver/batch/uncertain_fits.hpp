// Fits of a batch whose certificates are withdrawn: float64 cannot see the minimum
// (certificate/hidden_minimum.hpp), or the end is no success (certificate/doubtful_end.hpp).
#pragma once

#include "batch/batch.hpp"

#include <string>

namespace nlsq::inline v0 {

// Withdraws the certificate of a stored fit where it must be. `rows` are those of the fit, and x holds its
// free parameters. Returns the message of this fit, or nothing.
std::string withdraw_uncertain(const Batch& batch, std::size_t fit, const Certificate& certificate,
                               const RowModel& rows, std::span<const double> x, BatchResult& out);

}  // namespace nlsq::inline v0
