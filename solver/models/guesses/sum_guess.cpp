// Implements sum_guess(): peels the data term by term, and improves the whole by short fits.
#include "models/guesses/sum_guess.hpp"

#include "expression/names.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
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

std::optional<std::size_t> find_name(const Model& model, std::initializer_list<std::string_view> names) {
  for (std::size_t j = 0; j < model.parameters.size(); ++j)
    if (std::ranges::find(names, model.parameters[j]) != names.end()) return j;
  return std::nullopt;
}

// Which parameter of the model is the place of a peak or a step, and which is its width.
std::optional<std::size_t> place_of(const Model& model) { return find_name(model, {"mu", "x0"}); }
std::optional<std::size_t> width_of(const Model& model) {
  return find_name(model, {"sigma", "gamma", "w", "alpha"});
}

// Whether the part is a peak: it vanishes far from its place on both sides, as a step does not.
bool is_peak(const Part& part) {
  if (!place_of(*part.model) || !width_of(*part.model)) return false;
  constexpr double kFar = 1e6;
  std::vector<double> middle(part.formula.parameters.size(), 1.0);
  const double left = -kFar, centre = 1, right = kFar;
  const auto value = [&](const double& x) { return std::fabs(part.formula.evaluate({&x, 1}, middle)); };
  return std::max(value(left), value(right)) <= 1e-3 * value(centre);
}

