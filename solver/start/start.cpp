// Implements choose_start(): fits samples of the rows before the iteration over all rows.
#include "start/start.hpp"

#include "ablation.hpp"
#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"
#include "support/constants.hpp"

#include "rows/sample_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr double kLeastWork = 1e6;              // rows * operations per row; with less, sampling does not pay
constexpr std::size_t kRowsPerParameter = 512;  // smallest sample; it must determine the parameters
constexpr std::size_t kLevels[] = {256, 16};    // shares of the rows: m/256, then m/16
// These are the shares for so many rows that they are likely to come from a disk, where m/16 takes as long as
// all rows. In memory m/16 saves more than it takes: a fit from m/64 more often needs another pass over all
// rows.
constexpr std::size_t kLevelsOfMany[] = {256, 64}, kManyRows = 1 << 26;
constexpr double kNearEnough = 0.5;    // standard errors of the sample
constexpr double kRepresentative = 4;  // largest ratio between the information of sample and of all rows
// The largest error of f32 residuals, relative to f64, at which an f32 pass is accepted.
constexpr double kMostRowError = 0.02;
// With very many rows an f32 pass must also not move the optimum by more than this many standard errors.
// Errors e of the residuals that all have one sign move it by up to e times the root of the number of rows.
// If they moved it further, the fit would need two more passes in f64 instead of one.
constexpr double kMostShift = 0.1;

// Adds an entry to the trace, before the iteration over all rows.
void note(Start& start, const SolveRequest& request, IterationSummary it) {
  if (static_cast<int>(start.iterations.size()) >= request.options.max_iterations) return;
  it.iteration = static_cast<int>(start.iterations.size());
  it.outcome = StepOutcome::escalated;
  it.rho = kNaN;
  const auto& callback = request.options.callback;
  if (callback && callback(it) == CallbackResult::stop) start.stop_asked = true;
  start.iterations.push_back(std::move(it));
}

// The plan of a pass at x, or at the point where the `linear` parameters have their best values.
struct PlanHere {
  PrecisionPlan plan;
  PrecisionPlan refused;  // the policy's plan, if its rows are too inaccurate here
  double row_error = 0;   // its error; 0 if it is accurate enough
};

// Returns the policy's plan, unless f32 residuals at x are too inaccurate beside the remaining residuals.
// Such a pass could decide neither the linear parameters nor whether samples represent all rows.
PlanHere plan_at(DenseEvaluator& evaluator, const SolveRequest& request, std::span<const double> x,
                 const std::vector<int>& linear) {
  const PrecisionPlan plan = first_plan(evaluator, request.options.policy());
  if (plan.residual == Format::f64) return {plan, plan};
  const double error = evaluator.low_row_error(x, linear);
  const auto rows = static_cast<double>(evaluator.residuals());
  const double most = rows >= kManyRows ? kMostShift / std::sqrt(rows) : kMostRowError;
  if (error <= most) return {plan, plan};
  return {kF64Plan, plan, error};
}

// Records in the trace why the pass `at` was made in f64.
void note_plan(Start& start, const SolveRequest& request, const PlanHere& here, const Linearization& at,
               std::size_t rows) {
  if (here.row_error == 0) return;
  IterationSummary it;
  it.plan = here.refused;
  it.rows = rows;
  it.cost = at.cost;
  it.gradient_norm = at.finite ? gradient_cosine(at) : 0;
  it.event = Event::cost_noise;
  it.reason = fmt::format("{} residuals are off by {:.1e} of themselves", name(here.refused.residual),
                          here.row_error);
  note(start, request, std::move(it));
}

