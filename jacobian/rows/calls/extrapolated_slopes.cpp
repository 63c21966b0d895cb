// Computes derivatives by extrapolated differences (Ridders).
#include "rows/calls/difference_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kFirstStep = 1e-2;  // relative to the parameter's size
constexpr double kShorter = 2;       // factor by which each step is shorter than the last
constexpr int kMostSteps = 10;
constexpr double kTooCurved = 0.5;           // second over first differences of the first step
constexpr double kTooCurvedToOneSide = 0.1;  // the same, where extrapolation gains fewer digits in each step
constexpr double kLeastShare = 0x1p-36;      // smallest step that is tried, as a share of the first
// Least room on one side, as a share of the room on the other. With less, all points are taken on that other
// side, because rounding errors are divided by the step: short steps to both sides are worse than long steps
// to one.
constexpr double kLittleRoom = 1.0 / 32;
constexpr double kNoRoom = 1e-4;  // relative to the first step; with less room on both sides, extrapolation
                                  // would only amplify rounding
constexpr double kOrdersToOneSide = 2, kOrdersToBoth = 4;  // what each entry of a table removes, as a factor
constexpr double kEnough = 4 * std::numeric_limits<double>::epsilon();
// A component ends when its last entries differ by this multiple of the best error.
constexpr double kWorse = 2;

// Holds the extrapolation table of one component. Row i starts with the difference of step h / 2^i. Entry k
// of a row is free of the error terms up to h^(2k), or up to h^k if the differences are to one side.
class Table {
 public:
  explicit Table(double orders) : orders_(orders) {}
  double slope = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();

  bool done() const { return done_; }
  // `rounding` is the rounding error of the difference itself.
  void add(double difference, double rounding) {
    if (done_ || !std::isfinite(difference)) return;
    std::vector<double> row{difference};
    double factor = 1;
    for (std::size_t k = 0; k < latest_.size(); ++k) {
      factor *= orders_;
      row.push_back((factor * row[k] - latest_[k]) / (factor - 1));
      const double apart =
          std::max(std::fabs(row[k + 1] - row[k]), std::fabs(row[k + 1] - latest_[k])) + rounding;
      if (apart > error) continue;
      error = apart;
      slope = row[k + 1];
    }
    if (latest_.empty()) slope = difference;
    else
      done_ = error <= kEnough * std::fabs(slope) || std::fabs(row.back() - latest_.back()) >= kWorse * error;
    latest_ = std::move(row);
  }

 private:
  double orders_;
  std::vector<double> latest_;
  bool done_ = false;
};

// Takes differences between bounds that leave almost no room on either side. It does not extrapolate.
ExtrapolatedSlopes between_bounds(const ValuesAt& f, std::span<const double> here, double p, double typical,
                                  double lower, double upper) {
  std::vector<double> above, below;
  const auto ratio_at = [&](double share) {
    const DifferenceStep step(p, typical, lower, upper, share);
    above = f(step.above), below = f(step.below);
    if (!step.central && !step.one_sided()) return kNoBound;
    StepCheck check;
    for (std::size_t i = 0; i < here.size(); ++i) check.add(step, p, above[i], here[i], below[i]);
    return check.ratio();
  };
  ShareSearch search;
  double tried = 0;
  while (search.open()) search.take(ratio_at(tried = search.share()));
  const DifferenceStep step(p, typical, lower, upper, search.best());
  if (search.best() != tried) above = f(step.above), below = f(step.below);
  ExtrapolatedSlopes out;
  out.extrapolated = false;
  for (std::size_t i = 0; i < here.size(); ++i) {
    out.slope.push_back(step.slope(p, above[i], here[i], below[i]));
    const double far =
        step.above == p ? 0 : std::fabs((above[i] - here[i]) / (step.above - p) - out.slope[i]);
    out.error.push_back(std::isfinite(far) ? far : std::fabs(out.slope[i]));
  }
  return out;
}

// Holds the two places at which a function is evaluated for one difference at p.
struct Places {
  double high, low;  // one of them is p itself if the difference is to one side
};

// States where differences are taken: to both sides of p, or to the one side that has room.
struct Sides {
  double p, lower, upper;
  bool up = true, down = true;

