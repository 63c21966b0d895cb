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
constexpr int kMostLed = 8;
constexpr int kMostRejected = 4;
constexpr double kNear = 1;           // standard errors within which undamped steps are taken
constexpr double kLedEnough = 1e-2;   // standard errors: f32 says little more
constexpr double kExtrapolate = 0.5;  // largest part of a step that extrapolation may change

// What the digits of a format can resolve.
struct LaneDigits {
  double least_pivot;  // of the unit diagonal; columns closer to dependence are not distinguished
  double least_gain;   // as a share of the predicted decrease
  double flat;         // relative decrease of the cost below which ν decides instead
  double falls;        // ν² must fall below this share of itself
};
constexpr LaneDigits kDigits[] = {{1e-11, rules::kLeastGain, 1e-8, 1.0}, {1e-4, 0.1, 1e-3, 0.25}};

}  // namespace

LaneMinimizer::LaneMinimizer(LanePass& pass, const LaneProblem& problem, bool single)
    : pass_(pass), problem_(problem), single_(single), n_(problem.free.size()), lanes_(pass.lanes()) {
  const std::size_t w = lanes(), triangle = (n_ + 1) * (n_ + 2) / 2;
  trial_.resize(problem.parameters * w);
  for (auto* per_parameter : {&x_, &scale_, &trial_step_, &step_, &other_step_, &moved_, &last_step_})
    per_parameter->resize(n_ * w);
  for (auto* sums : {&trial_sums_, &sums_, &part_}) sums->resize(triangle * w);
  for (auto* per_lane : {&trial_nu_squared_, &other_nu_squared_, &lambda_, &zero_}) per_lane->resize(w);
}

void LaneMinimizer::begin(std::size_t lane, std::size_t fit, const double* values, const LaneStart& start,
                          const double* arrival) {
  Lane& here = lanes_[lane];
  here = {};
  here.fit = fit;
  here.stage = Stage::start;
  here.state = start;
  if (!start.led) here.state.trust = TrustRegion(problem_.initial_lambda);
  for (std::size_t j = 0; j < problem_.parameters; ++j) of(trial_, j, lane) = values[j];
  here.stepped = arrival != nullptr;
  for (std::size_t j = 0; j < n_; ++j) {
    of(scale_, j, lane) = 0;
    if (here.stepped) of(moved_, j, lane) = of(last_step_, j, lane) = arrival[j];
  }
}

std::span<const std::size_t> LaneMinimizer::round(KernelCounters& counters) {
  ended_.clear();
  pass_.run(trial_.data(), trial_sums_.data(), counters);
  kernels().lane_solve(trial_sums_.data(), static_cast<int>(n_), lanes(), scale_.data(), zero_.data(),
                       kDigits[single_].least_pivot, trial_step_.data(), trial_nu_squared_.data());
  for (std::size_t l = 0; l < lanes(); ++l) {
    lanes_[l].taken = false;
    if (lanes_[l].stage != Stage::idle) examine(l);
  }
  take_trials();
  bool damped = false, linear = false;
  for (std::size_t l = 0; l < lanes(); ++l) {
    if (lanes_[l].stage == Stage::iterate) survey(l);
    damped = damped || (lanes_[l].stage == Stage::iterate && lanes_[l].step == Step::damped);
    linear = linear || lanes_[l].stage == Stage::linear;
  }
  if (damped) solve_damped();
  for (std::size_t l = 0; l < lanes(); ++l) {
    if (lanes_[l].stage == Stage::iterate) propose(l);
  }
  if (linear) solve_linear();
  for (std::size_t l = 0; l < lanes(); ++l) {
    if (lanes_[l].stage == Stage::linear) propose(l);
  }
  return ended_;
}

void LaneMinimizer::finish(std::size_t lane, End end) {
  lanes_[lane].end = end;
  lanes_[lane].stage = Stage::idle;
  ended_.push_back(lane);
}

// Ends the fit: f32 has no more to give at x, or f64 finds no step.
void LaneMinimizer::give_up(std::size_t lane) {
  lanes_[lane].stepped = false;
  finish(lane, single_ ? End::led : End::left);
}

// Decides whether the trial point is taken, by the lane's stage.
void LaneMinimizer::examine(std::size_t lane) {
  Lane& here = lanes_[lane];
  const double cost = trial_cost(lane);
  switch (here.stage) {
    case Stage::start:
      if (!std::isfinite(cost)) return finish(lane, End::left);
      here.taken = true;
      if (!here.state.led) here.state.initial_cost = cost;
      here.stage = here.state.led || problem_.linear.empty() ? Stage::iterate : Stage::linear;
      here.step = Step::linear;
      break;
    case Stage::linear:
      here.taken = cost <= here.cost;
      here.stage = Stage::iterate;
      break;
    case Stage::iterate: judge(lane); break;
    case Stage::idle: break;
  }
}

