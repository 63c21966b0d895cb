#include <doctest/doctest.h>

#include <nlsq/error.hpp>
#include <nlsq/formula.hpp>

#include <ctime>
#include <optional>
#include <string>

using namespace nlsq;

namespace {

struct Failure {
  std::string message;
  std::size_t column;
};

std::optional<Failure> failure(const std::string& text, const FormulaOptions& options = {}) {
  try {
    parse_formula(text, options);
  } catch (const FormulaError& error) {
    return Failure{error.what(), error.column()};
  }
  return std::nullopt;
}

void check_fails(const std::string& text, std::size_t column, const std::string& part,
                 const FormulaOptions& options = {}) {
  CAPTURE(text);
  const auto got = failure(text, options);
  REQUIRE(got.has_value());
  CAPTURE(got->message);
  CHECK(got->column == column);
  CHECK(got->message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("each mistake is named, at its column") {
  check_fails("", 0, "the formula is empty");
  check_fails("   ", 3, "the formula is empty");
  check_fails("2x", 1, "an operator is missing before 'x': write 2*x");
  check_fails("a if x>2 else b", 2, "for a choice write if(condition, a, b)");
  check_fails("a*2 b", 4, "an operator is missing before 'b': write 2*b");
  check_fails("(a+b)(x)", 5, "an operator is missing before '('");
  check_fails("(a)x", 3, "an operator is missing before 'x'");
  check_fails("2(x)", 1, "an operator is missing before '('");
  check_fails("1.5.2", 3, "an operator is missing before '.2'");
  check_fails("sin x", 0, "'sin' is a function: write sin( )");
  check_fails("a*exp(-b*x", 2, "a ')' is missing for this call of exp");
  check_fails("a*(b+x", 2, "a ')' is missing for this '('");
  check_fails("a*b)+c", 3, "this ')' has no '('");
  check_fails("a*", 2, "the formula ends after '*'");
  check_fails("a*exp(", 6, "the formula ends after '('");
  check_fails("*a", 0, "expected before '*'");
  check_fails("a+*b", 2, "expected between '+' and '*'");
  check_fails("a*()", 3, "nothing stands between the parentheses");
  check_fails("a,b", 1, "a ',' only separates the arguments of a function; the decimal mark is '.'");
  check_fails("1,5*x", 1, "the decimal mark is '.'");
  check_fails("(a,b)", 2, "a ','");
  check_fails("exp(a,)", 6, "expected between ',' and ')'");
}

TEST_CASE("functions are checked for their names and arguments") {
  check_fails("a*xp(x)", 2, "there is no function 'xp'; did you mean 'exp'?");
  check_fails("ln(x)", 0, "did you mean 'log'?");
  check_fails("EXP(x)", 0, "did you mean 'exp'?");
  check_fails("arctan(x)", 0, "did you mean 'atan'?");
  check_fails("sqr(x)", 0, "did you mean 'sqrt'?");
  check_fails("a*heaviside(x-5)", 2, "did you mean 'if'?");
  check_fails("y ~ a*x+b", 2, "of a model as R writes it give what follows the ~");
  check_fails("trigonometric(x)", 0, "for a product write trigonometric*( )");
  check_fails("a(x+1)", 0, "there is no function 'a'");
  check_fails("a + a(x+1)", 4, "'a' is a parameter, not a function; for a product write a*( )");
  check_fails("x(2)", 0, "'x' is a predictor, not a function");
  check_fails("pi(2)", 0, "'pi' is a number, not a function");
  check_fails("y(2)", 0, "'y' is a response, not a function");
  check_fails("1+exp()", 2, "exp takes 1 argument, not 0");
  check_fails("1+exp(a,b)", 2, "exp takes 1 argument, not 2");
  check_fails("pow(x)", 0, "pow takes 2 arguments, not 1");
  check_fails("min(x)", 0, "min takes 2 or more arguments, not 1");
  check_fails("if(x,1)", 0, "if takes 3 arguments, not 2");
  check_fails("if x", 0, "'if' is a function");
}

TEST_CASE("characters that do not belong are explained") {
  check_fails("a & b", 2, "write &&");
  check_fails("|x|", 0, "abs(x)");
  check_fails("x % 2", 2, "mod(a, b)");
  check_fails("x>1 ? a : b", 4, "if(condition, a, b)");
  check_fails("p[0]*x", 1, "brackets");
  check_fails("np.exp(x)", 2, "not np.exp(x)");
  check_fails("a\u2212b", 1, "typographic minus");
  check_fails("a\u00d7b", 1, "multiplication sign");
  check_fails("x\u00b2", 1, "type ^2");
  check_fails("2*\u03c0*x", 2, "type pi");
  check_fails("a @ b", 2, "unexpected character '@'");
  check_fails(std::string("a+\0b", 4), 2, "unexpected byte 0x00");
  check_fails("y = = b", 4, "nothing stands before '='");
  check_fails("a $ b", 2, "$1");
}

TEST_CASE("numbers out of range are errors") {
  check_fails("a+1e400", 2, "number out of range");
  check_fails("1e-400*x", 0, "number out of range");
  check_fails("0x10", 0, "hexadecimal");
  CHECK(!failure("0e-400"));
  CHECK(!failure("1e-320"));
}

TEST_CASE("comparisons do not chain, and negation asks for parentheses where it would surprise") {
  check_fails("a<x<b", 3, "comparisons do not chain: write (a < b) && (b < c)");
  check_fails("x>2 == 1", 4, "comparisons do not chain");
  CHECK(!failure("(x>2) == 1"));
  check_fails("2*!x", 2, "write (!...)");
  CHECK(!failure("2*(!x)"));
  check_fails("x!", 1, "'!' needs an operator before it");
}

TEST_CASE("left sides hold the response and predictors only") {
  check_fails("a*x = b", 0, "'a' on the left of '='");
  check_fails("log(y)*a = b*x", 7, "only the response 'y' and predictors");
  check_fails("log(x) = b", 0, "does not contain the response 'y'");
  check_fails("exp(x) = b", 0, "does not contain the response 'y'");
  check_fails("f(z) = b", 2, "'z' is not a predictor: write f(x) = ..., and x for z in the formula");
  check_fails("f(x,y) = b", 4, "'y' is the response, not a predictor: the data have x; write f(x) = ..., or");
  check_fails("f(x,) = b", 0, "there is no function 'f'");
  check_fails("= a*x", 0, "nothing stands before '='");
  check_fails("y =", 3, "nothing stands after '='");
  check_fails("y = a = b", 6, "to compare write ==");
  check_fails("y = if(x=1,a,b)", 8, "to compare write ==");
  check_fails("a*y + x", 2, "'y' is the response");
  check_fails("log(y) = a*y", 11, "'y' is the response");
  check_fails("log(y = a", 6, "a ')' is missing before it");
  check_fails("if(x=1,a,b)", 4, "to compare write ==");
}

TEST_CASE("column expressions know their names") {
  FormulaOptions options;
  options.predictors = {"time", "signal"};
  options.response = "";
  options.parameters_allowed = false;
  CHECK(!failure("log(signal)/time + pi", options));
  check_fails("2*singal", 2, "unknown name 'singal'; known: time, signal, pi", options);
  check_fails("2*exp", 2, "'exp' is a function: write exp( )", options);
  check_fails("time = 2", 5, "an '=' has no place here: to compare write ==", options);
  check_fails("$3 + 1", 0, "unknown name '$3'", options);
  check_fails("$2*a", 0, "unknown name '$2'");
}

TEST_CASE("options that contradict themselves name both sides") {
  FormulaOptions options;
  options.predictors = {"pi"};
  CHECK_THROWS_WITH_AS(parse_formula("pi*x", options), doctest::Contains("would hide the constant pi"),
                       ValidationError);
  options.predictors = {"x", "y"};
  CHECK_THROWS_WITH_AS(parse_formula("a*x", options), doctest::Contains("predictor 'y' and the response 'y'"),
                       ValidationError);
  options.predictors = {"x", "x"};
  CHECK_THROWS_WITH_AS(parse_formula("a*x", options), doctest::Contains("two predictors are named 'x'"),
                       ValidationError);
  options.predictors = {"x", ""};
  CHECK_THROWS_AS(parse_formula("a*x", options), ValidationError);
}

TEST_CASE("the caret stands under the mistake") {
  const auto got = failure("a*exp(-b*x) + xp(x)");
  REQUIRE(got.has_value());
  const std::string expected = "  a*exp(-b*x) + xp(x)\n  " + std::string(14, ' ') + "^";
  CHECK(got->message.find(expected) != std::string::npos);
}

TEST_CASE("deep nesting is an error, never an overflow") {
  const std::size_t deep = 100000;
  const auto repeat = [&](const std::string& piece) {
    std::string text;
    for (std::size_t i = 0; i < deep; ++i) text += piece;
    return text;
  };
  check_fails(std::string(deep, '(') + "x" + std::string(deep, ')'), 1000, "nested deeper than 1000 levels");
  check_fails(repeat("-") + "x", 1000, "nested deeper");
  check_fails(repeat("!") + "x", 1000, "nested deeper");
  check_fails(repeat("sin(") + "x", 4000, "nested deeper");
  check_fails(repeat("x^") + "x", 2001, "nested deeper");
  check_fails(repeat("if(x,1,") + "x", 7000, "nested deeper");
  check_fails(std::string(deep, ')'), 0, "a number or a name is expected before ')'");
}

TEST_CASE("raised limits are honoured without overflowing the stack") {
  FormulaOptions options;
  options.limits.max_depth = 400000;
  options.limits.max_nodes = 10000000;
  const std::size_t deep = 300000;
  CHECK(!failure(std::string(deep, '(') + "x" + std::string(deep, ')'), options));
  CHECK(!failure(std::string(deep, '-') + "x", options));
  std::string calls, powers;
  for (std::size_t i = 0; i < 100000; ++i) calls += "sin(", powers += "x^";
  CHECK(!failure(calls + "x" + std::string(100000, ')'), options));
  CHECK(!failure(powers + "x", options));
}

TEST_CASE("large formulas are refused quickly") {
  const std::clock_t start = std::clock();  // processor time, because the machine may be busy
  check_fails(std::string(10 << 20, '('), 0, "the formula has 10485760 bytes; at most 1048576 are read");
  std::string sum = "x";
  for (int i = 0; i < 200000; ++i) sum += "+x";
  const auto got = failure(sum);
  REQUIRE(got.has_value());
  CHECK(got->message.find("more than 100000 operations") != std::string::npos);
  CHECK(!failure(std::string(1 << 20, 'a')));  // this is one long name
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 5);
#endif
}

TEST_CASE("nested remainders do not grow exponentially") {
  std::string text;
  for (int i = 0; i < 900; ++i) text += "mod(";
  text += "x";
  for (int i = 0; i < 900; ++i) text += ",7)";
  const Formula f = parse_formula(text);
  CHECK(f.steps.size() == 1801);
  CHECK(f.graph.size() < 5000);
}