// Starts where the linear parameters have their best values, if these are known and lower the cost.
bool take_solved_start(DenseEvaluator& evaluator, const SolveRequest& request, Start& start) {
  if (request.solved.empty() || request.linear.empty() || !request.options.solve_linear_start) return false;
  for (std::size_t j = 0; j < start.x.size(); ++j) {
    const bool moved = std::ranges::find(request.linear, static_cast<int>(j)) != request.linear.end();
    if (!moved && request.solved[j] != start.x[j]) return false;
  }
  start.initial_cost = evaluator.cost(start.x, Format::f64);
  start.initial_in_f64 = true;
  request.rows.start_at(request.solved);
  Linearization& solved = start.at.renew();
  evaluator.linearize_into(request.solved, kF64Plan, solved);
  if (solved.finite && solved.cost <= start.initial_cost) {
    start.x = request.solved;
    return true;
  }
  start.at.reset();
  return false;
}

// Solves for the linear parameters of x0 and linearizes there. The iteration needs this linearization anyway.
void solve_linear_start(DenseEvaluator& evaluator, const SolveRequest& request, Start& start,
                        Kept<Linearization>& other) {
  if (take_solved_start(evaluator, request, start)) return;
  const std::vector<int> none;
  const std::vector<int>& linear = request.options.solve_linear_start ? request.linear : none;
  const PlanHere here = plan_at(evaluator, request, start.x, linear);
  const PrecisionPlan& plan = here.plan;
  Linearization& given = start.at.renew();
  evaluator.linearize_into(start.x, plan, given);
  note_plan(start, request, here, given, evaluator.residuals());
  start.initial_cost = given.cost;
  start.initial_in_f64 = plan.residual == Format::f64;
  if (!given.finite || linear.empty()) return;
  start.solved = start.x;
  const Solved how = solve_linear(given, request.linear, start.solved);
  if (how == Solved::not_at_all) return;
  if (how == Solved::doubtfully && plan.residual == Format::f64) {
    const Linearization by_qr = evaluator.linearize(start.x, kQrPlan);
    Vector better = start.x;
    if (by_qr.finite && solve_linear_by_triangle(by_qr, request.linear, better))
      start.solved = std::move(better);
  }
  if (!request.limits.allow(start.solved)) {
    start.solved = start.x;
    if (!solve_linear_within(given, request.linear, request.limits, start.solved)) return;
  }
  Linearization& solved = other.renew();
  evaluator.linearize_into(start.solved, plan, solved);
  if (!solved.finite || !(solved.cost <= given.cost)) return;
  start.x.swap(start.solved);
  start.at.swap(other);
}

// Returns the samples with which a fit begins. There are none if even the larger one does not determine the
// parameters, or if a pass over all rows takes hardly longer.
std::span<const std::size_t> levels_of(const DenseEvaluator& evaluator) {
  const std::size_t rows = evaluator.residuals(),
                    least = kRowsPerParameter * static_cast<std::size_t>(evaluator.parameters());
  const std::span<const std::size_t> levels = rows >= kManyRows ? kLevelsOfMany : kLevels;
  if (rows / levels[1] < least) return {};
  if (!(static_cast<double>(rows) * evaluator.row_cost() >= kLeastWork)) return {};
  return rows / levels[0] < least ? levels.subspan(1) : levels;
}

bool worth_sampling(const DenseEvaluator& evaluator, const RowModel& rows, const SolverOptions& options) {
  // Rows that are evaluated together cannot be sampled.
  if (options.sampling == Sampling::never || rows.one_point()) return false;
  if (options.sampling == Sampling::automatic) {
    const PrecisionPolicy& policy = options.policy();
    if (!policy.adaptive || (policy.entry_gate && evaluator.linear())) return false;
  }
  return !levels_of(evaluator).empty();
}

// Compares the information of all rows with the sample's at the same x, parameter by parameter. It detects
// rows that the sample misses (one narrow peak).
bool represents(const Linearization& sample, const Linearization& all, double share,
                double most = kRepresentative) {
  const auto alike = [&](double s, double a) { return s * share <= most * a && a <= most * s * share; };
  if (!all.finite || !alike(sample.cost, all.cost)) return false;
  for (std::size_t j = 0; j < all.gradient.size(); ++j) {
    if (!alike(sample.normal(j, j), all.normal(j, j))) return false;
  }
  return true;
}

