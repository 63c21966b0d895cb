// Fits of a batch whose minima float64 cannot see (certificate/hidden_minimum.hpp).
#pragma once

#include "batch/batch.hpp"

namespace nlsq::inline v0 {

// Returns whether the certificate of a fit of the batch must be withdrawn. `cost` is ½‖r‖² of that fit.
bool is_hidden(const Batch& batch, std::size_t fit, const Certificate& certificate, double cost);

}  // namespace nlsq::inline v0
