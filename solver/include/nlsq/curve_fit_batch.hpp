// curve_fit_batch: makes many fits of one model, such as the spectra of a map or the spots of an image.
// Results come as arrays.
#pragma once

#include <nlsq/columns.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/kernel_counters.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/prepared_model.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// This is one column of data for each fit, or one for all. It is a view: the data must outlive the call.
class NLSQ_API ColumnPerFit {
 public:
  ColumnPerFit() = default;
  // One column for all fits.
  ColumnPerFit(const Column& shared) : columns_{shared} {}  // NOLINT: implicit by design
  template <class T>
  requires(std::convertible_to<const T&, Column> && !std::same_as<T, Column>) ColumnPerFit(const T& shared)
      : columns_{Column(shared)} {}  // NOLINT
  // Fit f uses row f of the matrix.
  ColumnPerFit(const Matrix& fits_by_rows);  // NOLINT
  // Fit f uses rows [f * rows, (f + 1) * rows) of `data`.
  template <class T>
  static ColumnPerFit of(const T* data, std::size_t fits, std::size_t rows) {
    std::vector<Column> columns;
    columns.reserve(fits);
    for (std::size_t f = 0; f < fits; ++f) columns.emplace_back(data + f * rows, rows);
    return ColumnPerFit(std::move(columns));
  }
  // One column for each fit; their lengths may differ.
  explicit ColumnPerFit(std::vector<Column> columns) : columns_(std::move(columns)), shared_(false) {}

  bool empty() const { return columns_.empty(); }
  bool shared() const { return shared_; }
  std::size_t size() const { return columns_.size(); }  // 1 if shared
  const Column& operator[](std::size_t fit) const { return columns_[shared_ ? 0 : fit]; }

 private:
  std::vector<Column> columns_;
  bool shared_ = true;
};

// Holds the options of a batch.
struct NLSQ_API BatchOptions : FitOptions {
  BatchOptions() = default;
  BatchOptions(const FitOptions& options) : FitOptions(options) {}  // NOLINT: implicit by design
  // Standard deviations of y for each fit. They replace `sigma`, which is one column for all.
  ColumnPerFit sigma_per_fit;
  // One flag for each value of P0, row by row: true if it is neither the caller's nor a guess. If the data do
  // not determine such a parameter, the fit is no success, as in curve_fit. If this is empty, all values are
  // the caller's.
  std::vector<bool> unstarted;
  // True if many small fits share SIMD vectors, with one fit in each lane. If false, they are fitted one
  // after the other, each with the bits of curve_fit.
  bool in_lanes = true;
  // Is called by the calling thread at the start and after each few thousand fits, with the number of fits
  // done and the number of all fits. Once it returns false, the other fits end as USER_STOP, without
  // parameters (NaN). It is not called if `team` or `journal` is set.
  std::function<bool(std::size_t done, std::size_t all)> progress;
};

// Row or entry f of every array belongs to fit f.
struct NLSQ_API BatchResult {
  std::vector<std::string> parameter_names;
  Matrix parameters;  // fits x parameters, fixed ones included
  Matrix
      // fits x parameters; 0 for fixed parameters, NaN for those that the data do not determine and for those
      // that end on a bound
      standard_errors;
  std::vector<double> cost;             // ½‖r‖² in f64
  std::vector<double> decrement_sigma;  // certified distance to the optimum in standard errors
  std::vector<Verdict> verdict;         // as that of curve_fit
  std::vector<Termination> termination;
  std::vector<int> iterations;
  std::map<std::size_t, std::string> message;  // of each fit without success: why, and what would help
  // For fits that succeeded and have warnings, these as one text.
  std::map<std::size_t, std::string> warnings;
  std::size_t certified = 0;  // fits that may be used as minima: is_success(verdict)
  int threads = 1;            // threads that took part
  std::size_t in_lanes = 0;   // fits that were done in lanes
  KernelCounters counters;    // of all fits

  std::size_t size() const { return verdict.size(); }
  bool success() const { return certified == verdict.size(); }
};

