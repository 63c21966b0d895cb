// Tests whether wrong derivatives by the user's functions have moved the minimum of a block problem, by the
// measure of derivative_effect.hpp.
#include "blocks/block_system.hpp"
#include "blocks/record_finish.hpp"
#include "certificate/derivative_effect.hpp"
#include "linear/dot.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

// Makes the solver's factors those of JᵀJ, with the least damping. Returns false if there are none.
bool BlockSystem::factor_for_moves() {
  constexpr double kLeastDamping = 1e-15, kMostDamping = 1e-6;
  if (undamped_step()) return true;
  BlockStep solved;
  step_lambda_ = -1;  // the factors of step_ are overwritten
  for (double lambda = kLeastDamping; lambda <= kMostDamping && !solved.factored; lambda *= 10)
    solver_.solve<double, double>(model_.records<double>(), lambda, {}, solved);
  return solved.factored;
}

// Returns moves like those that noise of the data would cause, or none if no matrix can be factored. Must be
// called while the losses are applied.
std::vector<std::vector<double>> BlockSystem::moves_by_noise(std::size_t count) {
  const BlockPoint here = point();
  const std::vector<double> norms = nlsq::column_norms(solver_);
  const bool by_rows = heavy_rows();
  OrthogonalMoves moves(here.free(), structure_.residuals);
  if (by_rows) step_lambda_ = -1;  // the factors of step_ are overwritten
  else if (!factor_for_moves()) return {};
  Random random(1);
  const std::vector<double> none(structure_.tangent_size(), 0.0);
  std::vector<double> signs(structure_.residuals);
  for (std::size_t k = 0; k < std::min(count, here.free()); ++k) {
    for (double& sign : signs) sign = random.below(2) == 0 ? -1 : 1;
    std::vector<double> move;
    if (by_rows) {
      move = move_beside_heavy_rows(signs, norms);
      if (move.empty()) break;
    } else {
      solver_.accelerate<double, double>(model_.records<double>(), none, norms, 1, signs, move);
    }
    for (std::size_t j = 0; j < move.size(); ++j)
      if (here.is_fixed(j)) move[j] = 0;
    std::vector<double> image = model_.times(move);
    moves.add(std::move(move), std::move(image));
  }
  return moves.moves();
}

// Returns a move of the numbers whose derivatives are all 0, or none if no residual depends on them. Such
// numbers have no standard errors, so the residuals beside x tell how far they move.
std::vector<double> BlockSystem::move_of_zero_columns(std::span<const double> sizes, double sigma) {
  constexpr double kFirstStep = 1e-3;                   // in sizes of the numbers
  constexpr double kLeastChange = 1e-3, kChange = 0.1;  // of the residuals, in σ
  constexpr int kTries = 4;
  Random random(1);
  std::vector<double> move(sizes.size(), 0.0), slopes;
  bool any = false;
  for (std::size_t j = 0; j < move.size(); ++j) {
    if (solver_.squares()[j] > 0 || point().is_fixed(j)) continue;
    move[j] = random.of_either_sign(0.5, 1) * (sizes[j] > 0 ? sizes[j] : 1);
    any = true;
  }
  double step = kFirstStep;
  for (int k = 0; any && k < kTries; ++k) {
    if (!model_.moved_residuals(at_.x, at_.r, move, step, slopes)) return {};
    const double slope = std::sqrt(dot(slopes, slopes)), change = step * slope;
    if (!(change > 0)) return {};
    if (change >= kLeastChange * sigma && change <= sigma) {
      for (double& m : move) m /= slope;
      return move;
    }
    step *= kChange * sigma / change;
  }
  return {};
}

