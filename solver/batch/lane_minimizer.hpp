// Levenberg-Marquardt for many small fits of one program at once: each has a lane of every vector, and a lane
// whose fit has ended takes the next. The steps, damping and tests are Minimizer's; what is not plain going
// it leaves to that.
//
// Two formats, one after the other: in f32 fits are led to where f64 has a few steps left, in f64 they
// converge. Nothing a fit does depends on the others.
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
  std::size_t rows = 0, parameters = 0;  // free or not
  std::vector<int> free;
  std::vector<int> linear;  // positions among the free ones whose starting values are solved for
  double tau = 1e-3, xtol = 1e-10, gtol = 1e-10, initial_lambda = 1e-3;
  bool unit_sigma = false;
};

// What a fit takes along from one format to the next.
struct LaneStart {
  bool led = false;      // it is under way: linear parameters have been solved for
  bool by_step = false;  // an undamped step led to where it is
  double initial_cost = 0;
  int iterations = 0;
  TrustRegion trust{0};
};

class LaneMinimizer {
 public:
  enum class End : std::uint8_t {
    converged,  // f64: the first-order tests hold, with the undamped step
    led,        // f32: as far as it is to be trusted
    left,       // not plain going
  };

  LaneMinimizer(LanePass& pass, const LaneProblem& problem, bool single);

  std::size_t lanes() const { return lanes_.size(); }
  // `values`: of all parameters. The data are set in the pass. `arrival`: the undamped step that led there,
  // or null.
  void begin(std::size_t lane, std::size_t fit, const double* values, const LaneStart& start,
             const double* arrival);
  // One pass over the rows, and a step for each fit. Returns the lanes whose fits have ended; they stand
  // idle.
  std::span<const std::size_t> round(KernelCounters& counters);

  std::size_t fit(std::size_t lane) const { return lanes_[lane].fit; }
  End end(std::size_t lane) const { return lanes_[lane].end; }
  const LaneStart& state(std::size_t lane) const { return lanes_[lane].state; }
  double x(std::size_t lane, std::size_t j) const { return of(x_, j, lane); }  // free parameter j
  // End::led: x is one undamped step beyond the last point, this one.
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
    Step step = Step::damped;  // the one that leads to the trial point
    bool taken = false;        // the trial point, for x
    bool last_accepted = true;
    bool stepped = false;  // an undamped step led to x: moved_ and last_step_ are known
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
  }  // of the packed triangle
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
  // Of all lanes: entry k of lane l at k * lanes + l.
  std::vector<double> trial_;              // all parameters
  std::vector<double> x_, scale_;          // free ones; D
  std::vector<double> trial_sums_, sums_;  // packed triangles, at the trial point and at x
  std::vector<double> trial_step_, step_,
      other_step_;                         // undamped, at either; damped or of the linear parameters
  std::vector<double> moved_, last_step_;  // from the point before to x; undamped, at the point before
  std::vector<double> trial_nu_squared_, other_nu_squared_, lambda_, zero_, part_;
  std::vector<std::size_t> ended_;
};

}  // namespace nlsq::inline v0
