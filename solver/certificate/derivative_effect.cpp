// Measures by differences along moves how far wrong derivatives have moved the minimum.
#include "certificate/derivative_effect.hpp"

#include "linear/dot.hpp"
#include "linear/small_dense.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr double kClear = 0.4 * kFarOff;  // smaller effects do not count
// Steps in standard errors. The first is short, because far from a good fit a standard error is longer than
// the shape of a function. Noise of the residuals may need longer ones.
constexpr double kSteps[] = {0x1p-20, 0x1p-14, 0x1p-9, 0x1p-6, 0x1p-3};
// An effect must show over the longest step, too, about as large. A function may have an error that looks
// smooth over short steps.
constexpr double kAboutAsLarge = 0.5;
// Two effects agree if they differ by no more than this part of the larger one.
constexpr double kConsistentEffects = 0.2;
// A row has a kink if its slopes to both sides differ by more than this part of their sum.
constexpr double kJump = 0.1;
// A move counts as dependent on the others if at most this part of its image is left after the images of the
// others are subtracted.
constexpr double kDependent = 1e-3;

double length_of(const std::vector<double>& v) { return small_dense::norm(v.data(), v.size()); }

void add_scaled(double factor, std::span<const double> v, std::span<double> to) {
  for (std::size_t i = 0; i < v.size(); ++i) to[i] += factor * v[i];
}

// The effect of wrong derivatives on the slope of the cost along a move.
struct Effect {
  double slope = 0, error = 0;  // the slope by differences, and its difference from the slope by J
  double noise = 0;             // of the differences
  bool moved = false;           // some residual changes
  double stretch = 1;           // ‖slopes of the residuals‖ / ‖J d‖, at least 1; 1 if J d is 0

  // If the slope by differences is 0, x is at the right minimum, whatever J says. A direction may seem weakly
  // determined by wrong derivatives alone. Then the move is too long, and the slopes of residuals show it.
  double size() const { return std::min(std::fabs(error), std::fabs(slope)) / stretch; }
};

// Sums the effect from slopes to both sides. `rounding` is the error of one row's slope.
Effect compare(const MovedRows& rows, std::span<const double> ahead, std::span<const double> behind,
               double rounding) {
  Effect out;
  double random = 0, jumps = 0, squares = 0, of_slopes = 0, of_given = 0;
  for (std::size_t i = 0; i < rows.given.size(); ++i) {
    const double slope = 0.5 * (ahead[i] + behind[i]), apart = rows.weighted[i] * (ahead[i] - behind[i]);
    if (!std::isfinite(slope)) continue;
    out.error += rows.weighted[i] * (slope - rows.given[i]);
    out.slope += rows.weighted[i] * slope;
    out.moved = out.moved || slope != 0;
    squares += rows.weighted[i] * rows.weighted[i];
    of_slopes += slope * slope;
    of_given += rows.given[i] * rows.given[i];
    // Noise of the residuals makes the slopes to both sides differ at random. At a kink, any slope between
    // the two is right.
    const bool jump = std::fabs(ahead[i] - behind[i]) > kJump * std::fabs(ahead[i] + behind[i]);
    if (jump) jumps += 0.5 * std::fabs(apart);
    else random += apart * apart;
    // A residual with few digits may not change over so short a step.
    if (ahead[i] == 0 && behind[i] == 0) jumps += std::fabs(rows.weighted[i] * rows.given[i]);
  }
  out.stretch = of_given > 0 && of_slopes > of_given ? std::sqrt(of_slopes / of_given) : 1;
  out.noise = (std::sqrt(random) + jumps + std::sqrt(squares) * rounding) / out.stretch;
  return out;
}

}  // namespace

OrthogonalMoves::OrthogonalMoves(std::size_t free, std::size_t residuals)
    : length_(std::sqrt(static_cast<double>(std::min(free, residuals)))) {}

void OrthogonalMoves::add(std::vector<double> move, std::vector<double> image) {
  const double before = length_of(image);
  for (std::size_t k = 0; k < moves_.size(); ++k) {
    const double part = dot(image, images_[k]) / dot(images_[k], images_[k]);
    add_scaled(-part, moves_[k], move);
    add_scaled(-part, images_[k], image);
  }
  const double left = length_of(image);
  if (!(left > kDependent * before) || !std::isfinite(left)) return;
  for (double& m : move) m *= length_ / left;
  for (double& m : image) m *= length_ / left;
  moves_.push_back(std::move(move));
  images_.push_back(std::move(image));
}

double effect_along(const MovedRows& rows) {
  std::vector<double> ahead, behind;
  std::optional<Effect> before, shown;
  const double clear = kClear * rows.sigma;
  const auto agree = [](const Effect& a, const Effect& b, double part) {
    return std::fabs(a.error - b.error) <= part * std::max(std::fabs(a.error), std::fabs(b.error));
  };
  for (const double part : kSteps) {
    const double step = part * rows.sigma;
    if (!rows.slopes(step, ahead)) return 0;
    const Effect one_sided = compare(rows, ahead, ahead, 0);
    if (one_sided.moved && one_sided.size() <= clear) return 0;
    const bool last = part == *std::rbegin(kSteps);
    if (shown && !last) continue;
    if (!rows.slopes(-step, behind)) return 0;
    const Effect found = compare(rows, ahead, behind, rows.rounding / step);
    if (found.moved && found.size() <= clear) return 0;
    if (shown) return agree(found, *shown, kAboutAsLarge) ? shown->size() : 0;
    if (!found.moved || !(found.size() - found.noise > clear)) continue;
    if (before) {
      if (!agree(found, *before, kConsistentEffects)) return 0;
      if (last) return found.size();
      shown = found;
    }
    before = found;
  }
  return 0;
}

std::optional<std::size_t> worst_move(std::span<const double> effects, double share) {
  const auto worst = std::ranges::max_element(effects);
  if (worst == effects.end() || !(*worst > 0)) return std::nullopt;
  const double count = share * static_cast<double>(effects.size());
  if (!(std::sqrt(dot(effects, effects) / count) > kFarOff)) return std::nullopt;
  return static_cast<std::size_t>(worst - effects.begin());
}

bool needs_all_moves(std::span<const double> effects) {
  constexpr double kPart = 0.125;
  return std::ranges::any_of(effects, [](double effect) { return effect > kPart * kFarOff; });
}

bool is_too_long(std::span<const double> move, double sigma, std::span<const double> sizes) {
  constexpr double kMostPart = 1e-2;
  for (std::size_t j = 0; j < move.size(); ++j) {
    if (!(kSteps[0] * sigma * std::fabs(move[j]) <= kMostPart * std::max(sizes[j], 1.0))) return true;
  }
  return false;
}

}  // namespace nlsq::inline v0
