/* Calls every function of the C interface once, from C. What they compute is tested in tests/solver/c. */
#include <nlsq/nlsq.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { kRows = 60 };
static double x[kRows], y[kRows];
static int failures = 0;

#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      fprintf(stderr, "%d: %s\n  last error: %s\n", __LINE__, #condition, nlsq_last_error()); \
      ++failures;                                                                             \
    }                                                                                         \
  } while (0)
#define OK(call) CHECK((call) == NLSQ_OK)

static int model(const double* p, double* values, double* jacobian, void* user) {
  int i;
  (void)user;
  for (i = 0; i < kRows; ++i) {
    const double e = exp(-p[1] * x[i]);
    values[i] = p[0] * e;
    if (jacobian != NULL) {
      jacobian[2 * i] = e;
      jacobian[2 * i + 1] = -p[0] * x[i] * e;
    }
  }
  return 0;
}

static int residuals(const double* p, double* r, double* jacobian, void* user) {
  int i;
  model(p, r, jacobian, user);
  for (i = 0; i < kRows; ++i) r[i] -= y[i];
  return 0;
}

static int block(const double* const* blocks, double* r, double* const* jacobians, void* user) {
  (void)user;
  r[0] = blocks[0][0] - 1;
  if (jacobians != NULL && jacobians[0] != NULL) {
    jacobians[0][0] = 1;
    jacobians[0][1] = 0;
  }
  return 0;
}

static int progress(size_t step, size_t total, double cost, double distance, void* user) {
  (void)step, (void)total, (void)cost, (void)distance;
  ++*(int*)user;
  return 0;
}

/* p0*exp(-p1*x) - column 1 if `residual`, with the output marked. */
static nlsq_tape* tape_of(int residual) {
  nlsq_tape* tape = NULL;
  int p0, p1, column, other, node, pair[2];
  OK(nlsq_tape_new(&tape));
  OK(nlsq_tape_parameter(tape, 0, &p0));
  OK(nlsq_tape_parameter(tape, 1, &p1));
  OK(nlsq_tape_column(tape, 0, &column));
  OK(nlsq_tape_constant(tape, -1, &other));
  pair[0] = p1, pair[1] = column;
  OK(nlsq_tape_operation(tape, "*", pair, 2, &node));
  pair[0] = node, pair[1] = other;
  OK(nlsq_tape_operation(tape, "*", pair, 2, &node));
  OK(nlsq_tape_operation(tape, "exp", &node, 1, &node));
  pair[0] = p0, pair[1] = node;
  OK(nlsq_tape_operation(tape, "*", pair, 2, &node));
  if (residual) {
    OK(nlsq_tape_column(tape, 1, &other));
    pair[0] = node, pair[1] = other;
    OK(nlsq_tape_operation(tape, "-", pair, 2, &node));
  }
  OK(nlsq_tape_output(tape, node));
  return tape;
}

static void use_result(nlsq_result* result) {
  const double* data = NULL;
  const char* text = NULL;
  size_t rows = 0, columns = 0;
  double value = 0;
  OK(nlsq_result_number(result, "success", &value));
  CHECK(value == 1);
  OK(nlsq_result_text(result, "verdict", &text));
  CHECK(strcmp(text, nlsq_verdict_name(NLSQ_CONVERGED)) == 0);
  OK(nlsq_result_array(result, "trace", &data, &rows, &columns));
  CHECK(columns == 7 && rows > 0 && data != NULL);
  OK(nlsq_result_values(result, "success", &value, 1));
  CHECK(value == 1);
  CHECK(nlsq_result_json(result)[0] == '{');
  CHECK(strlen(nlsq_result_report(result)) > 50);
  OK(nlsq_result_free(result));
}

