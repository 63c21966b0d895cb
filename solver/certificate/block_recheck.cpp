// Compares compiled programs of residual blocks with the user's own code. Each block is compared by itself,
// so that a large residual does not hide errors in others.
#include "blocks/block_model.hpp"
#include "blocks/recording_place.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// relative change of x by which the size of a residual's terms is measured
constexpr double kLittle = 0x1p-20;
// This is the largest allowed difference, relative to a block's largest residual and to its terms.
constexpr double kSameResidual = 1e-9;
constexpr double kSameTerms = 1e-13;
// The same limits where constants of a function were recorded in an earlier solve and the function was not
// called in this one. These limits are tighter, so that a block which passes here passes at the end, too.
// They still allow the rounding of a residual whose constants are larger than the terms that change with x,
// such as a pixel's coordinate beside a small angle.
constexpr double kCarriedResidual = 1e-10, kCarriedTerms = 5e-14;

// These are seeds for near(). With each seed the parameters move by other shares and with other signs.
constexpr std::uint32_t kDirections[] = {1, 0x9E3779B9, 0x85EBCA6B};

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

}  // namespace

// Returns x with every free number changed slightly, each by a different share that follows from `share`.
std::vector<double> BlockModel::near(std::span<const double> x, std::uint32_t share) const {
  std::vector<double> step(structure_.tangent_size(), 0.0), there, back;
  for (std::uint32_t p = 0; p < problem_.parameters.size(); ++p) {
    const ParameterBlock& block = problem_.parameters[p];
    const std::int64_t first = structure_.tangent_offset(p);
    if (first < 0) continue;
    const double* numbers = x.data() + structure_.list.offsets[p];
    const double largest = largest_magnitude({numbers, static_cast<std::size_t>(block.size)});
    // scale for numbers that are zero, and for manifolds
    const double size = largest > 0 ? std::min(largest, 1.0) : 1;
    for (int j = 0; j < block.tangent(); ++j) {
      share = share * 1664525U + 1013904223U;
      const double unit = block.manifold || numbers[j] == 0 ? size : std::fabs(numbers[j]);
      const double part = static_cast<double>(share) * 0x1p-32;
      step[static_cast<std::size_t>(first + j)] = kLittle * unit * (part < 0.5 ? part - 1 : part);
    }
  }
  if (!plus(x, step, there)) return there;
  // If a number lies on a bound and could not move, it moves the other way.
  for (double& s : step) s = -s;
  plus(x, step, back);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = there[i] == x[i] ? back[i] : there[i];
  return there;
}

// Returns true if some block's residuals differ from its own code's by more than `relative` times the largest
// of them and by more than `of_terms` times their terms. The terms are measured by how far a residual moves
// with x, and only if the first test fails. x moves in several directions, because in one of them the changes
// of two terms may cancel. If near() moved to x in its first direction, `before` may hold the residuals at
// the point where it started from; they are then not evaluated again. Otherwise `before` is empty. `own` is
// overwritten.
bool BlockModel::differ(std::span<const double> x, std::span<const double> r, std::vector<double>& own,
                        double relative, double of_terms, std::span<const double> before) {
  struct Doubtful {
    std::size_t first, rows;
    double difference, size_of_terms;
  };
  std::vector<Doubtful> doubtful;
  for (std::size_t slot = 0; slot < structure_.list.blocks(); ++slot) {
    const std::size_t first = structure_.list.row[slot], rows = structure_.rows[slot];
    double difference = 0;
    for (std::size_t i = first; i < first + rows; ++i) {
      const double d = std::fabs(own[i] - r[i]);
      if (!std::isfinite(d)) return true;
      difference = std::max(difference, d);
    }
    const double size = std::max(largest_magnitude(r.subspan(first, rows)),
                                 largest_magnitude(std::span(own).subspan(first, rows)));
    if (!(difference <= relative * size)) doubtful.push_back({first, rows, difference, 0});
  }
  std::vector<double>& moved = own;  // which is no longer needed
  if (!before.empty()) moved.assign(before.begin(), before.end());
  for (const std::uint32_t direction : kDirections) {
    if (doubtful.empty()) return false;
    try {
      if (direction != kDirections[0] || before.empty()) cost(near(x, direction), moved);
    } catch (...) {  // the user did not ask for this point
      return true;
    }
    for (Doubtful& block : doubtful) {
      for (std::size_t i = block.first; i < block.first + block.rows; ++i)
        block.size_of_terms = std::max(block.size_of_terms, std::fabs(moved[i] - r[i]) / kLittle);
    }
    std::erase_if(doubtful,
                  [&](const Doubtful& block) { return block.difference <= of_terms * block.size_of_terms; });
  }
  return !doubtful.empty();
}

// The functions of a new problem would be recorded at recording_place(). So the branches there matter, and
// not those at x.
bool BlockModel::carries_wrongly(std::span<const double> x, std::span<const double> r_at_x) {
  const std::vector<double> place = recording_place(problem_, structure_, x);
  const std::vector<double> there = near(place, kDirections[0]);
  const bool at_x = std::ranges::equal(place, x);
  std::vector<double> r, own;
  try {
    if (!at_x) cost(place, r);
    if (left_ > 0) return true;
    cost(there, r);
    recheck_residuals(there, own);
  } catch (...) {
    return true;
  }
  return differ(there, r, own, kCarriedResidual, kCarriedTerms, at_x ? r_at_x : std::span<const double>());
}

void BlockModel::recheck_residuals(std::span<const double> x, std::vector<double>& own) {
  announce(x, false);
  own.resize(structure_.residuals);
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t) { pass.reference(tile, x, own.data()); });
}

std::vector<double> BlockModel::rounding_bounds(std::span<const double> x) {
  constexpr double kMost = 64;  // roundings of the largest number: more could hide real residuals
  std::vector<double> bounds(structure_.residuals);
  for_each_tile(
      [&](BlockPass& pass, std::size_t tile, std::size_t) { pass.rounding(tile, x, bounds.data(), kMost); });
  for (double& bound : bounds) bound = std::isfinite(bound) ? bound : 0;
  return bounds;
}

BlockModel::Recheck BlockModel::recheck(std::span<const double> x, std::span<const double> r,
                                        std::vector<double>& own) {
  recheck_residuals(x, own);
  Recheck out;
  out.cost = cost_of(own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double difference = std::fabs(own[i] - r[i]);
    out.largest = std::isnan(difference) ? kInfinity : std::max(out.largest, difference);
  }
  out.agrees = std::isfinite(out.largest) && !differ(x, r, own, kSameResidual, kSameTerms);
  return out;
}

}  // namespace nlsq::inline v0