// Returns true if two halves of a sample contain about the same information on each parameter. If they do
// not, a few rows determine it, and the sample holds too few of them (one narrow peak). `at` is the sample at
// x.
bool halves_agree(SampleRows& rows, const Vector& x, const Linearization& at, DenseEvaluator& evaluator,
                  const SolverOptions& options) {
  SampleRows some(rows, rows.rows() / 2);
  DenseEvaluator part(some, options);
  const Linearization half = part.linearize(x, at.plan);
  evaluator.add_work(part);
  Linearization rest = at;
  rest.cost -= half.cost;
  for (std::size_t j = 0; j < x.size(); ++j) rest.normal(j, j) -= half.normal(j, j);
  constexpr double kUneven = 30;  // largest ratio between the information of the halves
  return represents(half, rest, static_cast<double>(rows.rows()) / static_cast<double>(some.rows()) - 1,
                    kUneven);
}

// Linearizes over all rows at x, and evaluates the cost at the given start in the same pass. That cost is
// needed in f64 if the final cost is hardly lower. Where reading the rows takes long it is computed in f64 at
// once, which saves a pass.
void pass_beside_given(DenseEvaluator& evaluator, const SolveRequest& request, Start& start) {
  const PlanHere here = plan_at(evaluator, request, start.x, {});
  const Format format = evaluator.residuals() >= kManyRows ? Format::f64 : here.plan.residual;
  Linearization& at = start.at.renew();
  start.initial_cost = evaluator.linearize_beside(start.x, here.plan, request.x0, format, at);
  start.initial_in_f64 = format == Format::f64;
  note_plan(start, request, here, at, evaluator.residuals());
}

// Returns true if the optimum of all rows is about as far from the sample's as chance explains. `at` is the
// linearization of all rows at the sample's optimum, which is n (share - 1) squared standard errors away on
// average (n parameters).
bool as_far_as_chance(const Linearization& at, std::size_t rows, double share, bool bounded) {
  constexpr double kMost = 3;
  if (bounded) return true;
  const std::size_t n = at.gradient.size();
  UndampedSolver scratch;
  const Step& step = solve_undamped(at, scratch);
  const double sigma2 = 2 * at.cost / static_cast<double>(rows - n);
  return !step.factored || step.nu * step.nu <= kMost * kMost * static_cast<double>(n) * share * sigma2;
}

enum class Sampled : std::uint8_t {
  close,  // close to the optimum of samples that represent all rows
  lost,   // the samples do not determine the parameters, or do not represent the data
  spent,  // limit on iterations or time reached, or stopped by the callback
};

// Fits growing samples. Each level iterates until its step is within the sample's own statistical error.
Sampled sample(DenseEvaluator& evaluator, const SolveRequest& request, Clock::time_point begin,
               Start& start) {
  const std::size_t m = evaluator.residuals();
  std::optional<Linearization> last;
  std::size_t last_rows = 1;
  const std::span<const std::size_t> levels = levels_of(evaluator);
  for (const std::size_t level : levels) {
    SampleRows rows(request.rows, m / level);
    DenseEvaluator part(rows, request.options);
    Start here;
    here.x = start.x;
    if (level == levels[0]) {
      Kept<Linearization> other;
      solve_linear_start(part, request, here, other);
      if (!here.at->finite || !halves_agree(rows, here.x, *here.at, evaluator, request.options)) {
        evaluator.add_work(part);
        start.counted = evaluator.counters();
        return Sampled::lost;
      }
    } else {
      const PlanHere plan = plan_at(part, request, here.x, {});
      part.linearize_into(here.x, plan.plan, here.at.renew());
      note_plan(here, request, plan, *here.at, part.residuals());
    }
    start.iterations.insert(start.iterations.end(), here.iterations.begin(), here.iterations.end());
    start.stop_asked = start.stop_asked || here.stop_asked;
    DenseSystem system;
    system.begin(part, {request.options, request.unit_sigma, request.limits.box(), request.linear});
    system.adopt(here.at);
    Minimizer minimizer;
    const bool close = minimizer.warm_up(system,
                                         {.options = request.options,
                                          .x0 = here.x,
                                          .begin = begin,
                                          .first_iteration = static_cast<int>(start.iterations.size()),
                                          .steps_before = steps_of(start.iterations),
                                          .counted = KernelCounters()},
                                         kNearEnough);
    evaluator.add_work(part);
    start.counted = evaluator.counters();
    WarmStart warm = minimizer.warm_result();
    start.iterations.insert(start.iterations.end(), warm.iterations.begin(), warm.iterations.end());
    start.issues.insert(start.issues.end(), warm.issues.begin(), warm.issues.end());
    start.stop_asked = start.stop_asked || warm.spent == Termination::user_stop;
    if (level == levels[0]) start.eliminated = std::move(warm.eliminated);
    start.x = warm.x;
    if (!close) return warm.spent ? Sampled::spent : Sampled::lost;
    last = system.linearization();
    last_rows = rows.rows();
  }
  pass_beside_given(evaluator, request, start);
  const double share = static_cast<double>(m) / static_cast<double>(last_rows);
  const bool represented = (represents(*last, *start.at, share) &&
                            as_far_as_chance(*start.at, m, share, !request.limits.lower.empty())) ||
                           !rule_active(Rule::samples_represent_all_rows);
  return represented ? Sampled::close : Sampled::lost;
}

