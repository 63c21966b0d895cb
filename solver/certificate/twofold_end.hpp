// The end of a fit in numbers of twice the digits of f64, where f64 residuals are mostly rounding errors. The
// rows are evaluated that way at the end, the parameters are corrected, and the distance to the optimum is
// measured instead of bounded.
#pragma once

#include "certificate/twofold_minimum.hpp"
#include "fit/solve.hpp"
#include "minimizer/loop.hpp"

namespace nlsq::inline v0 {

// Judges `end` if its verdict rests on rounding errors, or if these errors kept it from a success. Moves x to
// the best f64 numbers that are found beside it. Sets `end.by_twofold` and, unless it stays unknown, the
// certificate. Does nothing where the rows exist in double alone, or where a loss or many rows make this end
// another one than is judged here.
void judge_by_twofold(const SolveRequest& request, MinimizerResult& end);

// Sets the verdict, and what the certificate says of the distance, by what was found. `whole`: whether J has
// the rank of all columns in f64, too.
EndByTwofold settle(const TwofoldMinimum& found, bool whole, Summary& summary, Certificate& certificate);

}  // namespace nlsq::inline v0
