// The Levenberg-Marquardt / Gauss-Newton loop, and nothing else: minimizer.cpp has the loop,
// minimizer_precision.cpp what the digits allow, minimizer_step.cpp a step, minimizer_finish.cpp steps that need
// no Gram matrix, minimizer_last_step.cpp one that needs no pass at its end, minimizer_curvature.cpp large residuals,
// minimizer_conclude.cpp the end.
//
// Each turn: know x (linearize in the precision in force), assess (condition, noise), promote if the
// digits run out, conclude if a first-order test holds in f64, else propose a step, judge it, settle.
// A promotion evaluates the same x again and is not a rejection. Nothing concludes in low precision.
#pragma once

#include "box.hpp"
#include "certificate.hpp"
#include "evaluator.hpp"
#include "kept.hpp"
#include "linear_solver.hpp"
#include "nonmonotonic.hpp"
#include "residual_curvature.hpp"
#include "trust_region.hpp"
#include "variable_projection.hpp"

#include <nlsq/options.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace nlsq::inline v0 {

// All that carries over from one iteration to the next: one serialisable value.
struct MinimizerState {
  Vector x;
  // D: column norms of J; a column that shrinks keeps half of its last scale. Between Moré's (1978) largest
  // norm ever seen, which creeps where columns shrink for good (MGH10), and the present norm, which lets
  // parameters run away where they shrink on the way out (MGH17): 324 of 324 perturbed NIST runs
  // against 318 and 318.
  Vector scale;
  double lambda = 1e-3;
  PrecisionPlan plan;
  int iteration = 0;
  int undecided_in_a_row = 0;
  int failed_certificates = 0;
  int good_steps = 0;        // accepted in a row under the plan in force
  int descents = 0;          // of the Gram matrix to fewer digits
  int unverified_steps = 0;  // accepted below f64 since the checkpoint
  Vector checkpoint;    // last point whose cost f64 has seen not to be worse, at first the start
  double checkpoint_cost = 0;
};

struct MinimizerResult {
  Vector x;
  Certified certified;
  Linearization at;  // f64, at x
  Summary summary;   // termination, verdict, iterations, certificate
  double cost_noise = 0;  // rounding of the final cost
  bool repeats = true, underflow = false;  // as in Recheck, at the start or at x
  bool lost_parameters = false;  // the data determine fewer parameters at x than at other points (lost_parameters.hpp)
  // What the budget ended by, where it is spent: no time or iteration is left for another attempt, or the callback said Stop.
  std::optional<Termination> spent = std::nullopt;
};

// Memory that one solve after the other runs in: what a minimizer finds there is never read.
struct MinimizerWorkspace {
  Vector x, scale, checkpoint, trial, norms, bend, acceleration, column_magnitude, room_below, room_above;
  Kept<Linearization> at, trial_at, other_trial_at;
  Kept<LinearSolver> solver;
  UndampedSolver undamped;
  FirstOrder first, next_first;
  Step step;
  Recheck recheck_start, recheck_end;
  Certified certified;
  std::vector<IterationSummary> iterations;
  Projection projection;
  Vector better;
};

// Where a warm-up got to.
struct WarmStart {
  Vector x;
  std::optional<Linearization> at;  // at x, where it is known
  std::vector<IterationSummary> iterations;
  std::optional<Termination> spent;  // as in MinimizerResult
  std::vector<PrecisionIssue> issues;
  std::vector<int> eliminated;  // linear parameters, as in Summary
};

// The plan a fit of these rows starts with: of components the narrowest, to which the others are raised in the evaluator.
PrecisionPlan first_plan(Evaluator& evaluator, const PrecisionPolicy& policy);

class Minimizer {
 public:
  using Clock = std::chrono::steady_clock;

