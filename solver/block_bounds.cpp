#include "block_bounds.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

BlockBounds::BlockBounds(const Problem::Impl& problem, const BlockStructure& structure) {
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    const std::int64_t first = structure.tangent_offset(p);
    if (!block.bounded() || first < 0) continue;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(block.size); ++i) {
      if (block.lower[i] > block.upper[i]) {
        throw ValidationError(fmt::format("number {} of a parameter block has the lower bound {} and the upper bound {}", i, block.lower[i], block.upper[i]));
      }
      if (block.lower[i] == -std::numeric_limits<double>::infinity() && block.upper[i] == std::numeric_limits<double>::infinity()) continue;
      const Place place{structure.list.offsets[p] + i, static_cast<std::uint32_t>(first) + i, block.lower[i], block.upper[i]};
      all_.push_back(place);
      if (!block.manifold) plain_.push_back(place);
    }
  }
}

bool BlockBounds::project(std::vector<double>& x) const {
  bool moved = false;
  for (const Place& p : all_) {
    const double inside = std::clamp(x[p.number], p.lower, p.upper);
    moved = moved || inside != x[p.number];
    x[p.number] = inside;
  }
  return moved;
}

std::size_t BlockBounds::find_held(std::span<const double> x, std::span<const double> gradient, std::vector<std::uint8_t>& held) const {
  held.assign(gradient.size(), 0);
  std::size_t count = 0;
  for (const Place& p : plain_) {
    const double slope = gradient[p.tangent];
    const bool outward = (x[p.number] <= p.lower && slope >= 0) || (x[p.number] >= p.upper && slope <= 0);
    held[p.tangent] = outward ? 1 : 0;
    count += outward ? 1 : 0;
  }
  return count;
}

void BlockBounds::shorten(std::span<const double> x, std::span<const double> trial, std::vector<double>& step) const {
  for (const Place& p : plain_) step[p.tangent] = trial[p.number] - x[p.number];
}

}  // namespace nlsq::inline v0
