// Reports the progress of a block solve to a ProblemControl and runs its stop tests. solve_problem.cpp uses
// it.
#pragma once

#include "blocks/block_system.hpp"
#include "minimizer/minimizer_request.hpp"

namespace nlsq::inline v0 {

class BlockObserver final : public StepObserver {
 public:
  BlockObserver(const ProblemControl& control, const BlockSystem& system, const BlockModel& model,
                const BlockStructure& structure, Clock::time_point begin)
      : control_(control), system_(system), model_(model), structure_(structure), step_begin_(begin) {}

  std::string test_point(const Vector& x) override;
  CallbackResult report(const Vector& x, double cost, double lambda) override;
  std::string test_step(const Vector& x, const Vector& trial, double cost, double trial_cost, double gain,
                        StepOutcome outcome, const Step& step, int accepted_before) override;
  double least_gain() const override { return control_.least_gain; }
  int most_invalid_steps() const override { return control_.max_invalid_steps; }

 private:
  const ProblemControl& control_;
  const BlockSystem& system_;
  const BlockModel& model_;
  const BlockStructure& structure_;
  BlockStepReport report_;
  Clock::time_point step_begin_;
  bool told_ = false;  // true if the step numbered `steps_` was reported
  int steps_ = 0;
};

}  // namespace nlsq::inline v0
