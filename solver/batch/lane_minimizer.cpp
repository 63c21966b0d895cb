// Implements the lock-step iteration of LaneMinimizer.
#include "batch/lane_minimizer.hpp"

#include "minimizer/step_rules.hpp"
#include "minimizer/trust_region.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr int kMostIterations = 15;  // fits that take longer are left to Minimizer
constexpr int kMostInF32 = 8;        // iterations
constexpr int kMostRejected = 4;
constexpr double kNear = 1;           // standard errors within which undamped steps are taken
constexpr double kNearInF32 = 5e-2;   // standard errors: a further f32 step costs more than it saves in f64
constexpr double kExtrapolate = 0.5;  // largest part of a step that extrapolation may change

// The limits of what the digits of a format can resolve.
struct LaneDigits {
  double least_pivot;  // of the unit diagonal; columns closer to dependence are not distinguished
  double least_gain;   // as a share of the predicted decrease
  double flat;         // relative decrease of the cost below which ν decides instead
  double nu_left;      // the trial point is taken if its ν² is below this share of ν² at x
};
constexpr LaneDigits kDigits[] = {{1e-11, rules::kLeastGain, 1e-8, 1.0}, {1e-4, 0.1, 1e-3, 0.25}};

}  // namespace

LaneMinimizer::LaneMinimizer(LanePass& pass, const LaneProblem& problem, bool single)
    : pass_(pass), problem_(problem), single_(single), n_(problem.free.size()), lanes_(pass.lanes()) {
  at_.lanes = pass.lanes();
  at_.n = static_cast<int>(n_);
  at_.free = problem_.free.data();
  at_.freedom = static_cast<double>(problem.rows - n_);
  at_.unit_sigma = problem.unit_sigma;
  at_.single = single;
  at_.scale_memory = rules::kScaleMemory;
  at_.most_extrapolation = kExtrapolate;
  at_.least_gain = kDigits[single].least_gain;
  at_.flat = kDigits[single].flat;
  at_.nu_left = kDigits[single].nu_left;
  at_.least_lambda = TrustRegion::kMin;
  at_.first_growth = TrustRegion::kGrowth;
  at_.near = kNear;
  at_.enough = single ? kNearInF32 : problem.xtol;
  at_.most_iterations = single ? kMostInF32 : kMostIterations;
  const auto array = [&](std::size_t entries) { return numbers_.emplace_back(entries * at_.lanes).data(); };
  at_.trial = array(problem.parameters);
  for (double** sums : {&at_.trial_sums, &at_.sums, &part_}) *sums = array((n_ + 1) * (n_ + 2) / 2);
  for (double** per_parameter :
       {&at_.trial_step, &at_.x, &at_.step, &at_.scale, &at_.other_step, &at_.moved, &at_.last_step})
    *per_parameter = array(n_);
  for (double** per_lane :
       {&at_.trial_nu_squared, &at_.nu_squared, &at_.cost, &at_.decrement_sigma, &at_.step_size,
        &at_.other_nu_squared, &at_.lambda, &at_.growth, &at_.predicted, &at_.phase, &at_.event,
        &at_.iterations, &at_.initial_cost, &at_.undamped, &at_.stepped, &at_.moves, &zero_})
    *per_lane = array(1);
}

void LaneMinimizer::begin(std::size_t lane, std::size_t fit, const double* values, const LaneStart& start,
                          const double* arrival) {
  lanes_[lane] = {.fit = fit, .after_f32 = start.after_f32};
  const bool iterates = start.after_f32 || problem_.linear.empty();
  at_.phase[lane] = iterates ? lane_phase::start : lane_phase::start_linear;
  at_.iterations[lane] = start.iterations;
  at_.initial_cost[lane] = start.after_f32 ? start.initial_cost : kNaN;
  at_.lambda[lane] = start.after_f32 ? start.lambda : problem_.initial_lambda;
  at_.growth[lane] = start.after_f32 ? start.growth : TrustRegion::kGrowth;
  for (std::size_t j = 0; j < problem_.parameters; ++j) of(at_.trial, j, lane) = values[j];
  at_.stepped[lane] = arrival != nullptr;
  for (std::size_t j = 0; j < n_; ++j) {
    of(at_.scale, j, lane) = 0;
    if (arrival != nullptr) of(at_.moved, j, lane) = of(at_.last_step, j, lane) = arrival[j];
  }
}

std::span<const std::size_t> LaneMinimizer::round(KernelCounters& counters) {
  ended_.clear();
  pass_.run(at_.trial, at_.trial_sums, counters);
  solve(at_.trial_sums, n_, zero_, at_.trial_step, at_.trial_nu_squared);
  kernels().lane_take(at_);
  bool damped = false, linear = false;
  for (std::size_t l = 0; l < lanes(); ++l) {
    if (at_.event[l] == lane_event::refused) refuse(l);
    else if (at_.event[l] == lane_event::may_end) end_if_done(l);
    damped |= at_.phase[l] == lane_phase::iterate && at_.undamped[l] == 0;
    linear |= at_.phase[l] == lane_phase::linear;
  }
  if (damped) solve(at_.sums, n_, at_.lambda, at_.other_step, at_.other_nu_squared);
  kernels().lane_propose(at_);
  for (std::size_t l = 0; l < lanes(); ++l) {
    if (at_.moves[l] == 0 && at_.phase[l] == lane_phase::iterate) give_up(l);
  }
  if (linear) propose_linear();
  return ended_;
}

