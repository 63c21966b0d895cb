// Implements BlockOrdering: elimination order, elimination tree and supernodes of a sparse block matrix.
#include "blocks/schur/block_ordering.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

constexpr double kZeros = 0.15;        // largest share of zeros in a merged supernode
constexpr double kZerosOfSmall = 0.4;  // the same for small supernodes
constexpr std::size_t kSmall = 32;     // largest number of columns of a small one
constexpr std::uint32_t kNoColumn = 0xffffffffU;

using Pairs = std::span<const std::pair<std::uint32_t, std::uint32_t>>;
using Lists = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> minimum_degree(std::size_t count, Pairs pairs) {
  std::vector<Eigen::Triplet<double, int>> entries;
  for (std::size_t i = 0; i < count; ++i) entries.emplace_back(static_cast<int>(i), static_cast<int>(i), 1.0);
  for (const auto& [a, b] : pairs) {
    if (a != b) entries.emplace_back(static_cast<int>(std::max(a, b)), static_cast<int>(std::min(a, b)), 1.0);
  }
  Eigen::SparseMatrix<double> pattern(static_cast<int>(count), static_cast<int>(count));
  pattern.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
  Eigen::AMDOrdering<int>()(pattern.selfadjointView<Eigen::Lower>(), order);
  std::vector<std::uint32_t> block(count);
  for (std::size_t i = 0; i < count; ++i)
    block[i] = static_cast<std::uint32_t>(order.indices()[static_cast<int>(i)]);
  return block;
}

// Returns the earlier neighbours of each block in the order.
Lists earlier_neighbours(std::size_t count, Pairs pairs, const std::vector<std::uint32_t>& place) {
  Lists lists(count);
  for (const auto& [a, b] : pairs) {
    if (a != b) lists[std::max(place[a], place[b])].push_back(std::min(place[a], place[b]));
  }
  return lists;
}

// Computes the elimination tree by Liu's algorithm with path compression.
std::vector<std::uint32_t> elimination_tree(const Lists& earlier) {
  std::vector<std::uint32_t> parent(earlier.size(), kNoColumn), ancestor(earlier.size(), kNoColumn);
  for (std::uint32_t j = 0; j < earlier.size(); ++j) {
    for (std::uint32_t i : earlier[j]) {
      while (i != kNoColumn && i != j) {
        const std::uint32_t next = ancestor[i];
        ancestor[i] = j;
        if (next == kNoColumn) parent[i] = j;
        i = next;
      }
    }
  }
  return parent;
}

// Returns the nodes in postorder: children before parents, each subtree contiguous.
std::vector<std::uint32_t> postorder(const std::vector<std::uint32_t>& parent) {
  const auto count = static_cast<std::uint32_t>(parent.size());
  std::vector<std::uint32_t> first(count, kNoColumn), next(count, kNoColumn), order, open;
  for (std::uint32_t j = count; j-- > 0;) {
    if (parent[j] == kNoColumn) continue;
    next[j] = first[parent[j]];
    first[parent[j]] = j;
  }
  for (std::uint32_t root = 0; root < count; ++root) {
    if (parent[root] != kNoColumn) continue;
    open.push_back(root);
    while (!open.empty()) {
      const std::uint32_t j = open.back();
      if (first[j] != kNoColumn) open.push_back(std::exchange(first[j], next[first[j]]));
      else order.push_back(j), open.pop_back();
    }
  }
  return order;
}

// Returns the rows of each column of the factor below the diagonal: those of the matrix and those of the
// children.
Lists columns_of_factor(const Lists& earlier, const std::vector<std::uint32_t>& parent) {
  Lists rows(parent.size());
  for (std::uint32_t j = 0; j < parent.size(); ++j) {
    for (const std::uint32_t i : earlier[j]) rows[i].push_back(j);
  }
  for (std::uint32_t j = 0; j < parent.size(); ++j) {
    std::ranges::sort(rows[j]);
    rows[j].erase(std::ranges::unique(rows[j]).begin(), rows[j].end());
    if (parent[j] == kNoColumn) continue;
    auto& up = rows[parent[j]];
    for (const std::uint32_t i : rows[j]) {
      if (i != parent[j]) up.push_back(i);
    }
  }
  return rows;
}

// Holds a supernode's numbers of columns and of rows below, and the number of stored entries that are zero.
struct Extent {
  double columns = 0, below = 0, zeros = 0;
  double stored() const { return columns * (0.5 * (columns + 1) + below); }
};

// Returns the extent of child and parent merged into one supernode, the child first.
Extent merged(const Extent& child, const Extent& parent) {
  Extent both{child.columns + parent.columns, parent.below, 0};
  both.zeros = both.stored() - (child.stored() - child.zeros) - (parent.stored() - parent.zeros);
  return both;
}

bool worth_merging(const Extent& both) {
  return both.zeros <= kZeros * both.stored() ||
         (both.columns <= static_cast<double>(kSmall) && both.zeros <= kZerosOfSmall * both.stored());
}

}  // namespace

BlockOrdering::BlockOrdering(std::span<const std::uint32_t> sizes, Pairs pairs)
    : place(sizes.size()), block(minimum_degree(sizes.size(), pairs)) {
  const auto number = [&] {
    for (std::uint32_t i = 0; i < block.size(); ++i) place[block[i]] = i;
  };
  number();
  std::vector<std::uint32_t> moved;
  for (const std::uint32_t i : postorder(elimination_tree(earlier_neighbours(sizes.size(), pairs, place))))
    moved.push_back(block[i]);
  block = std::move(moved);
  number();
  const Lists earlier = earlier_neighbours(sizes.size(), pairs, place);
  const std::vector<std::uint32_t> parent = elimination_tree(earlier);
  Lists rows = columns_of_factor(earlier, parent);
  const auto size_of = [&](std::uint32_t i) { return static_cast<double>(sizes[block[i]]); };
  const auto extent_of = [&](std::uint32_t j) {
    Extent e{size_of(j), 0, 0};
    for (const std::uint32_t i : rows[j]) e.below += size_of(i);
    return e;
  };
  // Merges from the left: a supernode joins the parent that follows it if that stores few zeros.
  std::vector<Extent> extents;
  for (std::uint32_t j = 0; j < sizes.size(); ++j) {
    supernodes.push_back({j, 1, std::move(rows[j])});
    rows[j] = supernodes.back().below;
    extents.push_back(extent_of(j));
    while (supernodes.size() > 1) {
      const std::size_t last = supernodes.size() - 1;
      const bool adjoins =
          !supernodes[last - 1].below.empty() && supernodes[last - 1].below.front() == supernodes[last].first;
      const Extent both = merged(extents[last - 1], extents[last]);
      if (!adjoins || !worth_merging(both)) break;
      supernodes[last - 1].columns += supernodes[last].columns;
      supernodes[last - 1].below = std::move(supernodes[last].below);
      extents[last - 1] = both;
      supernodes.pop_back();
      extents.pop_back();
    }
  }
  std::vector<std::uint32_t> holder(sizes.size());
  for (std::uint32_t s = 0; s < supernodes.size(); ++s) {
    std::fill_n(holder.begin() + supernodes[s].first, supernodes[s].columns, s);
  }
  for (Supernode& s : supernodes) {
    if (!s.below.empty()) s.parent = holder[s.below.front()];
  }
}

}  // namespace nlsq::inline v0
