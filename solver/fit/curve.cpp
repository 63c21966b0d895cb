// Runs a checked curve fit: improves the start, solves, and computes the statistics of the FitResult.
#include "fit/curve.hpp"

#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "dense/dense_evaluator.hpp"
#include "dense/row_statistics.hpp"
#include "fit/errors_in_x/effective_errors.hpp"
#include "fit/errors_in_x/expected_errors.hpp"
#include "fit/kept_data.hpp"
#include "models/guesses/sample.hpp"
#include "start/multi_start.hpp"
#include "start/scanned_starts.hpp"
#include "start/start.hpp"
#include "support/all_finite.hpp"
#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include "rows/sample_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// Returns the sum of squares about the mean of the fitted quantity: column y, or the left side of a formula.
double total_squares(const Curve& curve) {
  if (curve.whitening) {
    std::vector<double> y(curve.data->rows());
    curve.data->read(0, y.size(), curve.predictors, y.data());
    return curve.whitening->total_squares(std::move(y));
  }
  if (!curve.response) return curve.survey->total_squares();
  return total_squares(*curve.data, static_cast<std::size_t>(curve.predictors), curve.form.weighted,
                       curve.response);
}

// Evaluates the cost only, because every parameter is fixed or there is none.
MinimizerResult evaluate_only(RowModel& rows, bool fixed) {
  DenseEvaluator evaluator(rows);
  MinimizerResult out;
  const double cost = evaluator.cost({}, Format::f64);
  Summary& s = out.summary;
  s.kernel = kernels().name;
  s.evaluator = rows.kind();
  s.precision.counters = evaluator.counters();
  s.initial_cost = s.final_cost = s.certificate.cost = cost;
  if (!std::isfinite(cost)) {
    s.message = "every parameter is fixed, and the residuals are not finite";
    return out;
  }
  s.certificate.passed = s.certificate.recheck_passed = true;
  s.certificate.governed_by = "no free parameter";
  s.termination = Termination::converged;
  s.verdict = s.certificate.verdict = Verdict::converged;
  s.message = fixed ? "every parameter is fixed: the cost was evaluated"
                    : "the model has no parameters: the cost was evaluated";
  return out;
}

// Returns a message if the curve is all but 0 in a row without counts, else an empty string. The likelihood
// of such a row grows until the curve reaches 0, and beyond 0 it is not defined. So there may be no minimum
// with a gradient of 0. `rows` have the residuals f - y, without a loss. Reads all rows.
std::string message_of_zero(const RowModel& rows, const RowSource& data, int y, std::span<const double> x) {
  constexpr double kAllButZero = 1e-3;  // relative to the mean of the counts
  const Column column(data, y);
  std::vector<double> residuals, sizes;
  double lowest = kInfinity;
  std::size_t row = 0;
  for_blocks(column, [&](std::size_t first, std::span<const double> counts) {
    residuals.resize(counts.size()), sizes.resize(counts.size());
    rows.reference_residuals(x, first, counts.size(), residuals.data(), sizes.data());
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] == 0 && residuals[i] < lowest) lowest = residuals[i], row = first + i;
  });
  if (!(lowest <= kAllButZero * mean_of_finite(column))) return "";
  return fmt::format(
      "the curve is all but 0 in row {}, which has no counts. If the likelihood grows until it is 0 there, "
      "no minimum can be certified, and standard errors do not hold: use a model that stays positive, or "
      "keep its constant above 0 by a bound",
      row);
}

// Adds an explanation if a fit of counts starts where its curve is not positive, or ends where it falls to 0.
// Columns of the Jacobian grow without limit there, and with them the condition.
void explain_counts(const Curve& curve, std::span<const double> x, FitResult& fit) {
  constexpr double kSuspicious = 1e8;
  Summary& s = fit.summary;
  if (!curve.form.loss.is_counts() || (fit.success() && s.certificate.condition < kSuspicious)) return;
  if (s.termination == Termination::failure && s.iterations.empty()) {
    s.message += " Loss poisson: the model has to be positive in every row, as the mean of a count is.";
    return;
  }
  std::string zero = message_of_zero(*curve.rows_of(ResidualForm(false)), *curve.data, curve.predictors, x);
  if (zero.empty()) return;
  if (fit.success()) fit.warnings.push_back(std::move(zero));
  else s.message = std::move(zero);
}

