// LaneMinimizer runs Levenberg-Marquardt for many small fits of one program at once. Each fit has a lane of
// every vector, and a lane whose fit has ended takes the next fit. Steps, damping and tests are those of
// Minimizer; fits that need other means are left to Minimizer. LaneBatch uses it.
//
// Fits run in two formats: f32 brings them to within a few steps of the optimum, and f64 converges them. No
// fit depends on the others.
#pragma once

#include "dense/evaluator.hpp"

#include "kernels/lane_state.hpp"
#include "program/aligned_vector.hpp"
#include "rows/lane_pass.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Holds the settings that all fits share.
struct LaneProblem {
  std::size_t rows = 0, parameters = 0;  // free and fixed parameters
  std::vector<int> free;
  // positions among the free ones of linear parameters whose starting values are solved for
  std::vector<int> linear;
  double tau = 1e-3, xtol = 1e-10, gtol = 1e-10, initial_lambda = 1e-3;
  bool unit_sigma = false;
};

// Holds the state that a fit takes from one format to the next.
struct LaneStart {
  bool after_f32 = false;  // f32 steps were taken, so linear parameters have been solved for
  bool by_step = false;    // the last step to this point was undamped
  double initial_cost = 0;
  int iterations = 0;
  double lambda = 0, growth = 0;  // of TrustRegion
};

class LaneMinimizer {
 public:
  enum class End : std::uint8_t {
    converged,  // f64: the first-order tests hold, including the undamped step
    f32_done,   // f32: cannot be improved further
    needs_minimizer
  };

  LaneMinimizer(LanePass& pass, const LaneProblem& problem, bool single);

  std::size_t lanes() const { return at_.lanes; }
  // Begins a fit in a lane. `values` holds all parameters. The data must already be set in the pass.
  // `arrival` is the undamped step that led to the values, or null.
  void begin(std::size_t lane, std::size_t fit, const double* values, const LaneStart& start,
             const double* arrival);
  // Makes one pass over the rows and one step for each fit. Returns the lanes whose fits have ended. They
  // remain idle until the next begin().
  std::span<const std::size_t> round(KernelCounters& counters);

  std::size_t fit(std::size_t lane) const { return lanes_[lane].fit; }
  End end(std::size_t lane) const { return lanes_[lane].end; }
  LaneStart state(std::size_t lane) const;
  double x(std::size_t lane, std::size_t j) const { return of(at_.x, j, lane); }  // free parameter j
  // For a fit that ended as f32_done: returns true if the last step was undamped; arrival() is that step.
  bool arrived_by_step(std::size_t lane) const { return at_.stepped[lane] != 0; }
  double arrival(std::size_t lane, std::size_t j) const { return of(at_.step, j, lane); }
  // The functions below return the linearization at x.
  double cost(std::size_t lane) const { return at_.cost[lane]; }
  double decrement_sigma(std::size_t lane) const { return at_.decrement_sigma[lane]; }
  void linearization(std::size_t lane, Linearization& out) const;

 private:
  // Holds the state of one fit. Its numbers are in at_.
  struct Lane {
    std::size_t fit = 0;
    End end = End::needs_minimizer;
    bool after_f32 = false;
    int rejected = 0;
  };

  double& of(double* values, std::size_t k, std::size_t lane) const { return values[k * at_.lanes + lane]; }
  std::size_t entry(std::size_t i, std::size_t j) const {
    return i * (2 * n_ + 3 - i) / 2 + j - i;
  }  // index in the packed triangle
  double trial_cost(std::size_t lane) const { return 0.5 * of(at_.trial_sums, entry(n_, n_), lane); }

  void refuse(std::size_t lane);
  void end_if_done(std::size_t lane);
  double largest_cosine(std::size_t lane) const;
  void solve(const double* sums, std::size_t n, const double* lambda, double* step, double* nu_squared);
  void propose_linear();
  void finish(std::size_t lane, End end);
  void give_up(std::size_t lane);

  LanePass& pass_;
  const LaneProblem& problem_;
  bool single_;
  std::size_t n_;  // free parameters
  std::vector<Lane> lanes_;
  LaneState at_;
  std::vector<AlignedVector<double>> numbers_;  // the arrays of at_
  double *part_ = nullptr, *zero_ = nullptr;    // normal equations of the linear parameters; λ = 0
  std::vector<std::size_t> ended_;
};

}  // namespace nlsq::inline v0
