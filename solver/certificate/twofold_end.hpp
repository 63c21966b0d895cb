// The end of a fit in numbers of twice the digits of f64, where f64 residuals are mostly rounding errors. The
// rows are evaluated that way at the end, the parameters are corrected, and the distance to the optimum is
// measured instead of bounded.
#pragma once

#include "fit/solve.hpp"
#include "minimizer/loop.hpp"

namespace nlsq::inline v0 {

// Judges `end` if its verdict rests on rounding errors, or if these errors kept it from a success. Moves x to
// the best f64 numbers that are found beside it. Sets `end.by_twofold` and, with EndByTwofold::near, the
// certificate. Other ends do not change here. Does nothing where the rows exist in double alone, or where a
// loss, a lost rank or many rows make this end another one than is judged here.
void judge_by_twofold(const SolveRequest& request, MinimizerResult& end);

// Finds small whole numbers that make ‖z + B·numbers‖ small, for an n x n upper triangle B by columns: LLL
// reduction and Babai's nearest plane. A column of B is the effect of one last digit of a parameter.
std::vector<double> nearest_on_grid(std::vector<double> B, std::size_t n, std::vector<double> z);

}  // namespace nlsq::inline v0
