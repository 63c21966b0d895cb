// Implements GroupStarts, and checks the columns of fits of groups.
#include "batch/group_starts.hpp"

#include "fit/curve.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

GroupStarts::GroupStarts(const PreparedModel::Impl& model, const NamedValues& p0, const FitOptions& options,
                         const Ties& ties)
    : model_(model), p0_(p0), limits_(limits_of(options.bounds, model.names, ties)),
      default_(default_start(model.names.size(), limits_)), loss_(options.loss), ties_(ties) {
  if (p0.size() >= model.names.size()) return;
  formula_ = model.as_formula();
  if (model.built_in) guess_ = &*model.built_in;
  else if (formula_) known_ = guessing::recognise(*formula_), guess_ = known_.model;
  if (guess_ == nullptr) unstarted_ = without_start(model.names, p0);
  else warning_of_fixed_ = warning_of_fixed_guesses(options.fixed, p0);
}

std::vector<double> GroupStarts::of(const Columns& x, const Column& y, const Column& sigma,
                                    std::string& warning) const {
  if (guess_ == nullptr) return starting_values(model_.names, p0_, default_, limits_);
  const guessing::StartRule rule{&*formula_, model_.built_in ? nullptr : &known_,
                                 [&](const std::vector<double>& guess) {
                                   return starting_values(model_.names, p0_, guess, limits_, ties_);
                                 }};
  return rule.impose(rule.converted(guessed_start(*guess_, x, y, sigma, loss_, rule, warning)));
}

void GroupStarts::look_in(const Columns& x, const Column& y, const FitOptions& options) try {
  if (unstarted_.empty() || !formula_ || formula_->has_left_side) return;
  const FitResult fit = curve_fit(*formula_, x, y, p0_, options);
  if (!fit.success() || fit.guess == starting_values(model_.names, p0_, default_, limits_)) return;
  for (const std::string& name : unstarted_) {
    const auto j = static_cast<std::size_t>(std::ranges::find(model_.names, name) - model_.names.begin());
    default_[j] = fit.parameters[j];
  }
} catch (const DataError&) {
  return;  // the fit of this group reports the error
}

void check_group_columns(const PreparedModel::Impl& model, const Columns& x, const Column& y,
                         const Column& group, const FitOptions& options) {
  if (options.callback) throw ValidationError("callback: fits of groups take none");
  if (!options.sigma_matrix.empty())
    throw ValidationError("sigma_matrix: it is of one fit; fit the groups one by one with curve_fit");
  if (x.size() != model.predictors.size()) {
    throw DataError(fmt::format("the model has {} predictor(s) ({}), {} data column(s) of x were given",
                                model.predictors.size(), fmt::join(model.predictors, ", "), x.size()));
  }
  if (y.empty()) throw DataError("there are no rows: give x, y and group at least one row");
  const auto check = [&](const Column& column, const std::string& name) {
    if (column.size() == y.size()) return;
    throw DataError(
        fmt::format("{} has {} rows, y has {}: give columns of one length", name, column.size(), y.size()));
  };
  for (std::size_t k = 0; k < x.size(); ++k) check(x.list()[k], model.predictors[k]);
  check(group, "group");
  if (!options.sigma.empty()) check(options.sigma, "sigma");
  for (const Column& column : options.sigma_x) {
    if (!column.empty()) check(column, "sigma_x");
  }
}

void check_shared(const PreparedModel::Impl& model, const NamedValues& p0, const GroupOptions& options) {
  const auto& names = model.names;
  for (const std::string& name : options.share) {
    parameter_index(names, name, "share");
    if (std::ranges::count(options.share, name) > 1)
      throw ValidationError(fmt::format("share: '{}' is named twice", name));
    if (std::ranges::count(options.fixed, name) > 0 && !has_value(p0, name)) {
      throw ValidationError(fmt::format(
          "share: '{}' is fixed without a value, so that each group has a first guess of its own: "
          "fix it at a value, or leave it out of share",
          name));
    }
  }
  const std::pair<const char*, bool> refused[] = {
      {"callable; give a formula or a built-in model", !model.formula},
      {"ties; write the formula with fewer parameters", !options.ties.empty()},
      {"loss other than linear", !options.loss.is_linear()},
      {"variable projection; each group's own parameters are eliminated anyway",
       options.variable_projection == VariableProjection::on},
      {"errors in x (sigma_x)", !options.sigma_x.empty()},
      {"second start; leave starts out and give starting values", options.starts != 1}};
  for (const auto& [what, given] : refused) {
    if (given) throw ValidationError(fmt::format("share: the joint fit takes no {}", what));
  }
}

}  // namespace nlsq::inline v0
