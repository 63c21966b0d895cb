// Computes steps within bounds: minimizes gᵀs + ½ sᵀ(H + λI)s over a box, a strictly convex problem, exactly.
//
// First it guesses the whole active set (the primal-dual active-set method: Hintermüller, Ito, Kunisch, SIAM
// J. Optim. 13, 2003). That takes two or three solves if it terminates, but it may cycle. Then it descends
// from bound to bound (the method of Stark and Parker, Comput. Stat. 10, 1995), which always terminates.
//
// If H contains the curvature of the residuals, the problem may have several minima. The step then leads to
// one of them, or there is none and more damping is needed. Both searches end after a limited number of
// solves.
#include "linear/linear_solver_impl.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr int kGuesses = 12;

std::size_t at(Eigen::Index j) { return static_cast<std::size_t>(j); }

}  // namespace

void LinearSolver::keep_within(const Box& room) {
  Impl& m = *impl_;
  m.room_given = !room.empty();
  if (!m.room_given) return;
  const auto n = static_cast<Eigen::Index>(room.lower.size());
  m.lower = Eigen::Map<const DenseVector>(room.lower.data(), n);
  m.upper = Eigen::Map<const DenseVector>(room.upper.data(), n);
  m.start_set();
}

// Starts with the parameters that lie on a bound and are pushed against it.
void LinearSolver::Impl::start_set() {
  const Box room{{lower.data(), size()}, {upper.data(), size()}};
  on.resize(size());
  for (std::size_t j = 0; j < on.size(); ++j) on[j] = held(room, j, all().g[static_cast<Eigen::Index>(j)]);
}

double LinearSolver::Impl::limit(Eigen::Index j, Held side) const {
  const double scale = all().inverse_scale[j];
  return (side == Held::lower ? lower[j] : upper[j]) / scale;
}

// Reduces the system to the free parameters, with the fixed ones moved to their bounds.
void LinearSolver::Impl::reduce() {
  const bool any = std::ranges::any_of(on, [](Held side) { return side != Held::none; });
  if (!any && !reduced) return;
  if (!reduced) whole = *this;
  else static_cast<ScaledSystem&>(*this) = whole;
  reduced = true;
  for (Eigen::Index j = 0; j < g.size(); ++j) {
    if (on[at(j)] == Held::none) continue;
    const double moved = limit(j, on[at(j)]);
    if (moved == 0) continue;
    g += moved * whole.H.col(j);
    if (R.size() > 0) z += moved * whole.R.col(j);
  }
  for (Eigen::Index j = 0; j < g.size(); ++j) {
    if (on[at(j)] == Held::none) continue;
    H.row(j).setZero();
    H.col(j).setZero();
    H(j, j) = 1;
    g[j] = 0;
    if (R.size() > 0) R.col(j).setZero();
    inverse_scale[j] = 0;
  }
}

// Minimizes over the free parameters. Leaves the step in s.
bool LinearSolver::Impl::solve_free(double lambda, Step& out) {
  reduce();
  if (!solve_system(lambda, out) || !s.allFinite()) return false;
  for (Eigen::Index j = 0; j < g.size(); ++j) {
    if (on[at(j)] != Held::none) s[j] = limit(j, on[at(j)]);
  }
  return true;
}

void LinearSolver::Impl::find_slopes(double lambda) {
  const DenseVector sizes = s.cwiseAbs(),
                    held_back = lambda * (weights.size() == 0 ? s : weights.cwiseProduct(s).eval());
  const ScaledSystem& m = all();
  if (R.size() == 0) {
    slope = m.g + m.H * s + held_back;
    rounding = 16 * kUnitRoundoff * (m.g.cwiseAbs() + m.H.cwiseAbs() * sizes + held_back.cwiseAbs());
    return;
  }
  slope = m.R.transpose() * (m.z + m.R * s) + held_back;
  rounding = 16 * kUnitRoundoff *
             (m.R.cwiseAbs().transpose() * (m.z.cwiseAbs() + m.R.cwiseAbs() * sizes) + held_back.cwiseAbs());
}

