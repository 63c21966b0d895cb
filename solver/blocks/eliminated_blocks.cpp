// Decides which parameter blocks are eliminated first, and which of the others are taken together as one
// camera.
#include "blocks/block_structure.hpp"

#include <algorithm>
#include <numeric>

namespace nlsq::inline v0 {

namespace {

constexpr std::uint32_t kLargestCamera = 16;  // tangent numbers of blocks that are taken together
// A residual block with more cells than this makes cameras larger, at the cost of zeros: two parameter blocks
// are then taken together if they share this part of their residual blocks.
constexpr std::size_t kManyCells = 8;
constexpr double kInCommon = 0.75;

// Returns true if two ascending lists have most of their numbers in common.
bool mostly_equal(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  const auto least = static_cast<std::size_t>(kInCommon * static_cast<double>(std::max(a.size(), b.size())));
  if (std::min(a.size(), b.size()) <= least) return false;
  std::size_t common = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) ++common, ++i, ++j;
    else if (*i < *j) ++i;
    else ++j;
  }
  return common > least;
}

}  // namespace

bool takes_part(const Problem::Impl& problem, std::size_t block) {
  return std::ranges::any_of(problem.parameters_of(block),
                             [&](std::uint32_t p) { return problem.parameters[p].tangent() > 0; });
}

// If the user gave elimination groups, makes the blocks of the lowest group the points. Returns false, and
// changes nothing, if they cannot be points: a residual block depends on two of them, or one is too large.
bool BlockStructure::follow_groups(const Problem::Impl& problem, const std::vector<std::uint32_t>& uses,
                                   std::vector<std::uint8_t>& taken) const {
  int lowest = -1, highest = -1;
  for (std::size_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    if (uses[p] == 0 || block.tangent() == 0 || block.group < 0) continue;
    lowest = lowest < 0 ? block.group : std::min(lowest, block.group);
    highest = std::max(highest, block.group);
  }
  if (lowest == highest) return false;  // without two groups, no order is given
  const auto first = [&](std::uint32_t p) {
    return uses[p] > 0 && problem.parameters[p].tangent() > 0 && problem.parameters[p].group == lowest;
  };
  for (std::size_t b = 0; b < problem.functions.size(); ++b) {
    if (takes_part(problem, b) && std::ranges::count_if(problem.parameters_of(b), first) > 1) return false;
  }
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    if (first(p) && problem.parameters[p].tangent() > kLargestPoint) return false;
  }
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) taken[p] = first(p) ? 1 : 0;
  return true;
}

// Chooses the points. It goes through the small blocks, those in the fewest residual blocks first, and takes
// each block that shares no residual block with one taken before. The blocks taken become the points if they
// hold more than half of the parameters. Otherwise no block becomes a point.
void BlockStructure::choose_points(const Problem::Impl& problem) {
  const std::size_t count = problem.parameters.size();
  std::vector<std::uint32_t> uses(count, 0);
  for (std::size_t b = 0; b < problem.functions.size(); ++b) {
    if (!takes_part(problem, b)) continue;
    for (const std::uint32_t p : problem.parameters_of(b)) ++uses[p];
  }
  std::vector<std::size_t> first(count + 1, 0);  // residual blocks of each parameter block
  std::partial_sum(uses.begin(), uses.end(), first.begin() + 1);
  std::vector<std::uint32_t> blocks(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t b = 0; b < problem.functions.size(); ++b) {
    if (!takes_part(problem, b)) continue;
    for (const std::uint32_t p : problem.parameters_of(b)) blocks[next[p]++] = b;
  }
  std::vector<std::uint32_t> order;
  std::size_t all = 0;
  for (std::uint32_t p = 0; p < count; ++p) {
    const int tangent = problem.parameters[p].tangent();
    if (uses[p] == 0 || tangent == 0) continue;
    all += static_cast<std::size_t>(tangent);
    if (tangent <= kLargestPoint) order.push_back(p);
  }
  std::ranges::stable_sort(order, [&](std::uint32_t p, std::uint32_t q) { return uses[p] < uses[q]; });
  std::vector<std::uint8_t> taken(count, 0);
  std::size_t eliminated = 0;
  for (const std::uint32_t p : order) {
    bool free = true;
    for (std::size_t i = first[p]; free && i < first[p + 1]; ++i) {
      for (const std::uint32_t q : problem.parameters_of(blocks[i])) free = free && !taken[q];
    }
    if (!free) continue;
    taken[p] = 1;
    eliminated += static_cast<std::size_t>(problem.parameters[p].tangent());
  }
  if (2 * eliminated <= all) std::ranges::fill(taken, std::uint8_t{0});
  groups_followed = follow_groups(problem, uses, taken);
  point_of.assign(count, -1);
  for (std::uint32_t p = 0; p < count; ++p) {
    if (uses[p] == 0 || problem.parameters[p].tangent() == 0) continue;
    if (taken[p]) point_of[p] = static_cast<std::int32_t>(point_parameter.size());
    (taken[p] ? point_parameter : camera_parameter).push_back(p);
  }
  real_points = point_parameter.size();
  form_cameras(problem, first, blocks);
}

// Forms the cameras. The residual blocks that depend on parameter block p are in `blocks` from first[p] on,
// ascending. Parameter blocks with the same residual blocks become one camera. Where a residual block depends
// on many small ones (a spline's control points), most of the work of elimination is for pairs of them. Then
// parameter blocks that share most of their residual blocks become one camera; a residual block that lacks
// one of its parameter blocks has zeros in its place.
void BlockStructure::form_cameras(const Problem::Impl& problem, const std::vector<std::size_t>& first,
                                  const std::vector<std::uint32_t>& blocks) {
  camera_of.assign(problem.parameters.size(), -1);
  within.assign(problem.parameters.size(), 0);
  const auto uses_of = [&](std::uint32_t p) {
    return std::span(blocks).subspan(first[p], first[p + 1] - first[p]);
  };
  for (const std::uint32_t p : camera_parameter) {
    const auto size = static_cast<std::uint32_t>(problem.parameters[p].tangent());
    const auto beside = problem.parameters_of(blocks[first[p]]);
    for (const std::uint32_t q : beside) {
      if (q == p || camera_of[q] < 0) continue;
      std::uint32_t& together = block_size[static_cast<std::size_t>(camera_of[q])];
      if (together + size > kLargestCamera) continue;
      const bool same = std::ranges::equal(uses_of(p), uses_of(q));
      if (!same && (beside.size() <= kManyCells || !mostly_equal(uses_of(p), uses_of(q)))) continue;
      zeros_in_records = zeros_in_records || !same;
      camera_of[p] = camera_of[q];
      within[p] = together;
      together += size;
      break;
    }
    if (camera_of[p] >= 0) continue;
    camera_of[p] = static_cast<std::int32_t>(block_size.size());
    block_size.push_back(size);
  }
}

}  // namespace nlsq::inline v0
