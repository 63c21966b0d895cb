// For scalars that are made of Traced numbers, such as a jet of another library.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/traced.hpp>

namespace nlsq::inline v0 {

// As number.value(): the number leaves the recording, which is given up unless the number is a constant.
// `reason` is what the user is told then, in the place of value()'s general words.
NLSQ_API double let_out(const Traced& number, const char* reason);

}  // namespace nlsq::inline v0
