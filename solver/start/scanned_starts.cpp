// Implements scan_for_better_starts(): the search among values of the parameters, and the fits from its best.
#include "start/scanned_starts.hpp"
#include "start/fast_waves.hpp"

#include "dense/dense_algebra.hpp"
#include "fit/errors_in_x/effective_errors.hpp"
#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include <nlsq/column.hpp>
#include <nlsq/formula.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostParameters = 6, kDrawn = 300, kImproved = 6, kReturned = 3;
constexpr std::size_t kMostSums = 20000;         // of squares, in one search
constexpr std::size_t kRowsOfOneStart = 100000;  // with more rows, a fit is made from one other start only
constexpr int kRounds = 3, kIterations = 200;    // of an improvement; of a fit from another start

constexpr std::size_t kMostRows = 128;
constexpr double kLittleHigher = 0.01;  // of a cost

// Returns the numbers of the rows, in the order of the first predictor.
std::vector<std::size_t> rows_of_sample(const RowSource& data) {
  const std::size_t all = data.rows(), count = std::min(all, kMostRows);
  std::vector<std::size_t> rows(count);
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = i * all / count;
    data.read(rows[i], 1, 0, &x[i]);
  }
  std::vector<std::size_t> order(count), out;
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  for (const std::size_t i : order) out.push_back(rows[i]);
  return out;
}

// Returns by how much linear parameters can lower the sum of squares of r. `columns` holds the change of the
// residuals by each of them at the value 1. The result is infinite if the columns depend on each other.
double explained(const std::vector<std::vector<double>>& columns, const std::vector<double>& r) {
  constexpr double kDependent = 1e-12;
  const std::size_t n = columns.size(), rows = r.size();
  std::vector<double> gram(n * n), right(n), scale(n);
  for (std::size_t a = 0; a < n; ++a) {
    scale[a] = dense::norm(columns[a].data(), rows);
    right[a] = dense::dot(columns[a].data(), r.data(), rows) / scale[a];
    for (std::size_t b = 0; b <= a; ++b)
      gram[b * n + a] = gram[a * n + b] =
          dense::dot(columns[a].data(), columns[b].data(), rows) / (scale[a] * scale[b]);
  }
  if (!dense::cholesky(gram.data(), n)) return kInfinity;
  for (std::size_t a = 0; a < n; ++a)
    if (!(gram[a * n + a] * gram[a * n + a] > kDependent)) return kInfinity;
  dense::solve_lower(gram.data(), n, right.data());
  return dense::dot(right.data(), right.data(), n);
}

// Holds some rows of a formula's data, by which starting values are judged.
class StartSample {
 public:
  // Takes at most 128 rows, spread over all of them. The first columns of `data` are the predictors, then
  // comes y, and then sigma if `weighted` is true. `linear` lists the parameters that enter the formula
  // linearly, by their numbers among all parameters.
  StartSample(const Formula& formula, const RowSource& data, bool weighted, std::vector<int> linear);

  std::size_t rows() const { return y_.size(); }
  // Returns the sum of squared residuals with these parameters, where the linear ones take their best values.
  // It is infinite if it is not finite, if the columns of linear parameters depend on each other, or if waves
  // are too fast for the rows.
  double squares(std::vector<double> parameters) const;

 private:
  bool waves_are_slow(std::span<const double> parameters) const;
  std::vector<double> values_of(const Formula& formula, std::span<const double> parameters) const;

  const Formula& formula_;
  std::vector<int> linear_;
  std::vector<std::vector<double>> x_;
  std::vector<double> y_, weights_;
  std::vector<Formula> phases_;  // the arguments of sine, cosine and tangent; none if there are several x
};

