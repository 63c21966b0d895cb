// Implements the end of a block problem's solve: the functions of BlockSystem that the loop calls there.
// `certify` runs the tests of block_judge.hpp and checks their result in three ways: by the cost at the end
// of the certificate's own step, by points beside x (block_doubts.cpp) and by the curvature there. Where the
// tests fail and unknowns are few, it repeats them with second derivatives (block_curvature.cpp). `recheck`
// compares the programs with the user's own code.
#include "blocks/block_system.hpp"
#include "blocks/record_finish.hpp"

#include "certificate/certificate.hpp"
#include "linear/dot.hpp"
#include "linear/negative_curvature.hpp"
#include "linear/weighted_rows.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {
constexpr const char* kLowerBeside = "the cost is lower in a direction that the gradient does not show";
}

// Compares the residuals at x with those that the user's own functions return. This takes the memory of the
// trial point's residuals, and its x is freed, because memory use is highest here and in the certificate that
// follows.
void BlockSystem::compare_with_functions(std::span<const double> x, Recheck& out) {
  trial_.x = Vector();
  const BlockModel::Recheck found = model_.recheck(x, at_.r, trial_.r);
  out.rows = at_.r.size();
  out.largest = found.largest;
  out.discrepancy = found.agrees ? 0 : kInfinity;
  at_.cost_by_functions = found.cost;
}

// The first call returns the comparison that begin() made at the start. Its terms do not count for rounding,
// because they may be larger by many orders of magnitude than those near the end.
void BlockSystem::recheck(std::span<const double> x, std::size_t, Recheck& out) {
  if (!start_reported_) {
    start_reported_ = true;
    out = start_recheck_;
    return;
  }
  compare_with_functions(x, out);
  out.magnitude = out.cost_magnitude = 0;
  if (out.discrepancy == 0) check_own_losses(out);
  if (out.discrepancy == 0 && !wrong_loss_at_) check_manifolds(x, out);
  if (!known() || low_jacobian()) return;
  if (model_.evaluator().counts().own > 0 && out.discrepancy == 0 && !out.contradicted())
    check_own_derivatives(out);
  out.magnitude = terms()->magnitude;
  // The magnitude for which rules::cost_noise returns the noise that was measured.
  const double r = std::sqrt(2 * at_.model.cost);
  if (r > 0) out.cost_magnitude = std::max(r, (terms()->cost_noise / (4 * 0x1p-53) - r * r) / r);
}

// Returns an upper bound of ‖terms of r‖. It needs no pass over J.
double BlockSystem::most_terms() const {
  const std::vector<double> sizes = tangent_sizes(model_.problem(), structure_, at_.x);
  double terms = std::sqrt(2 * at_.model.cost);
  for (std::size_t j = 0; j < sizes.size(); ++j) terms += column_norm(j) * sizes[j];
  return terms;
}

// Returns true if some component of the gradient exceeds a bound of every rounding error that measure_terms()
// could find: the products of each column are at most its norm times ‖terms of r‖. This test needs no pass
// over J.
bool BlockSystem::gradient_exceeds_noise() const {
  const double r = std::sqrt(2 * at_.model.cost);
  return at_.cosine * r > kUnitRoundoff * (4 * most_terms() + 32 * r);
}

// Returns true if the residuals at x are only rounding errors. The pass over J that this takes is made only
// where the residuals are small beside their terms or beside the residuals at the start.
bool BlockSystem::residuals_vanish(double initial_cost, double left, bool no_progress) {
  if (low_jacobian() || !at_.model.finite) return false;
  const double small = no_progress ? kSmallResiduals : kVanishing;
  if (!(std::sqrt(2 * at_.model.cost) <= small * std::max(most_terms(), start_residual_))) return false;
  // While steps help, rows of small weight beside rows of large weight may still lose digits of their
  // residuals.
  constexpr double kFewRoundings = 64 * kUnitRoundoff;
  return nlsq::residuals_vanish(point(), *terms(small), initial_cost, left,
                                no_progress ? kVanishing : kFewRoundings);
}

bool BlockSystem::gradient_is_noise(std::span<const double>, const Recheck&) {
  if (low_jacobian() || gradient_exceeds_noise()) return false;
  return block_gradient(solver_, at_.model.cost, terms()->gradient_noise).noise;
}

