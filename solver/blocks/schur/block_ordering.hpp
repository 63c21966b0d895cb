// Ordering of a sparse symmetric block matrix for Cholesky, and the sparsity of its factor. Uses approximate
// minimum degree on the graph of blocks (Amestoy, Davis, Duff, SIAM J. Matrix Anal. 17, 1996), the
// elimination tree (Liu, SIAM J. Matrix Anal. 11, 1990), and supernodes: adjacent columns with the same
// pattern below. Supernodes are merged at the cost of a few stored zeros where that makes fewer and larger
// ones (Ashcraft, Grimes, 1989). ReducedSystem and BlockStructure use it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Holds columns [first, first + columns) of the reordered blocks, and the nonzero blocks below them.
struct Supernode {
  std::uint32_t first = 0, columns = 0;
  std::vector<std::uint32_t> below;  // ascending, below its own columns
  std::int64_t parent = -1;          // the supernode of below.front(); -1: a root
};

struct BlockOrdering {
  std::vector<std::uint32_t> place;   // position of each block in the new order
  std::vector<std::uint32_t> block;   // block at each position
  std::vector<Supernode> supernodes;  // in postorder: children before parents, subtrees contiguous

  // `pairs` are the nonzero blocks (a, b) of the matrix. Diagonal blocks may be omitted.
  BlockOrdering(std::span<const std::uint32_t> sizes,
                std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);
};

}  // namespace nlsq::inline v0
