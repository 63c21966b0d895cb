#include <doctest/doctest.h>

#include <nlsq/formula.hpp>

#include <numeric>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

using Search = std::vector<int> (*)(const Graph&, NodeId, std::span<const int>);

// Returns the names of the parameters found in a formula over x, x1 and x2, in order of first appearance.
std::string found_in(const char* text, Search search) {
  FormulaOptions options;
  options.predictors = {"x", "x1", "x2"};
  const Formula formula = parse_formula(text, options);
  std::vector<int> all(formula.parameters.size());
  std::iota(all.begin(), all.end(), 0);
  std::string names;
  for (const int index : search(formula.graph, formula.model, all)) {
    names += (names.empty() ? "" : " ") + formula.parameters[static_cast<std::size_t>(index)];
  }
  return names;
}

std::string linear_in(const char* text) { return found_in(text, linear_parameters); }
std::string jumping_in(const char* text) { return found_in(text, jump_parameters); }

}  // namespace

TEST_CASE("the parameters that only move jumps are found") {
  CHECK(jumping_in("a+b*(x>t)") == "t");
  CHECK(jumping_in("if(x<t,a,b)") == "t");
  CHECK(jumping_in("if(x<t && x>s,a*x,b)") == "t s");
  CHECK(jumping_in("a*floor(x/P)+b") == "P");
  CHECK(jumping_in("a*ceil(b*x)+floor(c*x)") == "b c");
  CHECK(jumping_in("if(x<t,a*t,b)") == "");  // t also has an effect before the jump
  CHECK(jumping_in("a*(x-t)*(x>t)") == "");  // this is a kink
  CHECK(jumping_in("max(a*x,b)") == "");
  CHECK(jumping_in("a*exp(-b*x)+c") == "");
  CHECK(jumping_in("0*t+a*x") == "");  // the formula does not depend on t
}

TEST_CASE("the linear parameters of NIST's models are found") {
  CHECK(linear_in("b1*(b2+x)^(-1/b3)") == "b1");   // Bennett5
  CHECK(linear_in("b1*(1-exp(-b2*x))") == "b1");   // BoxBOD, Misra1a
  CHECK(linear_in("exp(-b1*x)/(b2+b3*x)") == "");  // Chwirut
  CHECK(linear_in("b1*x^b2") == "b1");             // DanWood
  CHECK(linear_in("b1+b2*cos(2*pi*x/12)+b3*sin(2*pi*x/12)+b5*cos(2*pi*x/b4)+b6*sin(2*pi*x/b4)"
                  "+b8*cos(2*pi*x/b7)+b9*sin(2*pi*x/b7)") == "b1 b2 b3 b5 b6 b8 b9");             // ENSO
  CHECK(linear_in("(b1/b2)*exp(-0.5*((x-b3)/b2)^2)") == "b1");                                    // Eckerle4
  CHECK(linear_in("b1*exp(-b2*x)+b3*exp(-(x-b4)^2/b5^2)+b6*exp(-(x-b7)^2/b8^2)") == "b1 b3 b6");  // Gauss
  CHECK(linear_in("(b1+b2*x+b3*x^2+b4*x^3)/(1+b5*x+b6*x^2+b7*x^3)") == "b1 b2 b3 b4");  // Hahn1, Thurber
  CHECK(linear_in("(b1+b2*x+b3*x^2)/(1+b4*x+b5*x^2)") == "b1 b2 b3");                   // Kirby2
  CHECK(linear_in("b1*exp(-b2*x)+b3*exp(-b4*x)+b5*exp(-b6*x)") == "b1 b3 b5");          // Lanczos
  CHECK(linear_in("b1*(x^2+x*b2)/(x^2+x*b3+b4)") == "b1");                              // MGH09
  CHECK(linear_in("b1*exp(b2/(x+b3))") == "b1");                                        // MGH10
  CHECK(linear_in("b1+b2*exp(-x*b4)+b3*exp(-x*b5)") == "b1 b2 b3");                     // MGH17
  CHECK(linear_in("b1*(1-(1+b2*x/2)^(-2))") == "b1");                                   // Misra1b
  CHECK(linear_in("b1*(1-(1+2*b2*x)^(-0.5))") == "b1");                                 // Misra1c
  CHECK(linear_in("b1*b2*x*((1+b2*x)^(-1))") == "b1");                                  // Misra1d
  CHECK(linear_in("b1-b2*x1*exp(-b3*x2)") == "b1 b2");                                  // Nelson
  CHECK(linear_in("b1/(1+exp(b2-b3*x))") == "b1");                                      // Rat42
  CHECK(linear_in("b1/((1+exp(b2-b3*x))^(1/b4))") == "b1");                             // Rat43
  CHECK(linear_in("b1-b2*x-atan(b3/(x-b4))/pi") == "b1 b2");                            // Roszman1
}