// Returns the sizes of the terms of r, measured once for each linearization in f64. If ‖r‖ is at most `small`
// times the size of its terms, or of the residuals at the start, bounds of the rounding errors are computed,
// too, which takes several times as long. Functions that were not recorded have no such bounds, so their
// rounding errors are measured.
std::shared_ptr<const BlockTerms> BlockSystem::terms(double small) {
  constexpr double kHardly = 64 * kUnitRoundoff;  // of the terms
  const double r = std::sqrt(2 * at_.model.cost);
  const auto is_small = [&] { return r <= small * std::max(terms_->magnitude, start_residual_); };
  if (terms_ && (terms_->bounded || !is_small())) return terms_;
  if (!terms_) terms_ = std::make_shared<const BlockTerms>(measure_terms(point()));
  if (!is_small()) return terms_;
  BlockTerms found = measure_terms(point(), weighted_rounding_bounds());
  const BlockCounts counts = model_.evaluator().counts();
  if (counts.own + counts.differences > 0 && r > found.rounding && r <= kHardly * found.magnitude)
    found.rounding = std::max(found.rounding, measured_rounding());
  return terms_ = std::make_shared<const BlockTerms>(std::move(found));
}

// Returns bounds of the rounding errors of the residuals, with the weights that losses give to their blocks.
// A loss may give a huge residual almost no weight, and its rounding errors then have none either.
std::vector<double> BlockSystem::weighted_rounding_bounds() {
  std::vector<double> bounds = model_.rounding_bounds(at_.x);
  multiply_by_weights(structure_, at_.r, bounds);
  return bounds;
}

// Measures ‖rounding error of r‖ by r(x + h) - 2 r(x) + r(x - h), where h is so small beside x that r is
// linear up to rounding. The first-order terms J_ij x_j do not contain constants inside the functions, such
// as the 95 in exp(p - 95), whose rounding errors may be far larger. The idea is of Moré and Wild,
// "Estimating computational noise", SIAM J. Sci. Comput. 33 (2011).
double BlockSystem::measured_rounding() {
  // The distances are odd numbers of last digits of x, so that numbers with coarser digits than x round
  // differently. Some functions are curved over the longer distance, such as a wave of 100 Hz at times near
  // 1.7e9 s; over the shorter distance they are linear.
  return std::min(rounding_beside(1365), rounding_beside(85));
}

double BlockSystem::rounding_beside(double last_digits) {
  constexpr int kDigits = 52;
  std::vector<double> step = tangent_sizes(model_.problem(), structure_, at_.x), point, above, below;
  for (double& h : step) h = h > 0 ? std::ldexp(last_digits, std::ilogb(h) - kDigits) : 0;
  const auto residuals = [&](std::vector<double>& r) {
    model_.plus(at_.x, step, point);
    ++facts_.cost_evaluations;
    return std::isfinite(model_.cost(point, r));
  };
  if (!residuals(above)) return 0;
  for (double& h : step) h = -h;
  if (!residuals(below)) return 0;
  for (std::size_t i = 0; i < at_.r.size(); ++i) above[i] += below[i] - 2 * at_.r[i];
  multiply_by_weights(structure_, at_.r, above);
  return std::sqrt(dot(above, above) / 6);  // variances 1, 4 and 1
}

BlockPoint BlockSystem::point(PointData& at) {
  return {model_, structure_, model_.problem(), solver_, at.x, at.model.cost, at.fixed, at.fixed_count};
}

// Returns true if the costs along the certificate's own step show that x is not the optimum: the cost at its
// end is lower than the judgement allows, or falls_on_the_way() finds a lower one before it.
bool BlockSystem::contradicted(const BlockTests& tests, BlockJudgement& judgement) {
  if (judgement.certificate.governed_by == kZeroResidual) return false;
  model_.plus(at_.x, judgement.distance.step, trial_.x);
  if (trial_.x == at_.x) {
    trial_.x.clear();
    return false;
  }
  const double rise = evaluate(trial_) - at_.model.cost;
  if (rise < -judgement.contradiction()) return true;
  return !(rise <= judgement.contradiction()) && falls_on_the_way(tests, judgement);
}

// Looks for a lower cost at shorter parts of the step, if the cost at its end is much higher, because the
// linear model does not hold that far away. If the cost falls at a part, the step becomes this part, and the
// function returns true. How far the cost must fall depends on how the iteration ended. After a limit, x may
// not be a minimum, so it is enough that the cost falls as much as the gradient predicts.
bool BlockSystem::falls_on_the_way(const BlockTests& tests, BlockJudgement& judgement) {
  constexpr int kQuarters = 15;
  constexpr double kOfPrediction = 0.25, kOfNoise = 8;
  std::vector<double>& step = judgement.distance.step;
  std::vector<double> shorter = step, there;
  double part = 1;
  for (int k = 0; k < kQuarters; ++k) {
    part *= 0.25;
    for (double& s : shorter) s *= 0.25;
    const double predicted = kOfPrediction * part * (2 - part) * judgement.promised();
    double enough = judgement.contradiction();
    if (tests.unfinished)
      enough = std::min(enough, std::max(predicted, kOfNoise * judgement.terms->cost_noise));
    model_.plus(at_.x, shorter, there);
    if (!(cost_or_none(there) < at_.model.cost - enough)) continue;
    step = std::move(shorter);
    return true;
  }
  return false;
}

