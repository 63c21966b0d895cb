/* nlsq for C and for every language that can call C: fits models to data by nonlinear least squares.
 *
 *   double x[] = {0, 1, 2, 3, 4}, y[] = {3.1, 1.9, 1.4, 1.2, 1.1};
 *   nlsq_column cx = nlsq_column_of(x, 5), cy = nlsq_column_of(y, 5);
 *   nlsq_result* fit = NULL;
 *   if (nlsq_curve_fit("a*exp(-b*x)+c", &cx, 1, &cy, "b=1", NULL, &fit) != NLSQ_OK) puts(nlsq_last_error());
 *   else puts(nlsq_result_report(fit));
 *   nlsq_result_free(fit);
 *
 * docs/c.md is the guide. These rules hold for all functions:
 *
 *  - Every function that can fail returns an nlsq_status as an int. NLSQ_OK is 0. The text of the last error
 *    of the calling thread is in nlsq_last_error(). No C++ exception leaves the library.
 *  - A fit that does not converge is no error: the status is NLSQ_OK, and nlsq_result_number(r, "success",
 *    &v) gives 0.
 *  - Handles are made by ..._new, or come back in the last argument, and the caller frees them by the
 *    function ..._free of the same type. A handle is a number in disguise, which is never used again: a
 *    freed handle, NULL and a handle of another type give NLSQ_ERROR_HANDLE. Freeing NULL does nothing.
 *  - On an error the last argument (the handle) is set to NULL, and output arrays are undefined.
 *  - Data arrays belong to the caller. They are read during the call only. The exceptions are named where
 *    they are: columns in options, and the parameter blocks of a problem.
 *  - Texts are UTF-8, end with 0, and use the decimal point whatever the locale.
 *  - Matrices are row-major.
 *  - All functions may be called by any number of threads at once, also with the same handles, but for one
 *    rule: a handle must not be changed (..._set..., ..._add..., tape operations) by one thread while another
 *    uses it. A handle that is freed during a call lives until the end of that call.
 */
#ifndef NLSQ_NLSQ_H
#define NLSQ_NLSQ_H

#include <nlsq/c/base.h>
#include <nlsq/c/fit.h>
#include <nlsq/c/intervals.h>
#include <nlsq/c/model.h>
#include <nlsq/c/options.h>
#include <nlsq/c/problem.h>
#include <nlsq/c/result.h>
#include <nlsq/c/sums.h>

#endif
