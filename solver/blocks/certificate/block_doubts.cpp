// Detects failures that first-order tests do not: kinks and plateaus, parameters that the data determine
// elsewhere but not here, and parameters that move the residuals in jumps. The checks run only when there are
// few unknowns.
#include "blocks/block_system.hpp"
#include "linear/dot.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

// Returns true if the cost falls by more than a certificate allows further along the step. On a plateau, as
// at an inflection, gradient and curvature vanish together, and the step is as short as before a minimum. The
// search ends where the cost rises, as it does behind a minimum. If it returns true, out.step leads to the
// lowest cost that was found.
bool BlockSystem::falls_further_out(const BlockJudgement& judgement, Certified& out) {
  constexpr int kSteps = 20;  // each twice as long as the one before
  Vector step = judgement.distance.step, best, trial;
  double lowest = at_.model.cost;
  for (int k = 0; k < kSteps; ++k) {
    for (double& s : step) s *= 2;
    model_.plus(at_.x, step, trial);
    const double cost = cost_or_none(trial);
    if (!(cost <= lowest + judgement.terms->cost_noise)) break;
    if (cost < lowest) lowest = cost, best = step;
  }
  if (!(lowest < at_.model.cost - judgement.contradiction())) return false;
  out.step = std::move(best);
  return true;
}

// Moves each unknown by a tenth of a standard error to either side. Returns true if the cost falls there by
// more than a certificate allows; out.step then leads there. A function with a kink can do this, because its
// gradient on one side is not valid on the other.
bool BlockSystem::falls_beside(const BlockJudgement& judgement, Certified& out) {
  constexpr std::size_t kMost = 16;  // numbers
  const std::size_t size = structure_.tangent_size();
  if (size > kMost || judgement.certificate.governed_by == kZeroResidual) return false;
  if (rises_evenly(judgement)) return false;
  const double enough = at_.model.cost - judgement.contradiction();
  for (std::size_t j = 0; j < size; ++j) {
    if (point().is_fixed(j) || !(column_norm(j) > 0)) continue;
    if (falls_at(j, kNearInNoise * judgement.sigma / column_norm(j), enough, out)) return true;
  }
  return false;
}

// Moves unknown j by this length to either side. Returns true if the cost is below `enough` there; out.step
// then leads there.
bool BlockSystem::falls_at(std::size_t j, double length, double enough, Certified& out) {
  std::vector<double> trial;
  for (const double way : {1.0, -1.0}) {
    std::vector<double> step(structure_.tangent_size(), 0.0);
    step[j] = way * length;
    model_.plus(at_.x, step, trial);
    if (!(cost_or_none(trial) < enough)) continue;
    out.step = std::move(step);
    return true;
  }
  return false;
}

// Moves each number whose column of J is 0 by several lengths to either side. Derivatives do not show the
// slope at a point such as 0 of if(k == 0, x, expm1(k*x)/k), or of k*|k|. Differences take steps in
// proportion to a number, so they may be too short to move residuals where the number has come close to 0,
// beside terms that are far larger. Returns true if the cost falls by more than a certificate allows;
// out.step then leads there.
bool BlockSystem::falls_where_unseen(const BlockJudgement& judgement, Certified& out) {
  constexpr std::size_t kMost = 16;  // numbers whose column is 0
  constexpr int kLengths = 12;       // each a tenth of the one before
  if (judgement.certificate.governed_by == kZeroResidual) return false;
  std::vector<std::size_t> unseen;
  for (std::size_t j = 0; j < structure_.tangent_size() && unseen.size() <= kMost; ++j)
    if (!point().is_fixed(j) && !(column_norm(j) > 0)) unseen.push_back(j);
  if (unseen.empty() || unseen.size() > kMost) return false;
  const std::vector<double> here = tangent_sizes(model_.problem(), structure_, at_.x),
                            before = tangent_sizes(model_.problem(), structure_, start_);
  const auto length_of = [&](std::size_t j) {
    const double size = std::max(here[j], before[j]);
    return size > 0 ? size : 1;
  };
  // Most such numbers have no effect at all, which a few evaluations with all of them moved show.
  const auto has_effect = [&](double share) {
    Random random(1);  // Sizes and signs differ, so that the effects of two numbers do not cancel.
    std::vector<double> step(structure_.tangent_size(), 0.0), moved;
    for (const std::size_t j : unseen) step[j] = random.of_either_sign(0.5, 1) * share * length_of(j);
    model_.plus(at_.x, step, moved);
    return !(std::fabs(cost_or_none(moved) - at_.model.cost) <= judgement.terms->cost_noise);
  };
  if (!has_effect(1) && !has_effect(1e-2) && !has_effect(1e-4)) return false;
  const double enough = at_.model.cost - judgement.contradiction();
  for (const std::size_t j : unseen) {
    double length = length_of(j);
    for (int k = 0; k < kLengths; ++k, length *= 0.1) {
      if (falls_at(j, length, enough, out)) return true;
    }
  }
  return false;
}

