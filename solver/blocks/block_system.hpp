// Implements the interface System of the minimizer for problems of parameter blocks. Residuals are computed
// in f64. J is stored in f32 or f64, and each residual block has its own format. To find a step, SchurSolver
// eliminates the points first. solve_problem.cpp uses this class.
#pragma once

#include "blocks/block_model.hpp"
#include "blocks/certificate/block_judge.hpp"
#include "blocks/certificate/block_second_order.hpp"
#include "blocks/certificate/rank_bound.hpp"
#include "blocks/schur/schur.hpp"
#include "certificate/certificate.hpp"
#include "minimizer/system.hpp"
#include "support/clock.hpp"

#include <nlsq/options.hpp>
#include <nlsq/problem_control.hpp>

#include <algorithm>
#include <limits>

namespace nlsq::inline v0 {

struct DerivativeDirection;  // defined in block_derivative_check.cpp

class BlockSystem final : public System {
 public:
  // `first` is the format of JᵀJ at the start of the solve.
  BlockSystem(BlockModel& model, const BlockStructure& structure, SchurSolver& solver,
              const SolverOptions& options, Gram first);
  // Lets a certificate allow steps of tau standard errors of a parameter, because values that another program
  // found have fewer digits than those of a solve.
  void allow_steps_of_tau() { short_of_tau_ = 1; }
  // Compares the residuals at the start with those of the user's own functions. Programs that disagree are
  // not used. x must not change during the solve.
  void begin(std::span<const double> x);
  std::span<const double> start() const { return start_; }  // x of begin(), within the bounds

  std::size_t residuals() const override { return structure_.residuals; }
  std::size_t parameters() const override { return structure_.tangent_size(); }
  double scatter_at(double cost) const override;
  bool residuals_stay_f64() const override { return true; }
  PrecisionPlan first_plan(const PrecisionPolicy&) override { return {Format::f64, gram_}; }

  bool known() const override { return known_ && !derivatives_at_trial_; }
  void forget() override { known_ = false; }
  const PointCost& at() const override { return at_.model; }
  void linearize(std::span<const double> x, const PrecisionPlan& plan) override;
  double cost(std::span<const double> x, Format format) override;
  void column_norms(Vector& out) const override;
  double scaled_size(std::span<const double> x, std::span<const double> scale) const override {
    return model_.scaled_size(x, scale);
  }
  double gradient_cosine(std::span<const double>) override { return at_.cosine; }
  bool gradient_is_noise(std::span<const double> x, const Recheck& rounding) override;
  bool residuals_vanish(double initial_cost, double left, bool no_progress) override;
  void prepare(std::span<const double> x, const Vector& scale) override;
  void solve_undamped(std::span<const double> x, double lambda, double near, UndampedStep& out) override;

  void solve(double lambda, Step& out) override;
  void set_solve_accuracy(double decrease) override;
  bool solves_iteratively() const override { return solver_.iterative(); }
  double accelerate(std::span<const double> x, const Vector& scale, Step& step, double most) override;
  bool plus(std::span<const double> x, Step& step, Vector& trial, bool exact) override;
  void measure(std::span<const double> x, const Step& step, HealthReport& health) override;
  void rule_values(RuleValues& values) const override;
  bool evaluate_widely() override;

  bool has_second_order() const override;
  bool second_order_step(Step& out) override;

  const PointCost& linearize_trial(Vector& trial, const PrecisionPlan& plan, bool damped) override;
  bool trial_known() const override { return derivatives_at_trial_; }
  const PointCost& trial() const override { return trial_.model; }
  bool trial_gradient_falls(const Step& step, double lambda, double slack) override;
  void accept_trial() override;
  void restore_point() override;
  void drop_trial() override {
    if (derivatives_at_trial_) known_ = false;
    derivatives_at_trial_ = false;
  }

  void recheck(std::span<const double> x, std::size_t rows, Recheck& out) override;
  bool recheck_agrees(const Recheck& found, double) const override { return found.discrepancy == 0; }
  void certify(std::span<const double> x, const CertificateTests& tests, Certified& out) override;
  bool certificate_was_cut_short() const override { return cut_short_; }
  bool certificate_found_lower() const override { return found_lower_; }
  bool certificate_promises_zero() const override { return promises_zero_; }
  // Returns true if the certificate of the last point rests on rounding errors of terms that cancel.
  bool hides_minimum(const Certificate& certificate);

