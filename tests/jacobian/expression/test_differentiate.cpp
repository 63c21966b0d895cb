#include <doctest/doctest.h>

#include "random_expression.hpp"

#include <nlsq/error.hpp>
#include <nlsq/formula.hpp>
#include "program/tile_program.hpp"

#include <cmath>
#include <limits>
#include <string>

using namespace nlsq;
using nlsq_test::RandomExpression;

namespace {

// Returns a fourth-order central difference.
template <class Function>
double difference(Function f, double at) {
  const double h = 1e-3 * std::max(1.0, std::fabs(at));
  return (8 * (f(at + h) - f(at - h)) - (f(at + 2 * h) - f(at - 2 * h))) / (12 * h);
}

double numerical(const Graph& g, NodeId root, std::span<const double> columns, std::vector<double> parameters,
                 std::size_t which) {
  const double at = parameters[which];
  return difference(
      [&](double value) {
        parameters[which] = value;
        return evaluate(g, root, columns, parameters);
      },
      at);
}

struct Range {
  Op op;
  double from, to;  // range of the argument
};

double lerp(double from, double to, int i, int count) { return from + (to - from) * (i + 0.5) / count; }

// Returns the derivative at one point, for expressions of one column.
double derivative_at(const char* text, double x, std::vector<double> p) {
  Formula f = parse_formula(text);
  const int wrt[] = {0};
  const NodeId d = differentiate(f.graph, f.model, wrt)[0];
  const double columns[] = {x};
  return evaluate(f.graph, d, columns, p);
}

}  // namespace

TEST_CASE("the derivative of every function of one argument agrees with differences") {
  const Range ranges[] = {
      {Op::neg, -2, 2},          {Op::abs, 0.1, 2},    {Op::abs, -2, -0.1},   {Op::sqrt, 0.2, 5},
      {Op::cbrt, 0.2, 5},        {Op::cbrt, -5, -0.2}, {Op::exp, -3, 3},      {Op::expm1, -3, 3},
      {Op::log, 0.2, 9},         {Op::log10, 0.2, 9},  {Op::log2, 0.2, 9},    {Op::log1p, -0.7, 5},
      {Op::sin, -4, 4},          {Op::cos, -4, 4},     {Op::tan, -1.2, 1.2},  {Op::asin, -0.9, 0.9},
      {Op::acos, -0.9, 0.9},     {Op::atan, -4, 4},    {Op::sinh, -3, 3},     {Op::cosh, -3, 3},
      {Op::tanh, -3, 3},         {Op::asinh, -4, 4},   {Op::acosh, 1.2, 5},   {Op::atanh, -0.9, 0.9},
      {Op::erf, -3, 3},          {Op::erfc, -3, 3},    {Op::erfcx, -1.5, 6},  {Op::gamma, 0.4, 5},
      {Op::gamma, -1.56, -1.44}, {Op::lgamma, 0.4, 9}, {Op::digamma, 0.4, 9}, {Op::besj0, -9, 9},
      {Op::besj1, -9, 9},        {Op::sign, 0.1, 3},   {Op::floor, 0.1, 0.9}, {Op::ceil, 1.1, 1.9},
      {Op::logical_not, 0.1, 3}};
  constexpr int kPoints = 40;
  for (const Range& range : ranges) {
    Graph g;
    const NodeId u = g.add(g.mul(g.parameter(0), g.column(0)), g.parameter(1));
    const NodeId root = g.make(range.op, u);
    const int wrt[] = {0, 1};
    const auto d = differentiate(g, root, wrt);
    for (int i = 0; i < kPoints; ++i) {
      const double argument = lerp(range.from, range.to, i, kPoints);
      const std::vector<double> p{0.7, 0.1};
      const double columns[] = {(argument - p[1]) / p[0]};
      CAPTURE(std::string(name(range.op)));
      CAPTURE(argument);
      for (std::size_t j = 0; j < 2; ++j) {
        const double exact = evaluate(g, d[j], columns, p), approximate = numerical(g, root, columns, p, j);
        CHECK(std::fabs(exact - approximate) <= 2e-8 * std::max(1.0, std::fabs(exact)));
      }
    }
  }
}

