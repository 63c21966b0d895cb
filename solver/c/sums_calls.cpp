// Implements the functions of sums.h: the sums of a block of rows, and the fit from sums.
#include "c/caller_fit.hpp"
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "expression/names.hpp"
#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "fit/row_sums.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/sums.h>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0::c {

namespace {

// Returns the options of a block. Options that would change the problem, or belong to solve_sums, are
// rejected.
FitOptions block_options(const CallerModel& model, const Options& options, CallerColumns& columns) {
  FitOptions fit = options.curve_options(model.parameters, model.predictors.size(), columns);
  const bool others = !fit.fixed.empty() || !fit.ties.empty() || !fit.sigma_matrix.empty() ||
                      !fit.sigma_x.empty() || !fit.loss.is_linear() || !fit.bounds.empty() ||
                      options.precision || !options.rules.empty();
  if (others)
    throw ValidationError(
        "sums: leave fix, tie, sigma_matrix, sigma_x, loss and precision out of the options of a block, and "
        "give bounds to nlsq_solve_sums");
  check_options(fit);
  static_cast<SolverOptions&>(fit) = settled(fit);
  return fit;
}

void sums_call(const CallerModel& model, const nlsq_column* given_x, std::size_t predictors,
               const nlsq_column* given_y, const double* p, const Options& options, double* sums) {
  const FpEnvironment environment;
  const std::size_t n = model.parameters.size();
  const std::vector<double> point(required(p, "p"), p + n);
  for (std::size_t j = 0; j < n; ++j) {
    if (!std::isfinite(point[j]))
      throw ValidationError(fmt::format("p: {} = {} is not finite", model.parameters[j], point[j]));
  }
  CallerColumns kept;
  const Columns x(kept.views(given_x, predictors, "x"));
  const Column y = kept.view(*required(given_y, "y"), "y");
  const FitOptions fit = block_options(model, options, kept);
  if (model.is_callback())
    return add_up_callback(model, y, fit, point, {required(sums, "sums"), sums_size(n)});
  const PreparedModel::Impl& prepared = model.prepared->impl();
  if (!prepared.has_programs()) throw ModelError("sums: the model could not be recorded: " + prepared.note);
  const SurveyedRows data = surveyed_rows(x, y, fit, model.predictors);
  data.survey->run();
  std::vector<Column> columns = x.list();
  columns.push_back(y);
  const std::vector<int> free = all_parameters(n);
  WorkerLease worker(prepared, prepared.programs(free, data.form));
  WorkerLease plain(prepared, prepared.programs(free, ResidualForm()));
  plain->set(columns, point);
  plain->evaluator.set_parallelism(fit);
  if (data.form.weighted) columns.push_back(fit.sigma);
  worker->set(columns, point);
  worker->evaluator.set_parallelism(fit);
  add_up(worker->evaluator, plain->evaluator, y, fit.sigma, point, {required(sums, "sums"), sums_size(n)});
}

// Writes the next point at which sums are needed and returns null, or returns the result.
nlsq_result* solve_call(const double* points, const double* sums, std::size_t passes, std::size_t n,
                        const Options& options, double* next) {
  if (n == 0) throw ArgumentError("n is 0: a fit has at least one parameter");
  const FitOptions& fit = options.fit;
  if (fit.max_seconds > 0 || options.progress != nullptr || fit.starts > 1 || options.precision ||
      !options.rules.empty() || !options.x_scale.empty() || fit.strict || fit.geodesic == Geodesic::always ||
      fit.variable_projection == VariableProjection::on)
    throw ValidationError(
        "sums: leave time_limit, progress, starts, precision, x_scale, strict, geodesic and "
        "variable_projection out: they do not apply to a fit from sums");
  Options plain = options;
  plain.fit.absolute_sigma = false;  // solve_sums has a separate argument for it
  const LeastSquaresOptions checked = plain.least_squares_options();
  if (!checked.loss.is_linear()) throw ValidationError("loss: sums are those of squares; leave it out");
  const FpEnvironment environment;
  const std::size_t size = sums_size(n);
  std::vector<SumsPass> all;
  for (std::size_t k = 0; k < passes; ++k)
    all.push_back({{required(points, "points") + k * n, n}, {required(sums, "sums") + k * size, size}});
  SumsStep step = solve_sums(all, checked, checked.bounds, options.fit.absolute_sigma);
  if (!step.done) {
    std::ranges::copy(step.next, required(next, "next"));
    return nullptr;
  }
  auto answer = std::make_shared<SolveResult>();
  answer->solved = std::move(*step.done);
  answer->rows = step.rows;
  return to_handle<nlsq_result>(std::move(answer));
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

size_t nlsq_sums_size(size_t parameters) { return nlsq::sums_size(parameters); }

int nlsq_model_sums(const nlsq_model* model, const nlsq_column* x, size_t predictors, const nlsq_column* y,
                    const double* p, const nlsq_options* options, double* sums) {
  return guarded(
      [&] { sums_call(*from_handle<CallerModel>(model), x, predictors, y, p, *options_of(options), sums); });
}

int nlsq_solve_sums(const double* points, const double* sums, size_t passes, size_t n,
                    const nlsq_options* options, double* next, nlsq_result** result) {
  return output(result, "result",
                [&] { return solve_call(points, sums, passes, n, *options_of(options), next); });
}

}  // extern "C"
