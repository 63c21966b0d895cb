// Recognises a formula that is a built-in model written in another way, such as a*exp(-x/tau)+c, which is the
// model exp. Such a formula gets the model's first guess.
#pragma once

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {

// Gives a formula's parameter as a function of one parameter of the model.
using Relation = double (*)(double q);

struct Recognised {
  const Model* model = nullptr;  // null if the formula is no built-in model
  // For each parameter of the formula: the parameter of the model from which it follows, and how.
  std::vector<std::size_t> partner;
  std::vector<Relation> relation;

  // Returns the formula's parameters computed from the model's. A number that is not finite becomes 1.
  std::vector<double> convert(std::span<const double> of_model) const;
};

// Returns the model's formula, parsed.
Formula formula_of(const Model& model);

// Compares the formula with each built-in model of as many parameters and predictors by their values at a few
// points, for all pairings of parameters and all relations. Formulas with more than seven parameters or with
// a left side are not recognised. Takes some milliseconds at most.
Recognised recognise(const Formula& formula);

}  // namespace nlsq::inline v0::guessing
