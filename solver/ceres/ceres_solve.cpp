// Implements nlsq::Solve for a ceres::Problem: one Session per call, from the checks to the summary.
#include <nlsq/ceres.hpp>

#include "ceres_options.hpp"
#include "ceres_report.hpp"
#include "support/clock.hpp"

#include <nlsq/check_derivatives.hpp>
#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr double kBeside = 0.1;  // standard errors from the optimum, by the undamped linear model

// One call of Solve.
class Session {
 public:
  Session(const ceres::Solver::Options& options, ceres::Problem& problem)
      : options_(options), problem_(problem, options) {
    describe(theirs_, problem_, options);
  }

  void run();
  ceres::Solver::Summary take_theirs() { return std::move(theirs_); }
  Summary take_ours() { return std::move(ours_); }

 private:
  void run_all();
  bool nothing_to_do();
  bool derivatives_wrong();
  CallbackResult watch(const BlockStepReport& step);
  void solve();
  void conclude();
  double final_cost() const;
  bool is_far(double errors) const;
  bool cost_nearly_vanished(const ceres::IterationSummary& last) const;
  const ceres::IterationSummary& step_that_counts() const;
  bool tolerance_met() const;
  void say_how_it_ended(const std::string& message);
  std::string unrecorded() const;
  std::string ordering_not_followed() const;
  void say(ceres::TerminationType type, std::string message);

  const ceres::Solver::Options& options_;
  const Clock::time_point begin_ = Clock::now();
  CeresProblem problem_;
  BlockSolveFacts facts_;
  ceres::CallbackReturnType answer_ = ceres::SOLVER_CONTINUE;
  // True if callbacks ran since the last evaluation. They may have changed the data that functions read.
  bool callbacks_ran_ = false;
  ceres::Solver::Summary theirs_;
  Summary ours_;
};

// Explains why blocks were eliminated in another order than linear_solver_ordering requests.
std::string Session::ordering_not_followed() const {
  const ceres::ParameterBlockOrdering* ordering = options_.linear_solver_ordering.get();
  if (!ordering || facts_.linear_solves == 0) return {};
  std::string why = problem_.ordering_fault(*ordering);
  if (why.empty() && ordering->NumGroups() > 1 && !facts_.groups_followed)
    why = "its first group is not independent, or too large to be eliminated";
  if (why.empty()) return {};
  return fmt::format("linear_solver_ordering ({}: the order was chosen)", why);
}

void Session::say(ceres::TerminationType type, std::string message) {
  theirs_.termination_type = type;
  std::string ignored = without_counterpart(options_);
  const auto add = [&](const std::string& option) {
    if (!option.empty()) ignored += (ignored.empty() ? "" : ", ") + option;
  };
  add(ordering_not_followed());
  if (options_.linear_solver_type == ceres::CGNR && facts_.iterative && facts_.eliminated_blocks > 0)
    add("linear_solver_type CGNR (conjugate gradients on the Schur complement served)");
  if (iterative(options_) && facts_.linear_solves > 0 && !facts_.iterative) {
    add(fmt::format("linear_solver_type {} (a {} factor served: by counts of operations it takes less)",
                    ceres::LinearSolverTypeToString(options_.linear_solver_type),
                    facts_.dense ? "dense" : "sparse"));
  }
  if (!ignored.empty()) message += "; options without a counterpart in nlsq: " + ignored;
  theirs_.message = ours_.message = std::move(message);
}

// Explains why cost functions of nlsq did not run as programs. Ceres's summary has no other field for it.
std::string Session::unrecorded() const {
  const std::size_t at = ours_.evaluator_note.find("not recorded: ");
  return at == std::string::npos ? std::string() : "; " + ours_.evaluator_note.substr(at);
}

// Handles a faulty problem and a problem without free parameters.
bool Session::nothing_to_do() {
  if (!problem_.fault().empty()) {
    ours_.termination = Termination::failure;
    say(ceres::FAILURE, problem_.fault());
    return true;
  }
  if (!std::isfinite(problem_.fixed_cost())) {
    ours_.termination = Termination::failure;
    say(ceres::FAILURE, problem_.first_without_residuals());
    return true;
  }
  if (!problem_.nothing_to_find()) return false;
  const double cost = problem_.cost();
  theirs_.initial_cost = theirs_.final_cost = ours_.initial_cost = ours_.final_cost = cost;
  const bool fine = std::isfinite(cost);
  ours_.termination = fine ? Termination::converged : Termination::failure;
  ours_.verdict = fine ? Verdict::converged : Verdict::failed;
  say(fine ? ceres::CONVERGENCE : ceres::FAILURE,
      fine ? "no residual depends on a parameter block that is not constant"
           : problem_.first_without_residuals());
  return true;
}

