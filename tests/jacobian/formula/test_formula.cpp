#include <doctest/doctest.h>

#include <nlsq/error.hpp>
#include <nlsq/formula.hpp>

#include <clocale>
#include <cmath>
#include <numbers>
#include <random>
#include <string>

using namespace nlsq;

namespace {

const double kPi = std::numbers::pi;

// Returns a formula's value by its steps. The graph must agree.
double value_of(const std::string& text, double x = 0, std::vector<double> p = {}) {
  const Formula f = parse_formula(text);
  const double columns[] = {x};
  REQUIRE(p.size() >= f.parameters.size());
  const double by_steps = f.evaluate(columns, p);
  const double by_graph = evaluate(f.graph, f.model, columns, p);
  CAPTURE(text);
  if (std::isfinite(by_steps)) CHECK(by_graph == doctest::Approx(by_steps).epsilon(1e-14));
  return by_steps;
}

}  // namespace

TEST_CASE("formulas have the values written beside them") {
  struct Row {
    const char* text;
    double value;  // at x = 3
  };
  const Row rows[] = {{"1+2*3", 7},
                      {"(1+2)*3", 9},
                      {"2-3-4", -5},
                      {"16/4/2", 2},
                      {"2^3^2", 512},
                      {"x>2 and not x>4 or 0", 1},
                      {"not x and 1", 0},
                      {"2**3**2", 512},
                      {"(2^3)^2", 64},
                      {"-2^2", -4},
                      {"(-2)^2", 4},
                      {"2^-1", 0.5},
                      {"2^-x^2", 1.0 / 512},
                      {"-x^2", -9},
                      {"2*-3", -6},
                      {"2--3", 5},
                      {"2-+3", -1},
                      {"+x", 3},
                      {"--x", 3},
                      {"-x*-x", 9},
                      {"2^-1*4", 2},
                      {"1.", 1},
                      {".5", 0.5},
                      {"1e-3", 1e-3},
                      {"1E+5", 1e5},
                      {"1.5e3", 1500},
                      {"0", 0},
                      {"0.0e0", 0},
                      {"4.9e-324", 4.9406564584124654e-324},
                      {"1.7976931348623157e308", 1.7976931348623157e308},
                      {"9007199254740993", 9007199254740992},
                      {"pi", kPi},
                      {"2*pi*x/12", 2 * kPi * 3 / 12},
                      {"x<4", 1},
                      {"x<=3", 1},
                      {"x>3", 0},
                      {"x>=3", 1},
                      {"x==3", 1},
                      {"x!=3", 0},
                      {"x>2 && x<5", 1},
                      {"x>2 && x>5", 0},
                      {"x<2 || x==3", 1},
                      {"!(x>2)", 0},
                      {"!x", 0},
                      {"!x>5", 1},
                      {"!!x", 1},
                      {"1 || 0 && 0", 1},
                      {"(1 || 0) && 0", 0},
                      {"1+(x>2)", 2},
                      {"x+1<5", 1},
                      {"if(x<4, 10, 20)", 10},
                      {"if(x>4, 10, if(x==3, 30, 40))", 30},
                      {"if(0, log(-1), 2)", 2},
                      {"min(x,2)", 2},
                      {"max(x,2)", 3},
                      {"min(5,x,2,4)", 2},
                      {"max(1,x,2)", 3},
                      {"mod(7,3)", 1},
                      {"mod(-7,3)", 2},
                      {"mod(7,-3)", -2},
                      {"mod(5.5,2)", 1.5},
                      {"floor(-1.5)", -2},
                      {"ceil(-1.5)", -1},
                      {"abs(-x)", 3},
                      {"sign(-x)", -1},
                      {"sign(0)", 0},
                      {"sqrt(16)", 4},
                      {"cbrt(-27)", -3},
                      {"pow(2,10)", 1024},
                      {"hypot(3,4)", 5},
                      {"exp(1)", std::numbers::e},
                      {"expm1(0)", 0},
                      {"log(exp(2))", 2},
                      {"log10(1000)", 3},
                      {"log2(8)", 3},
                      {"log1p(0)", 0},
                      {"sin(pi/2)", 1},
                      {"cos(0)", 1},
                      {"tan(pi/4)", 1},
                      {"asin(1)", kPi / 2},
                      {"acos(1)", 0},
                      {"atan(1)", kPi / 4},
                      {"atan2(1,-1)", 3 * kPi / 4},
                      {"sinh(0)", 0},
                      {"cosh(0)", 1},
                      {"tanh(0)", 0},
                      {"asinh(0)", 0},
                      {"acosh(1)", 0},
                      {"atanh(0)", 0},
                      {"erf(0)", 0},
                      {"erfc(0)", 1},
                      {"erfcx(0)", 1},
                      {"gamma(5)", 24},
                      {"lgamma(5)", std::log(24.0)},
                      {"digamma(1)", -std::numbers::egamma},
                      {"besj0(0)", 1},
                      {"besj1(0)", 0},
                      {"\t x \n+\r 1 ", 4},
                      {"((((x))))", 3},
                      {"x^0.5*x^0.5", 3}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(value_of(row.text, 3) == doctest::Approx(row.value).epsilon(1e-14));
  }
}

