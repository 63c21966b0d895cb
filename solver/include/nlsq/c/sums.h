/* Fits whose rows lie in several places: in blocks of an array, in files that are read one after the other,
 * on several machines. Include <nlsq/nlsq.h>.
 *
 * At one point (values of all parameters), nlsq_model_sums reduces each block of rows to a few numbers. The
 * numbers of all blocks are added, entry by entry. nlsq_solve_sums takes the sums at all points so far. It
 * gives the next point or, at the end, the result. So the loop is the caller's:
 *
 *   points[0] = start;
 *   for (k = 0; result == NULL; ++k) {
 *     sums[k] = the sum of nlsq_model_sums(..., points[k], ...) over all blocks;
 *     nlsq_solve_sums(points, sums, k + 1, n, options, points[k + 1], &result);
 *   }
 */
#ifndef NLSQ_C_SUMS_H
#define NLSQ_C_SUMS_H

#include <nlsq/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of sums of a model with n parameters. Their order is: rows; cost ½ Σr²; eleven numbers
 * about rounding; the gradient Jᵀr (n); 2 n more about rounding; the upper triangle of JᵀJ by rows. */
NLSQ_C_API size_t nlsq_sums_size(size_t parameters);

/* Fills `sums` with nlsq_sums_size(n) sums over these rows at the n parameters p, in float64. If a residual
 * or derivative is not finite, they are NaN, except for the number of rows. The options threads and the
 * column sigma have an effect. Bounds and options that would change the problem are an error (fix, tie, loss,
 * precision, sigma_x, sigma_matrix). A callback computes the rows of y, without predictors; if it gives no
 * derivatives, they are finite differences. */
NLSQ_C_API int nlsq_model_sums(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                               const nlsq_column* y, const double* p, const nlsq_options* options,
                               double* sums);

/* Makes the next step. `points` holds the start and every point requested since, passes x n. `sums` holds the
 * sums over all rows there, passes x nlsq_sums_size(n). If more sums are needed, *result is NULL and `next`
 * (n) is the next point. Else *result is the result, with the names of nlsq_least_squares. The steps and
 * tests are those of a fit in float64, and the verdict is as reliable, with four exceptions. Whether the
 * blocks were the same at every point is checked only by their number of rows. A problem whose normal
 * equations have too few digits ends without a certificate, where a fit would use the rows again. If rounding
 * errors of rows with heavy weight or of terms that cancel may hide the minimum, there is no certificate,
 * even if a fit would have one by numbers of twice the digits. And no linear parameters are solved for at the
 * start. These options have an effect: the arrays lower and upper, absolute_sigma, tau, xtol, gtol, ftol,
 * max_iterations, strategy, initial_lambda, nonmonotonic; the same in every call. */
NLSQ_C_API int nlsq_solve_sums(const double* points, const double* sums, size_t passes, size_t n,
                               const nlsq_options* options, double* next, nlsq_result** result);

#ifdef __cplusplus
}
#endif

#endif
