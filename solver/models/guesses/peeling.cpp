// Implements the steps of peeling.
#include "models/guesses/peeling.hpp"

#include "models/guesses/separable.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace nlsq::inline v0::guessing {
namespace {

// own_values() returns the values of the model's parameters from those of the sum, with 0 for its constant.
std::vector<double> own_values(const Part& part, const std::vector<double>& all) {
  std::vector<double> own;
  for (const std::size_t at : part.of_sum) own.push_back(at == Part::npos ? 0 : all[at]);
  return own;
}

void set_values(const Part& part, const std::vector<double>& own, std::vector<double>& all) {
  for (std::size_t j = 0; j < own.size(); ++j)
    if (part.of_sum[j] != Part::npos) all[part.of_sum[j]] = own[j];
}

// Returns the values of one part's formula on the sample, with the sum's parameters. `constant` is the index
// of the shared constant among them, which the formula of a step from one level to another contains, too.
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

// Returns the index in the sum of the first parameter of the part that has one of these names.
std::optional<std::size_t> find_name(const Part& part, std::initializer_list<std::string_view> names) {
  for (std::size_t j = 0; j < part.model->parameters.size(); ++j)
    if (std::ranges::find(names, part.model->parameters[j]) != names.end()) return part.of_sum[j];
  return std::nullopt;
}

std::optional<std::size_t> find_place(const Part& part) { return find_name(part, {"mu", "x0"}); }
std::optional<std::size_t> find_width(const Part& part) {
  return find_name(part, {"sigma", "gamma", "w", "alpha"});
}

// Returns true if the part is a peak: it vanishes far from its place on both sides, unlike a step.
bool is_peak(const Part& part) {
  if (!find_place(part) || !find_width(part)) return false;
  constexpr double kFar = 1e6;
  std::vector<double> middle(part.formula.parameters.size(), 1.0);
  const double left = -kFar, centre = 1, right = kFar;
  const auto value = [&](const double& x) { return std::fabs(part.formula.evaluate({&x, 1}, middle)); };
  return std::max(value(left), value(right)) <= 1e-3 * value(centre);
}

// Returns means of the data minus the sum without part `k`, over a fortieth of the rows each, times `side`.
std::vector<double> smooth_rest(const Sample& sample, const Peeled& now, std::size_t k, double side) {
  const std::size_t n = sample.rows(), reach = n / 80 + 1;
  std::vector<double> sums(n + 1, 0.0), squares(n + 1, 0.0), means(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double square = squared_weight(sample.weight, i);
    squares[i + 1] = squares[i] + square;
    sums[i + 1] = sums[i] + square * side * (sample.y[i] - now.fitted(i) + now.values[k][i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i - std::min(i, reach), last = std::min(n, i + reach + 1);
    means[i] = (sums[last] - sums[first]) / (squares[last] - squares[first]);
  }
  return means;
}

}  // namespace

Peeling::Peeling(std::vector<Part> parts, Formula formula, std::size_t constant)
    : parts_(std::move(parts)), sum_(std::move(formula)), constant_(constant) {
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    (is_peak(parts_[k]) ? peaks_ : background_).push_back(k);
    std::vector<const Part*> others;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (i != k) others.push_back(&parts_[i]);
    const std::string text = join(others);
    without_.emplace_back(text.empty() ? "0" : text, parts_[k].model->predictors);
  }
}

std::optional<std::size_t> Peeling::place_of(std::size_t k) const { return find_place(parts_[k]); }
std::optional<std::size_t> Peeling::width_of(std::size_t k) const { return find_width(parts_[k]); }
std::optional<std::size_t> Peeling::height_of(std::size_t k) const { return find_name(parts_[k], {"h"}); }
std::optional<std::size_t> Peeling::steepness_of(std::size_t k) const { return find_name(parts_[k], {"k"}); }

void Peeling::sort_peaks(std::vector<double>& all) const {
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first;
    while (end < parts_.size() && parts_[end].model == parts_[first].model) ++end;
    if (place_of(first)) {
      std::vector<std::pair<double, std::vector<double>>> peaks;
      for (std::size_t k = first; k < end; ++k)
        peaks.emplace_back(all[*place_of(k)], own_values(parts_[k], all));
      std::ranges::stable_sort(peaks, {}, [](const auto& peak) { return peak.first; });
      for (std::size_t k = first; k < end; ++k) set_values(parts_[k], peaks[k - first].second, all);
    }
    first = end;
  }
}

Peeled Peeling::empty(const Sample& sample) const {
  Peeled now;
  now.parameters.assign(parameters(), 1.0);
  now.values.assign(parts_.size(), std::vector<double>(sample.rows(), 0.0));
  return now;
}

void Peeling::update(const Sample& sample, std::size_t k, Peeled& now) const {
  now.values[k] = values_of(parts_[k], sample, now.parameters, constant_);
}

void Peeling::guess_part(const Sample& sample, std::size_t k, Peeled& now) const {
  const Part& part = parts_[k];
  std::vector<double> rest(sample.rows());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] = sample.y[i] - now.fitted(i) + now.values[k][i];
    if (part.constant != Part::npos) rest[i] += now.constant;
  }
  std::vector<std::span<const double>> x = {sample.x};
  if (part.model->predictors > 1) x.emplace_back(sample.x2);
  const std::vector<double> sigma = sample.sigma();
  const std::vector<double> own = part.model->guess(x, rest, {.sigma = sigma}).values;
  if (part.constant != Part::npos) now.constant = now.parameters[constant_] = own[part.constant];
  set_values(part, own, now.parameters);
  update(sample, k, now);
}

