/* Fits: curves, residual functions, batches; evaluation, prediction and certification. Include <nlsq/nlsq.h>.
 */
#ifndef NLSQ_C_FIT_H
#define NLSQ_C_FIT_H

#include <nlsq/c/base.h>
#include <nlsq/c/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The common case in one call: fits the model text (a formula, a built-in name or a sum) to y. `x` points to
 * `predictors` columns, which the text calls x, or x1 ... xk. `starts` holds starting values, as in
 * "a=1,b=2"; it is NULL or "" if there are none. Built-in models guess the parameters without a starting
 * value. In formulas these start at 1, and linear ones are solved for. */
NLSQ_C_API int nlsq_curve_fit(const char* model, const nlsq_column* x, size_t predictors,
                              const nlsq_column* y, const char* starts, const nlsq_options* options,
                              nlsq_result** result);

/* Does the same with a model handle. `p0` holds one value for each parameter in the model's order. NaN marks
 * a parameter without a value, and NULL means that there are no values. Such parameters of a tape start
 * as those of a formula. A callback needs all values; for it, x is NULL and predictors 0. */
NLSQ_C_API int nlsq_model_fit(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                              const nlsq_column* y, const double* p0, const nlsq_options* options,
                              nlsq_result** result);

/* Judges parameters that were found elsewhere, without a step: the result contains them, with the certificate
 * and all statistics. `p` holds every parameter; it is NaN for tied ones. */
NLSQ_C_API int nlsq_model_certify(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                  const nlsq_column* y, const double* p, const nlsq_options* options,
                                  nlsq_result** result);

/* Computes the first guess of a built-in model, or 1 for every parameter. Fills `p0`, one entry for each
 * parameter. */
NLSQ_C_API int nlsq_model_guess(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                const nlsq_column* y, double* p0);

/* Computes values and, unless `jacobian` is NULL, derivatives (rows x parameters) at the parameters p, in
 * float64 unless the option precision selects another format. `rows` is the number of entries of `values`.
 * Values may be NaN. A callback without derivatives needs nlsq_model_differentiate. */
NLSQ_C_API int nlsq_model_evaluate(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                   size_t rows, const double* p, const nlsq_options* options, double* values,
                                   double* jacobian);

/* Computes values (`rows`) and derivatives (rows x parameters) of a callback at p by finite differences. They
 * are extrapolated where errors of the usual ones would matter. Steps are in proportion to p or, where it is
 * larger, to the array x_scale of the options. They respect the arrays lower and upper. *error becomes an
 * estimate of the relative error of standard errors that are computed from these derivatives, or 0 if the
 * derivatives have the usual errors. */
NLSQ_C_API int nlsq_model_differentiate(const nlsq_model* model, size_t rows, const double* p,
                                        const nlsq_options* options, double* values, double* jacobian,
                                        double* error);

/* Compares `values` (`rows` of them) with the model's values at p: a caller who made a tape of a function can
 * check by it that the tape has the function's values. *agrees becomes 1 if every difference is at most
 * relative * |value| + of_largest * (the largest finite |value|), and NaN and infinities are the same; else
 * 0. Where large terms of a tape cancel, the difference may also be as large as the effect of an error of
 * of_largest / 16 in each operation. If that effect exceeds 1000 * relative * (the largest |value|), the
 * values cannot be compared, and *agrees is 0. */
NLSQ_C_API int nlsq_model_agrees(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                 size_t rows, const double* p, const double* values, double relative,
                                 double of_largest, int* agrees);

/* Computes the fitted curve at any x, with its errors by the delta method (C++: predict). `fit` is a result
 * of this model and `options` are those of that fit; a "sigma" in them is that of the rows of x here. The
 * result has the arrays "fit", "std_error", "confidence_low", "confidence_high", "prediction_low",
 * "prediction_high". Models that are callbacks are refused. */
NLSQ_C_API int nlsq_model_predict(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                  const nlsq_result* fit, const nlsq_options* options,
                                  nlsq_result** prediction);

/* Makes many fits of one model, such as those of spectra. `x` points to `predictors` columns. `sigma` holds
 * standard deviations, or is NULL. Rows where `mask` is not 0 are left out; it may be NULL. `p0` holds the
 * starting values of each fit (p0_fits = fits), or of all fits (p0_fits = 1), row-major. Where a value is
 * NaN, or if p0 is NULL (p0_fits = 0), the start is 1, or the guess of a built-in model. If it is 1, fits
 * that end badly are made again from starts that are looked for in the data of some of them. Tied parameters
 * must be NaN. A fit of unusable data or too few rows is NLSQ_FAILED, and the others are still made; the text
 * "warnings" names the fits with too few rows, and has a line for each fit with success that has warnings, as
 * "fit 3: ...". The text "messages" has a line for each fit without success,
 * "fit 3: ...", with the reason and the remedy. Results have the same bits for any number of threads. Models
 * that are callbacks or have a recheck are refused. The result has the arrays "parameters", "std_errors"
 * (fits x parameters), "cost", "decrement_sigma", "verdict", "termination", "iterations", "success" (fits x
 * 1), and the numbers "fits", "certified". Cancelled fits are NLSQ_FAILED with NLSQ_ENDED_USER_STOP and have
 * NaN. */
NLSQ_C_API int nlsq_model_fit_batch(const nlsq_model* model, const nlsq_batch_column* x, size_t predictors,
                                    const nlsq_batch_column* y, const nlsq_batch_column* sigma,
                                    const nlsq_batch_column* mask, size_t fits, const double* p0,
                                    size_t p0_fits, const nlsq_options* options, nlsq_result** result);

/* Does the same for a model text, for the common case. */
NLSQ_C_API int nlsq_curve_fit_batch(const char* model, const nlsq_batch_column* x, size_t predictors,
                                    const nlsq_batch_column* y, size_t fits, const double* p0, size_t p0_fits,
                                    const nlsq_options* options, nlsq_result** result);

/* Minimizes ½ Σ ρ(r_i(x)²), SciPy's least_squares. `function` fills `residuals` entries, and the Jacobian,
 * residuals x n, if has_jacobian is not 0; see nlsq_function for the rules. x0 holds n starting values. These
 * options have an effect: bounds by the arrays lower and upper, loss, f_scale, x_scale, differences,
 * starts. */
NLSQ_C_API int nlsq_least_squares(nlsq_function function, void* user, int has_jacobian, size_t residuals,
                                  const double* x0, size_t n, const nlsq_options* options,
                                  nlsq_result** result);

#ifdef __cplusplus
}
#endif

#endif
