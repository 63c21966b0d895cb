// Parses formulas from text, such as `a*exp(-b*x)+c` and `log(y) = a - b*x`. Fits from a formula and the
// command line use it.
//
//  Grammar, from the lowest precedence up: `||`, `&&`, `!`, comparisons (< <= > >= == !=, not chained), + -,
//  * /, unary - and +, ^ or ** (right-associative, higher than unary minus: -x^2 is -(x^2); 2^-1 is allowed).
//  `!x > 2` is !(x > 2); inside arithmetic `!` needs parentheses. A choice is `if(c, a, b)`. `log` is the
//  natural logarithm, `mod` has the sign of its second argument, `min` and `max` take two or more arguments.
//  Numbers are parsed independently of the locale.
//  A name is a function only before `(`. It is a predictor only if the caller listed it. `pi` is a constant.
//  Every other name is a parameter, in order of first appearance. `$1`, `$2` ... can name predictors.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/graph.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

struct FormulaLimits {
  std::size_t max_length = 1 << 20;  // bytes
  std::size_t max_depth = 1000;      // nesting; neither parsing nor freeing overflows the stack
  std::size_t max_nodes = 100000;
};

struct FormulaOptions {
  std::vector<std::string> predictors = {"x"};  // column i of the graph is predictors[i]
  std::string response = "y";                   // allowed only on the left of `=`
  bool parameters_allowed = true;               // false: unknown names are errors (column expressions)
  FormulaLimits limits;
};

// These functions become several operations of the graph, or one operation with its operands exchanged.
enum class CompoundFunction : std::uint8_t {
  none,
  greater,        // a > b
  greater_equal,  // a >= b
  mod,            // mod(a, b) = a - b*floor(a/b): the sign of b, as in Python
  voigt,          // voigt(x, sigma, gamma) = Re w((x + i gamma)/(sigma sqrt 2)) / (sigma sqrt(2 pi))
};

// This is one step of a formula as the user typed it, in postfix order. The independent evaluator executes
// these steps.
struct FormulaStep {
  Op op = Op::constant;
  CompoundFunction compound = CompoundFunction::none;
  std::uint32_t index = 0;  // number of the column or parameter
  double value = 0;         // value of the constant
};

// Holds a parsed formula. The graph is simplified, but `steps` holds the formula as the user typed it.
// Certificates evaluate the formula independently from these steps.
struct NLSQ_API Formula {
  std::string text;
  std::vector<std::string> parameters;  // the names, in order of first appearance
  std::vector<std::string> predictors;  // the names; predictor i is column i
  Graph graph;
  NodeId model = 0;     // the right side
  NodeId response = 0;  // the left side as an expression of column `predictors.size()` (plain y: that column)
  bool has_left_side = false;               // true if it is more than the response alone
  std::vector<FormulaStep> steps;           // the right side
  std::vector<FormulaStep> response_steps;  // the left side

  // Replaces the right side, in `steps` and in the graph, by one with the same parameters and predictors.
  void replace_model(std::vector<FormulaStep> with);

  // Evaluates the right side from `steps`, with the functions of the C library. Throws ValidationError if
  // values are missing.
  double evaluate(std::span<const double> predictors, std::span<const double> parameters) const;
  // Evaluates the left side with the functions of the C library; returns y if there is no left side.
  double evaluate_response(std::span<const double> predictors, double y) const;

  // Evaluate `count` rows, step by step over blocks of rows. predictors[k] and y point at `count` values. A
  // square is computed as x*x, which is pow(x, 2) correctly rounded; all other operations are those of
  // evaluate().
  void evaluate_rows(std::span<const double* const> predictors, std::span<const double> parameters,
                     std::size_t count, double* out) const;
  void evaluate_response_rows(std::span<const double* const> predictors, const double* y, std::size_t count,
                              double* out) const;
};

// Parses a formula. Throws FormulaError with the column and a caret, or ValidationError if the options
// contradict each other (a predictor named pi, or named like the response).
NLSQ_API Formula parse_formula(std::string_view text, const FormulaOptions& options = {});

}  // namespace nlsq::inline v0
