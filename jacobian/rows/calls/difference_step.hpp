// Steps of central differences. A step is the cube root of the relative noise, times the parameter's size
// (Dennis and Schnabel, Numerical Methods for Unconstrained Optimization, section 5.6). Rows without dual
// numbers use them.
#pragma once

#include <nlsq/export.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

// p ± h, where the distance h is exactly representable, so that dividing by it adds no error. If a bound
// leaves no room for one of the points, both lie on the other side, at p ± h and p ± 2h.
struct DifferenceStep {
  double above, below;
  bool central = true;

  // `share` is the part of the usual step that is taken, from straight_share().
  explicit DifferenceStep(double p, double typical, double lower = -kNoBound, double upper = kNoBound,
                          double share = 1) {
    const double h =
        share * std::cbrt(std::numeric_limits<double>::epsilon()) * std::max(std::fabs(p), typical);
    above = p + h;
    below = p - h;
    if (above <= upper && below >= lower) return;
    central = false;
    if (above <= upper && p + 2 * h <= upper) below = p + 2 * h;
    else if (below >= lower && p - 2 * h >= lower) above = p - 2 * h;
    else above = std::min(above, upper), below = std::max(below, lower);
  }

  // Returns true if both points lie on one side, at p ± h and p ± 2h, as they do at a bound.
  bool one_sided() const { return !central && below > above; }

  // Returns the derivative from the values above, at and below p. If one of the outer values is not finite,
  // the other side alone is used. Returns 0 if the bounds are equal.
  double slope(double p, double f_above, double f, double f_below) const {
    const bool up = std::isfinite(f_above) && above != p, down = std::isfinite(f_below) && below != p;
    if (central && up == down) return (f_above - f_below) / (above - below);
    if (!up && !down && above == p && below == p) return 0;
    const double by_above = (f_above - f) / (above - p), by_below = (f_below - f) / (below - p);
    if (up != down || central) return up ? by_above : by_below;
    // The slope of the parabola through all three points.
    const double share = (below - p) / (below - above);
    return share * by_above + (1 - share) * by_below;
  }
};

// A step of central differences is too long if its ratio (StepCheck) reaches this value.
inline constexpr double kCurved = 0.02;
// A step that changes the residuals by a smaller part of their norm gives derivatives with few digits.
inline constexpr double kHidden = 1e-10;

// Measures how straight residuals are over a step. Steps are proportional to the parameter, which is wrong
// for an offset: a date of 2.45 million days gets a step of 15 days, which crosses whole peaks of the data.
// There the second difference of the residuals is as large as the first.
class StepCheck {
 public:
  // Returns the check of a step to a place where the residuals are not known.
  static StepCheck none() {
    StepCheck check;
    check.first_ = kNoBound;
    return check;
  }
  void add(double above, double here, double below) {
    first_ += (above - below) * (above - below);
    second_ += (above - 2 * here + below) * (above - 2 * here + below);
    residual_ += here * here;
  }
  // Adds the values at p and at the two points of `step`. Where both points lie on one side of p, as they do
  // at a bound, the middle one of the three takes the place of p.
  void add(const DifferenceStep& step, double p, double above, double here, double below) {
    if (!step.one_sided()) add(above, here, below);
    else if (step.above > p) add(below, above, here);
    else add(above, below, here);
  }
  // Returns the second differences over the first ones. The result is 0 if the second differences are too
  // small to matter, and infinite if a difference is not finite. It is NaN if all differences are as small as
  // the rounding errors of the residuals, because they then show nothing.
  double ratio() const {
    constexpr double kSeen = 1e-4;  // of the residuals
    constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
    if (!std::isfinite(first_ + second_)) return kNoBound;
    if (std::max(first_, second_) <= kRounding * kRounding * residual_)
      return std::numeric_limits<double>::quiet_NaN();
    if (!(second_ > kSeen * kSeen * residual_)) return 0;
    return std::sqrt(second_ / first_);
  }
  double residual() const { return std::sqrt(residual_); }  // ‖r‖
  bool is_finite() const { return std::isfinite(first_ + second_); }
  // Returns true if the residuals change visibly, and nearly in proportion to the step.
  bool is_straight_and_visible() const {
    return is_finite() && first_ >= kHidden * kHidden * residual_ && first_ > 0 &&
           second_ <= kCurved * kCurved * first_;
  }

 private:
  double first_ = 0, second_ = 0, residual_ = 0;  // sums of squares
};

// Searches for the share of a step over which residuals are straight. The result is the largest share that
// was tried whose ratio (StepCheck) is at most `curved`. Noise may leave no such share. Then the result is
// the share with the least ratio. This is usually the first one, because shorter steps make noise worse.
class ShareSearch {
 public:
  explicit ShareSearch(double share = 1, double curved = kCurved, double least = 0x1p-28)
      : share_(share), best_(share), curved_(curved), least_(least) {}

  bool open() const { return open_; }      // true while share() still has to be tried
  double share() const { return share_; }  // the share to try next
  double best() const { return best_; }
  bool found() const { return lowest_ <= curved_; }  // residuals are straight over the best share
  // Takes the ratio at share().
  void take(double ratio) {
    if (ratio < lowest_) best_ = share_, lowest_ = ratio;
    open_ = ratio > curved_;
    if (open_) share_ *= std::clamp(0.2 * curved_ / ratio, 1.0 / 16, 0.5);
    open_ = open_ && share_ > least_;
  }

