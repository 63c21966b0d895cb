// Fills Ceres's summaries from those of nlsq.
#include "ceres_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

ceres::IterationSummary iteration_summary(const BlockStepReport& step, double fixed_cost, double seconds) {
  ceres::IterationSummary out;
  out.iteration = step.iteration;
  out.step_is_valid = step.factored;
  out.step_is_successful = step.outcome == StepOutcome::accepted;
  out.step_is_nonmonotonic = false;
  out.cost = step.cost + fixed_cost;
  out.cost_change = step.decrease;
  out.gradient_max_norm = step.gradient_max;
  out.gradient_norm = step.gradient_norm;
  out.step_norm = step.step_norm;
  out.relative_decrease = step.gain;
  out.trust_region_radius = 1 / step.lambda;
  out.linear_solver_iterations = step.iteration == 0 ? 0 : std::max(step.linear_iterations, 1);
  out.iteration_time_in_seconds = step.seconds;
  out.step_solver_time_in_seconds = step.solver_seconds;
  out.cumulative_time_in_seconds = seconds;
  return out;
}

std::string progress_line(const ceres::IterationSummary& s) {
  std::string out;
  if (s.iteration == 0) {
    out = fmt::format("{:>4} {:>13} {:>11} {:>11} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "iter", "cost",
                      "cost_change", "|gradient|", "|step|", "tr_ratio", "tr_radius", "iter_time",
                      "total_time");
  }
  return out + fmt::format(
                   "{:>4} {:>13.6e} {:>11.2e} {:>11.2e} {:>10.2e} {:>10.2e} {:>10.2e} {:>10.2e} {:>10.2e}\n",
                   s.iteration, s.cost, s.cost_change, s.gradient_max_norm, s.step_norm, s.relative_decrease,
                   s.trust_region_radius, s.iteration_time_in_seconds, s.cumulative_time_in_seconds);
}

void describe(ceres::Solver::Summary& out, const CeresProblem& problem,
              const ceres::Solver::Options& options) {
  const CeresProblem::Counts& n = problem.counts();
  out.minimizer_type = ceres::TRUST_REGION;
  out.trust_region_strategy_type = ceres::LEVENBERG_MARQUARDT;
  out.num_parameter_blocks = n.parameter_blocks;
  out.num_parameters = n.parameters;
  out.num_effective_parameters = n.effective_parameters;
  out.num_residual_blocks = n.residual_blocks;
  out.num_residuals = n.residuals;
  out.num_parameter_blocks_reduced = n.parameter_blocks_reduced;
  out.num_parameters_reduced = n.parameters_reduced;
  out.num_effective_parameters_reduced = n.effective_parameters_reduced;
  out.num_residual_blocks_reduced = n.residual_blocks_reduced;
  out.num_residuals_reduced = n.residuals_reduced;
  out.is_constrained = problem.constrained();
  out.fixed_cost = problem.fixed_cost();
  out.num_threads_given = out.num_threads_used = options.num_threads;
  out.linear_solver_type_given = options.linear_solver_type;
  out.preconditioner_type_given = options.preconditioner_type;
  out.preconditioner_type_used = ceres::IDENTITY;
  out.visibility_clustering_type = options.visibility_clustering_type;
  out.dense_linear_algebra_library_type = ceres::EIGEN;
  out.sparse_linear_algebra_library_type = ceres::EIGEN_SPARSE;
  out.dogleg_type = options.dogleg_type;
  out.inner_iterations_given = options.use_inner_iterations;
  out.num_inner_iteration_steps = out.num_line_search_steps = 0;
  out.num_successful_steps = out.num_unsuccessful_steps = 0;
  out.num_linear_solves = out.num_residual_evaluations = out.num_jacobian_evaluations = 0;
  out.inner_iteration_time_in_seconds = 0;
  out.line_search_cost_evaluation_time_in_seconds = out.line_search_gradient_evaluation_time_in_seconds = 0;
  out.line_search_polynomial_minimization_time_in_seconds = out.line_search_total_time_in_seconds = 0;
  out.linear_solver_time_in_seconds = out.residual_evaluation_time_in_seconds =
      out.jacobian_evaluation_time_in_seconds = 0;
  out.preprocessor_time_in_seconds = out.minimizer_time_in_seconds = out.postprocessor_time_in_seconds =
      out.total_time_in_seconds = 0;
  if (options.linear_solver_ordering) {
    for (const auto& [group, members] : options.linear_solver_ordering->group_to_elements()) {
      out.linear_solver_ordering_given.push_back(static_cast<int>(members.size()));
    }
  }
}

void fill(ceres::Solver::Summary& out, const Summary& summary, const BlockSolveFacts& facts,
          const ceres::Solver::Options& options) {
  // As in Ceres, the start counts as a successful step.
  out.num_successful_steps = summary.accepted + 1;
  out.num_unsuccessful_steps = summary.rejected;
  out.num_threads_used = options.num_threads;
  out.num_linear_solves = facts.linear_solves;
  out.num_residual_evaluations = facts.cost_evaluations;
  out.num_jacobian_evaluations = facts.derivative_evaluations;
  out.linear_solver_time_in_seconds = facts.linear_seconds;
  out.residual_evaluation_time_in_seconds = facts.cost_seconds;
  out.jacobian_evaluation_time_in_seconds = facts.derivative_seconds;
  if (facts.iterative) {
    out.preconditioner_type_used =
        options.preconditioner_type == ceres::JACOBI ? ceres::JACOBI : ceres::SCHUR_JACOBI;
  }
  if (facts.eliminated_blocks > 0) {
    out.linear_solver_type_used = facts.iterative ? ceres::ITERATIVE_SCHUR
                                  : facts.dense   ? ceres::DENSE_SCHUR
                                                  : ceres::SPARSE_SCHUR;
    out.linear_solver_ordering_used = {static_cast<int>(facts.eliminated_blocks),
                                       static_cast<int>(facts.other_blocks)};
  } else {
    out.linear_solver_type_used = facts.iterative ? ceres::CGNR
                                  : facts.dense   ? ceres::DENSE_NORMAL_CHOLESKY
                                                  : ceres::SPARSE_NORMAL_CHOLESKY;
    out.linear_solver_ordering_used = {static_cast<int>(facts.other_blocks)};
  }
}

Summary failed_summary(std::string message) {
  Summary out;
  out.termination = Termination::failure;
  out.verdict = Verdict::failed;
  out.message = std::move(message);
  return out;
}

}  // namespace nlsq::inline v0
