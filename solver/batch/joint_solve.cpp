// Implements solve_joint().
#include "batch/joint_solve.hpp"

#include "certificate/certificate.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

double scatter_of(const Summary& s, std::size_t rows) {
  return scatter(s.final_cost, rows, static_cast<std::size_t>(std::max(0, s.certificate.rank)), false);
}

bool is_far(const Summary& s, double tau) {
  return is_success(s.verdict) && s.certificate.decrement_sigma > std::max(tau, kNearInNoise);
}

}  // namespace

Summary solve_joint(Problem& problem, const GroupOptions& options, std::size_t rows) {
  Summary out = solve(problem, options);
  if (!options.absolute_sigma) return out;
  const double first = scatter_of(out, rows);
  if (!(first > 0)) return out;
  out.certificate.decrement_sigma *= first;
  if (!is_far(out, options.tau)) return out;
  SolverOptions closer = options;
  closer.tau /= first;
  closer.gtol = 0;
  out = solve(problem, closer);
  out.certificate.decrement_sigma *= scatter_of(out, rows);
  if (!is_far(out, options.tau)) return out;
  out.verdict = out.certificate.verdict = Verdict::budget;
  out.certificate.passed = false;
  out.termination = Termination::no_progress;
  out.message =
      "the optimum is further away than a tenth of a standard error, because the given sigma are far smaller "
      "than the residuals: give sigma of their size, or leave out absolute sigma";
  return out;
}

}  // namespace nlsq::inline v0
