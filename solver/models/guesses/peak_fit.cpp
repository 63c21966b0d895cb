// Finds the start of a peak fit by a matched filter with boxes, and refines it by separable least squares.
#include "models/guesses/peak_fit.hpp"

#include "models/guesses/separable.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0::guessing {
namespace {

// Sums over the first i rows: of w², and of w² (y minus its mean), where w is the weight of a row.
struct PrefixSums {
  std::vector<double> squares, deviations;
};

// Returns for each row by how much a box of half width `half` centred there reduces the residual sum of
// squares, with the sign of the bump. If all n rows have weight 1, a box of m of them with sum s (of y minus
// its mean) reduces it by s² n / (m (n - m)). With weights, n and m are sums of their squares.
std::vector<double> box_scores(std::span<const double> u, const PrefixSums& prefix, double half) {
  constexpr double kNothing = 1e-9;  // rounding of a sum beside the whole
  const std::size_t n = u.size();
  const double all = prefix.squares[n];
  std::vector<double> scores(n, 0.0);
  std::size_t first = 0, last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    while (u[first] < u[i] - half) ++first;
    while (last < n && u[last] <= u[i] + half) ++last;
    const double m = prefix.squares[last] - prefix.squares[first], others = all - m;
    if (others <= kNothing * all || m <= kNothing * all) continue;
    const double sum = prefix.deviations[last] - prefix.deviations[first];
    scores[i] = sum * std::abs(sum) * all / (m * others);
  }
  return scores;
}

// Returns the best box of the given sign whose centre is more than `apart` from `taken`, if there is one.
std::optional<Bump> best_box(std::span<const double> u, std::span<const double> scores, double half,
                             double sign, double taken = -10, double apart = 0) {
  std::optional<Bump> best;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double score = sign * scores[i];
    if (score > (best ? best->score : 0) && std::abs(u[i] - taken) > apart) best = Bump{u[i], half, score};
  }
  return best;
}

PrefixSums prefix_sums(std::span<const double> y, std::span<const double> weight) {
  const std::size_t n = y.size();
  const auto square = [&](std::size_t i) { return squared_weight(weight, i); };
  PrefixSums prefix{std::vector<double>(n + 1, 0.0), std::vector<double>(n + 1, 0.0)};
  for (std::size_t i = 0; i < n; ++i) prefix.squares[i + 1] = prefix.squares[i] + square(i);
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i) mean += square(i) * y[i] / prefix.squares[n];
  for (std::size_t i = 0; i < n; ++i)
    prefix.deviations[i + 1] = prefix.deviations[i] + square(i) * (y[i] - mean);
  return prefix;
}

// Returns half widths of boxes from about three rows to almost all.
std::vector<double> box_half_widths(std::size_t n) {
  const double narrowest = std::min(0.05, 1.5 / static_cast<double>(n));
  std::vector<double> widths = grid(std::log(narrowest), std::log(0.45), 12);
  for (double& width : widths) width = std::exp(width);
  return widths;
}

}  // namespace

double narrowest_log_width(std::size_t n) {
  return std::log(0.25 / static_cast<double>(std::max<std::size_t>(n, 2)));
}

std::vector<Bump> find_bumps(std::span<const double> u, std::span<const double> y,
                             std::span<const double> weight) {
  const PrefixSums prefix = prefix_sums(y, weight);
  std::vector<Bump> bumps;
  for (const double half : box_half_widths(u.size())) {
    const std::vector<double> scores = box_scores(u, prefix, half);
    for (const double sign : {1.0, -1.0})
      if (const auto bump = best_box(u, scores, half, sign)) bumps.push_back(*bump);
  }
  if (bumps.empty()) bumps.push_back({0.5, 0.2});
  std::ranges::stable_sort(bumps, std::greater<>{}, &Bump::score);
  return bumps;
}

std::vector<std::pair<Bump, Bump>> find_bump_pairs(std::span<const double> u, std::span<const double> y,
                                                   std::span<const double> weight) {
  const PrefixSums prefix = prefix_sums(y, weight);
  std::vector<std::pair<Bump, Bump>> pairs;
  for (const double half : box_half_widths(u.size())) {
    const std::vector<double> scores = box_scores(u, prefix, half);
    const auto up = best_box(u, scores, half, 1), down = best_box(u, scores, half, -1);
    if (up && down) pairs.emplace_back(*up, *down);
    for (const auto& [one, sign] : {std::pair(up, 1.0), std::pair(down, -1.0)}) {
      if (!one) continue;
      for (const double apart : {1.5, 3.0, 6.0})  // half widths; the flanks of a high peak hide a low one
        if (const auto other = best_box(u, scores, half, sign, one->centre, apart * half))
          pairs.emplace_back(*one, *other);
    }
  }
  return pairs;
}

namespace {

PeakFit fit_here(const Sample& sample, const PeakProblem& peak) {
  const std::vector<double> u = sample.unit_x();
  const std::size_t n = u.size();
  Separable problem(sample, u, 2, {kCentreLow, narrowest_log_width(n)}, {kCentreHigh, kWidestLogWidth});
  problem.lower.insert(problem.lower.end(), peak.extra_lower.begin(), peak.extra_lower.end());
  problem.upper.insert(problem.upper.end(), peak.extra_upper.begin(), peak.extra_upper.end());
  problem.basis = [&](std::span<const double> at, std::span<const double> q, double* columns) {
    const double width = std::exp(q[1]);
    for (std::size_t i = 0; i < n; ++i) columns[i] = (at[i] - q[0]) / width;
    peak.shape({columns, n}, q.subspan(2));
    std::fill(columns + n, columns + 2 * n, 1.0);
  };
  std::vector<std::vector<double>> starts;
  for (const Bump& bump : find_bumps(u, sample.y, sample.weight))
    for (const auto& extra : peak.extra_starts) {
      starts.push_back({bump.centre, std::log(bump.half_width * peak.width_per_box)});
      starts.back().insert(starts.back().end(), extra.begin(), extra.end());
    }
  const Solution best = search(problem, starts, peak.effort);
  PeakFit fit;
  fit.centre = sample.x_min + best.q[0] * sample.span;
  fit.width = std::exp(best.q[1]) * sample.span;
  fit.height = best.c[0];
  fit.background = best.c[1];
  fit.extra.assign(best.q.begin() + 2, best.q.end());
  return fit;
}

}  // namespace

void gaussian_shape(std::span<double> z, std::span<const double>) {
  for (double& value : z) value = -value * value / 2;
  exp_in_place(z);
}

void lorentzian_shape(std::span<double> z, std::span<const double>) {
  for (double& value : z) value = 1 / (1 + value * value);
}

PeakFit fit_peak(const Sample& sample, const PeakProblem& peak) {
  if (sample.source == nullptr) return fit_here(sample, peak);
  const Sample all = sample.source->average(sample.x.front(), sample.x.back());
  if (all.rows() < 4) return fit_here(sample, peak);
  const PeakFit coarse = fit_here(all, peak);
  const double cell = all.span / static_cast<double>(all.rows());
  const double reach = 12 * std::max(std::abs(coarse.width), cell);
  if (reach > 0.2 * all.span) return coarse;
  const Sample near = sample.source->average(coarse.centre - reach, coarse.centre + reach);
  return near.rows() < 30 ? coarse : fit_here(near, peak);
}

}  // namespace nlsq::inline v0::guessing
