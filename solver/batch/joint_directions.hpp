// Which parameters of a joint fit the rows of all groups together do not determine. shared_fit.cpp uses it
// where J loses rank.
#pragma once

#include <nlsq/matrix.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// The normal matrices JᵀJ of the groups, each with the same `shared` parameters first and then the group's
// own ones. `rank`: that of J of all rows. Returns for each parameter, the shared ones first and then those
// of one group after the other, whether it shares in a direction along which nothing changes. Returns
// nothing if there are too many parameters to look.
std::vector<bool> undetermined_in_all(std::span<const Matrix> normals, std::size_t shared, std::size_t rank);

}  // namespace nlsq::inline v0
