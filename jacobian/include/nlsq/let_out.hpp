// Extracts the value of a Traced number. Scalars that are built on Traced, such as the jets of another
// library, use it.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/traced.hpp>

namespace nlsq::inline v0 {

// Returns number.value(). The recording is discarded unless the number is a constant. `reason` replaces the
// general message that the user then sees.
NLSQ_API double let_out(const Traced& number, const char* reason);

}  // namespace nlsq::inline v0
