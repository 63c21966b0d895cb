// Built-in models: log-normal and Weibull densities, scaled by an area. They are peaks in log x.
#include "models/guesses/exp_in_place.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

std::vector<double> logarithms(const Sample& sample) {
  std::vector<double> t(sample.rows());
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = std::log(sample.x[i]);
  return t;
}

std::vector<double> lognormal(const Sample& sample) {
  const std::vector<double> t = logarithms(sample);
  const double span = std::max(t.back() - t.front(), 1e-3);
  Separable problem(sample, t, 1, {t.front() - 2 * span, std::log(1e-3)},
                    {t.back() + 2 * span, std::log(10.0)}, kThinned);
  problem.basis = [](std::span<const double> u, std::span<const double> q, double* columns) {
    const double sigma = std::exp(q[1]), constant = std::log(sigma * std::sqrt(2 * std::numbers::pi));
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double z = (u[i] - q[0]) / sigma;
      columns[i] = -z * z / 2 - u[i] - constant;
    }
    exp_in_place({columns, u.size()});
  };
  std::vector<std::vector<double>> starts;
  for (const double mu : grid(t.front(), t.back(), 20))
    for (const double sigma : {0.03, 0.1, 0.3, 0.7, 1.5}) starts.push_back({mu, std::log(sigma)});
  const Solution best = search(problem, starts);
  return {best.c[0], std::exp(best.q[1]), best.q[0]};
}

std::vector<double> weibull(const Sample& sample) {
  const std::vector<double> t = logarithms(sample);
  const double span = std::max(t.back() - t.front(), 1e-3);
  Separable problem(sample, t, 1, {t.front() - 2 * span, std::log(0.05)},
                    {t.back() + 2 * span, std::log(100.0)}, kThinned);
  problem.basis = [](std::span<const double> u, std::span<const double> q, double* columns) {
    const double k = std::exp(q[1]);
    for (std::size_t i = 0; i < u.size(); ++i) columns[i] = k * (u[i] - q[0]);  // k log(x / lambda)
    exp_in_place({columns, u.size()});
    for (std::size_t i = 0; i < u.size(); ++i)
      columns[i] = (k - 1) * (u[i] - q[0]) - columns[i] - q[0] + q[1];
    exp_in_place({columns, u.size()});
  };
  std::vector<std::vector<double>> starts;
  for (const double log_lambda : grid(t.front(), t.back(), 16))
    for (const double k : {0.6, 1.0, 2.0, 4.0, 10.0}) starts.push_back({log_lambda, std::log(k)});
  const Solution best = search(problem, starts);
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
