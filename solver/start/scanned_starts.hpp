// Starting values for parameters that have none: they are looked for in the ranges of the data.
#pragma once

#include "fit/curve.hpp"

#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Tries other starts if some parameters of a formula had no starting value (Curve::unstarted), and the fit is
// no success, loses rank, or explains less than 95 % of y. Keeps the better end in `minimum`; the start of
// the curve is then the one that led there. Adds a warning if a far lower cost was found that is no success.
//
// The parameters without a start that are not linear (`linear`: the positions of those that are) take numbers
// that such parameters often have: a number near 1, a place in the range of a predictor, a part of its width
// or the square of one, a rate, or the frequency or period of a wave. A StartSample judges each combination.
// 300 combinations are drawn, the best six are improved by one parameter at a time, and the fit begins at the
// best three, or at the best one if rows are many. Frequencies beyond what the rows can tell are left out.
// The draws have a fixed seed, so the same data give the same starts. This takes 10 to 100 ms where the model
// has a few elementary functions. In a team each process judges the same rows and finds the same starts.
//
// It does nothing for counts, for formulas with a left side, if there are more than six such parameters,
// several starts (FitOptions::starts), or a limit of the user's on time or iterations.
void scan_for_better_starts(Curve& curve, const std::vector<int>& linear, const SolveRequest& request,
                            const SolveFunction& solve_one, MinimizerResult& minimum,
                            std::vector<std::string>& warnings);

}  // namespace nlsq::inline v0