static void use_models(const nlsq_options* options) {
  const nlsq_column cx = nlsq_column_of(x, kRows), cy = nlsq_column_of(y, kRows);
  const nlsq_batch_column bx = {cx, 0}, by = {cy, 0};
  const char* const names[] = {"a", "b"};
  double p0[2] = {1, 1}, values[kRows], jacobian[2 * kRows], error = 0;
  size_t parameters = 0, predictors = 0;
  nlsq_tape* tape = tape_of(0);
  nlsq_model* models[3] = {NULL, NULL, NULL};
  nlsq_result *result = NULL, *other = NULL;
  int k;
  OK(nlsq_tape_evaluate(tape, x, 1, p0, 2, values, 1));
  OK(nlsq_model_text("a*exp(-b*x)", NULL, 1, &models[0]));
  OK(nlsq_model_tape(tape, 1, 2, names, &models[1]));
  OK(nlsq_model_callback(model, NULL, 1, 2, names, &models[2]));
  OK(nlsq_model_set_recheck(models[1], model, NULL));
  for (k = 0; k < 3; ++k) {
    const size_t columns = k == 2 ? 0 : 1;
    OK(nlsq_model_size(models[k], &parameters, &predictors));
    CHECK(parameters == 2 && predictors == columns);
    CHECK(strcmp(nlsq_model_parameter(models[k], 1), "b") == 0);
    CHECK(nlsq_model_formula(models[k]) != NULL);
    OK(nlsq_model_fit(models[k], &cx, columns, &cy, p0, options, &result));
    use_result(result);
    OK(nlsq_model_evaluate(models[k], &cx, columns, kRows, p0, NULL, values, jacobian));
  }
  OK(nlsq_model_differentiate(models[2], kRows, p0, NULL, values, jacobian, &error));
  OK(nlsq_model_guess(models[0], &cx, 1, &cy, p0));
  OK(nlsq_model_fit(models[0], &cx, 1, &cy, NULL, options, &result));
  OK(nlsq_model_predict(models[0], &cx, 1, result, NULL, &other));
  OK(nlsq_result_free(other));
  OK(nlsq_model_profile_intervals(models[0], &cx, 1, &cy, result, "b", 0.9, NULL, &other));
  OK(nlsq_result_free(other));
  OK(nlsq_model_bootstrap(models[0], &cx, 1, &cy, result, 5, 1, NULL, NULL, 0.9, NULL, &other));
  OK(nlsq_result_free(other));
  OK(nlsq_result_derive(result, "half_life = log(2)/b", 0.9, &other));
  OK(nlsq_result_free(other));
  p0[0] = 2, p0[1] = 0.5;
  OK(nlsq_model_certify(models[0], &cx, 1, &cy, p0, NULL, &other));
  OK(nlsq_result_free(other));
  OK(nlsq_result_free(result));
  OK(nlsq_model_fit_batch(models[0], &bx, 1, &by, NULL, NULL, 3, p0, 1, NULL, &result));
  OK(nlsq_result_free(result));
  OK(nlsq_curve_fit_batch("a*exp(-b*x)", &bx, 1, &by, 3, NULL, 0, NULL, &result));
  OK(nlsq_result_free(result));
  for (k = 0; k < 3; ++k) OK(nlsq_model_free(models[k]));
  OK(nlsq_tape_free(tape));
}

/* A fit of two blocks of rows from their sums. */
static void use_sums(void) {
  const nlsq_column cx[2] = {nlsq_column_of(x, 10), nlsq_column_of(x + 10, kRows - 10)};
  const nlsq_column cy[2] = {nlsq_column_of(y, 10), nlsq_column_of(y + 10, kRows - 10)};
  enum { kPasses = 30, kSums = 22 };
  double points[kPasses + 1][2] = {{1, 1}}, sums[kPasses][kSums], part[kSums];
  nlsq_model* model = NULL;
  nlsq_result* result = NULL;
  int k, i;
  CHECK(nlsq_sums_size(2) == kSums);
  OK(nlsq_model_text("a*exp(-b*x)", NULL, 1, &model));
  for (k = 0; k < kPasses && result == NULL; ++k) {
    OK(nlsq_model_sums(model, &cx[0], 1, &cy[0], points[k], NULL, sums[k]));
    OK(nlsq_model_sums(model, &cx[1], 1, &cy[1], points[k], NULL, part));
    for (i = 0; i < kSums; ++i) sums[k][i] += part[i];
    OK(nlsq_solve_sums(points[0], sums[0], (size_t)k + 1, 2, NULL, points[k + 1], &result));
  }
  use_result(result);
  OK(nlsq_model_free(model));
}