TEST_CASE("the Voigt profile has area one and meets its Gaussian and Lorentzian limits") {
  const double gauss = std::exp(-0.5 * 0.7 * 0.7 / 0.25) / (0.5 * std::sqrt(2 * kPi));
  CHECK(value_of("voigt(x, 0.5, 0)", 0.7) == doctest::Approx(gauss).epsilon(1e-13));
  const double lorentz = 0.5 / kPi / (0.7 * 0.7 + 0.25);
  CHECK(value_of("voigt(x, 1e-6, 0.5)", 0.7) == doctest::Approx(lorentz).epsilon(1e-9));
  double area = 0;
  for (double x = -200; x < 200; x += 0.05) area += 0.05 * value_of("voigt(x, 0.8, 0.3)", x);
  CHECK(area == doctest::Approx(1 - 2 * 0.3 / (kPi * 200)).epsilon(1e-5));  // the Lorentzian's tails
}

TEST_CASE("names become parameters in order of first appearance") {
  const Formula f = parse_formula("c + a*exp(-b*x) + a");
  CHECK(f.parameters == std::vector<std::string>{"c", "a", "b"});
  CHECK(f.predictors == std::vector<std::string>{"x"});
  CHECK(value_of("c + a*exp(-b*x) + a", 2, {0.5, 3, 0.1}) == doctest::Approx(0.5 + 3 * std::exp(-0.2) + 3));
}

TEST_CASE("a name is a function only before a parenthesis") {
  CHECK(parse_formula("h/(1+((x-x0)/gamma)^2)").parameters == std::vector<std::string>{"h", "x0", "gamma"});
  CHECK(parse_formula("min+(max-min)/(1+x)").parameters == std::vector<std::string>{"min", "max"});
  CHECK(value_of("gamma*gamma(x)", 5, {2}) == 48);
  CHECK(value_of("exp (x)", 1) == doctest::Approx(std::numbers::e));
}

TEST_CASE("predictors are the names the caller chose") {
  FormulaOptions options;
  options.predictors = {"t", "x2", "$3", "\u03bb"};
  const Formula f = parse_formula("a*t + x2*x + $3/\u03bb", options);
  CHECK(f.parameters == std::vector<std::string>{"a", "x"});
  const double columns[] = {2, 3, 8, 4}, p[] = {10, 100};
  CHECK(f.evaluate(columns, p) == 20 + 300 + 2);
  CHECK(evaluate(f.graph, f.model, columns, p) == 322);
}

