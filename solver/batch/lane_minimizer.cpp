// The lock-step iteration of LaneMinimizer.
#include "batch/lane_minimizer.hpp"

#include "certificate/certificate.hpp"
#include "minimizer/step_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr int kMostIterations = 15;  // Minimizer has other means for fits that take longer
constexpr int kMostInF32 = 8;        // iterations
constexpr int kMostRejected = 4;
constexpr double kNear = 1;           // standard errors within which undamped steps are taken
constexpr double kNearInF32 = 5e-2;   // standard errors: a further f32 step costs more than it saves in f64
constexpr double kExtrapolate = 0.5;  // largest part of a step that extrapolation may change

// What the digits of a format can resolve.
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
  const auto array = [&](std::size_t entries) { return numbers_.emplace_back(entries * at_.lanes).data(); };
  at_.trial = array(problem.parameters);
  for (double** sums : {&at_.trial_sums, &at_.sums, &part_}) *sums = array((n_ + 1) * (n_ + 2) / 2);
  for (double** per_parameter :
       {&at_.trial_step, &at_.x, &at_.step, &at_.scale, &at_.other_step, &at_.moved, &at_.last_step})
    *per_parameter = array(n_);
  for (double** per_lane : {&at_.trial_nu_squared, &at_.nu_squared, &at_.cost, &at_.decrement_sigma,
                            &at_.step_size, &at_.other_nu_squared, &at_.lambda, &at_.predicted, &at_.taken,
                            &at_.iterated, &at_.rescaled, &at_.undamped, &at_.stepped, &at_.moves, &zero_})
    *per_lane = array(1);
}

void LaneMinimizer::begin(std::size_t lane, std::size_t fit, const double* values, const LaneStart& start,
                          const double* arrival) {
  Lane& here = lanes_[lane];
  here = {};
  here.fit = fit;
  here.stage = Stage::start;
  here.state = start;
  if (!start.after_f32) here.state.trust = TrustRegion(problem_.initial_lambda);
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
  for (std::size_t l = 0; l < lanes(); ++l) {
    at_.taken[l] = at_.iterated[l] = 0;
    if (lanes_[l].stage != Stage::idle) examine(l);
    at_.rescaled[l] = lanes_[l].stage == Stage::iterate && lanes_[l].last_accepted;
  }
  kernels().lane_take(at_);
  bool damped = false, linear = false;
  for (std::size_t l = 0; l < lanes(); ++l) {
    const Lane& here = lanes_[l];
    if (here.stage == Stage::iterate) test_end_and_choose_step(l);
    damped = damped || (here.stage == Stage::iterate && here.step == Step::damped);
    linear = linear || here.stage == Stage::linear;
    at_.undamped[l] = here.step == Step::undamped;
    at_.lambda[l] = here.state.trust.lambda();
  }
  if (damped) solve(at_.sums, n_, at_.lambda, at_.other_step, at_.other_nu_squared);
  kernels().lane_propose(at_);
  for (std::size_t l = 0; l < lanes(); ++l) {
    const bool goes_on = at_.moves[l] != 0 && std::isfinite(at_.predicted[l]);
    if (lanes_[l].stage == Stage::iterate && !goes_on) give_up(l);
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
  lanes_[lane].stage = Stage::idle;
  ended_.push_back(lane);
}

// Ends the fit: f32 cannot improve x further, or f64 finds no step.
void LaneMinimizer::give_up(std::size_t lane) {
  at_.stepped[lane] = 0;
  finish(lane, single_ ? End::f32_done : End::needs_minimizer);
}

// Decides whether the trial point is taken, by the lane's stage.
void LaneMinimizer::examine(std::size_t lane) {
  Lane& here = lanes_[lane];
  const double cost = trial_cost(lane);
  switch (here.stage) {
    case Stage::start:
      if (!std::isfinite(cost)) return finish(lane, End::needs_minimizer);
      at_.taken[lane] = 1;
      if (!here.state.after_f32) here.state.initial_cost = cost;
      here.stage = here.state.after_f32 || problem_.linear.empty() ? Stage::iterate : Stage::linear;
      here.step = Step::linear;
      break;
    case Stage::linear:
      at_.taken[lane] = cost <= at_.cost[lane];
      here.stage = Stage::iterate;
      break;
    case Stage::iterate: judge(lane); break;
    case Stage::idle: break;
  }
}

void LaneMinimizer::test_end_and_choose_step(std::size_t lane) {
  Lane& here = lanes_[lane];
  if (here.last_accepted && ended_here(lane)) return;
  // False where ν is not known.
  const bool near =
      rules::near_optimum(at_.nu_squared[lane], at_.decrement_sigma[lane], at_.cost[lane], kNear);
  here.step = near && here.last_accepted ? Step::undamped : Step::damped;
}

// Judges by the gain ratio or, if the costs differ by little, by ν.
void LaneMinimizer::judge(std::size_t lane) {
  Lane& here = lanes_[lane];
  const LaneDigits& digits = kDigits[single_];
  const double decrease = at_.cost[lane] - trial_cost(lane), predicted = at_.predicted[lane];
  ++here.state.iterations;
  bool accepted = decrease >= digits.least_gain * predicted;
  if (predicted < digits.flat * at_.cost[lane]) {
    accepted = at_.trial_nu_squared[lane] < digits.nu_left * at_.nu_squared[lane];
    if (!accepted) return give_up(lane);
  }
  if (accepted) {
    at_.taken[lane] = at_.iterated[lane] = 1;
    here.state.trust.accepted(decrease / predicted);
    here.last_accepted = true;
    return;
  }
  if (++here.rejected > kMostRejected) return finish(lane, End::needs_minimizer);
  // A failed undamped step says nothing about the damping. A damped step is tried next.
  if (here.step == Step::damped) {
    std::isfinite(decrease) ? here.state.trust.rejected() : here.state.trust.invalid();
  }
  here.last_accepted = false;
}

bool LaneMinimizer::ended_here(std::size_t lane) {
  Lane& here = lanes_[lane];
  if (single_) {
    if (!(at_.decrement_sigma[lane] <= kNearInF32) && here.state.iterations < kMostInF32) return false;
    at_.stepped[lane] = at_.decrement_sigma[lane] <= kNear;
    if (at_.stepped[lane] != 0) {  // the step is as reliable as the point
      for (std::size_t j = 0; j < n_; ++j) of(at_.x, j, lane) += of(at_.step, j, lane);
    }
    finish(lane, End::f32_done);
    return true;
  }
  const bool settled = at_.step_size[lane] <= problem_.xtol;  // false if ν is not known
  if (settled && (at_.decrement_sigma[lane] <= problem_.tau || largest_cosine(lane) <= problem_.gtol)) {
    finish(lane, End::converged);
    return true;
  }
  if (here.state.iterations < kMostIterations) return false;
  finish(lane, End::needs_minimizer);
  return true;
}

double LaneMinimizer::largest_cosine(std::size_t lane) const {
  double largest = 0;
  for (std::size_t j = 0; j < n_; ++j) {
    largest = std::max(
        largest, std::fabs(of(at_.sums, entry(j, n_), lane)) / std::sqrt(of(at_.sums, entry(j, j), lane)));
  }
  return largest / std::sqrt(2 * at_.cost[lane]);
}

// Computes the next trial points of the fits whose linear parameters are solved for.
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
    if (lanes_[l].stage != Stage::linear) continue;
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

void LaneMinimizer::linearization(std::size_t lane, Linearization& out) const {
  out.plan = {Format::f64, Gram::f64};
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
