// Implements fit_with_shared_parameters. The groups' own fits give a start. `solve` of a Problem with a
// parameter block for each group then fits all rows, and the normal matrices of the groups give the
// statistics.
#include "batch/arrow.hpp"
#include "batch/batch.hpp"
#include "batch/formula_block.hpp"
#include "batch/group_rows.hpp"
#include "batch/group_starts.hpp"
#include "batch/joint_solve.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "expression/symmetry.hpp"
#include "fit/fit_setup.hpp"
#include "fit/fit_statistics.hpp"
#include "fit/prepared_impl.hpp"
#include "linear/weighted_rows.hpp"
#include "support/constants.hpp"

#include <nlsq/problem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostEliminated = 8;  // limit on the free numbers of a block that Problem eliminates
                                            // first

class SharedFit {
 public:
  SharedFit(const PreparedModel& model, const Columns& x, const Column& y, const Column& group,
            const NamedValues& p0, const GroupOptions& options)
      : model_(model), impl_(model.impl()), x_(x), y_(y), group_(group), p0_(p0), options_(options),
        limits_(limits_of(options.bounds, impl_.names)), starts_(impl_, p0, options, {}), groups_(group) {
    check_shared(impl_, p0, options);
    for (const int j : free_parameters(impl_.names, options.fixed, {}, limits_)) {
      const bool shared = std::ranges::count(options.share, impl_.names[static_cast<std::size_t>(j)]) > 0;
      (shared ? shared_ : own_).push_back(j);
    }
    if (shared_.empty()) throw ValidationError("share: every shared parameter is fixed; leave share out");
    if (own_.empty())
      throw ValidationError("share: no free parameter is left to the groups; fit all rows without groups");
  }

  GroupsResult run() {
    find_start();
    sort_rows();
    solve_jointly();
    restore_signs();
    take_parameters();
    find_statistics();
    note_parameters_on_bounds(limits_, options_.fixed, out_);
    for (const Verdict v : out_.verdict) out_.succeeded += is_success(v) ? 1 : 0;
    return std::move(out_);
  }

