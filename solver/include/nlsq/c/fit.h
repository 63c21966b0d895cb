/* Fits: curves, residual functions, batches; evaluation, prediction and certification. Include <nlsq/nlsq.h>.
 */
#ifndef NLSQ_C_FIT_H
#define NLSQ_C_FIT_H

#include <nlsq/c/base.h>
#include <nlsq/c/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The common case in one call: fits the model text (a formula, a built-in name or a sum) to y. `x`:
 * `predictors` columns, which the text calls x, or x1 ... xk. `starts`: starting values, "a=1,b=2"; NULL or
 * "" for none. Parameters without one are guessed by built-in models; others start at 1, and linear ones are
 * solved for. */
NLSQ_C_API int nlsq_curve_fit(const char* model, const nlsq_column* x, size_t predictors,
                              const nlsq_column* y, const char* starts, const nlsq_options* options,
                              nlsq_result** result);

/* The same with a model handle. `p0`: one value for each parameter in the model's order; NaN stands for
 * none; NULL: none at all. A callback needs all of them, and x is NULL and predictors 0 for it. */
NLSQ_C_API int nlsq_model_fit(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                              const nlsq_column* y, const double* p0, const nlsq_options* options,
                              nlsq_result** result);

/* Judges parameters that were found elsewhere, without a step: the result has them, with the certificate and
 * all statistics. `p`: every parameter (tied ones: NaN). */
NLSQ_C_API int nlsq_model_certify(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                  const nlsq_column* y, const double* p, const nlsq_options* options,
                                  nlsq_result** result);

/* The first guess of a built-in model, or 1 for every parameter: fills `p0`, one entry for each parameter. */
NLSQ_C_API int nlsq_model_guess(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                const nlsq_column* y, double* p0);

/* Values and, unless `jacobian` is NULL, derivatives (rows x parameters) at the parameters p, in float64
 * unless the option precision asks for something else. `rows` is the number of entries of `values`. Values
 * may be NaN. */
NLSQ_C_API int nlsq_model_evaluate(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                   size_t rows, const double* p, const nlsq_options* options, double* values,
                                   double* jacobian);

/* Compares `values` (`rows` of them) with the model's values at p: whoever made a tape of a function checks
 * with it that the tape gives what the function gives. *agrees becomes 1 if every difference is at most
 * relative * |value| + of_largest * (the largest finite |value|), and NaN and infinities are the same; else
 * 0. Where large terms of a tape cancel, the difference may also be what an error of of_largest / 16 in each
 * operation makes of it, unless that exceeds 1000 * relative * (the largest |value|): then the values tell
 * nothing, and *agrees is 0. */
NLSQ_C_API int nlsq_model_agrees(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                 size_t rows, const double* p, const double* values, double relative,
                                 double of_largest, int* agrees);

/* The fitted curve at any x, with its errors by the delta method (C++: predict). `fit` is a result of this
 * model and `options` are those of that fit; a "sigma" in them is that of the rows of x here. The result has
 * the arrays "fit", "std_error", "confidence_low", "confidence_high", "prediction_low", "prediction_high".
 * Not for callbacks. */
NLSQ_C_API int nlsq_model_predict(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                  const nlsq_result* fit, const nlsq_options* options,
                                  nlsq_result** prediction);

/* Many fits of one model, such as spectra. `x`: `predictors` columns. `sigma`: standard deviations; NULL:
 * none. `mask`: rows where it is not 0 are left out; NULL: none. `p0`: starting values of each fit (p0_fits =
 * fits), or of all fits (p0_fits = 1); row-major. NaN, and NULL (p0_fits = 0): 1, or the guess of a built-in
 * model. Tied parameters have no start of their own (NaN). A fit of wrong data or too few rows is
 * NLSQ_FAILED, and the others go on; the text "warnings" names the latter. The text "messages" has a line for
 * each fit without success, "fit 3: ...": why, and what would help. Results have the same bits for any number
 * of threads. Not for callbacks, nor with a recheck. The result has the arrays "parameters", "std_errors"
 * (fits x parameters), "cost", "decrement_sigma", "verdict", "termination", "iterations", "success" (fits x
 * 1), and the numbers "fits", "certified". Cancelled fits are NLSQ_FAILED with NLSQ_ENDED_USER_STOP and have
 * NaN. */
NLSQ_C_API int nlsq_model_fit_batch(const nlsq_model* model, const nlsq_batch_column* x, size_t predictors,
                                    const nlsq_batch_column* y, const nlsq_batch_column* sigma,
                                    const nlsq_batch_column* mask, size_t fits, const double* p0,
                                    size_t p0_fits, const nlsq_options* options, nlsq_result** result);

/* The text form of the same, for the common case. */
NLSQ_C_API int nlsq_curve_fit_batch(const char* model, const nlsq_batch_column* x, size_t predictors,
                                    const nlsq_batch_column* y, size_t fits, const double* p0, size_t p0_fits,
                                    const nlsq_options* options, nlsq_result** result);

/* Minimizes ½ Σ ρ(r_i(x)²), SciPy's least_squares. `function` fills `residuals` entries, and the Jacobian,
 * residuals x n, if has_jacobian is not 0; see nlsq_function for the rules. x0: n starting values. Options:
 * bounds by the arrays lower and upper, loss, f_scale, x_scale, differences, starts. */
NLSQ_C_API int nlsq_least_squares(nlsq_function function, void* user, int has_jacobian, size_t residuals,
                                  const double* x0, size_t n, const nlsq_options* options,
                                  nlsq_result** result);

#ifdef __cplusplus
}
#endif

#endif
