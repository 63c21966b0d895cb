// Holds the state of the Levenberg-Marquardt loop, and the functions that minimizer.cpp and the files beside
// it call. The functions are grouped by subject, one file for each group.
#pragma once

#include "minimizer/minimizer_request.hpp"
#include "minimizer/nonmonotonic.hpp"
#include "minimizer/step_rules.hpp"
#include "minimizer/system.hpp"
#include "minimizer/trust_region.hpp"

#include <limits>
#include <optional>
#include <string>

namespace nlsq::inline v0 {

// The current point x and everything derived from it. move_to_trial replaces them together.
struct Point {
  Vector x;
  bool prepared = false;  // The system is ready to solve for steps, and `undamped_step` is that of x.
  UndampedStep undamped_step;
  std::optional<double> cost_f64;  // set once it is evaluated, where rows are below f64
  double last_decrement = 0;       // ν₀ of the undamped step that led to x; 0 if the step was damped
  double last_step_size = 0;       // ‖D s₀‖ / ‖D x‖ of that step
  double last_distance = 0;        // ν₀/σ of the point before x; 0 if unknown
};

struct Trial {
  Vector x;
  double cost = 0, gain = 0, decrease = 0;
  rules::Judgement judgement = rules::Judgement::reject;
};

// Holds the damping of steps and the rules that bypass it.
struct Damping {
  TrustRegion trust{0};
  double lambda_before_rejections = 0;  // λ before the current sequence of rejections
  double trusted_distance = 1;          // Undamped steps are taken within this many standard errors.
  bool last_accepted = true;
  // The number of undamped steps that failed since the last one that helped, and the number of accepted steps
  // to wait before the next try.
  int undamped_failures = 0, undamped_waits = 0;
  // λ was lowered at x to gain a decrease larger than the noise of the cost
  bool reached_along_valley = false;
  int failed_valley_steps = 0;  // such lowerings in a row whose first step was rejected
  // The last measured 2‖D a‖/‖D s‖, with the step s and its geodesic acceleration a, and ‖D s‖ at that time.
  double bend = 0, bent_length = 0;
  // Number of accepted steps before the next trial of second derivatives, and the number between trials.
  static constexpr int kSecondOrderPeriod = 10;
  int second_order_at = rules::kHardFit, second_order_period = kSecondOrderPeriod;
};

// Holds the precision in force, and the counts that show whether it is enough.
struct Digits {
  PrecisionPlan plan;
  int undecided_in_a_row = 0, rejected_in_a_row = 0;
  int good_steps = 0;        // accepted in a row under the plan in force
  int poor_predictions = 0;  // accepted in a row whose decrease differed from the prediction by over half
  int descents = 0;          // times the Gram matrix went down to fewer digits
  // true if a step was rejected at x, perhaps because of the Gram matrix's rounding
  bool gram_rejected = false;
  double wasted_work = 0;                      // work of passes that were thrown away
  double last_decrease = 1;                    // relative decrease of the cost by the last accepted step
  int first_accepted = 0, first_rejected = 0;  // outcomes of the first step tried from a point
};

// Holds the last point whose f64 cost was verified to be no worse. At first it is the start.
struct Checkpoint {
  Vector x;
  double cost = 0;
  double noise = 0;          // uncertainty of `cost`; 0 where it was evaluated in f64
  double work = 0;           // counted work when the checkpoint was taken
  int unverified_steps = 0;  // steps accepted below f64 since then
};

// Holds the sizes to which rounding errors are proportional.
struct RoundingSizes {
  Recheck start, end;
  double magnitude = 0;       // ‖terms of r‖, from the last recheck
  double cost_magnitude = 0;  // the same for the cost
  Vector column_magnitude;    // the same for each component g_j of the gradient

