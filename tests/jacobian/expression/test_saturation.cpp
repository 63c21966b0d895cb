// Tests derivatives where a factor is 0 or 1 to all digits and another one is infinite, as at a dose of 0.
// The values of the model are finite there, and so are its derivatives.
#include <doctest/doctest.h>

#include <nlsq/formula.hpp>
#include <nlsq/nlsq.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Saturated {
  const char* formula;
  std::vector<double> p;  // in order of first appearance
  std::vector<double> x;
  std::vector<double> derivatives;  // of all rows; they are limits
};

const double kE = std::exp(-1.0);

const std::vector<Saturated>& saturated() {
  static const std::vector<Saturated> all = {
      // At dose 0: d + (a-d)/(1 + 0) = a for b > 0, and d for b < 0.
      {"d+(a-d)/(1+exp(b*(log(x)-log(c))))", {1, 10, 1.3, 2}, {0}, {0, 1, 0, 0}},
      {"d+(a-d)/(1+exp(b*(log(x)-log(c))))", {1, 10, -1.3, 2}, {0}, {1, 0, 0, 0}},
      {"d+(a-d)/(1+exp(b*log(x/c)))", {1, 10, 1.3, 2}, {0}, {0, 1, 0, 0}},
      {"a/(1+(K/x)^n)+c", {10, 2, 1.3, 1}, {0}, {0, 0, 0, 1}},
      {"a/(1+(K/x)^n)+c", {10, 2, -1.3, 1}, {0}, {1, 0, 0, 1}},
      {"b+(t-b)/(1+10^((l-log10(x))*h))", {1, 10, 0.3, 1.2}, {0}, {1, 0, 0, 0}},
      {"b+(t-b)/(1+10^((l-log10(x))*h))", {1, 10, 0.3, -1.2}, {0}, {0, 1, 0, 0}},
      {"b+(t-b)/(1+2^((l-log2(x))*h))", {1, 10, 0.3, 1.2}, {0}, {1, 0, 0, 0}},
      {"b+(t-b)/(1+v^((l-log(x))*h))", {1, 10, 3, 0.3, 1.2}, {0}, {1, 0, 0, 0, 0}},
      {"a*exp(-b/x)", {5, 2}, {0, 2}, {0, 0, kE, -2.5 * kE}},
      {"a*10^(-b/x)", {5, 2}, {0}, {0, 0}},
      {"a*v^(-b/x)", {5, 3, 2}, {0}, {0, 0, 0}},
      {"a*exp(-(log(x/m))^2/(2*s^2))", {5, 3, 0.5}, {0, 3}, {0, 0, 0, 1, 0, 0}},
      {"a*exp(-(log(x)-m)^2/(2*s^2))", {5, 1, 0.5}, {0}, {0, 0, 0}},
      {"a*erf((log(x)-m)/s)", {5, 1, 0.5}, {0}, {-1, 0, 0}},
      {"a*tanh(b*log(x/c))", {5, 1.5, 2}, {0}, {-1, 0, 0}},
      // Overflow.
      {"A/(x^5*(exp(B/x)-1))", {3, 800}, {1}, {0, 0}},
      {"A/(x^5*expm1(B/x))", {3, 800}, {1}, {0, 0}},
      {"a+(d-a)/(1+10^((c-x)*b))",
       {1, 10, 500, 1},
       {0, 500, 1000},
       {1, 0, 0, 0, 0.5, 0.5, -2.25 * std::log(10), 0, 0, 1, 0, 0}},
      {"a+(d-a)/(1+10^((c-x)*b))", {1, 10, 308, 1}, {0, 0.2, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}},
      {"A/cosh((x-m)/w)^2+c", {8, 500, 1, 1}, {0, 146, 1000}, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}},
      {"A/(exp((x-m)/w)+exp(-(x-m)/w))^2+c",
       {8, 500, 1, 1},
       {0, 146, 1000},
       {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}},
      {"A/(exp((x-m)/w)+exp(-(x-m)/w))+c",
       {8, 800, 1, 1},
       {0, 91, 1600},
       {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}},
      {"A/(K+exp(b*x))", {8, 3, 800}, {0, 0.884, 0.887, 1}, {0.25, -0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      // Fuoss-Kirkwood at frequency 0, and a lognormal curve with a parameter of 0.
      {"A/cosh(b*log(x/c))", {2, 1.5, 2}, {0, 2}, {0, 0, 0, 1, 0, 0}},
      {"a*exp(-(log(x)-m)^2/(2*s^2))", {5, 0, 1}, {0, 1}, {0, 0, 0, 1, 0, 0}},
      {"a/(1+v^x)", {5, 3}, {1, 1000}, {0.25, -5.0 / 16, 0, 0}},
      {"a*exp(-b*(x-t)^-n)", {5, 2, 1, 0.5}, {1}, {0, 0, 0, 0}},
      {"a/(exp(x/h)-1)^1.5", {5, 1}, {2000}, {0, 0}},
      {"a/(10^(x/h)-1)^n", {5, 1, 1.5}, {2000}, {0, 0, 0}},
      // The square overflows, but the factor 10^(-x^2) is 0.
      {"b/(1+a*10^(-(x/c)^2))*exp(-1/x)", {2, 1, 2}, {1e300}, {1, 0, 0}},
      {"a*(1-exp(-(x/h)^2))^n", {2, 2, 1.5}, {1e300}, {1, 0, 0}},
      {"(1+d*b^(-(x/a)^2))^n", {0.1, 2, 3, 1.5}, {1e300}, {0, 0, 0, 0}},
  };
  return all;
}

// These contain v^u with v = 0, whose derivative by v is u v^(u-1): 1 for u = 1, and 0 for u = 2.
const std::vector<Saturated>& bases_of_zero() {
  static const std::vector<Saturated> all = {
      {"a/(1+v^x)", {2, 0}, {1, 2}, {1, -2, 1, 0}},
      {"a/(b+v^x)", {2, 1, 0}, {1, 2}, {1, -2, -2, 1, -2, 0}},
      {"a*exp(-b*v^x)", {2, 1, 0}, {1, 2}, {1, 0, -2, 1, 0, 0}},
      {"exp(v^x)", {0}, {1, 2}, {1, 0}},
      {"(1-v^x)^n", {0, 2.5}, {1, 2}, {-2.5, 0, 0, 0}},
      {"a*v^(k/x)", {1, 0, 1}, {0.5, 1}, {0, 0, 0, 0, 1, 0}},
  };
  return all;
}

// In row 0 the base is 0, and so are its derivatives, except that by s.
const std::vector<Saturated>& powers_of_zero() {
  const double r = std::sqrt(0.5), h = 1 - r, ln2 = std::log(2.0), e1 = std::exp(1.0);
  static const std::vector<Saturated> all = {
      {"a*(1-2^(-x/h))^n",
       {1, 2, 1.5},
       {0, 1},
       {0, 0, 0, std::pow(h, 1.5), -1.5 * std::sqrt(h) * r * ln2 / 4, std::pow(h, 1.5) * std::log(h)}},
      {"a*(1-v^x)^n", {1, 0.5, 1}, {0, 1}, {0, 0, 0, 0.5, -1, -0.5 * ln2}},
      {"a*(1-10^(-k*x))^n", {1, 1, 1.5}, {0}, {0, 0, 0}},
      {"a*(10^(x/h)-1)^n", {1, 1, 2}, {0, 1}, {0, 0, 0, 81, -180 * std::log(10), 162 * std::log(3)}},
      {"a*(10^(x/h)-1)^n", {1, 1, -2}, {1000}, {0, 0, 0}},
      {"a*sinh(x/h)^n", {1, 2, 1.5}, {0}, {0, 0, 0}},
      {"a*expm1(x/h)^n", {1, 1, 1}, {0, 1}, {0, 0, 0, e1 - 1, -e1, (e1 - 1) * std::log(e1 - 1)}},
      {"a*(1-exp(-k*x))^n", {1, 2, 1.5}, {0}, {0, 0, 0}},
      {"a*(1-exp(-k*x))^0.3", {1, 2}, {0}, {0, 0}},
      {"a*(exp(x/h)-1)^1.5", {1, 2}, {0}, {0, 0}},
      {"a*(1-s*exp(-k*x))^n", {1, 1, 2, 1}, {0}, {0, -1, 0, 0}},
      {"a*(1+s*2^(-k*x))^n", {1, -1, 2, 1}, {0}, {0, 1, 0, 0}},
  };
  return all;
}

void check_all(const std::vector<Saturated>& all) {
  EvaluateOptions options;
  options.jacobian = true;
  for (const Saturated& c : all) {
    const Evaluation e = evaluate(c.formula, c.x, c.p, PrecisionPolicy::parse("f64"), options);
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      for (std::size_t j = 0; j < c.p.size(); ++j) {
        CAPTURE(c.formula);
        CAPTURE(c.x[i]);
        CAPTURE(j);
        const double expected = c.derivatives[i * c.p.size() + j];
        CHECK(std::fabs(e.jacobian(i, j) - expected) <= 1e-12 * (1 + std::fabs(expected)));
      }
    }
  }
}

}  // namespace

