// Tests that compiled programs round as the formula is written wherever the result jumps, and that rewriting
// goes on elsewhere.
#include <doctest/doctest.h>

#include "program/tile_program.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/nlsq.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Jump {
  const char* formula;
  double (*value)(double x);
};

// Each value is computed with the parameters P = 49 and q = 0.2. In each form, x*(1/P), another order of the
// terms or a product that is not rounded gives another value for some whole x.
const Jump kJumps[] = {
    {"P + 0*q + floor(x/49)", [](double x) { return 49 + std::floor(x / 49); }},
    {"P + 0*q + ceil(x/P)", [](double x) { return 49 + std::ceil(x / 49); }},
    {"P + 0*q + mod(x, P)", [](double x) { return 49 + (x - 49 * std::floor(x / 49)); }},
    {"P + 0*q + 2*(mod(x, P) == 0)", [](double x) { return 49 + 2.0 * (x - 49 * std::floor(x / 49) == 0); }},
    {"P + 0*q + 2*(x/P >= 3)", [](double x) { return 49 + 2.0 * (x / 49 >= 3); }},
    {"P + 0*q + 2*sign(x/P - 3)",
     [](double x) { return 49 + 2 * ((x / 49 - 3 > 0) - (x / 49 - 3 < 0) + 0.0); }},
    {"P + 0*q + if(x/P - 3, 1, 5)", [](double x) { return 49 + (x / 49 - 3 != 0 ? 1.0 : 5.0); }},
    {"P + 2*(q*x - 1 > 0)",
     [](double x) {
       const volatile double product = 0.2 * x;
       return 49 + 2.0 * (product - 1 > 0);
     }},
    {"P + 2*(q + (0.1*x + x*x) > 2.3 + x*x)",
     [](double x) {
       const volatile double product = 0.1 * x, square = x * x;
       return 49 + 2.0 * (0.2 + (product + square) > 2.3 + square);
     }},
    {"P + 0*q + floor(98/x) + floor(147/x)",
     [](double x) { return 49 + std::floor(98 / x) + std::floor(147 / x); }},
};

const std::vector<double> kP{49, 0.2};

std::vector<double> whole_numbers(std::size_t m) {
  std::vector<double> x;
  for (std::size_t i = 1; i <= m; ++i) x.push_back(static_cast<double>(i));
  return x;
}

std::ptrdiff_t divisions(const std::string& text) {
  const Formula formula = parse_formula(text);
  const NodeId outputs[] = {formula.model};
  return std::ranges::count(compile(formula.graph, outputs).code, Op::div, &Instruction::op);
}

}  // namespace

TEST_CASE("all evaluations take the side of a jump that the formula takes as written") {
  for (const Jump& jump : kJumps) {
    const Formula formula = parse_formula(jump.formula);
    for (const std::size_t rows : {std::size_t{60}, std::size_t{5000}}) {
      const std::vector<double> x = whole_numbers(rows);
      const std::vector<double> f64 = evaluate(jump.formula, x, kP, PrecisionPolicy::parse("f64")).values;
      for (std::size_t i = 0; i < rows; ++i) {
        CAPTURE(jump.formula);
        CAPTURE(x[i]);
        CHECK(f64[i] == doctest::Approx(jump.value(x[i])).epsilon(1e-14));
        CHECK(formula.evaluate(std::span(&x[i], 1), kP) == doctest::Approx(jump.value(x[i])).epsilon(1e-14));
      }
    }
  }
}

TEST_CASE("float takes the same side where its numbers are exact") {
  const std::vector<double> x = whole_numbers(5000);
  for (const Jump& jump : kJumps) {
    if (std::string(jump.formula).find("0*q") == std::string::npos) continue;
    const std::vector<double> f32 = evaluate(jump.formula, x, kP, PrecisionPolicy::parse("f32")).values;
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(jump.formula);
      CAPTURE(x[i]);
      CHECK(f32[i] == doctest::Approx(jump.value(x[i])).epsilon(1e-5));
    }
  }
}

TEST_CASE("fits of steps find them, alone and as a batch") {
  const std::size_t m = 300, fits = 40;
  std::vector<double> x = whole_numbers(m), y;
  for (std::size_t i = 0; i < m; ++i) y.push_back(1 + 2 * std::floor(x[i] / 49) + 1e-3 * std::sin(7 * x[i]));
  const auto steps = [](const auto& at, const auto& p) {
    using std::floor;
    return p[0] * floor(at / 49) + p[1];
  };
  for (const FitResult& fit :
       {curve_fit("b*floor(x/49) + c", x, y, {{"b", 1.5}, {"c", 0.5}}), curve_fit(steps, x, y, {1.5, 0.5})}) {
    CHECK(fit.success());
    CHECK(fit.parameters[0] == doctest::Approx(2).epsilon(1e-3));
    CHECK(fit.parameters[1] == doctest::Approx(1).epsilon(1e-3));
  }
  Matrix responses(fits, m), start(fits, 2);
  for (std::size_t f = 0; f < fits; ++f) {
    for (std::size_t i = 0; i < m; ++i) responses(f, i) = y[i];
    start(f, 0) = 1.5, start(f, 1) = 0.5;
  }
  const BatchResult batch = curve_fit_batch("b*floor(x/49) + c", x, responses, start);
  CHECK(batch.success());
  CHECK(batch.in_lanes == fits);
  for (std::size_t f = 0; f < fits; ++f) CHECK(batch.parameters(f, 0) == doctest::Approx(2).epsilon(1e-3));
}

TEST_CASE("a division by a parameter is kept where the result jumps, and nowhere else") {
  CHECK(divisions("a*floor(x/P)") == 1);
  CHECK(divisions("a*(x/P < b)") == 1);
  CHECK(divisions("a*sign((x - b)/P)") == 0);
  CHECK(divisions("a*exp(-x/P)") == 0);
  CHECK(divisions("a*if(x < b, x/P, 1 - x/P)") == 0);
}
