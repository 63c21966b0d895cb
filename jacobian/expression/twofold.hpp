// Numbers of twice the digits of f64, and the evaluation of expressions with them. The certificate needs them
// where the terms of a model cancel and f64 sees nothing but their rounding.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// The sum of two doubles, of which `low` is at most half a unit in the last place of `high`.
struct Twofold {
  double high = 0, low = 0;
  double rounded() const { return high + low; }
};

NLSQ_API Twofold twofold_sum(Twofold a, Twofold b);
NLSQ_API Twofold twofold_product(Twofold a, Twofold b);

// A twofold number and a bound of its rounding error.
struct TwofoldValue {
  Twofold number;
  double error = 0;
};

// Evaluates one node of a graph in twofold numbers. Sums, products, quotients and square roots have some 100
// bits. All other functions have those of a long double, at an argument that is not rounded.
class NLSQ_API TwofoldExpression {
 public:
  TwofoldExpression(const Graph& graph, NodeId root);
  // False if the expression has an operation that only exists in double.
  bool usable() const { return usable_; }
  TwofoldValue operator()(std::span<const double> columns, std::span<const double> parameters);
  // How much the value changes if the last digit of a number that the data supply, a column or a constant of
  // the expression, is wrong: the sum over all of them. Call it after operator(), with the same arguments.
  double change_by_last_digits(std::span<const double> columns, std::span<const double> parameters);

 private:
  struct Step {
    Node node;
    std::size_t a = 0, b = 0, c = 0;  // places of the operands
  };
  // The factor 1 + 2⁻⁵³ multiplies the leaf at the place `moved`.
  TwofoldValue run(std::span<const double> columns, std::span<const double> parameters, std::size_t moved);
  bool is_datum(const Step& step) const { return step.node.op == Op::constant || step.node.op == Op::column; }

  std::vector<Step> steps_;
  std::vector<TwofoldValue> values_;
  Twofold last_;
  bool usable_ = true;
};

}  // namespace nlsq::inline v0