// Warns when variable projection was requested but no parameter could be eliminated.
void warn_of_none_eliminated(const Curve& curve, const std::vector<int>& linear, FitResult& fit) {
  if (curve.options.variable_projection != VariableProjection::on || !fit.summary.eliminated.empty()) return;
  if (fit.summary.termination == Termination::failure) return;
  const char* why =
      curve.options.algorithm != Algorithm::levenberg_marquardt ? "it is of Levenberg-Marquardt steps"
      : !curve.form.loss.is_linear() ? "under a loss no parameter is linear in the residuals"
      : !curve.form.x_errors.empty() ? "with errors in x no parameter is linear in the residuals"
      : linear.empty()               ? "the model is linear in no free parameter, or is not known to be"
      : linear.size() == curve.free.size()
          ? "the model is linear in all free parameters"
          : "the linear parameters have bounds, or the data do not determine them";
  fit.warnings.push_back(fmt::format("variable_projection = on, and nothing is eliminated: {}", why));
}

// Extends the covariance to all parameters: C = G C_free Gᵀ, G = ∂p/∂p_free. Rows of fixed parameters are 0,
// and rows of tied parameters follow from the others.
void propagate_to_ties(const Curve& curve, FitResult& fit) {
  if (curve.ties.empty()) return;
  const std::size_t n = fit.parameters.size(), k = curve.free.size();
  std::vector<double> G = curve.ties.slopes(fit.parameters, curve.free);
  const Matrix C = fit.covariance;
  const auto free = [&](std::size_t a) { return static_cast<std::size_t>(curve.free[a]); };
  // A number that follows from one on a bound and from others varies with the others alone.
  for (std::size_t i = 0; i < n; ++i) {
    bool moves = false;
    for (std::size_t a = 0; a < k; ++a) moves = moves || (G[i * k + a] != 0 && !fit.at_bound[free(a)]);
    for (std::size_t a = 0; moves && a < k; ++a)
      if (fit.at_bound[free(a)]) G[i * k + a] = 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) {
          const double factor = G[i * k + a] * G[j * k + b];
          if (factor != 0) sum += factor * C(free(a), free(b));
        }
      }
      fit.covariance(i, j) = sum;
    }
    fit.standard_errors[i] = std::sqrt(fit.covariance(i, i));
  }
}

// Returns the message of an end at which too many rows lie beyond the scale of the loss, or an empty text.
// There are too many if those within the scale are no more than the parameters. There are also too many if a
// parameter is undetermined only because all rows that depend on it are beyond the scale, where the slope of
// the loss is 0.
std::string message_of_beyond(const Curve& curve, const MinimizerResult& minimum,
                              const RowStatistics& of_rows) {
  const Certificate& c = minimum.summary.certificate;
  std::vector<std::string> names;
  if (c.verdict == Verdict::rank_deficient && of_rows.beyond > 0) {
    for (const int k : c.confounded) {
      const auto j = static_cast<std::size_t>(k);
      if (std::isfinite(of_rows.covariance(j, j)))
        names.push_back(curve.names[static_cast<std::size_t>(curve.free[j])]);
    }
  }
  if (names.empty()) return message_of_too_few(of_rows, curve.data->rows(), curve.form.loss);
  return fmt::format(
      "no usable minimum: every row that would determine {} lies beyond the scale of the loss, "
      "{:g}. Give other starting values, or a larger scale",
      fmt::join(names, ", "), curve.form.loss.scale());
}