// Does what Ceres's check_gradients does: tests each derivative at the start.
bool Session::derivatives_wrong() {
  if (!options_.check_gradients) return false;
  problem_.run_evaluation_callback(true);  // functions may need data that an evaluation callback prepares
  std::string found;
  try {
    const DerivativeCheck check =
        check_derivatives(problem_.problem(), options_.gradient_check_relative_precision);
    if (check.passed()) return false;
    found = check.report();
  } catch (const ValidationError& error) {  // a function has no residuals at the start
    found = error.what();
  }
  ours_.termination = Termination::failure;
  say(ceres::FAILURE, "check_gradients: " + found);
  return true;
}

CallbackResult Session::watch(const BlockStepReport& step) {
  if (step.iteration == 0) theirs_.iterations.clear();
  theirs_.iterations.push_back(iteration_summary(step, problem_.fixed_cost(), seconds_since(begin_)));
  const ceres::IterationSummary& last = theirs_.iterations.back();
  if (options_.minimizer_progress_to_stdout && options_.logging_type != ceres::SILENT) {
    const std::string line = progress_line(last);
    std::fwrite(line.data(), 1, line.size(), stdout);  // only if the caller requested it
  }
  if (options_.callbacks.empty() && !options_.update_state_every_iteration) return Continue;
  if (options_.update_state_every_iteration) problem_.write(step.x);
  else problem_.restore();
  for (ceres::IterationCallback* callback : options_.callbacks) {
    callbacks_ran_ = true;
    answer_ = (*callback)(last);
    if (answer_ != ceres::SOLVER_CONTINUE) return Stop;
  }
  return Continue;
}

void Session::solve() {
  problem_.reuse_earlier_solve();
  const double prepared = seconds_since(begin_);
  ProblemControl control = problem_control(options_);
  control.observer = [this](const BlockStepReport& step) { return watch(step); };
  control.before_evaluation = [this](std::span<const double> x, bool derivatives, bool new_point) {
    problem_.prepare(x, derivatives, std::exchange(callbacks_ran_, false) || new_point);
  };
  control.facts = &facts_;
  try {
    ours_ = nlsq::solve(problem_.problem(), solver_options(options_), control);
  } catch (const ValidationError& error) {  // a value is outside its bounds and cannot be moved inside
    ours_ = failed_summary(error.what());
  } catch (...) {
    problem_.restore();
    throw;
  }
  theirs_.preprocessor_time_in_seconds = prepared + ours_.time.setup;
  theirs_.minimizer_time_in_seconds = seconds_since(begin_) - theirs_.preprocessor_time_in_seconds;
}

// Returns true if the linear model without damping shows that the solve ended far from the optimum: by more
// than a standard error, and by a decrease of the cost more than ten times function_tolerance. With at most
// one residual more than unknowns the standard error takes all of the cost for noise, so the distance is
// never above 1. There the end is far if the model promises to lower the cost by one per cent.
bool Session::is_far(double errors) const {
  constexpr double kTolerated = 10;  // times function_tolerance
  constexpr double kOfCost = 0.01;
  const int residuals = theirs_.num_residuals_reduced;
  if (residuals <= theirs_.num_effective_parameters_reduced + 1) return errors * errors > kOfCost;
  // The promised decrease, ½ errors² σ², relative to the cost, which is about ½ σ² for each residual.
  const double promised = errors * errors / residuals;
  return errors > 1 && promised > kTolerated * options_.function_tolerance;
}

// Returns true if the cost nearly vanished, and the last step was longer than the next one without damping
// would be. Of exact data the linear model promises to remove all of the cost, however small it is. So the
// end is not far, although is_far() says so. That does not hold if the step met function_tolerance, because
// the model then promised much more than the step achieved.
bool Session::cost_nearly_vanished(const ceres::IterationSummary& last) const {
  constexpr double kVanished = 1e-8;  // of the cost at the start
  return ours_.final_cost <= kVanished * ours_.initial_cost && facts_.undamped_step <= last.step_norm &&
         std::fabs(last.cost_change) > options_.function_tolerance * last.cost;
}

// Returns the last step, or the last accepted one if it met function_tolerance and all later ones were
// rejected. Such a step gained little of what was predicted (BlockObserver), and no later one gained more.
const ceres::IterationSummary& Session::step_that_counts() const {
  const std::vector<ceres::IterationSummary>& all = theirs_.iterations;
  const auto accepted =
      std::find_if(all.rbegin(), all.rend(), [](const auto& step) { return step.step_is_successful; });
  const bool met = accepted != all.rend() && accepted->iteration > 0 &&
                   std::fabs(accepted->cost_change) <= options_.function_tolerance * accepted->cost;
  return met ? *accepted : all.back();
}