// Trial points become x: all at once, or lane by lane.
void LaneMinimizer::take_trials() {
  bool all = true;
  for (std::size_t l = 0; l < lanes(); ++l) {
    const Lane& here = lanes_[l];
    all = all && (here.taken || here.stage == Stage::idle);
    if (here.taken) take_trial(l);
  }
  if (all) {
    step_.swap(trial_step_);
    sums_.swap(trial_sums_);
    return;
  }
  for (std::size_t l = 0; l < lanes(); ++l) {
    if (!lanes_[l].taken) continue;
    for (std::size_t j = 0; j < n_; ++j) of(step_, j, l) = of(trial_step_, j, l);
    for (std::size_t k = 0; k <= entry(n_, n_); ++k) of(sums_, k, l) = of(trial_sums_, k, l);
  }
}

// Takes everything but the sums and the undamped step.
void LaneMinimizer::take_trial(std::size_t lane) {
  Lane& here = lanes_[lane];
  if (here.stage == Stage::iterate && here.step != Step::linear) {
    here.stepped = here.step == Step::undamped;
    for (std::size_t j = 0; j < n_; ++j) {
      of(moved_, j, lane) = of(trial_, static_cast<std::size_t>(problem_.free[j]), lane) - of(x_, j, lane);
      of(last_step_, j, lane) = of(step_, j, lane);
    }
  }
  for (std::size_t j = 0; j < n_; ++j)
    of(x_, j, lane) = of(trial_, static_cast<std::size_t>(problem_.free[j]), lane);
  here.cost = trial_cost(lane);
  here.nu_squared = trial_nu_squared_[lane];
  const double variance = problem_.unit_sigma ? 1 : 2 * here.cost / static_cast<double>(problem_.rows - n_);
  here.decrement_sigma = std::sqrt(here.nu_squared / variance);
}

// Updates the scale at x, tests for the end, and chooses the next step.
void LaneMinimizer::survey(std::size_t lane) {
  Lane& here = lanes_[lane];
  if (here.last_accepted) {
    for (std::size_t j = 0; j < n_; ++j) {
      const double norm = std::sqrt(of(sums_, entry(j, j), lane));
      of(scale_, j, lane) = rules::remembered_scale(norm, of(scale_, j, lane));
    }
    if (ended_here(lane)) return;
  }
  // False where ν is not known.
  const bool near = rules::near_optimum(here.nu_squared, here.decrement_sigma, here.cost, kNear);
  here.step = near && here.last_accepted ? Step::undamped : Step::damped;
}

// Judges by the gain ratio or, if the costs differ by little, by ν.
void LaneMinimizer::judge(std::size_t lane) {
  Lane& here = lanes_[lane];
  const LaneDigits& digits = kDigits[single_];
  const double decrease = here.cost - trial_cost(lane);
  ++here.state.iterations;
  bool accepted = decrease >= digits.least_gain * here.predicted;
  if (here.predicted < digits.flat * here.cost) {
    accepted = trial_nu_squared_[lane] < digits.falls * here.nu_squared;
    if (!accepted) return give_up(lane);
  }
  if (accepted) {
    here.taken = true;
    here.state.trust.accepted(decrease / here.predicted);
    here.last_accepted = true;
    return;
  }
  if (++here.rejected > kMostRejected) return finish(lane, End::left);
  // A failed undamped step says nothing about the damping. A damped step is tried next.
  if (here.step == Step::damped) {
    std::isfinite(decrease) ? here.state.trust.rejected() : here.state.trust.invalid();
  }
  here.last_accepted = false;
}

bool LaneMinimizer::ended_here(std::size_t lane) {
  Lane& here = lanes_[lane];
  if (single_) {
    if (!(here.decrement_sigma <= kLedEnough) && here.state.iterations < kMostLed) return false;
    here.stepped = here.decrement_sigma <= kNear;
    if (here.stepped) {  // the step is as reliable as the point
      for (std::size_t j = 0; j < n_; ++j) of(x_, j, lane) += of(step_, j, lane);
    }
    finish(lane, End::led);
    return true;
  }
  const bool settled = step_size(lane) <= problem_.xtol;  // false if ν is not known
  if (settled && (here.decrement_sigma <= problem_.tau || largest_cosine(lane) <= problem_.gtol)) {
    finish(lane, End::converged);
    return true;
  }
  if (here.state.iterations < kMostIterations) return false;
  finish(lane, End::left);
  return true;
}

// ‖D s‖ / ‖D x‖, D the column norms.
double LaneMinimizer::step_size(std::size_t lane) const {
  double step = 0, size = 0;
  for (std::size_t j = 0; j < n_; ++j) {
    const double squares = of(sums_, entry(j, j), lane);
    step += of(step_, j, lane) * of(step_, j, lane) * squares;
    size += of(x_, j, lane) * of(x_, j, lane) * squares;
  }
  return std::isnan(lanes_[lane].nu_squared) ? lanes_[lane].nu_squared
         : step == 0                         ? 0.0
                                             : std::sqrt(step / size);
}

