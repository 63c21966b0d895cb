// Tests that a typed formula, a C++ lambda and a built-in model of one curve are one program, with identical
// bits in the parameters, the covariance and every number of the trace, also with branches, guards and
// choices.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "trials.hpp"

using namespace nlsq;

namespace {

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }
void check_bits(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return;
  CHECK(bits(a) == bits(b));
}

void check_same_bits(const FitResult& a, const FitResult& b) {
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    check_bits(a.parameters[i], b.parameters[i]);
    for (std::size_t j = 0; j < a.parameters.size(); ++j) check_bits(a.covariance(i, j), b.covariance(i, j));
  }
  check_bits(a.rss, b.rss);
  check_bits(a.r_squared, b.r_squared);
  CHECK(a.summary.verdict == b.summary.verdict);
  REQUIRE(a.summary.iterations.size() == b.summary.iterations.size());
  for (std::size_t k = 0; k < a.summary.iterations.size(); ++k) {
    const IterationSummary &s = a.summary.iterations[k], &t = b.summary.iterations[k];
    check_bits(s.cost, t.cost);
    check_bits(s.gradient_norm, t.gradient_norm);
    check_bits(s.decrement_sigma, t.decrement_sigma);
    check_bits(s.lambda, t.lambda);
    check_bits(s.rho, t.rho);
    check_bits(s.condition, t.condition);
    CHECK(s.plan == t.plan);
    CHECK(s.outcome == t.outcome);
    CHECK(s.event == t.event);
  }
}

struct Sample {
  std::vector<double> x, y;
};
Sample draw(const Formula& formula, const std::vector<double>& truth, double low, double high) {
  Sample d;
  trials::Random random(11);
  for (int i = 0; i < 300; ++i) {
    d.x.push_back(low + (high - low) * (i + 0.5) / 300);
    d.y.push_back(formula.evaluate({&d.x.back(), 1}, truth));
  }
  const auto [least, most] = std::minmax_element(d.y.begin(), d.y.end());
  const double noise = 0.01 * (*most - *least);
  for (double& y : d.y) y += noise * random.normal();
  return d;
}

int compared = 0;  // number of curves in all test cases

FitOptions in(const char* policy) {
  FitOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  return options;
}

// Compares the formula, the lambda and, if there is one of that name, the built-in model, from the same
// start.
template <class F>
void compare(const std::string& text, F f, const std::vector<double>& truth, double low, double high,
             const Model* built_in = nullptr) {
  CAPTURE(text);
  const Formula formula = parse_formula(text);
  REQUIRE(formula.parameters.size() == truth.size());
  const Sample d = draw(formula, truth, low, high);
  std::vector<double> start = truth;
  NamedValues named;
  for (std::size_t j = 0; j < start.size(); ++j) {
    start[j] = truth[j] * (j % 2 ? 0.93 : 1.08) + 0.01;
    named.emplace_back(formula.parameters[j], start[j]);
  }
  for (const char* policy : {"f64", "f32"}) {
    CAPTURE(policy);
    const FitResult typed = curve_fit(formula, d.x, d.y, named, in(policy));
    const FitResult written = curve_fit(f, d.x, d.y, start, in(policy));
    CHECK(typed.success());
    REQUIRE(written.summary.evaluator == "graph");
    CHECK((typed.summary.precision.counters.rows_f32 > 0) == (std::string_view(policy) == "f32"));
    check_same_bits(typed, written);
    if (built_in != nullptr) check_same_bits(typed, curve_fit(*built_in, d.x, d.y, named, in(policy)));
  }
  ++compared;
}

// Compares a built-in model by name, at the middle of its trial ranges.
template <class F>
void compare_model(const char* name, F f) {
  const std::string model_name = name;
  CAPTURE(model_name);
  const Model& m = model(name);
  std::vector<double> truth;
  for (const TrialRange& r : m.trials)
    truth.push_back(r.logarithmic ? std::sqrt(r.low * r.high) : 0.4 * r.low + 0.6 * r.high);
  compare(m.formula, f, truth, m.trial_x.low, m.trial_x.high, &m);
}

constexpr double pi = std::numbers::pi;

}  // namespace

TEST_CASE("polynomials and exponentials") {
  compare_model("linear", [](const auto& x, const auto& p) { return p[0] * x + p[1]; });
  compare_model("poly3", [](const auto& x, const auto& p) {
    return p[0] + p[1] * x + p[2] * (x * x) + p[3] * pow(x, 3);
  });
  compare_model("exp", [](const auto& x, const auto& p) { return p[0] * exp(-p[1] * x) + p[2]; });
  compare_model("exp0", [](const auto& x, const auto& p) { return p[0] * exp(-p[1] * x); });
  compare_model("exp_growth", [](const auto& x, const auto& p) { return p[0] * exp(p[1] * x) + p[2]; });
  compare_model("exp_rise", [](const auto& x, const auto& p) { return p[0] * (1 - exp(-p[1] * x)) + p[2]; });
  compare_model("biexp", [](const auto& x, const auto& p) {
    return p[0] * exp(-p[1] * x) + p[2] * exp(-p[3] * x) + p[4];
  });
}

TEST_CASE("powers and logarithms") {
  compare_model("power", [](const auto& x, const auto& p) { return p[0] * pow(x, p[1]); });
  compare_model("power_offset", [](const auto& x, const auto& p) { return p[0] * pow(x, p[1]) + p[2]; });
  compare_model("log", [](const auto& x, const auto& p) { return p[0] * log(x) + p[1]; });
}

