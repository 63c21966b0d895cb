// Steps by second derivatives of the cost, for few unknowns where Gauss-Newton is slow.
#include "block_minimizer.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kFastDecrease = 0.2;  // of the cost, by one step: Gauss-Newton does well (Fletcher and Xu, IMA J. Numer. Anal. 7, 1987)
constexpr double kGoodModel = 0.9;     // gain ratio above which J^T J alone promises well
constexpr int kHalvings = 8;
constexpr int kPeriod = 10;            // steps accepted between two trials

}  // namespace

// At x, where J and its products are known in f64, and known again afterwards.
SecondOrder BlockMinimizer::find_second_order() {
  std::vector<double> r;
  SecondOrder found = second_order(point(), [&](std::span<const double> x) {
    const std::vector<double> there(x.begin(), x.end());
    if (!std::isfinite(evaluate(there, r))) return false;
    model_.linearize<double>(there, r);
    solver_.gather<double, double>(model_.records<double>(), [this](std::size_t first, std::size_t last) { model_.finish<double>(first, last); });
    return std::ranges::all_of(solver_.gradient(), [](double g) { return std::isfinite(g); });
  });
  known_ = recorded_ = false;
  know();
  return found;
}

// A fit that has taken ten steps is a hard one. The first trial that helps calls for the next at once.
bool BlockMinimizer::second_order_pays() const {
  return !low() && !solver_.iterative() && free_size() <= kMostSecondOrder && summary_.accepted >= second_order_at_ &&
         last_decrease_ < kFastDecrease && std::fabs(rho_ - 1) > 1 - kGoodModel && !reached_;
}

bool BlockMinimizer::step_by_second_order() {
  const SecondOrder found = find_second_order();
  second_order_at_ = summary_.accepted + second_order_period_;
  second_order_period_ *= 2;
  if (!found.known || ended_) return false;
  std::vector<double> step = found.step;
  double promised = 0.5 * found.decrement * found.decrement;
  const double damped = std::max(rho_, 0.0) * step_.predicted;  // what the last step brought
  for (int k = 0; k < kHalvings; ++k) {
    const bool cut = model_.plus(x_, step, trial_);
    trial_cost_ = evaluate(trial_, trial_r_);
    const double decrease = cost_ - trial_cost_;
    if (decrease > noise() && decrease >= (cut ? 0.0 : 0.1 * promised) && decrease > damped) {
      move_to_trial(promised, "second derivatives of the cost");
      second_order_at_ = summary_.accepted;
      second_order_period_ = kPeriod;
      return true;
    }
    for (double& s : step) s *= 0.5;
    promised *= 0.75;
  }
  return false;
}

}  // namespace nlsq::inline v0
