// Defines the built-in models constant, linear, poly2 ... poly9. They are linear in every parameter, so the
// guess is the fit of the sample.
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <fmt/format.h>

#include <array>

namespace nlsq::inline v0::guessing {
namespace {

// Converts coefficients of Σ d_k ((x - centre)/scale)^k to powers of x by Horner's rule on polynomials.
std::vector<double> expand(const std::vector<double>& d, double centre, double scale) {
  std::vector<double> c;
  for (std::size_t k = d.size(); k-- > 0;) {
    std::vector<double> next(c.size() + 1, 0.0);
    for (std::size_t i = 0; i < c.size(); ++i) {
      next[i + 1] += c[i] / scale;
      next[i] -= c[i] * centre / scale;
    }
    next[0] += d[k];
    c = std::move(next);
  }
  c.resize(d.size());
  return c;
}

// Solves the least-squares problem in powers of x scaled to [-1, 1], where it is well conditioned.
std::vector<double> fit_polynomial(const Sample& sample, int degree) {
  const std::size_t n = sample.rows();
  const double centre = sample.x_min + sample.span / 2, scale = sample.span / 2;
  const std::size_t count = static_cast<std::size_t>(degree) + 1;
  std::vector<double> columns(n * count), d(count, 0.0), residual = sample.y;
  for (std::size_t i = 0; i < n; ++i) {
    double power = 1;
    for (std::size_t k = 0; k < count; ++k, power *= (sample.x[i] - centre) / scale)
      columns[k * n + i] = power;
  }
  apply_weight(sample.weight, residual, degree + 1, columns.data());
  project(residual, degree + 1, columns.data(), d.data());
  return expand(d, centre, scale);
}

void add_polynomial(std::vector<Model>& models, int degree) {
  static constexpr std::array names = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"};
  static constexpr std::array meanings = {"value at x = 0 (units of y)",    "coefficient of x (y per x)",
                                          "coefficient of x^2 (y per x^2)", "coefficient of x^3 (y per x^3)",
                                          "coefficient of x^4 (y per x^4)", "coefficient of x^5 (y per x^5)",
                                          "coefficient of x^6 (y per x^6)", "coefficient of x^7 (y per x^7)",
                                          "coefficient of x^8 (y per x^8)", "coefficient of x^9 (y per x^9)"};
  std::string formula;
  std::vector<ParameterRow> parameters;
  for (int k = 0; k <= degree; ++k) {
    const auto at = static_cast<std::size_t>(k);
    formula += k == 0 ? "c0" : k == 1 ? "+c1*x" : fmt::format("+c{}*x^{}", k, k);
    parameters.push_back({names[at], meanings[at], {-2, 2}});
  }
  add(models, fmt::format("poly{}", degree), formula, fmt::format("polynomial of degree {}", degree),
      parameters, {-2, 2}, [degree](const Sample& sample) { return fit_polynomial(sample, degree); });
}

}  // namespace

void add_polynomials(std::vector<Model>& models) {
  add(models, "constant", "c", "a constant: the mean of y", {{"c", "level (units of y)", {-5, 5}}}, {0, 10},
      [](const Sample& sample) { return std::vector{sample.y_mean}; });
  add(models, "linear", "a*x+b", "a straight line",
      {{"a", "slope (y per x)", {-5, 5}}, {"b", "value at x = 0 (units of y)", {-5, 5}}}, {0, 10},
      [](const Sample& sample) {
        const std::vector<double> c = fit_polynomial(sample, 1);
        return std::vector{c[1], c[0]};
      },
      {.aliases = {"line", "poly1"}});
  for (int degree = 2; degree <= 9; ++degree) add_polynomial(models, degree);
}

}  // namespace nlsq::inline v0::guessing