// Solves the normal equations of n columns in all lanes.
void LaneMinimizer::solve(const double* sums, std::size_t n, const double* lambda, double* step,
                          double* nu_squared) {
  kernels().lane_solve(sums, static_cast<int>(n), lanes(), at_.scale, lambda, kDigits[single_].least_pivot,
                       step, nu_squared);
}

void LaneMinimizer::finish(std::size_t lane, End end) {
  lanes_[lane].end = end;
  at_.phase[lane] = lane_phase::idle;
  ended_.push_back(lane);
}

// Ends a fit because f32 cannot improve x further, or f64 finds no step.
void LaneMinimizer::give_up(std::size_t lane) {
  at_.stepped[lane] = 0;
  finish(lane, single_ ? End::f32_done : End::needs_minimizer);
}

// Decides what follows a trial point that is not taken.
void LaneMinimizer::refuse(std::size_t lane) {
  if (at_.phase[lane] != lane_phase::iterate) return finish(lane, End::needs_minimizer);
  if (at_.predicted[lane] < at_.flat * at_.cost[lane]) return give_up(lane);
  if (++lanes_[lane].rejected > kMostRejected) return finish(lane, End::needs_minimizer);
  // A failed undamped step does not show that λ is too small. A damped step is tried next.
  if (at_.undamped[lane] == 0) {
    TrustRegion trust(at_.lambda[lane], at_.growth[lane]);
    std::isfinite(trial_cost(lane)) ? trust.rejected() : trust.invalid();
    at_.lambda[lane] = trust.lambda();
    at_.growth[lane] = trust.growth();
  }
  at_.undamped[lane] = 0;
}

// Ends a fit that is near its optimum if this format cannot improve it further.
void LaneMinimizer::end_if_done(std::size_t lane) {
  if (single_) {
    at_.stepped[lane] = at_.decrement_sigma[lane] <= kNear;
    if (at_.stepped[lane] != 0) {  // the step is as reliable as the point
      for (std::size_t j = 0; j < n_; ++j) of(at_.x, j, lane) += of(at_.step, j, lane);
    }
    return finish(lane, End::f32_done);
  }
  const bool settled = at_.step_size[lane] <= problem_.xtol;  // false if ν is not known
  if (settled && (at_.decrement_sigma[lane] <= problem_.tau || largest_cosine(lane) <= problem_.gtol))
    return finish(lane, End::converged);
  if (at_.iterations[lane] >= kMostIterations) finish(lane, End::needs_minimizer);
}

double LaneMinimizer::largest_cosine(std::size_t lane) const {
  double largest = 0;
  for (std::size_t j = 0; j < n_; ++j) {
    largest = std::max(
        largest, std::fabs(of(at_.sums, entry(j, n_), lane)) / std::sqrt(of(at_.sums, entry(j, j), lane)));
  }
  return largest / std::sqrt(2 * at_.cost[lane]);
}

// Computes the next trial points of the fits that still solve for their linear parameters.
void LaneMinimizer::propose_linear() {
  const std::size_t w = lanes(), k = problem_.linear.size();
  const auto index = [&](std::size_t i) { return i < k ? static_cast<std::size_t>(problem_.linear[i]) : n_; };
  std::size_t to = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    for (std::size_t j = i; j <= k; ++j, ++to) {
      const auto [first, second] = std::minmax({index(i), index(j)});
      std::copy_n(at_.sums + entry(first, second) * w, w, part_ + to * w);
    }
  }
  solve(part_, k, zero_, at_.other_step, at_.other_nu_squared);
  for (std::size_t l = 0; l < w; ++l) {
    if (at_.phase[l] != lane_phase::linear) continue;
    if (std::isnan(at_.other_nu_squared[l])) {
      finish(l, End::needs_minimizer);
      continue;
    }
    const auto trial = [&](std::size_t j) -> double& {
      return of(at_.trial, static_cast<std::size_t>(problem_.free[j]), l);
    };
    for (std::size_t j = 0; j < n_; ++j) trial(j) = of(at_.x, j, l);
    for (std::size_t i = 0; i < k; ++i) {
      double& value = trial(index(i));
      value += of(at_.other_step, i, l);
      if (single_) value = static_cast<double>(static_cast<float>(value));  // as lane_propose
    }
  }
}

LaneStart LaneMinimizer::state(std::size_t lane) const {
  return {.after_f32 = lanes_[lane].after_f32,
          .initial_cost = at_.initial_cost[lane],
          .iterations = static_cast<int>(at_.iterations[lane]),
          .lambda = at_.lambda[lane],
          .growth = at_.growth[lane]};
}

void LaneMinimizer::linearization(std::size_t lane, Linearization& out) const {
  out.plan = kF64Plan;
  out.cost = cost(lane);
  out.gradient.resize(n_);
  out.normal.assign(n_, n_);
  for (std::size_t i = 0; i < n_; ++i) {
    out.gradient[i] = of(at_.sums, entry(i, n_), lane);
    for (std::size_t j = i; j < n_; ++j)
      out.normal(i, j) = out.normal(j, i) = of(at_.sums, entry(i, j), lane);
  }
}

}  // namespace nlsq::inline v0
