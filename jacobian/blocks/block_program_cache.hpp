// Caches the programs of residual blocks for later problems, because building one takes as long as solving a
// small problem with it.
//
//  A program depends only on its key, so a hit gives the same bits as building it again. The kind of block is
//  part of the key: every kind is compared with dual numbers once.
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

  BlockProgramKey(const void* kind, const BlockRecording& recording, const ConstantPlan& plan,
                  std::size_t inputs, std::span<const int> wanted);
  bool operator==(const BlockProgramKey&) const = default;
};

// This cache belongs to the process; any thread may use it. It drops the least recently used program first.
class BlockProgramCache {
 public:
  explicit BlockProgramCache(std::size_t most_words) : most_words_(most_words) {}
  static BlockProgramCache& shared();

  // Returns the program with this key, or null if there is none.
  std::shared_ptr<const BlockProgram> find(const BlockProgramKey& key);
  // Stores a program, unless it alone would fill the cache.
  void keep(BlockProgramKey key, std::shared_ptr<const BlockProgram> program);
  std::size_t programs() const;

 private:
  struct Entry {
    BlockProgramKey key;
    std::shared_ptr<const BlockProgram> program;
  };
  std::size_t most_words_, words_ = 0;  // size of the keys, which grows with the size of the programs
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the most recently used is last
};

}  // namespace nlsq::inline v0
