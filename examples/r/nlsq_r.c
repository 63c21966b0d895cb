/* nlsq for R. R's .C passes every argument as a pointer into R's memory, so nothing of R is needed here.
 *
 *   PKG_CPPFLAGS="$(pkg-config --cflags nlsq)" PKG_LIBS="$(pkg-config --libs nlsq)" R CMD SHLIB nlsq_r.c
 *   Rscript decay.R
 */
#include <nlsq/nlsq.h>

#include <stdio.h>
#include <string.h>

enum { kColumns = 16, kText = 4000 }; /* the texts that R passes for answers have kText - 1 characters */

/* Fits a formula or a built-in model. `x` has a column of `rows` numbers for each predictor. Fills the first
 * *count entries of `parameters` and `errors`, and `names` with a line for each. *count is -1 if there is no
 * fit, and `message` then says why. */
void nlsq_r_fit(char** model, double* x, int* predictors, double* y, int* rows, char** starts, int* most,
                double* parameters, double* errors, int* count, int* certified, char** names,
                char** message) {
  nlsq_column columns[kColumns];
  const nlsq_column response = nlsq_column_of(y, (size_t)*rows);
  nlsq_result* fit = NULL;
  const double *p, *e;
  const char *text, *verdict;
  double success = 0;
  size_t n = 0, one;
  int k, status;
  *count = -1;
  if (*predictors > kColumns) {
    snprintf(message[0], kText, "x has %d columns; at most %d are taken", *predictors, kColumns);
    return;
  }
  for (k = 0; k < *predictors; ++k) columns[k] = nlsq_column_of(x + (size_t)k * (size_t)*rows, (size_t)*rows);
  status = nlsq_curve_fit(model[0], columns, (size_t)*predictors, &response, starts[0], NULL, &fit);
  if (status == NLSQ_OK) status = nlsq_result_array(fit, "parameters", &p, &n, &one);
  if (status == NLSQ_OK) status = nlsq_result_array(fit, "std_errors", &e, &n, &one);
  if (status == NLSQ_OK) status = nlsq_result_text(fit, "parameter_names", &text);
  if (status == NLSQ_OK) status = nlsq_result_text(fit, "message", &verdict);
  if (status == NLSQ_OK) status = nlsq_result_number(fit, "success", &success);
  if (status != NLSQ_OK) {
    snprintf(message[0], kText, "%s", nlsq_last_error());
  } else if (n > (size_t)*most || strlen(text) >= kText) {
    snprintf(message[0], kText, "the model has %d parameters; at most %d are taken", (int)n, *most);
  } else {
    memcpy(parameters, p, n * sizeof *p);
    memcpy(errors, e, n * sizeof *e);
    snprintf(names[0], kText, "%s", text);
    snprintf(message[0], kText, "%s", verdict);
    *certified = success == 1;
    *count = (int)n;
  }
  nlsq_result_free(fit);
}