  // The last comparison of the residuals with the user's own functions.
  const Recheck& last() const { return end.rows > 0 ? end : start; }
};

// Holds what test_for_stagnation() records of the last progress in float64.
struct Stagnation {
  double decrement = std::numeric_limits<double>::infinity();  // ν₀ at that time
  double cost = std::numeric_limits<double>::infinity();
  int iterations = 0;  // since then
  int patience = 8;    // without progress for more iterations than this, the loop stagnates
  // Steps since then that were far shorter than a standard error, and raised the cost. A differentiable cost
  // falls along such steps. So if it rises, x lies at a kink, or derivatives are wrong.
  int short_rises = 0;
  bool at_kink() const { return short_rises >= 6; }
  // test_for_slow_descent() uses these: the costs when they last fell by enough to count, and the iterations
  // since then.
  double slow_cost = std::numeric_limits<double>::infinity(), stuck_cost = slow_cost;
  int slow_iterations = 0, stuck_iterations = 0;
};

// Holds the state that decides when and how the solve ends.
struct Ending {
  std::string met_by_rejection;  // a tolerance that a rejected step met, in words
  bool cut_short = false;        // stopped_by is about conjugate gradients, not a tolerance of the user's
  bool stalled = false;          // no step is left to try
  bool stop_asked = false;
  std::string stopped_by;  // the user's tolerance that holds, in words
  int failed_certificates = 0, invalid_in_a_row = 0;
  int reopened = 0;       // number of failed certificates after which the iteration continued unchanged
  bool held_off = false;  // skip first-order tests until a step is accepted
  Stagnation stagnation;
  std::optional<LastStep> last_step;
  bool last_step_failed = false;
};

// The trace of a solve, with the counters and issues of each line.
struct IterationLog {
  std::vector<IterationSummary> iterations;
  std::vector<PrecisionIssue> issues;
  int first = 0, next = 0;  // line numbers
  int steps = 0;            // iterations, that is, lines that are not escalations
  int accepted = 0, rejected = 0, escalations = 0;
  KernelCounters counted;  // counters at the last line
  TimeSummary time;
};

// Holds the whole state of a solve.
struct Loop {
  System* system = nullptr;
  const SolverOptions* options = nullptr;
  std::optional<MinimizerRequest> request;
  bool ran_off = false;
  PrecisionPolicy policy;
  Point point;
  Vector scale;  // D, the scale of the parameters: column norms with memory (step_rules.hpp)
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
  UndampedStep next_undamped_step;
  Step whole_step;  // scratch memory of propose_whole()

