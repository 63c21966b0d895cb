// Compares the arithmetic of fits in lanes with plain loops over one fit. Every kernel set must give the same
// bits.
#include "kernels/kernel_table.hpp"
#include "kernels/lane_state.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Random numbers and decisions for fits in lanes, with the memory they are in.
struct Numbers {
  LaneState state;
  std::vector<int> free;
  std::vector<std::vector<double>> arrays;

  Numbers(std::size_t n, std::size_t lanes, bool single, std::mt19937_64& random) {
    state.lanes = lanes;
    state.n = static_cast<int>(n);
    for (std::size_t j = 0; j < n; ++j) free.push_back(static_cast<int>(2 * j));  // every second one is fixed
    state.free = free.data();
    state.freedom = 7;
    state.unit_sigma = random() % 2 == 0;
    state.single = single;
    state.scale_memory = state.most_extrapolation = state.nu_left = state.near = state.enough = 0.5;
    state.least_gain = 0.1;
    state.flat = 0.3;
    state.least_lambda = 1e-20;
    state.first_growth = 2;
    state.most_iterations = 8;
    std::normal_distribution<> normal;
    arrays.reserve(27);
    const auto make = [&](std::size_t entries, auto draw) {
      arrays.emplace_back(entries * lanes);
      for (double& v : arrays.back()) v = draw();
      return arrays.back().data();
    };
    const auto any = [&] { return normal(random); };
    const auto positive = [&] { return std::fabs(normal(random)); };
    const auto decision = [&] { return random() % 2 == 0 ? 1.0 : 0.0; };
    state.trial = make(2 * n, any);
    for (double** sums : {&state.trial_sums, &state.sums}) *sums = make((n + 1) * (n + 2) / 2, positive);
    for (double** entries :
         {&state.trial_step, &state.x, &state.step, &state.other_step, &state.moved, &state.last_step})
      *entries = make(n, any);
    state.scale = make(n, positive);
    for (double** one :
         {&state.trial_nu_squared, &state.nu_squared, &state.cost, &state.decrement_sigma, &state.step_size,
          &state.other_nu_squared, &state.lambda, &state.growth, &state.predicted, &state.event})
      *one = make(1, positive);
    for (double** one : {&state.undamped, &state.stepped, &state.moves}) *one = make(1, decision);
    state.phase = make(1, [&] { return static_cast<double>(random() % 5); });
    state.iterations = make(1, [&] { return static_cast<double>(random() % 10); });
    state.initial_cost = make(1, [&] { return random() % 2 == 0 ? kUnknown : positive(); });
    // These occur at ends: no step, a fit whose step is not known, and last steps that differ greatly.
    if (n > 1) state.trial_step[0] = state.trial_step[lanes] = 0;
    state.trial_nu_squared[lanes - 1] = kUnknown;
    if (random() % 2 == 0) state.trial_sums[((n + 1) * (n + 2) / 2 - 1) * lanes] = kUnknown;
    for (std::size_t j = 0; j < n; ++j) state.last_step[j * lanes + 1] *= 100;
  }
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Does by loops for lane l what lane_take and then lane_propose do.
struct OneFit {
  const LaneState& s;
  std::size_t l;
  std::size_t n = static_cast<std::size_t>(s.n);
  std::vector<double> x{}, step{}, moved{}, last{}, scale{}, trial{};
  double nu_squared = 0, cost = 0, decrement = 0, size = 0, predicted = 0;
  double phase = s.phase[l], event = lane_event::none, iterations = s.iterations[l], lambda = s.lambda[l];
  double growth = s.growth[l], initial_cost = s.initial_cost[l];
  bool taken = false, iterated = false, rescaled = false, refused = false;
  bool undamped = s.undamped[l] != 0, stepped = false, moves = false;

  double at(const double* values, std::size_t k) const { return values[k * s.lanes + l]; }
  std::size_t free(std::size_t j) const { return static_cast<std::size_t>(s.free[j]); }
  std::size_t entry(std::size_t i, std::size_t j) const { return i * (2 * n + 3 - i) / 2 + j - i; }

  void judge() {
    const double after = 0.5 * at(s.trial_sums, entry(n, n)), decrease = s.cost[l] - after;
    if (phase == lane_phase::iterate) {
      ++iterations;
      iterated = s.predicted[l] < s.flat * s.cost[l] ? s.trial_nu_squared[l] < s.nu_left * s.nu_squared[l]
                                                     : decrease >= s.least_gain * s.predicted[l];
      taken = rescaled = iterated;
      refused = !iterated;
      if (!iterated) return;
      const double t = 2 * std::min(decrease / s.predicted[l], 1.0) - 1;
      lambda = std::max(s.least_lambda, lambda * std::max(1.0 / 3, 1 - t * t * t));
      growth = s.first_growth;
    } else if (phase == lane_phase::linear) {
      taken = after <= s.cost[l];
      rescaled = true;
      phase = lane_phase::iterate;
    } else if (phase != lane_phase::idle) {
      taken = std::isfinite(after);
      refused = !taken;
      if (refused) return;
      if (std::isnan(initial_cost)) initial_cost = after;
      rescaled = phase == lane_phase::start;
      phase = rescaled ? lane_phase::iterate : lane_phase::linear;
    }
  }