StartSample::StartSample(const Formula& formula, const RowSource& data, bool weighted,
                         std::vector<int> linear)
    : formula_(formula), linear_(std::move(linear)) {
  const std::vector<std::size_t> rows = rows_of_sample(data);
  const auto read = [&](std::size_t column) {
    std::vector<double> out(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) data.read(rows[i], 1, static_cast<int>(column), &out[i]);
    return out;
  };
  const std::size_t predictors = formula.predictors.size();
  for (std::size_t k = 0; k < predictors; ++k) x_.push_back(read(k));
  y_ = read(predictors);
  weights_.assign(rows.size(), 1.0);
  if (weighted) {
    const std::vector<double> sigma = read(predictors + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] = 1 / sigma[i];
  }
  if (predictors == 1) phases_ = wave_arguments(formula);
}

std::vector<double> StartSample::values_of(const Formula& formula, std::span<const double> parameters) const {
  std::vector<const double*> x;
  for (const std::vector<double>& column : x_) x.push_back(column.data());
  std::vector<double> out(rows());
  formula.evaluate_rows(x, parameters, rows(), out.data());
  return out;
}

bool StartSample::waves_are_slow(std::span<const double> parameters) const {
  return std::ranges::all_of(phases_,
                             [&](const Formula& one) { return advances_slowly(values_of(one, parameters)); });
}

double StartSample::squares(std::vector<double> parameters) const {
  // The linear parameters are 0 at first. Residuals are then about as large as y, so that few digits are lost
  // when the part that these parameters explain is subtracted.
  for (const int j : linear_) parameters[static_cast<std::size_t>(j)] = 0;
  if (rows() > 1 && !phases_.empty() && !waves_are_slow(parameters)) return kInfinity;
  const std::vector<double> base = values_of(formula_, parameters);
  std::vector<double> r(rows());
  for (std::size_t i = 0; i < rows(); ++i) r[i] = (base[i] - y_[i]) * weights_[i];
  std::vector<std::vector<double>> columns;
  for (const int j : linear_) {
    double& parameter = parameters[static_cast<std::size_t>(j)];
    parameter = 1;
    columns.push_back(values_of(formula_, parameters));
    parameter = 0;
    for (std::size_t i = 0; i < rows(); ++i) columns.back()[i] = (columns.back()[i] - base[i]) * weights_[i];
  }
  const double left = dense::dot(r.data(), r.data(), rows()) - explained(columns, r);
  return left >= 0 && std::isfinite(left) ? left : kInfinity;
}

// Adds values for places in the range and a little outside, for lengths that are parts of its width, and for
// rates.
void add_values(const ColumnRange& range, std::vector<double>& values) {
  for (const double place : {-0.5, -0.2, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2, 1.5})
    values.push_back(range.least + place * range.width());
  for (const double part : {0.02, 0.06, 0.2, 0.6}) {
    const double length = part * range.width();
    values.push_back(length);
    values.push_back(-length);
    values.push_back(length * length);
  }
  for (const double rate : {0.3, 1.0, 3.0, 10.0, 30.0}) {
    values.push_back(rate / range.width());
    values.push_back(-rate / range.width());
  }
}

// Adds values for waves with 1 to `halves` half periods in the range: their frequencies, per unit of x and
// per radian, and their periods.
void add_waves(const ColumnRange& range, std::size_t halves, std::vector<double>& values) {
  for (std::size_t k = 1; k <= halves; ++k) {
    const double frequency = 0.5 * static_cast<double>(k) / range.width();
    for (const double value : {frequency, 2 * std::numbers::pi * frequency}) {
      values.push_back(value);
      values.push_back(1 / value);
    }
  }
}

// Holds the values that one parameter may take. Draws use common values; an improvement tries all.
struct Choices {
  std::size_t parameter = 0;
  std::vector<double> common, waves;
};