double LaneMinimizer::largest_cosine(std::size_t lane) const {
  double largest = 0;
  for (std::size_t j = 0; j < n_; ++j) {
    largest =
        std::max(largest, std::fabs(of(sums_, entry(j, n_), lane)) / std::sqrt(of(sums_, entry(j, j), lane)));
  }
  return largest / std::sqrt(2 * lanes_[lane].cost);
}

void LaneMinimizer::solve_damped() {
  for (std::size_t l = 0; l < lanes(); ++l) lambda_[l] = lanes_[l].state.trust.lambda();
  kernels().lane_solve(sums_.data(), static_cast<int>(n_), lanes(), scale_.data(), lambda_.data(),
                       kDigits[single_].least_pivot, other_step_.data(), other_nu_squared_.data());
}

// Solves the normal equations of the linear parameters alone.
void LaneMinimizer::solve_linear() {
  const std::size_t w = lanes(), k = problem_.linear.size();
  const auto index = [&](std::size_t i) { return i < k ? static_cast<std::size_t>(problem_.linear[i]) : n_; };
  std::size_t to = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    for (std::size_t j = i; j <= k; ++j, ++to) {
      const auto [first, second] = std::minmax({index(i), index(j)});
      std::copy_n(sums_.data() + entry(first, second) * w, w, part_.data() + to * w);
    }
  }
  kernels().lane_solve(part_.data(), static_cast<int>(k), w, scale_.data(), zero_.data(),
                       kDigits[single_].least_pivot, other_step_.data(), other_nu_squared_.data());
}

// Near the optimum, Gauss-Newton steps shrink by a constant factor, because they leave out a part of the
// curvature. This returns the part γ of the last step and its change whose removal makes the next step
// smallest (Anderson, J. ACM 12, 1965, with a memory of one step).
double LaneMinimizer::extrapolation(std::size_t lane) const {
  if (!lanes_[lane].stepped) return 0;
  double along = 0, change = 0;
  for (std::size_t j = 0; j < n_; ++j) {
    const double weight = of(scale_, j, lane) * of(scale_, j, lane);
    const double difference = of(step_, j, lane) - of(last_step_, j, lane);
    along += weight * of(step_, j, lane) * difference;
    change += weight * difference * difference;
  }
  const double gamma = along / change;
  return std::fabs(gamma) <= kExtrapolate ? gamma : 0;
}

// Computes the next trial point.
void LaneMinimizer::propose(std::size_t lane) {
  Lane& here = lanes_[lane];
  const bool undamped = here.step == Step::undamped;
  double scaled = 0;
  bool moves = false;
  const std::size_t moved = here.step == Step::linear ? problem_.linear.size() : n_;
  for (std::size_t k = 0; k < n_; ++k)
    of(trial_, static_cast<std::size_t>(problem_.free[k]), lane) = of(x_, k, lane);
  const double gamma = undamped ? extrapolation(lane) : 0;
  for (std::size_t k = 0; k < moved; ++k) {
    const std::size_t j = here.step == Step::linear ? static_cast<std::size_t>(problem_.linear[k]) : k;
    double step = of(undamped ? step_ : other_step_, k, lane);
    if (gamma != 0) step -= gamma * (of(moved_, k, lane) + step - of(last_step_, k, lane));
    double& trial = of(trial_, static_cast<std::size_t>(problem_.free[j]), lane);
    trial += step;
    // Puts parameters on the f32 grid. Otherwise their own rounding would shift all f32 residuals coherently.
    if (single_) trial = static_cast<double>(static_cast<float>(trial));
    moves = moves || trial != of(x_, j, lane);
    scaled += std::pow(of(scale_, j, lane) * step, 2);
  }
  if (here.step == Step::linear) {
    if (std::isnan(other_nu_squared_[lane])) finish(lane, End::left);
    return;
  }
  const double nu_squared = undamped ? here.nu_squared : other_nu_squared_[lane];
  here.predicted = 0.5 * (nu_squared + (undamped ? 0.0 : here.state.trust.lambda() * scaled));
  if (!moves || !std::isfinite(here.predicted)) give_up(lane);
}

void LaneMinimizer::linearization(std::size_t lane, Linearization& out) const {
  out.plan = {Format::f64, Gram::f64};
  out.cost = cost(lane);
  out.gradient.resize(n_);
  out.normal.assign(n_, n_);
  for (std::size_t i = 0; i < n_; ++i) {
    out.gradient[i] = of(sums_, entry(i, n_), lane);
    for (std::size_t j = i; j < n_; ++j) out.normal(i, j) = out.normal(j, i) = of(sums_, entry(i, j), lane);
  }
}

}  // namespace nlsq::inline v0
