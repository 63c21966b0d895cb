// Declares the built-in models. Each has a name, a formula, and a rule for the first guess.
#pragma once

#include <nlsq/columns.hpp>
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

// Tells a guess more about the data than x and y do.
struct GuessHints {
  Column sigma;           // standard deviations of y, as long as y; if empty, all rows count alike
  bool outliers = false;  // the loss is robust: a row far from its neighbours on both sides is left out
};

// Holds the range from which a parameter is drawn when guesses are tested
// (tests/solver/models/test_guesses.cpp).
struct TrialRange {
  double low = 0, high = 1;
  bool logarithmic = false;  // uniform in the logarithm, with the sign of `low`
};

// This is one model in a sum. Its parameters in the sum are `label`, an underscore, and the name in the
// model.
struct ModelTerm {
  std::string label;    // "g1"
  std::string model;    // "gaussian"
  std::string formula;  // "g1_h*exp(-(x-g1_mu)^2/(2*g1_sigma^2))": without the constant that the sum shares
};

// This is a built-in model, or a sum of them.
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
  std::vector<ModelTerm> terms;      // of a sum; empty for a built-in model

  // Returns the first guess from data in any order. `x` holds `predictors` columns as long as `y`. Rows with
  // NaN or Inf are left out. With sigma, each row counts by 1/sigma², as in the fit. Where there are many
  // rows, it uses a fixed, reproducible choice of them, so that it takes milliseconds, and at most a few
  // passes over the data (peaks, waves). Throws DataError if the number or the lengths of columns disagree.
  Guess guess(std::span<const std::span<const double>> x, std::span<const double> y,
              const GuessHints& hints = {}) const;
  Guess guess(std::span<const double> x, std::span<const double> y, const GuessHints& hints = {}) const {
    return guess({&x, 1}, y, hints);
  }

  // The rule that computes this guess, from columns of any kind. Those of a row source are read in blocks, so
  // that memory does not grow with the rows.
  std::function<Guess(const Columns& x, const Column& y, const GuessHints& hints)> rule;
};

// Returns the built-in model with that name, which may be one of its aliases; null if there is none.
NLSQ_API const Model* find_builtin(std::string_view name);

// Returns the model with that name, or the sum of models that the text describes: "gaussian + 2*lorentzian +
// linear". In a sum each model gets a label (g1, l1, l2, l3) that prefixes its parameters (g1_mu), and the
// constants are merged into one, c. In the guess of a sum, each model in turn is guessed from the data minus
// the other models. The reference is valid until the program ends. Throws ValidationError naming similar
// names if a name is unknown. May be called from several threads.
NLSQ_API const Model& model(std::string_view name);

// Returns true if the text has the form of a sum of models, or of a multiple of one. The names in it may be
// unknown.
NLSQ_API bool is_model_sum(std::string_view text);

// Returns all built-in models, in the order in which they are listed to users.
NLSQ_API std::span<const Model> models();

}  // namespace nlsq::inline v0
