// Compares derivatives that residual functions and manifolds supply themselves with finite differences. A
// wrong derivative can make a point look like a minimum when it is not.
#include "blocks/block_system.hpp"
#include "certificate/derivative_effect.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <nlsq/check_derivatives.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace nlsq::inline v0 {

// Holds a step in tangent coordinates. The derivatives along it are compared with differences of the
// residuals.
struct DerivativeDirection {
  std::vector<double> step;
  std::size_t column = 0;  // the tangent coordinate that moves, if it is the only one
};

namespace {

constexpr double kConsistent = 0.1;  // of the error found, that two differences may differ by
constexpr double kWrong = 1e-3;  // relative to the derivative's size; smaller errors do not move the minimum
constexpr double kShares[] = {1e-5, 1e-6};  // relative steps, each both ways; an error must show at both
// A step may be too long for the residuals: they change far less than the derivatives predict (a sine of
// seconds since 1970). Then two shorter shares follow. With the first, the predicted change is this part of
// the residuals. The second is compared with it.
constexpr double kFallsShort = 0.5, kPartOfResiduals = 0.1, kLeastShare = 1e-11;
constexpr std::size_t kMostSingly = 32;  // tangent coordinates that are tested one by one
constexpr std::size_t kDirections = 4;   // with more coordinates: number of directions along all of them

double norm(std::span<const double> v) {
  double squares = 0;
  for (const double x : v) squares += x * x;
  return std::sqrt(squares);
}

double distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

double length_of(double size) { return size > 0 ? size : 1; }

DerivativeDirection along(std::size_t j, std::span<const double> sizes) {
  DerivativeDirection out{std::vector<double>(sizes.size(), 0.0), j};
  out.step[j] = length_of(sizes[j]);
  return out;
}

// Returns the directions to test: one tangent coordinate at a time, or all together with pseudo-random signs.
// Numbers that are fixed at their bounds do not move.
std::vector<DerivativeDirection> directions(std::span<const double> sizes,
                                            std::span<const std::uint8_t> fixed) {
  std::vector<DerivativeDirection> out;
  if (sizes.size() <= kMostSingly) {
    for (std::size_t j = 0; j < sizes.size(); ++j)
      if (fixed.empty() || fixed[j] == 0) out.push_back(along(j, sizes));
    return out;
  }
  std::uint32_t state = 1;
  for (std::size_t k = 0; k < kDirections; ++k) {
    std::vector<double>& step = out.emplace_back(DerivativeDirection{std::vector<double>(sizes.size())}).step;
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      state = state * 1664525U + 1013904223U;
      step[j] = (state >> 31) != 0 ? length_of(sizes[j]) : -length_of(sizes[j]);
      if (!fixed.empty() && fixed[j] != 0) step[j] = 0;
    }
  }
  return out;
}

// Returns at most `most` of the numbers, evenly spread.
template <class T>
std::vector<T> spread(const std::vector<T>& all, std::size_t most) {
  const std::size_t count = std::min(most, all.size());
  std::vector<T> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(all[k * all.size() / count]);
  return out;
}

// Returns a direction for each number that is fixed at its bound, for kMostSingly of them at most.
std::vector<DerivativeDirection> directions_at_bounds(std::span<const double> sizes,
                                                      std::span<const std::uint8_t> fixed) {
  std::vector<std::size_t> all;
  for (std::size_t j = 0; j < fixed.size(); ++j)
    if (fixed[j] != 0) all.push_back(j);
  std::vector<DerivativeDirection> out;
  for (const std::size_t j : spread(all, kMostSingly)) out.push_back(along(j, sizes));
  return out;
}

constexpr std::size_t kMostManifolds = 64;
constexpr std::size_t kMostConsidered = 1000;         // blocks with manifolds, of which these are chosen
constexpr std::size_t kMostManifoldNumbers = 0x1p12;  // of plus_jacobian; larger ones are not tested
constexpr double kRoundingOfPlus = 1e-10;  // largest error that differences have beside numbers of size 1

