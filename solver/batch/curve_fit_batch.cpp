// curve_fit_batch: distributes the fits over threads and lanes, and does single fits.
#include "batch/batch.hpp"
#include "batch/lane_batch.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "fit/fit_setup.hpp"
#include "models/model_families.hpp"
#include "support/column_blocks.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"
#include "support/idle_pool.hpp"
#include "support/parallel.hpp"

#include "expression/symmetry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

namespace nlsq::inline v0 {

void restore_signs(const Batch& batch, std::size_t fit, const ResidualSource* source, BatchResult& out) {
  const std::size_t n = batch.model.names.size();
  const std::span<double> end(&out.parameters(fit, 0), n);
  const auto is_even = [&](std::span<const int> flipped) { return batch.model.is_even(flipped, source); };
  for (const int j :
       signs_to_restore(is_even, batch.unbounded, batch.linear, {batch.start_of(fit), n}, end)) {
    double& value = end[static_cast<std::size_t>(j)];
    value = -value;
  }
}

namespace {

constexpr double kThreadWork = 1e6;   // in f64 adds, about 50 µs: less work is not worth waking a thread
constexpr double kPassesPerFit = 12;  // an estimate, used only to decide about threads

// Returns false if a fit has fewer rows than free parameters, or none. Such a fit is FAILED, like one with
// unusable data.
bool enough_rows(const Batch& batch, std::size_t f) {
  return batch.y[f].size() >= std::max<std::size_t>(1, batch.free.size());
}

// Does one thread's work on single fits.
class BatchTask {
 public:
  BatchTask(const Batch& batch, BatchResult& out) : batch_(batch), out_(out) {
    if (batch.programs && batch.plain()) worker_.emplace(batch.model, batch.programs);
  }

  void fit(std::size_t f) {
    const double* start = batch_.start_of(f);
    const std::size_t n = batch_.model.names.size();
    std::copy_n(start, n, &out_.parameters(f, 0));
    columns_.clear();
    bool good = batch_.shared_usable && enough_rows(batch_, f);
    for (const ColumnPerFit& x : batch_.x) good = add(x, f, Wanted::any) && good;
    good = add(batch_.y, f, batch_.options.loss.is_counts() ? Wanted::not_negative : Wanted::any) && good;
    if (batch_.weighted()) good = add(batch_.sigma, f, Wanted::positive) && good;
    if (!good) return note(f, what_is_wrong(batch_, f));
    if (!batch_.plain()) return by_curve_fit(f, {start, n});
    x0_.clear();
    for (const int j : batch_.free) x0_.push_back(start[j]);
    if (!worker_ || !by_program(f, {start, n})) by_curve_fit(f, {start, n});  // calls the function
  }
  const KernelCounters& counters() const { return counters_; }
  const std::map<std::size_t, std::string>& messages() const { return messages_; }
  const std::map<std::size_t, std::string>& warnings() const { return warnings_; }

 private:
  // Stores why a fit has no success.
  void note(std::size_t f, std::string message) { messages_[f] = std::move(message); }
  // Does the same for a fit whose data can be fitted, and adds the advice on their origin.
  void note_end(std::size_t f, std::string message) {
    const MemoryRows data(columns_);
    for (const std::string& advice : advice_on_origin(data, static_cast<int>(batch_.x.size())))
      message += (message.ends_with('.') ? " " : "; ") + advice;
    note(f, std::move(message));
  }

  bool add(const ColumnPerFit& column, std::size_t f, Wanted wanted) {
    columns_.push_back(column[f]);
    return column.shared() || usable(column[f], wanted);
  }

  // Does by curve_fit what needs a whole fit: starts without the loss, a pass for the covariance.
  void by_curve_fit(std::size_t f, std::span<const double> start) {
    FitOptions options = batch_.options;
    options.threads = 1;
    if (batch_.weighted()) options.sigma = batch_.sigma[f];
    const NamedValues p0 = named_values(batch_.model.names, start, batch_.ties);
    std::vector<Column> x(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(batch_.x.size()));
    const FitResult fit =
        fit_prepared(batch_.model, Columns(std::move(x)), batch_.y[f], p0, options, batch_.unstarted(f));
    if (!fit.success()) note_end(f, fit.summary.message);
    else if (!fit.warnings.empty()) warnings_[f] = fmt::format("{}", fmt::join(fit.warnings, "; "));
    std::copy(fit.parameters.begin(), fit.parameters.end(), &out_.parameters(f, 0));
    std::copy(fit.standard_errors.begin(), fit.standard_errors.end(), &out_.standard_errors(f, 0));
    const Summary& s = fit.summary;
    out_.cost[f] = s.final_cost;
    take_end(s, f, out_);
    counters_.add(s.precision.counters);
  }

