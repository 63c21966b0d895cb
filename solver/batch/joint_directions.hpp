// Which parameters of a joint fit the rows of all groups together do not determine. shared_fit.cpp uses it
// where J loses rank.
#pragma once

#include <nlsq/matrix.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Tells for each parameter whether the rows of all groups leave it undetermined: it can change, together with
// others, without an effect on any row. The shared parameters come first, then those of each group in turn.
// `normals` holds the normal matrix JᵀJ of each group, in which the `shared` parameters come first, too.
// `rank` is the rank of J of all rows. The result is empty if there are too many parameters.
std::vector<bool> undetermined_in_all(std::span<const Matrix> normals, std::size_t shared, std::size_t rank);

}  // namespace nlsq::inline v0
