// Decides whether to form the reduced camera system S or to apply it as an operator. It counts operations and
// bytes before anything is formed.
#include "blocks/block_structure.hpp"
#include "blocks/schur/block_ordering.hpp"
#include "blocks/schur/reduced_system.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Costs in units of one multiply-add of the dense factorisation, measured on a Zen 4: reading one number of J
// in a product with S (limited by memory bandwidth), and one multiply-add of the elimination.
constexpr double kNumber = 20, kEliminate = 4;
constexpr double kProducts = 25;  // products with S per step
// Up to so many unknowns S is always factored, because this takes less than a second and the factor yields
// the rank.
constexpr std::size_t kAlwaysFactored = 2000;
// S and its factor are not formed if they take more than this times the numbers of J, and more than a number
// that any machine has room for.
constexpr double kMostShare = 4, kSmall = 0x1p22;
constexpr std::size_t kLargestMap = std::size_t{1} << 31;  // bits: camera pairs

// Returns the pairs of cameras that see a common point, each pair once.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const BlockStructure& s) {
  const std::size_t cameras = s.cameras();
  std::vector<bool> met(cameras * cameras);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t p = 0; p < s.points; ++p) {
    for (std::uint32_t i = s.entry_first[p]; i < s.entry_first[p + 1]; ++i) {
      for (std::uint32_t j = i + 1; j < s.entry_first[p + 1]; ++j) {
        const std::uint32_t a = s.entry_block[i], b = s.entry_block[j];
        if (met[a * cameras + b]) continue;
        met[a * cameras + b] = true;
        pairs.emplace_back(a, b);
      }
    }
  }
  return pairs;
}

}  // namespace

bool BlockStructure::implicit_if(StepSolver how, bool factor_if_cheaper) const {
  if (how == StepSolver::iterative) return !factor_if_cheaper || iteration_takes_less();
  return how == StepSolver::automatic && iteration_pays_;
}

// Returns true if conjugate gradients pay. Without points, S is the normal matrix itself. It is as sparse as
// the graph, and so is its factor.
bool BlockStructure::iteration_pays() const {
  return real_points > 0 && reduced_size() > kAlwaysFactored && iteration_takes_less();
}

// Compares by operation counts alone.
bool BlockStructure::iteration_takes_less() const {
  const std::size_t n = reduced_size();
  if (cameras() * cameras() > kLargestMap) return true;
  double elimination = 0, products = 0;  // elimination in multiply-adds, products in numbers of J
  for (std::size_t p = 0; p < points; ++p) {
    double numbers = 0;  // columns of W
    for (std::uint32_t i = entry_first[p]; i < entry_first[p + 1]; ++i) numbers += block_size[entry_block[i]];
    elimination += 0.5 * numbers * numbers * point_size[p];
  }
  for (std::size_t slot = 0; slot < list.residual_block.size(); ++slot)
    products += static_cast<double>(stride()[slot]) * rows[slot];
  const auto pairs = pairs_of(*this);
  double formed = 0;
  for (const auto& [a, b] : pairs) formed += static_cast<double>(block_size[a]) * block_size[b];
  const double size = static_cast<double>(n);
  double flops = size * size * size / 6, stored = size * size;  // of the dense factor
  if (2 * formed <= kDenseShare * size * size) {
    flops = stored = 0;
    const BlockOrdering order(block_size, pairs);
    for (const Supernode& node : order.supernodes) {
      double columns = 0, below = 0;
      for (std::uint32_t i = node.first; i < node.first + node.columns; ++i)
        columns += block_size[order.block[i]];
      for (const std::uint32_t i : node.below) below += block_size[order.block[i]];
      const double all = columns + below;
      flops += (all * all * all - below * below * below) / 6;
      stored += columns * all;
    }
  }
  const bool large = stored + 2 * formed > std::max(kMostShare * products, kSmall);
  return large || kEliminate * elimination + flops > kProducts * kNumber * products;
}

}  // namespace nlsq::inline v0
