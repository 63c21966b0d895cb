// Finds the start of a peak fit by a matched filter with boxes, and refines it by separable least squares.
#include "models/guesses/peak_fit.hpp"

#include "models/guesses/separable.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

struct Boxes {
  double best_up = -1, best_down = -1;  // reduction of the residual sum of squares
  double centre_up = 0.5, centre_down = 0.5;
};

// Finds the best box of half width `half` among those centred on a row, for either sign. A box of m rows with
// sum s (of y minus its mean) reduces the sum of squares by s² n / (m (n - m)).
Boxes best_boxes(std::span<const double> u, std::span<const double> prefix, double half) {
  const std::size_t n = u.size();
  Boxes boxes;
  std::size_t first = 0, last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    while (u[first] < u[i] - half) ++first;
    while (last < n && u[last] <= u[i] + half) ++last;
    const double m = static_cast<double>(last - first), others = static_cast<double>(n) - m;
    if (others <= 0) continue;
    const double sum = prefix[last] - prefix[first];
    const double score = sum * sum * static_cast<double>(n) / (m * others);
    if (sum >= 0 && score > boxes.best_up) boxes.best_up = score, boxes.centre_up = u[i];
    if (sum < 0 && score > boxes.best_down) boxes.best_down = score, boxes.centre_down = u[i];
  }
  return boxes;
}

}  // namespace

double narrowest_log_width(std::size_t n) {
  return std::log(0.25 / static_cast<double>(std::max<std::size_t>(n, 2)));
}

std::vector<Bump> find_bumps(std::span<const double> u, std::span<const double> y) {
  const std::size_t n = u.size();
  double mean = 0;
  for (const double value : y) mean += value / static_cast<double>(n);
  std::vector<double> prefix(n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) prefix[i + 1] = prefix[i] + (y[i] - mean);
  std::vector<Bump> bumps;
  const double narrowest = std::min(0.05, 1.5 / static_cast<double>(n));  // about three rows
  for (const double log_half : grid(std::log(narrowest), std::log(0.45), 12)) {
    const double half = std::exp(log_half);
    const Boxes boxes = best_boxes(u, prefix, half);
    if (boxes.best_up >= 0) bumps.push_back({boxes.centre_up, half});
    if (boxes.best_down >= 0) bumps.push_back({boxes.centre_down, half});
  }
  if (bumps.empty()) bumps.push_back({0.5, 0.2});
  return bumps;
}

namespace {

PeakFit fit_here(const Sample& sample, const PeakProblem& peak) {
  const std::vector<double> u = sample.unit_x();
  const std::size_t n = u.size();
  Separable problem;
  problem.y = sample.y;
  problem.linear = 2;
  problem.lower = {kCentreLow, narrowest_log_width(n)};
  problem.upper = {kCentreHigh, kWidestLogWidth};
  problem.lower.insert(problem.lower.end(), peak.extra_lower.begin(), peak.extra_lower.end());
  problem.upper.insert(problem.upper.end(), peak.extra_upper.begin(), peak.extra_upper.end());
  problem.basis = [&](std::span<const double> q, double* columns) {
    const double width = std::exp(q[1]);
    for (std::size_t i = 0; i < n; ++i) {
      columns[i] = peak.shape((u[i] - q[0]) / width, q.subspan(2));
      columns[n + i] = 1;
    }
  };
  std::vector<std::vector<double>> starts;
  for (const Bump& bump : find_bumps(u, sample.y))
    for (const auto& extra : peak.extra_starts) {
      starts.push_back({bump.centre, std::log(bump.half_width * peak.width_per_box)});
      starts.back().insert(starts.back().end(), extra.begin(), extra.end());
    }
  const Solution best = search(problem, starts);
  PeakFit fit;
  fit.centre = sample.x_min + best.q[0] * sample.span;
  fit.width = std::exp(best.q[1]) * sample.span;
  fit.height = best.c[0];
  fit.background = best.c[1];
  fit.extra.assign(best.q.begin() + 2, best.q.end());
  return fit;
}

}  // namespace

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