// Judges the point x. If x passes, it looks for bounds that do not really hold their parameters, makes these
// parameters free, and judges x again.
BlockJudgement BlockSystem::judge_within_bounds(const BlockTests& tests, const BlockStep* solved) {
  for (;; solved = nullptr) {
    BlockJudgement judgement = judge_point(point(), tests, terms(), solved);
    linear_iterations_ += judgement.distance.linear_iterations;
    // Bounds of rounding errors take far longer to compute than the tests. So they are computed only once
    // steps do not help.
    if (!judgement.certificate.passed && tests.no_progress && !judgement.terms->bounded) {
      const bool near = judgement.certificate.decrement_sigma <= kNearInNoise;
      judgement.terms = terms(near ? kInfinity : kSmallResiduals);
      if (judgement.terms->bounded) apply_tests(point(), tests, judgement);
    }
    const Certificate& c = judgement.certificate;
    if (!c.passed || c.governed_by == kZeroResidual || !release_from_bounds(judgement.distance.step))
      return judgement;
  }
}

// Makes parameters free at x that their bounds do not really hold, and returns whether there are any.
//
// A parameter on its bound is fixed if the cost at x falls towards the outside of the box. But `step` leads
// from x to the minimum over the free parameters, and what counts is the slope there, which is the
// parameter's Lagrange multiplier. If the cost falls towards the inside there, the parameter can leave its
// bound. This can happen even when the step is short.
bool BlockSystem::release_from_bounds(const std::vector<double>& step) {
  if (at_.fixed_count == 0 || step.empty()) return false;
  constexpr double kRoundings = 16;  // in a sum of products; smaller slopes count as rounding errors
  const std::vector<std::uint8_t> fixed = at_.fixed;
  std::vector<std::uint8_t> released = at_.released, held;
  released.resize(fixed.size());
  // J is evaluated with all parameters free, because it has columns of zeros where parameters are fixed.
  at_.released.assign(fixed.size(), 1);
  differentiate(at_, at_.model.plan);
  std::vector<double> slope(fixed.size());
  solver_.multiply(model_.records<double>(), step, slope);
  const double noise = kRoundings * kUnitRoundoff * std::sqrt(2 * at_.model.cost);
  for (std::size_t j = 0; j < slope.size(); ++j) {
    slope[j] += solver_.gradient()[j];
    if (std::fabs(slope[j]) <= noise * column_norm(j)) slope[j] = solver_.gradient()[j];
  }
  model_.bounds().find_held(at_.x, slope, held);
  bool any = false;
  for (std::size_t j = 0; j < fixed.size(); ++j) {
    if (fixed[j] == 0 || held[j] != 0) continue;
    released[j] = 1;
    any = true;
  }
  at_.released = std::move(released);
  differentiate(at_, at_.model.plan);
  return any;
}

// Runs the checks of block_doubts.cpp and curvature_at_end() on a point that passes the tests, and returns
// true if none of them raises a doubt. If a check finds a lower cost, out.step leads there. If one finds a
// lost parameter, judgement.doubt describes it in words.
bool BlockSystem::withstands_doubts(BlockJudgement& judgement, Certified& out) {
  constexpr double kFlat = 1e-6;
  const Certificate& c = judgement.certificate;
  found_lower_ = falls_where_unseen(judgement, out) || falls_beside(judgement, out);
  const Curved curved = found_lower_ ? Curved::unknown : curvature_at_end(judgement, kNegativeCurvature, out);
  found_lower_ = found_lower_ || curved == Curved::down;
  if (found_lower_) {
    judgement.doubt = kLowerBeside;
    return false;
  }
  if (c.verdict != Verdict::rank_deficient || curved == Curved::up) return true;
  std::string doubt = doubt_of_rank(c.rank);
  // Where JᵀJ is singular, even a small curvature beside it may show that x is a minimum. This takes far more
  // evaluations than the doubts do.
  if (doubt.empty() || curvature_at_end(judgement, kFlat, out) == Curved::up) return true;
  judgement.doubt = std::move(doubt);
  return false;
}

// Returns true if the residuals are tiny beside their terms, and the step promises to remove most of them, as
// with exact data. Second derivatives would say no more, and take longer than the step. The cost must also be
// far below that of the last point where this was true, because wrong derivatives promise too much.
bool BlockSystem::residuals_still_vanish(const BlockJudgement& judgement) {
  constexpr double kMost = 0.5, kFarBelow = 0.1;  // of the cost
  const double cost = at_.model.cost;
  if (!judgement.distance.known || !(std::sqrt(2 * cost) <= kVanishing * judgement.terms->magnitude) ||
      !(judgement.promised() > kMost * cost) || !(cost <= kFarBelow * vanishing_cost_))
    return false;
  vanishing_cost_ = cost;
  return true;
}

