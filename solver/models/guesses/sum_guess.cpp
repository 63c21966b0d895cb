// Implements sum_guess(): peels the data term by term, and improves the whole by short fits.
#include "models/guesses/sum_guess.hpp"

#include "expression/names.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace nlsq::inline v0::guessing {
namespace {

// The values of the model's parameters in the sum's, with 0 for its constant; and back.
std::vector<double> own_values(const Part& part, const std::vector<double>& all) {
  std::vector<double> own;
  for (const std::size_t at : part.of_sum) own.push_back(at == Part::npos ? 0 : all[at]);
  return own;
}

void set_values(const Part& part, const std::vector<double>& own, std::vector<double>& all) {
  for (std::size_t j = 0; j < own.size(); ++j)
    if (part.of_sum[j] != Part::npos) all[part.of_sum[j]] = own[j];
}

// The values of one part's formula on the sample, with the sum's parameters. `constant`: the index of
// the shared constant among them, which the formula of a step from one level to another has, too.
std::vector<double> values_of(const Part& part, const Sample& sample, const std::vector<double>& all,
                              std::size_t constant) {
  std::vector<double> out(sample.rows(), 0.0), own;
  if (part.term.formula.empty()) return out;
  for (const std::string& name : part.formula.parameters) {
    if (name == kSharedConstant) {
      own.push_back(all[constant]);
      continue;
    }
    const std::string plain = name.substr(part.term.label.size() + 1);
    const auto j = static_cast<std::size_t>(std::ranges::find(part.model->parameters, plain) -
                                            part.model->parameters.begin());
    own.push_back(all[part.of_sum[j]]);
  }
  const std::vector<const double*> x = {sample.x.data(), sample.x2.data()};
  part.formula.evaluate_rows(std::span(x).first(static_cast<std::size_t>(part.model->predictors)), own,
                             sample.rows(), out.data());
  for (double& v : out)
    if (!std::isfinite(v)) v = 0;
  return out;
}

// The state of peeling: the sum's parameters, the values of each part, and the constant.
struct Peeled {
  std::vector<double> parameters;
  std::vector<std::vector<double>> values;
  double constant = 0, rss = std::numeric_limits<double>::infinity();
};

class SumGuess {
 public:
  // `constant`: the index of the shared constant among the sum's parameters, or npos.
  SumGuess(std::vector<Part> parts, Formula formula, std::size_t constant)
      : parts_(std::move(parts)), formula_(std::move(formula)), constant_(constant) {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      std::vector<const Part*> others;
      for (std::size_t i = 0; i < parts_.size(); ++i)
        if (i != k) others.push_back(&parts_[i]);
      const std::string text = join(others);
      without_.push_back(text.empty() ? Formula{}
                                      : parse_formula(text, predictor_options(static_cast<std::size_t>(
                                                                parts_[k].model->predictors))));
    }
  }

  // Guesses each term from what the others leave of the data, twice round, and improves all together by a
  // short fit. The order matters: a slope first hides a broad peak, a peak first may take the slope. So both
  // orders are tried. Then each term is guessed anew beside the others, as long as that leads to a lower sum
  // of squares: a peak that sits on another's shoulder finds the peak that was missed.
  std::vector<double> operator()(const Sample& sample) const {
    constexpr int kSweeps = 3;
    constexpr std::size_t kMostFirst = 4;
    constexpr double kLower = 1 - 1e-6;
    Peeled best;
    std::vector<std::size_t> order(parts_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (int way = 0; way < 2; ++way) {
      for (std::size_t first = 0; first < std::min(order.size(), kMostFirst); ++first) {
        Peeled now = peel(sample, order);
        if (best.parameters.empty() || now.rss < best.rss) best = std::move(now);
        std::ranges::rotate(order, order.begin() + 1);
      }
      std::ranges::reverse(order);
    }
    bool lower = parts_.size() > 1;
    for (int sweep = 0; sweep < kSweeps && lower; ++sweep) {
      lower = false;
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        Peeled now = best;
        improve(sample, now, k);
        guess_part(sample, k, now);
        improve(sample, now);
        if (!(now.rss < kLower * best.rss)) continue;
        best = std::move(now);
        lower = true;
      }
    }
    sort_peaks(best.parameters);
    return best.parameters;
  }