// Fits Y[f] as a function of x, weighted by sigma, for every f. P0 has one row of starting values for each
// fit, or one row for all, with the parameters in the model's order. Results have the same bits for any
// `options.threads`: a fit runs on one thread. If the model runs as a program, a thread allocates nothing
// after its first fits.
//
// Lanes (`options.in_lanes`) need 32 fits or more, all of one length of at most 2048 rows. As many fits then
// run at once as a vector has lanes. Their first steps use f32 if the precision policy is the default; the
// last use f64, until the undamped step is at most xtol. A fit's result depends neither on its place in the
// batch nor on other fits. Verdict, cost, standard errors and distance to the optimum are computed in f64 by
// the tests of curve_fit's certificate. The residuals are compared with the user's own callable: on every row
// for one fit in 64, on 8 rows spread over the data for the others. (So a callable that differs from its
// recording only on other rows is not noticed; options.strict checks every row.) A fit that is not certified
// in this way (ill-conditioned, slow, a branch not recorded) is repeated singly from its start.
//
// Single fits are certified as curve_fit's are, with the bits of curve_fit(model, ...) on one thread. All
// fits are single with `in_lanes = false` and with options that lanes do not support: strict, ftol,
// max_seconds, max_iterations below 100, Gauss-Newton, dogleg, nonmonotonic steps, geodesic acceleration
// always, variable projection on, policies other than the default and f64, bounds, losses, ties, several
// starts, and without a free parameter. Errors in x throw ValidationError.
//
// The processes of `options.team` divide the fits among themselves; each must pass all data, and each returns
// the same result, with the bits of a single process. Only `threads` and `counters` are those of this
// process. `options.journal` stores the fits that are done; a later call with the same data, starts, model
// and options continues from there. Throws JournalError if the data, the model or an option have changed.
//
// Limits of time and iterations apply to each fit. A fit whose data are not finite, whose sigma is not
// positive, or which has too few rows is FAILED, with its starting values as parameters, and `message` says
// why. Sizes that disagree throw DataError or ValidationError. A callback throws ValidationError.
NLSQ_API BatchResult curve_fit_batch(const PreparedModel& model, const std::vector<ColumnPerFit>& x,
                                     const ColumnPerFit& Y, const Matrix& P0,
                                     const BatchOptions& options = {});
// Fits with one predictor.
NLSQ_API BatchResult curve_fit_batch(const PreparedModel& model, const ColumnPerFit& x, const ColumnPerFit& Y,
                                     const Matrix& P0, const BatchOptions& options = {});

// Fits a formula or a built-in model.
template <class M, class X>
requires(std::convertible_to<const M&, std::string_view>) BatchResult
    curve_fit_batch(const M& formula, const X& x, const ColumnPerFit& Y, const Matrix& P0,
                    const BatchOptions& options = {}) {
  int predictors = 1;
  if constexpr (std::same_as<X, std::vector<ColumnPerFit>>) predictors = static_cast<int>(x.size());
  return curve_fit_batch(PreparedModel(std::string_view(formula), predictors), x, Y, P0, options);
}
template <class M, class X>
requires(std::same_as<M, Formula> || std::same_as<M, Model>) BatchResult
    curve_fit_batch(const M& model, const X& x, const ColumnPerFit& Y, const Matrix& P0,
                    const BatchOptions& options = {}) {
  return curve_fit_batch(PreparedModel(model), x, Y, P0, options);
}

namespace detail {
NLSQ_API std::vector<double> first_row(const Matrix& P0);
NLSQ_API Columns of_first_fit(const std::vector<ColumnPerFit>& x);
}  // namespace detail

// Fits a callable, which is recorded at the rows of the first fit.
template <Callable F>
BatchResult curve_fit_batch(F f, const ColumnPerFit& x, const ColumnPerFit& Y, const Matrix& P0,
                            const BatchOptions& options = {}) {
  const PreparedModel model(make_model_function(std::move(f)), detail::of_first_fit({x}),
                            detail::first_row(P0), options.parameter_names);
  return curve_fit_batch(model, x, Y, P0, options);
}
template <Callable F>
BatchResult curve_fit_batch(F f, const std::vector<ColumnPerFit>& x, const ColumnPerFit& Y, const Matrix& P0,
                            const BatchOptions& options = {}) {
  const PreparedModel model(make_model_function(std::move(f), static_cast<int>(x.size())),
                            detail::of_first_fit(x), detail::first_row(P0), options.parameter_names);
  return curve_fit_batch(model, x, Y, P0, options);
}

}  // namespace nlsq::inline v0
