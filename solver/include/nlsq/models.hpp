// The built-in models: each has a name, a formula, and a rule for the first guess.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Starting values for a fit, in the model's parameter order; they are always finite. Only the nonlinear ones
// matter, since the fit solves for linear ones. `warning` says why a guess is not based on the data (flat
// data, too few points, x outside the model's domain); else it is empty.
struct Guess {
  std::vector<double> values;
  std::string warning;
};

// The range from which a parameter is drawn when guesses are tested (tests/solver/models/test_guesses.cpp).
struct TrialRange {
  double low = 0, high = 1;
  bool logarithmic = false;  // uniform in the logarithm, with the sign of `low`
};

// A built-in model.
struct Model {
  std::string name;
  std::string formula;      // for parse_formula; the predictors are x, or x1 ... xk if there are several
  std::string description;  // one line
  std::vector<std::string> parameters;  // in the formula's order of first appearance
  std::vector<std::string> meaning;     // of each parameter, with its units in terms of x's and y's
  int predictors = 1;
  std::vector<std::string> aliases;  // other names that `model` accepts
  TrialRange trial_x;                // range of x in tests
  std::vector<TrialRange> trials;    // ranges of the parameters in tests

  // First guess from data in any order. `x` holds `predictors` columns as long as `y`. Rows with NaN or Inf
  // are left out. Of long data it uses a fixed, reproducible choice of rows, so that it takes milliseconds,
  // and at most a few passes over the data (peaks, waves). Throws DataError if the number or the lengths of
  // columns disagree.
  Guess guess(std::span<const std::span<const double>> x, std::span<const double> y) const {
    return rule(x, y);
  }
  Guess guess(std::span<const double> x, std::span<const double> y) const { return rule({&x, 1}, y); }

  std::function<Guess(std::span<const std::span<const double>> x, std::span<const double> y)> rule;
};

// Returns the model with that name. Throws ValidationError naming similar names if there is none.
NLSQ_API const Model& model(std::string_view name);

// All built-in models, in the order they are listed to users.
NLSQ_API std::span<const Model> models();

}  // namespace nlsq::inline v0