std::vector<Choices> choices_of(const Curve& curve, const std::vector<int>& linear, std::size_t rows) {
  std::vector<double> common{0.5, 1, 2, 3, -0.5, -1, -2, -3}, waves;
  for (int k = 0; k < curve.predictors; ++k) {
    const ColumnRange range = range_of(Column(*curve.data, static_cast<std::size_t>(k)));
    if (!(range.width() > 0) || !std::isfinite(range.width())) continue;
    add_values(range, common);
    add_waves(range, rows, waves);
  }
  std::vector<Choices> out;
  for (std::size_t k = 0; k < curve.free.size(); ++k) {
    const auto j = static_cast<std::size_t>(curve.free[k]);
    const bool unstarted = std::ranges::count(curve.unstarted, curve.names[j]) > 0;
    if (!unstarted || std::ranges::count(linear, static_cast<int>(k)) > 0) continue;
    const auto forbidden = [&](double value) { return !curve.limits.allow(k, value); };
    Choices choices{j, common, waves};
    std::erase_if(choices.common, forbidden);
    std::erase_if(choices.waves, forbidden);
    if (!choices.common.empty()) out.push_back(std::move(choices));
  }
  return out;
}

struct Tried {
  std::vector<double> parameters;  // all of them
  double squares = kInfinity;
};

class Search {
 public:
  Search(const Curve& curve, const std::vector<int>& linear)
      : curve_(curve), sample_(*curve.formula, *curve.data, curve.form.weighted, curve.free_at(linear)),
        choices_(choices_of(curve, linear, sample_.rows())) {}

  // Returns up to three starts of all parameters, the best first.
  std::vector<std::vector<double>> starts() {
    if (choices_.empty() || choices_.size() > kMostParameters) return {};
    std::vector<Tried> tried = drawn();
    tried.resize(kImproved);
    for (Tried& one : tried) improve(one);
    std::ranges::stable_sort(tried, {}, &Tried::squares);
    std::vector<std::vector<double>> out;
    for (Tried& one : tried) {
      const bool known = std::ranges::find(out, one.parameters) != out.end();
      if (std::isfinite(one.squares) && !known && out.size() < kReturned)
        out.push_back(std::move(one.parameters));
    }
    return out;
  }

 private:
  double squares_at(std::vector<double> parameters) {
    ++sums_;
    curve_.ties.apply(parameters);
    return sample_.squares(std::move(parameters));
  }

  // Returns combinations that are drawn at random, the best first.
  std::vector<Tried> drawn() {
    std::mt19937 random(1);
    std::vector<Tried> tried(kDrawn);
    for (Tried& one : tried) {
      one.parameters = curve_.start;
      for (const Choices& c : choices_) one.parameters[c.parameter] = c.common[random() % c.common.size()];
      one.squares = squares_at(one.parameters);
    }
    std::ranges::stable_sort(tried, {}, &Tried::squares);
    return tried;
  }

  // Improves one parameter at a time, as long as this helps. Values that fit better by less than one per
  // mille do not count as better, so that waves stay as slow as they can be.
  void improve(Tried& best) {
    constexpr double kBetter = 0.999;
    bool better = true;
    for (int round = 0; round < kRounds && better && sums_ < kMostSums; ++round) {
      better = false;
      for (const Choices& one : choices_) {
        Tried tried = best;
        const auto try_value = [&](double value) {
          tried.parameters[one.parameter] = value;
          tried.squares = squares_at(tried.parameters);
          if (!(tried.squares < kBetter * best.squares)) return;
          best = tried;
          better = true;
        };
        std::ranges::for_each(one.common, try_value);
        std::ranges::for_each(one.waves, try_value);
      }
    }
  }

  const Curve& curve_;
  StartSample sample_;
  std::vector<Choices> choices_;
  std::size_t sums_ = 0;  // of squares
};

bool has_fast_wave(const Curve& curve, const std::vector<Formula>& waves, const MinimizerResult& end) {
  if (waves.empty() || end.summary.termination == Termination::failure) return false;
  std::vector<double> parameters = curve.start;
  curve.put(end.x, parameters);
  return has_fast_wave(waves, Column(*curve.data, 0), parameters);
}

bool is_good(const MinimizerResult& end) { return is_good_end(end.summary.verdict); }

bool failed(const MinimizerResult& end) {
  return end.summary.termination == Termination::failure || !std::isfinite(end.summary.final_cost);
}