// Chooses parameter blocks whose manifolds are tested. Those whose manifolds are different objects come
// first.
std::vector<std::uint32_t> blocks_to_test(const Problem::Impl& problem, const BlockStructure& structure) {
  std::vector<std::uint32_t> all, first, others;
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    if (block.manifold && block.tangent() > 0 && structure.tangent_offset(p) >= 0) all.push_back(p);
  }
  std::set<const Manifold*> seen;
  for (const std::uint32_t p : spread(all, kMostConsidered))
    (seen.insert(problem.parameters[p].manifold.get()).second ? first : others).push_back(p);
  std::vector<std::uint32_t> out = spread(first, kMostManifolds);
  std::ranges::copy(spread(others, kMostManifolds - out.size()), std::back_inserter(out));
  return out;
}

// Describes a column of plus_jacobian that differences of plus contradict.
struct WrongTangent {
  std::size_t number = 0;
  double error = 0;  // relative to the largest number of the column
};

// Returns true if differences with some other step agree with column j of plus_jacobian. The first step may
// have been too long, for example on a circle of radius 1e-9 whose tangent numbers are lengths. The column
// may be a positive multiple of the differences. Such a multiple only changes the unit of the tangent number,
// so that the minimum stays where it is. Ceres's LineManifold has one if its direction is no unit vector.
bool agrees_with_some_step(const Manifold& manifold, std::span<const double> x, double size,
                           std::span<const double> J, std::size_t j) {
  constexpr double kMostFactor = 1000;
  const std::size_t tangent = J.size() / x.size();
  std::vector<double> delta(tangent, 0.0), ahead(x.size()), behind(x.size());
  for (const double h : {1e-4 * size, 1e-6 * size, 1e-6}) {
    delta[j] = h;
    manifold.plus(x.data(), delta.data(), ahead.data());
    delta[j] = -h;
    manifold.plus(x.data(), delta.data(), behind.data());
    double product = 0, squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double given = J[i * tangent + j];
      ahead[i] = (ahead[i] - behind[i]) / (2 * h);
      product += ahead[i] * given;
      squares += given * given;
    }
    const bool scaled = product > squares / kMostFactor && product < squares * kMostFactor;
    const double factor = scaled ? product / squares : 1;
    double off = 0, most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double slope = ahead[i], given = factor * J[i * tangent + j];
      off = std::max(off, std::isfinite(slope) ? std::fabs(slope - given) : kInfinity);
      most = std::max({most, std::fabs(slope), std::fabs(given)});
    }
    if (off <= kWrong * most) return true;
  }
  return false;
}

// Compares plus_jacobian with differences of plus at x, and returns the column with the largest error. The
// error is 0 if all are right.
WrongTangent wrong_tangent(const Manifold& manifold, std::span<const double> x) {
  WrongTangent out;
  const auto tangent = static_cast<std::size_t>(manifold.tangent());
  if (x.size() * tangent > kMostManifoldNumbers) return out;
  const DerivativeCheck check = check_derivatives(manifold, x, kWrong);
  if (check.passed()) return out;
  std::vector<double> J(x.size() * tangent), largest(tangent, 0.0);
  manifold.plus_jacobian(x.data(), J.data());
  for (std::size_t i = 0; i < J.size(); ++i)
    largest[i % tangent] = std::max(largest[i % tangent], std::fabs(J[i]));
  for (const DerivativeError& e : check.wrong)
    largest[e.parameter] = std::max(largest[e.parameter], std::fabs(e.difference));
  double size = 0;
  for (const double number : x) size = std::max(size, std::fabs(number));
  for (const DerivativeError& e : check.wrong) {
    const double off = std::fabs(e.given - e.difference) - kRoundingOfPlus * size;
    const double error = off / largest[e.parameter];
    if (error > kWrong && error > out.error && !agrees_with_some_step(manifold, x, size, J, e.parameter))
      out = {e.parameter, error};
  }
  return out;
}

// Returns how far the slopes in `given` are outside of the intervals between those of a and b. At a kink, any
// slope between those of the two sides is right. Use it only where one number moves: if several do, the kink
// of one of them would hide wrong derivatives by the others.
double distance_to_between(std::span<const double> given, std::span<const double> a,
                           std::span<const double> b) {
  std::vector<double> off(given.size());
  for (std::size_t i = 0; i < off.size(); ++i)
    off[i] = given[i] - std::clamp(given[i], std::min(a[i], b[i]), std::max(a[i], b[i]));
  return norm(off);
}

}  // namespace