  // Returns false if the recorded program of the callable is not valid for this fit.
  bool by_program(std::size_t f, std::span<const double> start) {
    CurveWorker& worker = **worker_;
    worker.set(columns_, start);
    worker.evaluator.set_parallelism({.threads = 1, .executor = {}});
    worker.evaluator.keep_time(false);
    if (!request_ || &request_->rows != &worker.rows) {
      request_.emplace(SolveRequest{worker.rows,
                                    {},
                                    batch_.programs->linear,
                                    batch_.options,
                                    batch_.options.absolute_sigma,
                                    batch_.limits});
      request_->usual_numbers = [this] {
        Vector numbers;
        for (std::size_t k = 0; k < batch_.x.size(); ++k) add_usual_numbers(columns_[k], numbers);
        return numbers;
      };
    }
    request_->x0 = x0_;
    bool served = false;
    try {
      solve_in(*request_, worker.evaluator, worker.workspace);
      const Summary& s = worker.workspace.best.summary;
      served = batch_.model.formula || s.certificate.recheck_passed || s.termination == Termination::failure;
      if (served) {
        store(f, worker.workspace.best, worker.evaluator, worker.rows);
        restore_signs(batch_, f, worker.source.get(), out_);
      }
    } catch (const RecordingFailed&) {
      served = false;
    }
    counters_.add(worker.evaluator.counters());
    worker_->renew();
    return served;
  }

  void store(std::size_t f, MinimizerResult& minimum, DenseEvaluator& evaluator, const RowModel& rows) {
    const Summary& s = minimum.summary;
    const Matrix& covariance = minimum.covariance;
    const auto variance = [&](std::size_t j) {
      return covariance.rows() == batch_.free.size() ? covariance(j, j) : kNaN;
    };
    const BatchEnd end{s.final_cost,
                       s.certificate.decrement_sigma,
                       s.verdict,
                       s.termination,
                       static_cast<int>(s.iterations.size()),
                       s.certificate.rank,
                       determined_parameters(s.certificate, batch_.free.size())};
    nlsq::store(
        batch_, f, end, [&](std::size_t j) { return minimum.x[j]; }, variance, out_);
    std::string why = withdraw_uncertain(batch_, f, minimum, rows, out_);
    if (is_success(out_.verdict[f])) {
      WarnedEnd warned = end_of(s.certificate, batch_.free);
      warned.lost = minimum.lost_parameters;
      if (std::string text = warning_text(batch_, f, end, std::move(warned), out_); !text.empty())
        warnings_[f] = std::move(text);
      return;
    }
    if (why.empty() && minimum.lost_parameters && is_constant(batch_.y[f])) why = message_of_constant();
    if (why.empty()) why = message_of_end(minimum, evaluator, rows, {batch_.model.names, batch_.free});
    note_end(f, std::move(why));
  }

  const Batch& batch_;
  BatchResult& out_;
  std::optional<WorkerLease> worker_;
  std::optional<SolveRequest> request_;
  std::vector<Column> columns_;
  Vector x0_;
  KernelCounters counters_;
  std::map<std::size_t, std::string> messages_;  // of fits without success
  std::map<std::size_t, std::string> warnings_;  // of fits with success
};

BatchResult empty_result(const Batch& batch) {
  BatchResult out = unfitted(batch.fits(), batch.model.names);
  for (std::size_t f = 0; f < batch.fits(); ++f) {
    for (const int j : batch.free) out.standard_errors(f, static_cast<std::size_t>(j)) = kNaN;
  }
  return out;
}

// Runs fits [first, last) and adds up their counters.
class Fits {
 public:
  // If `leaves` is true, fits run only in lanes. Fits that lanes cannot certify are left to the caller.
  Fits(const Batch& batch, bool in_lanes, bool leaves, BatchResult& out)
      : batch_(batch), in_lanes_(in_lanes), leaves_(leaves), out_(out) {}

