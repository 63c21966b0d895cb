// Implements recording_place().
#include "blocks/recording_place.hpp"

#include <algorithm>
#include <cstddef>

namespace nlsq::inline v0 {

namespace {

// Functions take an angle for small up to 1e-4 or less. Different numbers get different sizes, because
// branches may compare them with each other.
double small_number(std::size_t place) { return 0x1p-10 * (1 + 0.0625 * static_cast<double>(place % 7)); }

}  // namespace

std::vector<double> recording_place(const Problem::Impl& problem, const BlockStructure& structure,
                                    std::span<const double> x) {
  std::vector<double> out(x.begin(), x.end()), step;
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    if (structure.tangent_offset(p) < 0) continue;
    const std::size_t first = structure.list.offsets[p], size = static_cast<std::size_t>(block.size);
    const std::span<const double> numbers = x.subspan(first, size);
    if (std::ranges::count(numbers, 0.0) == 0) continue;
    const BlockLimits* const limits = block.limits.get();
    if (block.manifold) {
      if (limits) continue;
      step.clear();
      for (std::size_t j = 0; j < static_cast<std::size_t>(block.tangent()); ++j)
        step.push_back(small_number(first + j));
      block.manifold->plus(numbers.data(), step.data(), out.data() + first);
      continue;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double moved = small_number(first + i);
      const bool within =
          !limits || (limits->lower[i] < 0 && limits->lower[i] <= moved && moved <= limits->upper[i]);
      if (numbers[i] == 0 && within) out[first + i] = moved;
    }
  }
  return out;
}

}  // namespace nlsq::inline v0
