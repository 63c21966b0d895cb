// Defines built-in Gaussian peaks over two predictors.
#include "models/guesses/peak_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

struct Axis {
  std::vector<double> u;  // in [0, 1]
  double low, span;
};

Axis axis(const std::vector<double>& x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  Axis a{x, *low, *high > *low ? *high - *low : 1.0};
  for (double& value : a.u) value = (value - a.low) / a.span;
  return a;
}

// Returns the centres of the highest and the lowest cell means on coarse grids.
std::vector<std::pair<double, double>> outstanding_cells(const Axis& x1, const Axis& x2,
                                                         const Sample& sample) {
  std::vector<std::pair<double, double>> centres;
  for (const std::size_t side : {4, 8}) {
    std::vector<double> sum(side * side), count(side * side);  // weighted by squares of the weights
    const auto cell = [side](double u) {
      return std::min(side - 1, static_cast<std::size_t>(u * static_cast<double>(side)));
    };
    for (std::size_t i = 0; i < sample.rows(); ++i) {
      const std::size_t at = cell(x1.u[i]) * side + cell(x2.u[i]);
      const double w = squared_weight(sample.weight, i);
      sum[at] += w * (sample.y[i] - sample.y_mean);
      count[at] += w;
    }
    // Computes the deviation of each cell in standard errors, up to a common factor.
    for (std::size_t at = 0; at < sum.size(); ++at)
      sum[at] = count[at] > 0 ? sum[at] / std::sqrt(count[at]) : 0.0;
    const auto [lowest, highest] = std::minmax_element(sum.begin(), sum.end());
    for (const auto& found : {lowest, highest}) {
      const std::size_t at = static_cast<std::size_t>(found - sum.begin());
      const double cells = static_cast<double>(side);
      centres.emplace_back((static_cast<double>(at / side) + 0.5) / cells,
                           (static_cast<double>(at % side) + 0.5) / cells);
    }
  }
  return centres;
}

// Returns {h, centre 1, centre 2, width 1, width 2, theta, c}. theta stays 0 unless `rotated`.
std::vector<double> fit_surface(const Sample& sample, bool rotated) {
  const Axis x1 = axis(sample.x), x2 = axis(sample.x2);
  const std::size_t n = sample.rows();
  // Rotated widths are lengths in the plane of x1 and x2, so both axes need the same unit.
  const double unit = std::max(x1.span, x2.span);
  const double s1 = rotated ? x1.span / unit : 1.0, s2 = rotated ? x2.span / unit : 1.0;
  Separable problem(sample, {}, 2, {kCentreLow, kCentreLow, std::log(1e-3), std::log(1e-3)},
                    {kCentreHigh, kCentreHigh, kWidestLogWidth, kWidestLogWidth});
  if (rotated) problem.lower.push_back(-4.0), problem.upper.push_back(4.0);
  problem.basis = [&](std::span<const double>, std::span<const double> q, double* columns) {
    const double w1 = std::exp(q[2]), w2 = std::exp(q[3]);
    const double cosine = rotated ? std::cos(q[4]) : 1.0, sine = rotated ? std::sin(q[4]) : 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double d1 = (x1.u[i] - q[0]) * s1, d2 = (x2.u[i] - q[1]) * s2;
      const double a = (d1 * cosine + d2 * sine) / w1, b = (d2 * cosine - d1 * sine) / w2;
      columns[i] = -(a * a + b * b) / 2;
      columns[n + i] = 1;
    }
    exp_in_place({columns, n});
  };
  std::vector<std::vector<double>> starts;
  for (const auto& [c1, c2] : outstanding_cells(x1, x2, sample))
    for (const double width : {0.05, 0.12, 0.3}) {
      if (!rotated) starts.push_back({c1, c2, std::log(width), std::log(width)});
      if (rotated)
        for (const double theta : {-0.8, 0.0, 0.8})
          starts.push_back({c1, c2, std::log(2 * width), std::log(width), theta});
    }
  const Solution best = search(problem, starts, {.keep = 4});
  const double unit1 = rotated ? unit : x1.span, unit2 = rotated ? unit : x2.span;
  return {best.c[0],
          x1.low + best.q[0] * x1.span,
          x2.low + best.q[1] * x2.span,
          std::exp(best.q[2]) * unit1,
          std::exp(best.q[3]) * unit2,
          rotated ? best.q[4] : 0.0,
          best.c[1]};
}

constexpr TrialRange kSurfaceHeight = {2, 10}, kSurfaceCentre = {3, 7}, kSurfaceBackground = {-2, 2};

}  // namespace

void add_surfaces(std::vector<Model>& models) {
  add(models, "gaussian2d", "h*exp(-(x1-m1)^2/(2*s1^2)-(x2-m2)^2/(2*s2^2))+c",
      "Gaussian peak over two predictors, on a constant background",
      {{"h", "height above the background (units of y)", kSurfaceHeight},
       {"m1", "centre (units of x1)", kSurfaceCentre},
       {"s1", "standard deviation along x1 (units of x1)", {0.8, 2}},
       {"m2", "centre (units of x2)", kSurfaceCentre},
       {"s2", "standard deviation along x2 (units of x2)", {0.8, 2}},
       {"c", "background (units of y)", kSurfaceBackground}},
      {0, 10},
      [](const Sample& sample) {
        const std::vector<double> v = fit_surface(sample, false);
        return std::vector{v[0], v[1], v[3], v[2], v[4], v[6]};
      },
      {.most = kSharp, .predictors = 2});
  add(models, "gaussian2d_rotated",
      "h*exp(-((x1-m1)*cos(theta)+(x2-m2)*sin(theta))^2/(2*s1^2)-((x2-m2)*cos(theta)-(x1-m1)*sin(theta))^2/"
      "(2*s2^2))+c",
      "Gaussian peak over two predictors of one unit, turned by an angle, on a constant background",
      {{"h", "height above the background (units of y)", kSurfaceHeight},
       {"m1", "centre (units of x1)", kSurfaceCentre},
       {"theta", "angle from x1 to the axis of s1 (radians)", {-0.7, 0.7}},
       {"m2", "centre (units of x2)", kSurfaceCentre},
       {"s1", "standard deviation along the turned first axis (units of x)", {1.4, 2.2}},
       {"s2", "standard deviation along the turned second axis (units of x)", {0.6, 1}},
       {"c", "background (units of y)", kSurfaceBackground}},
      {0, 10},
      [](const Sample& sample) {
        const std::vector<double> v = fit_surface(sample, true);
        return std::vector{v[0], v[1], v[5], v[2], v[3], v[4], v[6]};
      },
      {.most = kSharp, .predictors = 2});
}

}  // namespace nlsq::inline v0::guessing
