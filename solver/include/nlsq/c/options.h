/* Options of fits by name. An option that the command line of nlsq-fit has, too, has its name from there.
 * Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_OPTIONS_H
#define NLSQ_C_OPTIONS_H

#include <nlsq/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes options with their defaults. Wherever a function takes options, NULL means the defaults. */
NLSQ_C_API int nlsq_options_new(nlsq_options** options);
NLSQ_C_API int nlsq_options_copy(const nlsq_options* options, nlsq_options** copy);
NLSQ_C_API int nlsq_options_free(nlsq_options* options);

/* Sets one option by its text. Names may be written with - or _ (max-iterations, max_iterations). An unknown
 * name, and a value that is not one of those below, give NLSQ_ERROR_OPTION; the text says what is allowed.
 *
 *   for every solve
 *     xtol, gtol, ftol         stop tests, in [0, 1); ftol = 0: off
 *     tau                      largest distance to the optimum in standard errors
 *     max_iterations           accepted and rejected steps, from 0 on
 *     time_limit               in s; 0: none
 *     strategy                 levenberg_marquardt, gauss_newton, dogleg
 *     geodesic                 auto, always, never
 *     nonmonotonic             number of steps that may raise the cost, from 0 on
 *     initial_lambda           initial damping, from 0 on
 *     precision                auto, f64, f32, bf16, strict, or a policy; rule: adds a rule; rule = "": none
 *     strict                   yes, no: recheck every row by the user's own code
 *     sampling                 auto, always, never
 *     threads                  limit, from 0 on; 0: all cores.  The result has the same bits for every number
 *   for curves and for nlsq_least_squares
 *     loss                     linear, soft_l1, huber, cauchy, arctan, tukey; curves also: poisson
 *     f_scale                  scale of the loss, > 0
 *     starts, seed             number of starts, and the seed of their choice
 *   for curves
 *     absolute_sigma           yes, no: sigma is in units of y
 *     bounds                   a=0:10,b=:5.  Adds to the bounds given before; "": none
 *     fix                      c=0 or c, separated by commas.  Adds; "": none
 *     tie                      d=2*a.  Adds one; "": none
 *     variable_projection      auto, on, off
 *     solve_linear_start       yes, no: solve for starting values of linear parameters
 *     confidence               of intervals and bands, in (0, 1); 0.95
 *     residuals                yes, no: the result has "residuals" and "fitted".  Default yes.  no saves one
 *                              evaluation of all rows
 *     recheck_tolerance        largest relative difference between tape and recheck callback; 1e-9
 *     in_lanes                 yes, no: fits of a batch run side by side, one in each lane of a vector
 *   for nlsq_least_squares and callbacks
 *     differences              central, ridders
 *   for problems
 *     step_solver              auto, factored, iterative
 *     preconditioner           jacobi, schur_jacobi
 *     eta, max_linear_iterations     of conjugate gradients
 */
NLSQ_C_API int nlsq_options_set(nlsq_options* options, const char* name, const char* value);
/* Does the same for the options that are numbers, without a text. */
NLSQ_C_API int nlsq_options_set_number(nlsq_options* options, const char* name, double value);
/* Sets options that are arrays of `count` doubles. They are copied. count = 0 removes them.
 *   lower, upper             bounds, one for each parameter in the model's order, or one for all; ±INFINITY:
 *                            none. One of them alone leaves the other side open.  Not together with the
 *                            option bounds
 *   x_scale                  sizes of the parameters, > 0, one for each or one for all, for
 *                            nlsq_least_squares and nlsq_model_differentiate. A step of finite differences
 *                            is in proportion to them where a parameter is smaller */
NLSQ_C_API int nlsq_options_set_array(nlsq_options* options, const char* name, const double* values,
                                      size_t count);
/* Sets standard deviations of y (name "sigma"), or of predictor k ("sigma_x0", "sigma_x1" ...). The memory is
 * the caller's and must live as long as fits use these options. NULL removes it. */
NLSQ_C_API int nlsq_options_set_column(nlsq_options* options, const char* name, const nlsq_column* column);
/* Sets the covariance matrix of y ("sigma_matrix"), rows x rows; it is copied. NULL removes it. */
NLSQ_C_API int nlsq_options_set_matrix(nlsq_options* options, const char* name, const double* values,
                                       size_t rows);

/* A function that is called after each line of the trace. `step` is the number of the iteration and `total`
 * is 0; it also gets the cost, and the distance to the optimum in standard errors (NaN if it is not known). A
 * batch calls it after each group of fits, with `step` of `total` fits done, and NaN twice. If it returns a
 * number that is not 0, the fit stops: the result has the best parameters so far, and its termination is
 * NLSQ_ENDED_USER_STOP. It is called by the thread that called the fit. */
typedef int (*nlsq_progress)(size_t step, size_t total, double cost, double distance, void* user);
/* Sets the progress function. NULL removes it. */
NLSQ_C_API int nlsq_options_set_progress(nlsq_options* options, nlsq_progress progress, void* user);

/* Stops all fits that run with these options, at their next iteration, as a progress callback does. Fits
 * that begin later stop at once, until nlsq_options_reset_cancel. Any thread may call it at any time. */
NLSQ_C_API int nlsq_options_cancel(const nlsq_options* options);
NLSQ_C_API int nlsq_options_reset_cancel(const nlsq_options* options);

#ifdef __cplusplus
}
#endif

#endif
