// Parameters that follow from others: "d = 2*a". A model with ties is a model of the other parameters; so a
// tie is put into the model itself, and every evaluator serves as before.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/formula.hpp>

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API Ties {
 public:
  Ties() = default;
  // `names`: all parameters of the model. Throws ValidationError for a text that is no "name = expression", a
  // parameter that the model does not have, that is fixed, tied twice, or that depends on itself.
  Ties(const std::vector<std::string>& names, const std::vector<std::string>& texts,
       const std::vector<std::string>& fixed = {});

  bool empty() const { return ties_.empty(); }
  bool contains(int parameter) const;
  // The expression that parameter follows; empty for one that is not tied.
  std::string expression(int parameter) const;

  // The tied ones among p, from the others.
  void apply(std::span<double> p) const;
  // ∂p[j]/∂p[free[k]] at p for every parameter j, row-major.
  std::vector<double> slopes(std::span<const double> p, std::span<const int> free) const;

  // The model with its tied parameters replaced; they stay among its parameters, and are not read.
  Formula put_into(Formula model) const;
  ModelFunction put_into(ModelFunction model) const;

 private:
  struct Tie {
    int parameter = 0;
    Formula expression;
    std::vector<int> arguments;       // parameters of the model, in the expression's order
    std::vector<NodeId> derivatives;  // by them, in the expression's graph
    std::vector<double> values(std::span<const double> p) const;
  };
  std::vector<Tie> ties_;  // in an order in which each finds what it needs
};

}  // namespace nlsq::inline v0
