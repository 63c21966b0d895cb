// Defines built-in saturation curves with one nonlinear constant, the x of half saturation.
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

// Fits y ~ plateau x/(half + x) for x >= 0. Returns {plateau, half}.
std::vector<double> saturation(const Sample& sample) {
  const double scale = sample.x.back() > 0 ? sample.x.back() : 1.0;
  const std::vector<double> v = mapped(sample.x, [=](double x) { return x / scale; });
  Separable problem(sample, v, 1, {std::log(1e-8)}, {std::log(1e6)}, kThinned);
  problem.basis = [](std::span<const double> u, std::span<const double> q, double* columns) {
    const double half = std::exp(q[0]);
    for (std::size_t i = 0; i < u.size(); ++i) columns[i] = u[i] / (half + u[i]);
  };
  const Solution best = search_line(problem, grid(std::log(1e-4), std::log(100.0), 15));
  return {best.c[0], std::exp(best.q[0]) * scale};
}

}  // namespace

void add_saturations(std::vector<Model>& models) {
  add(models, "michaelis_menten", "Vmax*x/(Km+x)", "Michaelis-Menten enzyme kinetics, x >= 0",
      {{"Vmax", "limiting rate (units of y)", {1, 10}},
       {"Km", "concentration of half the limiting rate (units of x)", {0.2, 8, true}}},
      {0.1, 10}, saturation, {.domain = Domain::non_negative});
  add(models, "langmuir", "q*K*x/(1+K*x)", "Langmuir adsorption isotherm, x >= 0",
      {{"q", "capacity: the limit at large x (units of y)", {1, 10}},
       {"K", "equilibrium constant (1/x)", {0.15, 5, true}}},
      {0.1, 10},
      [](const Sample& sample) {
        const std::vector<double> fit = saturation(sample);
        return std::vector{fit[0], 1 / fit[1]};
      },
      {.domain = Domain::non_negative});
}

}  // namespace nlsq::inline v0::guessing