static void use_problem(void) {
  nlsq_problem* problem = NULL;
  nlsq_result* result = NULL;
  nlsq_tape* tape = tape_of(1);
  double p[2] = {1, 1}, cost = 0, covariance[4];
  const double lower[2] = {0, 0};
  double *blocks[kRows], *one = p;
  const nlsq_column columns[2] = {nlsq_column_of(x, kRows), nlsq_column_of(y, kRows)};
  size_t sizes[4];
  int i;
  for (i = 0; i < kRows; ++i) blocks[i] = p;
  OK(nlsq_problem_new(&problem));
  OK(nlsq_problem_add_parameters(problem, p, 2));
  OK(nlsq_problem_set_manifold(problem, p, "euclidean 2"));
  OK(nlsq_problem_set_manifold(problem, p, NULL));
  OK(nlsq_problem_set_constant(problem, p, 1));
  OK(nlsq_problem_set_constant(problem, p, 0));
  OK(nlsq_problem_set_bounds(problem, p, lower, NULL));
  OK(nlsq_problem_set_elimination_group(problem, p, 1));
  OK(nlsq_problem_add_tape(problem, tape, columns, 2, kRows, "huber", 10, blocks, 1));
  OK(nlsq_problem_add_callback(problem, block, NULL, 1, 1, NULL, 1, &one, 1));
  OK(nlsq_problem_size(problem, &sizes[0], &sizes[1], &sizes[2], &sizes[3]));
  CHECK(sizes[1] == kRows + 1);
  OK(nlsq_problem_evaluate(problem, &cost, NULL, 0));
  OK(nlsq_problem_solve(problem, NULL, &result));
  use_result(result);
  OK(nlsq_problem_covariance(problem, &one, 1, covariance, 4));
  OK(nlsq_problem_free(problem));
  OK(nlsq_tape_free(tape));
}

int main(void) {
  const nlsq_column cx = nlsq_column_of(x, kRows), cy = nlsq_column_of(y, kRows);
  nlsq_options *options = NULL, *copy = NULL;
  nlsq_result* result = NULL;
  const double upper[2] = {100, 100}, start[2] = {1, 1};
  double value = 0;
  int i, steps = 0;
  for (i = 0; i < kRows; ++i) {
    x[i] = 0.1 * i;
    y[i] = 2 * exp(-0.5 * x[i]) + 0.01 * sin(31.0 * i);
  }
  CHECK(strlen(nlsq_version()) >= 5 && strlen(nlsq_build_information()) > 5);
  CHECK(strcmp(nlsq_status_name(NLSQ_OK), "NLSQ_OK") == 0);
  CHECK(strcmp(nlsq_termination_name(NLSQ_ENDED_CONVERGED), "converged") == 0);
  CHECK(strstr(nlsq_builtin_models_json(), "\"gaussian\"") != NULL);
  OK(nlsq_options_new(&options));
  OK(nlsq_options_set(options, "xtol", "1e-9"));
  OK(nlsq_options_set_number(options, "threads", 1));
  OK(nlsq_options_set_array(options, "upper", upper, 2));
  OK(nlsq_options_set_column(options, "sigma", NULL));
  OK(nlsq_options_set_matrix(options, "sigma_matrix", NULL, 0));
  OK(nlsq_options_set_progress(options, progress, &steps));
  OK(nlsq_options_copy(options, &copy));
  OK(nlsq_options_cancel(copy));
  OK(nlsq_options_reset_cancel(copy));
  OK(nlsq_curve_fit("a*exp(-b*x)", &cx, 1, &cy, "b=1", copy, &result));
  CHECK(steps > 0);
  use_result(result);
  use_models(options);
  OK(nlsq_least_squares(residuals, NULL, 1, kRows, start, 2, options, &result));
  use_result(result);
  use_sums();
  use_problem();
  CHECK(nlsq_options_set(options, "xtoll", "1") == NLSQ_ERROR_OPTION);
  OK(nlsq_last_error_number("status", &value));
  CHECK(value == NLSQ_ERROR_OPTION);
  OK(nlsq_options_free(copy));
  OK(nlsq_options_free(options));
  CHECK(nlsq_live_handles() == 0);
  return failures == 0 ? 0 : 1;
}
