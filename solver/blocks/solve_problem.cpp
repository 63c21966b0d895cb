// Solves a block problem, or certifies its present values: checks the options, runs the minimizer and writes
// the summary.
#include "blocks/block_observer.hpp"
#include "blocks/prepared_problem.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "minimizer/minimizer.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace nlsq::inline v0 {

namespace {

// Returns the format of the Gram matrix at the start of a solve.
Gram first_gram(const BlockStructure& structure, const BlockModel& model, const SolverOptions& options) {
  const PrecisionPolicy policy = options.policy();
  const double products = static_cast<double>(structure.pairs * structure.pad * structure.pad);
  const FitSize size{.row_work = model.evaluator().jacobian_cost() + products,
                     .parameters = static_cast<int>(std::min<std::size_t>(structure.tangent_size(), 1 << 30)),
                     .has_f32 = true,  // derivatives from f64 code are stored and multiplied in f32
                     .sixteen_bits_pay = false};
  const PrecisionPlan plan = initial_plan(policy, size);
  if (plan.gram >= Gram::f64) return Gram::f64;
  if (structure.implicit) return Gram::f32_wide;  // conjugate gradients use f64 vectors
  return plan.gram == Gram::f32_wide && policy.gram == Format::f64 ? Gram::f32_wide : Gram::f32_tile;
}

void describe(Summary& summary, const BlockEvaluator& evaluator) {
  const BlockCounts counts = evaluator.counts();
  const std::pair<std::size_t, const char*> ways[] = {{counts.traced, "graph"},
                                                      {counts.dual, "dual"},
                                                      {counts.own, "derivatives"},
                                                      {counts.differences, "finite differences"}};
  for (const auto& [count, way] : ways) {
    if (count == 0) continue;
    summary.evaluator += fmt::format("{}{}", summary.evaluator.empty() ? "" : " + ", way);
    summary.evaluator_note +=
        fmt::format("{}{}: {} blocks", summary.evaluator_note.empty() ? "" : ", ", way, count);
  }
  summary.evaluator_note += fmt::format("; {} programs", evaluator.programs());
  if (!evaluator.note().empty()) summary.evaluator_note += "; not recorded: " + evaluator.note();
  summary.kernel = kernels().name;
}

// Rejects component names that no residual block has, and formats that a component cannot have, because J is
// one array and its products are one sum.
void check_components(const Problem::Impl& problem, const PrecisionPolicy& policy) {
  std::vector<std::string> names;
  for (std::uint32_t c = 0; c < problem.component_names.size(); ++c) {
    if (std::ranges::find(problem.component.values(), c + 1) != problem.component.values().end())
      names.push_back(problem.component_names[c]);
  }
  std::vector<std::string> wrong;
  for (const Violation& v : policy.unknown_components(names)) wrong.push_back(v.message());
  for (const ComponentFormats& c : policy.components) {
    if (!c.change.jacobian && !c.change.gram) continue;
    wrong.push_back(
        fmt::format("{}: of a Problem's component residual alone may be given; J and its sums have one "
                    "format for all, as in {}",
                    c.name,
                    c.change.jacobian ? fmt::format("jacobian={}", name(*c.change.jacobian))
                                      : fmt::format("gram={}", name(*c.change.gram))));
  }
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
}

bool certifies(const ProblemControl* control) { return control && control->certify_only; }

std::string judgement(const Certificate& c) {
  const std::string distance =
      std::isfinite(c.decrement_sigma)
          ? fmt::format("the optimum is {:.2g} standard errors away by the linear model", c.decrement_sigma)
          : "how far away the optimum is in standard errors is not known";
  if (c.passed) return fmt::format("certified by {}: {}", c.governed_by, distance);
  return "not a certified minimum: " + distance;
}

std::string end_of_solve(const Summary& summary, const std::string& stopped_by) {
  const Certificate& c = summary.certificate;
  if (summary.termination == Termination::converged)
    return fmt::format("{} by {}; the parameters are the optimum found", name(c.verdict), c.governed_by);
  if (summary.termination == Termination::tolerance) {
    return fmt::format(
        "{}; first order is not certified: {:.1e} standard errors from the optimum by the linear model; "
        "the parameters are the best point",
        stopped_by, c.decrement_sigma);
  }
  return fmt::format("{}: first order is not certified; the parameters are the best point",
                     name(summary.termination));
}

// Describes the result of the solve in words.
std::string message_of(const Summary& summary, const BlockSystem& system, const std::string& stopped_by,
                       bool certify_only) {
  const Certificate& c = summary.certificate;
  if (summary.termination == Termination::failure)
    return "the residuals or their derivatives are not finite at the start; the parameters are unchanged";
  std::string text = certify_only ? judgement(c) : end_of_solve(summary, stopped_by);
  if (c.passed && c.verdict == Verdict::rank_deficient) {
    text +=
        fmt::format("; the data determine {} of {} directions", c.rank, system.parameters() - system.fixed());
  }
  if (!c.passed && !system.doubt().empty()) text += "; " + system.doubt();
  if (c.wrong_loss) {
    text = fmt::format(
        "a loss gives at s = {:.6g} a slope that differs from that of its values by {:.1e} of it. Nothing is "
        "certified; correct it. {}",
        *system.wrong_loss_at(), c.jacobian_difference, text);
  } else if (c.wrong_column >= 0 && system.wrong_manifold()) {
    text = fmt::format(
        "plus_jacobian of the manifold of parameter block {} disagrees with differences of its plus: by "
        "number {} of its steps it is off by {:.1e} of its size. Nothing is certified; correct it. {}",
        system.wrong_manifold()->block, system.wrong_manifold()->number, c.jacobian_difference, text);
  } else if (c.wrong_column >= 0) {
    text = fmt::format(
        "derivatives that a residual function gives disagree with differences of its residuals: by number {} "
        "of the "
        "steps they are off by {:.1e} of their size. Nothing is certified; correct them. {}",
        c.wrong_column, c.jacobian_difference, text);
  } else if (!c.recheck_passed) {
    text =
        "the residual functions do not repeat: called again they give other residuals than during the "
        "solve; " +
        text;
  }
  if (system.fixed() > 0) text += fmt::format("; {} numbers are at their bounds", system.fixed());
  return text;
}

void report_facts(const ProblemControl* control, const BlockSystem& system, const PreparedProblem& prepared,
                  const MinimizerResult& out) {
  if (!control || !control->facts) return;
  BlockSolveFacts facts = system.facts();
  facts.eliminated_blocks = prepared.structure.real_points;
  facts.other_blocks = prepared.structure.camera_parameter.size();
  facts.dense = prepared.solver.dense();
  facts.iterative = prepared.solver.iterative();
  facts.linear_iterations = system.linear_iterations();
  facts.groups_followed = prepared.structure.groups_followed;
  facts.tolerance_met = out.tolerance_met;
  facts.cost_by_functions = system.cost_by_functions(out.x);
  *control->facts = facts;
}

// Runs the loop once, from x0. `before` is the trace of a run before this one.
MinimizerResult minimize(PreparedProblem& prepared, const SolverOptions& options,
                         const ProblemControl* control, std::span<const double> x0, Clock::time_point begin,
                         std::span<const IterationSummary> before = {}) {
  auto& [structure, model, solver, shape] = prepared;
  BlockSystem system(model, structure, solver, options, first_gram(structure, model, options));
  if (certifies(control)) system.allow_steps_of_tau();
  system.begin(x0);
  std::optional<BlockObserver> observer;
  if (control && !control->certify_only) observer.emplace(*control, system, model, structure, begin);
  Minimizer minimizer;
  MinimizerResult out;
  minimizer.run(system,
                {.options = options,
                 .x0 = system.start(),
                 .begin = begin,
                 .first_iteration = static_cast<int>(before.size()),
                 .steps_before = steps_of(before),
                 .observer = observer ? &*observer : nullptr},
                out);
  Summary& summary = out.summary;
  if (summary.termination == Termination::failure) out.x.assign(system.start().begin(), system.start().end());
  // An inexact conjugate gradient solution only leaves an error within the tolerance.
  if (summary.certificate.passed && summary.certificate.verdict == Verdict::tolerance)
    summary.termination = Termination::converged;
  const bool hidden = system.hides_minimum(summary.certificate);
  if (hidden) withdraw(summary, kHiddenMinimum);
  summary.message = message_of(summary, system, out.stopped_by, certifies(control));
  if (hidden) summary.message.append("; ").append(kHiddenMinimum);
  const double certify = summary.time.certify;
  summary.time = system.time();
  summary.time.certify = certify;
  summary.time.total = seconds_since(begin);
  summary.linear_iterations = system.linear_iterations();
  summary.precision.counters = model.counters();
  summary.precision.components = model.components();
  summary.threads = std::max(model.threads(), solver.threads());
  summary.peak_bytes = structure.bytes() + model.bytes() + solver.bytes();
  report_facts(control, system, prepared, out);
  return out;
}

// Returns true if derivatives below float64 took part, and the loop could not continue from its end. A solve
// with an observer, such as Ceres's callbacks, is not repeated, because the observer has already received all
// the steps.
bool worth_in_f64(const MinimizerResult& run, const ProblemControl* control) {
  const Summary& s = run.summary;
  const bool low =
      std::ranges::any_of(s.iterations, [](const IterationSummary& it) { return it.plan.gram < Gram::f64; });
  return low && control == nullptr && !run.limited_by_rounding && !is_success(s.verdict) &&
         s.termination == Termination::no_progress;
}

// Solves again from the start, in float64 alone, and keeps the better of the two ends. Fits of curves do the
// same (fit/solve.cpp).
void again_in_f64(PreparedProblem& prepared, const SolverOptions& options, std::span<const double> x0,
                  MinimizerResult& first, Clock::time_point begin) {
  SolverOptions in_f64 = options;
  in_f64.precision = PrecisionPolicy::parse("f64");
  MinimizerResult second = minimize(prepared, in_f64, nullptr, x0, begin, first.summary.iterations);
  Summary &a = first.summary, &b = second.summary;
  const bool lower = is_success(b.verdict)
                         ? b.final_cost <= a.final_cost + first.cost_noise + second.cost_noise
                         : b.final_cost < a.final_cost;
  const bool better = lower && b.termination != Termination::failure;
  Summary& kept = better ? b : a;
  if (better) first.x = std::move(second.x);
  take_both(a, b, kept);
  kept.precision.counters = b.precision.counters;  // of both runs
  kept.precision.components = b.precision.components;
  kept.time.total = b.time.total;
  if (better) first.summary = std::move(b);
}

// Solves from x, and overwrites x with the end.
Summary attempt(PreparedProblem& prepared, const SolverOptions& options, const ProblemControl* control,
                std::vector<double>& x, Clock::time_point begin) {
  BlockModel& model = prepared.model;
  const auto run = [&] { return minimize(prepared, options, control, x, begin); };
  const auto went_wrong = [&](const Summary& summary) {
    return summary.termination != Termination::failure && !summary.certificate.recheck_passed &&
           summary.certificate.wrong_column < 0 && !summary.certificate.wrong_loss &&
           model.evaluator().counts().traced > 0;
  };
  MinimizerResult last = run();
  Summary& summary = last.summary;
  // A constant recorded in an earlier solve may have become wrong without showing at the start.
  if (went_wrong(summary) && model.carried()) {
    model.record_again(x);
    last = run();
  }
  // A program gave wrong residuals during the solve, so the solve is repeated without programs.
  if (went_wrong(summary)) {
    model.distrust("a program gave other residuals than the function itself");
    last = run();
  }
  if (worth_in_f64(last, control)) again_in_f64(prepared, options, x, last, begin);
  x = std::move(last.x);
  return std::move(summary);
}

Summary solve_blocks(Problem& problem, const SolverOptions& options, const ProblemControl* control) {
  const FpEnvironment environment;
  const auto begin = Clock::now();
  if (auto violations = options.violations(); !violations.empty())
    throw ValidationError(std::move(violations));
  if (options.algorithm == Algorithm::dogleg)
    throw ValidationError("algorithm dogleg is of curve_fit and least_squares: leave it out for a Problem");
  if (options.nonmonotonic_steps > 0) {
    throw ValidationError("nonmonotonic_steps is of curve_fit and least_squares: leave it out for a Problem");
  }
  options.refuse_team_and_journal("solves of a Problem");
  Problem::Impl& impl = problem.impl();
  impl.close_gaps();
  check_components(impl, options.policy());
  std::vector<double> x = numbers_of(impl);
  if (control && control->before_evaluation) control->before_evaluation(x, true, true);
  std::shared_ptr<PreparedProblem> prepared = take_prepared(impl, x, options, options.step_solver, control);
  const double setup = seconds_since(begin);
  Summary summary = attempt(*prepared, options, control, x, begin);
  summary.time.setup = setup;
  summary.precision.policy = options.policy().to_string();
  describe(summary, prepared->model.evaluator());
  summary.step_solver = prepared->solver.describe(options.preconditioner);
  const double* from = x.data();
  for (const ParameterBlock& block : impl.parameters) {
    if (!block.constant) std::copy_n(from, block.size, block.data);
    from += block.size;
  }
  keep_prepared(impl, std::move(prepared));
  return summary;
}

}  // namespace

Summary solve(Problem& problem, const SolverOptions& options) {
  return solve_blocks(problem, options, nullptr);
}
Summary solve(Problem& problem, const SolverOptions& options, const ProblemControl& control) {
  return solve_blocks(problem, options, &control);
}

}  // namespace nlsq::inline v0
