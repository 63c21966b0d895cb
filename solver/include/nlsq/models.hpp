// Built-in models: a name, a formula, and a rule for the first guess, one registry row each.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Where to start a fit. `values` are finite whatever the data, in the model's parameter order; the
// nonlinear ones matter, linear ones are solved for by the fit. `warning` says why a guess is a
// formality (flat data, too few points, x outside the model's domain); empty where it is not.
struct Guess {
  std::vector<double> values;
  std::string warning;
};

// Where parameters are drawn from when guesses are judged (tests/solver/models/test_guesses.cpp).
struct TrialRange {
  double low = 0, high = 1;
  bool logarithmic = false;  // uniform in the logarithm; then the sign is low's
};

struct Model {
  std::string name;
  std::string formula;      // for parse_formula; predictors are x, or x1 ... xk where there are several
  std::string description;  // one line
  std::vector<std::string> parameters;  // in the formula's order of first appearance
  std::vector<std::string> meaning;     // of each parameter, with its units in terms of x's and y's
  int predictors = 1;
  std::vector<std::string> aliases;  // other names `model` answers to
  TrialRange trial_x;                // range of x on trial
  std::vector<TrialRange> trials;    // of the parameters on trial

  // First guess from data in any order. `x` holds `predictors` columns as long as `y`; rows with NaN
  // or infinity are left out. Of long data a fixed, reproducible choice of rows is looked at, so that the
  // cost is milliseconds, and at most a few passes over the data (peaks, waves). Throws DataError when
  // the number or the lengths of columns disagree.
  Guess guess(std::span<const std::span<const double>> x, std::span<const double> y) const {
    return rule(x, y);
  }
  Guess guess(std::span<const double> x, std::span<const double> y) const { return rule({&x, 1}, y); }

  std::function<Guess(std::span<const std::span<const double>> x, std::span<const double> y)> rule;
};

// The model of that name. Throws ValidationError naming the nearest names.
NLSQ_API const Model& model(std::string_view name);

// Every built-in model, in the order they are listed to users.
NLSQ_API std::span<const Model> models();

}  // namespace nlsq::inline v0
