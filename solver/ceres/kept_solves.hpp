// Stores the data of this thread's last solves of small ceres::Problems. When a sliding window is solved
// again with mostly the same residual blocks, only new ones are recorded. The result has the same bits as
// that of a first solve. ceres_problem.cpp uses it.
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
  const ceres::Problem* of = nullptr;  // only an address; another problem may be there now
  nlsq::Problem problem;
  std::vector<std::uint64_t> serials;  // by residual block, serial of its cost function; 0 if it is not
                                       // recorded
};

// Removes and returns the data of that problem, or returns nothing if it was not solved recently.
std::optional<KeptSolve> take_kept(const ceres::Problem* of);
// Adds the data and drops the oldest. Large problems are not kept, because their memory is worth more than
// the time saved.
void keep(KeptSolve solve);

// For each residual block, finds by serial the index of the same block in the earlier solve, or kNewBlock if
// there is none.
inline constexpr std::size_t kNewBlock = static_cast<std::size_t>(-1);
std::vector<std::size_t> find_earlier(std::span<const std::uint64_t> serials,
                                      std::span<const std::uint64_t> earlier);

}  // namespace nlsq::inline v0
