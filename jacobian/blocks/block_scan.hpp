// Which of the recordings that there are each of many blocks follows, asked of many blocks at a time.
//
// Every block's function is called once: what that takes is most of what setting up a large problem takes.
#pragma once

#include "blocks/block_groups.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct FollowedBlock {
  static constexpr std::uint32_t kUnknown = 0xffffffffU;  // none of them, or of a kind that was not met yet
  std::uint32_t kind = kUnknown, variant = 0;
  std::span<const double> constants;  // those met; belong to the scan
};

bool is_of_kind(const BlockList& list, std::uint32_t block, const BlockKind& kind);
// Number among `kinds` of the block's kind, or their count. `guess`: where to look first.
std::size_t find_kind(const BlockList& list, std::uint32_t block, std::span<const BlockKind> kinds,
                      std::size_t guess);

class BlockScan {
 public:
  // Blocks [first, last) at x. What a function throws passes through, the lowest task's.
  BlockScan(const BlockList& list, std::span<const double> x, std::span<const BlockKind> kinds,
            std::uint32_t first, std::uint32_t last, const TaskRunner& run);
  const FollowedBlock& operator[](std::uint32_t block) const { return found_[block - first_]; }

 private:
  struct Share;

  std::uint32_t first_;
  std::vector<FollowedBlock> found_;
  std::vector<std::vector<double>> constants_;  // by task
};

}  // namespace nlsq::inline v0