TEST_CASE("the derivative of every function of two arguments agrees with differences") {
  struct Case {
    Op op;
    double a_from, a_to, b_from, b_to;
  };
  const Case cases[] = {
      {Op::add, -2, 2, -2, 2},        {Op::sub, -2, 2, -2, 2},          {Op::mul, -2, 2, -2, 2},
      {Op::div, -2, 2, 0.5, 3},       {Op::pow, 0.3, 4, -2.2, 3.1},     {Op::hypot, -2, 2, 0.5, 2},
      {Op::atan2, -2, 2, 0.5, 2},     {Op::atan2, 0.5, 2, -2, 2},       {Op::min, 0, 1, 1.2, 2},
      {Op::min, 1.2, 2, 0, 1},        {Op::max, 0, 1, 1.2, 2},          {Op::max, 1.2, 2, 0, 1},
      {Op::fmod, 5.3, 5.9, 2.2, 2.5}, {Op::fmod, -5.9, -5.3, 2.2, 2.5}, {Op::wofz_re, -4, 4, 0.2, 3},
      {Op::wofz_im, -4, 4, 0.2, 3},   {Op::less, 0, 1, 1.2, 2}};
  constexpr int kPoints = 7;
  for (const Case& c : cases) {
    Graph g;
    // Two shared parameters are used, so that both operands depend on each of them.
    const NodeId u = g.add(g.column(0), g.mul(g.parameter(0), g.parameter(1)));
    const NodeId v = g.add(g.column(1), g.mul(g.parameter(0), g.constant(0.3)));
    const NodeId root = g.make(c.op, u, v);
    const int wrt[] = {0, 1};
    const auto d = differentiate(g, root, wrt);
    const std::vector<double> p{0.05, 0.4};
    for (int i = 0; i < kPoints * kPoints; ++i) {
      const double columns[] = {lerp(c.a_from, c.a_to, i % kPoints, kPoints) - p[0] * p[1],
                                lerp(c.b_from, c.b_to, i / kPoints, kPoints) - 0.3 * p[0]};
      CAPTURE(std::string(name(c.op)));
      CAPTURE(columns[0]);
      CAPTURE(columns[1]);
      for (std::size_t j = 0; j < 2; ++j) {
        const double exact = evaluate(g, d[j], columns, p), approximate = numerical(g, root, columns, p, j);
        CHECK(std::fabs(exact - approximate) <= 5e-8 * std::max(1.0, std::fabs(exact)));
      }
    }
  }
}

TEST_CASE("powers have derivatives for every kind of base and exponent") {
  for (const char* text :
       {"(p*x)^q", "x^q*p", "p^(x*q)", "(p*x)^2.7", "(p*x)^3*q", "(p*x)^-1.5*q", "2^(p*x)*q", "(p*x)^2.5*q",
        "(p*x)^1.5*q", "(p+q)^x", "(p*x)^(q*x)", "(p*x)^11*q"}) {
    Formula f = parse_formula(text);
    const int wrt[] = {0, 1};
    const auto d = differentiate(f.graph, f.model, wrt);
    const std::vector<double> p{0.8, 1.3};
    for (double x = 0.3; x < 2; x += 0.17) {
      const double columns[] = {x};
      CAPTURE(text);
      CAPTURE(x);
      for (std::size_t j = 0; j < 2; ++j) {
        const double exact = evaluate(f.graph, d[j], columns, p);
        CHECK(std::fabs(exact - numerical(f.graph, f.model, columns, p, j)) <=
              1e-8 * std::max(1.0, std::fabs(exact)));
      }
    }
  }
}

TEST_CASE("derivatives at special points follow their conventions") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(derivative_at("x^p", 0, {2.5}) == 0);  // d(0^p)/dp
  CHECK(derivative_at("x^p", 0, {0}) == 0);
  CHECK(derivative_at("(p*x)^q", 0, {1, 2}) == 0);  // b a^(b-1) with a = 0, times x = 0
  CHECK(derivative_at("(p+x)^q", 0, {0, 1}) == 1);
  CHECK(derivative_at("(p+x)^q", 0, {0, 3}) == 0);
  CHECK(derivative_at("(p+x)^q", 0, {0, 0.5}) == infinity);
  CHECK(derivative_at("(p+x)^1.5", 0, {0}) == 0);
  CHECK(derivative_at("(p+x)^2.5", 0, {0}) == 0);
  CHECK(derivative_at("(p+x)^2.7", 0, {0}) == 0);
  CHECK(derivative_at("(p+x)^2.7", -1, {-1}) != derivative_at("(p+x)^2.7", 0, {0}));  // NaN: no real power
  CHECK(derivative_at("abs(p*x)", 2, {0}) == 0);
  CHECK(derivative_at("hypot(p*x, q)", 2, {0, 0}) == 0);
  CHECK(derivative_at("sqrt(p+x)", 0, {0}) == infinity);
  CHECK(derivative_at("besj1(p+x)", 0, {0}) == 0.5);
  CHECK(derivative_at("min(p, 2-x)", 1, {1}) == 1);  // at a tie, it is that of the first argument
  CHECK(derivative_at("max(p, 2-x)", 1, {1}) == 1);
  CHECK(derivative_at("min(x, p)", 1, {1}) == 0);
}

