// A Twofold is a number with twice the digits of f64. TwofoldExpression evaluates an expression with such
// numbers. The certificate needs this where the terms of a model cancel: there f64 sees only rounding.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <cstdint>
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

// Evaluates the expression below a node of a graph in twofold numbers. Sums, products, quotients and square
// roots have some 100 bits. All other functions have those of a long double, at an argument that is not
// rounded.
class NLSQ_API TwofoldExpression {
 public:
  TwofoldExpression(const Graph& graph, NodeId root);
  // False if the expression has an operation that only exists in double.
  bool usable() const { return usable_; }
  TwofoldValue operator()(std::span<const double> columns, std::span<const double> parameters) {
    return run(columns, parameters, {});
  }

  // A number of the data: a column, or a constant of the expression.
  struct Datum {
    std::size_t place = 0;  // of its step
    int column = -1;        // -1: a constant
  };
  // The datum of this column, in a list of one. It is empty if the expression does not depend on the column.
  std::vector<Datum> datum(int column) const;
  // The data that may be the response y, where nobody says which are: those that no parameter multiplies, so
  // that they are added to the model. A weight and x do not belong to them. If there are none, all data may
  // be y. Constants count only where no column does. The column `no_response` is none of them.
  std::vector<Datum> responses(int no_response = -1) const;
  // How much the value changes if a datum changes by `amount`.
  double change(std::span<const double> columns, std::span<const double> parameters, const Datum& datum,
                double amount);
  // The value of a datum.
  double value(std::span<const double> columns, const Datum& datum) const;

 private:
  struct Step {
    Node node;
    bool depends = false;             // on parameters
    std::size_t a = 0, b = 0, c = 0;  // places of the operands
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
