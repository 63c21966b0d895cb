/* nlsq for Octave: a function by the MEX interface.
 *
 *   mkoctfile --mex nlsq_fit.c $(pkg-config --cflags --libs nlsq)
 *   octave-cli decay.m
 *
 * [parameters, errors, certified, names] = nlsq_fit (model, x, y, starts) fits a formula or a built-in model.
 * `x` has a column for each predictor, which the formula calls x, or x1, x2 ... `starts` has starting values,
 * "a=1,b=2", and may be left out.
 */
#include <mex.h>
#include <nlsq/nlsq.h>

#include <string.h>

enum { kColumns = 16 };

static mxArray* column_of(const double* values, size_t count) {
  mxArray* out = mxCreateDoubleMatrix(count, 1, mxREAL);
  memcpy(mxGetPr(out), values, count * sizeof *values);
  return out;
}

/* The lines of `text`, `count` of them. */
static mxArray* lines_of(const char* text, size_t count) {
  mxArray* out = mxCreateCellMatrix(count, 1);
  size_t k;
  for (k = 0; k < count; ++k) {
    const size_t length = strcspn(text, "\n");
    char* line = mxCalloc(length + 1, 1);
    memcpy(line, text, length);
    mxSetCell(out, k, mxCreateString(line));
    mxFree(line);
    text += length + (text[length] == '\n');
  }
  return out;
}

void mexFunction(int outputs, mxArray* out[], int inputs, const mxArray* in[]) {
  nlsq_column columns[kColumns], response;
  nlsq_result* fit = NULL;
  const double *parameters, *errors;
  const char* names;
  double success = 0;
  size_t n = 0, one, rows, predictors, k;
  char *model, *starts;
  int status;
  if (inputs < 3 || inputs > 4 || !mxIsChar(in[0]) || (inputs == 4 && !mxIsChar(in[3])))
    mexErrMsgTxt("usage: [parameters, errors, certified, names] = nlsq_fit (model, x, y, starts)");
  for (k = 1; k < 3; ++k) {
    if (!mxIsDouble(in[k]) || mxIsComplex(in[k]))
      mexErrMsgTxt("nlsq_fit: x and y must be real, of class double");
  }
  rows = mxGetNumberOfElements(in[2]);
  predictors = rows == 0 ? 0 : mxGetNumberOfElements(in[1]) / rows;
  if (predictors * rows != mxGetNumberOfElements(in[1]))
    mexErrMsgTxt("nlsq_fit: x must have a row for each value of y");
  if (predictors > kColumns) mexErrMsgTxt("nlsq_fit: x has more than 16 columns");
  for (k = 0; k < predictors; ++k) columns[k] = nlsq_column_of(mxGetPr(in[1]) + k * rows, rows);
  response = nlsq_column_of(mxGetPr(in[2]), rows);
  model = mxArrayToString(in[0]);
  starts = inputs == 4 ? mxArrayToString(in[3]) : NULL;
  status = nlsq_curve_fit(model, columns, predictors, &response, starts, NULL, &fit);
  mxFree(model);
  mxFree(starts);
  if (status == NLSQ_OK) status = nlsq_result_array(fit, "parameters", &parameters, &n, &one);
  if (status == NLSQ_OK) status = nlsq_result_array(fit, "std_errors", &errors, &n, &one);
  if (status == NLSQ_OK) status = nlsq_result_text(fit, "parameter_names", &names);
  if (status == NLSQ_OK) status = nlsq_result_number(fit, "success", &success);
  if (status != NLSQ_OK) {
    nlsq_result_free(fit);
    mexErrMsgTxt(nlsq_last_error()); /* does not come back */
  }
  out[0] = column_of(parameters, n);
  if (outputs > 1) out[1] = column_of(errors, n);
  if (outputs > 2) out[2] = mxCreateLogicalScalar(success == 1);
  if (outputs > 3) out[3] = lines_of(names, n);
  nlsq_result_free(fit);
}
