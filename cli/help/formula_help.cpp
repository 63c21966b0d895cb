// Implements the page of --help formulas.
#include "help/formula_help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr FunctionText kFunctions[] = {
    {"exp(x)", "exponential"},
    {"expm1(x)", "exp(x)-1, exact near 0"},
    {"log(x)", "natural logarithm"},
    {"log10(x)", "logarithm to base 10"},
    {"log2(x)", "logarithm to base 2"},
    {"log1p(x)", "log(1+x), exact near 0"},
    {"sqrt(x)", "square root"},
    {"cbrt(x)", "cube root"},
    {"pow(x,y)", "x^y"},
    {"abs(x)", "absolute value"},
    {"sign(x)", "-1, 0 or 1"},
    {"min(x,y,...)", "smallest"},
    {"max(x,y,...)", "largest"},
    {"floor(x)", "next integer below"},
    {"ceil(x)", "next integer above"},
    {"mod(x,y)", "remainder, with the sign of y"},
    {"hypot(x,y)", "sqrt(x^2+y^2)"},
    {"if(c,a,b)", "a where c is not 0, else b"},
    {"sin(x)", "sine of radians"},
    {"cos(x)", "cosine"},
    {"tan(x)", "tangent"},
    {"asin(x)", "arc sine"},
    {"acos(x)", "arc cosine"},
    {"atan(x)", "arc tangent"},
    {"atan2(y,x)", "angle of the point (x,y)"},
    {"sinh(x)", "hyperbolic sine"},
    {"cosh(x)", "hyperbolic cosine"},
    {"tanh(x)", "hyperbolic tangent"},
    {"asinh(x)", "inverse of sinh"},
    {"acosh(x)", "inverse of cosh"},
    {"atanh(x)", "inverse of tanh"},
    {"erf(x)", "error function"},
    {"erfc(x)", "1-erf(x)"},
    {"erfcx(x)", "exp(x^2)*erfc(x)"},
    {"gamma(x)", "gamma function"},
    {"lgamma(x)", "log(abs(gamma(x)))"},
    {"digamma(x)", "derivative of lgamma"},
    {"besj0(x)", "Bessel function J0"},
    {"besj1(x)", "Bessel function J1"},
    {"voigt(x,s,g)", "Gaussian s, Lorentzian g, area 1"},
};

// Formats the functions in two columns. The second one starts at character 52.
std::string in_two_columns() {
  const std::size_t rows = (std::size(kFunctions) + 1) / 2;
  std::string out;
  for (std::size_t i = 0; i < rows; ++i) {
    const FunctionText& left = kFunctions[i];
    std::string line = fmt::format("  {:<14}{:<36}", left.usage, left.meaning);
    if (i + rows < std::size(kFunctions))
      line += fmt::format("{:<14}{}", kFunctions[i + rows].usage, kFunctions[i + rows].meaning);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::span<const FunctionText> function_texts() { return kFunctions; }

std::string formula_page() {
  return "A formula is RIGHT, f(x) = RIGHT or LEFT = RIGHT, as in 'a*exp(-b*x)+c' or 'log(y) = a - b*x'.\n\n"
         "Names       x (x1, x2 ... for several) or the names of the columns that --x chose are predictors, "
         "y or the\n"
         "            name of the column of --y is the response, pi is 3.14159...; all others are "
         "parameters\n"
         "Numbers     2, 0.5, 1e-3; write 2*x, not 2x\n"
         "Operators   from the highest precedence down:\n"
         "            ^ or **  power, from right to left: -x^2 is -(x^2), 2^3^2 is 2^9\n"
         "            - +      signs\n"
         "            * /      product, quotient\n"
         "            + -      sum, difference\n"
         "            < <= > >= == !=   1 if true, else 0; not in chains\n"
         "            ! not    1 if 0, else 0\n"
         "            && and   both\n"
         "            || or    one or both\n"
         "Functions\n" +
         in_two_columns() +
         "\nColumns are expressions of the same kind (--x, --y, --sigma, --where) over the names of columns "
         "(T "
         "for\n"
         "a column 'T [K]'), `names with blanks`, $1, $2 ... and $0, the number of the row. site == "
         "\"north\"\n"
         "compares texts.\n";
}

}  // namespace nlsq::cli
