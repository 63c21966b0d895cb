// Programs of residual blocks, kept for the next problem that needs the same: deriving and compiling one
// takes as long as solving a small problem with it.
//
// A program follows from what its key holds and from nothing else, so that a hit gives the bits that making
// it again would. The kind of block belongs to the key: each is compared with dual numbers once for itself.
#pragma once

#include "blocks/block_program.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct BlockProgramKey {
  std::vector<std::uint64_t> words;
  std::uint64_t hash = 0;

  BlockProgramKey(const void* kind, const BlockRecording& recording, const ConstantPlan& plan,
                  std::size_t inputs, std::span<const int> wanted);
  bool operator==(const BlockProgramKey& other) const { return hash == other.hash && words == other.words; }
};

// Of the process; used by any thread. The program used longest ago goes first.
class BlockProgramCache {
 public:
  explicit BlockProgramCache(std::size_t most_words) : most_words_(most_words) {}
  static BlockProgramCache& shared();

  // Null where there is none.
  std::shared_ptr<const BlockProgram> find(const BlockProgramKey& key);
  // Not kept where it alone would fill the cache.
  void keep(BlockProgramKey key, std::shared_ptr<const BlockProgram> program);
  std::size_t programs() const;

 private:
  struct Entry {
    BlockProgramKey key;
    std::shared_ptr<const BlockProgram> program;
  };
  std::size_t most_words_, words_ = 0;  // of keys, which grow as programs do
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the one used last at the end
};

}  // namespace nlsq::inline v0