  void run(std::size_t first, std::size_t last) {
    BatchTask task(batch_, out_);
    std::unique_ptr<LaneBatch> lanes;
    if (in_lanes_) {
      lanes = lanes_.take();
      lanes->run(first, last);
      for (const std::size_t f : lanes->left())
        if (!leaves_) task.fit(f);
    } else {
      for (std::size_t f = first; f < last && !leaves_; ++f) task.fit(f);
    }
    const std::lock_guard lock(mutex_);
    out_.counters.add(task.counters());
    // The messages are copied, so that they lie side by side. The original ones lie between the fits' memory
    // and would fragment it, by 7 KB for each message.
    for (const auto& [f, text] : task.messages()) out_.message.emplace(f, text);
    for (const auto& [f, text] : task.warnings()) out_.warnings.emplace(f, text);
    if (lanes) {
      for (const auto& [f, text] : lanes->warnings()) out_.warnings.emplace(f, text);
      lanes_.give(std::move(lanes));
    }
  }
  std::size_t in_lanes() const {
    std::size_t count = 0;
    for (const auto& lanes : lanes_.all()) count += lanes->done();
    return count;
  }
  void sum_up() {
    for (const auto& lanes : lanes_.all()) out_.counters.add(lanes->counters());
    for (const Verdict v : out_.verdict) out_.certified += is_success(v) ? 1 : 0;
  }

