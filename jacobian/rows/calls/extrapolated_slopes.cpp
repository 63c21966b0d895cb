// Derivatives by extrapolated differences (Ridders).
#include "rows/calls/difference_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kFirstStep = 1e-2;  // relative to the parameter's size
constexpr double kShorter = 2;       // factor by which each step is shorter than the last
constexpr int kMostSteps = 10;
constexpr double kTooCurved = 0.5;       // second over first differences of the first step
constexpr double kLeastShare = 0x1p-36;  // smallest step that is tried, as a share of the first
constexpr double kNoRoom = 1e-4;  // relative to the first step; with less room beside a bound, extrapolation
                                  // would only amplify rounding
constexpr double kEnough = 4 * std::numeric_limits<double>::epsilon();
// A component ends when its last entries differ by this multiple of the best error.
constexpr double kWorse = 2;

// The extrapolation table of one component. Row i starts with the difference of step h / 2^i. Entry k of a
// row is free of the error terms up to h^(2k).
class Table {
 public:
  double slope = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();

  bool done() const { return done_; }
  // `rounding` is the rounding error of the difference itself.
  void add(double difference, double rounding) {
    if (done_ || !std::isfinite(difference)) return;
    std::vector<double> row{difference};
    double factor = 1;
    for (std::size_t k = 0; k < latest_.size(); ++k) {
      factor *= kShorter * kShorter;
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
  std::vector<double> latest_;
  bool done_ = false;
};

ExtrapolatedSlopes one_sided(const ValuesAt& f, std::span<const double> here, double p, double typical,
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
  out.one_sided = true;
  for (std::size_t i = 0; i < here.size(); ++i) {
    out.slope.push_back(step.slope(p, above[i], here[i], below[i]));
    const double far =
        step.above == p ? 0 : std::fabs((above[i] - here[i]) / (step.above - p) - out.slope[i]);
    out.error.push_back(std::isfinite(far) ? far : std::fabs(out.slope[i]));
  }
  return out;
}

// Returns the first step, shortened if the function is far from straight over it. Otherwise a step from one
// side of a peak to the other would give differences of 0, which agree with each other although they are
// wrong.
double shortened(const ValuesAt& f, std::span<const double> here, double p, double h) {
  const auto ratio_at = [&](double share) {
    const std::vector<double> above = f(p + share * h), below = f(p - share * h);
    StepCheck check;
    for (std::size_t i = 0; i < here.size(); ++i) check.add(above[i], here[i], below[i]);
    return check.ratio();
  };
  return h * straight_share(ShareSearch(1, kTooCurved, kLeastShare), ratio_at);
}

}  // namespace

ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                       double typical, double lower, double upper) {
  const double wanted = kFirstStep * std::max(std::fabs(p), typical);
  double h = std::min({wanted, upper - p, p - lower});
  if (!(h > kNoRoom * wanted)) return one_sided(f, here, p, typical, lower, upper);
  h = shortened(f, here, p, h);
  std::vector<Table> tables(here.size());
  for (int i = 0; i < kMostSteps; ++i, h /= kShorter) {
    const double high = std::min(p + h, upper), low = std::max(p - h, lower);
    const std::vector<double> above = f(high), below = f(low);
    for (std::size_t k = 0; k < tables.size(); ++k) {
      const double size = std::max(std::fabs(above[k]), std::fabs(below[k]));
      tables[k].add((above[k] - below[k]) / (high - low),
                    std::numeric_limits<double>::epsilon() * size / (high - low));
    }
    if (std::ranges::all_of(tables, &Table::done)) break;
  }
  ExtrapolatedSlopes out;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    out.slope.push_back(tables[k].slope);
    out.error.push_back(tables[k].error);
  }
  return out;
}

}  // namespace nlsq::inline v0