// Measures how far wrong derivatives have moved the minimum. Requires J in f64 at x without losses. `moves`
// are those of moves_by_noise(), and `sizes` are those of the tangent numbers. Returns false if these are not
// `all` moves, and all are needed to decide.
bool BlockSystem::check_effect(std::span<const std::vector<double>> moves, bool all,
                               std::span<const double> sizes, Recheck& out) {
  constexpr double kDigitsOfResiduals = 0x1p-43;  // smaller parts of their terms are rounding
  const double sigma = scatter_at(at_.model.cost);
  const double terms_of_row =
      terms()->magnitude / std::sqrt(static_cast<double>(std::max<std::size_t>(1, structure_.residuals)));
  if (!(sigma > kDigitsOfResiduals * terms_of_row)) return true;
  std::vector<double> weighted(at_.r);
  for (int square = 0; square < 2; ++square) multiply_by_weights(structure_, at_.r, weighted);
  const auto effect_of = [&](std::span<const double> move) {
    if (is_too_long(move, sigma, sizes)) return 0.0;
    const std::vector<double> given = model_.times(move);
    return effect_along({given, weighted, sigma, 0x1p-50 * terms_of_row,
                         [&](double h, std::vector<double>& slopes) {
                           return model_.moved_residuals(at_.x, at_.r, move, h, slopes);
                         }}) /
           sigma;
  };
  std::vector<double> effects;
  for (const std::vector<double>& move : moves) effects.push_back(effect_of(move));
  if (!all && needs_all_moves(effects)) return false;
  if (const auto worst = worst_move(effects)) {
    blame(moves[*worst], weighted, sigma, out);
    return true;
  }
  const std::vector<double> unseen = move_of_zero_columns(sizes, sigma);
  if (!unseen.empty() && effect_of(unseen) > kFarOff) blame(unseen, weighted, sigma, out);
  return true;
}

// Finds the residual block that shows most of the effect along a move, and the derivative that contributes
// most to the effect in that block. Stores the tangent number and the relative error of this derivative.
void BlockSystem::blame(std::span<const double> move, std::span<const double> weighted, double sigma,
                        Recheck& out) {
  constexpr double kStep = 0x1p-9;  // standard errors
  const double step = kStep * sigma;
  std::vector<double> along, behind;
  const auto slopes = [&](std::span<const double> way) {
    if (!model_.moved_residuals(at_.x, at_.r, way, step, along) ||
        !model_.moved_residuals(at_.x, at_.r, way, -step, behind))
      return false;
    for (std::size_t i = 0; i < along.size(); ++i) along[i] = 0.5 * (along[i] + behind[i]);
    return true;
  };
  const auto rows_of = [&](std::size_t slot) {
    return std::pair<std::size_t, std::size_t>(structure_.list.row[slot],
                                               structure_.list.row[slot] + structure_.rows[slot]);
  };
  if (!slopes(move)) return;
  const std::vector<double> given = model_.times(move);
  double most = -1;
  std::size_t slot = 0;
  for (std::size_t s = 0; s < structure_.list.blocks(); ++s) {
    double effect = 0;
    for (auto [i, end] = rows_of(s); i < end; ++i) effect += weighted[i] * (along[i] - given[i]);
    if (std::fabs(effect) > most) most = std::fabs(effect), slot = s;
  }
  most = 0;
  for (const std::uint32_t p : structure_.list.of(slot)) {
    const std::int64_t first = structure_.tangent_offset(p);
    for (std::int64_t j = first; first >= 0 && j < first + model_.problem().parameters[p].tangent(); ++j) {
      std::vector<double> way(move.size(), 0.0);
      way[static_cast<std::size_t>(j)] = move[static_cast<std::size_t>(j)];
      if (!slopes(way)) continue;
      const std::vector<double> column = model_.times(way);
      for (auto [i, end] = rows_of(slot); i < end; ++i) {
        const double off = along[i] - column[i], effect = std::fabs(weighted[i] * off);
        if (!(effect > most)) continue;
        most = effect;
        out.jacobian_difference = std::fabs(off) / std::max(std::fabs(along[i]), std::fabs(column[i]));
        out.wrong_column = static_cast<int>(j);
      }
    }
  }
}

}  // namespace nlsq::inline v0