// Returns true if one of the user's tolerances was met in f64 by a step that was short for no other reason. A
// rejected step can be short because of its damping, and so can a step that changed the cost by no more than
// rounding. Such steps count only near the optimum or, if there is no standard error to measure the distance,
// after an accepted step. Nothing counts where the certificate has a doubt.
bool Session::tolerance_met() const {
  if (ours_.termination != Termination::tolerance || !facts_.tolerance_met || facts_.doubtful) return false;
  if (theirs_.iterations.empty()) return true;
  const ceres::IterationSummary& last = step_that_counts();
  constexpr double kRounding = 0x1p-50;  // of the cost
  const double errors = ours_.certificate.decrement_sigma;
  const bool fell = last.iteration == 0 || std::fabs(last.cost_change) > kRounding * last.cost;
  if (last.step_is_successful && fell) return !is_far(errors) || cost_nearly_vanished(last);
  return std::isnan(errors) ? ours_.accepted > 0 : errors <= kBeside;
}

// Reports CONVERGENCE if a first-order test is certified or a tolerance was met, and the functions had the
// same values when evaluated again.
void Session::say_how_it_ended(const std::string& message) {
  const Certificate& c = ours_.certificate;
  if (!c.recheck_passed) return say(ceres::NO_CONVERGENCE, message);
  if (c.passed || tolerance_met()) return say(ceres::CONVERGENCE, message);
  const char* refused = !facts_.tolerance_met ? ""
                        : facts_.doubtful     ? "no success, although a step met a tolerance; "
                                              : "no success: a step met a tolerance far from the optimum; ";
  say(ceres::NO_CONVERGENCE, refused + message);
}

// Stores the parameter values that Ceres would return, computes the problem's own cost there, and fills the
// summary.
void Session::conclude() {
  fill(theirs_, ours_, facts_, options_);
  // As in Ceres, the answer of a callback counts even where the solve could have ended at this point.
  const bool stopped = answer_ != ceres::SOLVER_CONTINUE && ours_.termination != Termination::failure;
  if (stopped) ours_.termination = Termination::user_stop;
  const bool aborted = stopped && answer_ == ceres::SOLVER_ABORT;
  if (ours_.termination == Termination::failure || aborted) problem_.restore();
  ours_.initial_cost += problem_.fixed_cost();
  ours_.final_cost += problem_.fixed_cost();
  theirs_.initial_cost = ours_.initial_cost;
  theirs_.final_cost = ours_.final_cost;
  const std::string message = ours_.message + unrecorded();
  switch (ours_.termination) {
    case Termination::failure: {
      theirs_.initial_cost = theirs_.final_cost = -1;  // as Ceres marks costs that are not known
      theirs_.num_successful_steps = 0;
      const std::string cause = problem_.first_without_residuals();
      return say(ceres::FAILURE, cause.empty() ? message : message + "; " + cause);
    }
    case Termination::user_stop:
      if (aborted) return say(ceres::USER_FAILURE, "a callback aborted the solve (SOLVER_ABORT); " + message);
      say(ceres::USER_SUCCESS, "a callback ended the solve (SOLVER_TERMINATE_SUCCESSFULLY); " + message);
      break;
    default: say_how_it_ended(message);
  }
  ours_.final_cost = theirs_.final_cost = final_cost();
}

// Returns the cost at the end. The cost functions were called there already, to compare the programs with
// them. The evaluation callback is run once more, because the functions may have been called at other points
// since.
double Session::final_cost() const {
  const double cost = facts_.cost_by_functions + problem_.fixed_cost();
  if (!std::isfinite(cost) || !ours_.certificate.recheck_passed) return problem_.cost();
  problem_.run_evaluation_callback(false);
  return cost;
}

void Session::run() {
  run_all();
  theirs_.total_time_in_seconds = ours_.time.total = seconds_since(begin_);
}

void Session::run_all() {
  if (nothing_to_do() || derivatives_wrong()) {
    theirs_.preprocessor_time_in_seconds = seconds_since(begin_);
    return;
  }
  solve();
  const Clock::time_point solved = Clock::now();
  conclude();
  problem_.keep();
  theirs_.postprocessor_time_in_seconds = seconds_since(solved);
}

}  // namespace

void SolveFunction::operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                               ceres::Solver::Summary* summary) const {
  require("nlsq::Solve", problem);
  if (std::string fault = fault_of(options); !fault.empty()) {
    if (!summary) return;
    *summary = ceres::Solver::Summary();
    summary->message = std::move(fault);
    return;
  }
  Session session(options, *problem);
  session.run();
  if (summary) *summary = session.take_theirs();
}

void SolveFunction::operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                               nlsq::Summary* summary) const {
  require("nlsq::Solve", problem);
  if (std::string fault = fault_of(options); !fault.empty()) throw ValidationError(std::move(fault));
  Session session(options, *problem);
  session.run();
  if (summary) *summary = session.take_ours();
}

}  // namespace nlsq::inline v0
