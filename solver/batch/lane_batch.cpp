// Decides which batches run in lanes, fills the lanes, and certifies and confirms the end of each fit.
#include "batch/lane_batch.hpp"

#include "certificate/ends_of_fits.hpp"
#include "linear/small_dense.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kFewestFits = 32;  // fewer do not fill the lanes
// longer fits fill vectors by themselves, and their data would not remain in the caches
constexpr std::size_t kMostRows = 2048;
constexpr std::size_t kAhead = 6;         // fits whose data are fetched ahead
constexpr std::size_t kInFull = 64;       // one fit in this many is re-evaluated on every row
constexpr double kSummation = 1e-12;      // relative difference of two sums of squares in different orders
constexpr double kSquareable = 0x1p-960;  // sums of squares below it may have lost digits
constexpr int kIterations = 100;          // with a lower limit, iterations are counted exactly, which only
                                          // single fits do

LaneProblem problem_of(const Batch& batch) {
  const FitOptions& o = batch.options;
  return {batch.y[0].size(),
          batch.model.names.size(),
          batch.free,
          o.solve_linear_start ? batch.programs->linear : std::vector<int>{},
          o.tau,
          o.xtol,
          o.gtol,
          o.initial_lambda,
          o.absolute_sigma};
}

// Returns true for the default policy. Fits in lanes begin in f32 with it. With the other policies that lanes
// take, they run in f64 throughout.
bool is_default(const PrecisionPolicy& policy) { return policy == PrecisionPolicy{}; }

// Returns at most 16 rows that are spread over the data. The first row and the last are among them.
std::vector<std::size_t> some_rows(std::size_t rows) {
  std::vector<std::size_t> some(std::min<std::size_t>(16, rows));
  for (std::size_t k = 0; k < some.size(); ++k)
    some[k] = k * (rows - 1) / std::max<std::size_t>(1, some.size() - 1);
  return some;
}

// Returns true if f32 distinguishes the values of a column: its rounding is small beside the range of the
// values in these rows. With a large offset, such as in Unix times, it is not, and rounding would decide
// where a fit in f32 ends.
bool seen_in_f32(const Column& column, const std::vector<std::size_t>& rows) {
  constexpr double kMostRounding = 1e-4;  // relative to the range
  const double* const values = column.direct_f64(0);
  double ends[4][2];  // four comparisons at a time, which do not wait for each other
  for (auto& end : ends) end[0] = end[1] = column[0];
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double value = values != nullptr ? values[rows[k]] : column[rows[k]];
    double(&end)[2] = ends[k % 4];
    end[0] = std::min(end[0], value);
    end[1] = std::max(end[1], value);
  }
  const double least = std::min(std::min(ends[0][0], ends[1][0]), std::min(ends[2][0], ends[3][0]));
  const double most = std::max(std::max(ends[0][1], ends[1][1]), std::max(ends[2][1], ends[3][1]));
  return 0x1p-24 * std::max(std::fabs(least), std::fabs(most)) <= kMostRounding * (most - least);
}

// Returns true if `at`, linearized in f64 at x, is a minimum by the tests of certify(), all parameters are
// determined, and the covariance keeps ten digits. If it returns false, certify() may still certify the point
// by other means. Uses the Cholesky factor of the scaled normal equations.
bool certify_plain(const Linearization& at, std::span<const double> x, std::size_t rows,
                   const CertificateTests& tests, LaneCertificate& out) {
  const std::size_t n = x.size();
  const double sigma = scatter(at.cost, rows, n, tests.unit_sigma);
  // If the cost is as small as its rounding errors, only the other tests of certify() can judge it.
  if (n > small_dense::kMost || !(2 * at.cost > kSquareable) ||
      !(at.cost > kUnitRoundoff * tests.initial_cost) || !(sigma > 0))
    return false;
  out.variances.resize(n);
  double step = 0, size = 0;
  const bool factored = small_dense::with_constant(n, [&](auto count) {
    constexpr std::size_t kMost = small_dense::most_of<decltype(count)>;
    double scale[kMost], L[kMost * kMost], W[kMost * kMost], pivots[kMost], v[kMost];
    for (std::size_t j = 0; j < count; ++j) {
      if (!(at.normal(j, j) > kSquareable)) return false;
      scale[j] = 1 / std::sqrt(at.normal(j, j));
    }
    for (std::size_t j = 0; j < count; ++j) {
      v[j] = at.gradient[j] * scale[j];
      for (std::size_t i = 0; i < count; ++i) L[j * count + i] = at.normal(i, j) * scale[i] * scale[j];
    }
    const double norm = small_dense::one_norm(L, count);
    if (!small_dense::cholesky(L, count, pivots)) return false;
    out.condition = norm * small_dense::inverse_one_norm(L, count, pivots, W);
    small_dense::solve_lower(L, count, pivots, v);
    out.decrement_sigma = small_dense::norm(v, n) / sigma;
    small_dense::solve_lower_transposed(L, count, pivots, v);
    for (std::size_t j = 0; j < count; ++j) {
      step += v[j] * v[j];
      size += x[j] * x[j] / (scale[j] * scale[j]);
      double squares = 0;
      for (std::size_t k = j; k < count; ++k) squares += W[j * count + k] * W[j * count + k];
      out.variances[j] = squares * scale[j] * scale[j];
    }
    return true;
  });
  // The same limit up to which certify() uses normal equations.
  if (!factored || !(static_cast<double>(n) * kUnitRoundoff * out.condition < 1e-10)) return false;
  // Beside a large offset rounding may hide the distance (grid_decrement). Then certify() measures it.
  if (kUnitRoundoff * std::sqrt(size) > kNearInNoise * sigma) return false;
  out.step = step == 0 ? 0 : std::sqrt(step / size);
  const bool near = out.decrement_sigma <= tests.tau;
  return (near || is_flat(gradient_cosine(at), tests.gtol, out.decrement_sigma)) && out.step <= tests.xtol;
}

}  // namespace