TEST_CASE("a left side over the response is kept apart") {
  FormulaOptions options;
  options.predictors = {"x1", "x2"};
  const Formula f = parse_formula("log(y) = b1 - b2*x1*exp(-b3*x2)", options);
  CHECK(f.has_left_side);
  CHECK(f.parameters == std::vector<std::string>{"b1", "b2", "b3"});
  const double columns[] = {1, 2, 7.5};
  CHECK(f.evaluate_response(columns, 7.5) == std::log(7.5));
  CHECK(evaluate(f.graph, f.response, columns, {}) == std::log(7.5));

  const Formula plain = parse_formula("a*x+b");
  CHECK(!plain.has_left_side);
  CHECK(plain.evaluate_response({}, 3.25) == 3.25);
  CHECK(plain.graph[plain.response].op == Op::column);
  CHECK(plain.graph[plain.response].index == 1);

  Formula named = parse_formula("y = a*x+b");
  CHECK(named.response == named.graph.column(1));
  for (const char* text : {"f(x) = a*x+b", "y(x) = a*x+b"}) {  // gnuplot's functions are written like this
    const Formula defined = parse_formula(text);
    CHECK(!defined.has_left_side);
    CHECK(defined.parameters == std::vector<std::string>{"a", "b"});
  }
  const Formula surface = parse_formula("f(x1, x2) = a*x1+b*x2", options);
  CHECK(!surface.has_left_side);
  const Formula scaled = parse_formula("y/x = a");  // predictors may stand on the left
  const double x[] = {4.0};
  CHECK(scaled.evaluate_response(x, 2.0) == 0.5);
}

TEST_CASE("a typed formula and a built graph are one node") {
  Formula f = parse_formula("a*exp(-b*x)+c");
  Graph& g = f.graph;
  const NodeId a = g.parameter(0), b = g.parameter(1), c = g.parameter(2), x = g.column(0);
  CHECK(f.model == g.add(g.mul(a, g.make(Op::exp, g.mul(g.neg(b), x))), c));
  Formula q = parse_formula("x^2 + 3*x**3 - 2/(x*x) + x^0.5");
  const NodeId v = q.graph.column(0), square = q.graph.mul(v, v);
  const NodeId cube = q.graph.mul(q.graph.constant(3), q.graph.mul(square, v));
  const NodeId sum = q.graph.sub(q.graph.add(square, cube), q.graph.div(q.graph.constant(2), square));
  CHECK(q.model == q.graph.add(sum, q.graph.make(Op::sqrt, v)));
}

TEST_CASE("numbers are read the same in every locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // if it is installed
  CHECK(value_of("1.5*2") == 3);
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("steps and graph agree on random formulas") {
  std::mt19937_64 rng(7);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  const auto build = [&](auto&& self, int depth) -> std::string {
    static const char* const leaves[] = {"x", "a", "b", "1.5", "2", "pi", ".25"};
    static const char* const infix[] = {"+", "-", "*", "/", " + ", " - ", "<", ">", ">=", "&&", "||"};
    static const char* const calls[] = {"sin(", "cos(", "exp(", "tanh(", "-(", "abs(", "erf(", "!("};
    if (depth == 0) return leaves[pick(std::size(leaves))];
    switch (pick(6)) {
      case 0: return leaves[pick(std::size(leaves))];
      case 1: return std::string("(") + calls[pick(std::size(calls))] + self(self, depth - 1) + "))";
      case 2: return "min(" + self(self, depth - 1) + "," + self(self, depth - 1) + ")";
      case 3:
        return "if(" + self(self, depth - 1) + "," + self(self, depth - 1) + "," + self(self, depth - 1) +
               ")";
      default:
        return "(" + self(self, depth - 1) + infix[pick(std::size(infix))] + self(self, depth - 1) + ")";
    }
  };
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = "a+b+" + build(build, 5);
    const Formula f = parse_formula(text);
    const double x[] = {static_cast<double>(pick(100)) / 16 + 0.3};
    const double p[] = {1.25, -0.75};
    const double steps = f.evaluate(x, p), graph = evaluate(f.graph, f.model, x, p);
    CAPTURE(text);
    if (!std::isfinite(steps)) continue;  // simplification may change x*0 and the sign of a zero
    ++compared;
    REQUIRE(graph == steps);
  }
  CHECK(compared > 2000);
}

TEST_CASE("missing values are refused") {
  const Formula f = parse_formula("a*x+b");
  const double one[] = {1};
  CHECK_THROWS_AS(f.evaluate({}, one), ValidationError);
  CHECK_THROWS_AS(f.evaluate(one, one), ValidationError);
}

TEST_CASE("a long formula is evaluated like a short one") {
  std::string text = "x";
  for (int i = 0; i < 20000; ++i) text += "+x";
  CHECK(value_of(text, 0.5) == doctest::Approx(20001 * 0.5));
}