// The rows of the sample for which `wanted` holds.
template <class Wanted>
Sample rows_where(const Sample& sample, Wanted wanted) {
  Sample out;
  for (std::size_t i = 0; i < sample.rows(); ++i) {
    if (!wanted(i)) continue;
    out.x.push_back(sample.x[i]);
    out.y.push_back(sample.y[i]);
    if (!sample.x2.empty()) out.x2.push_back(sample.x2[i]);
    if (!sample.weight.empty()) out.weight.push_back(sample.weight[i]);
  }
  out.measure();
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
      (is_peak(parts_[k]) ? peaks_ : below_).push_back(k);
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
  // orders are tried, and the background that lies along one edge of the data: two peaks on a slope are not
  // to be taken for a dip between them. Then each term is guessed anew beside the others, as long as that
  // leads to a lower sum of squares: a peak that sits on another's shoulder finds the peak that was missed.
  // Last, neighbouring peaks are split, and those of different models exchanged.
  std::vector<double> operator()(const Sample& sample) const {
    constexpr int kSweeps = 3;
    constexpr std::size_t kMostFirst = 4;
    constexpr double kLower = 1 - 1e-6;
    Peeled best;
    const auto consider = [&best](Peeled now) {
      if (best.parameters.empty() || now.rss < best.rss) best = std::move(now);
    };
    std::vector<std::size_t> order(parts_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (int way = 0; way < 2; ++way) {
      for (std::size_t first = 0; first < std::min(order.size(), kMostFirst); ++first) {
        consider(peel(sample, order));
        std::ranges::rotate(order, order.begin() + 1);
      }
      std::ranges::reverse(order);
    }
    if (!peaks_.empty() && !below_.empty())
      for (const double side : {1.0, -1.0}) consider(peel_from_edge(sample, side));
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
      lower = split_pairs(sample, best) || lower;
      lower = exchange_peaks(sample, best) || lower;
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
      if (const std::optional<std::size_t> place = place_of(model)) {
        std::vector<std::vector<double>> peaks;
        for (std::size_t k = first; k < end; ++k) peaks.push_back(own_values(parts_[k], all));
        std::ranges::stable_sort(peaks, {}, [&](const auto& peak) { return peak[*place]; });
        for (std::size_t k = first; k < end; ++k) set_values(parts_[k], peaks[k - first], all);
      }
      first = end;
    }
  }

  Peeled peel(const Sample& sample, const std::vector<std::size_t>& order) const {
    constexpr int kRounds = 2;
    Peeled now = empty(sample);
    for (int round = 0; round < kRounds; ++round)
      for (const std::size_t k : order) guess_part(sample, k, now);
    improve(sample, now);
    return now;
  }

  // Two neighbouring peaks are often found as a broad peak with a dip in it, or as the difference of two high
  // ones. Replaces such pairs by two peaks beside each other, where that lowers the sum of squares.
  bool split_pairs(const Sample& sample, Peeled& best) const {
    bool lower = false;
    for (std::size_t a = 0; a < peaks_.size(); ++a) {
      for (std::size_t b = a + 1; b < peaks_.size(); ++b) {
        const Part &one = parts_[peaks_[a]], &other = parts_[peaks_[b]];
        if (one.model != other.model) continue;
        const std::size_t place = one.of_sum[*place_of(*one.model)],
                          width = one.of_sum[*width_of(*one.model)];
        const std::size_t place2 = other.of_sum[*place_of(*one.model)];
        const std::size_t width2 = other.of_sum[*width_of(*one.model)];
        const std::vector<double>& p = best.parameters;
        const double apart = std::max(std::fabs(p[width]), std::fabs(p[width2]));
        if (std::fabs(p[place] - p[place2]) > apart) continue;
        Peeled now = best;
        improve(sample, now, peaks_[b]);
        const double centre = now.parameters[place], w = std::fabs(now.parameters[width]);
        now.parameters[place] = centre - w;
        now.parameters[place2] = centre + w;
        now.parameters[width] = now.parameters[width2] = 0.7 * w;
        improve(sample, now);
        if (!(now.rss < (1 - 1e-6) * best.rss)) continue;
        best = std::move(now);
        lower = true;
      }
    }
    return lower;
  }

  // Peaks of different models are found one after the other, each by the model whose turn it is: a Gaussian
  // may take what is a Lorentzian, which no short fit can undo. Exchanges the places, widths and heights of
  // such pairs, where that lowers the sum of squares.
  bool exchange_peaks(const Sample& sample, Peeled& best) const {
    bool lower = false;
    for (std::size_t a = 0; a < peaks_.size(); ++a) {
      for (std::size_t b = a + 1; b < peaks_.size(); ++b) {
        const Part &one = parts_[peaks_[a]], &other = parts_[peaks_[b]];
        if (one.model == other.model) continue;
        Peeled now = best;
        const auto exchange = [&](std::size_t of_one, std::size_t of_other) {
          std::swap(now.parameters[one.of_sum[of_one]], now.parameters[other.of_sum[of_other]]);
        };
        exchange(*place_of(*one.model), *place_of(*other.model));
        exchange(*width_of(*one.model), *width_of(*other.model));
        const auto h = find_name(*one.model, {"h"}), h2 = find_name(*other.model, {"h"});
        if (h && h2) exchange(*h, *h2);
        improve(sample, now);
        if (!(now.rss < (1 - 1e-6) * best.rss)) continue;
        best = std::move(now);
        lower = true;
      }
    }
    return lower;
  }

  // Finds the background from the rows that lie below it (side 1) or above it (-1), a few times over, and
  // then the peaks from what it leaves.
  Peeled peel_from_edge(const Sample& sample, double side) const {
    constexpr int kRounds = 3;
    const std::size_t fewest = 4 * formula_.parameters.size();
    Peeled now = empty(sample);
    Sample edge = sample;
    edge.source = nullptr;
    for (int round = 0; round < kRounds && edge.rows() >= fewest; ++round) {
      Peeled along = empty(edge);
      for (int again = 0; again < 2; ++again)
        for (const std::size_t k : below_) guess_part(edge, k, along);
      now.parameters = along.parameters;
      now.constant = along.constant;
      for (const std::size_t k : below_)
        now.values[k] = values_of(parts_[k], sample, now.parameters, constant_);
      edge = rows_where(sample, [&](std::size_t i) { return side * (sample.y[i] - fitted(now, i)) <= 0; });
    }
    for (int round = 0; round < 2; ++round)
      for (const std::size_t k : peaks_) guess_part(sample, k, now);
    improve(sample, now);
    return now;
  }

  Peeled empty(const Sample& sample) const {
    Peeled now;
    now.parameters.assign(formula_.parameters.size(), 1.0);
    now.values.assign(parts_.size(), std::vector<double>(sample.rows(), 0.0));
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
    const std::vector<double> sigma = sample.sigma();
    options.sigma = sigma;
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
      const double r = sample.weight_of(i) * (sample.y[i] - fitted(now, i));
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
    const std::vector<double> sigma = sample.sigma();
    const std::vector<double> own = part.model->guess(x, rest, {.sigma = sigma}).values;
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
  std::vector<std::size_t> peaks_, below_;  // the parts that have a place, and the background
  std::vector<Formula> without_;            // the sum without each of its terms
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
