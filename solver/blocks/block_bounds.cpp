// Implements BlockBounds: box constraints of a block problem. BlockModel and the loop use it.
#include "blocks/block_bounds.hpp"
#include "support/constants.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// For each number of a block on a manifold, finds the tangent coordinate that moves this number alone and by
// the same amount; -1 where there is none. Subset manifolds have such numbers, and so does the position in a
// pose. The test runs at the current value and at a nearby point, because a rotation at the identity would
// pass at one point only.
std::vector<int> plain_tangents(const ParameterBlock& block) {
  const auto size = static_cast<std::size_t>(block.size), tangent = static_cast<std::size_t>(block.tangent());
  std::vector<int> found(size, -1);
  if (tangent == 0) return found;
  std::vector<double> delta(tangent), x(block.data, block.data + size), moved(size), J(size * tangent);
  for (std::size_t k = 0; k < tangent; ++k) delta[k] = 0.25 + 0.03125 * static_cast<double>(k);
  for (int point = 0; point < 2; ++point) {
    block.manifold->plus_jacobian(x.data(), J.data());
    for (std::size_t i = 0; i < size; ++i) {
      int only = -1;
      for (std::size_t k = 0; k < tangent; ++k) {
        if (J[i * tangent + k] == 0) continue;
        bool alone = only < 0 && J[i * tangent + k] == 1;
        for (std::size_t other = 0; other < size; ++other)
          alone = alone && (other == i || J[other * tangent + k] == 0);
        only = alone ? static_cast<int>(k) : -2;
        if (!alone) break;
      }
      only = std::max(only, -1);
      found[i] = point == 0 || found[i] == only ? only : -1;
    }
    block.manifold->plus(x.data(), delta.data(), moved.data());
    for (std::size_t i = 0; i < size; ++i) {
      if (found[i] >= 0 && moved[i] != x[i] + delta[static_cast<std::size_t>(found[i])]) found[i] = -1;
    }
    x = moved;
  }
  return found;
}

}  // namespace

BlockBounds::BlockBounds(const Problem::Impl& problem, const BlockStructure& structure) {
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    const std::int64_t first = structure.tangent_offset(p);
    if (!block.bounded() || first < 0) continue;
    const auto& [lower, upper] = *block.limits;
    const std::vector<int> tangents = block.manifold ? plain_tangents(block) : std::vector<int>();
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(block.size); ++i) {
      if (lower[i] > upper[i]) {
        throw ValidationError(
            fmt::format("number {} of a parameter block has the lower bound {} and the upper bound {}", i,
                        lower[i], upper[i]));
      }
      if (lower[i] == -kInfinity && upper[i] == kInfinity) continue;
      const int k = block.manifold ? tangents[i] : static_cast<int>(i);
      const Place place{structure.list.offsets[p] + i, static_cast<std::uint32_t>(first + std::max(k, 0)),
                        lower[i], upper[i], k < 0};
      all_.push_back(place);
      if (k >= 0) plain_.push_back(place);
    }
  }
}

bool BlockBounds::project(std::vector<double>& x) const {
  bool moved = false;
  for (const Place& p : all_) {
    const double inside = std::clamp(x[p.number], p.lower, p.upper);
    if (inside == x[p.number]) continue;
    moved = true;
    x[p.number] = p.curved ? kNaN : inside;
  }
  return moved;
}

void BlockBounds::project_start(std::vector<double>& x) const {
  for (const Place& p : all_) {
    const double start = x[p.number];
    if (!p.curved || !(start < p.lower || start > p.upper)) continue;
    throw ValidationError(
        fmt::format("a number of a parameter block on a manifold starts at {}, outside its bounds {} and {}: "
                    "start within them, because no step moves it alone",
                    start, p.lower, p.upper));
  }
  project(x);
}

std::size_t BlockBounds::find_held(std::span<const double> x, std::span<const double> gradient,
                                   std::vector<std::uint8_t>& held) const {
  held.assign(gradient.size(), 0);
  std::size_t count = 0;
  for (const Place& p : plain_) {
    const double slope = gradient[p.tangent];
    // Where the slope is 0, the cost may still fall towards the inside, so such a number is not held.
    const bool outward =
        p.lower == p.upper || (x[p.number] <= p.lower && slope > 0) || (x[p.number] >= p.upper && slope < 0);
    held[p.tangent] = outward ? 1 : 0;
    count += outward ? 1 : 0;
  }
  return count;
}

void BlockBounds::shorten(std::span<const double> x, std::span<const double> trial,
                          std::vector<double>& step) const {
  for (const Place& p : plain_) step[p.tangent] = trial[p.number] - x[p.number];
}

}  // namespace nlsq::inline v0
