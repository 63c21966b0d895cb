// curve_fit_groups: fits one model to each group of the rows of a table, such as the samples of an experiment
// or the patients of a study. A column contains the group of each row.
#pragma once

#include <nlsq/columns.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/prepared_model.hpp>
#include <nlsq/summary.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Holds the options of curve_fit_groups.
struct NLSQ_API GroupOptions : FitOptions {
  GroupOptions() = default;
  GroupOptions(const FitOptions& options) : FitOptions(options) {}  // NOLINT: implicit by design
  // Names of parameters that all groups have in common. If there are any, all groups are fitted as one
  // problem, whose parameters are these and, for each group, the others. If this is empty, each group is
  // fitted by itself.
  std::vector<std::string> share;
  // Is called by any thread when `more` further groups of `all` have been fitted. It is not called for a
  // joint fit. It may be empty.
  std::function<void(std::size_t more, std::size_t all)> progress;
};

// Holds the joint fit of groups with shared parameters.
struct NLSQ_API JointFit {
  std::vector<std::string> parameter_names;  // the shared ones, in the model's order
  std::vector<double> parameters, standard_errors;
  Matrix covariance;       // of the shared parameters; NaN where the data do not determine one
  std::size_t rows = 0;    // of the groups that take part
  std::size_t groups = 0;  // number of groups that take part
  std::ptrdiff_t dof = 0;  // rows - free parameters of all these groups together
  double rss = 0, chi2_reduced = 0;
  Summary summary;
};

// Row or entry k of every array belongs to group k. Groups are in the order of their first rows.
struct NLSQ_API GroupsResult {
  std::vector<std::string> parameter_names;
  Matrix parameters;       // groups x parameters, fixed ones included; NaN where nothing was fitted
  Matrix standard_errors;  // groups x parameters, as in FitResult
  std::vector<unsigned char> at_bound;  // groups x parameters: 1 where a parameter ended on a bound, else 0
  std::vector<std::size_t> first_row;   // where the group first appears in the table
  std::vector<std::size_t> rows;
  std::vector<std::ptrdiff_t> dof;           // at least 0; in a joint fit, that of all groups together
  std::vector<double> cost, rss, r_squared;  // as Summary::final_cost and in FitResult
  std::vector<double> decrement_sigma;       // certified distance to the optimum in standard errors
  std::vector<Verdict> verdict;
  std::vector<Termination> termination;
  std::vector<int> iterations;
  std::vector<std::string> message;  // the reason why a group did not succeed; empty for one that did
  // For each group that succeeded, the warnings of its fit as one text; mostly empty.
  std::vector<std::string> warnings;
  std::size_t succeeded = 0;      // groups with is_success(verdict)
  std::size_t in_lanes = 0;       // groups that were fitted in lanes (see curve_fit_batch)
  std::optional<JointFit> joint;  // with GroupOptions::share

  std::size_t size() const { return verdict.size(); }
  bool success() const { return succeeded == size(); }
  bool is_at_bound(std::size_t group, std::size_t parameter) const {
    return at_bound[group * parameter_names.size() + parameter] != 0;
  }
};

// Fits y as a function of x in each group of rows by itself. Rows with equal numbers in `group` form a group,
// wherever they are in the table. Each group's parameters, errors and verdict are those of curve_fit with its
// rows alone, up to rounding. Starting values that p0 does not name are guessed for each group as curve_fit
// does.
//
// 32 groups or more of one length, up to 2048 rows, are fitted in lanes by curve_fit_batch where the options
// allow it. Other groups are fitted one by one, on all threads. Results have the same bits for any
// `options.threads`. Limits of time and iterations apply to each group.
//
// The processes of `options.team` divide the groups among themselves; each must pass all rows. Each returns
// the same result, with the bits of a single process. `options.journal` stores the groups that are fitted; a
// later call with the same rows, model and options continues from there. Throws JournalError if they have
// changed. With `options.share` it also stores the joint fit, after every 40 iterations and at its end.
//
// With `options.share`, verdict, termination, iterations, dof and distance of every group are those of the
// joint fit, and standard errors are from its covariance. Each group's cost, rss and R² are of its own rows.
// The joint fit is made by `solve` of a Problem, from the median of the groups' own fits. It needs a formula
// or a built-in model, and throws ValidationError for ties, losses, errors in x, several starts and variable
// projection `on` (each group's own parameters are eliminated anyway). A group that cannot be fitted is left
// out of it.
//
// A formula without starting values begins at 1 in all groups. If the fit of the largest group is then no
// success, starts are looked for in its data, as by curve_fit, and all groups begin at the end of its fit.
// This is not done if that group has more than 131,072 rows, with a journal or in a team.
//
// A group that cannot be fitted (fewer rows than parameters, a number that is not finite) is FAILED with a
// message; the others are still fitted. Columns of different lengths, no rows, and groups that are not
// numbers throw DataError. A callback and sigma_matrix throw ValidationError.
NLSQ_API GroupsResult curve_fit_groups(const PreparedModel& model, const Columns& x, const Column& y,
                                       const Column& group, const NamedValues& p0 = {},
                                       const GroupOptions& options = {});

// Fits a formula or a built-in model.
template <class M>
requires(std::convertible_to<const M&, std::string_view>) GroupsResult
    curve_fit_groups(const M& formula, const Columns& x, const Column& y, const Column& group,
                     const NamedValues& p0 = {}, const GroupOptions& options = {}) {
  return curve_fit_groups(PreparedModel(std::string_view(formula), static_cast<int>(x.size())), x, y, group,
                          p0, options);
}
template <class M>
requires(std::same_as<M, Formula> || std::same_as<M, Model>) GroupsResult
    curve_fit_groups(const M& model, const Columns& x, const Column& y, const Column& group,
                     const NamedValues& p0 = {}, const GroupOptions& options = {}) {
  return curve_fit_groups(PreparedModel(model), x, y, group, p0, options);
}

// Fits a callable of one predictor, with a starting value for each parameter.
template <Callable F>
GroupsResult curve_fit_groups(F f, const Column& x, const Column& y, const Column& group,
                              const std::vector<double>& p0, const GroupOptions& options = {}) {
  const PreparedModel model(make_model_function(std::move(f)), Columns(x), p0, options.parameter_names);
  NamedValues start;
  for (std::size_t j = 0; j < p0.size(); ++j) start.emplace_back(model.parameter_names()[j], p0[j]);
  return curve_fit_groups(model, Columns(x), y, group, start, options);
}

}  // namespace nlsq::inline v0
