// Parallel search for the recordings that blocks follow.
#include "blocks/block_scan.hpp"

#include <algorithm>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kTasks = 32;

}  // namespace

bool is_of_kind(const BlockList& list, std::uint32_t block, const BlockKind& kind) {
  const BlockFunction& function = list.function(block);
  return kind.tag == function.kind() && kind.residuals == function.residuals() &&
         std::ranges::equal(list.of(block), kind.sizes,
                            [&](std::uint32_t p, int size) { return list.sizes[p] == size; });
}

std::size_t find_kind(const BlockList& list, std::uint32_t block, std::span<const BlockKind> kinds,
                      std::size_t guess) {
  const auto fits = [&](const BlockKind& kind) { return is_of_kind(list, block, kind); };
  if (guess < kinds.size() && fits(kinds[guess])) return guess;
  return static_cast<std::size_t>(std::ranges::find_if(kinds, fits) - kinds.begin());
}

// Holds the work and the buffers of one task.
struct BlockScan::Share {
  const BlockList& list;
  std::span<const double> x;
  std::span<const BlockKind> kinds;
  std::vector<double>& constants;
  std::vector<std::optional<BlockReplay>> replays = std::vector<std::optional<BlockReplay>>(kinds.size());
  std::vector<double> inputs = {}, met = {};
  std::size_t latest_kind = 0, latest_variant = 0;

  // Calls the function of a block. `begin` receives the position of the block's constants.
  void ask(std::uint32_t block, FollowedBlock& out, std::size_t& begin) {
    latest_kind = find_kind(list, block, kinds, latest_kind);
    if (latest_kind == kinds.size()) return;
    const BlockKind& kind = kinds[latest_kind];
    const auto& recordings = kind.family.recordings();
    if (recordings.empty()) return;
    std::optional<BlockReplay>& replay = replays[latest_kind];
    if (!replay) replay.emplace(kind.sizes);
    inputs.resize(inputs_of(kind));
    gather_block(list, block, x, inputs.data());
    const auto variant = replay->find(recordings, latest_variant, list.function(block), inputs.data(), met);
    if (!variant) return;
    latest_variant = *variant;
    out.kind = static_cast<std::uint32_t>(latest_kind);
    out.variant = static_cast<std::uint32_t>(*variant);
    begin = constants.size();
    constants.insert(constants.end(), met.begin(), met.end());
  }
};

BlockScan::BlockScan(const BlockList& list, std::span<const double> x, std::span<const BlockKind> kinds,
                     std::uint32_t first, std::uint32_t last, const TaskRunner& run)
    : first_(first), found_(last - first), constants_(kTasks) {
  run(kTasks, [&](std::size_t task) {
    Share share{list, x, kinds, constants_[task]};
    const std::size_t from = found_.size() * task / kTasks, to = found_.size() * (task + 1) / kTasks;
    std::vector<std::size_t> begins(to - from, 0);
    for (std::size_t k = from; k < to; ++k) {
      const auto block = static_cast<std::uint32_t>(first + k);
      if (is_traced(list.function(block))) share.ask(block, found_[k], begins[k - from]);
    }
    for (std::size_t k = from; k < to; ++k) {
      if (found_[k].kind == FollowedBlock::kUnknown) continue;
      const std::size_t count = kinds[found_[k].kind].family.recordings()[found_[k].variant].constants;
      found_[k].constants = std::span<const double>(constants_[task]).subspan(begins[k - from], count);
    }
  });
}

}  // namespace nlsq::inline v0
