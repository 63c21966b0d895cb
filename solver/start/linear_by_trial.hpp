// Finds the linear parameters of a model that calls the user's code, so that only its values are known.
#pragma once

#include "fit/curve.hpp"

#include <vector>

namespace nlsq::inline v0 {

struct LinearByTrial {
  std::vector<int> positions;  // of the linear parameters among the free ones
  Vector solved;               // the start with their best values; empty where these are not known
};

// Finds the linear parameters. It moves each parameter by a step and by half of it, and then all that seem to
// be linear to their best values. A parameter counts as linear if the residuals change linearly with it, also
// together with the others. `rows` are those of curve.form.
//
// The search takes two calls of the model for each parameter, or one if the user provides derivatives. It
// takes two more if the first step of a parameter hardly changes the residuals, and one or two at the end. If
// the last step does not show that the linear parameters are linear together, it takes one more for each of
// them but the first. So the search is made only where it is likely to pay: if the start fits worse than a
// constant does, or if variable projection is on. It returns nothing for a loss of counts, whose rows are the
// model's values.
//
// The user did not ask for these points. If the model throws there, or gives values that are not finite, the
// parameter counts as not linear, and the fit continues.
//
// A model may look linear at these points although it is not: max(a, 0), or a number that is rounded. So a
// linear start is taken only if it lowers the cost, and the tests of the end treat no parameter as linear
// (Curve::linear_by_trial).
LinearByTrial linear_by_trial(const Curve& curve, RowModel& rows);

}  // namespace nlsq::inline v0