// Returns true if the costs on both sides of x rise together as JᵀJ predicts, when all unknowns move by one
// to two tenths of a standard error. A kink by which the cost could fall for a single unknown would show
// here, since it changes the cost on one side of it only. But the kink of another unknown, or a kink in a
// difference of two, could cancel it: |a| - |b| and |a - b| do not change where a and b move alike. So two
// directions are tried, and the costs must agree up to a small part of the fall that is looked for. This
// takes four evaluations.
bool BlockSystem::rises_evenly(const BlockJudgement& judgement) {
  constexpr std::size_t kFew = 2;  // unknowns that are moved one by one in as many evaluations
  constexpr int kDirections = 2;
  constexpr double kClosely = 1.0 / 16;  // of the fall that is looked for
  if (structure_.tangent_size() <= kFew) return false;
  const double limit = std::max(kClosely * judgement.contradiction(), judgement.terms->cost_noise);
  Random random(1);
  std::vector<double> step(structure_.tangent_size(), 0.0), trial;
  for (int direction = 0; direction < kDirections; ++direction) {
    for (std::size_t j = 0; j < step.size(); ++j) {
      const double way = random.of_either_sign(1, 2);
      if (!point().is_fixed(j) && column_norm(j) > 0)
        step[j] = way * kNearInNoise * judgement.sigma / column_norm(j);
    }
    const std::vector<double> image = model_.times(step);
    double rise = -dot(image, image);  // by which the rise exceeds that of JᵀJ
    for (int side = 0; side < 2; ++side) {
      if (model_.plus(at_.x, step, trial)) return false;
      rise += cost_or_none(trial) - at_.model.cost;
      for (double& s : step) s = -s;
    }
    if (!(std::fabs(rise) <= limit)) return false;
  }
  return true;
}

// Returns the cost at a point that the iteration does not visit, or NaN if the user's function throws there,
// because that gives no information about x.
double BlockSystem::cost_or_none(std::span<const double> x) try { return evaluate(x, trial_); } catch (...) {
  trial_.x.clear();
  return kNaN;
}

// Returns true if J has a rank above `rank` at a point that the iteration does not visit. The rank itself is
// computed only where it may be higher. Functions that leave their programs there are not recorded again,
// since they are called only once. Afterwards, J must be evaluated at x again.
bool BlockSystem::determines_more(std::span<const double> x, int rank) try {
  if (!std::isfinite(evaluate(x, trial_))) return false;
  if (rank >= 0 && !low_jacobian()) {
    model_.linearize<double>(trial_.x, trial_.r);
    if (rank_bound_.at_most(static_cast<std::size_t>(rank), structure_, model_.records<double>())) {
      ++facts_.derivative_evaluations;
      return false;
    }
    if (!gather(trial_, true)) return false;
  } else if (!gather(trial_)) {
    return false;
  }
  const BlockPoint point{model_, structure_, model_.problem(), solver_, trial_.x, trial_.model.cost, {}, 0};
  const BlockTerms terms = measure_terms(point);
  BlockDistance distance = block_distance(point, terms);
  examine_weak_directions(point, terms, distance);
  return distance.known && distance.rank > rank;
} catch (...) {
  return false;
}

// Returns the reason, in words, why the data may determine more parameters than the rank of J at x shows. The
// text is empty if there is no reason. It is also empty if there are many unknowns, conjugate gradients, or
// numbers on bounds, because nothing is checked then.
std::string BlockSystem::doubt_of_rank(int rank) {
  if (structure_.tangent_size() > kMostExamined || solver_.iterative() || at_.fixed_count > 0) return {};
  if (losses_hide_parameters(rank)) {
    return "a loss gives no weight to the residuals that would determine some parameter: start nearer, or "
           "use "
           "a larger scale";
  }
  if (lost_parameters(rank))
    return "at other points the data determine more parameters: one ran off, or the start was too far away";
  if (moves_in_jumps()) {
    return "the derivatives by some parameter are 0, though other values of it change the cost: a comparison "
           "makes it move in jumps. Hold it constant at several values, or write a smooth step";
  }
  return {};
}

