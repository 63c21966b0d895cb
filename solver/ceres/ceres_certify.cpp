// Implements nlsq::Certify for a ceres::Problem: judges the values in its parameter blocks and makes no step.
#include <nlsq/ceres.hpp>

#include "ceres_options.hpp"
#include "ceres_report.hpp"
#include "support/clock.hpp"

#include <nlsq/certify.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem_control.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace nlsq::inline v0 {

namespace {

Summary without_unknowns(const CeresProblem& problem) {
  Summary out;
  out.initial_cost = out.final_cost = problem.cost();
  if (!std::isfinite(out.final_cost)) return failed_summary(problem.first_without_residuals());
  out.termination = Termination::converged;
  out.verdict = Verdict::converged;
  out.message = "no residual depends on a parameter block that is not constant";
  return out;
}

// Certifies the values. The certificate evaluates functions at points beside them, with the blocks set to
// these points. So the blocks are restored at the end.
Summary judged(CeresProblem& problem, const ceres::Solver::Options& options, BlockSolveFacts& facts) {
  if (!problem.fault().empty()) return failed_summary(problem.fault());
  if (!std::isfinite(problem.fixed_cost())) return failed_summary(problem.first_without_residuals());
  if (problem.nothing_to_find()) return without_unknowns(problem);
  ProblemControl control;
  control.factor_if_cheaper = problem_control(options).factor_if_cheaper;
  control.before_evaluation = [&problem](std::span<const double> x, bool derivatives, bool new_point) {
    problem.prepare(x, derivatives, new_point);
  };
  control.facts = &facts;
  Summary out;
  try {
    out = certify(problem.problem(), solver_options(options), control);
  } catch (const ValidationError& error) {  // a value outside its bounds
    problem.restore();
    return failed_summary(error.what());
  } catch (...) {
    problem.restore();
    throw;
  }
  problem.restore();
  out.initial_cost += problem.fixed_cost();
  out.final_cost += problem.fixed_cost();
  if (out.termination == Termination::failure) {
    const std::string cause = problem.first_without_residuals();
    if (!cause.empty()) out.message += "; " + cause;
  }
  return out;
}

ceres::TerminationType type_of(const Summary& summary) {
  if (summary.termination == Termination::failure) return ceres::FAILURE;
  return is_success(summary.verdict) ? ceres::CONVERGENCE : ceres::NO_CONVERGENCE;
}

}  // namespace

void CertifyFunction::operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                                 ceres::Solver::Summary* summary) const {
  require("nlsq::Certify", problem);
  if (!summary) return;
  *summary = ceres::Solver::Summary();
  summary->message = fault_of(options);
  if (!summary->message.empty()) return;
  const Clock::time_point begin = Clock::now();
  CeresProblem mine(*problem, options);
  describe(*summary, mine, options);
  BlockSolveFacts facts;
  const Summary ours = judged(mine, options, facts);
  fill(*summary, ours, facts, options);
  summary->num_successful_steps = 0;  // no step was made
  summary->initial_cost = ours.initial_cost;
  summary->final_cost = ours.final_cost;
  summary->termination_type = type_of(ours);
  summary->message = ours.message;
  summary->total_time_in_seconds = seconds_since(begin);
}

void CertifyFunction::operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                                 nlsq::Summary* summary) const {
  require("nlsq::Certify", problem);
  if (std::string fault = fault_of(options); !fault.empty()) throw ValidationError(std::move(fault));
  if (!summary) return;
  CeresProblem mine(*problem, options);
  BlockSolveFacts facts;
  *summary = judged(mine, options, facts);
}

}  // namespace nlsq::inline v0
