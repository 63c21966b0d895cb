// Finds the linear parameters of a model that is known by its values alone: one that calls the user's code.
#pragma once

#include "fit/curve.hpp"

#include <vector>

namespace nlsq::inline v0 {

// Returns the positions, among the free parameters, of those that enter the model jointly linearly as far as
// some points beside the start show. Looks if variable projection is on, or if the start fits worse than a
// constant does: there a linear start is worth the calls, two for each parameter and one more for each that
// is linear. Empty for a loss of counts, whose rows are the model's values.
//
// A model that only looks linear at these points costs time and nothing else: a linear start counts if it
// lowers the cost, and the certificate is of all parameters.
std::vector<int> linear_by_trial(const Curve& curve);

}  // namespace nlsq::inline v0
