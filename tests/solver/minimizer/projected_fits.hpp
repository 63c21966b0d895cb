// Makes models with linear parameters and data for them, and compares two fits.
#pragma once

#include <nlsq/nlsq.hpp>

#include "corpora/noise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace projected_fits {

using namespace nlsq;

struct Sample {
  std::string formula;
  NamedValues start;  // for all parameters, far enough away for some steps
  NamedValues truth;
  double low, high, noise;
  int linear;  // number of linear parameters
};

inline const Sample kSamples[] = {
    {"a*exp(-b*x)+c", {{"a", 1}, {"b", 0.3}, {"c", 0}}, {{"a", 2.5}, {"b", 1.3}, {"c", 0.5}}, 0, 4, 0.02, 2},
    {"b1*(1-exp(-b2*x))", {{"b1", 1}, {"b2", 1}}, {{"b1", 240}, {"b2", 0.05}}, 0, 30, 0.5, 1},
    {"a1*exp(-b1*x)+a2*exp(-b2*x)+c",
     {{"a1", 1}, {"b1", 4}, {"a2", 1}, {"b2", 0.2}, {"c", 0}},
     {{"a1", 3}, {"b1", 2.5}, {"a2", 2}, {"b2", 0.4}, {"c", 0.5}},
     0,
     8,
     0.002,
     3},
    {"a1*exp(-b1*x)+a2*exp(-b2*x)+a3*exp(-b3*x)",
     {{"a1", 1}, {"b1", 7}, {"a2", 1}, {"b2", 1.5}, {"a3", 1}, {"b3", 0.15}},
     {{"a1", 3}, {"b1", 5}, {"a2", 2}, {"b2", 1.1}, {"a3", 1}, {"b3", 0.2}},
     0,
     10,
     0.001,
     3},
    {"a*x^b+c", {{"a", 1}, {"b", 0.6}, {"c", 0}}, {{"a", 2}, {"b", 1.4}, {"c", 1}}, 0.1, 5, 0.02, 2},
    {"a*x/(k+x)", {{"a", 1}, {"k", 1}}, {{"a", 212}, {"k", 6}}, 0.1, 30, 1, 1},
    {"a/(1+exp(-b*(x-c)))+d",
     {{"a", 1}, {"b", 0.7}, {"c", -1}, {"d", 0}},
     {{"a", 3}, {"b", 1.5}, {"c", 0.7}, {"d", 0.2}},
     -5,
     5,
     0.05,
     2},
    {"s*sin(w*x)+c*cos(w*x)+d",
     {{"s", 1}, {"w", 2}, {"c", 1}, {"d", 0}},
     {{"s", 2}, {"w", 2.1}, {"c", -1}, {"d", 1}},
     0,
     10,
     0.1,
     3},
    {"h1*exp(-((x-c1)/w1)^2)+h2*exp(-((x-c2)/w2)^2)+d",
     {{"h1", 1}, {"c1", -1.6}, {"w1", 1}, {"h2", 1}, {"c2", 1.5}, {"w2", 1}, {"d", 0}},
     {{"h1", 2}, {"c1", -1.2}, {"w1", 0.7}, {"h2", 3}, {"c2", 1.1}, {"w2", 0.9}, {"d", 0.4}},
     -5,
     5,
     0.03,
     3},
    {"exp(-b*x)*(a+c*x)+2*x",
     {{"b", 0.3}, {"a", 1}, {"c", 1}},
     {{"b", 0.9}, {"a", 1.5}, {"c", 4}},
     0,
     6,
     0.02,
     2},
};

struct Data {
  std::vector<double> x, y;
};

inline Data drawn(const Sample& s, std::size_t rows, std::uint64_t seed = 5) {
  const Formula formula = parse_formula(s.formula);
  std::vector<double> p(formula.parameters.size());
  for (const auto& [name, value] : s.truth) {
    p[static_cast<std::size_t>(std::ranges::find(formula.parameters, name) - formula.parameters.begin())] =
        value;
  }
  Data d;
  problems::Noise random(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    d.x.push_back(s.low + (s.high - s.low) * static_cast<double>(i) / static_cast<double>(rows - 1));
    d.y.push_back(formula.evaluate({&d.x.back(), 1}, p) + s.noise * random.normal());
  }
  return d;
}

inline FitOptions options_of(VariableProjection wish, int threads = 1) {
  FitOptions o;
  o.variable_projection = wish;
  o.threads = threads;
  return o;
}

inline std::vector<std::string> eliminated(const FitResult& fit) {
  std::vector<std::string> names;
  for (std::size_t j = 0; j < fit.eliminated.size(); ++j) {
    if (fit.eliminated[j]) names.push_back(fit.parameter_names[j]);
  }
  return names;
}

using Names = std::vector<std::string>;

inline bool warns(const FitResult& fit, const std::string& what) {
  return std::ranges::any_of(fit.warnings,
                             [&](const std::string& w) { return w.find(what) != std::string::npos; });
}

// Checks that parameters agree to `digits` of a standard error, and errors and correlations as far as the
// condition of J allows.
inline void check_same(const FitResult& a, const FitResult& b) {
  REQUIRE(a.parameters.size() == b.parameters.size());
  CHECK(a.summary.verdict == b.summary.verdict);
  for (std::size_t j = 0; j < a.parameters.size(); ++j) {
    CAPTURE(a.parameter_names[j]);
    CHECK(a.parameters[j] == doctest::Approx(b.parameters[j]).epsilon(1e-9));
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      const double size = a.standard_errors[i] * a.standard_errors[j];
      CHECK(std::fabs(a.covariance(i, j) - b.covariance(i, j)) <= 1e-7 * size);
    }
  }
  CHECK(a.rss == doctest::Approx(b.rss).epsilon(1e-12));
  CHECK(a.dof == b.dof);
}

}  // namespace projected_fits
