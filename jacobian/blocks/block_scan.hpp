// Finds in parallel, for each of many blocks, the recording whose operations it performs. The grouping of
// blocks uses it. Every block's function is called once, which is most of the time of setting up a large
// problem.
#pragma once

#include "blocks/block_groups.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct FollowedBlock {
  // The block performs the operations of none of them, or is of a new kind.
  static constexpr std::uint32_t kUnknown = 0xffffffffU;
  std::uint32_t kind = kUnknown, variant = 0;
  std::span<const double> constants;  // the block's own constants; the scan owns them
};

bool is_of_kind(const BlockList& list, std::uint32_t block, const BlockKind& kind);
// Returns the position in `kinds` of the block's kind, or their count if it is new. Tries `guess` first.
std::size_t find_kind(const BlockList& list, std::uint32_t block, std::span<const BlockKind> kinds,
                      std::size_t guess);

// Begins to load the function of a block into the caches, so that a loop over blocks does not wait for it. A
// function may lie anywhere in memory.
inline void load_ahead(const BlockList& list, std::size_t block) {
  if (block < list.blocks()) __builtin_prefetch(&list.function(block));
}
constexpr std::size_t kBlocksAhead = 12;

class BlockScan {
 public:
  // Scans blocks [first, last) at x. If functions throw, the exception of the lowest task passes through.
  BlockScan(const BlockList& list, std::span<const double> x, std::span<const BlockKind> kinds,
            std::uint32_t first, std::uint32_t last, const TaskRunner& run);
  const FollowedBlock& operator[](std::uint32_t block) const { return found_[block - first_]; }

 private:
  struct Share;

  std::uint32_t first_;
  std::vector<FollowedBlock> found_;
  std::vector<std::vector<double>> constants_;  // for each task
};

}  // namespace nlsq::inline v0
