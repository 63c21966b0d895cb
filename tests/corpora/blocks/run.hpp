// A case solved by one of the ways into the library, and what its answer is worth.
#pragma once

#include "corpus.hpp"
#include "oracle.hpp"

#include <nlsq/summary.hpp>

#include <optional>
#include <string>
#include <vector>

namespace blocks {

enum class Way : std::uint8_t {
  problem,        // nlsq::solve(Problem)
  solve_default,  // nlsq::Solve(ceres::Problem), Ceres's default tolerances
  solve_tight,    // all three tolerances 1e-15, 500 iterations
  solve_opaque,   // the same, of cost functions that cannot be recorded
};
const char* name(Way way);

struct Answer {
  std::vector<double> x;
  nlsq::Summary summary;
  std::string exception;  // what it threw; empty: nothing
  bool success() const { return exception.empty() && is_success(summary.verdict); }
};

// Where the scene has `change`, the second of two solves. The data are left as that solve saw them: see
// reset().
Answer solve(const Scene& scene, Way way, const std::string& policy, int threads = 1);
// The scene's data as they were made.
void reset(const Scene& scene);

// Ceres's summary of nlsq::Solve. CONVERGENCE is true where one of the user's three tolerances holds by the
// summary's own last iteration, or the answer is a minimum. Empty where it is; else what is wrong.
std::string false_convergence(const Scene& scene, Way way, const std::string& policy);

// Whether a success is true. Empty where it is; else what is wrong with it.
std::string false_success(Kind kind, const Answer& answer, const Judgement& judgement);
// What no answer may be: not finite, a higher cost than at the start, numbers of constant blocks that moved.
std::string unsound(const Scene& scene, const Answer& answer);

}  // namespace blocks