TEST_CASE("derivatives of quotients stay finite where an exponential in the denominator overflows") {
  CHECK(derivative_at("a/(1+exp(-k*x))", -1000, {3, 1}) == 0);
  for (const char* text : {"2/(1+exp(-k*x))", "2/(exp(-k*x)+1)", "2/(exp(-k*x)-1)", "2/(1-exp(-k*x))",
                           "2/(1+3*exp(-k*x))", "2/(1-exp(-k*x)*3)", "2/expm1(-k*x)", "x^3/expm1(-k*x)"}) {
    CAPTURE(text);
    CHECK(derivative_at(text, -1000, {1}) == 0);
    CHECK(std::isfinite(derivative_at(text, 1000, {1})));
    for (const double x : {-30.0, -2.0, -0.3, 0.4, 3.0}) {
      CAPTURE(x);
      const Formula f = parse_formula(text);
      const double columns[] = {x};
      CHECK(derivative_at(text, x, {1.1}) ==
            doctest::Approx(numerical(f.graph, f.model, columns, {1.1}, 0)).epsilon(1e-8).scale(1));
    }
  }
  for (const char* text : {"2/(1+s*exp(-x))", "2/(1-exp(-x)*s)", "2/(s*exp(-x)-3)"}) {
    CAPTURE(text);
    CHECK(derivative_at(text, -1000, {1}) == 0);
    CHECK(derivative_at(text, 1000, {1}) == 0);
    CHECK(std::isfinite(derivative_at(text, 1, {0})));
    for (const double x : {-3.0, -0.3, 0.4, 5.0}) {
      CAPTURE(x);
      const Formula f = parse_formula(text);
      const double columns[] = {x};
      CHECK(derivative_at(text, x, {0.3}) ==
            doctest::Approx(numerical(f.graph, f.model, columns, {0.3}, 0)).epsilon(1e-8));
    }
  }
}

TEST_CASE("derivatives stay finite where an exponential inside an exponential or a power overflows") {
  struct Case {
    const char* text;
    double limit;  // at x = -1000; at 1000 the derivative must be finite
  };
  for (const Case& c :
       {Case{"3*exp(-p*exp(-q*x))", 0}, Case{"exp(-exp(-q*(x-p)))", 0}, Case{"exp(p-exp(-q*x))", 0},
        Case{"exp(-q*x-p*exp(-q*x))", 0}, Case{"exp(exp(-q*x)*(-p))", 0}, Case{"exp(-(p+exp(-q*x)))", 0},
        Case{"1/exp(p*exp(-q*x))", 0}, Case{"3/(1+p*exp(-q*x))^(1/q)", 0},
        Case{"3*(1+p*exp(-q*x))^(-1/q)", 0}, Case{"(1+exp(-q*(x-p)))^(-2.7)", 0},
        Case{"3/(exp(-q*x)*p+1)^q", 0}, Case{"2/(1+p*exp(-q*x))^p", 0}}) {
    CAPTURE(c.text);
    for (int j = 0; j < 2; ++j) {
      CAPTURE(j);
      Formula f = parse_formula(c.text);
      const int wrt[] = {0, 1};
      const auto d = differentiate(f.graph, f.model, wrt);
      const std::vector<double> p{0.8, 1.3};
      const auto at = [&](double x) {
        const double columns[] = {x};
        return evaluate(f.graph, d[static_cast<std::size_t>(j)], columns, p);
      };
      CHECK(at(-1000) == c.limit);
      CHECK(std::fabs(at(-540) - c.limit) < 1e-100);  // e^702 is finite, and its products are not
      CHECK(std::isfinite(at(1000)));
      for (const double x : {-3.0, -1.1, -0.3, 0.0, 0.4, 3.0, 20.0}) {
        CAPTURE(x);
        const double columns[] = {x};
        const double exact = numerical(f.graph, f.model, columns, p, static_cast<std::size_t>(j));
        CHECK(std::fabs(at(x) - exact) <= 1e-8 * std::max(1.0, std::fabs(exact)));
      }
    }
  }
}

