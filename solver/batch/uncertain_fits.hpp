// Fits of a batch whose certificates are withdrawn: float64 cannot see the minimum
// (certificate/hidden_minimum.hpp), or the end is no success (certificate/doubtful_end.hpp).
#pragma once

#include "batch/batch.hpp"

#include <string>

namespace nlsq::inline v0 {

// Withdraws the certificate of a stored fit where it must be. Returns the message of this fit, or nothing.
std::string withdraw_uncertain(const Batch& batch, std::size_t fit, const Certificate& certificate,
                               BatchResult& out);

}  // namespace nlsq::inline v0
