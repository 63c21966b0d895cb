/* Confidence intervals of a curve fit by profile likelihood and by the bootstrap, and quantities derived from
 * its parameters. Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_INTERVALS_H
#define NLSQ_C_INTERVALS_H

#include <nlsq/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes confidence intervals of parameters by profile likelihood (C++: profile_intervals). Each end takes
 * about eight fits. `fit` is a result of this model, and x, y and options are those of that fit. `parameters`
 * has names with commas between them; NULL and "" stand for all fitted parameters that are not on a bound.
 * `confidence` is in (0, 1); NaN stands for the fit's. The result has one entry for each parameter in the
 * arrays "estimate", "ci_low", "ci_high" (in units of the parameter) and "fits" (the number made), and one
 * line in the texts "parameter_names", "ends_low" and "ends_high" ("found", "at_bound", "unbounded" or
 * "failed"). If such a fit finds a lower cost than `fit` has, the array "better" holds its parameters; it is
 * empty otherwise. The numbers are "confidence" and "threshold", the rise of 2 * cost at the ends. A fit that
 * is not certified, and a robust loss, give NLSQ_ERROR_OPTION. So does a fit without degrees of freedom, unless y
 * are counts or sigma is absolute. */
NLSQ_C_API int nlsq_model_profile_intervals(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                            const nlsq_column* y, const nlsq_result* fit,
                                            const char* parameters, double confidence,
                                            const nlsq_options* options, nlsq_result** intervals);

/* Computes quantities from the parameters of a curve fit, with errors by the delta method (C++: derive).
 * `quantities` has one in each line, such as "half_life = log(2)/b". It may use earlier ones. The result has
 * one entry for each in the arrays "value", "std_error", "ci_low" and "ci_high", and one line in the texts
 * "names" and "notes". Undefined numbers are NaN, and the note gives the reason. */
NLSQ_C_API int nlsq_result_derive(const nlsq_result* fit, const char* quantities, double confidence,
                                  nlsq_result** derived);

/* Computes standard errors and percentile intervals from fits to resampled data (C++: bootstrap, which
 * explains the methods). `fit` is a result of this model, and x, y and options are those of that fit.
 * `samples` is 2 or more; `seed` chooses the random numbers. `method` is "residual", "case" or "parametric";
 * NULL and "" stand for "case" with errors in x, "parametric" for counts and for as many parameters as rows,
 * and otherwise "residual". `quantities` is as in nlsq_result_derive, or NULL. `confidence` is in (0, 1); NaN
 * stands for the fit's. The result has an entry for each parameter, then for each quantity, in the arrays
 * "estimate", "bias", "std_error", "ci_low" and "ci_high", and a line in the text "names". The array "values"
 * has a row for each fit that succeeded, with these numbers in columns. The numbers are "samples", "failures"
 * (fits that are left out), "seed" and "confidence"; the texts are "method" and "warnings". A fit that is not
 * certified gives NLSQ_ERROR_OPTION. After nlsq_options_cancel the samples until then count, and "warnings"
 * says so. A callback is called by one thread. */
NLSQ_C_API int nlsq_model_bootstrap(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                    const nlsq_column* y, const nlsq_result* fit, int samples, size_t seed,
                                    const char* method, const char* quantities, double confidence,
                                    const nlsq_options* options, nlsq_result** result);

#ifdef __cplusplus
}
#endif

#endif
