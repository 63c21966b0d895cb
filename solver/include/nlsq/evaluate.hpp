// evaluate: computes the values and derivatives of a model under a precision policy, without a fit.
#pragma once

#include <nlsq/columns.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/operation.hpp>
#include <nlsq/precision_scope.hpp>
#include <nlsq/prepared_model.hpp>
#include <nlsq/row_ranges.hpp>

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Selects what is evaluated.
struct EvaluateOptions : Parallelism {
  bool jacobian = false;  // derivatives by every parameter as well
  Column y;               // if given, the values are residuals (f - y) / sigma, as in a fit
  Column sigma;           // needs y; empty if all are 1
};

// The result of evaluate.
struct Evaluation {
  std::vector<double> values;  // f(x_i, p) or residuals, one per row
  // rows x parameters, if requested: as the Gram product reads it, rounded to formats.jacobian (f16: each
  // column of a tile is scaled by a power of two)
  Matrix jacobian;
  PartFormats formats;  // the formats in which tiles were evaluated and to which they were rounded
  // tiles that these formats could not hold, evaluated in f64 and not rounded
  std::vector<TileRange> redone;
  bool finite = true;  // every value and every requested derivative is finite
  // if `finite` is false: the first row that is not finite in f64 either
  std::size_t nonfinite_row = 0;
  std::string policy;
  KernelCounters counters;  // incremented by the kernels
  // of all tiles, one for each operation and format; includes values near the limit
  std::vector<PrecisionIssue> issues;
  std::string kernel, evaluator, evaluator_note;  // as in Summary
};

// Holds the values of all parameters of a model, in its order or by name.
class ParameterValues {
 public:
  ParameterValues(std::vector<double> in_order)
      : in_order_(std::move(in_order)) {}  // NOLINT: implicit by design
  ParameterValues(std::initializer_list<double> in_order) : in_order_(in_order) {}
  ParameterValues(NamedValues named) : named_(std::move(named)), by_name_(true) {}  // NOLINT
  ParameterValues(std::initializer_list<NamedValues::value_type> named) : named_(named), by_name_(true) {}
  bool by_name() const { return by_name_; }
  const std::vector<double>& in_order() const { return in_order_; }
  const NamedValues& named() const { return named_; }

 private:
  std::vector<double> in_order_;
  NamedValues named_;
  bool by_name_ = false;
};

// Evaluates the model at x with the parameters p, in the formats in which a fit of these rows under `policy`
// starts. The policy's entry gate applies; its rules and thresholds for later iterations do not. A tile (some
// hundred rows) with a number that these formats cannot hold is evaluated again in f64. The result has the
// same bits for any number of threads.
//
// Throws ValidationError for a parameter that is missing, unknown or not finite and for an invalid policy,
// and DataError as curve_fit does. A model that is not finite is no error: see `finite`.
NLSQ_API Evaluation evaluate(const PreparedModel& model, const Columns& x, const ParameterValues& p,
                             const PrecisionPolicy& policy = current_policy(),
                             const EvaluateOptions& options = {});
// Evaluates a formula with the predictor `x`, or x1 ... xk. If it has a left side and y is not given, the
// values are those of its right side.
NLSQ_API Evaluation evaluate(std::string_view formula, const Columns& x, const ParameterValues& p,
                             const PrecisionPolicy& policy = current_policy(),
                             const EvaluateOptions& options = {});

// Evaluates a parsed formula or a built-in model.
template <class M>
requires(std::same_as<M, Formula> || std::same_as<M, Model>) Evaluation
    evaluate(const M& model, const Columns& x, const ParameterValues& p,
             const PrecisionPolicy& policy = current_policy(), const EvaluateOptions& options = {}) {
  return evaluate(PreparedModel(model), x, p, policy, options);
}

// Evaluates a callable f(x, p), recorded if possible. x is a number, or x[0], x[1] ... for several
// predictors.
template <Callable F>
Evaluation evaluate(F model, const Column& x, const std::vector<double>& p,
                    const PrecisionPolicy& policy = current_policy(), const EvaluateOptions& options = {}) {
  return evaluate(PreparedModel(make_model_function(std::move(model)), Columns(x), p), Columns(x), p, policy,
                  options);
}
template <Callable F>
Evaluation evaluate(F model, const std::vector<Column>& x, const std::vector<double>& p,
                    const PrecisionPolicy& policy = current_policy(), const EvaluateOptions& options = {}) {
  return evaluate(
      PreparedModel(make_model_function(std::move(model), static_cast<int>(x.size())), Columns(x), p),
      Columns(x), p, policy, options);
}
NLSQ_API Evaluation evaluate(const ModelFunction& model, const Columns& x, const std::vector<double>& p,
                             const PrecisionPolicy& policy = current_policy(),
                             const EvaluateOptions& options = {});

}  // namespace nlsq::inline v0
