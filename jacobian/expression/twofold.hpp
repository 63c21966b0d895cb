// A Twofold is a number with twice the digits of f64. TwofoldExpression evaluates an expression with such
// numbers. The certificate needs them if the terms of a model cancel, because f64 results are then mostly
// rounding error.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Holds the sum of two doubles, of which `low` is at most half a unit in the last place of `high`.
struct Twofold {
  double high = 0, low = 0;
  double rounded() const { return high + low; }
};

NLSQ_API Twofold twofold_sum(Twofold a, Twofold b);
NLSQ_API Twofold twofold_product(Twofold a, Twofold b);

// This is a twofold number and a bound of its rounding error.
struct TwofoldValue {
  Twofold number;
  double error = 0;
};

// Evaluates the expression below a node of a graph in twofold numbers. Sums, products, quotients and square
// roots are accurate to some 100 bits. All other functions have the accuracy of a long double, at an argument
// that is not rounded.
class NLSQ_API TwofoldExpression {
 public:
  TwofoldExpression(const Graph& graph, NodeId root);
  // Returns false if the expression has an operation that only exists in double.
  bool usable() const { return usable_; }
  TwofoldValue operator()(std::span<const double> columns, std::span<const double> parameters) {
    return run(columns, parameters, {});
  }

  // This is a number of the data: a column, or a constant of the expression.
  struct Datum {
    std::size_t place = 0;  // index of its step
    int column = -1;        // -1: a constant
  };
  // Returns the datum of this column, in a list of one. The list is empty if the expression does not use the
  // column.
  std::vector<Datum> datum(int column) const;
  // Returns the data that may be the response y, if it is not known which are. These are the data that no
  // parameter multiplies, so that they are added to the model, unlike a weight or x. If there are none, all
  // data may be y. Constants count only if there is no column. The column `no_response` is left out.
  std::vector<Datum> responses(int no_response = -1) const;
  // Returns the change of the value if a datum changes by `amount`.
  double change(std::span<const double> columns, std::span<const double> parameters, const Datum& datum,
                double amount);
  double value(std::span<const double> columns, const Datum& datum) const;

 private:
  struct Step {
    Node node;
    bool depends = false;             // true if it depends on parameters
    std::size_t a = 0, b = 0, c = 0;  // indices of the operands
  };
  struct Change {
    std::size_t place = static_cast<std::size_t>(-1);
    double amount = 0;
  };
  TwofoldValue run(std::span<const double> columns, std::span<const double> parameters, Change change);
  std::vector<std::uint8_t> multiplied_by_parameters() const;
  std::vector<Datum> data(auto&& wanted) const;

  std::vector<Step> steps_;
  std::vector<TwofoldValue> values_;
  bool usable_ = true;
};

}  // namespace nlsq::inline v0