// Returns true if J without losses has a rank above `rank` at x. A loss such as Tukey's gives far residuals a
// weight of 0, and so may hide a parameter. If some loss has a slope of 0 at 0, its rows are switched off on
// purpose, and nothing is checked.
bool BlockSystem::losses_hide_parameters(int rank) {
  const auto never_counts = [](const Loss& loss) { return loss(0).slope == 0; };
  if (structure_.losses.empty() || std::ranges::any_of(structure_.losses, never_counts)) return false;
  model_.apply_losses(false);
  const bool hidden = determines_more(at_.x, rank);
  model_.apply_losses(true);
  differentiate(at_, at_.model.plan);
  return hidden;
}

// Checks whether the data determine more parameters at the start, or near x with one number of x made much
// smaller or larger, or of the other sign. If so, the rank deficiency at x is not a property of the problem.
bool BlockSystem::lost_parameters(int rank) {
  constexpr std::size_t kMost = 16;  // numbers that are changed one by one
  // At a minimum with zero residual, J may lose rank although the minimum is a single point (Powell's
  // singular function). Then the residuals grow on the way back to the start.
  constexpr double kPart = 0.1, kZero = 1e-20;  // of the way; of the cost at the start
  const double start_cost = cost_or_none(start_);
  if (at_.model.cost <= kZero * start_cost) {
    std::vector<double> back = at_.x;
    for (std::size_t i = 0; i < back.size(); ++i) back[i] += kPart * (start_[i] - back[i]);
    if (cost_or_none(back) > kZero * start_cost) return false;
  }
  bool lost = determines_more(start_, rank);
  for (std::uint32_t p = 0; p < model_.problem().parameters.size() && !lost; ++p) {
    const ParameterBlock& block = model_.problem().parameters[p];
    if (structure_.tangent_offset(p) < 0 || block.manifold || structure_.tangent_size() > kMost) continue;
    for (int i = 0; i < block.size && !lost; ++i) {
      for (const double factor : {-1.0, 1e-3, 0.1, 10.0, 1e3}) {
        std::vector<double> x = at_.x;
        for (double& v : x) v *= 1.07;  // since columns may be dependent by chance at x itself
        double& moved = x[structure_.list.offsets[p] + static_cast<std::size_t>(i)];
        moved = moved == 0 ? factor : factor * moved;
        if (model_.bounds().project(x)) continue;
        lost = lost || determines_more(x, rank);
      }
    }
  }
  differentiate(at_, at_.model.plan);
  return lost;
}

// Returns true if column j of J is 0 at a point that the iteration does not visit. Afterwards, J must be
// evaluated at x again.
bool BlockSystem::is_flat_at(std::span<const double> x, std::size_t j) try {
  return std::isfinite(evaluate(x, trial_)) && gather(trial_) && !(column_norm(j) > 0);
} catch (...) {
  return false;
}

// Moves each number whose column of J is 0 by a part of its size. Returns true if the cost changes although
// the column is 0 there, too. Such a number is only compared with another, as t in x > t, so its derivative
// is always 0.
bool BlockSystem::moves_in_jumps() {
  constexpr std::size_t kMost = 16;                             // numbers
  constexpr double kChange = 1e-9;                              // of the cost
  constexpr double kParts[] = {-1, -0.1, -0.01, 0.01, 0.1, 1};  // of the number
  if (structure_.tangent_size() > kMost) return false;
  struct Number {
    std::size_t place, column;  // in x, of J
  };
  std::vector<Number> unseen;
  for (std::uint32_t p = 0; p < model_.problem().parameters.size(); ++p) {
    const ParameterBlock& block = model_.problem().parameters[p];
    const auto tangent = structure_.tangent_offset(p);
    if (tangent < 0 || block.manifold) continue;
    for (int i = 0; i < block.size; ++i) {
      const auto column = static_cast<std::size_t>(tangent + i);
      if (column_norm(column) == 0)
        unseen.push_back({structure_.list.offsets[p] + static_cast<std::size_t>(i), column});
    }
  }
  bool jumps = false;
  for (const auto& [place, column] : unseen) {
    for (const double part : kParts) {
      std::vector<double> x = at_.x;
      x[place] += part * std::max(1.0, std::fabs(x[place]));
      if (jumps || model_.bounds().project(x)) continue;
      const double cost = at_.model.cost;
      jumps = std::fabs(cost_or_none(x) - cost) > kChange * cost && is_flat_at(x, column);
    }
  }
  if (!unseen.empty()) differentiate(at_, at_.model.plan);
  return jumps;
}

}  // namespace nlsq::inline v0
