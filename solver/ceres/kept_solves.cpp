// Implements the storage of a thread's last Ceres solves for reuse.
#include "kept_solves.hpp"

#include <algorithm>
#include <bit>
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
  // This is a hash table with open addressing. An entry is 1 + the index of a serial in `earlier`, or 0 if it
  // is free. Most serials are consecutive numbers, so their last digits spread them evenly.
  std::vector<std::size_t> places(std::bit_ceil(2 * earlier.size() + 2), 0);
  const auto place_of = [&](std::uint64_t serial) -> std::size_t& {
    std::size_t i = serial % places.size();
    while (places[i] != 0 && earlier[places[i] - 1] != serial) i = (i + 1) % places.size();
    return places[i];
  };
  for (std::size_t k = 0; k < earlier.size(); ++k) {
    if (earlier[k] != 0) place_of(earlier[k]) = k + 1;
  }
  std::vector<std::size_t> was(serials.size(), kNewBlock);
  for (std::size_t k = 0; k < serials.size(); ++k) {
    const std::size_t place = serials[k] != 0 ? place_of(serials[k]) : 0;
    if (place != 0) was[k] = place - 1;
  }
  return was;
}

}  // namespace nlsq::inline v0