 private:
  // Computes the start, and lists the groups that take part in the fit. Groups without a start do not.
  void find_start() {
    out_ = own_fits(model_, x_, y_, group_, p0_, options_, shared_);
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if (out_.termination[k] != Termination::failure) taking_part_.push_back(k);
    }
    if (taking_part_.empty())
      throw DataError(fmt::format("share: no group can be fitted; the first: {}", out_.message.front()));
  }

  // Sorts the rows by group, with the left side of the formula in place of y.
  void sort_rows() {
    std::vector<Column> columns = x_.list();
    columns.push_back(y_);
    if (weighted()) columns.push_back(options_.sigma);
    sorted_ = groups_.sorted(columns, options_, memory_);
    const std::size_t rows = y_.size(), predictors = x_.size();
    const std::vector<Column> x(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(predictors));
    response_ = responses_of(*impl_.formula, Columns(x), sorted_[predictors]);
    if (!weighted()) return;
    weight_.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) weight_[i] = 1 / sorted_[predictors + 1].direct_f64(0)[i];
  }

  void solve_jointly() {
    const auto rows = std::make_shared<FormulaRows>(*impl_.formula, shared_, own_);
    for (std::size_t c = 0; c < x_.size(); ++c) rows->predictors.push_back(sorted_[c].direct_f64(0));
    rows->response = response_.data();
    if (weighted()) rows->weight = weight_.data();
    for (const int j : shared_)
      shared_values_.push_back(out_.parameters(taking_part_.front(), static_cast<std::size_t>(j)));
    own_values_ = Matrix(taking_part_.size(), own_.size());
    Problem problem;
    add_block(problem, shared_values_.data(), shared_);
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      const std::size_t k = taking_part_[i];
      joint_.rows += groups_.rows(k);
      for (std::size_t j = 0; j < own_.size(); ++j)
        own_values_(i, j) = out_.parameters(k, static_cast<std::size_t>(own_[j]));
      add_block(problem, &own_values_(i, 0), own_);
      if (own_.size() <= kMostEliminated) problem.set_elimination_group(&own_values_(i, 0), 0);
      const BlockRef blocks[] = {BlockRef(shared_values_.data()), BlockRef(&own_values_(i, 0))};
      const std::span<const double> values(&out_.parameters(k, 0), impl_.names.size());
      for (std::size_t row = groups_.first(k); row < groups_.first(k) + groups_.rows(k); ++row)
        problem.add_residual_block(
            std::shared_ptr<const BlockFunction>(std::make_shared<FormulaBlock>(rows, row, values)), Loss(),
            std::span<const BlockRef>(blocks));
    }
    if (own_.size() <= kMostEliminated) problem.set_elimination_group(shared_values_.data(), 1);
    const std::span<double> values[] = {shared_values_,
                                        {own_values_.data(), own_values_.rows() * own_values_.columns()}};
    joint_.summary = solve_joint(problem, values, options_, joint_.rows);
  }

  // Gives the parameters the signs of their starts where the model is the same with either sign, as fit_rows
  // does: first the shared ones, with the linear ones of all groups that follow them, then each group's own.
  void restore_signs() {
    const Formula& formula = *impl_.formula;
    std::vector<int> all = shared_;
    all.insert(all.end(), own_.begin(), own_.end());
    const std::vector<int> linear = linear_parameters(formula.graph, formula.model, all);
    std::vector<int> shared, own;
    for (const int j : shared_)
      if (!is_bounded(limits_, j)) shared.push_back(j);
    for (const int j : own_)
      if (!is_bounded(limits_, j)) own.push_back(j);
    for (const int j : own)
      if (std::ranges::count(linear, j) > 0) shared.push_back(j);
    change_signs(linear, shared, 0, taking_part_.size());
    for (std::size_t i = 0; i < taking_part_.size(); ++i) change_signs(linear, own, i, i + 1);
  }

  // Changes the signs of parameters that are wrong in group `first`, in all groups from `first` to `last`.
  void change_signs(const std::vector<int>& linear, const std::vector<int>& of, std::size_t first,
                    std::size_t last) {
    const double* const start = &out_.parameters(taking_part_[first], 0);
    std::vector<double> end(start, start + impl_.names.size());
    for (std::size_t j = 0; j < shared_.size(); ++j)
      end[static_cast<std::size_t>(shared_[j])] = shared_values_[j];
    for (std::size_t j = 0; j < own_.size(); ++j)
      end[static_cast<std::size_t>(own_[j])] = own_values_(first, j);
    const Evenness is_even = [this](std::span<const int> flipped) { return impl_.is_even(flipped); };
    for (const int parameter : signs_to_restore(is_even, of, linear, {start, end.size()}, end)) {
      for (std::size_t j = 0; j < shared_.size(); ++j)
        if (shared_[j] == parameter) shared_values_[j] = -shared_values_[j];
      for (std::size_t j = 0; j < own_.size(); ++j)
        for (std::size_t i = first; i < last && own_[j] == parameter; ++i)
          own_values_(i, j) = -own_values_(i, j);
    }
  }

  void add_block(Problem& problem, double* block, const std::vector<int>& parameters) const {
    problem.add_parameter_block(block, static_cast<int>(parameters.size()));
    for (std::size_t j = 0; j < parameters.size() && !limits_.empty(); ++j) {
      const auto of_all = static_cast<std::size_t>(parameters[j]);
      problem.set_lower_bound(block, static_cast<int>(j), limits_.lower[of_all]);
      problem.set_upper_bound(block, static_cast<int>(j), limits_.upper[of_all]);
    }
  }

  void take_parameters() {
    const Summary& s = joint_.summary;
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      const std::size_t k = taking_part_[i];
      for (std::size_t j = 0; j < shared_.size(); ++j)
        out_.parameters(k, static_cast<std::size_t>(shared_[j])) = shared_values_[j];
      for (std::size_t j = 0; j < own_.size(); ++j)
        out_.parameters(k, static_cast<std::size_t>(own_[j])) = own_values_(i, j);
      for (const int j : shared_) out_.standard_errors(k, static_cast<std::size_t>(j)) = kNaN;
      for (const int j : own_) out_.standard_errors(k, static_cast<std::size_t>(j)) = kNaN;
      take_end(s, k, out_);
      out_.message[k] = is_success(s.verdict) ? std::string() : s.message;
    }
    joint_.groups = taking_part_.size();
    joint_.parameters = shared_values_;
    for (const int j : shared_) joint_.parameter_names.push_back(impl_.names[static_cast<std::size_t>(j)]);
  }

  // Computes standard errors, costs and R². Parameters on a bound count as fixed there.
  void find_statistics() {
    std::vector<int> shared;  // positions among shared_ of those that are not on a bound
    for (std::size_t j = 0; j < shared_.size(); ++j)
      if (!is_on_bound(limits_, shared_[j], shared_values_[j])) shared.push_back(static_cast<int>(j));
    Arrow arrow(shared.size(), taking_part_.size());
    std::vector<std::vector<int>> own(taking_part_.size());
    std::size_t free = shared.size();
    const Certificate& certificate = joint_.summary.certificate;
    const bool deficient = certificate.verdict == Verdict::rank_deficient;
    std::vector<Matrix> normals;  // of the groups, where J loses rank
    heavy_ = weighted() && spread_of(sorted_.back()) > kHeavyRows;
    std::vector<bool> weak(taking_part_.size(), false);  // groups that do not determine their own parameters
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      for (std::size_t j = 0; j < own_.size(); ++j)
        if (!is_on_bound(limits_, own_[j], own_values_(i, j))) own[i].push_back(static_cast<int>(j));
      free += own[i].size();
      const std::optional<Matrix> normal = normal_matrix(i, shared, own[i]);
      // A group may have no parameter that is not on a bound.
      weak[i] = !normal || !(normal->rows() == 0 || arrow.add(i, *normal));
      if (deficient && normal) normals.push_back(*normal);
    }
    const bool none_weak = std::ranges::count(weak, true) == 0;
    const bool determined = (shared.empty() || arrow.finish()) && none_weak;
    if (!determined) joint_.summary.message += "; " + why_without_errors(weak, deficient);
    if (deficient) free = std::min(free, static_cast<std::size_t>(certificate.rank));
    joint_.dof = static_cast<std::ptrdiff_t>(joint_.rows) - static_cast<std::ptrdiff_t>(free);
    joint_.chi2_reduced = joint_.dof > 0 ? joint_.rss / static_cast<double>(joint_.dof) : kNaN;
    joint_.covariance = Matrix(shared_.size(), shared_.size(), kNaN);
    joint_.standard_errors.assign(shared_.size(), kNaN);
    for (const std::size_t k : taking_part_) out_.dof[k] = joint_.dof;
    if (determined) store_errors(arrow, shared, own);
    std::vector<bool> undetermined;
    if (normals.size() == taking_part_.size())
      undetermined = undetermined_in_all(normals, shared.size(), static_cast<std::size_t>(certificate.rank));
    const Matrix errors = errors_of_groups(undetermined, shared, own);
    withdraw_doubtful(errors);
    warn(undetermined.empty() ? Matrix(errors.rows(), errors.columns()) : errors, weak);
    out_.joint = std::move(joint_);
  }

  // Returns the standard errors of the groups, by which doubt_about_end() recognises undetermined parameters.
  // If it is known which parameters are undetermined (undetermined_in_all()), these get NaN and all others 0.
  Matrix errors_of_groups(const std::vector<bool>& undetermined, const std::vector<int>& shared,
                          const std::vector<std::vector<int>>& own) const {
    Matrix errors = out_.standard_errors;
    if (undetermined.empty()) return errors;
    std::size_t next = shared.size();  // the first own parameter of the group, in `undetermined`
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      const auto note = [&](int parameter, std::size_t place) {
        errors(taking_part_[i], static_cast<std::size_t>(parameter)) = undetermined[place] ? kNaN : 0;
      };
      for (std::size_t j = 0; j < shared.size(); ++j) note(shared_[static_cast<std::size_t>(shared[j])], j);
      for (const int j : own[i]) note(own_[static_cast<std::size_t>(j)], next++);
    }
    return errors;
  }

  // Takes the certificate, which is that of all groups, back if one group's end is doubtful
  // (doubtful_end.hpp).
  void withdraw_doubtful(const Matrix& errors) {
    const std::vector<int> free = free_parameters(impl_.names, options_.fixed, {}, limits_);
    const std::shared_ptr<const CurvePrograms> programs = impl_.programs(free, ResidualForm(weighted()));
    std::vector<Doubt> doubts;
    for (const std::size_t k : taking_part_) {
      CertifiedEnd end;
      end.verdict = out_.verdict[k];
      end.names = impl_.names;
      end.start = end.parameters = {&out_.parameters(k, 0), impl_.names.size()};
      end.standard_errors = {errors.data() + k * impl_.names.size(), impl_.names.size()};
      end.unstarted = starts_.unstarted();
      end.jumps = programs->jumps;
      end.r_squared = out_.r_squared[k];
      for (std::size_t i = 0; i < free.size(); ++i) {
        const auto j = static_cast<std::size_t>(free[i]);
        const bool is_linear = std::ranges::count(programs->linear, static_cast<int>(i)) > 0;
        if (!is_linear && !is_on_bound(limits_, free[i], end.parameters[j])) end.nonlinear.push_back(j);
      }
      const std::span<const double> errors_here(&out_.standard_errors(k, 0), impl_.names.size());
      const bool light_rows_lost = outweighed_ && rests_on_weights(end, errors_here, free);
      doubts.push_back(light_rows_lost ? doubt_of_weights() : doubt_about_end(end));
    }
    const auto first = std::ranges::find_if_not(doubts, &Doubt::empty);
    if (first == doubts.end()) return;
    withdraw(joint_.summary, message_of_doubt(*first), first->governed_by);
    const Doubt of_others{fmt::format("in another group, {}", first->reason), first->advice};
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      const std::size_t k = taking_part_[i];
      out_.verdict[k] = joint_.summary.verdict;
      out_.termination[k] = joint_.summary.termination;
      out_.message[k] = message_of_doubt(doubts[i].empty() ? of_others : doubts[i]);
    }
  }

  // Stores the warnings of each group. `errors` is NaN for undetermined parameters. `weak` is true for the
  // groups whose rows do not determine their own parameters.
  void warn(const Matrix& errors, const std::vector<bool>& weak) {
    const std::vector<int> free = free_parameters(impl_.names, options_.fixed, {}, limits_);
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      const std::size_t k = taking_part_[i];
      out_.warnings[k].clear();
      if (!is_success(out_.verdict[k])) continue;
      WarnedEnd end;
      end.names = impl_.names;
      end.parameters = std::span<const double>(&out_.parameters(k, 0), impl_.names.size());
      for (const int parameter : free) {
        const auto j = static_cast<std::size_t>(parameter);
        if (is_on_bound(limits_, parameter, end.parameters[j])) end.at_bound.push_back(j);
        else if (std::isnan(errors(k, j))) end.undetermined.push_back(j);
      }
      end.verdict = out_.verdict[k];
      end.dof = joint_.dof;
      end.rss = joint_.rss;
      end.r_squared = out_.r_squared[k];
      end.scale_known = options_.absolute_sigma || options_.loss.is_counts();
      std::vector<std::string> texts = warnings_of(end);
      if (weak[i]) texts.push_back(warning_of_weak(end.verdict == Verdict::rank_deficient));
      if (!starts_.warning_of_fixed().empty()) texts.push_back(starts_.warning_of_fixed());
      out_.warnings[k] = fmt::format("{}", fmt::join(texts, "; "));
    }
  }

  void store_errors(const Arrow& arrow, const std::vector<int>& shared,
                    const std::vector<std::vector<int>>& own) {
    const double factor = options_.absolute_sigma ? 1 : joint_.chi2_reduced;
    for (std::size_t a = 0; a < shared.size(); ++a) {
      const auto j = static_cast<std::size_t>(shared[a]);
      for (std::size_t b = 0; b < shared.size(); ++b)
        joint_.covariance(j, static_cast<std::size_t>(shared[b])) = factor * arrow.shared_covariance()(a, b);
      joint_.standard_errors[j] = std::sqrt(joint_.covariance(j, j));
    }
    for (std::size_t i = 0; i < taking_part_.size(); ++i) {
      const std::size_t k = taking_part_[i];
      for (std::size_t j = 0; j < shared_.size(); ++j)
        out_.standard_errors(k, static_cast<std::size_t>(shared_[j])) = joint_.standard_errors[j];
      for (std::size_t a = 0; a < own[i].size(); ++a) {
        const auto j = static_cast<std::size_t>(own_[static_cast<std::size_t>(own[i][a])]);
        out_.standard_errors(k, j) = std::sqrt(factor * arrow.own_variance(i, a));
      }
    }
  }

  // Returns JᵀJ of a group's rows, for these shared and own parameters in this order, or nothing if the model
  // is not finite. Also stores cost and R².
  std::optional<Matrix> normal_matrix(std::size_t i, const std::vector<int>& shared,
                                      const std::vector<int>& own) {
    const std::size_t k = taking_part_[i], n = impl_.names.size();
    std::vector<Column> columns;
    for (const Column& column : sorted_) columns.push_back(groups_.part(column, k));
    std::vector<int> free = shared_;
    free.insert(free.end(), own_.begin(), own_.end());
    std::sort(free.begin(), free.end());
    WorkerLease worker(impl_, impl_.programs(free, ResidualForm(weighted())));
    worker->set(columns, {&out_.parameters(k, 0), n});
    Vector p;
    for (const int j : free) p.push_back(out_.parameters(k, static_cast<std::size_t>(j)));
    const Linearization at = worker->evaluator.linearize(p, kF64Plan);
    store_cost(k, at.cost);
    outweighed_ = outweighed_ || (heavy_ && outweighed(worker->rows, p, columns.back(), 0));
    if (!at.finite) return std::nullopt;
    std::vector<std::size_t> places;  // among `free`
    const auto add_place = [&](int parameter) {
      places.push_back(static_cast<std::size_t>(std::ranges::find(free, parameter) - free.begin()));
    };
    for (const int j : shared) add_place(shared_[static_cast<std::size_t>(j)]);
    for (const int j : own) add_place(own_[static_cast<std::size_t>(j)]);
    Matrix normal(places.size(), places.size());
    for (std::size_t a = 0; a < places.size(); ++a)
      for (std::size_t b = 0; b < places.size(); ++b) normal(a, b) = at.normal(places[a], places[b]);
    return normal;
  }

  void store_cost(std::size_t k, double cost) {
    out_.cost[k] = cost;
    out_.rss[k] = 2 * cost;
    joint_.rss += 2 * cost;
    const std::size_t first = groups_.first(k);
    const double* const sigma = weighted() ? sorted_.back().direct_f64(0) + first : nullptr;
    const double total = total_squares(&response_[first], sigma, groups_.rows(k));
    out_.r_squared[k] = total > 0 ? 1 - out_.rss[k] / total : kNaN;
  }

  bool weighted() const { return !options_.sigma.empty(); }

  const PreparedModel& model_;
  const PreparedModel::Impl& impl_;
  const Columns& x_;
  const Column& y_;
  const Column& group_;
  const NamedValues& p0_;
  const GroupOptions& options_;
  Limits limits_;
  GroupStarts starts_;
  GroupRows groups_;
  std::vector<int> shared_, own_;  // free parameters
  std::vector<std::size_t> taking_part_;
  GroupRows::Memory memory_;
  std::vector<Column> sorted_;  // predictors, y, sigma
  std::vector<double> response_, weight_, shared_values_;
  Matrix own_values_;
  // Sigma differs much between rows; and without the weights, residuals of some group are larger than
  // rounding errors.
  bool heavy_ = false, outweighed_ = false;
  JointFit joint_;
  GroupsResult out_;
};

}  // namespace

GroupsResult fit_with_shared_parameters(const PreparedModel& model, const Columns& x, const Column& y,
                                        const Column& group, const NamedValues& p0,
                                        const GroupOptions& options) {
  return SharedFit(model, x, y, group, p0, options).run();
}

}  // namespace nlsq::inline v0
