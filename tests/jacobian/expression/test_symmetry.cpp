// Tests which parameters can change their sign without changing a value of the model, and which fits use
// that.
#include "expression/symmetry.hpp"

#include <doctest/doctest.h>

#include <nlsq/formula.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

Formula formula_of(const char* text) {
  FormulaOptions options;
  options.predictors = {"x"};
  return parse_formula(text, options);
}

std::vector<int> places(const Formula& formula, const std::vector<std::string>& names) {
  std::vector<int> out;
  for (const std::string& name : names)
    out.push_back(static_cast<int>(std::ranges::find(formula.parameters, name) - formula.parameters.begin()));
  return out;
}

bool even(const char* text, const std::vector<std::string>& names) {
  const Formula formula = formula_of(text);
  return is_even(formula.graph, formula.model, places(formula, names));
}

}  // namespace

TEST_CASE("an expression is even where the rules of its operations say so") {
  CHECK(even("h*exp(-(x-mu)^2/(2*sigma^2))+c", {"sigma"}));
  CHECK(even("h/(1+((x-x0)/gamma)^2)+c", {"gamma"}));
  CHECK(even("h*exp(-abs(x/w))", {"w"}));
  CHECK(even("cos(w*x)+cosh(w*x)+besj0(w*x)+hypot(w,x)", {"w"}));
  CHECK(even("sin(w*x)*atan(w)+tan(w)*erf(w*x)+asinh(w)*cbrt(w)*sign(w)*besj1(w)", {"w"}));
  CHECK(even("w^4+w^6*x+(w*x)^(-2)", {"w"}));
  CHECK(even("a/(s*sqrt(2*pi))*exp(-(x-mu)^2/(2*s^2))+c", {"a", "s"}));
  CHECK(even("voigt(x-x0,s,g)/voigt(0,s,g)", {"s", "g"}));
  CHECK(even("if(w^2<x,1/w^2,2)", {"w"}));
  CHECK(even("if(w==0,1,sin(w*x)/w)", {"w"}));
}

TEST_CASE("other expressions are not even") {
  CHECK_FALSE(even("h*exp(-(x-mu)^2/(2*sigma^2))+c", {"h"}));
  CHECK_FALSE(even("h*exp(-(x-mu)^2/(2*sigma^2))+c", {"mu"}));
  CHECK_FALSE(even("a/(s*sqrt(2*pi))*exp(-(x-mu)^2/(2*s^2))+c", {"s"}));
  CHECK_FALSE(even("voigt(x-x0,s,g)/voigt(0,s,g)", {"s"}));
  CHECK_FALSE(even("sin(w*x)", {"w"}));
  CHECK_FALSE(even("exp(w*x)+exp(w)", {"w"}));
  CHECK_FALSE(even("w^3", {"w"}));
  CHECK_FALSE(even("w^x", {"w"}));
  CHECK_FALSE(even("w^0.5*w^0.5", {"w"}));
  CHECK_FALSE(even("if(w<0,w^2,2*w^2)", {"w"}));
  CHECK_FALSE(even("min(w,x)^2", {"w"}));
  CHECK_FALSE(even("(w+w^2)^2", {"w"}));
}

TEST_CASE("the sign of a zero counts where an operation tells 0 from -0") {
  // The constant 0 keeps its sign, so atan2(0, x) is not an odd function of w.
  CHECK_FALSE(even("atan2(0,x)*w", {"w"}));
  CHECK_FALSE(even("atan(w/0)", {"w"}));
  CHECK_FALSE(even("atan2(if(x>0,w,0),x)*w", {"w"}));
  // At x = 1, w*x-w is 0 for either sign.
  CHECK_FALSE(even("atan2(w*x-w,-1)*w", {"w"}));
  CHECK_FALSE(even("atan(1/(w*x-w))*w", {"w"}));
  CHECK_FALSE(even("gamma((w*x-w)*w)", {"w"}));
  CHECK_FALSE(even("w^(1/0)*w", {"w"}));
  CHECK(even("h/(1+(w*x-w*m)^2)", {"w"}));
  CHECK(even("if(x>0,w*x,0)^2+if(x>0,w,0)*w", {"w"}));
  CHECK(even("atan2(w*x,-1)*w", {"w"}));
}

TEST_CASE("models that are taken for even are even at numbers") {
  for (const char* text : {"h*exp(-(x-m)^2/(2*w^2))", "cos(w*x)*h+m", "abs(w)^h*m+x", "h*x^2/w^2+m*w^6",
                           "h*sin(w*x)/w+m", "hypot(w*x,h)+m", "atan2(w,h)*w+m*x", "h+m*asinh(w)*w*x"}) {
    CAPTURE(text);
    const Formula formula = formula_of(text);
    const int w = places(formula, {"w"})[0];
    REQUIRE(is_even(formula.graph, formula.model, std::vector{w}));
    std::vector<double> p(formula.parameters.size());
    for (std::size_t j = 0; j < p.size(); ++j) p[j] = 0.7 + 0.31 * static_cast<double>(j);
    const double x = 1.3, value = formula.evaluate({&x, 1}, p);
    p[static_cast<std::size_t>(w)] = -p[static_cast<std::size_t>(w)];
    CHECK(formula.evaluate({&x, 1}, p) == doctest::Approx(value).epsilon(1e-14));
  }
}

TEST_CASE("signs are those of the start; linear parameters follow and never lead") {
  const Formula formula = formula_of("a/w*exp(-(x/w)^2)+b*exp(-(x/v)^2)");  // a, w, b, v
  const Evenness is_even_in = [&](std::span<const int> flipped) {
    return is_even(formula.graph, formula.model, flipped);
  };
  const std::vector<int> all = {0, 1, 2, 3}, linear = {0, 2};
  const auto restored = [&](const std::vector<double>& start, const std::vector<double>& end,
                            const std::vector<int>& free) {
    std::vector<int> out = signs_to_restore(is_even_in, free, linear, start, end);
    std::ranges::sort(out);
    return out;
  };
  using List = std::vector<int>;
  CHECK(restored({1, 1, 1, 1}, {2, 3, 4, 5}, all) == List{});
  CHECK(restored({1, 1, 1, 1}, {-2, 3, -4, 5}, all) == List{});
  CHECK(restored({1, 1, 1, 1}, {2, 3, 4, -5}, all) == List{3});
  CHECK(restored({1, 1, 1, -1}, {2, 3, 4, -5}, all) == List{});
  CHECK(restored({1, 1, 1, -1}, {2, 3, 4, 5}, all) == List{3});
  CHECK(restored({1, 1, 1, 0}, {2, 3, 4, -5}, all) == List{3});
  CHECK(restored({1, 1, 1, 1}, {-2, -3, 4, 5}, all) == List{0, 1});
  CHECK(restored({1, 1, 1, 1}, {2, -3, 4, -5}, all) == List{0, 1, 3});
  CHECK(restored({1, 1, 1, 1}, {2, -3, 4, -5}, {1, 2, 3}) == List{3});  // a is fixed, so w stays as it is
}
