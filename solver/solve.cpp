#include "solve.hpp"

#include "dense_evaluator.hpp"
#include "fp_environment.hpp"
#include "start.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

namespace {

// A certificate is worth a cost that is higher by less than one standard error; else the lower cost wins.
bool better(const MinimizerResult& a, const MinimizerResult& b, std::size_t rows, bool unit_sigma) {
  const bool good_a = is_success(a.summary.verdict), good_b = is_success(b.summary.verdict);
  const double cost_a = a.summary.final_cost, cost_b = b.summary.final_cost;
  if (good_a == good_b) return cost_a < cost_b * (1 - 1e-9);
  const double sigma = scatter(good_a ? cost_b : cost_a, rows, a.x.size(), unit_sigma);
  const double excess = good_a ? cost_a - cost_b : cost_b - cost_a;
  return (excess <= 0.5 * sigma * sigma) == good_a;
}

// No certificate, or rank lost on the way (parameters that ran off to where the data see nothing of them).
bool worth_another_attempt(const MinimizerResult& result, DenseEvaluator& evaluator, const SolveRequest& request) {
  const Summary& s = result.summary;
  if (result.spent) return false;
  if (s.verdict == Verdict::rank_deficient) {
    Linearization at = evaluator.linearize(request.x0, {Format::f64, Gram::qr});
    return at.finite && numerical_rank(at) == static_cast<int>(request.x0.size());
  }
  return !is_success(s.verdict) && s.termination == Termination::no_progress;
}

std::string failure_message(const RowSizes& sizes) {
  if (!sizes.finite) {
    return fmt::format("the residual of row {} is not finite at the starting values, or a derivative of it; parameters are unchanged. "
                       "Start where the model is defined, or leave the row out.",
                       sizes.row);
  }
  return fmt::format("residuals or derivatives are as large as {:.1e} at the starting values (row {}), and their squares overflow; "
                     "parameters are unchanged. Give y and sigma in units in which they are near 1.",
                     sizes.largest, sizes.row);
}

std::string recheck_message(const MinimizerResult& result) {
  const Summary& s = result.summary;
  constexpr double kRounding = 1e-3;  // what is larger is not rounding, however magnified
  if (result.repeats && s.certificate.recheck_discrepancy < kRounding && s.evaluator == "graph") {
    return fmt::format("the same residuals, computed in another order, differ by up to {:.1e} of their size: terms of the model cancel, and "
                       "what is left is rounding. Nothing is certified; write the model so that nothing cancels "
                       "(2*sin(x/2)^2 for 1-cos(x), expm1(x) for exp(x)-1).",
                       s.certificate.recheck_discrepancy);
  }
  return fmt::format("the {} evaluator disagrees with the callable re-evaluated in double (largest relative difference "
                     "{:.1e}): does the callable change between calls? Nothing is certified.",
                     s.evaluator, s.certificate.recheck_discrepancy);
}

// `sizes`: at x, where the start failed or squares underflow.
std::string message_of(const MinimizerResult& result, const DenseEvaluator& evaluator, const RowSizes& sizes) {
  const Summary& s = result.summary;
  if (s.termination == Termination::failure) return failure_message(sizes);
  if (s.certificate.wrong_column >= 0) {
    return fmt::format("the Jacobian given disagrees with differences of the residuals: column {} (counted from 0) is off by {:.1e} of its "
                       "size. Nothing is certified; correct it, or leave it out and have derivatives taken.",
                       s.certificate.wrong_column, s.certificate.jacobian_difference);
  }
  if (!s.certificate.recheck_passed) return recheck_message(result);
  const int n = evaluator.parameters();
  switch (s.verdict) {
    case Verdict::converged:
      return fmt::format("converged: first-order test ({}) holds in f64", s.certificate.governed_by);
    case Verdict::noise_floor:
      return fmt::format("converged to the noise floor: the gradient is below its rounding bound ({})", s.certificate.governed_by);
    case Verdict::rank_deficient:
      return fmt::format("converged on the {}-dimensional subspace that the data determine, of {} parameters", s.certificate.rank, n);
    default: break;
  }
  if (result.underflow) {
    return fmt::format("{}: residuals, or derivatives by some parameter, are no larger than {:.1e}, and their squares underflow: nothing can "
                       "be certified. Give y, sigma and parameters in units in which they are near 1.",
                       name(s.termination), sizes.least);
  }
  return fmt::format("{}: parameters are the best found, cost and gradient verified in f64, first order not certified",
                     name(s.termination));
}

// Counts of all stages and attempts: of the trace, that is.
void count_steps(Summary& s) {
  s.accepted = s.rejected = s.precision.escalations = 0;
  for (const IterationSummary& it : s.iterations) {
    s.accepted += it.outcome == StepOutcome::accepted ? 1 : 0;
    s.rejected += it.outcome == StepOutcome::rejected || it.outcome == StepOutcome::invalid ? 1 : 0;
    const bool finer = it.event != Event::none && it.event != Event::rollback && it.event != Event::sample_abandoned;
    s.precision.escalations += finer ? 1 : 0;
  }
}

}  // namespace

