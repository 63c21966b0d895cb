// Implements solve(): runs attempts of the minimizer until one gives a certified minimum, and writes the
// report.
#include "fit/solve.hpp"

#include "ablation.hpp"
#include "certificate/doubtful_end.hpp"
#include "certificate/ends_of_fits.hpp"
#include "certificate/hidden_minimum.hpp"
#include "fit/solve_workspace.hpp"
#include "support/fp_environment.hpp"

#include <algorithm>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// Returns true if result a is better. A certified result is better if its cost exceeds the other's by at most
// one standard error (σ²/2) and rounding. Otherwise the lower cost is better.
bool better(const MinimizerResult& a, const MinimizerResult& b, std::size_t rows, bool unit_sigma) {
  if (a.summary.termination == Termination::failure) return false;  // it has no cost
  const bool good_a = is_success(a.summary.verdict), good_b = is_success(b.summary.verdict);
  const double cost_a = a.summary.final_cost, cost_b = b.summary.final_cost;
  if (good_a == good_b) return cost_a < cost_b * (1 - 1e-9);
  const double sigma = scatter(good_a ? cost_b : cost_a, rows, a.x.size(), unit_sigma);
  const double excess = good_a ? cost_a - cost_b : cost_b - cost_a;
  return (excess <= 0.5 * sigma * sigma + a.cost_noise + b.cost_noise) == good_a;
}

// Returns true without a certificate, or if rank was lost on the way, because a parameter diverged to where
// the data do not depend on it.
bool worth_another_attempt(const MinimizerResult& result, DenseEvaluator& evaluator,
                           const SolveRequest& request) {
  const Summary& s = result.summary;
  if (result.spent) return false;
  if (s.verdict == Verdict::rank_deficient) {
    Linearization at = evaluator.linearize(request.x0, kQrPlan);
    return at.finite && numerical_rank(at) == static_cast<int>(request.x0.size());
  }
  if (result.limited_by_rounding) return false;  // another way to the same point ends in the same way
  return !is_success(s.verdict) && s.termination == Termination::no_progress;
}

// Decides whether a fit that lost parameters is repeated without elimination. At a far start, the best linear
// parameters may be huge with terms that cancel, and lead away from the minimum. If the residuals are only
// rounding errors, there is no other minimum.
bool worth_whole_problem(const MinimizerResult& result) {
  return !result.spent && !result.underflow && result.summary.certificate.gradient_bound < kMostlyRounding;
}

// Counts the steps of all stages and attempts in the trace.
void count_steps(Summary& s) {
  s.accepted = s.rejected = s.precision.escalations = 0;
  for (const IterationSummary& it : s.iterations) {
    s.accepted += it.outcome == StepOutcome::accepted ? 1 : 0;
    s.rejected += it.outcome == StepOutcome::rejected || it.outcome == StepOutcome::invalid ? 1 : 0;
    const bool finer = it.event != Event::none && it.event != Event::rollback &&
                       it.event != Event::sample_abandoned && it.event != Event::last_step;
    s.precision.escalations += finer ? 1 : 0;
  }
}

std::vector<ComponentSummary> component_summaries(const DenseEvaluator& evaluator,
                                                  const std::vector<IterationSummary>& trace) {
  std::vector<ComponentSummary> out;
  for (const RowComponent& component : evaluator.components()) {
    ComponentSummary& c = out.emplace_back(ComponentSummary{component.name, component.rows, 0, {}});
    for (const IterationSummary& it : trace)
      c.escalations += std::ranges::find(it.components, c.name) != it.components.end() ? 1 : 0;
    if (out.size() <= evaluator.component_counters().size())
      c.counters = evaluator.component_counters()[out.size() - 1];
  }
  return out;
}

// Returns true if a pass ran below f64. Checking a few rows in low precision before the first pass does not
// count.
bool went_below_f64(const KernelCounters& k) {
  return k.gram_flops_f16 + k.gram_flops_bf16 + k.gram_flops_f32 + k.gram_flops_f32_wide > 0;
}

// Returns true after events for which `strict` repeats the solve in f64, in addition to a failed certificate.
bool doubt_arose(const std::vector<IterationSummary>& trace) {
  return std::ranges::any_of(trace, [](const IterationSummary& it) {
    return it.event == Event::rollback || (it.event == Event::not_definite && it.plan.gram < Gram::f64);
  });
}

// The full problem may succeed where the projected problem fails. `whole_problem` therefore eliminates
// parameters only if the user asked for it.
enum class Of : std::uint8_t { any, whole_problem };

