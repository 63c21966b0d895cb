// Manifolds by name: "quaternion + euclidean 3".
#pragma once

#include <nlsq/manifold.hpp>

#include <string_view>

namespace nlsq::inline v0::c {

// The manifold of a block of `size` numbers; null for "". Throws ValidationError for an unknown name and for
// sizes that do not add up.
ManifoldPtr manifold_of(std::string_view text, int size);

}  // namespace nlsq::inline v0::c