// Fills the statistics of the fit. Returns message_of_beyond().
std::string finish_statistics(const Curve& curve, MinimizerResult& minimum, FitResult& fit) {
  const bool usable = minimum.summary.termination != Termination::failure &&
                      (!curve.free.empty() || curve.form.loss.is_robust());
  const bool wanted = !curve.form.loss.is_linear();
  RowStatistics of_rows{Matrix(curve.free.size(), curve.free.size(), kNaN), kNaN, 0};
  if (wanted && usable) {
    ResidualForm form = curve.form;
    form.for_covariance = true;
    const std::shared_ptr<RowModel> rows = curve.rows_of(form);
    of_rows = row_statistics(*rows, form, minimum.x, curve.options.absolute_sigma, curve.options,
                             minimum.summary.certificate.at_bound, minimum.extrapolated);
  }
  std::optional<double> log_variances;
  double total = 0;
  if (!curve.form.x_errors.empty()) {
    const EffectiveSums sums = effective_sums(curve, minimum.x);
    total = sums.total_squares;
    log_variances = sums.log_variances;
  } else {
    total =
        curve.form.loss.is_counts() ? constant_deviance(*curve.data, curve.predictors) : total_squares(curve);
  }
  fill_statistics(fit, minimum, curve.free, curve.form.loss, wanted ? &of_rows : nullptr,
                  curve.options.absolute_sigma, total, log_variances);
  propagate_to_ties(curve, fit);
  return message_of_beyond(curve, minimum, of_rows);
}

FitResult at_start(const Curve& curve) {
  FitResult fit;
  fit.parameter_names = curve.names;
  fit.guess = fit.parameters = curve.start;
  fit.fixed.assign(curve.names.size(), true);
  for (const int j : curve.free) fit.fixed[static_cast<std::size_t>(j)] = false;
  fit.rows = curve.data->rows();
  return fit;
}

// Takes over the parameters of the minimum, and which of them are tied, at a bound or eliminated.
void take_parameters(const Curve& curve, const MinimizerResult& minimum, FitResult& fit) {
  curve.put(minimum.x, fit.parameters);
  for (std::size_t j = 0; j < curve.names.size(); ++j) {
    fit.ties.push_back(curve.ties.expression(static_cast<int>(j)));
    if (!fit.ties.back().empty()) fit.fixed[j] = false;
  }
  const auto flags = [&](const std::vector<int>& listed) {
    std::vector<bool> out(curve.names.size(), false);
    for (const int j : curve.free_at(listed)) out[static_cast<std::size_t>(j)] = true;
    return out;
  };
  fit.at_bound = flags(minimum.summary.certificate.at_bound);
  fit.eliminated = flags(minimum.summary.eliminated);
}

}  // namespace

