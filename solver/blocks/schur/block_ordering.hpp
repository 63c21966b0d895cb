// In which order the blocks of a sparse symmetric matrix are eliminated, and what of the factor is not zero
// then: approximate minimum degree on the graph of blocks (Amestoy, Davis, Duff, SIAM J. Matrix Anal. 17,
// 1996), the elimination tree (Liu, SIAM J. Matrix Anal. 11, 1990), and supernodes: columns next to each
// other with the same pattern below, a few zeros more taken as numbers where that makes fewer and larger ones
// (Ashcraft, Grimes, 1989).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Columns [first, first + columns) of the reordered blocks, and the blocks below that they touch.
struct Supernode {
  std::uint32_t first = 0, columns = 0;
  std::vector<std::uint32_t> below;  // ascending, beyond its columns
  std::int64_t parent = -1;          // the supernode of below.front(); -1: a root
};

struct BlockOrdering {
  std::vector<std::uint32_t> place;   // of each block in the new order
  std::vector<std::uint32_t> block;   // at each place
  std::vector<Supernode> supernodes;  // children before parents, each right after its last child's kin

  // `pairs` (a, b): blocks of the matrix that are not zero; diagonal ones may be left out.
  BlockOrdering(std::span<const std::uint32_t> sizes,
                std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);
};

}  // namespace nlsq::inline v0