TEST_CASE("peaks") {
  compare_model("gaussian", [](const auto& x, const auto& p) {
    return p[0] * exp(-pow(x - p[1], 2) / (2 * pow(p[2], 2))) + p[3];
  });
  compare_model("gaussian_area", [](const auto& x, const auto& p) {
    return p[0] / (p[1] * std::sqrt(2 * pi)) * exp(-pow(x - p[2], 2) / (2 * pow(p[1], 2))) + p[3];
  });
  compare_model("lorentzian",
                [](const auto& x, const auto& p) { return p[0] / (1 + pow((x - p[1]) / p[2], 2)) + p[3]; });
  compare_model("voigt_area",
                [](const auto& x, const auto& p) { return p[0] * voigt(x - p[1], p[2], p[3]) + p[4]; });
  compare_model("moffat", [](const auto& x, const auto& p) {
    return p[0] * pow(1 + pow((x - p[1]) / p[2], 2), -p[3]) + p[4];
  });
  compare_model("skew_gaussian", [](const auto& x, const auto& p) {
    return p[0] * exp(-pow(x - p[1], 2) / (2 * pow(p[2], 2))) *
               (1 + erf(p[3] * (x - p[1]) / (p[2] * std::sqrt(2.0)))) +
           p[4];
  });
}

TEST_CASE("waves, steps and saturations") {
  compare_model("sine",
                [](const auto& x, const auto& p) { return p[0] * sin(2 * pi * p[1] * x + p[2]) + p[3]; });
  compare_model("damped_sine", [](const auto& x, const auto& p) {
    return p[0] * exp(-p[1] * x) * sin(2 * pi * p[2] * x + p[3]) + p[4];
  });
  compare_model("logistic",
                [](const auto& x, const auto& p) { return p[0] / (1 + exp(-p[1] * (x - p[2]))) + p[3]; });
  compare_model("gompertz", [](const auto& x, const auto& p) { return p[0] * exp(-p[1] * exp(-p[2] * x)); });
  compare_model("erf_step", [](const auto& x, const auto& p) {
    return p[0] / 2 * (1 + erf((x - p[1]) / (std::sqrt(2.0) * p[2]))) + p[3];
  });
  compare_model("fermi",
                [](const auto& x, const auto& p) { return p[0] / (1 + exp((x - p[1]) / p[2])) + p[3]; });
  compare_model("michaelis_menten", [](const auto& x, const auto& p) { return p[0] * x / (p[1] + x); });
  compare_model("langmuir", [](const auto& x, const auto& p) { return p[0] * p[1] * x / (1 + p[1] * x); });
  compare_model("rational11",
                [](const auto& x, const auto& p) { return (p[0] + p[1] * x) / (1 + p[2] * x); });
  compare_model("planck", [](const auto& x, const auto& p) { return p[0] * pow(x, 3) / expm1(x / p[1]); });
}

TEST_CASE("a branch in a lambda is the formula's if") {
  compare(
      "if(x < 4, a + b*x, a + 4*b + c*(x-4))",
      [](const auto& x, const auto& p) { return x < 4 ? p[0] + p[1] * x : p[0] + 4 * p[1] + p[2] * (x - 4); },
      {1, 0.5, -0.3}, 0, 10);
  // This branch is on a parameter, so rows change sides as the fit goes on.
  compare(
      "if(x < t, a*x, a*t + b*(x-t))",
      [](const auto& x, const auto& p) {
        if (x < p[0]) return p[1] * x;
        return p[1] * p[0] + p[2] * (x - p[0]);
      },
      {4.3, 2, -0.5}, 0, 10);
  compare(
      "if(x < 3, a*exp(-b*x), if(x < 7, c, c + d*(x-7)))",
      [](const auto& x, const auto& p) {
        if (x < 3) return p[0] * exp(-p[1] * x);
        return x < 7 ? p[2] : p[2] + p[3] * (x - 7);
      },
      {3, 0.4, 1, 0.7}, 0, 10);
  compare_model("emg", [](const auto& x, const auto& p) {
    const auto u = (x - p[2]) / p[3];
    const auto z = (p[3] / p[1] - u) / std::sqrt(2.0);
    const auto shape = u > p[3] / p[1] ? exp(pow(p[3], 2) / (2 * pow(p[1], 2)) - (x - p[2]) / p[1]) * erfc(z)
                                       : exp(-pow(x - p[2], 2) / (2 * pow(p[3], 2))) * erfcx(z);
    return p[0] / (2 * p[1]) * shape + p[4];
  });
}

TEST_CASE("choices without a branch: where, abs, min and max") {
  compare(
      "if(x < 4, a + b*x, a + 4*b + c*(x-4))",
      [](const auto& x, const auto& p) {
        return where(less(x, 4), p[0] + p[1] * x, p[0] + 4 * p[1] + p[2] * (x - 4));
      },
      {1, 0.5, -0.3}, 0, 10);
  compare(
      "a*abs(x-b)+c",
      [](const auto& x, const auto& p) {
        using std::abs;
        return p[0] * abs(x - p[1]) + p[2];
      },
      {2, 4.2, 1}, 0, 10);
  compare(
      "a*exp(-b*max(x-1,0))",
      [](const auto& x, const auto& p) {
        using std::fmax;
        return p[0] * exp(-p[1] * fmax(x - 1, 0));
      },
      {2, 0.7}, 0, 10);
}

TEST_CASE("at least twenty curves were compared") { CHECK(compared >= 20); }
