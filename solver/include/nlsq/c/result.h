/* Results by name: the names of the JSON of nlsq-fit --json. Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_RESULT_H
#define NLSQ_C_RESULT_H

#include <nlsq/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

NLSQ_C_API int nlsq_result_free(nlsq_result* result);

/* Returns a number. Truth values are 0 and 1. An unknown name, or one that this kind of result does not have,
 * gives NLSQ_ERROR_ARGUMENT and lists the names that it has. Undefined numbers are NaN.
 *   all            success, verdict (nlsq_verdict), termination (nlsq_termination), cost, initial_cost,
 *                  iterations, accepted, rejected, threads, peak_bytes, gradient_norm, decrement_sigma,
 *                  condition, rank, escalations, recheck_passed, rechecked_rows, seconds, wrong_column (of a
 *                  Jacobian that differences contradict, from 0; else -1)
 *   curves         also rows, dof, rss, chi2_reduced, r_squared, aic, aicc, bic, beyond, quantile (of Student's
 *                  t, by which standard errors are multiplied for intervals)
 *   batches        only fits, certified, success (all are), threads, in_lanes
 *   predictions    only confidence, quantile */
NLSQ_C_API int nlsq_result_number(const nlsq_result* result, const char* name, double* value);

/* Returns a text, valid as long as the result: message, verdict, status, governed_by, evaluator,
 * evaluator_note, kernel, policy, formula, warnings (one a line), messages (of a batch:
 * nlsq_model_fit_batch), parameter_names (one a line), ties (one a line, "" for free ones). */
NLSQ_C_API int nlsq_result_text(const nlsq_result* result, const char* name, const char** text);

/* Returns an array of rows x columns doubles, valid as long as the result; `columns` is 1 for vectors.
 *   curves         parameters, std_errors, guess, ci_low, ci_high, fixed, at_bound (n x 1), covariance,
 *                  correlation (n x n), residuals (model - y, in units of y), fitted (rows x 1), minima (of
 *                  several starts: cost, then the parameters, one minimum a row)
 *   least squares  parameters, std_errors, covariance, residuals (m x 1, without loss), active_mask (n x 1),
 *                  jacobian (m x n by the callback; 0 x 0 without has_jacobian), minima
 *   problems       none; the parameters are in the caller's blocks
 *   all of these   trace, a row for each of its lines: iteration, cost, gradient_norm, decrement_sigma,
 *                  lambda, rho, accepted
 *   batches and predictions: see nlsq_model_fit_batch and nlsq_model_predict */
NLSQ_C_API int nlsq_result_array(const nlsq_result* result, const char* name, const double** data,
                                 size_t* rows, size_t* columns);

/* Copies several numbers and arrays into `values`, one after the other. One call is faster than several for
 * interpreters, in which each call takes some time. `names` has one space between two names, as in "success
 * parameters covariance". `count` must be their number of doubles. */
NLSQ_C_API int nlsq_result_values(const nlsq_result* result, const char* names, double* values, size_t count);

/* Returns the whole result as the JSON object that nlsq-fit --json writes, without the members about files.
 * Undefined numbers are null. The text is valid as long as the result. It is NULL for a wrong handle or if
 * memory runs out (see nlsq_last_error). */
NLSQ_C_API const char* nlsq_result_json(const nlsq_result* result);
/* Returns a text for people: what ended the fit, the parameters with errors, the certificate. It is valid as
 * long as the JSON. */
NLSQ_C_API const char* nlsq_result_report(const nlsq_result* result);

#ifdef __cplusplus
}
#endif

#endif
