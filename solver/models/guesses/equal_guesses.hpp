// Chooses among values of a model's parameters that give the same curve, if a fit does not start at the first
// guess itself.
#pragma once

#include "models/recognise.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <functional>
#include <vector>

namespace nlsq::inline v0::guessing {

// Says how the start of a fit follows from a model's first guess.
struct StartRule {
  const Formula* formula = nullptr;   // that is fitted
  const Recognised* known = nullptr;  // how its parameters follow from the model's; null if they are the same
  // Puts values that the caller gives, bounds and ties into the parameters of the formula.
  std::function<std::vector<double>(const std::vector<double>&)> impose;

  std::vector<double> converted(const std::vector<double>& of_model) const {
    return known != nullptr ? known->convert(of_model) : of_model;
  }
};

// Chooses, among values that give the curve of the guess, those with which the imposed values fit the data
// best. Alike terms such as the peaks of 2*gaussian may be exchanged, and a wave may have the other sign and
// half a period more. Without this, a peak that is held at the place of the second one in the guess would
// start there with the width and height of the first one, and two terms would start at the place of one.
// `values` is a first guess from these data. It does not change if nothing is imposed on it.
void choose_among_equals(const Model& model, const StartRule& rule, const Columns& x, const Column& y,
                         const GuessHints& hints, std::vector<double>& values);

}  // namespace nlsq::inline v0::guessing