Held LinearSolver::Impl::beyond(Eigen::Index j) const {
  if (s[j] < limit(j, Held::lower)) return Held::lower;
  return s[j] > limit(j, Held::upper) ? Held::upper : Held::none;
}

// Returns true if the model decreases, by more than rounding, when parameter j leaves its bound.
bool LinearSolver::Impl::pulls_away(Eigen::Index j) const {
  if (on[at(j)] == Held::none || lower[j] == upper[j]) return false;
  return (on[at(j)] == Held::lower ? -slope[j] : slope[j]) > rounding[j];
}

LinearSolver::Impl::Search LinearSolver::Impl::guess_set(double lambda, Step& out) {
  for (int guess = 0; guess < kGuesses; ++guess) {
    if (!solve_free(lambda, out)) return Search::singular;
    find_slopes(lambda);
    bool changed = false;
    for (Eigen::Index j = 0; j < g.size(); ++j) {
      const Held before = on[at(j)];
      if (before == Held::none) on[at(j)] = beyond(j);
      else if (pulls_away(j)) on[at(j)] = Held::none;
      changed = changed || on[at(j)] != before;
    }
    if (!changed) return Search::found;
  }
  return Search::cycles;
}

// Descends from s = 0. Each round goes to the minimum over the free parameters, or to the first bound on the
// way, which becomes active. At such a minimum, it releases the bound with the steepest decrease.
LinearSolver::Impl::Search LinearSolver::Impl::descend(double lambda, Step& out) {
  start_set();
  path = DenseVector::Zero(g.size());
  const Eigen::Index most = 10 * g.size();  // only rounding errors can cause so many rounds
  for (Eigen::Index released = 0;;) {
    if (!solve_free(lambda, out)) return Search::singular;
    double share = 1;
    Eigen::Index blocking = -1;
    for (Eigen::Index j = 0; j < g.size(); ++j) {
      const Held side = on[at(j)] == Held::none ? beyond(j) : Held::none;
      if (side == Held::none) continue;
      const double until = (limit(j, side) - path[j]) / (s[j] - path[j]);
      if (blocking >= 0 && !(until < share)) continue;
      share = until;
      blocking = j;
    }
    if (blocking >= 0) {
      on[at(blocking)] = beyond(blocking);
      path += share * (s - path);
      path[blocking] = limit(blocking, on[at(blocking)]);
      continue;
    }
    path = s;
    find_slopes(lambda);
    Eigen::Index worst = -1;
    for (Eigen::Index j = 0; j < g.size(); ++j) {
      if (pulls_away(j) && (worst < 0 || std::fabs(slope[j]) > std::fabs(slope[worst]))) worst = j;
    }
    if (worst < 0 || released++ == most) return Search::found;
    on[at(worst)] = Held::none;
  }
}

bool LinearSolver::Impl::search(double lambda, Step& out) {
  Search result = guess_set(lambda, out);
  if (result == Search::cycles) result = descend(lambda, out);
  if (result == Search::found) return true;
  start_set();
  return false;
}

// Computes ν² by -2 (gᵀs + ½ sᵀ(H + λI)s) = ν² of the free parameters - s_Aᵀ(2 g_A + (H + λI)_AA s_A) of
// those on a bound.
void LinearSolver::Impl::end_on_bounds(double lambda, Step& out) const {
  if (std::ranges::all_of(on, [](Held side) { return side == Held::none; })) return;
  out.held = on;
  double squares = out.nu * out.nu;
  for (Eigen::Index j = 0; j < g.size(); ++j) {
    if (on[at(j)] == Held::none) continue;
    out.step[at(j)] = on[at(j)] == Held::lower ? lower[j] : upper[j];
    if (s[j] == 0) continue;
    double row = 2 * all().g[j] + damping(j, lambda) * s[j];
    for (Eigen::Index k = 0; k < g.size(); ++k) row += on[at(k)] == Held::none ? 0.0 : all().H(j, k) * s[k];
    squares -= s[j] * row;
  }
  squares = std::max(0.0, squares);
  out.nu = std::sqrt(squares);
  out.predicted = 0.5 * (damping_energy(lambda) + squares);
}

}  // namespace nlsq::inline v0