 private:
  // Puts peaks of one model that follow each other in the sum in the order of their places, the leftmost
  // first.
  void sort_peaks(std::vector<double>& all) const {
    for (std::size_t first = 0; first < parts_.size();) {
      const Model& model = *parts_[first].model;
      std::size_t end = first;
      while (end < parts_.size() && parts_[end].model == &model) ++end;
      const auto place = std::ranges::find_if(
          model.parameters, [](const std::string& name) { return name == "mu" || name == "x0"; });
      if (place != model.parameters.end()) {
        const auto j = static_cast<std::size_t>(place - model.parameters.begin());
        std::vector<std::vector<double>> peaks;
        for (std::size_t k = first; k < end; ++k) peaks.push_back(own_values(parts_[k], all));
        std::ranges::stable_sort(peaks, {}, [j](const auto& peak) { return peak[j]; });
        for (std::size_t k = first; k < end; ++k) set_values(parts_[k], peaks[k - first], all);
      }
      first = end;
    }
  }

  Peeled peel(const Sample& sample, const std::vector<std::size_t>& order) const {
    constexpr int kRounds = 2;
    Peeled now;
    now.parameters.assign(formula_.parameters.size(), 1.0);
    now.values.assign(parts_.size(), std::vector<double>(sample.rows(), 0.0));
    for (int round = 0; round < kRounds; ++round)
      for (const std::size_t k : order) guess_part(sample, k, now);
    improve(sample, now);
    return now;
  }

  // A short fit of the whole sum to the sample, or of the sum without term `without`, which becomes zero.
  void improve(const Sample& sample, Peeled& now, std::size_t without = Part::npos) const {
    constexpr int kSteps = 15;
    const Formula& formula = without == Part::npos ? formula_ : without_[without];
    if (constant_ != Part::npos) now.parameters[constant_] = now.constant;
    FitOptions options;
    options.max_iterations = kSteps;
    options.precision = PrecisionPolicy::all_f64();
    options.threads = 1;
    NamedValues p0;
    std::vector<std::size_t> places;
    for (const std::string& name : formula.parameters) {
      places.push_back(static_cast<std::size_t>(std::ranges::find(formula_.parameters, name) -
                                                formula_.parameters.begin()));
      p0.emplace_back(name, now.parameters[places.back()]);
    }
    std::vector<Column> x = {sample.x};
    if (parts_.front().model->predictors > 1) x.emplace_back(sample.x2);
    try {
      const FitResult fit = curve_fit(formula, Columns(x), sample.y, p0, options);
      for (std::size_t j = 0; j < places.size(); ++j) now.parameters[places[j]] = fit.parameters[j];
    } catch (const Error&) {  // not defined there: the guess stays as it is
    }
    if (constant_ != Part::npos) now.constant = now.parameters[constant_];
    now.rss = 0;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (k == without) now.values[k].assign(sample.rows(), 0.0);
      else now.values[k] = values_of(parts_[k], sample, now.parameters, constant_);
    }
    for (std::size_t i = 0; i < sample.rows(); ++i) {
      const double r = sample.y[i] - fitted(now, i);
      now.rss += r * r;
    }
    if (std::isnan(now.rss)) now.rss = std::numeric_limits<double>::infinity();
  }

  void guess_part(const Sample& sample, std::size_t k, Peeled& now) const {
    const Part& part = parts_[k];
    std::vector<double> rest(sample.rows());
    for (std::size_t i = 0; i < rest.size(); ++i) {
      rest[i] = sample.y[i] - fitted(now, i) + now.values[k][i];
      if (part.constant != Part::npos) rest[i] += now.constant;
    }
    std::vector<std::span<const double>> x = {sample.x};
    if (part.model->predictors > 1) x.emplace_back(sample.x2);
    const std::vector<double> own = part.model->guess(x, rest).values;
    if (part.constant != Part::npos) now.constant = now.parameters[constant_] = own[part.constant];
    set_values(part, own, now.parameters);
    now.values[k] = values_of(part, sample, now.parameters, constant_);
  }

  double fitted(const Peeled& now, std::size_t i) const {
    double sum = now.constant;
    for (const auto& values : now.values) sum += values[i];
    return sum;
  }

  std::vector<Part> parts_;
  Formula formula_;
  std::vector<Formula> without_;  // the sum without each of its terms
  std::size_t constant_;
};

}  // namespace

std::string join(std::span<const Part* const> parts) {
  std::string out;
  bool constant = false;
  for (const Part* part : parts) {
    constant = constant || part->constant != Part::npos;
    const std::string& term = part->term.formula;
    if (!term.empty()) out += (out.empty() || term.front() == '-' ? "" : "+") + term;
  }
  if (constant && !out.empty()) out += '+';
  if (constant) out += kSharedConstant;
  return out;
}

GuessRule sum_guess(std::vector<Part> parts, Formula formula, std::size_t constant) {
  return SumGuess(std::move(parts), std::move(formula), constant);
}

}  // namespace nlsq::inline v0::guessing