 private:
  double share_, best_, curved_, least_, lowest_ = kNoBound;
  bool open_ = true;
};

// Holds a column of J that was computed by differences with one step, and the result of StepCheck for this
// step.
struct CheckedColumn {
  std::vector<double> slopes;
  double ratio = 0;     // StepCheck::ratio()
  double residual = 0;  // ‖r‖
};

inline double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

// Returns the size that steps of differences are proportional to, for a parameter that starts at 0. The
// number 0 shows no size, so the function first assumes 1. A step for that size may change the residuals by
// more than ‖r‖. Then it may cross whole waves of some rows, although all other rows are straight. In this
// case the function tries a second size: the one that changes the residuals by ‖r‖. It returns the second
// size if the derivatives differ there, and 1 otherwise. `column_at(size)` computes the derivatives with a
// step for that size.
template <class ColumnAt>
double size_of_zero(ColumnAt column_at) {
  const CheckedColumn of_one = column_at(1.0);
  const double size = of_one.residual / norm_of(of_one.slopes);
  if (!(size > 0) || !(std::cbrt(std::numeric_limits<double>::epsilon()) > size)) return 1;
  CheckedColumn column = column_at(size);
  const double all = norm_of(column.slopes);
  for (std::size_t i = 0; i < column.slopes.size(); ++i) column.slopes[i] -= of_one.slopes[i];
  return column.ratio <= kCurved && norm_of(column.slopes) > kCurved * all ? size : 1;
}

// Searches for the size that steps of a tiny number are proportional to. Steps in proportion to the number
// itself move no residual beside larger terms, as from a start of 1e-16, or of an earlier result that is 0 up
// to rounding. So ever larger sizes are tried, at most 1, which is also the size of the number 0. The result
// is the first size over which the residuals are straight and move visibly. If there is none, it is the size
// of the number itself: then one row may hide all others, or the number has no effect.
class SizeSearch {
 public:
  explicit SizeSearch(double size) : size_(size), found_(size), open_(size < 1) {}

  bool open() const { return open_; }    // true while size() still has to be tried
  double size() const { return size_; }  // the size to try next
  double found() const { return found_; }
  void take(const StepCheck& check) {
    if (check.is_straight_and_visible()) {
      found_ = size_;
      open_ = false;
      return;
    }
    open_ = size_ < 1 && check.is_finite();
    size_ = std::min(1.0, kGrowth * size_);
  }

 private:
  // Residuals are straight over some five decades of steps between noise and curvature.
  static constexpr double kGrowth = 32;
  double size_, found_;
  bool open_;
};

// Runs a search to its end. `ratio_at(share)` returns the ratio of a share.
template <class RatioAt>
double straight_share(ShareSearch search, RatioAt ratio_at) {
  while (search.open()) search.take(ratio_at(search.share()));
  return search.best();
}

// Returns the least size of each parameter from which its step is computed: the size of its starting value,
// or 1 if that is zero.
inline std::vector<double> typical_sizes(std::span<const double> start) {
  std::vector<double> sizes;
  for (const double p : start) sizes.push_back(p != 0 && std::isfinite(p) ? std::fabs(p) : 1.0);
  return sizes;
}

// Returns the size of a number that steps of differences are proportional to, at least `least`. The number 0
// has no size, so it counts as 1.
inline double size_of_number(double p, double least) { return p != 0 ? std::max(std::fabs(p), least) : 1; }

// Holds derivatives by extrapolated differences: central differences with ever shorter steps, extrapolated to
// step zero (C. J. F. Ridders, Accurate computation of F'(x) and F'(x)F''(x), Advances in Engineering
// Software 4(2), 1982). They take about ten evaluations instead of two for central differences. They give ten
// to twelve digits instead of seven to ten, and an error estimate.
struct ExtrapolatedSlopes {
  std::vector<double> slope;  // for each component; NaN where f is not finite near p
  std::vector<double> error;  // its estimated error: the larger of truncation and rounding
  bool extrapolated = true;   // false if bounds leave almost no room; the estimate is then too large
};

// Evaluates several functions of one number at once.
using ValuesAt = std::function<std::vector<double>(double p)>;

// Differentiates `f` at p, where it has the values `here`. Steps keep lower <= p ± h <= upper. They start at
// h = 0.01 max(|p|, typical), or less beside a bound. If a bound leaves little room on one side, differences
// to the other side are extrapolated. If there is almost no room on both sides, differences are not
// extrapolated. A component that is not finite for the longer steps is extrapolated from the shorter ones.
// `constants` are the sizes of numbers that are subtracted inside f, whose rounding errors the values have.
// There is one for each component, or none.
NLSQ_API ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                                double typical, double lower, double upper,
                                                std::span<const double> constants = {});
// Does the same with steps to both sides that start at `first`. The caller knows that the components together
// are not far from straight over this step. A single one may be: at its maximum, it is straight over no step
// at all. So shorter steps are tried only where errors are large, and the slope with the lesser error is
// taken.
NLSQ_API ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                                double first);

}  // namespace nlsq::inline v0