bool lanes_take(const FitOptions& o, std::size_t fits, std::size_t rows, std::size_t free) {
  const PrecisionPolicy& policy = *o.precision;
  const bool plain = o.algorithm == Algorithm::levenberg_marquardt && o.geodesic != Geodesic::always &&
                     o.variable_projection != VariableProjection::on && !o.strict && o.ftol == 0 &&
                     o.nonmonotonic_steps == 0 && o.max_seconds == 0 && o.max_iterations >= kIterations;
  const bool formats =
      is_default(policy) || (!policy.adaptive && policy.rules.empty() && policy.components.empty());
  return plain && formats && fits >= kFewestFits && rows <= kMostRows && rows > free &&
         free <= static_cast<std::size_t>(most_lane_parameters);
}

bool lanes_serve(const Batch& batch) {
  const std::size_t rows = batch.y[0].size();
  if (!batch.programs || !batch.shared_usable || !batch.plain() || !batch.limits.empty() ||
      !lanes_take(batch.options, batch.fits(), rows, batch.free.size()))
    return false;
  for (std::size_t f = 1; f < batch.fits(); ++f) {
    if (batch.y[f].size() != rows) return false;
  }
  return true;
}

LaneBatch::Way::Way(const Batch& batch, const LaneProblem& problem, bool single)
    : pass(LanePass::make(batch.programs->programs->jacobian, *batch.programs->programs->steps, problem.rows,
                          kSampledRows, single, batch.fits())),
      minimizer(*pass, problem, single) {
  for (std::size_t c = 0; c < batch.columns(); ++c) {
    if (batch.column(c).shared()) pass->share_column(static_cast<int>(c), batch.column(c)[0]);
  }
}

LaneBatch::LaneBatch(const Batch& batch, BatchResult& out)
    : batch_(batch), out_(out), problem_(problem_of(batch)),
      lead_(is_default(*batch.options.precision) ? std::make_unique<Way>(batch, problem_, true) : nullptr),
      finish_(std::make_unique<Way>(batch, problem_, false)), worker_(batch.model, batch.programs),
      some_rows_(some_rows(batch.y[0].size())), x_(batch.free.size()) {
  const FitOptions& o = batch.options;
  const std::vector<std::size_t>& rows = finish_->pass->sampled_rows();
  sampled_.resize(batch.columns() * rows.size());
  for (std::size_t c = 0; c < batch.columns(); ++c) {
    if (!batch.column(c).shared()) continue;
    for (std::size_t k = 0; k < rows.size(); ++k) sampled_[c * rows.size() + k] = batch.column(c)[0][rows[k]];
  }
  for (std::size_t c = 0; c < batch.columns(); ++c)
    sampled_columns_.push_back(sampled_.data() + c * rows.size());
  seen_ = lead_ != nullptr;
  for (std::size_t c = 0; c <= batch_.x.size() && seen_; ++c)
    seen_ = !batch_.column(c).shared() || seen_in_f32(batch_.column(c)[0], some_rows_);
  residuals_.resize(rows.size());
  tests_ = {o.tau, o.xtol, o.gtol};
  tests_.unit_sigma = o.absolute_sigma;
  sizes_.resize(rows.size());
}

