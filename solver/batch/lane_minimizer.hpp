// LaneMinimizer: Levenberg-Marquardt for many small fits of one program at once. Each fit has a lane of every
// vector, and a lane whose fit has ended takes the next. Steps, damping and tests are Minimizer's; fits that
// need more are left to Minimizer. LaneBatch uses it.
//
// Fits run in two formats: f32 brings them to within a few steps of the optimum, and f64 converges them. No
// fit depends on the others.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/trust_region.hpp"

#include "rows/lane_pass.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// What all fits share.
struct LaneProblem {
  std::size_t rows = 0, parameters = 0;  // free and fixed parameters
  std::vector<int> free;
  // positions among the free ones of linear parameters whose starting values are solved for
  std::vector<int> linear;
  double tau = 1e-3, xtol = 1e-10, gtol = 1e-10, initial_lambda = 1e-3;
  bool unit_sigma = false;
};

// The state that a fit takes from one format to the next.
struct LaneStart {
  bool led = false;      // f32 steps were taken: linear parameters have been solved for
  bool by_step = false;  // the last step to this point was undamped
  double initial_cost = 0;
  int iterations = 0;
  TrustRegion trust{0};
};

class LaneMinimizer {
 public:
  enum class End : std::uint8_t {
    converged,  // f64: the first-order tests hold, including the undamped step
    led,        // f32: as far as it can be trusted
    left,       // the fit needs Minimizer
  };

  LaneMinimizer(LanePass& pass, const LaneProblem& problem, bool single);

  std::size_t lanes() const { return lanes_.size(); }
  // `values` holds all parameters. Set the data in the pass first. `arrival` is the undamped step that led to
  // them, or null.
  void begin(std::size_t lane, std::size_t fit, const double* values, const LaneStart& start,
             const double* arrival);
  // Makes one pass over the rows and one step for each fit. Returns the lanes whose fits have ended; they
  // stay idle until the next begin().
  std::span<const std::size_t> round(KernelCounters& counters);

  std::size_t fit(std::size_t lane) const { return lanes_[lane].fit; }
  End end(std::size_t lane) const { return lanes_[lane].end; }
  const LaneStart& state(std::size_t lane) const { return lanes_[lane].state; }
  double x(std::size_t lane, std::size_t j) const { return of(x_, j, lane); }  // free parameter j
  // For End::led: the last step was undamped, and arrival() is that step.
  bool arrived_by_step(std::size_t lane) const { return lanes_[lane].stepped; }
  double arrival(std::size_t lane, std::size_t j) const { return of(step_, j, lane); }
  // The linearization at x.
  double cost(std::size_t lane) const { return lanes_[lane].cost; }
  double decrement_sigma(std::size_t lane) const { return lanes_[lane].decrement_sigma; }
  void linearization(std::size_t lane, Linearization& out) const;

 private:
  enum class Stage : std::uint8_t { idle, start, linear, iterate };
  enum class Step : std::uint8_t { undamped, damped, linear };
  struct Lane {
    std::size_t fit = 0;
    Stage stage = Stage::idle;
    End end = End::left;
    LaneStart state;
    Step step = Step::damped;  // the step that leads to the trial point
    bool taken = false;        // the trial point is accepted as x
    bool last_accepted = true;
    bool stepped = false;  // the step to x was undamped, so moved_ and last_step_ are valid
    int rejected = 0;
    double cost = 0, nu_squared = 0, decrement_sigma = 0;  // at x
    double predicted = 0;                                  // of the step
  };

  double& of(std::vector<double>& values, std::size_t k, std::size_t lane) {
    return values[k * lanes() + lane];
  }
  double of(const std::vector<double>& values, std::size_t k, std::size_t lane) const {
    return values[k * lanes() + lane];
  }
  std::size_t entry(std::size_t i, std::size_t j) const {
    return i * (2 * n_ + 3 - i) / 2 + j - i;
  }  // index in the packed triangle
  double trial_cost(std::size_t lane) const { return 0.5 * of(trial_sums_, entry(n_, n_), lane); }

  void examine(std::size_t lane);
  void judge(std::size_t lane);
  void take_trials();
  void take_trial(std::size_t lane);
  void survey(std::size_t lane);
  bool ended_here(std::size_t lane);
  double extrapolation(std::size_t lane) const;
  double step_size(std::size_t lane) const;
  double largest_cosine(std::size_t lane) const;
  void solve_damped();
  void solve_linear();
  void propose(std::size_t lane);
  void finish(std::size_t lane, End end);
  void give_up(std::size_t lane);

  LanePass& pass_;
  const LaneProblem& problem_;
  bool single_;
  std::size_t n_;
  std::vector<Lane> lanes_;
  // For all lanes: entry k of lane l is at k * lanes + l.
  std::vector<double> trial_;              // all parameters
  std::vector<double> x_, scale_;          // free parameters; D
  std::vector<double> trial_sums_, sums_;  // packed triangles, at the trial point and at x
  // Undamped steps at the trial point and at x; the damped step, or that of the linear parameters.
  std::vector<double> trial_step_, step_, other_step_;
  // from the point before to x; undamped step at the point before
  std::vector<double> moved_, last_step_;
  std::vector<double> trial_nu_squared_, other_nu_squared_, lambda_, zero_, part_;
  std::vector<std::size_t> ended_;
};

}  // namespace nlsq::inline v0
