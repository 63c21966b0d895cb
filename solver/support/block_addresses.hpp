// Finds a parameter block by its address, for Problem::Impl.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// An open hash table of numbers of blocks. The addresses are in the blocks themselves, so that the table
// takes only 8 to 16 bytes for each block: a problem may have millions.
class BlockAddresses {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // Returns the number of the block at this address that is not removed, or kNone.
  template <class Block>
  std::uint32_t find(std::span<const Block> blocks, const double* address) const {
    if (places_.empty()) return kNone;
    for (std::size_t i = first_place(address);; i = (i + 1) & last()) {
      const std::uint32_t number = places_[i];
      if (number == kNone || (blocks[number].data == address && !blocks[number].removed)) return number;
    }
  }
  // Must be called after block `number` was added at the end of `blocks`.
  template <class Block>
  void add(std::span<const Block> blocks, std::uint32_t number) {
    if (2 * blocks.size() > places_.size()) renumber(blocks);
    else put(blocks, number);
  }
  // Must be called after the numbers of blocks have changed.
  template <class Block>
  void renumber(std::span<const Block> blocks) {
    places_.assign(std::bit_ceil(2 * blocks.size() + 2), kNone);
    for (std::size_t b = 0; b < blocks.size(); ++b) put(blocks, static_cast<std::uint32_t>(b));
  }

 private:
  std::size_t first_place(const double* address) const {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio
    const std::uint64_t mixed = std::bit_cast<std::uintptr_t>(address) * kGolden;
    return static_cast<std::size_t>(mixed >> 32) & last();
  }
  std::size_t last() const { return places_.size() - 1; }  // the size is a power of two
  // Enters a block. It takes the place of an earlier block at this address, which was removed. Otherwise a
  // block that is added and removed many times would leave a long chain of places to search.
  template <class Block>
  void put(std::span<const Block> blocks, std::uint32_t number) {
    const double* const address = blocks[number].data;
    std::size_t i = first_place(address);
    while (places_[i] != kNone && blocks[places_[i]].data != address) i = (i + 1) & last();
    places_[i] = number;
  }

  std::vector<std::uint32_t> places_;  // a power of two, at most half of them used
};

}  // namespace nlsq::inline v0
