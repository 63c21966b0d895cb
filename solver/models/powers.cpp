// Defines built-in power laws, logarithm and Arrhenius' law. Their guesses are exponentials in log x or 1/x.
#include "models/guesses/exponential_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

ExponentialFit power_law(const Sample& sample, bool offset) {
  return fit_exponential(sample, logarithms(sample.x), offset);
}

std::vector<double> logarithm(const Sample& sample) {
  const std::size_t n = sample.rows();
  std::vector<double> columns(2 * n, 1.0), residual = sample.y, c(2);
  for (std::size_t i = 0; i < n; ++i) columns[n + i] = std::log(sample.x[i]);
  apply_weight(sample.weight, residual, 2, columns.data());
  project(residual, 2, columns.data(), c.data());
  return {c[1], c[0]};
}

constexpr double kGasConstant = 8.314462618;  // J/(mol K), exact in the SI of 2019

}  // namespace

void add_powers(std::vector<Model>& models) {
  add(models, "power", "a*x^b", "power law, x > 0",
      {{"a", "value at x = 1 (units of y)", {1, 5}}, {"b", "exponent (pure number)", {-2, 3}}}, {0.5, 10},
      [](const Sample& sample) {
        const ExponentialFit fit = power_law(sample, false);
        return std::vector{fit.a, -fit.rate};
      },
      {.domain = Domain::positive});
  add(models, "power_offset", "a*x^b+c", "power law with a constant, x > 0",
      {{"a", "value above c at x = 1 (units of y)", {1, 5}},
       {"b", "exponent (pure number)", {0.5, 3}},
       {"c", "constant (units of y)", {-5, 5}}},
      {0.5, 10},
      [](const Sample& sample) {
        const ExponentialFit fit = power_law(sample, true);
        return std::vector{fit.a, -fit.rate, fit.c};
      },
      {.domain = Domain::positive});
  add(models, "log", "a*log(x)+b", "logarithm, x > 0",
      {{"a", "rise for each factor e in x (units of y)", {-5, 5}},
       {"b", "value at x = 1 (units of y)", {-5, 5}}},
      {0.5, 10}, logarithm, {.domain = Domain::positive});
  add(models, "arrhenius", "A*exp(-E/(8.314462618*x))",
      "Arrhenius' law: a rate against the absolute temperature x in kelvin",
      {{"A", "prefactor: the rate at infinite temperature (units of y)", {1e5, 1e9, true}},
       {"E", "activation energy (J/mol)", {2e4, 8e4}}},
      {280, 400},
      [](const Sample& sample) {
        const auto inverse = mapped(sample.x, [](double x) { return 1 / x; });
        const ExponentialFit fit = fit_exponential(sample, inverse, false);
        return std::vector{fit.a, fit.rate * kGasConstant};
      },
      {.domain = Domain::positive});
}

}  // namespace nlsq::inline v0::guessing
