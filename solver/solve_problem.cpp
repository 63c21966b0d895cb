// A block problem from its parameter blocks to the summary.
#include "block_minimizer.hpp"
#include "fp_environment.hpp"
#include "prepared_problem.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// The form of the Gram matrix that a solve starts with.
Gram first_gram(const BlockStructure& structure, const BlockModel& model, const SolverOptions& options) {
  const PrecisionPolicy policy = options.policy();
  const double products = static_cast<double>(structure.pair_block.size() * structure.pad * structure.pad);
  const FitSize size{.row_work = model.evaluator().jacobian_cost() + products,
                     .parameters = static_cast<int>(std::min<std::size_t>(structure.tangent_size(), 1 << 30)),
                     .has_f32 = true,  // derivatives from f64 code are stored, and multiplied, in f32
                     .sixteen_bits_pay = false};
  const PrecisionPlan plan = initial_plan(policy, size);
  if (plan.gram >= Gram::f64) return Gram::f64;
  if (structure.implicit) return Gram::f32_wide;  // vectors of conjugate gradients are f64
  return plan.gram == Gram::f32_wide && policy.gram == Format::f64 ? Gram::f32_wide : Gram::f32_tile;
}

void describe(Summary& summary, const BlockEvaluator& evaluator) {
  const BlockCounts counts = evaluator.counts();
  const std::pair<std::size_t, const char*> ways[] = {
      {counts.traced, "graph"}, {counts.dual, "dual"}, {counts.own, "derivatives"}, {counts.differences, "finite differences"}};
  for (const auto& [count, way] : ways) {
    if (count == 0) continue;
    summary.evaluator += fmt::format("{}{}", summary.evaluator.empty() ? "" : " + ", way);
    summary.evaluator_note += fmt::format("{}{}: {} blocks", summary.evaluator_note.empty() ? "" : ", ", way, count);
  }
  summary.evaluator_note += fmt::format("; {} programs", evaluator.programs());
  if (!evaluator.note().empty()) summary.evaluator_note += "; not recorded: " + evaluator.note();
  summary.kernel = kernels().name;
}

// Names in a policy that no residual block has, and formats that they cannot have: J is one array, and its products one sum.
void check_components(const Problem::Impl& problem, const PrecisionPolicy& policy) {
  std::vector<std::string> names;
  for (std::uint32_t c = 0; c < problem.component_names.size(); ++c) {
    if (std::ranges::find(problem.component, c + 1) != problem.component.end()) names.push_back(problem.component_names[c]);
  }
  std::vector<std::string> wrong;
  for (const Violation& v : policy.unknown_components(names)) wrong.push_back(v.message());
  for (const ComponentFormats& c : policy.components) {
    if (!c.change.jacobian && !c.change.gram) continue;
    wrong.push_back(fmt::format("{}: of a Problem's component residual alone may be given; J and its sums have one format for all, as in {}",
                                c.name, c.change.jacobian ? fmt::format("jacobian={}", name(*c.change.jacobian)) : fmt::format("gram={}", name(*c.change.gram))));
  }
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
}

Summary attempt(PreparedProblem& prepared, const SolverOptions& options, const ProblemControl* control, std::vector<double>& x,
                BlockMinimizer::Clock::time_point begin) {
  auto& [structure, model, solver, shape] = prepared;
  const std::vector<double> x0 = x;
  const auto run = [&] {
    x = x0;
    return BlockMinimizer(model, structure, solver, options, first_gram(structure, model, options), control).run(x, begin);
  };
  const auto went_wrong = [&](const Summary& summary) {
    return summary.termination != Termination::failure && !summary.certificate.recheck_passed && model.evaluator().counts().traced > 0;
  };
  Summary summary = run();
  // Constants of an earlier solve that did not show at the start to be no longer true.
  if (went_wrong(summary) && model.carried()) {
    model.record_again(x0);
    summary = run();
  }
  // A program that went wrong on the way: once more, without programs.
  if (went_wrong(summary)) {
    model.distrust("a program gave other residuals than the function itself");
    summary = run();
  }
  return summary;
}

Summary solve_blocks(Problem& problem, const SolverOptions& options, const ProblemControl* control) {
  const FpEnvironment environment;
  const auto begin = BlockMinimizer::Clock::now();
  if (auto violations = options.violations(); !violations.empty()) throw ValidationError(std::move(violations));
  if (options.algorithm == Algorithm::dogleg) throw ValidationError("algorithm dogleg is of curve_fit and least_squares: leave it out for a Problem");
  if (options.nonmonotonic_steps > 0) {
    throw ValidationError("nonmonotonic_steps is of curve_fit and least_squares: leave it out for a Problem");
  }
  Problem::Impl& impl = problem.impl();
  impl.close_gaps();
  check_components(impl, options.policy());
  std::vector<double> x = numbers_of(impl);
  if (control && control->before_evaluation) control->before_evaluation(x, true, true);
  std::shared_ptr<PreparedProblem> prepared = take_prepared(impl, x, options, options.step_solver, control);
  const double setup = std::chrono::duration<double>(BlockMinimizer::Clock::now() - begin).count();
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

Summary solve(Problem& problem, const SolverOptions& options) { return solve_blocks(problem, options, nullptr); }
Summary solve(Problem& problem, const SolverOptions& options, const ProblemControl& control) {
  return solve_blocks(problem, options, &control);
}

}  // namespace nlsq::inline v0