  void take() {
    judge();
    const double* const sums = taken ? s.trial_sums : s.sums;
    double steps = 0, sizes = 0;
    for (std::size_t j = 0; j < n; ++j) {
      moved.push_back(iterated ? at(s.trial, free(j)) - at(s.x, j) : at(s.moved, j));
      last.push_back(at(iterated ? s.step : s.last_step, j));
      x.push_back(taken ? at(s.trial, free(j)) : at(s.x, j));
      step.push_back(at(taken ? s.trial_step : s.step, j));
      const double squares = at(sums, entry(j, j)), least = s.scale_memory * at(s.scale, j);
      scale.push_back(rescaled ? std::max(std::sqrt(squares), least) : at(s.scale, j));
      steps += step[j] * step[j] * squares;
      sizes += x[j] * x[j] * squares;
    }
    stepped = (iterated ? s.undamped[l] : s.stepped[l]) != 0;
    nu_squared = taken ? s.trial_nu_squared[l] : s.nu_squared[l];
    cost = 0.5 * at(sums, entry(n, n));
    decrement = std::sqrt(nu_squared / (s.unit_sigma ? 1 : 2 * cost / s.freedom));
    size = std::isnan(nu_squared) ? nu_squared : steps == 0 ? 0 : std::sqrt(steps / sizes);
    const bool small = (s.single ? decrement : size) <= s.enough, many = iterations >= s.most_iterations;
    if (refused) event = lane_event::refused;
    else if (rescaled && (small || many)) event = lane_event::may_end;
    if (!refused) undamped = rescaled && decrement <= s.near && nu_squared <= 0.1 * 2 * cost;
  }

  void propose() {
    double along = 0, change = 0, scaled = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double weight = scale[j] * scale[j], difference = step[j] - last[j];
      along += weight * step[j] * difference;
      change += weight * difference * difference;
    }
    const double part = along / change;
    const double gamma = undamped && stepped && std::fabs(part) <= s.most_extrapolation ? part : 0;
    for (std::size_t j = 0; j < n; ++j) {
      double by = undamped ? step[j] : at(s.other_step, j);
      if (gamma != 0) by -= gamma * (moved[j] + by - last[j]);
      trial.push_back(x[j] + by);
      if (s.single) trial[j] = static_cast<double>(static_cast<float>(trial[j]));
      moves = moves || trial[j] != x[j];
      scaled += (scale[j] * by) * (scale[j] * by);
    }
    predicted = 0.5 * (undamped ? nu_squared : s.other_nu_squared[l] + lambda * scaled);
    moves = moves && std::isfinite(predicted);
  }
};

void check(const KernelTable& table, std::size_t n, bool single, std::mt19937_64& random) {
  const auto lanes = static_cast<std::size_t>(single ? table.lanes_f32 : table.lanes_f64);
  Numbers numbers(n, lanes, single, random);
  const LaneState& s = numbers.state;
  std::vector<OneFit> fits;
  for (std::size_t l = 0; l < lanes; ++l) {
    fits.push_back({s, l});
    fits[l].take();
  }
  table.lane_take(s);
  for (OneFit& fit : fits) {
    const std::size_t l = fit.l;
    for (std::size_t j = 0; j < n; ++j) {
      REQUIRE(same(fit.at(s.x, j), fit.x[j]));
      REQUIRE(same(fit.at(s.step, j), fit.step[j]));
      REQUIRE(same(fit.at(s.moved, j), fit.moved[j]));
      REQUIRE(same(fit.at(s.last_step, j), fit.last[j]));
      REQUIRE(same(fit.at(s.scale, j), fit.scale[j]));
    }
    REQUIRE(same(s.nu_squared[l], fit.nu_squared));
    REQUIRE(same(s.cost[l], fit.cost));
    REQUIRE(same(s.decrement_sigma[l], fit.decrement));
    REQUIRE((single || same(s.step_size[l], fit.size)));
    REQUIRE(same(s.initial_cost[l], fit.initial_cost));
    REQUIRE(s.phase[l] == fit.phase);
    REQUIRE(s.event[l] == fit.event);
    REQUIRE(s.iterations[l] == fit.iterations);
    REQUIRE(s.lambda[l] == fit.lambda);
    REQUIRE(s.growth[l] == fit.growth);
    REQUIRE((s.undamped[l] != 0) == fit.undamped);
    REQUIRE((s.stepped[l] != 0) == fit.stepped);
    fit.propose();
  }
  table.lane_propose(s);
  for (const OneFit& fit : fits) {
    for (std::size_t j = 0; j < n; ++j) REQUIRE(same(fit.at(s.trial, fit.free(j)), fit.trial[j]));
    REQUIRE(same(s.predicted[fit.l], fit.predicted));
    REQUIRE((s.moves[fit.l] != 0) == fit.moves);
  }
}

}  // namespace

TEST_CASE("steps of fits in lanes have the bits of one fit by itself") {
  for (const KernelTable* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    std::mt19937_64 random(11);
    for (std::size_t n = 1; n <= most_lane_parameters; ++n) {
      for (int trial = 0; trial < 20; ++trial) {
        CAPTURE(n);
        check(*table, n, false, random);
        check(*table, n, true, random);
      }
    }
  }
}
