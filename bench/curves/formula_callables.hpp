// Defines 26 built-in models, and three models with branches, as C++ callables that a user would write.
// suite_formula.cpp uses them.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/models.hpp>
#include <nlsq/where.hpp>

#include <cmath>
#include <numbers>

namespace bench {

template <class T>
auto square(const T& v) {
  return v * v;
}

// Calls visit(name, ModelFunction) for each of these built-in models.
template <class Visit>
void for_each_built_in(Visit visit_erased) {
  const auto visit = [&](const char* name, auto f) { visit_erased(name, nlsq::make_model_function(f)); };
  const auto visit2 = [&](const char* name, auto f) { visit_erased(name, nlsq::make_model_function(f, 2)); };
  constexpr double pi = std::numbers::pi;
  using std::exp, std::log, std::sqrt, std::sin, std::cos, std::pow, std::erf,
      std::expm1;  // overloads of Traced are found by argument type
  visit("linear", [](const auto& x, const auto& p) { return p[0] * x + p[1]; });
  visit("poly3",
        [](const auto& x, const auto& p) { return p[0] + p[1] * x + p[2] * pow(x, 2) + p[3] * pow(x, 3); });
  visit("exp", [](const auto& x, const auto& p) { return p[0] * exp(-p[1] * x) + p[2]; });
  visit("exp_rise", [](const auto& x, const auto& p) { return p[0] * (1 - exp(-p[1] * x)) + p[2]; });
  visit("biexp",
        [](const auto& x, const auto& p) { return p[0] * exp(-p[1] * x) + p[2] * exp(-p[3] * x) + p[4]; });
  visit("stretched_exp",
        [](const auto& x, const auto& p) { return p[0] * exp(-pow(x, p[1]) / pow(p[2], p[1])) + p[3]; });
  visit("power", [](const auto& x, const auto& p) { return p[0] * pow(x, p[1]); });
  visit("log", [](const auto& x, const auto& p) { return p[0] * log(x) + p[1]; });
  visit("gaussian", [](const auto& x, const auto& p) {
    return p[0] * exp(-square(x - p[1]) / (2 * square(p[2]))) + p[3];
  });
  visit("gaussian_area", [](const auto& x, const auto& p) {
    return p[0] / (p[1] * sqrt(2 * pi)) * exp(-square(x - p[2]) / (2 * square(p[1]))) + p[3];
  });
  visit("lorentzian",
        [](const auto& x, const auto& p) { return p[0] / (1 + square((x - p[1]) / p[2])) + p[3]; });
  visit("voigt_area", [](const auto& x, const auto& p) {
    using nlsq::voigt;
    return p[0] * voigt(x - p[1], p[2], p[3]) + p[4];
  });
  visit("pseudo_voigt", [](const auto& x, const auto& p) {
    const auto z = square((x - p[2]) / p[3]);
    return p[0] * (p[1] / (1 + z) + (1 - p[1]) * exp(-log(2.0) * z)) + p[4];
  });
  visit("moffat",
        [](const auto& x, const auto& p) { return p[0] * pow(1 + square((x - p[1]) / p[2]), -p[3]) + p[4]; });
  visit("skew_gaussian", [](const auto& x, const auto& p) {
    return p[0] * exp(-square(x - p[1]) / (2 * square(p[2]))) *
               (1 + erf(p[3] * (x - p[1]) / (p[2] * sqrt(2.0)))) +
           p[4];
  });
  visit("gaussian2", [](const auto& x, const auto& p) {
    return p[0] * exp(-square(x - p[1]) / (2 * square(p[2]))) +
           p[3] * exp(-square(x - p[4]) / (2 * square(p[5]))) + p[6];
  });
  visit("sine", [](const auto& x, const auto& p) { return p[0] * sin(2 * pi * p[1] * x + p[2]) + p[3]; });
  visit("damped_sine", [](const auto& x, const auto& p) {
    return p[0] * exp(-p[1] * x) * sin(2 * pi * p[2] * x + p[3]) + p[4];
  });
  visit("logistic", [](const auto& x, const auto& p) { return p[0] / (1 + exp(-p[1] * (x - p[2]))) + p[3]; });
  visit("logistic4", [](const auto& x, const auto& p) {
    return p[0] + (p[1] - p[0]) * pow(x, p[2]) / (pow(p[3], p[2]) + pow(x, p[2]));
  });
  visit("gompertz", [](const auto& x, const auto& p) { return p[0] * exp(-p[1] * exp(-p[2] * x)); });
  visit("erf_step", [](const auto& x, const auto& p) {
    return p[0] / 2 * (1 + erf((x - p[1]) / (sqrt(2.0) * p[2]))) + p[3];
  });
  visit("michaelis_menten", [](const auto& x, const auto& p) { return p[0] * x / (p[1] + x); });
  visit("rational22", [](const auto& x, const auto& p) {
    return (p[0] + p[1] * x + p[2] * pow(x, 2)) / (1 + p[3] * x + p[4] * pow(x, 2));
  });
  visit("planck", [](const auto& x, const auto& p) { return p[0] * pow(x, 3) / expm1(x / p[1]); });
  visit2("gaussian2d", [](const auto& x, const auto& p) {
    return p[0] * exp(-square(x[0] - p[1]) / (2 * square(p[2])) - square(x[1] - p[3]) / (2 * square(p[4]))) +
           p[5];
  });
}

// Makes a model that only exists in the bench.
inline nlsq::Model branching_model(const char* name, const char* formula, std::vector<std::string> parameters,
                                   nlsq::TrialRange x, std::vector<nlsq::TrialRange> trials) {
  nlsq::Model model;
  model.name = name;
  model.formula = formula;
  model.parameters = std::move(parameters);
  model.trial_x = x;
  model.trials = std::move(trials);
  return model;
}

// Models with branches: the formula's `if`, and the guards that recording leaves for an ordinary C++ branch.
// Calls visit(model, ModelFunction) for each.
template <class Visit>
void for_each_branching(Visit visit_erased) {
  const auto visit = [&](const nlsq::Model& model, auto f) {
    visit_erased(model, nlsq::make_model_function(f));
  };
  using std::abs, std::exp;
  visit(branching_model("broken line", "if(x<2,a+b*x,a+2*b+c*(x-2))", {"a", "b", "c"}, {0, 5},
                        {{1, 2}, {1, 2}, {-2, -1}}),
        [](const auto& x, const auto& p) {
          if (x < 2) return p[0] + p[1] * x;
          return p[0] + 2 * p[1] + p[2] * (x - 2);
        });
  visit(branching_model("delayed decay", "if(x<d,a,a*exp(-b*(x-d)))", {"d", "a", "b"}, {0, 5},
                        {{1, 2}, {2, 4}, {0.5, 1}}),
        [](const auto& x, const auto& p) -> std::decay_t<decltype(p[0] * x)> {
          if (x < p[0]) return p[1];
          return p[1] * exp(-p[2] * (x - p[0]));
        });
  visit(branching_model("parabolic peak", "h*if(abs((x-m)/w)<1,1-((x-m)/w)^2,0)+c", {"h", "m", "w", "c"},
                        {-3, 3}, {{2, 4}, {-0.5, 0.5}, {1, 2}, {0, 1}}),
        [](const auto& x, const auto& p) {
          const auto z = (x - p[1]) / p[2];
          return p[0] * nlsq::where(nlsq::less(abs(z), 1), 1 - square(z), 0.0) + p[3];
        });
}

}  // namespace bench
