// Declares the model behind a handle nlsq_model: a formula, a built-in model, a tape or a callback.
#pragma once

#include "c/caller_options.hpp"
#include "c/handles.hpp"
#include "c/tapes/tape.hpp"
#include "models/recognise.hpp"

#include <nlsq/c/model.h>
#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>
#include <nlsq/prepared_model.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0::c {

struct Callback {
  nlsq_function function = nullptr;
  void* user = nullptr;
  // Fills y, and the Jacobian if it is not null. Throws CallbackStopped.
  void call(const double* p, double* y, double* jacobian) const;
};

struct CallerModel : Object {
  static constexpr Kind kKind = Kind::model;
  CallerModel() : Object(kKind) {}

  std::string name, formula;  // as in the JSON
  std::vector<std::string> parameters, predictors;
  std::string note;                       // a warning about the text; empty if there is none
  std::optional<PreparedModel> prepared;  // null for a callback
  const Model* builtin = nullptr;         // the equivalent built-in model, whose first guess it has
  std::shared_ptr<const Tape> tape;
  Callback callback;
  bool has_jacobian = false;
  Callback recheck;

  bool is_callback() const { return callback.function != nullptr; }
  // Returns the built-in model to which a formula or a tape is equivalent. The first call searches for it.
  const guessing::Recognised& recognised() const;
  bool has_guess() const { return builtin != nullptr || recognised().model != nullptr; }
  // Returns the first guess from these data, or 1 for every parameter if the model has none. `sigma` holds
  // the errors of y, or is empty. `impose` puts the caller's values into a start (StartRule), or is null.
  using Impose = std::function<std::vector<double>(const std::vector<double>&)>;
  std::vector<double> guess(const Columns& x, const Column& y, const Column& sigma, const Loss& loss,
                            const Impose& impose, std::string& warning) const;
  // Evaluates output 0 of the tape, or the formula, at `count` rows, in double and in the given form.
  void evaluate_rows(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                     std::span<const double> noise, double* out) const;

 private:
  mutable std::once_flag once_;
  mutable guessing::Recognised recognised_;
  mutable std::optional<Formula> formula_;  // that was compared with the built-in models
};

// Makes the model from its text: a name, a sum of names or a formula. `names` are those of the predictors. If
// there are none, the predictors are called x, or x1 ... xk. Throws FormulaError or ModelError.
std::shared_ptr<CallerModel> model_of_text(const std::string& text, std::vector<std::string> names,
                                           std::size_t predictors);
// Does the same for predictors that are called x, or x1 ... xk. It keeps the last few models, so that the
// same text is not parsed again.
std::shared_ptr<const CallerModel> cached_model(const std::string& text, std::size_t predictors);

}  // namespace nlsq::inline v0::c
