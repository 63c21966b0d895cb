// Implements least_squares(): minimizes a vector of residuals given as a function, from one start or several.
#include <nlsq/least_squares.hpp>

#include "certificate/certificate.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "dense/row_statistics.hpp"
#include "expression/names.hpp"
#include "fit/fit_setup.hpp"
#include "fit/fit_statistics.hpp"
#include "fit/reads_beyond.hpp"
#include "fit/solve.hpp"
#include "start/multi_start.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include "rows/calls/fallback_rows.hpp"
#include "rows/calls/loss_rows.hpp"
#include "rows/grouped_rows.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Returns the same rows in another form.
using RowsOf = std::function<std::shared_ptr<RowModel>(const ResidualForm& form)>;

LeastSquaresResult to_result(const VectorFunction& function, MinimizerResult minimum, std::size_t rows,
                             const Limits& limits, const LeastSquaresOptions& options,
                             const RowsOf& rows_of) {
  LeastSquaresResult out;
  const std::size_t n = minimum.x.size();
  out.x = std::move(minimum.x);
  out.residuals = function.value(out.x);
  out.cost = minimum.summary.final_cost;
  const double sigma =
      scatter(out.cost, rows, static_cast<std::size_t>(minimum.summary.certificate.rank), false);
  const double sigma2 = rows > n - minimum.summary.certificate.at_bound.size() ? sigma * sigma : kNaN;
  out.covariance = Matrix(n, n, kNaN);
  if (!options.loss.is_linear()) {
    ResidualForm form;
    form.loss = options.loss;
    form.for_covariance = true;
    if (minimum.summary.termination != Termination::failure) {
      const RowStatistics of_rows =
          row_statistics(*rows_of(form), form, out.x, false, options, minimum.summary.certificate.at_bound,
                         minimum.extrapolated);
      out.covariance = of_rows.covariance;
      if (is_success(minimum.summary.verdict) && of_rows.too_few_within)
        withdraw(minimum.summary, message_of_too_few(of_rows, rows, options.loss), kDoubtfulEnd);
    }
  } else if (minimum.covariance.rows() == n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) out.covariance(i, j) = minimum.covariance(i, j) * sigma2;
    }
  }
  for (std::size_t i = 0; i < n; ++i) out.standard_errors.push_back(std::sqrt(out.covariance(i, i)));
  out.summary = std::move(minimum.summary);
  out.active_mask.assign(n, 0);
  for (std::size_t j = 0; j < limits.lower.size(); ++j) {
    out.active_mask[j] = out.x[j] <= limits.lower[j] ? -1 : out.x[j] >= limits.upper[j] ? 1 : 0;
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<RowComponent>& components) {
  std::vector<std::string> names;
  for (const RowComponent& c : components) names.push_back(c.name);
  return names;
}

// Checks that component names are valid in a policy and unique, and that each has rows.
void check_components(const std::vector<RowComponent>& components) {
  std::vector<std::string> wrong;
  PrecisionPolicy named;  // validates the names
  for (const RowComponent& c : components) {
    named.components.push_back({c.name, {}});
    if (c.rows == 0) wrong.push_back(fmt::format("component '{}' has no residuals: leave it out", c.name));
  }
  for (const Violation& v : named.validate())
    wrong.push_back(fmt::format("component '{}': {}", v.field, v.reason));
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
}

void check_rows_of(const std::vector<RowComponent>& components, std::size_t residuals) {
  std::size_t rows = 0;
  for (const RowComponent& c : components) rows += c.rows;
  if (rows == residuals) return;
  throw ValidationError(fmt::format(
      "the components have {} residuals together, the function gives {}: name all of them", rows, residuals));
}

