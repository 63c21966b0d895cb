// These kernels do the arithmetic of LaneMinimizer for all lanes at once. They judge trial points, compute
// what is known at a new point, and make the next trial point. Vectors of lanes take the place of a loop over
// fits. One instruction computes the square roots or divisions of several fits, and no branch depends on one
// fit.
#pragma once

#include "kernels/gram/gram.hpp"
#include "kernels/lane_state.hpp"

namespace nlsq::inline v0 {
namespace {

// Holds one vector of lanes, which starts at lane `first`. With a constant N = n the compiler unrolls the
// loops. N = 0 stands for any n.
template <int N>
class LaneVector {
 public:
  using S = Simd<double>;
  using V = S::V;
  using M = S::M;

  LaneVector(const LaneState& state, std::size_t first) : state_(state), first_(first) {}

  // Judges the trial points. Those that are accepted become x, and the cost, distance, scale and size of the
  // step at x are computed.
  void take() const {
    const LaneState& s = state_;
    const Judgement judged = judge();
    const M taken = judged.taken, iterated = judged.iterated, rescaled = judged.accepted;
    const auto move = [&](const double* from, double* to, std::size_t k)
                          NLSQ_INLINE_LAMBDA { put(to, k, S::choose(taken, at(from, k), at(to, k))); };
    for (std::size_t k = 0; k <= last(); ++k) move(s.trial_sums, s.sums, k);
    move(s.trial_nu_squared, s.nu_squared, 0);
    put(s.stepped, 0, S::choose(iterated, at(s.undamped, 0), at(s.stepped, 0)));
    V steps = S::zero(), sizes = S::zero();
    for (std::size_t j = 0; j < n(); ++j) {
      const V trial = at(s.trial, free(j)), before = at(s.x, j);
      put(s.moved, j, S::choose(iterated, S::sub(trial, before), at(s.moved, j)));
      put(s.last_step, j, S::choose(iterated, at(s.step, j), at(s.last_step, j)));
      move(s.trial_step, s.step, j);
      const V x = S::choose(taken, trial, before), step = at(s.step, j);
      put(s.x, j, x);
      const V squares = at(s.sums, entry(j, j)), norm = S::sqrt(squares);
      const V least = S::mul(S::set(s.scale_memory), at(s.scale, j));
      put(s.scale, j, S::choose(rescaled, S::choose(S::less(norm, least), least, norm), at(s.scale, j)));
      if (s.single) continue;  // the tests of a fit in float32 do not use the size of the step
      steps = S::add(steps, S::mul(S::mul(step, step), squares));
      sizes = S::add(sizes, S::mul(S::mul(x, x), squares));
    }
    measure(steps, sizes);
    plan(judged);
  }

  // Computes the next trial point: x plus the undamped step or the damped one.
  void propose() const {
    const LaneState& s = state_;
    const V gamma = extrapolation();
    const M undamped = chosen(s.undamped), extrapolated = S::mask_not(S::equal(gamma, S::zero()));
    V scaled = S::zero();
    for (std::size_t j = 0; j < n(); ++j) {
      V step = S::choose(undamped, at(s.step, j), at(s.other_step, j));
      const V change = S::sub(S::add(at(s.moved, j), step), at(s.last_step, j));
      step = S::choose(extrapolated, S::sub(step, S::mul(gamma, change)), step);
      put(s.trial, free(j), S::add(at(s.x, j), step));
      const V length = S::mul(at(s.scale, j), step);
      scaled = S::add(scaled, S::mul(length, length));
    }
    if (s.single) round_trial();
    M moves = S::less(S::zero(), S::zero());
    for (std::size_t j = 0; j < n(); ++j)
      moves = S::mask_or(moves, S::mask_not(S::equal(at(s.trial, free(j)), at(s.x, j))));
    const V damped = S::add(at(s.other_nu_squared, 0), S::mul(at(s.lambda, 0), scaled));
    const V predicted = S::mul(S::set(0.5), S::choose(undamped, at(s.nu_squared, 0), damped));
    put(s.predicted, 0, predicted);
    put_decision(s.moves, S::mask_and(moves, finite(predicted)));
  }

