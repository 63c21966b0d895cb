// Defines the built-in models of log-normal and Weibull densities, scaled by an area. They are peaks in log
// x.
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

// Fits a curve over log x with the basis of one column. q holds a place in log x, and the logarithm of a
// positive number from `least` to `most`. The search begins at `places` places, and there at each of
// `starts`.
Solution fit_in_log_x(const Sample& sample, decltype(Separable::basis) basis, double least, double most,
                      int places, std::initializer_list<double> starts) {
  const std::vector<double> t = logarithms(sample.x);
  const double span = std::max(t.back() - t.front(), 1e-3);
  Separable problem(sample, t, 1, {t.front() - 2 * span, std::log(least)},
                    {t.back() + 2 * span, std::log(most)}, kThinned);
  problem.basis = std::move(basis);
  std::vector<std::vector<double>> points;
  for (const double place : grid(t.front(), t.back(), places))
    for (const double start : starts) points.push_back({place, std::log(start)});
  return search(problem, points);
}

std::vector<double> lognormal(const Sample& sample) {
  const auto basis = [](std::span<const double> u, std::span<const double> q, double* columns) {
    const double sigma = std::exp(q[1]), constant = std::log(sigma * std::sqrt(2 * std::numbers::pi));
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double z = (u[i] - q[0]) / sigma;
      columns[i] = -z * z / 2 - u[i] - constant;
    }
    exp_in_place({columns, u.size()});
  };
  const Solution best = fit_in_log_x(sample, basis, 1e-3, 10.0, 20, {0.03, 0.1, 0.3, 0.7, 1.5});
  return {best.c[0], std::exp(best.q[1]), best.q[0]};
}

std::vector<double> weibull(const Sample& sample) {
  const auto basis = [](std::span<const double> u, std::span<const double> q, double* columns) {
    const double k = std::exp(q[1]);
    for (std::size_t i = 0; i < u.size(); ++i) columns[i] = k * (u[i] - q[0]);  // k log(x / lambda)
    exp_in_place({columns, u.size()});
    for (std::size_t i = 0; i < u.size(); ++i)
      columns[i] = (k - 1) * (u[i] - q[0]) - columns[i] - q[0] + q[1];
    exp_in_place({columns, u.size()});
  };
  const Solution best = fit_in_log_x(sample, basis, 0.05, 100.0, 16, {0.6, 1.0, 2.0, 4.0, 10.0});
  return {best.c[0], std::exp(best.q[1]), std::exp(best.q[0])};
}

}  // namespace

void add_distributions(std::vector<Model>& models) {
  add(models, "lognormal", "a/(x*sigma*sqrt(2*pi))*exp(-(log(x)-mu)^2/(2*sigma^2))",
      "log-normal density times an area, x > 0",
      {{"a", "area under the curve (y times x)", {1, 10}},
       {"sigma", "standard deviation of log x (pure number)", {0.2, 0.8}},
       {"mu", "mean of log x (log of units of x)", {0.3, 1.5}}},
      {0.1, 10}, lognormal, {.domain = Domain::positive});
  add(models, "weibull_pdf", "a*k/lambda^k*x^(k-1)*exp(-x^k/lambda^k)",
      "Weibull density times an area, x > 0",
      {{"a", "area under the curve (y times x)", {1, 10}},
       {"k", "shape (pure number)", {1.2, 4}},
       {"lambda", "scale (units of x)", {2, 6}}},
      {0.1, 10}, weibull, {.domain = Domain::positive});
}

}  // namespace nlsq::inline v0::guessing