// Runs these fits through the lanes of one format.
template <class End>
void LaneBatch::send(Way& way, const std::vector<std::size_t>& fits, End end) {
  std::size_t next = 0, busy = 0;
  const auto begin = [&](std::size_t lane) {
    if (next == fits.size()) return;
    const std::size_t fit = fits[next++];
    for (std::size_t c = 0; c < batch_.columns(); ++c) {
      if (!batch_.column(c).shared()) way.pass->set_column(static_cast<int>(c), lane, batch_.column(c)[fit]);
    }
    const LaneStart& start = starts_[fit - first_];
    way.minimizer.begin(lane, fit, values(fit), start,
                        start.by_step ? arrivals_.data() + (fit - first_) * x_.size() : nullptr);
    ++busy;
  };
  for (std::size_t lane = 0; lane < way.minimizer.lanes(); ++lane) begin(lane);
  while (busy > 0) {
    for (const std::size_t lane : way.minimizer.round(counters_)) {
      (this->*end)(lane);
      --busy;
      begin(lane);
    }
  }
}

void LaneBatch::run(std::size_t first, std::size_t last) {
  first_ = first;
  left_.clear();
  warnings_.clear();
  queue_.clear();
  led_.clear();
  const std::size_t n = batch_.model.names.size();
  values_.resize((last - first) * n);
  starts_.assign(last - first, {});
  arrivals_.resize((last - first) * x_.size());
  for (std::size_t f = first; f < last; ++f) {
    fetch(f + kAhead);
    std::copy_n(batch_.start_of(f), n, values(f));
    std::copy_n(batch_.start_of(f), n, &out_.parameters(f, 0));
    bool good = true;
    for (std::size_t c = 0; c < batch_.columns() && good; ++c) {
      const ColumnPerFit& column = batch_.column(c);
      good = column.shared() || usable(column[f], c > batch_.x.size() ? Wanted::positive : Wanted::any);
    }
    if (!good) {
      left_.push_back(f);  // a single fit describes the error
      continue;
    }
    queue_.push_back(f);
    bool seen = seen_;
    for (std::size_t c = 0; c <= batch_.x.size() && seen; ++c)
      seen = batch_.column(c).shared() || seen_in_f32(batch_.column(c)[f], some_rows_);
    if (seen) led_.push_back(f);
  }
  if (lead_) send(*lead_, led_, &LaneBatch::lead);
  send(*finish_, queue_, &LaneBatch::converge);
  std::sort(left_.begin(), left_.end());
}

// Prefetches the first data of a fit, so that the lanes do not wait for them.
void LaneBatch::fetch(std::size_t fit) const {
  for (std::size_t c = 0; c < batch_.columns() && fit < batch_.fits(); ++c) {
    const ColumnPerFit& column = batch_.column(c);
    const double* const values = column.shared() ? nullptr : column[fit].direct_f64(0);
    if (values == nullptr) continue;
    __builtin_prefetch(values);
    __builtin_prefetch(values + 8);
  }
}

// Continues in f64 from the point that f32 reached. If that point is not usable, the f64 fit begins at the
// start.
void LaneBatch::lead(std::size_t lane) {
  const LaneMinimizer& m = lead_->minimizer;
  if (m.end(lane) != LaneMinimizer::End::f32_done) return;
  const std::size_t fit = m.fit(lane);
  for (std::size_t j = 0; j < x_.size(); ++j) {
    values(fit)[batch_.free[j]] = m.x(lane, j);
    arrivals_[(fit - first_) * x_.size() + j] = m.arrival(lane, j);
  }
  LaneStart& start = starts_[fit - first_];
  start = m.state(lane);
  start.after_f32 = true;
  start.by_step = m.arrived_by_step(lane);
}

void LaneBatch::converge(std::size_t lane) {
  const LaneMinimizer& m = finish_->minimizer;
  const std::size_t fit = m.fit(lane);
  if (m.end(lane) != LaneMinimizer::End::converged || !improved(lane, fit)) return left_.push_back(fit);
  for (std::size_t j = 0; j < x_.size(); ++j) x_[j] = m.x(lane, j);
  m.linearization(lane, at_);
  tests_.initial_cost = m.state(lane).initial_cost;
  if (!certify_plain(at_, x_, problem_.rows, tests_, certificate_) || some_unmoved(fit) ||
      !confirmed(lane, fit))
    return left_.push_back(fit);
  const BatchEnd end{at_.cost,
                     certificate_.decrement_sigma,
                     Verdict::converged,
                     Termination::converged,
                     m.state(lane).iterations,
                     static_cast<int>(x_.size()),
                     x_.size()};
  store(
      batch_, fit, end, [&](std::size_t j) { return x_[j]; },
      [&](std::size_t j) { return certificate_.variances[j]; }, out_);
  restore_signs(batch_, fit, nullptr, out_);
  // The only warning that fits in lanes can have is that of an R² below 0.
  if (!few_rows_scatter_more(batch_, fit, 2 * at_.cost)) {
    WarnedEnd warned;
    warned.verdict = end.verdict;
    if (std::string text = warning_text(batch_, fit, end, std::move(warned), out_); !text.empty())
      warnings_[fit] = std::move(text);
  }
  ++done_;
}

