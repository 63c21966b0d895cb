// Implements block_step_shares().
#include "blocks/block_steps.hpp"

#include "blocks/block_reference.hpp"
#include "rows/calls/difference_step.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

constexpr std::uint32_t kMost = 64;  // blocks that are looked at for a parameter block

// Blocks with differences: for each parameter block up to kMost of those that depend on it, evenly spread.
std::vector<std::uint32_t> blocks_to_try(const BlockList& list, const BlockGroups& groups) {
  std::vector<std::uint32_t> all, blocks, count(list.sizes.size(), 0), seen(list.sizes.size(), 0);
  for (const std::uint32_t block : groups.slow) {
    if (list.function(block).derivatives_by() == BlockFunction::Derivatives::differences)
      all.push_back(block);
  }
  for (const std::uint32_t block : all) {
    for (const std::uint32_t parameter : list.of(block)) ++count[parameter];
  }
  for (const std::uint32_t block : all) {
    bool wanted = false;
    for (const std::uint32_t parameter : list.of(block))
      wanted = seen[parameter]++ % (1 + (count[parameter] - 1) / kMost) == 0 || wanted;
    if (wanted) blocks.push_back(block);
  }
  return blocks;
}

// Moves the numbers of a block one by one and adds what the residuals do to the checks of those numbers.
class BlockTrial {
 public:
  BlockTrial(const BlockList& list, const BlockGroups& groups, std::span<const double> x)
      : list_(list), groups_(groups), x_(x) {}

  // Moves only numbers whose search is open.
  void run(std::uint32_t block, const std::vector<ShareSearch>& searches, std::vector<StepCheck>& checks) {
    if (std::ranges::none_of(list_.of(block), [&](std::uint32_t p) { return any_open(p, searches); })) return;
    const BlockFunction& function = list_.function(block);
    BlockCaller caller(groups_.kinds[groups_.kind(block)].sizes);
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
        if (!wanted || !searches[j].open()) continue;
        const DifferenceStep step(x_[j], x_[j] != 0 ? 0 : 1, -kNoBound, kNoBound, searches[j].share());
        inputs_[input] = step.above;
        const bool up = caller.value(function, inputs_.data(), above_.data());
        inputs_[input] = step.below;
        const bool down = caller.value(function, inputs_.data(), below_.data());
        inputs_[input] = x_[j];
        if (!up || !down) above_.assign(rows, kNoBound);  // outside of the domain: too long
        for (std::size_t r = 0; r < rows; ++r) checks[j].add(above_[r], here_[r], below_[r]);
      }
    }
  }

 private:
  bool any_open(std::uint32_t parameter, const std::vector<ShareSearch>& searches) const {
    const auto of = std::span(searches).subspan(list_.offsets[parameter],
                                                static_cast<std::size_t>(list_.sizes[parameter]));
    return std::ranges::any_of(of, &ShareSearch::open);
  }

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
  std::vector<ShareSearch> searches(x.size());
  while (std::ranges::any_of(searches, &ShareSearch::open)) {
    std::vector<StepCheck> checks(x.size());
    for (const std::uint32_t block : blocks) trial.run(block, searches, checks);
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (searches[j].open()) searches[j].take(checks[j].ratio());
    }
  }
  std::vector<double> shares;
  for (const ShareSearch& search : searches) shares.push_back(search.best());
  return shares;
}

}  // namespace nlsq::inline v0