 private:
  struct Judgement {
    M taken;     // the trial point becomes x
    M iterated;  // true if a step of the iteration led to the trial point that becomes x
    M accepted;  // true if the fit iterates, and its trial point is not refused
    M refused;
  };

  NLSQ_INLINE std::size_t n() const { return static_cast<std::size_t>(N == 0 ? state_.n : N); }
  NLSQ_INLINE std::size_t entry(std::size_t i, std::size_t j) const {  // of the packed triangle
    return packed_at(static_cast<int>(i), static_cast<int>(j), static_cast<int>(n()) + 1);
  }
  NLSQ_INLINE std::size_t last() const { return entry(n(), n()); }  // the squares of the residuals
  V at(const double* values, std::size_t k) const { return S::load(values + place(k)); }
  void put(double* values, std::size_t k, V v) const { S::store(v, values + place(k)); }
  std::size_t free(std::size_t j) const { return static_cast<std::size_t>(state_.free[j]); }
  M chosen(const double* decisions) const { return S::less(S::zero(), at(decisions, 0)); }
  std::size_t place(std::size_t k) const { return k * state_.lanes + first_; }
  void put_decision(double* values, M decision) const {
    put(values, 0, S::choose(decision, S::set(1.0), S::zero()));
  }
  static M finite(V v) { return S::less(S::abs(v), S::set(__builtin_inf())); }

  // Judges the trial points by the gain ratio or, if the costs differ by little, by ν. Updates the damping of
  // accepted steps, and the phases.
  Judgement judge() const {
    const LaneState& s = state_;
    const V phase = at(s.phase, 0), cost = at(s.cost, 0), predicted = at(s.predicted, 0);
    const auto is = [&](double p) NLSQ_INLINE_LAMBDA { return S::equal(phase, S::set(p)); };
    const V trial_cost = S::mul(S::set(0.5), at(s.trial_sums, last())), decrease = S::sub(cost, trial_cost);
    const M flat = S::less(predicted, S::mul(S::set(s.flat), cost));
    const M closer = S::less(at(s.trial_nu_squared, 0), S::mul(S::set(s.nu_left), at(s.nu_squared, 0)));
    const M gains = S::less_equal(S::mul(S::set(s.least_gain), predicted), decrease);
    const M good = S::mask_or(S::mask_and(flat, closer), S::mask_and(S::mask_not(flat), gains));
    const M iterates = is(lane_phase::iterate), linear = is(lane_phase::linear);
    const M starts = S::mask_or(is(lane_phase::start), is(lane_phase::start_linear));
    const M begun = S::mask_and(starts, finite(trial_cost)), iterated = S::mask_and(iterates, good);
    const M solved = S::mask_and(linear, S::less_equal(trial_cost, cost));
    const M refused = S::mask_or(S::mask_and(iterates, S::mask_not(good)),
                                 S::mask_and(starts, S::mask_not(finite(trial_cost))));

    const M goes_on = S::mask_or(linear, S::mask_and(begun, is(lane_phase::start)));
    const M to_solve = S::mask_and(begun, is(lane_phase::start_linear));
    put(s.phase, 0,
        S::choose(goes_on, S::set(lane_phase::iterate),
                  S::choose(to_solve, S::set(lane_phase::linear), phase)));
    const V initial = at(s.initial_cost, 0);
    const M unset = S::mask_and(begun, S::mask_not(S::equal(initial, initial)));
    put(s.initial_cost, 0, S::choose(unset, trial_cost, initial));
    put(s.iterations, 0, S::add(at(s.iterations, 0), S::choose(iterates, S::set(1.0), S::zero())));
    put(s.lambda, 0, S::choose(iterated, less_damping(S::div(decrease, predicted)), at(s.lambda, 0)));
    put(s.growth, 0, S::choose(iterated, S::set(s.first_growth), at(s.growth, 0)));
    return {S::mask_or(iterated, S::mask_or(begun, solved)), iterated, S::mask_or(iterated, goes_on),
            refused};
  }

  // Returns λ after a step with this gain ratio, as TrustRegion::accepted (solver/minimizer) does.
  V less_damping(V ratio) const {
    const V one = S::set(1.0), third = S::set(1.0 / 3), least = S::set(state_.least_lambda);
    const V t = S::sub(S::mul(S::set(2.0), S::choose(S::less(one, ratio), one, ratio)), one);
    const V factor = S::sub(one, S::mul(S::mul(t, t), t));
    const V lambda = S::mul(at(state_.lambda, 0), S::choose(S::less(third, factor), factor, third));
    return S::choose(S::less(least, lambda), lambda, least);
  }