  Minimizer(Evaluator& evaluator, const SolverOptions& options, bool unit_sigma, bool geodesic);
  // In memory that is given; it must outlive the minimizer, and no other may use it meanwhile.
  Minimizer(Evaluator& evaluator, const SolverOptions& options, bool unit_sigma, bool geodesic,
            MinimizerWorkspace& workspace);
  ~Minimizer();
  Minimizer(const Minimizer&) = delete;
  Minimizer& operator=(const Minimizer&) = delete;
  // Throws nothing of its own; what a user's callable throws passes through.
  // `at`: the linearization at x0, where it has been made already: the iteration starts in its plan. Its memory is taken.
  void run(std::span<const double> x0, Kept<Linearization>& at, Clock::time_point begin, MinimizerResult& out);
  MinimizerResult run(const Vector& x0, std::optional<Linearization> at, Clock::time_point begin);

  // Iterates until the undamped step is shorter than `near` standard errors; certifies nothing. False: it
  // did not get there, or the rows do not determine the parameters.
  bool warm_up(std::span<const double> x0, Kept<Linearization>& at, double near, Clock::time_point begin);
  WarmStart warm_result();
  // Iterations were made before, on samples or in other attempts: numbers go on from there, and so does their limit.
  void count_from(int iteration) { first_iteration_ = state_.iteration = iteration; }
  // What the kernels counted before, so that the first iteration has the work of the start to its account.
  void count_kernels_from(const KernelCounters& before) { counted_ = before; }
  // Parameters are to stay in `box`, the start in it: every point that is evaluated lies there. It must outlive this.
  void keep_within(const Box& box) { box_ = box; }
  // These parameters enter linearly together; they may be eliminated, where steps are damped. After keep_within.
  void eliminate(std::span<const int> linear) {
    if (options_.algorithm == Algorithm::levenberg_marquardt) projection_.offer(linear, box_, options_.variable_projection);
  }
  // As if the callback had said Stop: `run` certifies where it starts.
  void ask_stop() { stop_asked_ = true; }
  // The start comes from samples that represent all rows: it lies within some standard errors of the
  // optimum, where the linear model is good until a step fails.
  void trust_start() { trusted_distance_ = 30; }

 private:
  static constexpr std::size_t kRecheckRows = 4096;
  static constexpr double kNormalCondition = 1e12;  // κ₀ up to which undamped normal equations are believed

  void iterate();
  bool start(std::span<const double> x0, Kept<Linearization>& at);
  void measure_rounding();
  // ν₀ and the undamped step are to be believed.
  bool first_order_known() const {
    return first_.usable && (first_.condition <= kNormalCondition || at_->plan.gram == Gram::qr);
  }
  bool near_optimum() const;
  bool worth_less_damping() const;
  bool lost_below_f64() const;
  bool undamped() const;
  bool finish_in(const PrecisionPlan& plan);
  bool gradients_are_cheap() const;
  bool gram_worth_keeping() const;
  double propose_with_gram_kept();
  bool finish_with_gram_kept(const PrecisionPlan& plan);
  bool worse_than_checkpoint();
  void verify();
  void roll_back();
  void know();
  void assess();
  void solve_step(double lambda);
  double scaled_size() const;
  bool underflows() const;
  double grid_noise();
  std::optional<Format> format_below() const;
  RuleValues rule_values() const;
  double wasted_share() const;
  bool promote();
  void change_next(const Decision& decision, std::string reason);
  std::vector<bool> blamed(const Decision& decision) const;
  std::vector<std::string> raise_blamed(Decision& decision);
  bool reached();
  bool large() const;
  void round_trial();
  bool worth_asking_cost_first() const;
  Box room();
  double gradient_left() const;
  bool on_bounds() const { return !step_.held.empty() || !first_.held.empty(); }
  void settle_on_bounds();
  void bend_last_approach();
  bool take_last_step();
  bool widen_by_last_step();
  bool conclude(Termination reason);
  bool certify_here(Termination reason);
  void propose();
  void judge();
  void project_trial();
  void settle();
  void polish();
  bool curvature_counts() const;
  void weigh_curvature(bool accepted);
  void add_curvature();
  void damp_negative_curvature();
  std::optional<Termination> budget_spent() const;

