// Fits of a batch whose minima float64 cannot see (certificate/hidden_minimum.hpp).
#pragma once

#include "batch/batch.hpp"

namespace nlsq::inline v0 {

// Whether the certificate of a fit of the batch must be withdrawn. `cost`: ½‖r‖².
bool is_hidden(const Batch& batch, std::size_t fit, const Certificate& certificate, double cost);

}  // namespace nlsq::inline v0
