// Checks of the end of a fit, which are made after a solve. They decide whether the fit lost parameters,
// whether it ended at a kink or at a saddle, and whether rounding errors hide the optimum. They are
// implemented in lost_parameters.cpp, kink.cpp, saddle.cpp, twofold_end.cpp and nearest_on_grid.cpp.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve.hpp"
#include "minimizer/minimizer_request.hpp"

#include <optional>

namespace nlsq::inline v0 {

// Returns true if the data determine more parameters at other points than at the end of a fit. Then it is not
// the model itself that leaves these parameters undetermined: a parameter moved to where no row depends on
// it, the fit began there, or the amplitude that multiplies it vanished. Such an end is not a usable minimum.
// Returns false where second derivatives of the cost determine the parameters that J does not determine. Also
// returns false unless the rank of the end is deficient or its residuals are rounding errors. Evaluates a
// sample of the rows a few times.
bool lost_parameters(DenseEvaluator& evaluator, const SolveRequest& request, const MinimizerResult& end);

// Recognises minima at kinks. The slope of a broken line a + b*max(x-c, 0) jumps where c passes the x of a
// row, and that of an interpolated table where a row passes a point of the table. The minimum often lies
// exactly on such a kink. The gradient is not zero on either side of the kink, so no first-order test holds.

// Certificate::governed_by of an end that is certified at a kink.
inline constexpr const char* kKink = "both sides of a kink";

// Decides whether a fit that made no further progress has ended at a kink, and certifies it if so. The
// distance to the optimum in the certificate then includes the distance to the points beside x at which the
// gradient was evaluated; `gradient_norm` and `step` remain those of the gradient at x. If a way down along
// the kink was found instead, returns a point of lower cost. The loop itself does not find such a point: it
// knows only the gradient on one side, and its steps lead across the kink and fail. This takes some passes
// over the rows.
std::optional<Vector> judge_at_kink(DenseEvaluator& evaluator, const SolveRequest& request,
                                    MinimizerResult& end);

// Certifies an end that may lie at a kink if it is within tau of the optimum by the linear model alone. The
// derivatives of a function that is only called are differences. Where the function has many kinks, these
// have too few digits for the test of the last step's length.
void judge_by_distance(const SolveRequest& request, MinimizerResult& end);

// Judges the end of a fit in numbers of twice the digits of f64, where f64 residuals are mostly rounding
// errors. The rows are evaluated with these digits at the end, the parameters are corrected, and the distance
// to the optimum is measured, not just bounded.

// Judges `end` if its verdict rests on rounding errors, or if these errors kept it from a success. Moves x to
// the best f64 numbers that are found beside it. Sets `end.by_twofold` and, with EndByTwofold::near, the
// certificate. Does not change other ends. Does nothing where the rows can be evaluated in f64 only, or where
// the fit has a loss, J has lost rank or there are many rows.
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
