// Computes derivatives of a vector function by differences: one-sided, central, corrected from a near point,
// or extrapolated.
#include "rows/calls/difference_step.hpp"
#include "rows/calls/fallback_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kFar = 1e-5;     // of a parameter: a longer step is not the last one of a fit
constexpr double kLittle = 0.05;  // of the residuals, by a step to one side
constexpr double kHardly = 1e-9;  // of the residuals: below this, a step may see nothing but the curvature
constexpr double kBeside = 1e-6;  // of a parameter: bends are the same so near
constexpr double kSame = 5e-12;   // of a parameter: so near, derivatives differ by less than their errors

// Returns ‖error‖ / ‖slope‖ of a column of J. A column of zeros gives 0, because its parameter has no effect.
double relative_error(std::span<const double> error, std::span<const double> slope) {
  double errors = 0, slopes = 0;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    errors += error[i] * error[i];
    slopes += slope[i] * slope[i];
  }
  return slopes > 0 && std::isfinite(errors) ? std::sqrt(errors / slopes) : 0;
}

bool has_slopes(const ExtrapolatedSlopes& by) {
  return std::ranges::all_of(by.slope, [](double slope) { return std::isfinite(slope); });
}

// Holds by how much a step moves the residuals, and the norm of the residuals.
struct Move {
  double by = 0, all = 0;
  // True if the step changes the residuals little, but visibly. False for NaN.
  bool is_little() const { return by <= kLittle * all && by >= kHardly * all; }
  bool is_leap() const { return by > all; }
  bool is_hidden() const { return !(by >= kHidden * all && by > 0); }
};

Move move_of(std::span<const double> moved, std::span<const double> here) {
  double change = 0, size = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    change += (moved[i] - here[i]) * (moved[i] - here[i]);
    size += here[i] * here[i];
  }
  return {std::sqrt(change), std::sqrt(size)};
}

StepCheck check_of(const DifferenceStep& step, double p, std::span<const double> above,
                   std::span<const double> here, std::span<const double> below) {
  StepCheck check;
  for (std::size_t i = 0; i < here.size(); ++i) check.add(step, p, above[i], here[i], below[i]);
  return check;
}

}  // namespace

// Returns the residuals where parameter j has another value.
std::vector<double> VectorRows::residuals_beside(std::span<const double> p, std::size_t j,
                                                 double place) const {
  std::vector<double> moved(p.begin(), p.end());
  moved[j] = place;
  return residuals_at(moved);
}

DifferenceStep VectorRows::step_within_bounds(std::size_t k, double p, double share) const {
  if (lower_.empty()) return DifferenceStep(p, typical_[k], -kNoBound, kNoBound, share);
  const auto j = static_cast<std::size_t>(free_[k]);
  return DifferenceStep(p, typical_[k], lower_[j], upper_[j], share);
}

// Finds the size of a parameter whose start may be so small that steps in proportion to it move no residual.
// A size from which the function throws is not taken, because the function may not be defined there.
void VectorRows::find_size(std::size_t k, double p, std::span<const double> here, const ValuesAt& at) const {
  const auto check_at = [&](double size) {
    typical_[k] = size;
    try {
      const DifferenceStep step = step_within_bounds(k, p, 1);
      const std::vector<double> above = at(step.above), below = at(step.below);
      return check_of(step, p, above, here, below);
    } catch (...) {
      return StepCheck::none();
    }
  };
  SizeSearch search(typical_[k]);
  while (search.open()) search.take(check_at(search.size()));
  typical_[k] = search.found();
}

// Shortens steps that turn out too long, for this point and for the rest of the fit. If shorter steps do not
// help, because the residuals are noisy, it does not search again.
void VectorRows::by_differences(std::span<const double> p, Evaluation& result) const {
  const std::vector<double>& here = result.residuals;
  std::vector<double> above, below;
  const bool from_above = result.one_sided;
  bool bends = !large();
  result.one_sided = false;
  result.bends.assign(bends ? free_.size() : 0, std::vector<double>(rows()));
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    const auto at = [&](double place) { return residuals_beside(p, j, place); };
    const auto step_of = [&](double share) { return step_within_bounds(k, p[j], share); };
    // Computes the residuals at the two points of a step, into `above` and `below`. If `known` is true,
    // `above` holds them already, and only those below are computed.
    const auto ratio_at = [&](double share, bool known = false) {
      const DifferenceStep step = step_of(share);
      if (!known) above = at(step.above);
      below = at(step.below);
      if (!step.central && !step.one_sided()) return kNoBound;
      return check_of(step, p[j], above, here, below).ratio();
    };
    DifferenceStep step = step_of(step_shares_[k]);
    bool one_side = from_above && step.central;
    const bool may_be_tiny = without_size_[k] && p[j] != 0;
    const bool known = one_side || may_be_tiny;  // `above` holds the residuals there
    if (known) above = at(step.above);
    if (may_be_tiny && move_of(above, here).is_hidden()) {
      find_size(k, p[j], here, at);
      step = step_of(step_shares_[k]);
      one_side = from_above && step.central;
      above = at(step.above);
    }
    // Few steps are so long. All others are spared the calls that size_of_zero() makes.
    if (without_size_[k] && one_side && p[j] == 0 && move_of(above, here).is_leap()) {
      typical_[k] = size_of_zero([&](double size) {
        CheckedColumn out{.slopes = {}, .ratio = ratio_at(size), .residual = norm_of(here)};
        for (std::size_t i = 0; i < rows(); ++i)
          out.slopes.push_back(step_of(size).slope(p[j], above[i], here[i], below[i]));
        return out;
      });
      step = step_of(step_shares_[k]);
      above = at(step.above);
    }
    without_size_[k] = false;
    if (one_side && move_of(above, here).is_little()) {
      below.assign(rows(), std::numeric_limits<double>::quiet_NaN());
      result.one_sided = true;
      bends = false;
    } else if (ratio_at(step_shares_[k], known) > kCurved && !shortened_in_vain_[k]) {
      const double share = straight_share(ShareSearch(step_shares_[k]), ratio_at);
      shortened_in_vain_[k] = share == step_shares_[k];
      step_shares_[k] = share;
      step = step_of(share);
      ratio_at(share);
    }
    for (std::size_t i = 0; i < rows(); ++i)
      result.derivatives[k][i] = step.slope(p[j], above[i], here[i], below[i]);
    bends = bends && step.central;
    for (std::size_t i = 0; bends && i < rows(); ++i) {
      result.bends[k][i] = result.derivatives[k][i] - (above[i] - here[i]) / (step.above - p[j]);
      bends = std::isfinite(result.bends[k][i]);
    }
  }
  if (!bends) result.bends.clear();
  result.shares = step_shares_;
}

