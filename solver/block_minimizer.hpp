// Levenberg-Marquardt for block problems. Costs, and residuals inside gradients, are f64 always; J and the products
// of it are f32 until a step shows that this is not enough, or until the end is near:
//
//   know x (J, gradient, column norms) - propose a step - judge it by f64 costs - settle
//
// Numbers at their bounds that would only leave the box are held for the step. A promotion evaluates the same x again and is not a rejection. Nothing concludes with J in f32.
#pragma once

#include "block_judge.hpp"
#include "block_model.hpp"
#include "block_second_order.hpp"
#include "schur.hpp"
#include "trust_region.hpp"

#include <nlsq/problem_control.hpp>

#include <chrono>
#include <optional>

namespace nlsq::inline v0 {

class BlockMinimizer {
 public:
  using Clock = std::chrono::steady_clock;

  // `control` may be null.
  BlockMinimizer(BlockModel& model, const BlockStructure& structure, SchurSolver& solver, const SolverOptions& options, Gram first,
                 const ProblemControl* control = nullptr);

  // Throws nothing of its own; what a user's function throws passes through.
  Summary run(std::vector<double>& x, Clock::time_point begin);

 private:
  bool start(const std::vector<double>& x);
  void iterate();
  std::optional<Termination> spent() const;
  void know();
  void hold_at_bounds();
  bool controlled();
  void measure_gradient();
  void report();
  void aim();
  void aim_tightly();
  void propose();
  bool worth_bending() const;
  double expected_bend() const;
  void bend();
  void judge();
  void settle();
  bool met_by_step();
  void promote(Gram gram, Event event, std::string reason);
  void enter(Gram gram);
  void report_widened();
  RuleValues rule_values() const;
  bool ruled();
  void conclude(Termination reason);
  bool certify(Termination reason);
  BlockPoint point();
  BlockTests tests() const;
  bool contradicted(const BlockJudgement& judgement);
  bool goes_on(BlockJudgement& judgement, Termination reason);
  bool take_certified_step(const BlockJudgement& judgement, std::span<const double> step, double promised);
  bool judge_second_order(BlockJudgement& judgement);
  SecondOrder find_second_order();
  bool second_order_pays() const;
  bool step_by_second_order();
  void move_to_trial(double promised, std::string reason);
  void cut_short(const BlockJudgement& judgement);
  bool rechecked();
  static double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  void record(StepOutcome outcome, Event event = Event::none, std::string reason = {}, std::vector<std::string> components = {});
  void finish();

  bool low() const { return plan_.gram < Gram::f64; }
  // work(R(), T()): formats of records and of sums in force.
  template <class Work>
  void in_format(Work work) {
    if (plan_.gram == Gram::f32_tile && !solver_.iterative()) work(float(), float());
    else if (low()) work(float(), double());
    else work(double(), double());
  }
  double noise() const;
  double evaluate(const std::vector<double>& x, std::vector<double>& r);
  double sigma() const;
  double cosine() const;
  double cosine_bound() const;
  bool first_order() const;
  std::size_t free_size() const { return structure_.tangent_size() - held_count_; }

  BlockModel& model_;
  const BlockStructure& structure_;
  const SolverOptions& options_;
  const PrecisionPolicy policy_;  // read once: a thread's own may change, in a callback
  const ProblemControl* control_;
  SchurSolver& solver_;
  TrustRegion trust_;
  Clock::time_point begin_;
  PrecisionPlan plan_;  // rows are f64; the form of the Gram matrix says what J and its products are

  std::vector<double> x_, trial_, r_, trial_r_, scale_;  // trial_r_: scratch, too, until there is a trial point
  double cost_ = 0, trial_cost_ = 0, rho_ = 0;
  BlockStep step_;
  double last_decrease_ = 1;  // of the cost, relative, by the last step accepted
  std::vector<double> acceleration_;
  double bend_ = 0, bent_length_ = 0;  // 2 ‖D a‖ / ‖D v‖ and ‖D v‖ when it was measured last
  std::vector<std::uint8_t> held_;  // by tangent number, at x
  std::size_t held_count_ = 0;
  bool shortened_ = false;  // the last step, by bounds
  bool known_ = false;     // J, gradient and norms at x, in the format in force
  bool recorded_ = false;  // the records of J alone
  bool stop_asked_ = false, ended_ = false;
  int rejections_ = 0;  // in a row
  std::optional<Termination> reached_;
  enum class Judgement { accept, reject, invalid } judgement_ = Judgement::reject;
  std::string cut_short_;   // what conjugate gradients left open at the end, in words
  std::string doubt_;       // why the certificate did not pass
  std::vector<double> start_;
  double streak_lambda_ = 0;     // λ before the rejections in a row
  int within_noise_ = 0;         // steps of the certificate's that the cost could not judge
  int second_order_at_ = 10, second_order_period_ = 10;  // in steps accepted
  int reopened_ = 0;             // certificates that failed, and the iteration went on as it was
  bool test_held_off_ = false;   // until a step is accepted the damped first-order test is not asked
  std::string stopped_by_;  // which test of the control's

  // What the control is told.
  BlockStepReport report_;
  bool told_ = false;
  Clock::time_point step_begin_;
  int invalid_ = 0;  // failed factorisations in a row
  BlockSolveFacts facts_;
  Summary summary_;
};

}  // namespace nlsq::inline v0