// Returns true if some nonlinear parameter has stayed at its start. The end of the fit may then be a saddle
// (saddle.cpp). Lanes do not look for saddles, so such a fit is repeated as a single fit.
bool LaneBatch::some_unmoved(std::size_t fit) const {
  const double* const start = batch_.start_of(fit);
  for (std::size_t j = 0; j < x_.size(); ++j) {
    const bool linear = std::ranges::count(batch_.programs->linear, static_cast<int>(j)) > 0;
    const double moved = std::fabs(x_[j] - start[batch_.free[j]]);
    if (!linear && is_unmoved(moved, at_, j)) return true;
  }
  return false;
}

// Returns true if the cost is not above that of the start. The cost of a start in f32 has the rounding errors
// of the data. A good first guess differs from the minimum by less, so its cost is evaluated again in f64.
// The lane adds its squares in another order.
bool LaneBatch::improved(std::size_t lane, std::size_t fit) {
  const LaneMinimizer& m = finish_->minimizer;
  if (m.cost(lane) <= m.state(lane).initial_cost) return true;
  if (!m.state(lane).after_f32) return false;
  set_worker(fit);
  const double* const start = batch_.start_of(fit);
  for (std::size_t j = 0; j < x_.size(); ++j) x_[j] = start[batch_.free[j]];
  const double at_start = worker_->evaluator.cost(x_, Format::f64);
  counters_.add(worker_->evaluator.counters());
  return m.cost(lane) <= at_start * (1 + kSummation);
}

void LaneBatch::set_worker(std::size_t fit) {
  columns_.clear();
  for (std::size_t c = 0; c < batch_.columns(); ++c) columns_.push_back(batch_.column(c)[fit]);
  worker_->set(columns_, {batch_.start_of(fit), batch_.model.names.size()});
  worker_->evaluator.keep_time(false);
}

// Compares the lane's residuals at x_ with those of the user's own callable, by Minimizer's rule. Uses a few
// rows spread over the data, and for some fits all rows.
bool LaneBatch::confirmed(std::size_t lane, std::size_t fit) {
  if (fit % kInFull == 0) return confirmed_in_full(fit);
  const std::vector<std::size_t>& rows = finish_->pass->sampled_rows();
  const std::size_t count = rows.size();
  for (std::size_t c = 0; c < batch_.columns(); ++c) {
    if (batch_.column(c).shared()) continue;
    const Column& column = batch_.column(c)[fit];
    const double* const direct = column.direct_f64(0);
    for (std::size_t k = 0; k < count; ++k)
      sampled_[c * count + k] = direct != nullptr ? direct[rows[k]] : column[rows[k]];
  }
  worker_->rows.set_parameters({batch_.start_of(fit), batch_.model.names.size()});
  worker_->rows.reference_rows(x_, sampled_columns_, count, residuals_.data(), sizes_.data());
  finish_->pass->residuals(lane, of_lane_.data());
  double squares = 0, largest = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double difference = of_lane_[k] - residuals_[k];
    squares += difference * difference;
    largest = std::max(largest, std::fabs(difference) / sizes_[k]);
  }
  const double share = static_cast<double>(problem_.rows) / static_cast<double>(count);
  return agree(largest, std::sqrt(squares * share));
}

// Compares the rows' own program with the callable, and its cost with the lane's.
bool LaneBatch::confirmed_in_full(std::size_t fit) {
  set_worker(fit);
  worker_->evaluator.recheck_into(x_, problem_.rows, recheck_);
  const double cost = worker_->evaluator.cost(x_, Format::f64);
  counters_.add(worker_->evaluator.counters());
  const double noise = 1e-14 * (recheck_.magnitude * std::sqrt(2 * at_.cost) + 2 * at_.cost);
  return agree(recheck_.largest, recheck_.discrepancy) && std::fabs(cost - at_.cost) <= noise;
}

// Returns true if the residuals agree. A discrepancy counts if it is large beside the terms of r and could
// move a parameter by τ standard errors.
bool LaneBatch::agree(double largest, double discrepancy) const {
  const double sigma = scatter(at_.cost, problem_.rows, x_.size(), problem_.unit_sigma);
  return largest <= 1e-9 || discrepancy <= problem_.tau * sigma;
}

}  // namespace nlsq::inline v0