  bool low() const { return state_.plan.residual != Format::f64; }    // rows
  bool low_gram() const { return at_ && at_->plan.gram < Gram::f64; }  // of at_
  double noise() const;
  static double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  void add_acceleration();
  void judge_by_gradient();
  bool judge_costs(double before, double after, double noise);
  bool falls_from_reference(double after, double noise);
  void escalate(Decision decision, std::string reason);
  void record(StepOutcome outcome, Event event = Event::none, std::string reason = {}, std::vector<std::string> components = {});
  void account(int iteration);
  bool take_certified_step();
  void update_scale();
  void finish(MinimizerResult& out);

  std::unique_ptr<MinimizerWorkspace> own_;  // where none was given
  MinimizerWorkspace& memory_;
  Evaluator& evaluator_;
  const SolverOptions& options_;
  Box box_;
  bool unit_sigma_, geodesic_;
  int first_iteration_ = 0;
  Clock::time_point begin_;
  KernelCounters counted_;  // the evaluator's at the last iteration

  MinimizerState state_;
  TrustRegion trust_;
  Nonmonotonic nonmonotonic_;
  ResidualCurvature curvature_;
  Kept<Linearization>& at_ = memory_.at;        // at state_.x
  Kept<LinearSolver>& solver_ = memory_.solver; // of at_
  std::optional<Probe> probe_;          // at state_.x, where rows or Gram matrix are below f64
  FirstOrder& first_ = memory_.first;   // at state_.x, f64 only
  HealthReport health_;
  Step& step_ = memory_.step;
  double streak_lambda_ = 0;            // λ before the current rejection streak

  Projection& projection_ = memory_.projection;
  Vector& trial_ = memory_.trial;
  Kept<Linearization>& trial_at_ = memory_.trial_at;
  double trial_cost_ = 0, rho_ = 0, decrease_ = 0;
  std::optional<double> cost_f64_;      // at state_.x, where it was asked for
  enum class Judgement { accept, reject, invalid, undecided } judgement_ = Judgement::reject;
  double trusted_distance_ = 1;         // standard errors within which undamped steps are taken
  double last_decrement_ = 0;           // ν₀ where an undamped step led from to state_.x; 0: none did
  double last_step_size_ = 0;           // and ‖D s₀‖ / ‖D x‖ there
  // A step whose end at_ tells of without a pass there.
  struct LastStep {
    double size = 0;        // ‖D s‖ / ‖D x‖
    double left = 0, left_sigma = 0;  // bounds of what it leaves: of the same kind, and in standard errors
    double gram_change = 0; // ‖H⁻¹ ΔH‖ along it
  };
  std::optional<LastStep> last_step_;
  bool last_step_failed_ = false;
  bool stalled_ = false, last_accepted_ = true, ftol_met_ = false, stop_asked_ = false;
  bool reach_along_valley_ = false;     // damping was lowered at state_.x for a gain that the cost can show
  bool gram_rejected_ = false;          // a step was rejected here that the Gram matrix may have spoilt
  double wasted_work_ = 0;              // of passes thrown away
  double work_at_checkpoint_ = 0;
  int vain_reaches_ = 0;                // in a row, the step at once rejected
  int first_accepted_ = 0, first_rejected_ = 0;  // steps that were the first from where they began
  double checkpoint_noise_ = 0;         // of the checkpoint's cost: 0 where it is known in f64
  double magnitude_ = 0;                // ‖terms of r‖, by the last recheck
  double cost_magnitude_ = 0;           // the same for the cost
  Vector& column_magnitude_ = memory_.column_magnitude;          // the same for each g_j
  Recheck &recheck_start_ = memory_.recheck_start, &recheck_end_ = memory_.recheck_end;
  Certified& certified_ = memory_.certified;
  Summary summary_;
};

}  // namespace nlsq::inline v0