// Returns the largest move of a free parameter from one point to another, in units of its size.
double VectorRows::distance(std::span<const double> x, std::span<const double> other) const {
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double size = step_shares_[k] * std::max(std::fabs(x[k]), typical_[k]);
    const double moved = std::fabs(x[k] - other[k]) / size;
    if (!(moved <= largest)) largest = moved;  // also where it is NaN
  }
  return largest;
}

// Copies the derivatives of a point that is so near that they are the same. Returns false if there is none.
bool VectorRows::as_beside(Evaluation& result) const {
  const auto same = std::ranges::find_if(recent_, [&](const auto& one) {
    return !one->derivatives.empty() && !one->one_sided && one->shares == step_shares_ &&
           distance(result.x, one->x) <= kSame;
  });
  if (same == recent_.end()) return false;
  result.derivatives = (*same)->derivatives;
  return true;
}

// Takes one-sided differences, and adds a correction that is known from a point near x. At that point, both
// central and one-sided differences were taken, and the correction is central minus one-sided. With steps h,
// at a distance d, it is wrong by h d |f'''|/2, which is less than the error h² |f'''|/6 of central
// differences. Returns false if there is no such point. The last steps of a fit are short, so this saves half
// of their calls.
bool VectorRows::by_bends(std::span<const double> p, Evaluation& result) const {
  const auto close = std::ranges::find_if(recent_, [&](const auto& one) {
    return !one->bends.empty() && one->shares == step_shares_ && distance(result.x, one->x) <= kBeside;
  });
  if (close == recent_.end()) return false;
  const Evaluation& known = **close;
  std::vector<double> moved(p.begin(), p.end());
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    moved[j] = DifferenceStep(p[j], typical_[k], -kNoBound, kNoBound, step_shares_[k]).above;
    if (!upper_.empty() && moved[j] > upper_[j]) return false;
    const std::vector<double> above = residuals_at(moved);
    for (std::size_t i = 0; i < rows(); ++i) {
      const double slope = (above[i] - result.residuals[i]) / (moved[j] - p[j]) + known.bends[k][i];
      if (!std::isfinite(slope)) return false;
      result.derivatives[k][i] = slope;
    }
    moved[j] = p[j];
  }
  result.shares = step_shares_;
  return true;  // without bends of its own, so that their errors do not add up
}

void VectorRows::by_extrapolation(std::span<const double> p, Evaluation& result) const {
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    const auto along = [&](double place) { return residuals_beside(p, j, place); };
    const double lower = lower_.empty() ? -kNoBound : lower_[j],
                 upper = upper_.empty() ? kNoBound : upper_[j];
    if (without_size_[k] && p[j] != 0) find_size(k, p[j], result.residuals, along);
    without_size_[k] = false;
    const auto between = [&](double from, double to) {
      return extrapolated_slopes(along, result.residuals, p[j], typical_[k], from, to, constants_);
    };
    ExtrapolatedSlopes by = between(lower, upper);
    // If the function is not finite on one side, as at the edge of its domain, the other side is used.
    if (!has_slopes(by)) by = between(p[j], upper);
    if (!has_slopes(by)) by = between(lower, p[j]);
    result.errors.push_back(by.extrapolated ? relative_error(by.error, by.slope) : 0);
    result.derivatives[k] = std::move(by.slope);
  }
}

// Returns true if the fit is still far from its end: it starts here, or some parameter is far from its value
// at every point that has derivatives. One-sided derivatives, of error h |f''|/2 with h = cbrt(eps) |p|, are
// accurate enough for such a step, and save half of the calls.
bool VectorRows::far(std::span<const double> x) const {
  bool known = false;
  for (const auto& one : recent_) {
    if (one->derivatives.empty()) continue;
    known = true;
    if (!(distance(x, one->x) > kFar)) return false;
  }
  return known || std::ranges::equal(x, start_at_);
}

}  // namespace nlsq::inline v0
