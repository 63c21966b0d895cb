// Defines built-in models of thermal radiation and occupation. They have one temperature, or a temperature
// and a pole left of the data.
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

std::vector<double> planck(const Sample& sample) {
  const double scale = sample.x.back();
  const std::vector<double> v = mapped(sample.x, [=](double x) { return x / scale; });
  Separable problem(sample, v, 1, {std::log(1e-4)}, {std::log(1e3)}, kThinned);
  problem.basis = [](std::span<const double> u, std::span<const double> q, double* columns) {
    const double T = std::exp(q[0]);
    for (std::size_t i = 0; i < u.size(); ++i) columns[i] = u[i] * u[i] * u[i] / std::expm1(u[i] / T);
  };
  const Solution best = search_line(problem, grid(std::log(0.005), std::log(10.0), 12));
  return {best.c[0] / (scale * scale * scale), std::exp(best.q[0]) * scale};
}

// Fits a/expm1((x-mu)/T) with mu < every x. q holds the logarithms of the gap and of T, in units of the
// range.
std::vector<double> bose(const Sample& sample) {
  const std::vector<double> u = sample.unit_x();
  Separable problem(sample, u, 1, {std::log(1e-6), std::log(1e-4)}, {std::log(1e2), std::log(1e3)}, kThinned);
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const double gap = std::exp(q[0]), T = std::exp(q[1]);
    for (std::size_t i = 0; i < at.size(); ++i) columns[i] = gap / T / std::expm1((at[i] + gap) / T);
  };
  std::vector<std::vector<double>> starts;
  for (const double gap : {1e-3, 0.01, 0.03, 0.1, 0.3, 1.0})
    for (const double T : {0.02, 0.05, 0.1, 0.3, 1.0, 5.0}) starts.push_back({std::log(gap), std::log(T)});
  const Solution best = search(problem, starts);
  const double gap = std::exp(best.q[0]), T = std::exp(best.q[1]);
  return {best.c[0] * gap / T, sample.x_min - gap * sample.span, T * sample.span};
}

}  // namespace

void add_thermal(std::vector<Model>& models) {
  add(models, "planck", "a*x^3/expm1(x/T)", "Planck's law: spectral density against frequency, x > 0",
      {{"a", "scale (y per x^3)", {0.2, 5}},
       {"T", "temperature as a frequency, kT/h (units of x)", {0.8, 3}}},
      {0.1, 10}, planck, {.domain = Domain::positive});
  add(models, "bose", "a/expm1((x-mu)/T)", "Bose-Einstein occupation, x > mu",
      {{"a", "scale (units of y)", {1, 5}},
       {"mu", "chemical potential (units of x)", {-2, -0.3}},
       {"T", "temperature (units of x)", {0.8, 4}}},
      {0, 10}, bose);
}

}  // namespace nlsq::inline v0::guessing
