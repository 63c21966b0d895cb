// Implements block_step_shares().
#include "blocks/block_steps.hpp"

#include "blocks/block_reference.hpp"
#include "rows/calls/difference_step.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::uint32_t kMost = 64;  // blocks that are looked at for a parameter block

// Blocks with differences, as many as are needed for each parameter block.
std::vector<std::uint32_t> blocks_to_try(const BlockList& list, const BlockGroups& groups) {
  std::vector<std::uint32_t> tried(list.sizes.size(), 0), blocks;
  for (const std::uint32_t block : groups.slow) {
    if (list.functions[block]->derivatives_by() != BlockFunction::Derivatives::differences) continue;
    const auto few = [&](std::uint32_t parameter) { return tried[parameter] < kMost; };
    if (!std::ranges::any_of(list.of(block), few)) continue;
    for (const std::uint32_t parameter : list.of(block)) ++tried[parameter];
    blocks.push_back(block);
  }
  return blocks;
}

// Moves the numbers of a block one by one and adds what the residuals do to the checks of those numbers.
class BlockTrial {
 public:
  BlockTrial(const BlockList& list, const BlockGroups& groups, std::span<const double> x)
      : list_(list), groups_(groups), x_(x) {}

  // `open`: the numbers that are still of interest.
  void run(std::uint32_t block, std::span<const double> shares, const std::vector<bool>& open,
           std::vector<StepCheck>& checks) {
    const BlockFunction& function = *list_.functions[block];
    BlockCaller caller(groups_.kinds[groups_.kind_of[block]].sizes);
    inputs_.resize(caller.inputs());
    gather_block(list_, block, x_, inputs_.data());
    const auto rows = static_cast<std::size_t>(function.residuals());
    here_.resize(rows), above_.resize(rows), below_.resize(rows);
    if (!caller.value(function, inputs_.data(), here_.data())) return;
    std::size_t input = 0, column = list_.first[block];
    for (const std::uint32_t parameter : list_.of(block)) {
      const bool wanted = list_.column[column++] >= 0;
      for (int i = 0; i < list_.sizes[parameter]; ++i, ++input) {
        const std::size_t j = list_.offsets[parameter] + static_cast<std::size_t>(i);
        if (!wanted || !open[j]) continue;
        const DifferenceStep step(x_[j], x_[j] != 0 ? 0 : 1, -kNoBound, kNoBound, shares[j]);
        inputs_[input] = step.above;
        bool known = caller.value(function, inputs_.data(), above_.data());
        inputs_[input] = step.below;
        known = known && caller.value(function, inputs_.data(), below_.data());
        inputs_[input] = x_[j];
        for (std::size_t r = 0; known && r < rows; ++r) checks[j].add(above_[r], here_[r], below_[r]);
      }
    }
  }

 private:
  const BlockList& list_;
  const BlockGroups& groups_;
  std::span<const double> x_;
  std::vector<double> inputs_, here_, above_, below_;
};

}  // namespace

std::vector<double> block_step_shares(const BlockList& list, const BlockGroups& groups,
                                      std::span<const double> x) {
  const std::vector<std::uint32_t> blocks = blocks_to_try(list, groups);
  if (blocks.empty()) return {};
  BlockTrial trial(list, groups, x);
  std::vector<double> shares(x.size(), 1.0);
  std::vector<bool> open(x.size(), true);
  for (bool shorter = true; shorter;) {
    std::vector<StepCheck> checks(x.size());
    for (const std::uint32_t block : blocks) {
      const auto any_open = [&](std::uint32_t parameter) {
        const auto first = open.begin() + list.offsets[parameter];
        return std::find(first, first + list.sizes[parameter], true) != first + list.sizes[parameter];
      };
      if (std::ranges::any_of(list.of(block), any_open)) trial.run(block, shares, open, checks);
    }
    shorter = false;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double factor = open[j] ? checks[j].factor(shares[j]) : 1;
      open[j] = factor < 1;
      shares[j] *= factor;
      shorter = shorter || open[j];
    }
  }
  return shares;
}

}  // namespace nlsq::inline v0
