// Finds the linear parameters of a model that is known by its values alone: one that calls the user's code.
#pragma once

#include "fit/curve.hpp"

#include <vector>

namespace nlsq::inline v0 {

// Returns the positions, among the free parameters, of those that enter the model jointly linearly as far as
// some points show: two beside the start for each parameter, and the one with their best values. Looks if
// variable projection is on, or if the start fits worse than a constant does: there a linear start is worth
// the calls: two for each parameter, or four where the first steps are too short to be seen beside y, one
// more for each that is linear, and one or two more. A point where the model throws or is not finite says
// that a parameter is not linear, and nothing else: the user did not ask for it. Empty for a loss of counts,
// whose rows are the model's values. `rows` are those of curve.form.
//
// A model may look linear at these points and not be so: max(a, 0), a number that is rounded. A linear start
// therefore counts only if it lowers the cost, and what judges the end takes no parameter for linear
// (Curve::linear_by_trial).
std::vector<int> linear_by_trial(const Curve& curve, RowModel& rows);

}  // namespace nlsq::inline v0
