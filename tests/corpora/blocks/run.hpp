// Solves a case through one of the library's interfaces, and checks the answer. Tests of block problems use
// it.
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
  solve_opaque,   // the same with cost functions that cannot be recorded
};
const char* name(Way way);

struct Answer {
  std::vector<double> x;
  nlsq::Summary summary;
  std::string exception;  // the exception it threw; empty if none
  bool success() const { return exception.empty() && is_success(summary.verdict); }
};

// Solves the scene. If it has `change`, returns the second of two solves. The data stay as that solve saw
// them; see reset().
Answer solve(const Scene& scene, Way way, const std::string& policy, int threads = 1);
// Restores the scene's original data.
void reset(const Scene& scene);

// Checks CONVERGENCE in Ceres's summary of nlsq::Solve. It is true if the summary's own last iteration met
// one of the user's three tolerances, or the answer is a minimum. Returns an empty text if so, else what is
// wrong.
std::string false_convergence(const Scene& scene, Way way, const std::string& policy);

// Checks a success. Returns an empty text if it is true, else what is wrong.
std::string false_success(Kind kind, const Answer& answer, const Judgement& judgement);
// Returns faults that no answer may have: not finite, a higher cost than at the start, or a constant block
// that moved.
std::string unsound(const Scene& scene, const Answer& answer);

}  // namespace blocks