  Places at(double h) const { return {up ? std::min(p + h, upper) : p, down ? std::max(p - h, lower) : p}; }
};

// Returns the first step, shortened if the function is far from straight over it. Otherwise a step from one
// side of a peak to the other would give differences of 0, which agree with each other although they are
// wrong.
double shortened(const ValuesAt& f, std::span<const double> here, const Sides& sides, double h) {
  const auto ratio_at = [&](double share) {
    const bool both = sides.up && sides.down;
    const Places far = sides.at(share * h), half = sides.at(0.5 * share * h);
    const std::vector<double> above = both || sides.up ? f(far.high) : f(half.low),
                              below = both || sides.down ? f(far.low) : f(half.high);
    StepCheck check;
    for (std::size_t i = 0; i < here.size(); ++i) {
      // To one side, the middle one of the three places is half a step away from p.
      if (both) check.add(above[i], here[i], below[i]);
      else if (sides.up) check.add(above[i], below[i], here[i]);
      else check.add(here[i], above[i], below[i]);
    }
    return check.ratio();
  };
  const double curved = sides.up && sides.down ? kTooCurved : kTooCurvedToOneSide;
  return h * straight_share(ShareSearch(1, curved, kLeastShare), ratio_at);
}

// Extrapolates from differences of steps h, h/2, ... that are known to be short enough.
ExtrapolatedSlopes extrapolate(const ValuesAt& f, std::span<const double> here, const Sides& sides, double h,
                               std::span<const double> constants) {
  const bool both = sides.up && sides.down;
  std::vector<Table> tables(here.size(), Table(both ? kOrdersToBoth : kOrdersToOneSide));
  const std::vector<double> values(here.begin(), here.end());
  for (int i = 0; i < kMostSteps; ++i, h /= kShorter) {
    const auto [high, low] = sides.at(h);
    const std::vector<double> above = sides.up ? f(high) : values, below = sides.down ? f(low) : values;
    for (std::size_t k = 0; k < tables.size(); ++k) {
      const double constant = constants.empty() ? 0 : constants[k];
      const double size = std::max(std::fabs(above[k]), std::fabs(below[k])) + constant;
      tables[k].add((above[k] - below[k]) / (high - low),
                    std::numeric_limits<double>::epsilon() * size / (high - low));
    }
    if (std::ranges::all_of(tables, &Table::done)) break;
  }
  ExtrapolatedSlopes out;
  for (const Table& table : tables) {
    out.slope.push_back(table.slope);
    out.error.push_back(table.error);
  }
  return out;
}

}  // namespace

ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                       double typical, double lower, double upper,
                                       std::span<const double> constants) {
  const double wanted = kFirstStep * std::max(std::fabs(p), typical);
  const double room_above = std::min(wanted, upper - p), room_below = std::min(wanted, p - lower);
  Sides sides{p, lower, upper};
  sides.up = room_above >= kLittleRoom * room_below;
  sides.down = room_below >= kLittleRoom * room_above;
  const bool both = sides.up && sides.down;
  const double h = both ? std::min(room_above, room_below) : std::max(room_above, room_below);
  if (!(h > kNoRoom * wanted)) return between_bounds(f, here, p, typical, lower, upper);
  return extrapolate(f, here, sides, shortened(f, here, sides, h), constants);
}

ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                       double first) {
  constexpr double kPoor = 1e-4;  // error of a slope, relative to it
  const Sides sides{p, -kNoBound, kNoBound};
  ExtrapolatedSlopes out = extrapolate(f, here, sides, first, {});
  const auto is_poor = [&](std::size_t i) { return !(out.error[i] <= kPoor * std::fabs(out.slope[i])); };
  bool poor = false;
  for (std::size_t i = 0; i < here.size(); ++i) poor = poor || is_poor(i);
  if (!poor) return out;
  // A component may have a jump or a kink beside p.
  const ExtrapolatedSlopes nearer = extrapolate(f, here, sides, shortened(f, here, sides, first), {});
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (!(nearer.error[i] < out.error[i])) continue;
    out.slope[i] = nearer.slope[i];
    out.error[i] = nearer.error[i];
  }
  return out;
}

}  // namespace nlsq::inline v0