MinimizerResult solve(const SolveRequest& request) {
  const auto& wish = request.options.precision;
  if (!wish || (wish->strict && !request.options.strict)) {
    SolverOptions options = request.options;
    options.precision = options.policy();  // the thread's where there is none: read here and not again
    options.strict = options.strict || options.precision->strict;
    return solve({request.rows, request.x0, request.linear, options, request.unit_sigma});
  }
  const FpEnvironment environment;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&begin] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const SolverOptions& options = request.options;
  DenseEvaluator evaluator(request.rows, options);

  Start start = choose_start(evaluator, request, begin);
  std::vector<IterationSummary> trace = std::move(start.iterations);
  const double initial_cost = start.initial_cost;
  Minimizer minimizer(evaluator, options, request.unit_sigma, options.geodesic == Geodesic::always);
  minimizer.count_from(static_cast<int>(trace.size()));
  if (start.stop_asked) minimizer.ask_stop();
  if (start.from_samples) minimizer.trust_start();
  MinimizerResult best = minimizer.run(std::move(start.x), std::move(start.at), begin);
  const auto add_to_trace = [&trace](Summary& s) { trace.insert(trace.end(), s.iterations.begin(), s.iterations.end()); };
  add_to_trace(best.summary);
  // Once more in f64 what f32 rows did not bring to an end, as if they had never been; then with acceleration.
  SolverOptions rest = options;
  rest.precision = PrecisionPolicy::all_f64();
  rest.sampling = Sampling::never;
  const auto attempt = [&](const Vector& x0, std::optional<Linearization> at, bool geodesic) {
    Minimizer other(evaluator, rest, request.unit_sigma, geodesic);
    other.count_from(static_cast<int>(trace.size()));
    if (best.spent == Termination::user_stop) other.ask_stop();
    MinimizerResult next = other.run(x0, std::move(at), begin);
    add_to_trace(next.summary);
    return next;
  };
  const auto another = [&](const Vector& x0, std::optional<Linearization> at, bool geodesic) {
    MinimizerResult next = attempt(x0, std::move(at), geodesic);
    const std::optional<Termination> spent = next.spent;
    if (better(next, best, evaluator.residuals(), request.unit_sigma)) best = std::move(next);
    best.spent = spent;
  };
  if (evaluator.counters().rows_f32 > 0 && worth_another_attempt(best, evaluator, request)) {
    Start plain = choose_start(evaluator, {request.rows, request.x0, request.linear, rest, request.unit_sigma}, begin);
    another(plain.x, std::move(plain.at), options.geodesic == Geodesic::always);
  }
  if (options.geodesic == Geodesic::automatic && worth_another_attempt(best, evaluator, request)) {
    another(request.x0, std::nullopt, true);
  }

  double given_cost = initial_cost;
  if (best.summary.termination != Termination::failure) {
    // Where the start was judged in f32 it may seem to be below the end; or be it, where f32 or samples led astray.
    const bool doubtful = options.precision->adaptive && !(initial_cost > 1.01 * best.summary.final_cost);
    if (doubtful) given_cost = evaluator.cost(request.x0, Format::f64).cost;
    if (best.summary.final_cost > given_cost + best.cost_noise) best = attempt(request.x0, std::nullopt, options.geodesic == Geodesic::always);
  }
  Summary& s = best.summary;
  s.iterations = std::move(trace);
  count_steps(s);
  if (s.termination != Termination::failure) s.initial_cost = given_cost;
  if (s.termination == Termination::failure) best.x = request.x0;
  RowSizes sizes;
  if (s.termination == Termination::failure || best.underflow) sizes = evaluator.sizes(best.x);
  s.kernel = kernels().name;
  s.evaluator = request.rows.kind();
  s.precision.policy = options.precision->to_string();
  s.precision.counters = evaluator.counters();
  s.counted_work = evaluator.counted_work();
  s.peak_bytes = evaluator.peak_bytes();
  s.threads = evaluator.threads();
  s.time.evaluate = evaluator.seconds();
  s.time.total = seconds();
  s.message = message_of(best, evaluator, sizes);
  return best;
}

}  // namespace nlsq::inline v0