// Returns true if the point found on samples is no worse than x0 on all rows.
bool better_than_given(DenseEvaluator& evaluator, const SolveRequest& request, Start& start) {
  if (!start.at) pass_beside_given(evaluator, request, start);
  // Also false if the residuals at x0 are not finite.
  const bool lower = start.at->cost <= start.initial_cost || !rule_active(Rule::samples_end_below_start);
  return start.at->finite && lower;
}

// Returns to the given starting values and notes the reason in the trace.
void abandon(Start& start, const DenseEvaluator& evaluator, const SolveRequest& request, std::string reason) {
  start.x = request.x0;
  start.at.reset();
  IterationSummary it;
  if (start.iterations.empty())
    it.rows =
        evaluator.residuals() / levels_of(evaluator)[0];  // the first sample did not determine some parameter
  else it = start.iterations.back();
  it.event = Event::sample_abandoned;
  it.reason = std::move(reason);
  note(start, request, std::move(it));
}

}  // namespace

void choose_start(DenseEvaluator& evaluator, const SolveRequest& request, Clock::time_point begin,
                  Start& start, Kept<Linearization>& other) {
  start.x = request.x0;
  start.at.reset();
  start.iterations.clear();
  start.issues.clear();
  start.eliminated.clear();
  start.stop_asked = start.from_samples = false;
  start.initial_cost = 0;
  start.initial_in_f64 = false;
  start.counted = evaluator.counters();
  if (worth_sampling(evaluator, request.rows, request.options)) {
    const Sampled sampled = sample(evaluator, request, begin, start);
    if (sampled != Sampled::lost && better_than_given(evaluator, request, start)) {
      start.from_samples = sampled == Sampled::close;
      return;
    }
    if (sampled == Sampled::spent) {  // the samples themselves were not the cause
      start.x = request.x0;
      start.at.reset();
    } else {
      abandon(start, evaluator, request,
              sampled == Sampled::lost
                  ? "the samples do not represent all rows; started again on all of them"
                  : "on all rows the starting values have a lower cost; started again from them");
    }
  }
  solve_linear_start(evaluator, request, start, other);
}

std::size_t representative_rows(const SolveRequest& request, const Vector& x) {
  DenseEvaluator evaluator(request.rows, request.options);
  if (!worth_sampling(evaluator, request.rows, request.options)) return 0;
  const Linearization all = evaluator.linearize(x, kF64Plan);
  SampleRows some(request.rows, request.rows.rows() / levels_of(evaluator)[0]);
  DenseEvaluator part(some, request.options);
  const double share = static_cast<double>(request.rows.rows()) / static_cast<double>(some.rows());
  return represents(part.linearize(x, kF64Plan), all, share) ? some.rows() : 0;
}

}  // namespace nlsq::inline v0
