// Implements the choice of points for the fitted curve: the Douglas-Peucker rule with vertical distances
// (D. Douglas, T. Peucker, Cartographica 10, 112, 1973).
#include "plot/curve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::cli {

namespace {

constexpr std::size_t kCandidates = 4096;  // evaluated, beside the data
constexpr std::size_t kEven = 16;          // every 16th of these is kept: 256 points

double even_point(double low, double high, std::size_t i, bool log_x) {
  const double t = static_cast<double>(i) / kCandidates;
  if (i == 0) return low;
  if (i == kCandidates) return high;
  return log_x ? low * std::pow(high / low, t) : low * (1 - t) + high * t;
}

// Holds the coordinates of a point on the axes.
struct Drawn {
  std::vector<double> u, v;
};

Drawn drawn(const CurvePoints& points, bool log_x, bool log_y) {
  Drawn d;
  for (const double x : points.x) d.u.push_back(log_x ? std::log(x) : x);
  for (const double y : points.y) d.v.push_back(log_y ? (y > 0 ? std::log(y) : std::nan("")) : y);
  return d;
}

// Returns the point between `first` and `last` that is farthest from the straight line between them, if it is
// farther than `tolerance`. Otherwise returns `last`. If finite values end in between, the interval is halved
// to find the end.
std::size_t farthest(const Drawn& d, std::size_t first, std::size_t last, double tolerance) {
  std::size_t at = last;
  double most = tolerance;
  const bool finite = std::isfinite(d.v[first]);
  const double slope = (d.v[last] - d.v[first]) / (d.u[last] - d.u[first]);
  for (std::size_t i = first + 1; i <= last; ++i) {
    if (std::isfinite(d.v[i]) != finite) return first + (last - first) / 2;
    const double off = std::fabs(d.v[i] - (d.v[first] + slope * (d.u[i] - d.u[first])));
    if (finite && i < last && off > most) most = off, at = i;
  }
  return at;
}

std::vector<bool> kept_points(const Drawn& d, const std::vector<bool>& even, double tolerance) {
  std::vector<bool> kept = even;
  std::vector<std::pair<std::size_t, std::size_t>> open;
  std::size_t before = 0;
  for (std::size_t i = 1; i < even.size(); ++i) {
    if (even[i]) open.emplace_back(before, i), before = i;
  }
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    if (last - first < 2) continue;
    const std::size_t at = farthest(d, first, last, tolerance);
    if (at == last) continue;
    kept[at] = true;
    open.emplace_back(first, at);
    open.emplace_back(at, last);
  }
  return kept;
}

double height(const std::vector<double>& v) {
  double low = std::nan(""), high = std::nan("");
  for (const double value : v) {
    if (!std::isfinite(value)) continue;
    low = std::fmin(low, value);
    high = std::fmax(high, value);
  }
  return high - low;
}

}  // namespace

CurvePoints curve_points(const CurveFunction& f, double low, double high, std::span<const double> data,
                         bool log_x, bool log_y, std::size_t most) {
  if (!(low < high)) return {{low}, f({low})};
  std::vector<std::pair<double, bool>> candidates;
  for (std::size_t i = 0; i <= kCandidates; ++i)
    candidates.emplace_back(even_point(low, high, i, log_x), i % kEven == 0);
  for (const double x : data) {
    if (x > low && x < high) candidates.emplace_back(x, false);
  }
  // If several points have the same x, one that must be kept comes first and remains.
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second; });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  candidates.erase(std::unique(candidates.begin(), candidates.end(), same), candidates.end());
  CurvePoints all;
  std::vector<bool> even;
  for (const auto& [x, is_even] : candidates) {
    all.x.push_back(x);
    even.push_back(is_even);
  }
  even.front() = even.back() = true;
  all.y = f(all.x);
  const Drawn d = drawn(all, log_x, log_y);
  double tolerance = 1e-3 * height(d.v);
  std::vector<bool> kept = kept_points(d, even, tolerance);
  while (static_cast<std::size_t>(std::count(kept.begin(), kept.end(), true)) > most &&
         tolerance < height(d.v)) {
    tolerance *= 2;
    kept = kept_points(d, even, tolerance);
  }
  CurvePoints points;
  for (std::size_t i = 0; i < all.x.size(); ++i) {
    if (!kept[i]) continue;
    points.x.push_back(all.x[i]);
    points.y.push_back(all.y[i]);
  }
  return points;
}

}  // namespace nlsq::cli
