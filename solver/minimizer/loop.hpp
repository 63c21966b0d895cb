// The state of the Levenberg-Marquardt loop and the questions it asks, one file each.
#pragma once

#include "minimizer/nonmonotonic.hpp"
#include "minimizer/step_rules.hpp"
#include "minimizer/system.hpp"
#include "minimizer/trust_region.hpp"

#include <nlsq/options.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace nlsq::inline v0 {

class StepObserver;

struct MinimizerRequest {
  const SolverOptions& options;
  std::span<const double> x0;
  std::chrono::steady_clock::time_point begin;
  bool geodesic = false;    // acceleration from the first step on
  int first_iteration = 0;  // lines of the trace made before, on samples or in other attempts
  int steps_before = 0;     // iterations among them: max_iterations counts those, too
  std::optional<KernelCounters> counted =
      std::nullopt;         // before the first pass, where passes were made already
  bool stop_asked = false;  // as if the callback had said Stop: the start is certified
  // The start comes from samples that represent all rows: it lies within some standard errors of the optimum,
  // where the linear model is good until a step fails.
  bool trusted_start = false;
  StepObserver* observer = nullptr;
};

struct MinimizerResult {
  Vector x;
  Certified certified;
  Linearization at;                        // f64, at x; of a dense system
  Summary summary;                         // termination, verdict, iterations, certificate
  double cost_noise = 0;                   // rounding of the final cost
  bool repeats = true, underflow = false;  // as in Recheck, at the start or at x
  bool lost_parameters =
      false;  // the data determine fewer parameters at x than at other points (lost_parameters.hpp)
  bool tolerance_met = false;  // of the user's
  std::string stopped_by;      // which, in words
  // What the budget ended by, where it is spent: no time or iteration is left for another attempt, or the
  // callback said Stop.
  std::optional<Termination> spent = std::nullopt;
};

// Where a warm-up got to.
struct WarmStart {
  Vector x;
  std::vector<IterationSummary> iterations;
  std::optional<Termination> spent;  // as in MinimizerResult
  std::vector<PrecisionIssue> issues;
  std::vector<int> eliminated;  // linear parameters, as in Summary
};

// Somebody who watches more closely than a callback can, and has stop tests of his own (ProblemControl).
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // x is linearized. Text: a test of his is met there.
  virtual std::string test_point(const Vector& x) = 0;
  virtual CallbackResult report(const Vector& x, double cost, double lambda) = 0;
  // A step was judged. Text: a test of his is met by it.
  virtual std::string test_step(const Vector& x, const Vector& trial, double cost, double trial_cost,
                                double gain, StepOutcome outcome, const Step& step, int accepted_before) = 0;
  virtual double least_gain() const = 0;
  virtual int most_invalid_steps() const = 0;  // 0: no limit
};

// x and all that is known there; moved as a whole by move_to.
struct Point {
  Vector x;
  bool prepared = false;  // the system is ready for steps, first-order facts are of x
  FirstOrder first;
  std::optional<double> cost_f64;  // where rows are below f64 and it was asked for
  double last_decrement = 0;       // ν₀ where an undamped step led from to x; 0: none did
  double last_step_size = 0;       // and ‖D s₀‖ / ‖D x‖ there
};

struct Trial {
  Vector x;
  double cost = 0, gain = 0, decrease = 0;
  rules::Judgement judgement = rules::Judgement::reject;
};

// How bold steps may be.
struct Damping {
  TrustRegion trust{0};
  double streak = 0;            // λ before the present streak of rejections
  double trusted_distance = 1;  // standard errors within which undamped steps are taken
  bool last_accepted = true;
  bool reached_along_valley = false;  // lowered at x for a gain that the cost can show
  int vain_reaches = 0;               // in a row, the step at once rejected
  double bend = 0, bent_length = 0;   // 2‖D a‖/‖D s‖ when it was measured last, and ‖D s‖ then
  int second_order_at = 10,
      second_order_period = 10;  // steps accepted until second derivatives are tried, and between trials
};

// The precision in force, and what tells whether it is enough.
struct Digits {
  PrecisionPlan plan;
  int undecided_in_a_row = 0, rejected_in_a_row = 0;
  int good_steps = 0;          // accepted in a row under the plan in force
  int descents = 0;            // of the Gram matrix to fewer digits
  bool gram_rejected = false;  // a step was rejected here that the Gram matrix may have spoilt
  double wasted_work = 0;      // of passes thrown away
  double last_decrease = 1;    // of the cost, relative, by the last step accepted
  int first_accepted = 0, first_rejected = 0;  // steps that were the first from where they began
};

// The last point whose cost f64 has seen not to be worse, at first the start.
struct Checkpoint {
  Vector x;
  double cost = 0;
  double noise = 0;          // of that cost: 0 where it is known in f64
  double work = 0;           // counted when it was taken
  int unverified_steps = 0;  // accepted below f64 since
};

