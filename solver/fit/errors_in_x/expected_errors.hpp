// The errors that an estimate would have in repeated measurements with errors in x. A fit takes an error in x
// for one in y, by the slope of the curve at the measured x. Near a crest the slope says little of the error,
// and the values and standard errors of the fit may be wrong. This file estimates how wrong they are.
#pragma once

#include "fit/curve.hpp"

#include <span>
#include <string>

namespace nlsq::inline v0 {

// Returns a warning if the errors of the fit at x are clearly larger than its standard errors say, else an
// empty text. There is none for a curve that is straight in x, for more than four predictors with errors, and
// under a robust loss, whose estimator is another one.
std::string warning_of_expected_errors(const Curve& curve, std::span<const double> x, const FitResult& fit);

}  // namespace nlsq::inline v0