// The width is that at half height, on the side where the peak is narrower: a neighbour may hide the other. A
// peak with more parameters than height, place and width has the shape that its own guess finds.
void Peeling::guess_summit(const Sample& sample, std::size_t k, double side, Peeled& now) const {
  constexpr double kWidthOfHalf = 0.9;  // 0.85 for a Gaussian, 1 for a Lorentzian
  const std::size_t own = parts_[k].model->parameters.size();
  if (own > (parts_[k].constant == Part::npos ? 3 : 4)) {
    const double constant = now.constant;
    guess_part(sample, k, now);
    now.constant = constant;
  }
  const std::vector<double> height = smooth_rest(sample, now, k, side);
  const std::size_t last = height.size() - 1;
  const auto top = static_cast<std::size_t>(std::ranges::max_element(height) - height.begin());
  std::size_t left = top, right = top;
  while (left > 0 && height[left] > 0.5 * height[top]) --left;
  while (right < last && height[right] > 0.5 * height[top]) ++right;
  const double before = left > 0 ? sample.x[top] - sample.x[left] : sample.span;
  const double after = right < last ? sample.x[right] - sample.x[top] : sample.span;
  const double gap = sample.span / static_cast<double>(height.size());  // no peak is narrower than the rows
  const double width = std::max(gap, kWidthOfHalf * std::min(before, after));
  set_peak(k, sample.x[top], width, side * height[top], now);
  update(sample, k, now);
}

void Peeling::set_peak(std::size_t k, double place, double width, double height, Peeled& now) const {
  const Part& part = parts_[k];
  now.parameters[*place_of(k)] = place;
  now.parameters[*width_of(k)] = width;
  // A Voigt profile is 1.6 times as wide as each of its two widths if they are equal.
  const auto sigma = find_name(part, {"sigma"}), gamma = find_name(part, {"gamma"});
  if (sigma && gamma) now.parameters[*sigma] = now.parameters[*gamma] = 0.6 * width;
  const std::optional<std::size_t> scale = find_name(part, {"h", "a"});  // a height or an area
  if (!scale) return;
  now.parameters[*scale] = 1;
  Sample summit;
  summit.x = {place};
  const double of_one = values_of(part, summit, now.parameters, constant_).front();
  if (of_one != 0) now.parameters[*scale] = height / of_one;
}

void Peeling::improve(const Sample& sample, Peeled& now, std::size_t without,
                      const std::vector<std::string>& held) const {
  constexpr int kSteps = 15, kStepsHeld = 100;
  const PreparedModel& model = without == Part::npos ? sum_ : without_[without];
  if (has_constant()) now.parameters[constant_] = now.constant;
  FitOptions options;
  options.max_iterations = held.empty() ? kSteps : kStepsHeld;
  options.fixed = held;
  options.precision = PrecisionPolicy::all_f64();
  options.threads = 1;
  const std::vector<double> sigma = sample.sigma();
  options.sigma = sigma;
  NamedValues p0;
  std::vector<std::size_t> places;
  const std::vector<std::string>& all = sum_.parameter_names();
  for (const std::string& name : model.parameter_names()) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(all, name) - all.begin()));
    p0.emplace_back(name, now.parameters[places.back()]);
  }
  std::vector<Column> x = {sample.x};
  if (parts_.front().model->predictors > 1) x.emplace_back(sample.x2);
  try {
    const FitResult fit = curve_fit(model, Columns(x), sample.y, p0, options);
    for (std::size_t j = 0; j < places.size(); ++j) now.parameters[places[j]] = fit.parameters[j];
  } catch (const Error&) {  // the formula is not defined there, so the guess does not change
  }
  if (has_constant()) now.constant = now.parameters[constant_];
  now.rss = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    if (k == without) now.values[k].assign(sample.rows(), 0.0);
    else update(sample, k, now);
  }
  for (std::size_t i = 0; i < sample.rows(); ++i) {
    const double r = sample.weight_of(i) * (sample.y[i] - now.fitted(i));
    now.rss += r * r;
  }
  if (std::isnan(now.rss)) now.rss = std::numeric_limits<double>::infinity();
}

Peeled Peeling::with_lorentzians(const Sample& sample, Peeled now) const {
  constexpr double kThin = 0.1, kHeld = 1e-4;  // times gamma; with 0 the profile is not defined
  std::vector<std::string> held;
  for (const Part& part : parts_) {
    const auto sigma = find_name(part, {"sigma"}), gamma = find_name(part, {"gamma"});
    if (!sigma || !gamma) continue;
    const double of_gamma = std::fabs(now.parameters[*gamma]);
    if (!(std::fabs(now.parameters[*sigma]) < kThin * of_gamma)) continue;
    now.parameters[*sigma] = kHeld * of_gamma;
    held.push_back(sum_.parameter_names()[*sigma]);
  }
  if (!held.empty()) improve(sample, now, Part::npos, held);
  return now;
}

}  // namespace nlsq::inline v0::guessing
