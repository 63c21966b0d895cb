// Holds what callers of Minimizer (minimizer.hpp) hand in and get back: the request with its observer, and
// the results. The loop keeps its own state in loop.hpp.
#pragma once

#include "dense/evaluator.hpp"
#include "support/clock.hpp"

#include <nlsq/options.hpp>
#include <nlsq/summary.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// A StepObserver gets more than a callback, and has stop tests of its own (ProblemControl).
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Is called when x has been linearized. Returns the name of a stop test that holds there, or an empty
  // string.
  virtual std::string test_point(const Vector& x) = 0;
  virtual CallbackResult report(const Vector& x, double cost, double lambda) = 0;
  // Is called when a step has been judged. Returns the name of a stop test that holds, or an empty string.
  virtual std::string test_step(const Vector& x, const Vector& trial, double cost, double trial_cost,
                                double gain, StepOutcome outcome, const Step& step, int accepted_before) = 0;
  virtual double least_gain() const = 0;
  virtual int most_invalid_steps() const = 0;  // 0 means no limit
};

// Holds what one solve needs besides its System.
struct MinimizerRequest {
  const SolverOptions& options;
  std::span<const double> x0;  // within the bounds
  Clock::time_point begin;
  bool geodesic = false;    // use geodesic acceleration from the first step on
  int first_iteration = 0;  // number of trace lines made before, on samples or in other attempts
  int steps_before = 0;     // iterations among them; max_iterations counts these as well
  // counters before the first pass, where passes were already made
  std::optional<KernelCounters> counted = std::nullopt;
  bool stop_asked = false;  // behave as if the callback had returned Stop: certify the start
  // The start comes from samples that represent all rows. It lies within some standard errors of the optimum,
  // so the linear model is trusted until a step fails.
  bool trusted_start = false;
  StepObserver* observer = nullptr;
  bool stops_at_kinks = true;  // end the fit where short steps raise the cost again and again (Stagnation)
  bool by_calls = false;  // each evaluation calls the user's code, so a search without success is cut short
};

// Says what numbers of twice the digits of f64 show about an end that f64 cannot judge (twofold_end.cpp).
enum class EndByTwofold : std::uint8_t {
  unknown,     // not evaluated
  near,        // x is the optimum, as close as any success must be
  exact_data,  // the residuals at the optimum are no more than the last digits of the data
  far,         // x is not the optimum, and no f64 numbers closer to it were found
};

// Holds the end of a solve. The functions that examine ends (certificate/ends_of_fits.hpp) change it.
struct MinimizerResult {
  Vector x;
  Matrix covariance;                       // as in Certified
  Linearization at;                        // in f64, at x; for a dense system only
  Summary summary;                         // termination, verdict, iterations, certificate
  double cost_noise = 0;                   // rounding error of the final cost
  bool repeats = true, underflow = false;  // as in Recheck, at the start or at x
  // At other points than x, the data determine more parameters (lost_parameters.cpp).
  bool lost_parameters = false;
  bool on_saddle = false;                   // the cost is lower beside x, and no step was allowed
  bool outweighed = false;                  // rows of large weight hide all others (hidden_minimum.hpp)
  bool maybe_at_kink = false;               // the fit ended where short steps raise the cost (Stagnation)
  std::optional<std::size_t> noisy_column;  // derivatives by this parameter are rounding errors (kink.cpp)
  bool ran_off = false;                     // parameters seemed to go to infinity (test_for_slow_descent)
  bool limited_by_rounding = false;         // the rounding of f64 residuals hides the remaining decrease
  bool extrapolated = false;                // the fit ended with derivatives by extrapolated differences
  EndByTwofold by_twofold = EndByTwofold::unknown;
  std::vector<double> unexplained;  // with exact_data: the residuals at the optimum
  bool tolerance_met = false;       // one of the user's tolerances was met
  std::string stopped_by;           // name of that tolerance
  // Why the budget ended, if it did: there is no time or iteration left for another attempt, or the callback
  // returned Stop.
  std::optional<Termination> spent = std::nullopt;
};

// Holds the result of a warm-up.
struct WarmStart {
  Vector x;
  std::vector<IterationSummary> iterations;
  std::optional<Termination> spent;  // as in MinimizerResult
  std::vector<PrecisionIssue> issues;
  std::vector<int> eliminated;  // eliminated linear parameters, as in Summary
};

// These two are in minimizer_log.cpp. steps_of() returns the number of iterations: the lines of a trace that
// are not escalations.
int steps_of(std::span<const IterationSummary> trace);
// Combines the steps, issues and times of a solve and of a later one that continued it. Stores them in
// `kept`, which is one of the two.
void take_both(const Summary& before, const Summary& later, Summary& kept);

}  // namespace nlsq::inline v0
