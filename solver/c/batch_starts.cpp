// Makes the starting values of a batch, and fits again from others what ended badly.
#include "c/batch_starts.hpp"

#include "c/errors.hpp"
#include "dense/data_survey.hpp"
#include "expression/names.hpp"
#include "fit/prepared_impl.hpp"
#include "start/fast_waves.hpp"
#include "start/scanned_starts.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace nlsq::inline v0::c {

namespace {

// The starting values that the caller gave, a row for each fit or one for all.
class GivenStarts {
 public:
  GivenStarts(const double* p0, std::size_t p0_fits, std::size_t fits, std::size_t parameters)
      : p0_(p0), fits_(p0_fits), parameters_(parameters) {
    if (p0_fits != 0 && p0_fits != 1 && p0_fits != fits)
      throw ArgumentError(
          fmt::format("p0_fits is {}: give starting values of 1 fit or of {}", p0_fits, fits));
    if (p0_fits > 0) required(p0, "p0");
  }

  // Returns the value of parameter j for fit f; NaN if none is given.
  double operator()(std::size_t f, std::size_t j) const {
    return fits_ == 0 ? kNaN : p0_[(fits_ == 1 ? 0 : f) * parameters_ + j];
  }
  bool differ() const { return fits_ > 1; }
  bool complete() const {
    return fits_ > 0 && std::none_of(p0_, p0_ + fits_ * parameters_, [](double v) { return std::isnan(v); });
  }

  // Throws ValidationError if a tied parameter has a value.
  void check(const std::vector<std::string>& names, const Ties& ties) const {
    for (std::size_t j = 0; j < parameters_; ++j) {
      const std::string expression = ties.expression(static_cast<int>(j));
      for (std::size_t f = 0; f < fits_ && !expression.empty(); ++f) {
        if (!std::isnan((*this)(f, j)))
          throw ValidationError(
              fmt::format("p0: {0} = {1}: '{0}' is tied ({0} = {2}) and has no start of its own", names[j],
                          (*this)(f, j), expression));
      }
    }
  }

 private:
  const double* p0_;
  std::size_t fits_, parameters_;
};

}  // namespace

BatchStarts batch_starts(const CallerModel& model, const BatchData& data, const double* p0,
                         std::size_t p0_fits, const FitOptions& options, const Limits& limits,
                         const Ties& ties, const NamedValues& fixed, std::size_t free) {
  const std::size_t n = model.parameters.size();
  const GivenStarts given(p0, p0_fits, data.fits, n);
  given.check(model.parameters, ties);
  const bool guesses = !given.complete() && model.has_guess();
  // Returns the start of fit f: given and fixed values, and the guess within the limits for the others.
  const auto imposed = [&](std::vector<double> start, std::size_t f) {
    for (std::size_t j = 0; j < n; ++j)
      start[j] = std::isnan(given(f, j)) ? limits.nearest(j, start[j]) : given(f, j);
    for (const auto& [name, value] : fixed) start[parameter_index(model.parameters, name, "fixed")] = value;
    ties.apply(start);
    return start;
  };
  const auto guess = [&](std::size_t f, std::string& warning) {
    return model.guess(
        data.predictors(f), data.y[f], data.sigma_of(f), options.loss,
        [&](const std::vector<double>& guessed) { return imposed(guessed, f); }, warning);
  };
  const std::vector<double> fallback = default_start(n, limits);
  BatchStarts out{Matrix(guesses || given.differ() ? data.fits : 1, n), {}, {}};
  if (!guesses && !given.complete()) out.unstarted.assign(out.P0.rows() * n, false);
  for (std::size_t f = 0; f < out.P0.rows(); ++f) {
    std::string warning;
    const bool guessed = guesses && data.y[f].size() >= free;  // a fit with fewer rows will be FAILED
    const std::vector<double> start = imposed(guessed ? guess(f, warning) : fallback, f);
    if (!warning.empty()) out.warnings[f] = std::move(warning);
    for (std::size_t j = 0; j < n; ++j) {
      out.P0(f, j) = start[j];
      if (!out.unstarted.empty() && std::isnan(given(f, j))) out.unstarted[f * n + j] = true;
    }
  }
  return out;
}