  // Chooses the next step of accepted points, and reports the lanes that the caller has to decide.
  void plan(const Judgement& judged) const {
    const LaneState& s = state_;
    const V distance = at(s.decrement_sigma, 0);
    // This is rules::near_optimum (solver/minimizer). It is false where ν is not known.
    const M near = S::mask_and(S::less_equal(distance, S::set(s.near)),
                               S::less_equal(at(s.nu_squared, 0), S::mul(S::set(0.1 * 2), at(s.cost, 0))));
    const V one = S::set(1.0), zero = S::zero();
    const V next = S::choose(S::mask_and(near, judged.accepted), one, zero);
    put(s.undamped, 0, S::choose(judged.refused, at(s.undamped, 0), next));
    const M small = S::less_equal(s.single ? distance : at(s.step_size, 0), S::set(s.enough));
    const M many = S::less_equal(S::set(s.most_iterations), at(s.iterations, 0));
    const M may_end = S::mask_and(judged.accepted, S::mask_or(small, many));
    put(s.event, 0,
        S::choose(judged.refused, S::set(lane_event::refused),
                  S::choose(may_end, S::set(lane_event::may_end), S::set(lane_event::none))));
  }

  // `steps` and `sizes` are ‖D s‖² and ‖D x‖² with the column norms D.
  void measure(V steps, V sizes) const {
    const LaneState& s = state_;
    const V squares = at(s.sums, last()), nu_squared = at(s.nu_squared, 0);
    const V cost = S::mul(S::set(0.5), squares), one = S::set(1.0);
    const V variance = s.unit_sigma ? one : S::div(S::mul(S::set(2.0), cost), S::set(s.freedom));
    put(s.cost, 0, cost);
    put(s.decrement_sigma, 0, S::sqrt(S::div(nu_squared, variance)));
    if (s.single) return;
    const V ratio = S::sqrt(S::div(steps, sizes));
    const V size = S::choose(S::equal(steps, S::zero()), S::zero(), ratio);
    put(s.step_size, 0, S::choose(S::equal(nu_squared, nu_squared), size, nu_squared));
  }

  // Near the optimum, Gauss-Newton steps shrink by a constant factor, because they leave out a part of the
  // curvature. This returns the γ for which step - γ (change of the step) is shortest (Anderson, J. ACM 12,
  // 1965, with a memory of one step). propose() subtracts γ times the last move and that change from the
  // step. γ is 0 if this does not apply.
  V extrapolation() const {
    const LaneState& s = state_;
    V along = S::zero(), change = S::zero();
    for (std::size_t j = 0; j < n(); ++j) {
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

  // Rounds parameters to floats. Otherwise the evaluation would round them, which shifts all float32
  // residuals together.
  void round_trial() const {
    for (std::size_t j = 0; j < n(); ++j) {
      double* const trial = state_.trial + place(free(j));
      for (std::size_t l = 0; l < S::lanes; ++l) trial[l] = static_cast<double>(static_cast<float>(trial[l]));
    }
  }

  const LaneState& state_;
  std::size_t first_;
};

// Calls f(v) with each vector v of the lanes.
template <class F>
NLSQ_INLINE void each_lane_vector(const LaneState& state, F f) {
  const auto all = [&]<int N>() {
    for (std::size_t l = 0; l < state.lanes; l += Simd<double>::lanes) f(LaneVector<N>(state, l));
  };
  switch (state.n) {
    case 1: return all.template operator()<1>();
    case 2: return all.template operator()<2>();
    case 3: return all.template operator()<3>();
    case 4: return all.template operator()<4>();
    default: return all.template operator()<0>();
  }
}

void lane_take(const LaneState& state) {
  each_lane_vector(state, [](auto v) NLSQ_INLINE_LAMBDA { v.take(); });
}

void lane_propose(const LaneState& state) {
  each_lane_vector(state, [](auto v) NLSQ_INLINE_LAMBDA { v.propose(); });
}

}  // namespace
}  // namespace nlsq::inline v0