TEST_CASE("powers and roots of a product that is 0 have finite derivatives") {
  // The derivative is by the first parameter. All of these models are 0 or constant at x = 0.
  const char* const finite[] = {"a*0+exp(-(x/a)^b)",      "a*0+b*sqrt(a*x)",       "b*cbrt(x/a)+a*0",
                                "a*0+(x/(a*b))^0.5",      "a*0+b+1/(1+(x/a)^0.7)", "a*0+b/(1-(x*a)^0.3)",
                                "a*0+sqrt(1/(1+(x/a)^b))"};
  for (const char* text : finite) {
    CAPTURE(text);
    CHECK(derivative_at(text, 0, {1.7, 0.6}) == 0);
    const double near = 0.3;
    const Formula f = parse_formula(text);
    const double wanted = difference(
        [&](double a) {
          const double x[] = {near}, p[] = {a, 0.6};
          return f.evaluate(x, p);
        },
        1.7);
    CHECK(derivative_at(text, near, {1.7, 0.6}) == doctest::Approx(wanted).epsilon(1e-8));
  }
  // These derivatives are by the exponent, and where a negative exponent makes the power infinite.
  CHECK(derivative_at("b*0+(x/c)^b", 0, {0.6, 1.7}) == 0);
  CHECK(derivative_at("h+1/(1+(x/k)^h)-h", 0, {-1.2, 2}) == 0);
  CHECK(derivative_at("k*0+1/(1+(x/k)^h)", 0, {2, -1.2}) == 0);
  CHECK(derivative_at("h+1/(1+(x/k)^h)-h", 0.5, {-1.2, 2}) ==
        doctest::Approx(-std::pow(0.25, -1.2) * std::log(0.25) / std::pow(1 + std::pow(0.25, -1.2), 2)));
  // A slope that is infinite stays so.
  CHECK(std::isinf(derivative_at("sqrt(x-a)", 1, {1})));
  // After max() the base is 0 and does not depend on the parameter.
  CHECK(derivative_at("n*0+b*max(x-n,0)^b", 0.5, {1, 0.6}) == 0);
  CHECK(derivative_at("K*0+sqrt(max(1-(x/K)^2,0))", 3, {2}) == 0);
}

TEST_CASE("the branch not taken leaves no trace in a derivative") {
  CHECK(derivative_at("if(x>0, log(p*x), p*x)", -2, {3}) == -2);
  CHECK(derivative_at("if(x>0, sqrt(p*x), 0)", 0, {0}) == 0);  // sqrt's infinite slope is not multiplied by 0
  CHECK(derivative_at("if(x>1, p/(x-1), 5)", 1, {3}) == 0);
  CHECK(derivative_at("exp(if(x>0, log(p*x), p*x))", -2, {0}) == -2);
}

TEST_CASE("forward and adjoint derivatives agree on random expressions") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    RandomExpression e(seed, 20, nlsq_test::smooth_ops());
    if (!e.tame.back() || std::fabs(e.values.back()) > 1e3) continue;
    Graph& g = e.graph;
    const NodeId root = e.root();
    // A choice that is always made the same way forces the forward form.
    const NodeId forced =
        g.make(Op::select, g.make(Op::less, g.column(3), g.constant(0)), g.constant(7), root);
    const int wrt[] = {0, 1, 2};
    const auto free_form = differentiate(g, root, wrt);
    const auto forward = differentiate(g, forced, wrt);
    std::vector<double> columns = e.columns;
    columns.push_back(1.0);
    for (std::size_t j = 0; j < 3; ++j) {
      const double a = evaluate(g, free_form[j], columns, e.parameters);
      const double b = evaluate(g, forward[j], columns, e.parameters);
      if (!std::isfinite(b) || std::fabs(b) > 1e6) continue;
      CAPTURE(seed);
      CAPTURE(to_string(g, root));
      REQUIRE(std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b)));
      ++compared;
    }
  }
  CHECK(compared > 1500);
}