TEST_CASE("the linear parameters of the built-in shapes are found") {
  CHECK(linear_in("c") == "c");
  CHECK(linear_in("a*x+b") == "a b");
  CHECK(linear_in("c0+c1*x+c2*x^2+c3*x^3+c4*x^4+c5*x^5") == "c0 c1 c2 c3 c4 c5");
  CHECK(linear_in("a*exp(-b*x)+c") == "a c");
  CHECK(linear_in("a*(1-exp(-b*x))+c") == "a c");
  CHECK(linear_in("a1*exp(-b1*x)+a2*exp(-b2*x)+c") == "a1 a2 c");
  CHECK(linear_in("a*exp(-(x/tau)^beta)+c") == "a c");
  CHECK(linear_in("a*x^b+c") == "a c");
  CHECK(linear_in("a*log(x)+b") == "a b");
  CHECK(linear_in("h*exp(-(x-mu)^2/(2*sigma^2))+c") == "h c");
  CHECK(linear_in("h/(1+((x-x0)/gamma)^2)+c") == "h c");
  CHECK(linear_in("h*voigt(x-mu,sigma,gamma)+c") == "h c");
  CHECK(linear_in("h*(eta/(1+((x-x0)/w)^2)+(1-eta)*exp(-((x-x0)/w)^2))+c") == "h c");
  CHECK(linear_in("a*sin(2*pi*f*x+phi)+c") == "a c");
  CHECK(linear_in("L/(1+exp(-k*(x-x0)))+c") == "L c");
  CHECK(linear_in("bottom+(top-bottom)*x^n/(K^n+x^n)") == "bottom top");
  CHECK(linear_in("Vmax*x/(Km+x)") == "Vmax");
  CHECK(linear_in("a/2*(1+erf((x-x0)/(sqrt(2)*sigma)))+c") == "a c");
  CHECK(linear_in("A*exp(-E/(8.314462618*x))") == "A");
}

TEST_CASE("parameters that multiply each other are not linear together") {
  CHECK(linear_in("a*b*x") == "a");
  CHECK(linear_in("(a+b*x)*(c+d*x)") == "a b");
  CHECK(linear_in("a*b*x + c*a") == "a");
}

TEST_CASE("a parameter inside a step is not linear, though its derivative is constant") {
  CHECK(linear_in("floor(a)+b*x") == "b");
  CHECK(linear_in("if(x<t, a, b*x)") == "a b");
  CHECK(linear_in("(x<t)*a") == "a");
  CHECK(linear_in("mod(a,1)+b") == "b");
  CHECK(linear_in("abs(a)*x+b") == "b");
  CHECK(linear_in("min(a*x,1)+b") == "b");
  CHECK(linear_in("if(a,x,2)+b") == "b");
}

TEST_CASE("a choice between linear branches is linear") {
  CHECK(linear_in("if(x<2, a*x, a*4-b*x)") == "a b");
  CHECK(linear_in("if(x<t, a, if(x<s, b, a*x))") == "a b");
}

TEST_CASE("only candidates are considered, in their order, and only if they occur") {
  Graph g;
  const NodeId root = g.mul(g.mul(g.parameter(0), g.parameter(1)), g.column(0));
  const int backwards[] = {1, 0}, absent[] = {2, 0};
  CHECK(linear_parameters(g, root, backwards) == std::vector<int>{1});
  CHECK(linear_parameters(g, root, absent) == std::vector<int>{0});
  CHECK(linear_parameters(g, root, {}).empty());
}
