// Batch is the checked input of curve_fit_batch, and functions that store the result of one fit.
#pragma once

#include "fit/fit_statistics.hpp"
#include "fit/prepared_impl.hpp"

#include "expression/ties.hpp"
#include "minimizer/minimizer_request.hpp"
#include "support/shared_work.hpp"

#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/groups.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

struct Batch {
  const PreparedModel::Impl& model;
  const std::vector<ColumnPerFit>& x;
  const ColumnPerFit& y;
  ColumnPerFit sigma;
  const Matrix& start;
  const std::vector<bool>& no_start;  // BatchOptions::unstarted
  FitOptions options;
  std::vector<int> free;
  // null if the model has no program; then fallback rows evaluate it
  std::shared_ptr<const CurvePrograms> programs;
  bool shared_usable = true;  // the columns that all fits share are usable
  Ties ties = {};
  Limits limits = {};                            // of the free parameters
  std::vector<int> unbounded = {}, linear = {};  // of the free parameters: those without bounds; linear ones

  bool weighted() const { return !sigma.empty(); }
  // True for plain least squares of the model as it was prepared, from one start.
  bool plain() const {
    return options.loss.is_linear() && ties.empty() && !free.empty() && options.starts == 1;
  }
  ResidualForm form() const {
    ResidualForm form(weighted());
    form.loss = options.loss;
    return form;
  }
  std::size_t fits() const { return y.size(); }
  const double* start_of(std::size_t fit) const {
    return start.data() + (start.rows() == 1 ? 0 : fit) * start.columns();
  }
  // Returns the parameters of a fit for which the caller gave no start and that have no guess.
  std::vector<std::string> unstarted(std::size_t fit) const;
  // Columns of the data are the predictors, then y, then sigma.
  std::size_t columns() const { return x.size() + (weighted() ? 2 : 1); }
  const ColumnPerFit& column(std::size_t c) const { return c < x.size() ? x[c] : c == x.size() ? y : sigma; }
};

// Gives the stored parameters of a fit the signs of its start where the model is the same with either sign,
// as fit_rows does. `source` is that of the worker that fitted it; see PreparedModel::Impl::is_even.
void restore_signs(const Batch& batch, std::size_t fit, const ResidualSource* source, BatchResult& out);

// Holds the result of one fit, besides its parameters.
struct BatchEnd {
  double cost = 0, decrement_sigma = 0;
  Verdict verdict = Verdict::failed;
  Termination termination = Termination::failure;
  int iterations = 0, rank = 0;
  std::size_t determined = 0;  // free parameters that the data determine, without those on a bound
};

// Stores fit `fit`. x(j) and variance(j) give values and unit-scatter variances of the free parameters.
template <class X, class Variance>
void store(const Batch& batch, std::size_t fit, const BatchEnd& end, X x, Variance variance,
           BatchResult& out) {
  const std::size_t n = batch.free.size();
  const double factor = covariance_factor(2 * end.cost, batch.y[fit].size(), end.determined, end.rank,
                                          batch.options.absolute_sigma);
  for (std::size_t j = 0; j < n; ++j) {
    const auto column = static_cast<std::size_t>(batch.free[j]);
    out.parameters(fit, column) = x(j);
    out.standard_errors(fit, column) = std::sqrt(variance(j) * factor);
  }
  out.cost[fit] = end.cost;
  out.decrement_sigma[fit] = end.decrement_sigma;
  out.verdict[fit] = end.verdict;
  out.termination[fit] = end.termination;
  out.iterations[fit] = end.iterations;
}

// Stores how fit `k` ended.
void take_end(const Summary& summary, std::size_t k, auto& out) {
  out.decrement_sigma[k] = summary.certificate.decrement_sigma;
  out.verdict[k] = summary.verdict;
  out.termination[k] = summary.termination;
  out.iterations[k] = static_cast<int>(summary.iterations.size());
}

// Runs only those fits of a batch that can run in lanes. Fits that lanes cannot certify end as FAILED, and so
// do all fits if the batch cannot run in lanes. The caller repeats these by curve_fit.
BatchResult fit_in_lanes(const PreparedModel& model, const std::vector<ColumnPerFit>& x,
                         const ColumnPerFit& Y, const Matrix& P0, const BatchOptions& options);

// Returns true if all numbers of a column can be fitted.
bool usable(const Column& column, Wanted wanted);

// Returns R² of a fit with this cost, or NaN if the fitted quantity does not vary.
double share_explained(const Batch& batch, std::size_t fit, double cost);

// Returns true if three rows already show that the fitted quantity scatters by more than this sum of squares.
// Then R² is above 0 and need not be computed.
bool few_rows_scatter_more(const Batch& batch, std::size_t fit, double rss);

// Returns the warnings of a fit without a loss as one text (warnings_of). `end` has the verdict, and the
// parameters that are undetermined or on a bound; `stored` is the end that was stored in `out`.
std::string warning_text(const Batch& batch, std::size_t fit, const BatchEnd& stored, WarnedEnd end,
                         const BatchResult& out);

// Throws ValidationError or DataError if options, starts or columns contradict each other. `limits` are those
// of all parameters.
void check_input(const Batch& batch, const BatchOptions& given, const Limits& limits);

// Returns why the data of a fit are rejected, in the words of a single fit.
std::string what_is_wrong(const Batch& batch, std::size_t fit);

// Takes back the certificate of a stored fit if rounding errors hide its minimum
// (certificate/hidden_minimum.hpp) or if its end is no success (certificate/doubtful_end.hpp). `minimum` is
// the end of this fit, and `rows` are its rows. Returns the fit's new message, or an empty text if the
// certificate remains.
std::string withdraw_uncertain(const Batch& batch, std::size_t fit, const MinimizerResult& minimum,
                               const RowModel& rows, BatchResult& out);

// The functions below are in shared_batch.cpp. They write results as bytes, so that the processes of a team
// can share the fits of a batch and a journal can keep them.

// Returns a result that holds `fits` fits of a model with these parameters. All of them are FAILED, and all
// parameters and standard errors are `value`.
BatchResult unfitted(std::size_t fits, const std::vector<std::string>& parameter_names, double value = 0);

// Writes the fits [first, last).
std::string to_bytes(const BatchResult& fits, std::size_t first, std::size_t last);
// Reads fits that to_bytes() wrote, and stores them from fit `first` on.
void take_bytes(std::string_view bytes, std::size_t first, BatchResult& fits);

// Does the fits [first, last) of a batch. Returns how many of them were done in lanes.
using FitRange = std::function<std::size_t(std::size_t first, std::size_t last)>;

// Does all fits of a batch, whose results are in `out`, with the other processes and the journal. Throws
// JournalError if the journal is of other data. Sets out.in_lanes.
void share_fits(SharedWork& work, const Batch& batch, const SolverOptions& options, const FitRange& fit_range,
                BatchResult& out);

// This is the number of the format that group_bytes() writes. Format 1 stored groups in lanes differently,
// and format 2 had no warnings.
inline constexpr std::uint64_t kGroupFormat = 3;

// These functions write fits of groups as bytes and read them back. Other processes receive the bytes, and
// journals store them.
std::string group_bytes(const GroupsResult& fits, std::span<const std::size_t> groups);
void take_group_bytes(std::string_view bytes, std::span<const std::size_t> groups, GroupsResult& fits);

}  // namespace nlsq::inline v0
