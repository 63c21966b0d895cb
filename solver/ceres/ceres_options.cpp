// Converts ceres::Solver::Options to nlsq options and lists options without a counterpart.
#include "ceres_options.hpp"

#include <ceres/version.h>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

bool iterative(const ceres::Solver::Options& options) {
  return options.linear_solver_type == ceres::CGNR || options.linear_solver_type == ceres::ITERATIVE_SCHUR;
}

std::string fault_of(const ceres::Solver::Options& options) {
  std::string fault;
  if (!options.IsValid(&fault)) return fault;
  for (std::size_t k = 0; k < options.callbacks.size(); ++k) {
    if (options.callbacks[k] == nullptr) return fmt::format("options.callbacks[{}] is null", k);
  }
  return {};
}

SolverOptions solver_options(const ceres::Solver::Options& options) {
  SolverOptions out;
  out.threads = options.num_threads;
  out.max_iterations = options.max_num_iterations;
  // Ceres's default of 10⁹ seconds means no limit. A limit of 0 stops before the first step.
  out.max_seconds =
      options.max_solver_time_in_seconds >= 1e9 ? 0 : std::max(options.max_solver_time_in_seconds, 1e-9);
  out.initial_lambda = 1 / options.initial_trust_region_radius;
  // A named direct solver other than the default selects the factored solver; the structure decides between
  // dense and sparse. An iterative solver is used unless a factorisation takes fewer operations
  // (problem_control).
  const bool named = options.linear_solver_type != ceres::Solver::Options().linear_solver_type;
  out.step_solver = iterative(options) ? StepSolver::iterative
                    : named            ? StepSolver::factored
                                       : StepSolver::automatic;
  out.preconditioner =
      options.preconditioner_type == ceres::JACOBI ? Preconditioner::jacobi : Preconditioner::schur_jacobi;
  out.eta = std::clamp(options.eta, 1e-15, 1 - 1e-15);
  out.max_linear_iterations = std::max(options.max_linear_solver_iterations, 1);
  return out;
}

ProblemControl problem_control(const ceres::Solver::Options& options) {
  ProblemControl out;
  out.factor_if_cheaper = iterative(options);
  out.function_tolerance = options.function_tolerance;
  out.gradient_tolerance = options.gradient_tolerance;
  out.parameter_tolerance = options.parameter_tolerance;
  out.least_gain = options.min_relative_decrease;
  out.max_invalid_steps = options.max_num_consecutive_invalid_steps;
  return out;
}

std::string without_counterpart(const ceres::Solver::Options& options) {
  const ceres::Solver::Options usual;
  std::string list;
  const auto report = [&list](bool differs, const char* text) {
    if (differs) list += fmt::format("{}{}", list.empty() ? "" : ", ", text);
  };
  report(options.minimizer_type != ceres::TRUST_REGION, "minimizer_type (Levenberg-Marquardt served)");
  report(options.trust_region_strategy_type != ceres::LEVENBERG_MARQUARDT,
         "trust_region_strategy_type (Levenberg-Marquardt served)");
  if (iterative(options)) {
    const bool served =
        options.preconditioner_type == ceres::JACOBI || options.preconditioner_type == ceres::SCHUR_JACOBI;
    report(!served, "preconditioner_type (SCHUR_JACOBI served)");
    report(options.min_linear_solver_iterations != usual.min_linear_solver_iterations,
           "min_linear_solver_iterations");
  }
#define NLSQ_REPORT(name) report(options.name != usual.name, #name)
  NLSQ_REPORT(use_nonmonotonic_steps);
  NLSQ_REPORT(max_trust_region_radius);
  NLSQ_REPORT(min_trust_region_radius);
  NLSQ_REPORT(min_lm_diagonal);
  NLSQ_REPORT(max_lm_diagonal);
  NLSQ_REPORT(jacobi_scaling);
  NLSQ_REPORT(dense_linear_algebra_library_type);
  NLSQ_REPORT(sparse_linear_algebra_library_type);
  NLSQ_REPORT(use_explicit_schur_complement);
  NLSQ_REPORT(dynamic_sparsity);
  report(options.use_mixed_precision_solves,
         "use_mixed_precision_solves (nlsq's own precision policy served)");
  NLSQ_REPORT(max_num_refinement_iterations);
  NLSQ_REPORT(use_inner_iterations);
  report(!options.trust_region_minimizer_iterations_to_dump.empty(),
         "trust_region_minimizer_iterations_to_dump");
  report(options.check_gradients && options.gradient_check_numeric_derivative_relative_step_size !=
                                        usual.gradient_check_numeric_derivative_relative_step_size,
         "gradient_check_numeric_derivative_relative_step_size (differences are extrapolated)");
  report(!options.residual_blocks_for_subset_preconditioner.empty(),
         "residual_blocks_for_subset_preconditioner");
#if CERES_VERSION_MAJOR == 2 && CERES_VERSION_MINOR < 2
  NLSQ_REPORT(use_postordering);
#else
  NLSQ_REPORT(linear_solver_ordering_type);
  NLSQ_REPORT(use_spse_initialization);
  NLSQ_REPORT(spse_tolerance);
  NLSQ_REPORT(max_num_spse_iterations);
#endif
#undef NLSQ_REPORT
  return list;
}

}  // namespace nlsq::inline v0
