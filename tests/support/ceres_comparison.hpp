// Solves one program by Ceres and by nlsq, with default and with tight tolerances. If nlsq claims success,
// Ceres continues with tolerances of 1e-15 and must move less than 0.1 standard errors.
#pragma once

#include "ceres_problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace ceres_problems {

inline void set_tolerances(ceres::Solver::Options& options, double tolerance) {
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = tolerance;
}

struct Distance {
  double errors = 0;      // ‖J d‖, where d leads from the result to the point that Ceres reaches from it
  double cost_above = 0;  // cost of the result minus the cost at that point
  double sigma = 0, cost = 0;
};

// Returns the difference of two points in tangent coordinates, ordered like the columns of Evaluate's
// Jacobian, with 0 for constant blocks.
inline std::vector<double> tangent_difference(const ceres::Problem& problem,
                                              const std::vector<std::vector<double>>& from) {
  std::vector<double*> blocks;
  problem.GetParameterBlocks(&blocks);
  std::vector<double> difference;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    std::vector<double> d(static_cast<std::size_t>(problem.ParameterBlockTangentSize(blocks[k])));
    if (const ceres::Manifold* manifold = problem.GetManifold(blocks[k])) {
      REQUIRE(manifold->Minus(blocks[k], from[k].data(), d.data()));
    } else {
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = blocks[k][i] - from[k][i];
    }
    difference.insert(difference.end(), d.begin(), d.end());
  }
  return difference;
}

// Continues with Ceres at 1e-15 and measures the distance it moves.
inline Distance solve_on(Made& made, ceres::Solver::Options options) {
  std::vector<double*> blocks;
  made.problem->GetParameterBlocks(&blocks);
  std::vector<std::vector<double>> from;
  for (const double* block : blocks)
    from.emplace_back(block, block + made.problem->ParameterBlockSize(block));
  Distance out;
  const double before = made.cost();
  set_tolerances(options, 1e-15);
  options.max_num_iterations = 500;
  ceres::Solver::Summary summary;
  ceres::Solve(options, made.problem.get(), &summary);
  ceres::CRSMatrix J;
  REQUIRE(made.problem->Evaluate({}, &out.cost, nullptr, nullptr, &J));
  out.cost_above = before - out.cost;
  const std::vector<double> d = tangent_difference(*made.problem, from);
  REQUIRE(static_cast<int>(d.size()) == J.num_cols);
  for (int r = 0; r < J.num_rows; ++r) {
    double sum = 0;
    for (int i = J.rows[static_cast<std::size_t>(r)]; i < J.rows[static_cast<std::size_t>(r) + 1]; ++i) {
      sum += J.values[static_cast<std::size_t>(i)] *
             d[static_cast<std::size_t>(J.cols[static_cast<std::size_t>(i)])];
    }
    out.errors += sum * sum;
  }
  out.errors = std::sqrt(out.errors);
  const int freedom = J.num_rows - J.num_cols;
  out.sigma = freedom > 0 ? std::sqrt(2 * out.cost / freedom) : 0;
  return out;
}

// Checks that parameters and cost are at the minimum, to 0.1 standard errors. `slack` applies to a cost that
// consists of rounding errors only, relative to the cost at the start.
inline void check_claim(Made& made, const ceres::Solver::Options& options, double initial_cost, double slack,
                        bool by_cost_alone = false) {
  const Distance found = solve_on(made, options);
  const double rounding = std::max(slack * initial_cost, 1e-28);  // for residuals whose terms are about 1
  INFO("moved " << found.errors << ", cost lower by " << found.cost_above << ", sigma " << found.sigma
                << ", cost " << found.cost);
  if (!by_cost_alone) CHECK(found.errors <= 0.1 * found.sigma + std::sqrt(2 * rounding));
  CHECK(found.cost_above <= 0.005 * found.sigma * found.sigma + rounding);
}

struct Comparison {
  ceres::Solver::Options options;  // all but the tolerances
  bool traced = true;              // whether nlsq's cost functions are recorded
  double slack = 1e-12;
  // The cost is flat in some directions, but its Jacobian, corrected for a loss, does not show that. With
  // default tolerances, 0.1 standard errors then apply to the cost; with tight ones parameters are checked,
  // too.
  bool flat = false;
  // This is the trust region with which Ceres continues from nlsq's end. If the Jacobian vanishes at the
  // minimum, a step of the usual radius may lead anywhere.
  double radius_at_end = ceres::Solver::Options().initial_trust_region_radius;

  Comparison() { options.logging_type = ceres::SILENT; }
  ceres::Solver::Options at_end() const {
    ceres::Solver::Options out = options;
    out.initial_trust_region_radius = radius_at_end;
    return out;
  }
};

// make(std::true_type()) builds the problem with nlsq's cost functions, make(std::false_type()) with Ceres's.
template <class Make>
void compare_tight(Make make, const Comparison& how) {
  ceres::Solver::Options options = how.options;
  set_tolerances(options, 1e-15);
  options.max_num_iterations = std::max(options.max_num_iterations, 500);
  ceres::Solver::Summary theirs;
  const std::unique_ptr<Made> reference = make(std::false_type());
  ceres::Solve(options, reference->problem.get(), &theirs);
  REQUIRE(theirs.IsSolutionUsable());
  for (const bool ours : {true, false}) {
    CAPTURE(ours);
    const std::unique_ptr<Made> made = ours ? make(std::true_type()) : make(std::false_type());
    nlsq::Summary summary;
    nlsq::Solve(options, made->problem.get(), &summary);
    INFO(summary.message);
    CHECK(summary.initial_cost == doctest::Approx(theirs.initial_cost).epsilon(1e-12));
    CHECK(summary.final_cost <= theirs.final_cost * (1 + 1e-6) + how.slack * theirs.initial_cost);
    CHECK(summary.final_cost == doctest::Approx(made->cost()).epsilon(1e-14));  // added in another order
    if (ours && how.traced) CHECK(summary.evaluator == "graph");
    if (summary.certificate.passed) check_claim(*made, how.at_end(), summary.initial_cost, how.slack);
  }
}

template <class Make>
void compare_claims(Make make, const Comparison& how) {
  for (const double tolerance : {0.0, 1e-15}) {
    for (const bool ours : {true, false}) {
      CAPTURE(ours);
      CAPTURE(tolerance);
      ceres::Solver::Options options = how.options;
      if (tolerance > 0) {
        set_tolerances(options, tolerance);
        options.max_num_iterations = std::max(options.max_num_iterations, 500);
      }
      const std::unique_ptr<Made> made = ours ? make(std::true_type()) : make(std::false_type());
      ceres::Solver::Summary summary;
      nlsq::Solve(options, made->problem.get(), &summary);
      INFO(summary.message);
      CHECK(summary.IsSolutionUsable());
      const bool claimed = summary.termination_type == ceres::CONVERGENCE;
      const bool by_default = tolerance == 0;
      if (by_default) CHECK(claimed);
      if (claimed) {
        check_claim(*made, how.at_end(), summary.initial_cost, how.slack, by_default && how.flat);
      }
    }
  }
}

template <class Make>
void compare(const std::string& name, Make make, const Comparison& how = {}) {
  INFO(name);
  compare_tight(make, how);
  compare_claims(make, how);
}

}  // namespace ceres_problems