void BlockSystem::certify(std::span<const double>, const CertificateTests& asked, Certified& out) {
  const BlockTests tests{asked, start_, short_of_tau_};
  out.covariance.assign(0, 0);
  out.first_order = found_lower_ = false;
  out.step = Vector();
  const BlockStep* solved = undamped_step();
  if (!solved) step_.step = Vector();
  set_solve_accuracy(0);
  BlockJudgement judgement = judge_within_bounds(tests, solved);
  Certificate& c = judgement.certificate;
  step_lambda_ = -1;
  if (c.passed && contradicted(tests, judgement)) c.passed = false;
  if (judgement.distance.known) out.step = std::move(judgement.distance.step);
  else out.step.assign(structure_.tangent_size(), 0.0);
  facts_.undamped_step = judgement.distance.known ? std::sqrt(dot(out.step, out.step)) : kNaN;
  facts_.doubtful = !judgement.doubt.empty();
  // Here one of the user's tolerances ends the solve, and by the linear model x is near the optimum. All
  // second derivatives would take longer than the solve, so only the search for saddles is made.
  const bool near_enough = tests.stopped && judgement.distance.known && c.decrement_sigma <= kNearInNoise;
  promises_zero_ = !c.passed && !tests.unfinished && residuals_still_vanish(judgement);
  if (c.passed) {
    c.passed = withstands_doubts(judgement, out);
  } else if (judgement.distance.known && judgement.distance.rank == 0) {
    found_lower_ = falls_where_unseen(judgement, out);
  } else if (judgement.doubt.empty() && near_enough) {
    found_lower_ = is_beside_saddle(judgement, out);
    if (found_lower_) judgement.doubt = kLowerBeside;
  } else if (judgement.doubt.empty() && has_second_order() && !promises_zero_) {
    const Vector by_linear_model = out.step;
    judge_by_second_order(tests, judgement, out);
    if (!c.passed && judgement.distance.known && out.step.empty()) out.step = by_linear_model;
  }
  facts_.doubtful = facts_.doubtful || found_lower_;
  doubt_ = judgement.doubt;
  cut_short_ = judgement.distance.known && !judgement.distance.reached;
  if (doubt_.empty() && cut_short_) {
    doubt_ = "conjugate gradients for the undamped step ended without their goal";
  }
  out.certificate = c;
  out.first_order = c.passed;
}

// Returns how far rounding errors of r move the minimum, in standard errors.
double BlockSystem::blur(const Certificate& c, double rounding) const {
  const double rank = c.rank >= 0 ? c.rank : static_cast<double>(structure_.tangent_size());
  const double residuals = static_cast<double>(structure_.residuals);
  return std::sqrt(rank / residuals) * rounding /
         block_sigma(at_.model.cost, structure_.residuals, static_cast<std::size_t>(rank));
}

// Returns true if the certificate rests on rounding errors of terms that cancel. Data with smaller noise
// would then seem exact. Without degrees of freedom there is no noise. In a well-conditioned problem rounding
// changes only the last digits of the parameters, so that they are right as far as f64 can tell.
//
// The terms give a bound of the rounding errors, which may be far too large. If the distance is in doubt
// because of this bound, the errors are measured, and the distance is tested again. Only the norm of all
// measured errors is known. Where some rows have a huge weight, it does not show the errors of the others,
// and the distance is not doubted.
bool BlockSystem::hides_minimum(const Certificate& c) {
  const std::size_t free = point().free();
  constexpr double kIllConditioned = 1e10;     // of JᵀJ: five digits of the parameters are lost
  constexpr double kLostByDifferences = 1e15;  // errors of differences fill the weakest direction of J
  if (!is_success(c.verdict) || !(at_.model.cost > 0) || structure_.residuals <= free) return false;
  if (c.condition <= kIllConditioned || c.verdict == Verdict::rank_deficient) return false;
  const auto is_blurred = [&](double rounding) {
    return c.decrement_sigma + 2 * blur(c, rounding) > kNearInNoise;
  };
  const auto blurred = [&] {
    return terms()->widest_spread <= kHeavyRows && is_blurred(terms()->rounding) &&
           is_blurred(measured_rounding());
  };
  const bool lost = c.condition > kLostByDifferences && model_.evaluator().counts().differences > 0;
  if (!lost && !rests_on_rounding(c) && !blurred()) return false;
  return terms_cancel(point());
}

}  // namespace nlsq::inline v0
