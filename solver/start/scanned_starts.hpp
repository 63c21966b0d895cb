// Looks for starting values of parameters that have none, in the ranges of the data.
#pragma once

#include "fit/curve.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Returns true if an end is a minimum that is determined. One that loses rank is rejected later, because the
// parameters had no start.
bool is_good_end(Verdict verdict);
// Returns true if an end is good, and the data do not tell it from another one. Its cost may be higher by as
// much as a move of one parameter by two standard errors would raise it.
bool fits_as_well(Verdict verdict, double cost, double others, std::size_t rows, std::size_t parameters);
// Returns true if an end is better than another one, and not merely another form of it. A good end is never
// replaced by one that is not good, and it replaces such an end even if its cost is a little higher.
bool ends_better(Verdict verdict, double cost, Verdict other, double others);
// A fit that leaves more of the squares of y is poor. Its starts are looked for.
inline constexpr double kUnexplained = 0.05;

// Tries other starts if some parameters of a formula had no starting value (Curve::unstarted), and the fit is
// poor: it is no success, loses rank, explains less than 95 % of y, or has a wave that is too fast for the
// rows. The function keeps the better end in `minimum`, and sets the start of the curve to the one that led
// there. If the data do not tell two waves apart, the slower wave is better. The function adds a warning if
// another start led to a far lower cost but to no success, and if the wave is still too fast. `linear` holds
// the positions of the linear parameters among the free ones.
//
// Each parameter that has no start and is not linear takes numbers that such parameters often have. These are
// numbers near 1, places in the range of a predictor, parts of its width and their squares, rates, and the
// frequencies and periods of waves. A StartSample evaluates each combination, and leaves out waves that are
// too fast for the rows. First 300 combinations are drawn. Then the best six of them are improved by one
// parameter at a time. Finally fits begin at the best three, or at the best one if there are many rows. The
// draws have a fixed seed, so the same data give the same starts. This takes 10 to 100 ms where the model has
// a few elementary functions. In a team each process uses the same rows and finds the same starts.
//
// It does nothing for counts, for formulas with a left side, if there are more than six such parameters,
// several starts (FitOptions::starts), a limit on time, or one of fewer than 100 iterations.
void scan_for_better_starts(Curve& curve, const std::vector<int>& linear, const SolveRequest& request,
                            const SolveFunction& solve_one, MinimizerResult& minimum,
                            std::vector<std::string>& warnings);

}  // namespace nlsq::inline v0