// Tests the manifolds of some parameter blocks, with the blocks' own values. Derivatives of programs are
// multiplied by plus_jacobian, so a wrong one shows nowhere else.
void BlockSystem::check_manifolds(std::span<const double> x, Recheck& out) {
  if (structure_.manifold_records.empty()) return;
  for (const std::uint32_t p : blocks_to_test(model_.problem(), structure_)) {
    const ParameterBlock& block = model_.problem().parameters[p];
    const WrongTangent found = wrong_tangent(
        *block.manifold, x.subspan(structure_.list.offsets[p], static_cast<std::size_t>(block.size)));
    if (!(found.error > 0)) continue;
    out.jacobian_difference = found.error;
    out.wrong_column = static_cast<int>(structure_.tangent_offset(p)) + static_cast<int>(found.number);
    wrong_manifold_ = {p, found.number};
    return;
  }
}

// Tests all columns by one difference, along a direction in which their parts of the change are about equally
// large. If the difference agrees far more closely than it could with a single wrong column, no column is
// wrong. Returns false if this test cannot decide: there are many columns, a column is zero, or the step is
// too short or too long.
bool BlockSystem::derivatives_agree(std::span<const double> sizes, std::span<const std::uint8_t> fixed) {
  constexpr double kLeastShare = 0.5;       // of `part`, that a column contributes to the change
  constexpr double kClosely = 0.25;         // of the least error that a wrong column would cause
  constexpr std::size_t kMostAtOnce = 200;  // with more columns, one of them hardly shows
  if (sizes.size() > kMostAtOnce) return false;
  double part = kInfinity;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    if (fixed.empty() || fixed[j] == 0) part = std::min(part, length_of(sizes[j]) * column_norm(j));
  }
  if (!(part > 0)) return false;
  Random random(1);
  std::vector<double> direction(sizes.size(), 0.0), ahead;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    // The shares have random sizes and signs, so that errors of several columns do not cancel.
    const double share = random.of_either_sign(kLeastShare, 1);
    if (fixed.empty() || fixed[j] == 0) direction[j] = share * part / column_norm(j);
  }
  const std::vector<double> given = model_.times(direction);
  return model_.moved_residuals(at_.x, at_.r, direction, kShares[0], ahead) &&
         distance(ahead, given) <= kClosely * kWrong * kLeastShare * part;
}

// Requires J in f64 at x, and restores it before returning.
void BlockSystem::check_own_derivatives(Recheck& out) {
  const bool losses = !model_.problem().losses.values().empty();
  const std::vector<std::uint8_t> fixed = at_.fixed_count > 0 ? at_.fixed : std::vector<std::uint8_t>();
  const std::vector<double> sizes = tangent_sizes(model_.problem(), structure_, at_.x);
  // J lacks the columns of fixed numbers. If one has the wrong sign, the number is fixed where it should not
  // be.
  const auto leave_out_losses_and_bounds = [&] {
    if (losses) model_.apply_losses(false);
    if (losses || !fixed.empty()) gather(at_);
  };
  const auto restore = [&] {
    if (!losses && fixed.empty()) return;
    if (losses) model_.apply_losses(true);
    differentiate(at_, at_.model.plan);
  };
  const std::vector<std::vector<double>> moves = moves_by_noise(kFirstMoves);
  leave_out_losses_and_bounds();
  if (!derivatives_agree(sizes, fixed)) check_along(directions(sizes, fixed), out);
  check_along(directions_at_bounds(sizes, fixed), out);
  if (!out.contradicted() && !check_effect(moves, false, sizes, out)) {
    restore();
    const std::vector<std::vector<double>> all = moves_by_noise(kMovesByNoise);
    leave_out_losses_and_bounds();
    check_effect(all, true, sizes, out);
  }
  restore();
}