// Returns the end of a fit without success, with those parameters at zero that came close to it; nothing if
// there are none. Where only the square of a parameter matters and a negative square would fit best, every
// step halves the parameter. It never reaches zero, where its derivatives vanish and second-order conditions
// decide whether the point is a minimum.
std::optional<Vector> end_at_zero(const SolveRequest& request, const MinimizerResult& end) {
  constexpr double kClose = 1e-6;  // of the start
  if (is_success(end.summary.verdict) || end.summary.termination == Termination::failure || end.spent)
    return {};
  Vector x = end.x;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (request.limits.allow(j, 0) && std::fabs(x[j]) <= kClose * std::fabs(request.x0[j])) x[j] = 0;
  }
  return x == end.x ? std::nullopt : std::optional(std::move(x));
}

class Attempts {
 public:
  Attempts(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& workspace,
           Clock::time_point begin)
      : request_(request), evaluator_(evaluator), w_(workspace), begin_(begin) {
    w_.trace.clear();
    w_.best.spent.reset();
  }

  // Runs from w.start. Iteration numbers and the iteration limit continue from the samples.
  void first() {
    w_.trace.swap(w_.start.iterations);
    issues_.swap(w_.start.issues);
    waits_ = w_.start.x != request_.x0;
    extrapolates_ = !waits_;
    run({.x0 = w_.start.x,
         .options = &request_.options,
         .at = &w_.start.at,
         .trusted_start = w_.start.from_samples,
         .stop_asked = w_.start.stop_asked,
         .counted = w_.start.counted},
        w_.best);
    extrapolates_ = true;
  }
  // Replaces the best result by a run of the whole problem from x0.
  void instead(std::span<const double> x0) {
    run({.x0 = x0, .of = Of::whole_problem}, w_.next);
    std::swap(w_.best, w_.next);
  }
  // Chooses a start again, in f64. Keeps the better result.
  void another_in_f64() {
    choose_start(evaluator_, request_.with(rest()), begin_, w_.start, w_.other);
    another({.x0 = w_.start.x, .at = &w_.start.at});
  }
  // Does the same for the whole problem: from x0, or from the given start with geodesic acceleration.
  void another_from(std::span<const double> x0) { another({.x0 = x0, .of = Of::whole_problem}); }
  void another_by_geodesics() { another({.x0 = request_.x0, .of = Of::whole_problem, .geodesic = true}); }
  // Continues from the best result with extrapolated differences, if it was reached without them. A fit from
  // an improved start first tries the given start, too, because extrapolated differences take hundreds of
  // calls of the model, and the given start may take only a few.
  void go_on_extrapolated() {
    const Summary& s = w_.best.summary;
    if (!waits_ || is_success(s.verdict) || s.termination != Termination::no_progress || w_.best.spent)
      return;
    if (w_.best.ran_off) return;
    evaluator_.extrapolate(false);              // an attempt from the given start may have left it on
    if (!evaluator_.extrapolate(true)) return;  // there is nothing to extrapolate
    another({.x0 = w_.best.x});
  }
  // Checks whether the best result lies at a kink, and continues along the kink if the cost falls there.
  void settle_at_kink() {
    constexpr int kTimes = 5;
    for (int k = 0; k < kTimes; ++k) {
      const std::optional<Vector> lower = judge_at_kink(evaluator_, request_, w_.best);
      if (!lower || w_.best.spent) return;
      run({.x0 = *lower}, w_.next);
      keep_next_if(w_.next.summary.termination != Termination::failure &&
                   w_.next.summary.final_cost < w_.best.summary.final_cost);
    }
  }
  // Continues from an end where short steps raise the cost again and again although it is no kink.
  // Differences for derivatives may have too few digits there, so a few steps with better ones are tried.
  void go_on_where_steps_fail() {
    constexpr int kSteps = 12;
    if (!w_.best.maybe_at_kink || is_success(w_.best.summary.verdict) || w_.best.spent) return;
    const bool by_differences = evaluator_.jacobian_error() > 0;
    evaluator_.extrapolate(true);
    SolverOptions options = rest();
    if (by_differences)
      options.max_iterations = std::min(options.max_iterations, steps_of(w_.trace) + kSteps);
    stops_at_kinks_ = false;
    const std::optional<std::size_t> noisy = w_.best.noisy_column;
    run({.x0 = w_.best.x, .options = &options}, w_.next);
    stops_at_kinks_ = true;
    w_.next.maybe_at_kink = true;
    if (steps_of(w_.trace) < rest().max_iterations && w_.next.spent == Termination::max_iterations) {
      w_.next.spent.reset();
      w_.next.summary.termination = Termination::no_progress;
    }
    keep_better();
    w_.best.noisy_column = noisy;
    if (by_differences) judge_by_distance(request_, w_.best);
  }
  std::vector<PrecisionIssue>& issues() { return issues_; }

