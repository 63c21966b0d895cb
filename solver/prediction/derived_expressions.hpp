// Declares the expressions of derived quantities: their values, their derivatives, and their steps as
// formulas of the model's parameters. derive() and bootstrap() use them.
#pragma once

#include "expression/names.hpp"

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

class DerivedExpressions {
 public:
  // Throws ValidationError as derive() does.
  DerivedExpressions(const std::vector<std::string>& parameters, const std::vector<std::string>& texts);

  std::size_t size() const { return quantities_.size(); }
  const std::string& name(std::size_t k) const { return quantities_[k].name; }
  const std::string& text(std::size_t k) const { return quantities_[k].expression.formula.text; }

  // Returns the values of all quantities for the parameters p.
  std::vector<double> values(std::span<const double> p) const;
  // Returns the derivatives of each quantity by all parameters, as if none were tied.
  std::vector<std::vector<double>> gradients(std::span<const double> p) const;
  // Returns quantity k in postfix order, as a formula of the model's parameters alone.
  const std::vector<FormulaStep>& steps(std::size_t k) const { return quantities_[k].steps; }

 private:
  struct Quantity {
    std::string name;
    ParameterExpression expression;
    // for each parameter of the expression a parameter of the model, or the number of parameters plus an
    // earlier quantity
    std::vector<std::size_t> arguments;
    std::vector<FormulaStep> steps;
  };
  void add(const std::string& text);
  std::size_t find(const std::string& name, const std::string& text) const;
  std::vector<double> argument_values(const Quantity& quantity, std::span<const double> p,
                                      std::span<const double> earlier) const;

  std::vector<std::string> parameters_;
  std::vector<Quantity> quantities_;
};

}  // namespace nlsq::inline v0