// What rounding errors scale with.
struct RoundingSizes {
  Recheck start, end;
  double magnitude = 0;       // ‖terms of r‖, by the last recheck
  double cost_magnitude = 0;  // the same for the cost
  Vector column_magnitude;    // the same for each g_j
};

// What the end is decided by.
struct Ending {
  std::string met_by_rejection;  // a tolerance that a rejected step met, in words
  bool cut_short = false;        // stopped_by is about conjugate gradients, and no tolerance of the user's
  bool stalled = false;          // no step is left to try
  bool stop_asked = false;
  std::string stopped_by;  // a tolerance of the user's is met, in words
  int failed_certificates = 0, invalid_in_a_row = 0;
  int reopened = 0;       // certificates that failed, and the iteration went on as it was
  bool held_off = false;  // until a step is accepted, no first-order test is asked
  std::optional<LastStep> last_step;
  bool last_step_failed = false;
};

// The trace of a solve, and the counters and issues of each of its lines.
struct IterationLog {
  std::vector<IterationSummary> iterations;
  std::vector<PrecisionIssue> issues;
  int first = 0, next = 0;  // numbers of lines
  int steps = 0;            // iterations: lines that are no promotion
  int accepted = 0, rejected = 0, escalations = 0;
  KernelCounters counted;  // at the last line
  TimeSummary time;
};

struct Loop {
  using Clock = std::chrono::steady_clock;

  System* system = nullptr;
  const SolverOptions* options = nullptr;
  StepObserver* observer = nullptr;
  Clock::time_point begin;
  bool geodesic = false;
  PrecisionPolicy policy;
  Point point;
  Vector scale;  // D
  Step step;
  Trial trial;
  Damping damping;
  Digits digits;
  HealthReport health;
  Checkpoint checkpoint;
  RoundingSizes rounding;
  Nonmonotonic nonmonotonic{0};
  Ending ending;
  IterationLog log;
  Summary summary;
  Certified certified;
  FirstOrder next_first;

  bool low() const { return digits.plan.residual != Format::f64; }  // rows
  bool low_gram() const { return system->known() && system->at().plan.gram < Gram::f64; }
  double lambda() const { return damping.trust.lambda(); }
  double cost() const { return system->at().cost; }
  double sigma() const { return system->scatter_at(cost()); }
  double scaled_size() const { return system->scaled_size(point.x, scale); }
  double noise() const { return rules::cost_noise(rounding.cost_magnitude, cost()); }
  Approach approach() const {
    return {point.first, point.last_decrement, point.last_step_size, noise(), scale};
  }
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
};

// ---- minimizer_log.cpp: the trace
void record(Loop& loop, StepOutcome outcome, Event event = Event::none, std::string reason = {},
            std::vector<std::string> components = {});
void collect_issues(Loop& loop);  // of the passes since the last line
std::optional<Termination> budget_spent(const Loop& loop);

// ---- minimizer_point.cpp: x, what is known there, and how it moves
void move_to_trial(Loop& loop, bool undamped);  // the system has accepted the trial, or linearizes it next
void roll_back(Loop& loop);                     // to the checkpoint, in f64
void prepare_point(Loop& loop);
inline constexpr double kNormalCondition = 1e12;  // κ₀ up to which undamped normal equations are believed
bool first_order_known(const Loop& loop);         // ν₀ and the undamped step are to be believed
bool near_optimum(const Loop& loop);              // so close that the undamped step is trusted
bool undamped(const Loop& loop);                  // so the next step is

// ---- minimizer_step.cpp: a step is proposed, judged, and accepted or rejected
void solve_step(Loop& loop);
void propose(Loop& loop, bool exact = false);
void judge(Loop& loop);
void accept_or_reject(Loop& loop);
// The observer hears of every step. Text: a test of the observer's is met by it.
std::string tell_observer(Loop& loop, StepOutcome outcome);
bool gradients_are_cheap(const Loop& loop);
// For few unknowns where Gauss-Newton is slow. True: it was tried, and steps are to be prepared again.
bool step_by_second_order(Loop& loop);

// ---- minimizer_precision.cpp: what the digits allow
void assess(Loop& loop);            // the scheduler's report
bool change_precision(Loop& loop);  // true: x, or the plan, is another now
void verify_checkpoint(Loop& loop);
bool worse_than_checkpoint(Loop& loop);
void escalate(Loop& loop, Decision decision, std::string reason);

// ---- minimizer_finish.cpp: steps with gradients in f64 and the last Gram matrix below it
bool gram_worth_keeping(const Loop& loop);
bool finish_with_gram_kept(Loop& loop, const PrecisionPlan& plan);

// ---- minimizer_conclude.cpp: the end
bool reached(Loop& loop);  // a first-order test seems to hold, or no step is left
bool take_last_step(Loop& loop);
bool observe(Loop& loop);  // the observer's tests and report at x; true: the precision changed
bool conclude(Loop& loop, Termination reason);  // false: not yet, carry on
void finish(Loop& loop, MinimizerResult& out);

}  // namespace nlsq::inline v0