TEST_CASE("derivatives of random expressions agree with differences") {
  int compared = 0;
  for (std::uint64_t seed = 5000; seed < 7000; ++seed) {
    RandomExpression e(seed, 14, nlsq_test::smooth_ops());
    if (!e.tame.back() || std::fabs(e.values.back()) > 1e2) continue;
    const int wrt[] = {0, 1, 2};
    const auto d = differentiate(e.graph, e.root(), wrt);
    for (std::size_t j = 0; j < 3; ++j) {
      const double exact = evaluate(e.graph, d[j], e.columns, e.parameters);
      const double approximate = numerical(e.graph, e.root(), e.columns, e.parameters, j);
      // Differences are trusted only if another formula with half of the step agrees.
      const double shifted = (evaluate(e.graph, e.root(), e.columns,
                                       [&] {
                                         auto p = e.parameters;
                                         p[j] += 1e-5;
                                         return p;
                                       }()) -
                              e.values.back()) /
                             1e-5;
      if (!(std::fabs(shifted - approximate) < 1e-3 * std::max(1.0, std::fabs(approximate)))) continue;
      if (std::fabs(approximate) > 1e3) continue;
      CAPTURE(seed);
      CAPTURE(to_string(e.graph, e.root()));
      CHECK(std::fabs(exact - approximate) <= 2e-3 * std::max(1.0, std::fabs(exact)));
      ++compared;
    }
  }
  CHECK(compared > 1500);
}

TEST_CASE("the derivative with respect to a column is found") {
  Formula f = parse_formula("a*exp(-b*x)+c");
  const NodeId d = differentiate_column(f.graph, f.model, 0);
  const double x[] = {0.7}, p[] = {2.0, 1.5, 0.3};
  CHECK(evaluate(f.graph, d, x, p) == doctest::Approx(-3.0 * std::exp(-1.05)).epsilon(1e-15));
}

TEST_CASE("a parameter that does not occur has derivative zero, a bare one has one") {
  Graph g;
  const NodeId root = g.parameter(1);
  const int wrt[] = {0, 1, 2};
  const auto d = differentiate(g, root, wrt);
  CHECK(g.is_constant(d[0], 0));
  CHECK(g.is_constant(d[1], 1));
  CHECK(g.is_constant(d[2], 0));
  CHECK(differentiate(g, root, {}).empty());
}

TEST_CASE("derivatives do not depend on the order in which an expression was built") {
  const auto code = [](bool backwards) {
    Graph g;
    if (backwards) g.make(Op::sin, g.mul(g.column(0), g.parameter(2)));
    const NodeId u = g.mul(g.parameter(0), g.make(Op::exp, g.mul(g.parameter(1), g.column(0))));
    const NodeId v = g.make(Op::sin, g.mul(g.parameter(2), g.column(0)));
    const NodeId root = g.mul(backwards ? g.add(v, u) : g.add(u, v), u);
    const int wrt[] = {0, 1, 2};
    const TileProgram program = compile(g, differentiate(g, root, wrt));
    std::string text;
    for (const Instruction& i : program.code) {
      text += std::string(name(i.op)) + " " + std::to_string(i.dst) + " " + std::to_string(i.a) + " " +
              std::to_string(i.b) + " " + std::to_string(i.c) + "\n";
    }
    return text;
  };
  CHECK(code(false) == code(true));
}

TEST_CASE("the adjoint form keeps products of many parameters cheap") {
  // The forward form of d(p0 p1 ... p19 x)/dp_i costs ~n^2 products, and the adjoint form ~2n.
  Graph g;
  NodeId root = g.column(0);
  std::vector<int> wrt;
  for (int i = 0; i < 20; ++i) {
    root = g.mul(g.make(Op::sin, root), g.parameter(i));
    wrt.push_back(i);
  }
  std::vector<NodeId> outputs = differentiate(g, root, wrt);
  outputs.push_back(root);
  CHECK(compile(g, outputs).code.size() < 140);
}

TEST_CASE("operations without a derivative are errors") {
  Graph g;
  const NodeId root = g.make(Op::trigamma, g.parameter(0));
  const int wrt[] = {0};
  CHECK_THROWS_WITH_AS(differentiate(g, root, wrt), "no derivative is known for trigamma", Error);
  CHECK(linear_parameters(g, root, wrt).empty());
}