namespace {

// Returns the columns of these fits.
ColumnPerFit chosen(const ColumnPerFit& all, const std::vector<std::size_t>& fits) {
  if (all.empty() || all.shared()) return all;
  std::vector<Column> columns;
  for (const std::size_t f : fits) columns.push_back(all[f]);
  return ColumnPerFit(std::move(columns));
}

// Stores the result of fit k of one batch as that of fit f of another batch.
void replace(BatchResult& from, std::size_t k, std::size_t f, BatchResult& to) {
  const std::size_t n = to.parameter_names.size();
  std::copy_n(&from.parameters(k, 0), n, &to.parameters(f, 0));
  std::copy_n(&from.standard_errors(k, 0), n, &to.standard_errors(f, 0));
  to.cost[f] = from.cost[k];
  to.decrement_sigma[f] = from.decrement_sigma[k];
  to.termination[f] = from.termination[k];
  to.iterations[f] = from.iterations[k];
  to.certified += is_success(from.verdict[k]) ? 1 : 0;
  to.certified -= is_success(to.verdict[f]) ? 1 : 0;
  to.verdict[f] = from.verdict[k];
  for (auto texts : {&BatchResult::message, &BatchResult::warnings}) {
    (to.*texts).erase(f);
    if (const auto text = (from.*texts).find(k); text != (from.*texts).end()) (to.*texts)[f] = text->second;
  }
}

// Holds the fits of a batch that ended badly, and makes them again from other starts.
class PoorFits {
 public:
  PoorFits(const CallerModel& model, const BatchData& data, const BatchStarts& starts,
           const BatchOptions& batch, const std::function<bool()>& stopped, BatchResult& result)
      : model_(model), data_(data), starts_(starts), options_(batch), result_(result),
        tried_(data.fits, false) {
    options_.progress = [stopped](std::size_t, std::size_t) { return !stopped(); };
    for (const std::string& name : model.parameters) {
      tied_.push_back(is_tied(options_.ties, name));
      fixed_.push_back(std::ranges::find(options_.fixed, name) != options_.fixed.end());
    }
    if (const std::optional<Formula> formula = model.prepared->impl().as_formula())
      waves_ = unstarted_waves(*formula, unstarted_in_some_fit());
    for (std::size_t f = 0; f < data_.fits; ++f)
      if (has_unstarted(f) && is_poor(f)) poor_.push_back(f);
  }

  // Returns a fit whose start has not been looked for.
  std::optional<std::size_t> next() const {
    const auto found = std::ranges::find_if(poor_, [&](std::size_t f) { return !tried_[f]; });
    return found == poor_.end() ? std::nullopt : std::optional(*found);
  }

  // Looks for the start of fit f in its data, and fits the poor ones from there. Returns true if at least a
  // tenth of them are no longer poor.
  bool improve_from(std::size_t f) {
    tried_[f] = true;
    FitOptions options = options_;
    options.sigma = data_.sigma_of(f);
    const FitResult one = curve_fit(*model_.prepared, data_.predictors(f), data_.y[f], given(f), options);
    if (!is_better(one.summary.verdict, one.summary.final_cost, one.parameters, f)) return false;
    fit_from(one.parameters);
    const std::size_t before = poor_.size();
    return 10 * std::erase_if(poor_, [&](std::size_t k) { return !is_poor(k); }) >= before;
  }

 private:
  std::size_t parameters() const { return model_.parameters.size(); }
  std::size_t row(std::size_t f) const { return starts_.P0.rows() == 1 ? 0 : f; }
  // Returns true if a start of parameter j is to be looked for.
  bool unstarted(std::size_t f, std::size_t j) const {
    return !tied_[j] && !fixed_[j] && starts_.unstarted[row(f) * parameters() + j];
  }
  // Returns the names of the parameters whose start is to be looked for in some fit.
  std::vector<std::string> unstarted_in_some_fit() const {
    std::vector<std::string> names;
    for (std::size_t f = 0; f < starts_.P0.rows(); ++f) {
      for (std::size_t j = 0; j < parameters(); ++j) {
        const std::string& name = model_.parameters[j];
        if (unstarted(f, j) && std::ranges::count(names, name) == 0) names.push_back(name);
      }
    }
    return names;
  }
  bool has_unstarted(std::size_t f) const {
    for (std::size_t j = 0; j < parameters(); ++j)
      if (unstarted(f, j)) return true;
    return false;
  }

