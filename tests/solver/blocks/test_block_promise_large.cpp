// Tests more unknowns than complete pivoting can handle. The pivots of the factor then tell the rank.
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Links form a chain of places, each measured from the one before. The measurement is slightly nonlinear.
struct Link {
  static constexpr int residuals = 1;
  double step;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    const T d = b[0] - a[0];
    r[0] = d + 0.01 * d * d - step;
    return true;
  }
};

struct Anchor {
  static constexpr int residuals = 1;
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = a[0] - 1.0;
    return true;
  }
};

Summary solve_chain(std::size_t count, bool anchored) {
  std::vector<double> x(count, 0.0);
  Problem problem;
  for (double& v : x) problem.add_parameter_block(&v, 1);
  for (std::size_t i = 1; i < count; ++i)
    problem.add_residual_block(Link{1 + 0.1 * std::sin(1.0 * static_cast<double>(i))}, nullptr,
                               {&x[i - 1], &x[i]});
  for (std::size_t i = 2; i < count; ++i)
    problem.add_residual_block(Link{2 + 0.1 * std::cos(2.0 * static_cast<double>(i))}, nullptr,
                               {&x[i - 2], &x[i]});
  if (anchored) {
    for (double& v : x) problem.add_residual_block(Anchor{}, nullptr, {&v});
  }
  SolverOptions options;
  options.threads = 1;
  options.step_solver = StepSolver::factored;
  return solve(problem, options);
}

}  // namespace

TEST_CASE("A problem of more than 2000 reduced unknowns is certified") {
  const Summary determined = solve_chain(7000, true);
  CAPTURE(determined.message);
  CHECK(determined.verdict == Verdict::converged);
  CHECK(determined.certificate.rank == 7000);
  const Summary floating = solve_chain(7000, false);
  CAPTURE(floating.message);
  CHECK(floating.verdict != Verdict::converged);
}