  bool low_rows() const { return digits.plan.residual != Format::f64; }  // true if rows are below f64
  bool low_gram() const { return system->known() && system->at().plan.gram < Gram::f64; }
  double lambda() const { return damping.trust.lambda(); }
  double cost() const { return system->at().cost; }
  double sigma() const { return system->scatter_at(cost()); }
  double scaled_size() const { return system->scaled_size(point.x, scale); }
  double noise() const { return rules::cost_noise(rounding.cost_magnitude, cost()); }
  Approach approach() const {
    return {point.undamped_step, point.last_decrement, point.last_step_size, noise(), scale};
  }
};

// ---- minimizer_log.cpp writes the trace.
void record(Loop& loop, StepOutcome outcome, Event event = Event::none, std::string reason = {},
            std::vector<std::string> components = {});
void collect_issues(Loop& loop);  // collects the issues of the passes since the last line
std::optional<Termination> budget_spent(const Loop& loop);

// ---- minimizer_point.cpp keeps the point x and moves it.
// Moves x to the trial point. `by_undamped_step` is true if an undamped step led there. Afterwards the caller
// must make the system forget or linearize x.
void move_to_trial(Loop& loop, bool by_undamped_step);
// Does the same for a trial point that the system has linearized, and makes the system accept it.
void take_trial(Loop& loop, bool by_undamped_step);
// Is called after a step was accepted. After later rejections, the loop comes back to the damping in force
// now.
void end_rejections(Damping& damping);
void roll_back(Loop& loop);  // moves to the checkpoint, in f64
void prepare_point(Loop& loop);
bool undamped_step_known(const Loop& loop);  // true if ν₀ and the undamped step can be trusted
bool near_optimum(const Loop& loop);         // true if x is so close that the undamped step is trusted
bool next_is_near(const Loop& loop);         // true if the next point is expected to be close enough
bool undamped(const Loop& loop);             // true if the next step is undamped
// Returns true if damping does not shorten any component of the step: λ is far below 1/κ², and so below the
// least eigenvalue of the scaled H. The linear model then predicts that the gradient almost vanishes at the
// end of the step.
bool hardly_damped(const Loop& loop);
// Counts undamped steps that fail. If they fail repeatedly, the residuals curve too much for them. They are
// tried again at once, then after 1, 3 and 7 accepted steps.
void note_undamped(Damping& damping, bool helped);

// ---- minimizer_step.cpp proposes a step, judges it, and accepts or rejects it.
void solve_step(Loop& loop);
void propose(Loop& loop, bool exact = false);
void judge(Loop& loop);
void accept_or_reject(Loop& loop);
// Reports a step to the observer. Returns the name of the stop test that the step meets, or an empty text.
std::string tell_observer(Loop& loop, StepOutcome outcome);

// ---- minimizer_newton.cpp takes steps by second derivatives of the cost.
// Tries such a step, for few unknowns where Gauss-Newton is slow. Returns true if it was tried; the point
// must then be prepared again.
bool step_by_second_order(Loop& loop);

// ---- minimizer_precision.cpp gets a precision from the scheduler, and changes to it.
void assess(Loop& loop);            // fills in the health report for the scheduler
bool change_precision(Loop& loop);  // returns true if x or the plan has changed
void verify_checkpoint(Loop& loop);
const PointCost& linearize_end(Loop& loop, const PrecisionPlan& plan, double expected_cost);
bool worse_than_checkpoint(Loop& loop);
void escalate(Loop& loop, Decision decision, std::string reason);

// ---- minimizer_finish.cpp takes last steps with f64 gradients and the last Gram matrix below f64.
// Returns true if an f64 gradient costs a small part of a pass that also forms the Gram matrix.
bool gradients_are_cheap(const Loop& loop);
bool gram_worth_keeping(const Loop& loop);
bool finish_with_gram_kept(Loop& loop, const PrecisionPlan& plan);

// ---- minimizer_tests.cpp decides whether the solve may end at x. Its tests also record what they found.
// Computes the gain ratio of an accepted step: it compares the gradient at the end of the step with the one
// at its beginning. Returns 1 if rounding errors are larger than the difference of the two.
double gain_by_gradients(const Loop& loop);
// Returns true if a first-order test seems to hold, or no step is left. The certificate then decides. A step
// by conjugate gradients is solved again, with a tight tolerance, before its length counts. If only the gtol
// that the user chose holds, this is noted in `ending.stopped_by`.
bool test_for_end(Loop& loop);
// Returns true if, near the optimum, neither ν₀ has halved nor the cost has fallen visibly for many
// iterations. Rounding may then decide about steps, and only a certificate can decide whether x is the
// optimum.
bool test_for_stagnation(Loop& loop);
// Returns true if the user's code is called and many iterations have hardly lowered the cost. This means less
// than a billionth far from an optimum, as near a point where the rates of two decays are equal. Or it means
// less than half a percent while some parameter has grown a thousandfold; the model then fits best where
// parameters are infinite (Loop::ran_off).
bool test_for_slow_descent(Loop& loop);

// ---- minimizer_conclude.cpp forms the certificate of x.
bool take_last_step(Loop& loop);
bool continue_extrapolated(Loop& loop);  // goes on with the most accurate differences, once
// For how many rows the user's own functions are called: at the start, where their sizes are measured, and
// for the certificate, where they are compared with the program.
constexpr std::size_t kRowsAtStart = 1024, kRowsOfCertificate = 4096;
// Calls the user's own functions at x for about `rows` rows, or for all rows if options.strict. Their sizes
// scale the bounds on rounding errors from here on.
void recheck_here(Loop& loop, std::size_t rows, Recheck& out);
bool observe(Loop& loop);  // Runs the observer's tests at x. Returns true if the precision changed.
bool conclude(Loop& loop, Termination reason);  // Certifies x. Returns false if the iteration goes on.

// ---- minimizer_result.cpp fills the result.
bool limited_by_rounding(const Loop& loop);  // judges the certificate formed last
// Returns true if extrapolated differences at x have errors that a smooth function would not give, and the
// certificate formed last has failed. Further steps would follow the jumps of the function.
bool limited_by_jumps(const Loop& loop);
void fill_result(Loop& loop, MinimizerResult& out);

}  // namespace nlsq::inline v0