TEST_CASE("derivatives are 0 where an exponential is 0 or dominates its denominator") {
  check_all(saturated());
}

TEST_CASE("the derivative by the base of a power is right where the base is 0") {
  check_all(bases_of_zero());
}

TEST_CASE("a power of 1 - e^u and the like has derivatives where it is 0") { check_all(powers_of_zero()); }

TEST_CASE("a derivative is not 0 where the parameters make it infinite, not the row") {
  EvaluateOptions options;
  options.jacobian = true;
  const double inf = std::numeric_limits<double>::infinity();
  // The last parameter is the one to look at. Its derivative is known: it is not 0.
  const std::vector<Saturated> all = {
      {"1/(1+exp(b*(log(x)-log(c))))", {-1, 0}, {2}, {-0.5}},
      {"1/(1+exp(b*log(x/c)))", {-1, 0}, {2}, {-0.5}},
      {"1/(1+exp(b*log(c/x)))", {1, 0}, {2}, {-0.5}},
      {"exp(b*log(c*x))", {1, 0}, {2}, {2}},
      {"exp(b*x*(log(c)+c*x))", {1, 0}, {1}, {1}},
      {"exp(if(x>b,log(c)-log(x),-1/x))", {1, 0}, {2}, {0.5}},
      {"b/(1+v^-x)", {3, 0}, {1}, {3}},
      {"b/(exp(x)+v^-x)", {3, 0}, {1}, {3}},
      // These have an infinite derivative where no exponential is 0.
      {"b/cosh(log(x/c)^0.5)", {1, 1}, {1}, {0.5}},
      {"b*tanh(20+(x-t)^0.5)", {1, 1}, {1}, {-inf}},
      {"b*exp(-1000+(x-t)^0.5)", {1, 1}, {1}, {-inf}},
      // asinh(1/u) grows as slowly as a logarithm.
      {"exp(-b*asinh(1/(x-t)))", {1, 1}, {1}, {-0.5}},
  };
  for (const Saturated& c : all) {
    CAPTURE(c.formula);
    const Evaluation e = evaluate(c.formula, c.x, c.p, PrecisionPolicy::parse("f64"), options);
    const double found = e.jacobian(0, 1);
    CHECK((!std::isfinite(found) || found == doctest::Approx(c.derivatives[0])));
  }
}