// Solves from one start or several.
LeastSquaresResult solve_rows(const VectorFunction& function, RowModel& rows, const std::vector<double>& x0,
                              const Limits& limits, const LeastSquaresOptions& options,
                              const RowsOf& rows_of) {
  const SolveRequest request{rows, x0, {}, options, false, limits};
  const auto solve_one = [](const SolveRequest& one) {
    MinimizerResult end = solve(one);
    Summary& s = end.summary;
    const auto follows = [&] { return follows_its_slopes(one.rows, end.x, one.x0, s.certificate.rank); };
    if (hides_minimum(s.certificate, end.by_twofold, follows)) withdraw(s, kHiddenMinimum);
    return end;
  };
  if (options.starts == 1)
    return to_result(function, solve_one(request), rows.rows(), limits, options, rows_of);
  StartsResult several = solve_from_starts({options.starts, options.seed, [](const Vector& x) { return x; }},
                                           request, solve_one);
  LeastSquaresResult out =
      to_result(function, std::move(several.best), rows.rows(), limits, options, rows_of);
  out.minima = std::move(several.minima);
  return out;
}

LeastSquaresResult solve_called(const VectorFunction& function, const std::vector<double>& x0,
                                const Limits& limits, const LeastSquaresOptions& options,
                                const std::string& note) {
  const auto called =
      std::make_shared<VectorRows>(function, x0, all_parameters(x0.size()), options.jacobian,
                                   options.components, limits.lower, limits.upper, options.differences);
  const RowsOf rows_of = [&](const ResidualForm& form) -> std::shared_ptr<RowModel> {
    if (form.loss.is_linear()) return called;
    return std::make_shared<LossRows>(called, form);
  };
  ResidualForm form;
  form.loss = options.loss;
  const std::shared_ptr<RowModel> rows = rows_of(form);
  check_counts(rows->rows(), x0.size());
  LeastSquaresResult out = solve_rows(function, *rows, x0, limits, options, rows_of);
  out.summary.evaluator_note = note;
  return out;
}

}  // namespace

LeastSquaresResult least_squares(const VectorFunction& function, const std::vector<double>& x0,
                                 const LeastSquaresOptions& options) {
  const FpEnvironment environment;
  check_components(options.components);
  check_options(options, names_of(options.components));
  check_named(options.loss);
  if (options.loss.is_counts())
    throw ValidationError("loss poisson: residuals have no counts; it is of curve_fit, where y are counts");
  if (options.starts < 1) throw ValidationError(fmt::format("starts = {}: use 1 or more", options.starts));
  if (x0.empty()) throw ValidationError("x0 is empty: give one starting value for each parameter");
  for (std::size_t j = 0; j < x0.size(); ++j) {
    if (!std::isfinite(x0[j])) throw ValidationError(fmt::format("x0[{}] = {} is not finite", j, x0[j]));
  }
  std::vector<std::string> names;
  for (std::size_t j = 0; j < x0.size(); ++j) names.push_back(fmt::format("x[{}]", j));
  const Limits limits = limits_of(options.bounds, names);
  check_within(limits, names, x0, "x0");
  if (!options.components.empty()) check_rows_of(options.components, function.value(x0).size());
  if (options.jacobian)
    return solve_called(function, x0, limits, options, "derivatives by the user's Jacobian");
  if (!function.trace)
    return solve_called(function, x0, limits, options, why_not_recorded(function.dual != nullptr));
  refuse_reads_beyond(function, x0);  // a recording would use the numbers that lie behind the parameters
  RolledTrace rolled = roll(function, x0);
  std::string note = rolled.reason;
  if (!rolled.opaque() && !agrees_with_dual(rolled, function, x0))
    note = "the recording disagrees with dual numbers";
  if (note.empty()) {
    const RowsOf rows_of = [&](const ResidualForm& form) {
      return std::make_unique<GroupedRows>(rolled, function, x0, options.components, form);
    };
    ResidualForm form;
    form.loss = options.loss;
    GroupedRows rows(options.loss.is_linear() ? std::move(rolled) : rolled, function, x0, options.components,
                     form);
    check_counts(rows.rows(), x0.size());
    LeastSquaresResult out = solve_rows(function, rows, x0, limits, options, rows_of);
    const Summary& s = out.summary;
    if (s.termination == Termination::failure || s.certificate.recheck_passed) return out;
    note = kRecordingDiscarded;
  } else {
    note = "the callable could not be recorded: " + note;
  }
  return solve_called(function, x0, limits, options, note);
}

}  // namespace nlsq::inline v0