  bool is_poor(std::size_t f) const {
    if (!std::isfinite(result_.cost[f]) || result_.termination[f] == Termination::user_stop) return false;
    const double total = total_squares(data_.y[f], data_.sigma_of(f));
    return total > 0 && (!is_good_end(result_.verdict[f]) || 2 * result_.cost[f] > kUnexplained * total ||
                         has_fast_wave_at(f, {&result_.parameters(f, 0), parameters()}));
  }

  // Returns true if a wave of fit f is too fast for its rows with these parameters.
  bool has_fast_wave_at(std::size_t f, std::span<const double> values) const {
    return has_fast_wave(waves_, data_.x[0][f], values);
  }

  // Returns true if a result is better than that of fit f. Of two waves that fit alike, the slower is better.
  bool is_better(Verdict verdict, double cost, std::span<const double> values, std::size_t f) const {
    if (ends_better(verdict, cost, result_.verdict[f], result_.cost[f])) return true;
    return fits_as_well(verdict, cost, result_.cost[f], data_.y[f].size(), parameters()) &&
           has_fast_wave_at(f, {&result_.parameters(f, 0), parameters()}) && !has_fast_wave_at(f, values);
  }

  // Returns the starting values that the caller gave, and those of fixed parameters.
  NamedValues given(std::size_t f) const {
    NamedValues out;
    for (std::size_t j = 0; j < parameters(); ++j)
      if (!tied_[j] && !unstarted(f, j)) out.emplace_back(model_.parameters[j], starts_.P0(row(f), j));
    return out;
  }

  // Repeats the poor fits with these values of the parameters without a start.
  void fit_from(const std::vector<double>& found) {
    Matrix P0(poor_.size(), parameters());
    options_.unstarted.clear();
    for (std::size_t k = 0; k < poor_.size(); ++k) {
      for (std::size_t j = 0; j < parameters(); ++j) {
        options_.unstarted.push_back(unstarted(poor_[k], j));
        P0(k, j) = unstarted(poor_[k], j) ? found[j] : starts_.P0(row(poor_[k]), j);
      }
    }
    std::vector<ColumnPerFit> x;
    for (const ColumnPerFit& column : data_.x) x.push_back(chosen(column, poor_));
    options_.sigma_per_fit = chosen(data_.sigma, poor_);
    BatchResult again = curve_fit_batch(*model_.prepared, x, chosen(data_.y, poor_), P0, options_);
    for (std::size_t k = 0; k < poor_.size(); ++k) {
      const std::size_t f = poor_[k];
      const std::span<const double> parameters_of_k(&again.parameters(k, 0), parameters());
      if (is_better(again.verdict[k], again.cost[k], parameters_of_k, f)) replace(again, k, f, result_);
    }
    result_.counters.add(again.counters);
  }

  const CallerModel& model_;
  const BatchData& data_;
  const BatchStarts& starts_;
  BatchOptions options_;
  BatchResult& result_;
  std::vector<Formula> waves_;      // arguments of waves with a parameter without a start
  std::vector<bool> tied_, fixed_;  // by parameters
  std::vector<bool> tried_;         // by fits
  std::vector<std::size_t> poor_;
};

}  // namespace

void improve_poor_fits(const CallerModel& model, const BatchData& data, const BatchStarts& starts,
                       const BatchOptions& batch, const std::function<bool()>& stopped, BatchResult& result) {
  constexpr int kMostSearches = 4, kMostInVain = 2;
  const PreparedModel::Impl& impl = model.prepared->impl();
  const bool searched = impl.has_programs() && !(impl.formula && impl.formula->has_left_side);
  if (starts.unstarted.empty() || !searched || batch.loss.is_counts()) return;
  PoorFits fits(model, data, starts, batch, stopped, result);
  for (int k = 0, in_vain = 0; k < kMostSearches && in_vain < kMostInVain; ++k) {
    const std::optional<std::size_t> f = fits.next();
    if (!f || stopped()) return;
    if (!fits.improve_from(*f)) ++in_vain;
  }
}

}  // namespace nlsq::inline v0::c
