// Defines the built-in exponential models. The guess searches rates over the range of x; all other parameters
// are linear.
#include "models/guesses/exponential_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

// Fits y ~ Σ a_i exp(-rate_i x) + c with rates > 0, fastest first.
std::vector<double> biexponential(const Sample& sample) {
  const std::vector<double> u = sample.unit_x();
  const double fastest = std::log(fastest_rate(u));
  Separable problem(sample, u, 3, {std::log(kSlowestRate), std::log(kSlowestRate)}, {fastest, fastest},
                    kThinned);
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t n = at.size();
    const double fast = std::exp(q[0]), slow = std::exp(q[1]);
    for (std::size_t i = 0; i < n; ++i) {
      columns[i] = -fast * at[i];
      columns[n + i] = -slow * at[i];
      columns[2 * n + i] = 1;
    }
    exp_in_place({columns, 2 * n});
  };
  std::vector<std::vector<double>> starts;
  const std::vector<double> rates = grid(std::log(0.3), std::log(300.0), 10);
  for (std::size_t i = 0; i < rates.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) starts.push_back({rates[i], rates[j]});
  const Solution best = search(problem, starts, {.keep = 4});
  const std::size_t fast = best.q[0] >= best.q[1] ? 0 : 1, slow = 1 - fast;
  const auto rate = [&](std::size_t k) { return std::exp(best.q[k]) / sample.span; };
  const auto height = [&](std::size_t k) { return best.c[k] * std::exp(rate(k) * sample.x_min); };
  return {height(fast), rate(fast), height(slow), rate(slow), best.c[2]};
}

struct Stretched {
  double a, tau, beta, c;
};

// Fits y ~ a exp(-(x/tau)^beta) + c for x >= 0.
Stretched stretched(const Sample& sample) {
  const double scale = sample.x.back() > 0 ? sample.x.back() : 1.0;
  // log(x / largest x); -inf at 0, where the power is 0
  const std::vector<double> log_v = mapped(sample.x, [=](double x) { return std::log(x / scale); });
  Separable problem(sample, log_v, 2, {std::log(1e-5), std::log(0.1)}, {std::log(1e2), std::log(20.0)},
                    kThinned);
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t rows = at.size();
    const double beta = std::exp(q[1]);
    for (std::size_t i = 0; i < rows; ++i) {
      columns[i] = beta * (at[i] - q[0]);
      columns[rows + i] = 1;
    }
    exp_in_place({columns, rows});
    for (std::size_t i = 0; i < rows; ++i) columns[i] = -columns[i];
    exp_in_place({columns, rows});
  };
  std::vector<std::vector<double>> starts;
  for (const double log_tau : grid(std::log(0.01), std::log(3.0), 8))
    for (const double beta : {0.4, 0.7, 1.0, 1.6, 3.0}) starts.push_back({log_tau, std::log(beta)});
  const Solution best = search(problem, starts);
  return {best.c[0], std::exp(best.q[0]) * scale, std::exp(best.q[1]), best.c[1]};
}

}  // namespace

void add_exponentials(std::vector<Model>& models) {
  add(models, "exp", "a*exp(-b*x)+c", "exponential decay to a plateau",
      {{"a", "height above the plateau at x = 0 (units of y)", {1, 10}},
       {"b", "rate (1/x); the half-life is log(2)/b", {0.1, 3, true}},
       {"c", "plateau (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) {
        const ExponentialFit fit = fit_exponential(sample, sample.x, true);
        return std::vector{fit.a, fit.rate, fit.c};
      });
  add(models, "exp0", "a*exp(-b*x)", "exponential decay to zero",
      {{"a", "value at x = 0 (units of y)", {1, 10}},
       {"b", "rate (1/x); the half-life is log(2)/b", {0.05, 3, true}}},
      {0, 10}, [](const Sample& sample) {
        const ExponentialFit fit = fit_exponential(sample, sample.x, false);
        return std::vector{fit.a, fit.rate};
      });
  add(models, "exp_growth", "a*exp(b*x)+c", "exponential growth from a plateau",
      {{"a", "height above the plateau at x = 0 (units of y)", {0.1, 2}},
       {"b", "rate (1/x); the doubling time is log(2)/b", {0.1, 1, true}},
       {"c", "plateau (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) {
        const ExponentialFit fit = fit_exponential(sample, sample.x, true);
        return std::vector{fit.a, -fit.rate, fit.c};
      });
  add(models, "exp_rise", "a*(1-exp(-b*x))+c", "exponential approach to a plateau",
      {{"a", "rise from x = 0 to the plateau (units of y)", {1, 10}},
       {"b", "rate (1/x); 63.2 % of the rise takes 1/b", {0.1, 3, true}},
       {"c", "value at x = 0 (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) {
        const ExponentialFit fit = fit_exponential(sample, sample.x, true);
        return std::vector{-fit.a, fit.rate, fit.c + fit.a};
      });
  add(models, "biexp", "a1*exp(-b1*x)+a2*exp(-b2*x)+c", "two exponential decays to a plateau",
      {{"a1", "height of the fast decay at x = 0 (units of y)", {1, 5}},
       {"b1", "rate of the fast decay (1/x)", {1.5, 5, true}},
       {"a2", "height of the slow decay at x = 0 (units of y)", {1, 5}},
       {"b2", "rate of the slow decay (1/x)", {0.2, 0.5, true}},
       {"c", "plateau (units of y)", {-1, 1}}},
      {0, 10}, biexponential);
  add(models, "stretched_exp",
      "a*exp(-x^beta/tau^beta)+c",  // not (x/tau)^beta: its derivative by tau is 0*inf at x = 0, beta < 1
      "stretched exponential decay (Kohlrausch), x >= 0",
      {{"a", "height above the plateau at x = 0 (units of y)", {1, 10}},
       {"beta", "stretching exponent (pure number); 1 is the plain exponential", {0.5, 1.8}},
       {"tau", "relaxation time (units of x)", {0.5, 4, true}},
       {"c", "plateau (units of y)", {-2, 2}}},
      {0, 10},
      [](const Sample& sample) {
        const Stretched fit = stretched(sample);
        return std::vector{fit.a, fit.beta, fit.tau, fit.c};
      },
      {.domain = Domain::non_negative});
  add(models, "weibull_growth", "a-b*exp(-c*x^d)", "Weibull growth curve, x >= 0",
      {{"a", "upper plateau (units of y)", {5, 10}},
       {"b", "rise from x = 0 to the plateau (units of y)", {2, 5}},
       {"c", "rate (1/x^d)", {0.02, 0.3, true}},
       {"d", "shape exponent (pure number)", {0.8, 2.5}}},
      {0, 10},
      [](const Sample& sample) {
        const Stretched fit = stretched(sample);
        return std::vector{fit.c, -fit.a, std::pow(fit.tau, -fit.beta), fit.beta};
      },
      {.domain = Domain::non_negative});
}

}  // namespace nlsq::inline v0::guessing
