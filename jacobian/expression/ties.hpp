// Parameters that are functions of others: "d = 2*a". A model with ties is a model of the other parameters
// only, so the ties are substituted into the model and the evaluators need no change.
#pragma once

#include "expression/names.hpp"

#include <nlsq/callable.hpp>

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API Ties {
 public:
  Ties() = default;
  // `names` lists all parameters of the model. Throws ValidationError for a text that is not "name =
  // expression", and for a parameter that is not in the model, is fixed, is tied twice, or depends on itself.
  Ties(const std::vector<std::string>& names, const std::vector<std::string>& texts,
       const std::vector<std::string>& fixed = {});

  bool empty() const { return ties_.empty(); }
  bool contains(int parameter) const { return find(parameter) != nullptr; }
  // Returns the expression of a tied parameter. The result is empty if the parameter is not tied.
  std::string expression(int parameter) const;

  // Sets the tied elements of p from the others.
  void apply(std::span<double> p) const;
  // Returns ∂p[j]/∂p[free[k]] at p for every parameter j, row-major.
  std::vector<double> slopes(std::span<const double> p, std::span<const int> free) const;

  // Substitutes the ties into the model. Tied parameters stay in its list of parameters but are not read.
  Formula put_into(Formula model) const;
  ModelFunction put_into(ModelFunction model) const;

 private:
  struct Tie {
    int parameter = 0;
    ParameterExpression expression;
    std::vector<int> arguments;  // parameters of the model, in the order of the expression
    std::vector<double> values(std::span<const double> p) const;
  };
  const Tie* find(int parameter) const;  // null if the parameter is not tied
  std::vector<Tie> ties_;                // ordered so that each tie only needs parameters set before it
};

}  // namespace nlsq::inline v0