// Returns true if the difference over some longer step agrees with `given`, the derivative along this
// direction. If the answer is 0, the number is only a rounding error at the end, and a step in proportion to
// it moves few residuals or none. So steps grow up to those of a number of size 1. A wrong derivative would
// agree only by chance.
bool BlockSystem::agrees_over_longer_step(const DerivativeDirection& direction,
                                          std::span<const double> given) {
  constexpr double kGrowth = 32;
  std::vector<double> moved;
  const double size = std::fabs(direction.step[direction.column]);
  for (double share = kGrowth * kShares[0]; share * size <= kShares[0]; share *= kGrowth) {
    if (!model_.moved_residuals(at_.x, at_.r, direction.step, share, moved)) return false;
    if (distance(moved, given) <= kWrong * norm(given)) return true;
  }
  return false;
}

// Compares J with differences along each direction: central ones, or, where only one side can be evaluated,
// as at a bound, those of second order to that side.
void BlockSystem::check_along(std::span<const DerivativeDirection> directions, Recheck& out) {
  if (directions.empty()) return;
  const double rounding = 0x1p-43 * std::max(norm(at_.r), terms()->magnitude);
  std::vector<double> ahead, behind;
  for (const DerivativeDirection& direction : directions) {
    const std::vector<double>& step = direction.step;
    const std::vector<double> given = model_.times(step);
    const bool single = std::ranges::count_if(step, [](double s) { return s != 0; }) == 1;
    double least = 1e300, side = 1;
    std::vector<double> coarser;
    std::vector<double> shares(std::begin(kShares), std::end(kShares));
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const double share = shares[k];
      const auto moves = [&](double h, std::vector<double>& to) {
        return model_.moved_residuals(at_.x, at_.r, step, h, to);
      };
      if (!moves(side * share, ahead) && !moves((side = -side) * share, ahead)) {
        least = 0;
        break;
      }
      // Most derivatives are right, and already agree with the first difference.
      const double least_error = distance(ahead, given) - rounding / share;
      const bool agrees = k == 0 && least_error <= kWrong * std::max(norm(ahead), norm(given));
      const bool central = !agrees && moves(-side * share, behind);
      if (agrees || (!central && !moves(2 * side * share, behind))) {
        least = 0;
        break;
      }
      const bool allows_kink = central && single;
      const double outside = allows_kink ? distance_to_between(given, ahead, behind) : 0;
      for (std::size_t i = 0; i < ahead.size(); ++i)
        ahead[i] = central ? 0.5 * (ahead[i] + behind[i]) : 2 * ahead[i] - behind[i];
      constexpr double kRoundingOfFloats = 0x1p-22;
      constexpr double kToOneSide = 4;  // times the rounding errors of central differences
      const double size = std::max(norm(ahead), norm(given)),
                   off = allows_kink ? outside : distance(ahead, given),
                   error = off - (central ? 1 : kToOneSide) * rounding / share;
      // Differences that disagree with each other cannot show whether the derivatives are wrong.
      // Neither do differences that are 0 where the residuals may be rounded like floats.
      const double differ = coarser.empty() ? 0 : distance(ahead, coarser);
      const bool unseen = norm(ahead) == 0 && share * norm(given) <= kRoundingOfFloats * norm(at_.r);
      const bool consistent = differ <= kConsistent * off && !unseen;
      coarser = ahead;
      if (k != std::size(kShares)) least = std::min(least, size > 0 && consistent ? error / size : 0.0);
      if (!(least > kWrong)) break;
      if (k + 1 == std::size(kShares) && norm(ahead) < kFallsShort * norm(given)) {
        const double shorter = std::max(kPartOfResiduals * norm(at_.r), 1e3 * rounding) / norm(given);
        shares.push_back(std::clamp(shorter, 4 * kLeastShare, 0.1 * share));
        shares.push_back(0.25 * shares.back());
      }
    }
    if (!(least > kWrong) || least <= out.jacobian_difference) continue;
    if (single && agrees_over_longer_step(direction, given)) continue;
    out.jacobian_difference = least;
    out.wrong_column = static_cast<int>(direction.column);
  }
}

}  // namespace nlsq::inline v0
