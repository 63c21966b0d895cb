// Checks that a fit makes of its end after a solve. They decide whether the fit lost parameters, whether it
// ended at a kink or at a saddle, and whether rounding errors hide the optimum. They are implemented in
// lost_parameters.cpp, kink.cpp, saddle.cpp, twofold_end.cpp and nearest_on_grid.cpp.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve.hpp"
#include "minimizer/loop.hpp"

#include <optional>

namespace nlsq::inline v0 {

// True if the data determine more parameters at other points than at the end of a fit. Then the undetermined
// parameters are not undetermined by the model itself. A parameter moved to where no row depends on it, the
// fit began there, or the amplitude that multiplies it vanished. Such an end is not a usable minimum. False
// where second derivatives of the cost determine what J does not. Tests only ends of deficient rank or with
// residuals that are rounding, and returns false for others. Evaluates a sample of the rows a few times.
bool lost_parameters(DenseEvaluator& evaluator, const SolveRequest& request, const MinimizerResult& end);

// Recognises minima at kinks. The slope of a broken line a + b*max(x-c, 0) jumps where c passes the x of a
// row, and that of an interpolated table where a row passes a point of the table. The minimum often lies
// exactly on such a kink. The gradient is not zero on either side of it, so no test of first order holds.

// Certificate::governed_by of an end that is certified at a kink.
inline constexpr const char* kKink = "both sides of a kink";

// Asks whether a fit that made no further progress has ended at a kink, and certifies it if so. The distance
// to the optimum that the certificate then states includes the distance to the points beside x at which the
// gradient was evaluated; `gradient_norm` and `step` stay those of the gradient at x. Returns a point of
// lower cost if a way down along the kink was found instead: steps of the loop, which knows one gradient,
// lead across the kink and fail. This takes some passes over the rows.
std::optional<Vector> judge_at_kink(DenseEvaluator& evaluator, const SolveRequest& request,
                                    MinimizerResult& end);

// Certifies an end that may lie at a kink if it is within tau of the optimum by the linear model alone. The
// derivatives of a called function are differences, and where it has many kinks they have too few digits for
// the test of the last step's length.
void judge_by_distance(const SolveRequest& request, MinimizerResult& end);

// The end of a fit in numbers of twice the digits of f64, where f64 residuals are mostly rounding errors. The
// rows are evaluated that way at the end, the parameters are corrected, and the distance to the optimum is
// measured instead of bounded.

// Judges `end` if its verdict rests on rounding errors, or if these errors kept it from a success. Moves x to
// the best f64 numbers that are found beside it. Sets `end.by_twofold` and, with EndByTwofold::near, the
// certificate. Other ends do not change here. Does nothing where the rows exist in double alone, or where a
// loss, a lost rank or many rows make this end another one than is judged here.
void judge_by_twofold(const SolveRequest& request, MinimizerResult& end);

// Finds small whole numbers that make ‖z + B·numbers‖ small, for an n x n upper triangle B by columns: LLL
// reduction and Babai's nearest plane. A column of B is the effect of one last digit of a parameter.
std::vector<double> nearest_on_grid(std::vector<double> B, std::size_t n, std::vector<double> z);

// Finds ends of fits that are saddles. Symmetry may keep a fit on one: from b = 0 the gradient of a model of
// b² never leads away from b = 0, nor does that of a circle from the centre of a symmetric shape.

// Certificate::governed_by of a fit that ends at a saddle because it may make no step.
inline constexpr const char* kSaddle = "saddle";

// Returns true if a parameter that moved by `distance` since the start changed no residual by more than its
// rounding error. Symmetry may then have kept the parameter where it is.
bool is_unmoved(double distance, const Linearization& end, std::size_t parameter);

// Looks for a point of lower cost beside a certified end that is a saddle. It does so only where a parameter
// has never moved. Returns nothing if it finds no such point: the end may then be a minimum.
std::optional<Vector> lower_beside_saddle(DenseEvaluator& evaluator, const SolveRequest& request,
                                          const MinimizerResult& end);

}  // namespace nlsq::inline v0
