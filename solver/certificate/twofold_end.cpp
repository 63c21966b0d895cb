// Implements judge_by_twofold().
#include "certificate/twofold_end.hpp"

#include "certificate/certificate.hpp"
#include "certificate/hidden_minimum.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Above this bound of the gradient, as a cosine, a distance that f64 measures may be off by a tenth of a
// standard error.
constexpr double kMayBlur = 0.02;

bool rounding_decides(const MinimizerResult& end) {
  const Certificate& c = end.certified.certificate;
  if (is_success(end.summary.verdict)) return rests_on_rounding(c) || c.gradient_bound >= kMayBlur;
  if (end.summary.verdict != Verdict::budget || end.spent || end.underflow || end.on_saddle) return false;
  const bool rounded = end.summary.termination == Termination::no_progress && !end.lost_parameters &&
                       c.gradient_bound >= kMostlyRounding;
  return end.limited_by_rounding || rounded;
}

bool within(const Limits& limits, std::span<const double> x) {
  for (std::size_t j = 0; j < limits.lower.size(); ++j)
    if (x[j] < limits.lower[j] || x[j] > limits.upper[j]) return false;
  return true;
}

// The covariance of all parameters, from that of the free ones.
Matrix spread_out(const Matrix& covariance, std::span<const std::size_t> free, std::size_t n) {
  Matrix out(n, n, kNaN);
  for (std::size_t i = 0; i < free.size(); ++i)
    for (std::size_t j = 0; j < free.size(); ++j) out(free[i], free[j]) = covariance(i, j);
  return out;
}

}  // namespace

EndByTwofold settle(const TwofoldMinimum& found, bool whole, Summary& summary, Certificate& c) {
  const bool success = is_success(c.verdict);
  const bool right = found.near || (success && whole ? found.exact : found.rounded);
  if (right && !found.whole) return EndByTwofold::right;
  if (!right && !success) return EndByTwofold::unknown;
  c.cost = summary.final_cost = found.cost;
  // Exact data have no standard errors in which a distance could be measured, so they do not show that the
  // rank is right either.
  if (right && !found.near && c.verdict == Verdict::rank_deficient) return EndByTwofold::right;
  c.decrement_sigma = found.distance / (found.near ? found.sigma : found.scatter);
  if (right) {
    c.gradient_norm = found.gradient;
    c.gradient_bound = found.gradient_bound;
    c.step = found.step;
    if (!success || c.verdict == Verdict::rank_deficient) c.verdict = Verdict::noise_floor;
    c.governed_by = kByTwofold;
    c.passed = c.recheck_passed;
    summary.termination = Termination::converged;
  } else {
    c.verdict = Verdict::budget;
    c.governed_by = name(Termination::no_progress);
    c.passed = false;
    summary.termination = Termination::no_progress;
  }
  summary.verdict = c.verdict;
  return right ? EndByTwofold::right : EndByTwofold::far;
}

void judge_by_twofold(const SolveRequest& request, MinimizerResult& end) {
  end.by_twofold = EndByTwofold::unknown;
  Certificate& c = end.certified.certificate;
  if (!rounding_decides(end) || request.rows.robust_loss() != nullptr || c.last_step > 0) return;
  // Where J loses rank there is no distance, but exact data are still told from others.
  const bool whole = c.rank + static_cast<int>(c.at_bound.size()) == static_cast<int>(end.x.size());
  if (!whole && !rests_on_rounding(c)) return;
  // Whether a bound holds was judged in f64. That is too little to make a success of an end that has none.
  if (!c.at_bound.empty() && !is_success(end.summary.verdict)) return;
  const std::unique_ptr<TwofoldRows> twofold = request.rows.twofold();
  if (twofold == nullptr) return;
  // A success whose residuals f64 sees to be the last digits of y needs no other evaluation, except where
  // weights may let some rows hide the others.
  const bool stands = is_success(end.summary.verdict) && !twofold->weighted();
  if (stands && follows_to_last_digits(request.rows, end.x)) return;
  TwofoldProblem problem{.rows = *twofold,
                         .count = request.rows.rows(),
                         .free = {},
                         .allowed = [&](std::span<const double> x) { return within(request.limits, x); },
                         .unit_sigma = request.unit_sigma,
                         .may_move = request.options.max_iterations > 0};
  for (std::size_t j = 0; j < end.x.size(); ++j)
    if (std::ranges::count(c.at_bound, static_cast<int>(j)) == 0) problem.free.push_back(j);
  std::optional<TwofoldMinimum> found = minimum_by_twofold(problem, end.x);
  if (!found) return;
  end.by_twofold = settle(*found, whole, end.summary, c);
  if (c.governed_by == kByTwofold) {
    c.rank = static_cast<int>(problem.free.size());
    if (!whole) c.condition = found->condition;
    c.confounded.clear();
    end.certified.covariance = spread_out(found->covariance, problem.free, end.x.size());
    end.limited_by_rounding = false;
  }
  if (end.by_twofold != EndByTwofold::unknown) end.x = std::move(found->x);
  end.summary.certificate = c;
}

}  // namespace nlsq::inline v0