std::vector<int> linear_among_free(const Graph& graph, NodeId root, const std::vector<int>& free) {
  std::vector<int> positions;
  for (const int j : linear_parameters(graph, root, free)) {
    positions.push_back(static_cast<int>(std::find(free.begin(), free.end(), j) - free.begin()));
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

FitResult fit_rows(const Curve& given, RowModel& model_rows, const std::vector<int>& linear,
                   const SolveFunction& solve_model_rows) {
  Curve curve = given;
  std::optional<WhitenedRows> whitened;
  if (!curve.options.sigma_matrix.empty()) {
    if (curve.response)
      throw ValidationError("sigma_matrix: the formula has a left side; fit what it stands for as y");
    curve.whitening = std::make_shared<Whitening>(curve.options.sigma_matrix, curve.data->rows());
    whitened.emplace(model_rows, *curve.whitening);
  }
  check_kept_data(*curve.data, curve.options);
  RowModel& rows = whitened ? *whitened : model_rows;
  SolveFunction solve_from = [](const SolveRequest& request) { return solve(request); };
  if (!whitened && solve_model_rows) solve_from = solve_model_rows;
  FitResult fit = at_start(curve);
  const double setup = seconds_since(curve.begin);
  const bool keeps_linear = curve.form.keeps_linear();
  SolveRequest request{rows,
                       curve.free_start(),
                       keeps_linear ? linear : std::vector<int>{},
                       curve.options,
                       curve.unit_sigma(),
                       curve.limits,
                       curve.survey,
                       curve.linear_by_trial,
                       curve.solved_start,
                       [&] {
                         Vector numbers;
                         for (int k = 0; k < curve.predictors; ++k)
                           add_usual_numbers(Column(*curve.data, k), numbers);
                         return numbers;
                       },
                       {curve.names, curve.free}};
  const SolveFunction solve_one = [&](const SolveRequest& from) {
    return solve_from_better_start(curve, linear, from, solve_from);
  };
  MinimizerResult minimum;
  if (curve.options.starts > 1 && !curve.free.empty()) {
    const auto whole = [&](const Vector& x) {
      Vector all = curve.start;
      curve.put(x, all);
      return all;
    };
    StartsResult several =
        solve_from_starts({curve.options.starts, curve.options.seed, whole}, request, solve_one);
    minimum = std::move(several.best);
    fit.minima = std::move(several.minima);
    add_warning(fit, std::move(several.warning));
  } else {
    minimum = curve.free.empty() ? evaluate_only(rows, !curve.names.empty()) : solve_one(request);
    if (!whitened) scan_for_better_starts(curve, linear, request, solve_one, minimum, fit.warnings);
    fit.guess = curve.start;
  }
  curve.survey->run();  // if no pass over all rows was made
  take_parameters(curve, minimum, fit);
  std::string beyond = finish_statistics(curve, minimum, fit);
  fit.summary = std::move(minimum.summary);
  if (fit.success() && !beyond.empty()) withdraw(fit.summary, std::move(beyond), kDoubtfulEnd);
  withdraw_hidden(
      fit, minimum.by_twofold,
      [&] {
        return follows(rows, minimum.x, request.x0, Column(*curve.data, curve.predictors),
                       fit.summary.certificate.rank);
      },
      [&](double spread) {
        return curve.form.weighted && outweighed(rows, minimum.x, Column(*curve.data, curve.predictors + 1),
                                                 spread, minimum.unexplained);
      });
  withdraw_doubtful(fit, curve.free_at(curve.linear_by_trial ? std::vector<int>() : linear), curve.jumps,
                    curve.unstarted, Column(*curve.data, curve.predictors));
  if (!fit.success())
    std::ranges::move(advice_on_origin(*curve.data, curve.predictors), std::back_inserter(fit.warnings));
  if (fit.errors_in_x && fit.success()) add_warning(fit, warning_of_expected_errors(curve, minimum.x, fit));
  warn_of_none_eliminated(curve, linear, fit);
  explain_counts(curve, minimum.x, fit);
  fit.summary.time.setup = setup;
  fit.summary.time.total = seconds_since(curve.begin);
  return fit;
}

Curve checked_curve(std::vector<std::string> names, std::vector<double> start, const Limits& limits,
                    Ties ties, SurveyedRows data, std::size_t predictors, const FitOptions& options) {
  std::vector<int> free = free_parameters(names, options.fixed, ties, limits);
  check_counts(data.rows->rows(), free.size());
  Curve curve{std::move(names),
              std::move(start),
              std::move(free),
              std::move(data.rows),
              static_cast<int>(predictors),
              std::move(data.form),
              std::move(data.survey),
              options,
              {}};
  curve.ties = std::move(ties);
  curve.limits = limits_of_free(limits, curve.free);
  return curve;
}

void fit_left_side(const Formula& formula, Curve& curve) {
  if (formula.has_left_side && curve.form.loss.is_counts())
    throw ValidationError("loss poisson: counts are fitted as they are; the formula has a left side");
  curve.response = response_of(formula);
}

bool record(RecordedResidual& residual, const RowSource& data, const std::vector<double>& p,
            DataSurvey* survey) {
  constexpr std::size_t kRows = 16;
  const std::size_t m = data.rows();
  std::vector<double> row(static_cast<std::size_t>(data.columns()));
  bool any = false;
  for (std::size_t k = 0; k < std::min(kRows, m); ++k) {
    const std::size_t i = m <= kRows ? k : k * (m - 1) / (kRows - 1);
    for (int c = 0; c < data.columns(); ++c) data.read(i, 1, c, &row[static_cast<std::size_t>(c)]);
    if (survey != nullptr && !all_finite(row)) survey->run();
    any = residual.explore(row, p) || any;
    if (!residual.reason().empty()) return false;
  }
  return any;
}

std::vector<double> guessed_start(const Model& model, const Columns& x, const Column& y, const Column& sigma,
                                  const Loss& loss, const guessing::StartRule& rule, std::string& warning) {
  const GuessHints hints{.sigma = sigma, .outliers = loss.is_robust()};
  Guess guess = model.rule(x, y, hints);
  if (rule.formula != nullptr) guessing::choose_among_equals(model, rule, x, y, hints, guess.values);
  if (loss.is_counts()) guessing::make_positive(model, x, y, guess.values);
  warning = std::move(guess.warning);
  return std::move(guess.values);
}

}  // namespace nlsq::inline v0