// Returns true if other starts should be tried after this end. `fast` says that the end has a wave that is
// too fast for the rows.
bool worth_scanning(const Curve& curve, const MinimizerResult& end, bool fast) {
  constexpr int kFewIterations = 100;  // A caller who allows fewer wants no search.
  const FitOptions& o = curve.options;
  const bool free_of_limits = o.starts == 1 && o.max_seconds <= 0 && o.max_iterations >= kFewIterations;
  if (curve.formula == nullptr || curve.unstarted.empty() || !free_of_limits) return false;
  if (curve.response || curve.form.loss.is_counts() || end.spent == Termination::user_stop) return false;
  const double squares = curve.form.x_errors.empty() ? curve.survey->total_squares()
                                                     : effective_sums(curve, end.x).total_squares;
  if (!(squares > 0)) return false;  // y does not vary
  return fast || !is_good(end) || 2 * end.summary.final_cost > kUnexplained * squares;
}

bool ends_better(const MinimizerResult& end, const MinimizerResult& other) {
  if (failed(end) || failed(other)) return !failed(end);
  const Summary &s = end.summary, &o = other.summary;
  return ends_better(s.verdict, s.final_cost, o.verdict, o.final_cost);
}

}  // namespace

bool is_good_end(Verdict verdict) { return is_success(verdict) && verdict != Verdict::rank_deficient; }

bool fits_as_well(Verdict verdict, double cost, double others, std::size_t rows, std::size_t parameters) {
  // A parameter that moves by two standard errors raises the sum of squares by four variances of a residual.
  constexpr double kSquares = 4;
  const double freedom = rows > parameters ? static_cast<double>(rows - parameters) : 1;
  return is_good_end(verdict) && cost <= (1 + std::min(kLittleHigher, kSquares / freedom)) * others;
}

bool ends_better(Verdict verdict, double cost, Verdict other, double others) {
  constexpr double kSame = 1e-6;
  if (is_good_end(verdict) == is_good_end(other)) return cost < (1 - kSame) * others;
  return is_good_end(verdict) && cost <= (1 + kLittleHigher) * others;
}

void scan_for_better_starts(Curve& curve, const std::vector<int>& linear, const SolveRequest& request,
                            const SolveFunction& solve_one, MinimizerResult& minimum,
                            std::vector<std::string>& warnings) {
  const std::vector<Formula> waves =
      curve.formula ? unstarted_waves(*curve.formula, curve.unstarted) : std::vector<Formula>();
  bool fast = has_fast_wave(curve, waves, minimum);
  if (!worth_scanning(curve, minimum, fast)) {
    if (fast) warnings.emplace_back(kFastWave);
    return;
  }
  std::vector<std::vector<double>> starts = Search(curve, linear).starts();
  if (curve.data->rows() > kRowsOfOneStart && starts.size() > 1) starts.resize(1);
  SolverOptions options = request.options;
  options.max_iterations = std::min(kIterations, options.max_iterations);
  std::vector<double> best = curve.start;
  double lowest = kInfinity;
  for (std::vector<double>& start : starts) {
    curve.start = std::move(start);
    SolveRequest from = request.with(options);
    from.x0 = curve.free_start();
    MinimizerResult end = solve_one(from);
    if (end.spent == Termination::user_stop) {
      if (!is_good(minimum)) minimum = std::move(end), best = curve.start;
      break;
    }
    if (!failed(end)) lowest = std::min(lowest, end.summary.final_cost);
    const bool fast_there = has_fast_wave(curve, waves, end),
               slower = fast && !fast_there && !failed(end) &&
                        fits_as_well(end.summary.verdict, end.summary.final_cost, minimum.summary.final_cost,
                                     curve.data->rows(), curve.free.size());
    if (!slower && !ends_better(end, minimum)) continue;
    fast = fast_there;
    minimum = std::move(end);
    best = curve.start;
  }
  curve.start = std::move(best);
  if (fast) warnings.emplace_back(kFastWave);
  constexpr double kFarLower = 0.5;
  if (is_good(minimum) && lowest < kFarLower * minimum.summary.final_cost) {
    warnings.push_back(
        "another start leads to a cost below half of this, without a certificate: try --starts 32, or give "
        "starting values");
  }
}

}  // namespace nlsq::inline v0