 private:
  struct Attempt {
    std::span<const double> x0;
    Of of = Of::any;
    bool geodesic = false;                           // also if the options do not request it
    const SolverOptions* options = nullptr;          // null for rest()
    Kept<Linearization>* at = nullptr;               // a pass that was made at x0, or null
    bool trusted_start = false, stop_asked = false;  // as in MinimizerRequest
    std::optional<KernelCounters> counted = std::nullopt;
  };

  // Returns the options of attempts after the first, which are in f64.
  const SolverOptions& rest() {
    if (!rest_) {
      rest_ = request_.options;
      rest_->precision = PrecisionPolicy::all_f64();
      rest_->sampling = Sampling::never;
    }
    return *rest_;
  }
  void another(const Attempt& attempt) {
    run(attempt, w_.next);
    keep_better();
  }
  // The reason why the budget of the last run ended is kept for the solve, whichever result is kept.
  void keep_better() { keep_next_if(better(w_.next, w_.best, evaluator_.residuals(), request_.unit_sigma)); }
  void keep_next_if(bool better) {
    const std::optional<Termination> spent = w_.next.spent;
    if (better) std::swap(w_.best, w_.next), waits_ = false;
    w_.best.spent = spent;
  }
  void run(const Attempt& attempt, MinimizerResult& out) {
    const SolverOptions& options = attempt.options != nullptr ? *attempt.options : rest();
    const bool eliminate = attempt.of == Of::any || options.variable_projection == VariableProjection::on;
    const std::span<const int> linear =
        eliminate ? std::span<const int>(request_.linear) : std::span<const int>();
    w_.system.begin(evaluator_, {options, request_.unit_sigma, request_.limits.box(), linear, extrapolates_});
    if (attempt.at != nullptr) w_.system.adopt(*attempt.at);
    w_.minimizer.run(w_.system,
                     {.options = options,
                      .x0 = attempt.x0,
                      .begin = begin_,
                      .geodesic = attempt.geodesic || options.geodesic == Geodesic::always,
                      .first_iteration = static_cast<int>(w_.trace.size()),
                      .steps_before = steps_of(w_.trace),
                      .counted = attempt.counted,
                      .stop_asked = attempt.stop_asked || w_.best.spent == Termination::user_stop,
                      .trusted_start = attempt.trusted_start,
                      .stops_at_kinks = stops_at_kinks_,
                      .by_calls = evaluator_.by_calls()},
                     out);
    out.extrapolated = w_.system.extrapolated();
    if (w_.system.known()) w_.system.release(out.at);
    std::vector<IterationSummary>& made = out.summary.iterations;
    std::vector<PrecisionIssue>& found = out.summary.precision.issues;
    issues_.insert(issues_.end(), found.begin(), found.end());
    if (w_.trace.empty()) w_.trace.swap(made);
    else w_.trace.insert(w_.trace.end(), made.begin(), made.end());
  }

  const SolveRequest& request_;
  DenseEvaluator& evaluator_;
  SolveWorkspace& w_;
  Clock::time_point begin_;
  std::optional<SolverOptions> rest_;
  bool stops_at_kinks_ = true;
  bool extrapolates_ = true;
  bool waits_ = false;  // whether the best result was reached without extrapolated differences
  std::vector<PrecisionIssue> issues_;
};

}  // namespace

SolverOptions settled(SolverOptions options) {
  options.precision = options.policy();  // the thread's policy if none is given; read once
  options.strict = options.strict || options.precision->strict;
  // The start with optimal linear parameters decides whether to eliminate them.
  const bool undecided = options.variable_projection == VariableProjection::automatic;
  if (undecided && !options.solve_linear_start) options.variable_projection = VariableProjection::off;
  return options;
}

// Solves again where that may help. If passes below f64 did not succeed, solves again entirely in f64. If
// there is still no certificate, solves with geodesic acceleration from the given start. Each time, keeps the
// better result. Also continues with extrapolated differences or along a kink, and from a saddle at a point
// of lower cost beside it.
static void try_again(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& w,
                      Attempts& attempts) {
  const SolverOptions& options = request.options;
  const bool in_doubt =
      options.strict && !w.best.spent && (doubt_arose(w.trace) || !is_success(w.best.summary.verdict));
  const auto worth_in_f64 = [&] {
    return rule_active(Rule::another_attempt_in_f64) && worth_another_attempt(w.best, evaluator, request);
  };
  if (went_below_f64(evaluator.counters()) && (in_doubt || worth_in_f64())) attempts.another_in_f64();
  if (options.geodesic == Geodesic::automatic && worth_another_attempt(w.best, evaluator, request))
    attempts.another_by_geodesics();
  attempts.go_on_extrapolated();
  if (const std::optional<Vector> zero = end_at_zero(request, w.best)) attempts.another_from(*zero);
  attempts.settle_at_kink();
  attempts.go_on_where_steps_fail();
  constexpr int kSaddles = 4;  // one after the other
  for (int k = 0; k < kSaddles && (k == 0 || !w.best.spent); ++k) {
    const std::optional<Vector> lower = lower_beside_saddle(evaluator, request, w.best);
    if (!lower) return;
    w.best.on_saddle = options.max_iterations == 0;  // parameters that are only judged stay where they are
    if (w.best.on_saddle) return withdraw(w.best.summary, {}, kSaddle);
    attempts.instead(*lower);
  }
}

