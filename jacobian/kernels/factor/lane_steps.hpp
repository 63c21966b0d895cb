// These kernels do the arithmetic of LaneMinimizer for all lanes at once. They compute what is known at a new
// point, and the next trial point. Vectors of lanes take the place of a loop over fits, so one instruction
// computes the square roots or divisions of several fits.
#pragma once

#include "kernels/gram/gram.hpp"
#include "kernels/lane_state.hpp"

namespace nlsq::inline v0 {
namespace {

// One vector of lanes: those from `first` on.
class LaneVector {
 public:
  using S = Simd<double>;
  using V = S::V;
  using M = S::M;

  LaneVector(const LaneState& state, std::size_t first)
      : state_(state), first_(first), n_(static_cast<std::size_t>(state.n)),
        last_(packed_at(state.n, state.n, state.n + 1)) {}

  // Trial points become x, and the cost, distance, scale and size of the step at x are computed.
  void take() const {
    const LaneState& s = state_;
    const M taken = chosen(s.taken), iterated = chosen(s.iterated), rescaled = chosen(s.rescaled);
    const auto move = [&](const double* from, double* to, std::size_t k)
                          NLSQ_INLINE_LAMBDA { put(to, k, S::choose(taken, at(from, k), at(to, k))); };
    for (std::size_t k = 0; k <= last_; ++k) move(s.trial_sums, s.sums, k);
    move(s.trial_nu_squared, s.nu_squared, 0);
    put(s.stepped, 0, S::choose(iterated, at(s.undamped, 0), at(s.stepped, 0)));
    V steps = S::zero(), sizes = S::zero();
    for (std::size_t j = 0; j < n_; ++j) {
      const V trial = at(s.trial, free(j)), before = at(s.x, j);
      put(s.moved, j, S::choose(iterated, S::sub(trial, before), at(s.moved, j)));
      put(s.last_step, j, S::choose(iterated, at(s.step, j), at(s.last_step, j)));
      move(s.trial_step, s.step, j);
      const V x = S::choose(taken, trial, before), step = at(s.step, j);
      put(s.x, j, x);
      const V squares = at(s.sums, packed_at(static_cast<int>(j), static_cast<int>(j), state_.n + 1)),
              norm = S::sqrt(squares);
      const V least = S::mul(S::set(s.scale_memory), at(s.scale, j));
      put(s.scale, j, S::choose(rescaled, S::choose(S::less(norm, least), least, norm), at(s.scale, j)));
      steps = S::add(steps, S::mul(S::mul(step, step), squares));
      sizes = S::add(sizes, S::mul(S::mul(x, x), squares));
    }
    measure(steps, sizes);
  }

  // The next trial point: x, and the undamped step or the damped one.
  void propose() const {
    const LaneState& s = state_;
    const V gamma = extrapolation();
    const M undamped = chosen(s.undamped), extrapolated = S::mask_not(S::equal(gamma, S::zero()));
    V scaled = S::zero();
    for (std::size_t j = 0; j < n_; ++j) {
      V step = S::choose(undamped, at(s.step, j), at(s.other_step, j));
      const V change = S::sub(S::add(at(s.moved, j), step), at(s.last_step, j));
      step = S::choose(extrapolated, S::sub(step, S::mul(gamma, change)), step);
      put(s.trial, free(j), S::add(at(s.x, j), step));
      const V length = S::mul(at(s.scale, j), step);
      scaled = S::add(scaled, S::mul(length, length));
    }
    if (s.single) round_trial();
    M moves = S::less(S::zero(), S::zero());
    for (std::size_t j = 0; j < n_; ++j)
      moves = S::mask_or(moves, S::mask_not(S::equal(at(s.trial, free(j)), at(s.x, j))));
    put(s.moves, 0, S::choose(moves, S::set(1.0), S::zero()));
    const V damped = S::add(at(s.other_nu_squared, 0), S::mul(at(s.lambda, 0), scaled));
    put(s.predicted, 0, S::mul(S::set(0.5), S::choose(undamped, at(s.nu_squared, 0), damped)));
  }

 private:
  V at(const double* values, std::size_t k) const { return S::load(values + place(k)); }
  void put(double* values, std::size_t k, V v) const { S::store(v, values + place(k)); }
  std::size_t free(std::size_t j) const { return static_cast<std::size_t>(state_.free[j]); }
  M chosen(const double* decisions) const { return S::less(S::zero(), at(decisions, 0)); }
  std::size_t place(std::size_t k) const { return k * state_.lanes + first_; }

  // `steps` and `sizes` are ‖D s‖² and ‖D x‖² with the column norms D.
  void measure(V steps, V sizes) const {
    const LaneState& s = state_;
    const V squares = at(s.sums, last_), nu_squared = at(s.nu_squared, 0);
    const V cost = S::mul(S::set(0.5), squares), one = S::set(1.0);
    const V variance = s.unit_sigma ? one : S::div(S::mul(S::set(2.0), cost), S::set(s.freedom));
    const V ratio = S::sqrt(S::div(steps, sizes));
    const V size = S::choose(S::equal(steps, S::zero()), S::zero(), ratio);
    put(s.cost, 0, cost);
    put(s.decrement_sigma, 0, S::sqrt(S::div(nu_squared, variance)));
    put(s.step_size, 0, S::choose(S::equal(nu_squared, nu_squared), size, nu_squared));
  }

  // Near the optimum, Gauss-Newton steps shrink by a constant factor, because they leave out a part of the
  // curvature. This returns the part γ of the last step and its change whose removal makes the next step
  // smallest (Anderson, J. ACM 12, 1965, with a memory of one step); 0 where it does not apply.
  V extrapolation() const {
    const LaneState& s = state_;
    V along = S::zero(), change = S::zero();
    for (std::size_t j = 0; j < n_; ++j) {
      const V scale = at(s.scale, j), weight = S::mul(scale, scale), step = at(s.step, j);
      const V difference = S::sub(step, at(s.last_step, j));
      along = S::add(along, S::mul(S::mul(weight, step), difference));
      change = S::add(change, S::mul(S::mul(weight, difference), difference));
    }
    const V gamma = S::div(along, change);
    M applies = S::mask_and(chosen(s.undamped), chosen(s.stepped));
    applies = S::mask_and(applies, S::less_equal(S::abs(gamma), S::set(s.most_extrapolation)));
    return S::choose(applies, gamma, S::zero());
  }

  // Puts parameters on the grid of float. Otherwise their own rounding would shift all float32 residuals
  // together.
  void round_trial() const {
    for (std::size_t j = 0; j < n_; ++j) {
      double* const trial = state_.trial + place(free(j));
      for (std::size_t l = 0; l < S::lanes; ++l) trial[l] = static_cast<double>(static_cast<float>(trial[l]));
    }
  }

  const LaneState& state_;
  std::size_t first_, n_;
  std::size_t last_;  // entry of the squares of the residuals
};

void lane_take(const LaneState& state) {
  for (std::size_t l = 0; l < state.lanes; l += Simd<double>::lanes) LaneVector(state, l).take();
}

void lane_propose(const LaneState& state) {
  for (std::size_t l = 0; l < state.lanes; l += Simd<double>::lanes) LaneVector(state, l).propose();
}

}  // namespace
}  // namespace nlsq::inline v0
