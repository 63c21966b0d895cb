// Keeps the data of a thread's last Ceres solves for reuse.
#include "kept_solves.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMost = 4;             // problems
constexpr std::size_t kMostBlocks = 20'000;  // residual blocks of each, about ten megabytes

std::vector<KeptSolve>& kept() {
  thread_local std::vector<KeptSolve> solves;  // the most recent last
  return solves;
}

}  // namespace

std::optional<KeptSolve> take_kept(const ceres::Problem* of) {
  std::vector<KeptSolve>& all = kept();
  const auto place = std::ranges::find(all, of, &KeptSolve::of);
  if (place == all.end()) return std::nullopt;
  KeptSolve found = std::move(*place);
  all.erase(place);
  return found;
}

void keep(KeptSolve solve) {
  if (solve.serials.size() > kMostBlocks ||
      std::ranges::all_of(solve.serials, [](std::uint64_t s) { return s == 0; }))
    return;
  std::vector<KeptSolve>& all = kept();
  if (all.size() >= kMost) all.erase(all.begin());
  all.push_back(std::move(solve));
}

std::vector<std::size_t> find_earlier(std::span<const std::uint64_t> serials,
                                      std::span<const std::uint64_t> earlier) {
  std::vector<std::pair<std::uint64_t, std::size_t>> sorted;
  for (std::size_t k = 0; k < earlier.size(); ++k) sorted.emplace_back(earlier[k], k);
  std::ranges::sort(sorted);
  std::vector<std::size_t> was(serials.size(), kNewBlock);
  std::size_t next = 0;  // most blocks follow the previous one
  for (std::size_t k = 0; k < serials.size(); ++k) {
    if (serials[k] == 0) continue;
    if (next >= earlier.size() || earlier[next] != serials[k]) {
      const auto place = std::ranges::lower_bound(sorted, std::pair(serials[k], std::size_t{0}));
      if (place == sorted.end() || place->first != serials[k]) continue;
      next = place->second;
    }
    was[k] = next++;
  }
  return was;
}

}  // namespace nlsq::inline v0