 private:
  const Batch& batch_;
  bool in_lanes_, leaves_;
  BatchResult& out_;
  std::mutex mutex_;
  IdlePool<LaneBatch> lanes_{[this] { return std::make_unique<LaneBatch>(batch_, out_); }};
};

// Returns the number of fits per task. A task in lanes ends with some lanes empty. So a task has enough fits,
// and there are enough tasks for all threads.
std::size_t fits_per_task(std::size_t fits, bool in_lanes) {
  constexpr std::size_t kOfOneTask = 32, kMostInLanes = 256, kTasks = 16;
  return in_lanes ? std::clamp(fits / kTasks, kOfOneTask, kMostInLanes) : kOfOneTask;
}

bool worth_threads(const Batch& batch) {
  if (batch.model.function && !batch.model.function->concurrent) return false;
  if (!batch.programs) return true;
  double rows = 0;
  for (std::size_t f = 0; f < batch.fits(); ++f) rows += static_cast<double>(batch.y[f].size());
  return rows * batch.programs->programs->jacobian_cost * kPassesPerFit >= kThreadWork;
}

// Runs all fits, in parts if `progress` must be called between them, and returns how many were done in lanes.
// Threads wait for each other at the end of a part, so parts of short fits have more of them.
std::size_t fit_in_parts(const Batch& batch, const BatchOptions& options, const FitRange& fit_range,
                         BatchResult& out) {
  constexpr std::size_t kFewest = 4096, kMost = 16384, kRows = std::size_t{1} << 18;
  const std::size_t fits = batch.fits();
  if (!options.progress || fits == 0) return fit_range(0, fits);
  const std::size_t part = std::clamp(kRows / std::max<std::size_t>(1, batch.y[0].size()), kFewest, kMost);
  const std::size_t parts = std::max<std::size_t>(1, fits / part);
  std::size_t in_lanes = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    const std::size_t first = k * fits / parts, last = (k + 1) * fits / parts;
    if (!options.progress(first, fits)) {
      std::fill(&out.parameters.data()[first * out.parameters.columns()],
                out.parameters.data() + fits * out.parameters.columns(), kNaN);
      std::fill(out.termination.begin() + static_cast<std::ptrdiff_t>(first), out.termination.end(),
                Termination::user_stop);
      return in_lanes;
    }
    in_lanes += fit_range(first, last);
  }
  options.progress(fits, fits);
  return in_lanes;
}

// Adds the warnings that curve_fit adds for a built-in model, for fits that were not made by it.
void warn_of_poles(const Batch& batch, const Model& model, BatchResult& out) {
  for (std::size_t f = 0; f < out.size(); ++f) {
    if (!is_success(out.verdict[f])) continue;
    const std::span<const double> parameters(&out.parameters(f, 0), out.parameter_names.size());
    const std::string pole = guessing::pole_warning(model, parameters, batch.x.front()[f]);
    if (pole.empty()) continue;
    std::string& text = out.warnings[f];
    text += (text.empty() ? "" : "; ") + pole;
  }
}

BatchResult fit_all(const PreparedModel& model, const std::vector<ColumnPerFit>& x, const ColumnPerFit& Y,
                    const Matrix& P0, const BatchOptions& given, bool leaves) {
  const FpEnvironment environment;
  const PreparedModel::Impl& impl = model.impl();
  Ties ties(impl.names, given.ties, given.fixed);
  const Limits limits = limits_of(given.bounds, impl.names, ties);
  Batch batch{impl,
              x,
              Y,
              given.sigma_per_fit,
              P0,
              given.unstarted,
              given,
              free_parameters(impl.names, given.fixed, ties, limits),
              {},
              true,
              std::move(ties)};
  batch.limits = limits_of_free(limits, batch.free);
  if (batch.sigma.empty() && !given.sigma.empty()) batch.sigma = given.sigma;
  check_input(batch, given, limits);
  static_cast<SolverOptions&>(batch.options) = settled(given);
  static_cast<Parallelism&>(batch.options) = {.threads = given.threads,
                                              .executor = {}};  // a single fit shares no work
  for (const ColumnPerFit& column : x)
    batch.shared_usable = batch.shared_usable && (!column.shared() || usable(column[0], Wanted::any));
  if (batch.weighted() && batch.sigma.shared())
    batch.shared_usable = batch.shared_usable && usable(batch.sigma[0], Wanted::positive);
  if (impl.has_programs() && !batch.free.empty()) batch.programs = impl.programs(batch.free, batch.form());
  batch.unbounded = without_bounds(batch.free, batch.limits);
  if (batch.programs)
    for (const int k : batch.programs->linear)
      batch.linear.push_back(batch.free[static_cast<std::size_t>(k)]);

  BatchResult out = empty_result(batch);
  const bool in_lanes = given.in_lanes && enough_rows(batch, 0) && lanes_serve(batch);
  Fits fits(batch, in_lanes, leaves, out);
  const Parallelism threads =
      worth_threads(batch) ? Parallelism(given) : Parallelism{.threads = 1, .executor = {}};
  const auto fit_range = [&](std::size_t first, std::size_t last) {
    const std::size_t before = fits.in_lanes(), share = fits_per_task(last - first, in_lanes);
    const int used = run_tasks((last - first + share - 1) / share, threads, [&](std::size_t t) {
      fits.run(first + t * share, std::min(last, first + (t + 1) * share));
    });
    out.threads = std::max(out.threads, used);
    return fits.in_lanes() - before;
  };
  SharedWork work(given);
  if (work.alone()) out.in_lanes = fit_in_parts(batch, given, fit_range, out);
  else share_fits(work, batch, given, fit_range, out);
  fits.sum_up();
  if (batch.plain() && impl.built_in) warn_of_poles(batch, *impl.built_in, out);
  return out;
}

}  // namespace

BatchResult curve_fit_batch(const PreparedModel& model, const std::vector<ColumnPerFit>& x,
                            const ColumnPerFit& Y, const Matrix& P0, const BatchOptions& options) {
  return fit_all(model, x, Y, P0, options, false);
}

BatchResult fit_in_lanes(const PreparedModel& model, const std::vector<ColumnPerFit>& x,
                         const ColumnPerFit& Y, const Matrix& P0, const BatchOptions& options) {
  return fit_all(model, x, Y, P0, options, true);
}

BatchResult curve_fit_batch(const PreparedModel& model, const ColumnPerFit& x, const ColumnPerFit& Y,
                            const Matrix& P0, const BatchOptions& options) {
  return curve_fit_batch(model, std::vector<ColumnPerFit>{x}, Y, P0, options);
}

}  // namespace nlsq::inline v0
