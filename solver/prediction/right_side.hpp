// Separates the right side of a model, which is fitted to the values of its left side. Predictions and the
// bootstrap repeat fits in this form.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

struct RightSide {
  PreparedModel model;    // without a left side
  std::vector<double> y;  // log(y) for log(y) = a - b*x; otherwise y
  // True if several threads may fit at once. A callable may keep state, so it is fitted by one thread.
  bool concurrent = false;
};
// Throws DataError if a column is not as long as y.
RightSide right_side(const PreparedModel& model, const Columns& x, const Column& y);

// Throws ValidationError if the fit has other parameters than the model. `what` begins the message.
void check_model(std::string_view what, const PreparedModel& model, const FitResult& fit);

// Throws DataError unless the cost at the parameters of the fit is what the fit had. Other data, or data with
// other weights, would give intervals that belong to no fit. `what` begins the message.
void check_same_cost(std::string_view what, double cost, double of_fit, const FitResult& fit);

// Returns how many threads may fit this model at once: those of the options, or one.
Parallelism threads_for(const RightSide& model, const Parallelism& options);

// Returns true if standard deviations of a predictor are given.
bool has_x_errors(const FitOptions& options);
// Returns true if parameter j follows from others.
bool is_tied(const FitResult& fit, std::size_t j);
// Fixes the parameters that were fixed in `fit`.
void fix_as_in(const FitResult& fit, FitOptions& options);

// Returns the options for one of many fits of changed data that start from the parameters of `fit`: on one
// thread, without further starts. Where `stop` returns true, the fit ends. Sigma and errors in x are for the
// caller to replace.
FitOptions refit_options(const FitResult& fit, const FitOptions& options, const std::function<bool()>& stop);
// Returns the parameters as starting values, without those that are tied.
NamedValues refit_start(const FitResult& fit, const std::vector<double>& parameters);

}  // namespace nlsq::inline v0