  const KernelCounters& counters() const override;
  std::vector<PrecisionNote> take_notes() override { return std::exchange(notes_, {}); }

  // Returns the cost at x by the user's own functions, or NaN if the residuals were not compared with them
  // there.
  double cost_by_functions(std::span<const double> x) const {
    return std::ranges::equal(x, at_.x) ? at_.cost_by_functions : std::numeric_limits<double>::quiet_NaN();
  }
  const std::vector<double>& gradient() const { return solver_.gradient(); }
  std::size_t fixed() const { return at_.fixed_count; }  // numbers fixed at their bounds
  const BlockSolveFacts& facts() const { return facts_; }
  const TimeSummary& time() const { return time_; }
  int linear_iterations() const { return linear_iterations_; }
  const std::string& doubt() const { return doubt_; }  // why no certificate passed, in words
  // s at which an own loss gives a slope that its values do not have
  std::optional<double> wrong_loss_at() const { return wrong_loss_at_; }
  // Names a manifold whose plus_jacobian is wrong: its parameter block, and the column that is wrong.
  struct WrongManifold {
    std::uint32_t block = 0;
    std::size_t number = 0;
  };
  const std::optional<WrongManifold>& wrong_manifold() const { return wrong_manifold_; }
  double last_solve_seconds() const { return last_solve_seconds_; }

 private:
  // The data of a point, x or the trial point, except J.
  struct PointData {
    PointCost model;
    std::vector<double> x, r;
    bool has_records = false;  // the f32 records are those of x, so that sums in a wider format reuse them
    double cost_by_functions = std::numeric_limits<double>::quiet_NaN();  // by the user's functions; NaN if
                                                                          // not known
    double cosine = 0;
    std::vector<std::uint8_t> fixed;  // fixed at bounds, by tangent index
    std::size_t fixed_count = 0;
    std::vector<std::uint8_t> released;  // not held by bounds here (release_from_bounds); may be empty
  };

  bool low_jacobian() const { return gram_ < Gram::f64; }
  // Calls work(R(), T()) with the current formats of records and of sums.
  template <class Work>
  void in_format(Work work) {
    if (gram_ == Gram::f32_tile && !solver_.iterative()) work(float(), float());
    else if (low_jacobian()) work(float(), double());
    else work(double(), double());
  }

  // ---- block_system.cpp evaluates points and solves for steps.
  void enter(Gram gram);
  // Returns the norm of a column of the last J. Columns that bounds hold have their norm without the bounds
  // here.
  double column_norm(std::size_t j) const {
    return held_norms_.empty() ? std::sqrt(solver_.squares()[j]) : held_norms_[j];
  }
  double evaluate(std::span<const double> x, PointData& at);
  double evaluate(PointData& at);  // at at.x
  void differentiate(PointData& at, const PrecisionPlan& plan);
  bool gather(PointData& at, bool linearized = false);
  void fix_at_bounds(PointData& at);
  void note_widened();
  void solve_damped(double lambda);
  double undamped_size(const PointData& at, std::span<const double> step, double sigma) const;
  const BlockStep* undamped_step();

  // ---- heavy_rows.cpp solves for steps where rows have very different weights.
  void solve_heavy(double lambda);
  std::vector<double> move_beside_heavy_rows(std::span<const double> z, std::span<const double> norms);
  bool heavy_rows();

  // ---- certificate/block_certificate.cpp forms the certificate of a point.
  double most_terms() const;
  bool gradient_exceeds_noise() const;
  BlockPoint point() { return point(at_); }
  BlockPoint point(PointData& at);
  std::shared_ptr<const BlockTerms> terms(double small = kVanishing);
  std::vector<double> weighted_rounding_bounds();
  double measured_rounding();
  double blur(const Certificate& c, double rounding) const;
  double rounding_beside(double last_digits);
  bool residuals_still_vanish(const BlockJudgement& judgement);
  bool withstands_doubts(BlockJudgement& judgement, Certified& out);
  BlockJudgement judge_within_bounds(const BlockTests& tests, const BlockStep* solved);
  bool release_from_bounds(const std::vector<double>& step);
  bool contradicted(const BlockTests& tests, BlockJudgement& judgement);
  bool falls_on_the_way(const BlockTests& tests, BlockJudgement& judgement);
  void compare_with_functions(std::span<const double> x, Recheck& out);

