// Typed formulas: `a*exp(-b*x)+c`, `log(y) = a - b*x`.
//
// Grammar, loosest first: `||`, `&&`, `!`, comparisons (< <= > >= == !=, not chained), + -, * /, unary
// - and +, ^ or ** (right-associative, tighter than unary minus: -x^2 is -(x^2), and 2^-1 is allowed).
// `!x > 2` is !(x > 2); inside arithmetic `!` needs parentheses. A choice is `if(c, a, b)`. `log` is the
// natural logarithm, `mod` takes the sign of its second argument, `min` and `max` take two or more.
// Numbers are parsed without regard to the locale.
// A name is a function only before `(`; a predictor only if the caller chose it; `pi` is a constant;
// every other name is a parameter, in order of first appearance. `$1`, `$2` ... may name predictors.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/graph.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

struct FormulaLimits {
  std::size_t max_length = 1 << 20;  // bytes
  std::size_t max_depth = 1000;      // nesting; parsing and freeing never overflow the stack
  std::size_t max_nodes = 100000;
};

struct FormulaOptions {
  std::vector<std::string> predictors = {"x"};  // column i of the graph is predictors[i]
  std::string response = "y";                   // allowed on the left of `=` only
  bool parameters_allowed = true;               // false: unknown names are errors (column expressions)
  FormulaLimits limits;
};

// One step of a formula that is several operations in the graph, or takes its operands the other way.
enum class CompoundFunction : std::uint8_t {
  none,
  greater,        // a > b
  greater_equal,  // a >= b
  mod,            // mod(a, b) = a - b*floor(a/b): the sign of b, as in Python
  voigt,          // voigt(x, sigma, gamma) = Re w((x + i gamma)/(sigma sqrt 2)) / (sigma sqrt(2 pi))
};

// One step of the formula as written, in postfix order: what the independent evaluator runs.
struct FormulaStep {
  Op op = Op::constant;
  CompoundFunction compound = CompoundFunction::none;  // where it is set, `op` is not used
  std::uint32_t index = 0;                             // of a column or parameter
  double value = 0;                                    // of a constant
};

// A parsed formula. The graph is simplified; `steps` is the formula as typed, unsimplified, and is
// what certificates re-evaluate.
struct NLSQ_API Formula {
  std::string text;
  std::vector<std::string> parameters;  // names, in order of first appearance
  std::vector<std::string> predictors;  // names; column i
  Graph graph;
  NodeId model = 0;     // the right side
  NodeId response = 0;  // the left side as an expression of column `predictors.size()` (plain y: that column)
  bool has_left_side = false;
  std::vector<FormulaStep> steps;           // the right side
  std::vector<FormulaStep> response_steps;  // the left side

  // Another right side, of the same parameters and predictors: `steps` and the graph.
  void replace_model(std::vector<FormulaStep> with);

  // The right side by the C library, from `steps`. Throws ValidationError when values are missing.
  double evaluate(std::span<const double> predictors, std::span<const double> parameters) const;
  // The left side by the C library; y itself where there is none.
  double evaluate_response(std::span<const double> predictors, double y) const;

  // The same for `count` rows at once, step by step over blocks of rows: predictors[k] and y point at `count`
  // values. A square is x*x, which is pow(x, 2) correctly rounded; all else are the same operations.
  void evaluate_rows(std::span<const double* const> predictors, std::span<const double> parameters,
                     std::size_t count, double* out) const;
  void evaluate_response_rows(std::span<const double* const> predictors, const double* y, std::size_t count,
                              double* out) const;
};

// Throws FormulaError with the column and a caret, or ValidationError for options that contradict
// themselves (a predictor named pi, or like the response).
NLSQ_API Formula parse_formula(std::string_view text, const FormulaOptions& options = {});

}  // namespace nlsq::inline v0