// Takes the certificate back from an end that lost parameters.
static void judge_lost(const SolveRequest& request, DenseEvaluator& evaluator, MinimizerResult& end) {
  end.lost_parameters = is_success(end.summary.verdict) && lost_parameters(evaluator, request, end);
  if (end.lost_parameters) withdraw(end.summary, {}, kLostParameters);
}

void solve_in(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& w) {
  const SolverOptions& options = request.options;
  const auto begin = Clock::now();
  evaluator.extrapolate(false);  // an earlier solve of the same rows may have switched it on
  evaluator.keep_within(request.limits.box());
  evaluator.set_linear(options.solve_linear_start && !request.known_linear().empty() &&
                       request.known_linear().size() == request.x0.size());
  choose_start(evaluator, request, begin, w.start, w.other);
  const double initial_cost = w.start.initial_cost;
  const bool initial_in_f64 = w.start.initial_in_f64;
  Attempts attempts(request, evaluator, w, begin);
  attempts.first();
  try_again(request, evaluator, w, attempts);

  double given_cost = initial_cost;
  if (w.best.summary.termination != Termination::failure) {
    // An initial cost in f32 may appear lower than the final cost because of rounding. It may really be lower
    // if f32 or samples misled the iteration.
    const bool doubtful =
        options.precision->adaptive && !initial_in_f64 && !(initial_cost > 1.01 * w.best.summary.final_cost);
    if (doubtful) given_cost = evaluator.cost(request.x0, Format::f64);
    const bool above = w.best.summary.final_cost > given_cost + w.best.cost_noise;
    if (above && rule_active(Rule::never_above_start)) attempts.instead(request.x0);
  }
  judge_lost(request, evaluator, w.best);
  if (w.best.lost_parameters && options.geodesic == Geodesic::automatic && worth_whole_problem(w.best)) {
    MinimizerResult before = w.best;
    attempts.another_by_geodesics();
    judge_lost(request, evaluator, w.best);
    if (w.best.lost_parameters && before.summary.final_cost < w.best.summary.final_cost)
      w.best = std::move(before);
  }
  judge_by_twofold(request, w.best);
  Summary& s = w.best.summary;
  if (w.best.by_twofold == EndByTwofold::far) withdraw(s, {}, name(Termination::no_progress));
  w.best.outweighed =
      outweighed(request.rows, w.best.x, request.x0, s.certificate, w.best.limited_by_rounding);
  if (w.best.outweighed) withdraw(s, {}, "light rows");
  s.iterations.swap(w.trace);
  s.precision.issues.swap(attempts.issues());
  count_steps(s);
  if (s.eliminated.empty()) s.eliminated = w.start.eliminated;
  if (s.termination != Termination::failure) s.initial_cost = given_cost;
  else w.best.x = request.x0;
}

MinimizerResult solve(const SolveRequest& request) {
  const auto& wish = request.options.precision;
  const bool unsettled = request.options.variable_projection == VariableProjection::automatic &&
                         !request.options.solve_linear_start;
  if (!wish || (wish->strict && !request.options.strict) || unsettled) {
    const SolverOptions options = settled(request.options);
    return solve(request.with(options));
  }
  const FpEnvironment environment;
  DenseEvaluator evaluator(request.rows, request.options);
  SolveWorkspace workspace;
  return solve(request, evaluator, workspace);
}

MinimizerResult solve(const SolveRequest& request, DenseEvaluator& evaluator, SolveWorkspace& workspace) {
  const auto begin = Clock::now();
  evaluator.survey_next(request.survey);
  solve_in(request, evaluator, workspace);
  MinimizerResult best = std::move(workspace.best);
  workspace.best = {};
  Summary& s = best.summary;
  s.message = message_of_end(best, evaluator, request.rows, request.names);
  s.kernel = kernels().name;
  s.precision.policy = request.options.precision->to_string();
  s.precision.counters = evaluator.counters();
  s.precision.components = component_summaries(evaluator, s.iterations);
  s.counted_work = evaluator.counted_work();
  s.peak_bytes = evaluator.bytes();
  s.threads = evaluator.threads();
  s.time.evaluate = evaluator.seconds();
  s.time.total = seconds_since(begin);
  return best;
}

}  // namespace nlsq::inline v0
