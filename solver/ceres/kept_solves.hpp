// What this thread's last solves of small ceres::Problems worked with: a window that is solved again, with
// most of its residual blocks as they were, records only those that are new. The bits are those of a first
// solve.
#pragma once

#include <nlsq/problem.hpp>

#include <ceres/problem.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct KeptSolve {
  const ceres::Problem* of = nullptr;  // where it was, no more: another may be there now
  nlsq::Problem problem;
  std::vector<std::uint64_t>
      serials;  // of the cost functions, by residual block; 0: of none that is recorded
};

// Taken out; none where that problem was not solved lately.
std::optional<KeptSolve> take_kept(const ceres::Problem* of);
// The one that was used longest ago makes room. Large problems are not kept: memory is worth more than the
// time it saves.
void keep(KeptSolve solve);

// For each residual block, by serial, which block of the earlier solve it was; npos: none.
inline constexpr std::size_t kNewBlock = static_cast<std::size_t>(-1);
std::vector<std::size_t> find_earlier(std::span<const std::uint64_t> serials,
                                      std::span<const std::uint64_t> earlier);

}  // namespace nlsq::inline v0