TEST_CASE("derivatives that are not 0 there are not replaced by 0") {
  // exp(b log(x - t)) is (x - t)^b. Its derivative by t is -1 at x = t for b = 1, and infinite for b < 1.
  for (const double b : {1.0, 0.5}) {
    EvaluateOptions options;
    options.jacobian = true;
    const Evaluation e = evaluate("exp(b*log(x-t))", std::vector<double>{2, 3}, std::vector<double>{b, 2},
                                  PrecisionPolicy::parse("f64"), options);
    CHECK(!(e.jacobian(0, 1) == 0));
    CHECK(e.jacobian(1, 1) == doctest::Approx(-b));
  }
}

TEST_CASE("a derivative that is not finite is named, and what mends it") {
  const std::vector<double> x{1, 2, 3, 4, 5}, y{0.1, 1, 1.4, 1.7, 2};
  const FitResult fit = curve_fit("a*sqrt(x-t)+c", x, y, {{"a", 1}, {"t", 1}, {"c", 0}});
  CHECK(fit.summary.message.find("the residual of row 0 is finite at the starting values, but not its "
                                 "derivative by t (here 1)") != std::string::npos);
  CHECK(fit.summary.message.find("if(x > 0, ..., 0)") != std::string::npos);
}

TEST_CASE("a dose of 0 is a row as any other") {
  std::vector<double> x, y;
  for (const double dose : {0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0}) {
    x.push_back(dose);
    y.push_back(1 + 9 / (1 + std::pow(dose / 2, 1.3)) + 0.01 * std::sin(50 * dose));
  }
  for (const char* formula : {"d+(a-d)/(1+exp(b*(log(x)-log(c))))", "d+(a-d)/(1+10^(b*(log10(x)-log10(c))))",
                              "d+(a-d)/(1+(c/x)^-b)"}) {
    const FitResult fit = curve_fit(formula, x, y, {{"d", 0.5}, {"a", 9}, {"b", 1}, {"c", 3}});
    CAPTURE(formula);
    CHECK(fit.success());
    const auto b = std::ranges::find(fit.parameter_names, "b") - fit.parameter_names.begin();
    CHECK(fit.parameters[static_cast<std::size_t>(b)] == doctest::Approx(1.3).epsilon(0.02));
  }
}

TEST_CASE("a fit leaves a bound of 0 at which v^x has a slope") {
  const std::vector<double> x{1, 1, 2, 2, 3, 3, 1, 1}, y{11.1, 10.9, 9, 9.1, 8.9, 9.05, 11.05, 11};
  FitOptions options;
  options.bounds = {{0}, {0.99}};
  const FitResult fit = curve_fit("10*(1-v)/(1-v^x)", x, y, {{"v", 0.9}}, options);
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(0.104).epsilon(0.01));
}

TEST_CASE("a row with x = 0 does not stop a fit of a power of 1 - e^u") {
  std::vector<double> x, y;
  for (int i = 0; i <= 10; ++i) {
    x.push_back(i);
    y.push_back(9 * std::pow(1 - std::exp(-0.3 * i), 1.7) + 0.01 * std::sin(50 * i));
  }
  for (const char* formula : {"a*(1-exp(-k*x))^n", "a*(1-2^(-k*x))^n", "a*(1-10^(-k*x))^n"}) {
    CAPTURE(formula);
    const FitResult fit = curve_fit(formula, x, y, {{"a", 10}, {"k", 0.2}, {"n", 1.5}});
    CHECK(fit.success());
    CHECK(fit.parameters[0] == doctest::Approx(9).epsilon(0.01));
  }
}