  // ---- certificate/block_curvature.cpp uses second derivatives of the cost.
  GradientAt gradient_beside();
  bool leaves_parameters_open(const SecondOrder& found, const BlockJudgement& judgement);
  void judge_by_second_order(const BlockTests& tests, BlockJudgement& judgement, Certified& out);
  enum class Curved { unknown, up, down };
  double lower_in_a_valley(const BlockJudgement& judgement) const;
  bool is_beside_saddle(const BlockJudgement& judgement, Certified& out);
  Curved curvature_at_end(const BlockJudgement& judgement, double limit, Certified& out);
  bool falls_along(const SecondOrder& found, double enough, Certified& out);

  // ---- certificate/block_derivative_check.cpp and loss_check.cpp compare derivatives that the user's
  // functions, manifolds and losses supply with differences.
  void check_manifolds(std::span<const double> x, Recheck& out);
  void check_own_derivatives(Recheck& out);
  bool derivatives_agree(std::span<const double> sizes, std::span<const std::uint8_t> fixed);
  bool agrees_over_longer_step(const DerivativeDirection& direction, std::span<const double> given);
  void check_along(std::span<const DerivativeDirection> directions, Recheck& out);
  void check_own_losses(Recheck& out);

  // ---- certificate/block_derivative_effect.cpp measures how far wrong derivatives have moved the minimum.
  std::vector<std::vector<double>> moves_by_noise(std::size_t count);
  bool factor_for_moves();
  std::vector<double> move_of_zero_columns(std::span<const double> sizes, double sigma);
  bool check_effect(std::span<const std::vector<double>> moves, bool all, std::span<const double> sizes,
                    Recheck& out);
  void blame(std::span<const double> move, std::span<const double> weighted, double sigma, Recheck& out);

  // ---- certificate/block_doubts.cpp looks for what contradicts a certificate.
  bool falls_where_unseen(const BlockJudgement& judgement, Certified& out);
  bool falls_further_out(const BlockJudgement& judgement, Certified& out);
  bool falls_beside(const BlockJudgement& judgement, Certified& out);
  bool falls_at(std::size_t j, double length, double enough, Certified& out);
  bool rises_evenly(const BlockJudgement& judgement);
  double cost_or_none(std::span<const double> x);
  bool determines_more(std::span<const double> x, int rank);
  std::string doubt_of_rank(int rank);
  bool lost_parameters(int rank);
  bool losses_hide_parameters(int rank);
  bool is_flat_at(std::span<const double> x, std::size_t j);
  bool moves_in_jumps();

  BlockModel& model_;
  const BlockStructure& structure_;
  SchurSolver& solver_;
  const SolverOptions& options_;
  Gram gram_;
  PointData at_, trial_;
  bool known_ = false, derivatives_at_trial_ = false;
  std::span<const double> start_;
  Vector projected_start_;         // if there are bounds
  Vector held_norms_;              // of the last J, where bounds hold some of its columns; else empty
  Vector clamped_scale_;           // see prepare()
  const Vector* scale_ = nullptr;  // D, of the loop
  BlockStep step_;                 // the last one solved for,
  double step_lambda_ = -1;        // with this damping; -1: none
  std::shared_ptr<const BlockTerms> terms_;  // of at_; null if not measured since J was evaluated last
  double start_residual_ = 0;                // ‖r‖ at the start
  double vanishing_cost_ = std::numeric_limits<double>::infinity();  // see residuals_still_vanish()
  double predicted_ = 0;  // decrease of the cost by the last step that the loop asked for,
  double model_error_ = std::numeric_limits<double>::infinity();  // and its error, of the last one taken
  std::optional<bool> heavy_;  // whether solve_by_rows() computes the steps; none: not known yet
  double short_of_tau_ = kShortOfTau;
  bool was_near_ = false;  // undamped quantities were requested at the last point
  // ν of the damped step at the last point where the undamped one was computed and not used.
  double last_unused_nu_ = std::numeric_limits<double>::infinity();
  RankBound rank_bound_;
  Recheck start_recheck_;
  bool start_reported_ = false, cut_short_ = false, found_lower_ = false, promises_zero_ = false;
  std::string doubt_;
  std::optional<double> wrong_loss_at_;
  std::optional<WrongManifold> wrong_manifold_;
  std::vector<PrecisionNote> notes_;
  mutable KernelCounters counters_;
  BlockSolveFacts facts_;
  TimeSummary time_;
  int linear_iterations_ = 0;
  double last_solve_seconds_ = 0;
};

}  // namespace nlsq::inline v0
