// Checks the user's derivatives against differences of the residuals; DenseEvaluator's recheck uses it. A
// wrong Jacobian makes false minima: with a column of zeros, every point looks optimal in that parameter.
#include "certificate/derivative_effect.hpp"
#include "dense/dense_evaluator.hpp"
#include "linear/weighted_rows.hpp"
#include "support/constants.hpp"

#include "rows/calls/difference_step.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kStep = 6.1e-6;      // cbrt(2^-52), which balances truncation and rounding
constexpr double kTolerance = 1e-4;   // relative to the norms
constexpr double kLeastShare = 1e-3;  // of its usual step, for a dominating column
constexpr double kValueRounding = 8 * 0x1p-53;
// Residuals with only eight good digits (an integration, a search) need longer steps than exact ones.
constexpr double kLonger = 32, kLongest = 1024;
constexpr double kMostProducts = 1e8;    // of the QR factorisation that makes moves
constexpr double kDataDigits = 0x1p7;    // smaller multiples of a row's rounding are no data
constexpr double kStepOfBlame = 0x1p-9;  // in standard errors

}  // namespace

// Holds the residuals and the Jacobian of the sampled rows at x, and compares them with differences along a
// direction.
class DenseEvaluator::JacobianCheck {
 public:
  JacobianCheck(DenseEvaluator& evaluator, std::span<const double> x, const std::vector<TileRange>& groups,
                double rounding)
      : evaluator_(evaluator), x_(x.begin(), x.end()), groups_(groups), rounding_(rounding),
        columns_(x.size() + 1) {
    const auto pass = evaluator_.model_.begin(x, Fill::jacobian_and_residual, false);
    for (const TileRange& group : groups) {
      const double* const* tile = pass->fill_f64(group.first, group.count, evaluator_.counters_);
      for (std::size_t j = 0; j < columns_.size(); ++j)
        columns_[j].insert(columns_[j].end(), tile[j], tile[j] + group.count);
    }
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const double size = evaluator_.model_.size_of(j, x_[j]);
      step_.push_back(kStep * (size > 0 ? size : 1.0));
      // Beside a bound, the step goes to the inside only.
      const double up = x_[j] + step_[j], down = x_[j] - step_[j];
      const bool room_above = evaluator_.box_.allow(j, up), room_below = evaluator_.box_.allow(j, down);
      one_sided_.push_back(!room_above || !room_below);
      if (!room_above) step_[j] = room_below ? -step_[j] : 0;
    }
  }

  // Returns one direction for all columns. Steps have their usual size, except that dominating columns get
  // shorter ones.
  Vector everywhere() const {
    const double least = range_of_moves().first;
    Vector v = step_;
    // Random signs and sizes, so that errors of two columns do not cancel.
    std::uint64_t random = 0x9e3779b97f4a7c15;
    for (std::size_t j = 0; j < v.size(); ++j) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const double moved = moved_by(j);
      if (moved > 0) v[j] *= std::max(kLeastShare, std::min(1.0, least / moved));
      v[j] *= (random >> 63 && !one_sided_[j] ? -1 : 1) *
              (0.5 + 0.5 * static_cast<double>(random >> 40 & 0xffff) / 0x10000);
    }
    return v;
  }
  Vector along(std::size_t j) const {
    Vector v(x_.size(), 0.0);
    v[j] = step_[j];
    return v;
  }

  // Makes the steps shorter that are too long for their parameters.
  void shorten_steps() {
    for (std::size_t j = 0; j < step_.size(); ++j) {
      if (one_sided_[j]) continue;
      const double usual = step_[j];
      step_[j] = usual * straight_share(ShareSearch(), [&](double share) {
                   step_[j] = share * usual;
                   error(along(j), 1);
                   return straightness_;
                 });
    }
  }
  // Returns the ratio of StepCheck for the direction that was checked last.
  double straightness() const { return straightness_; }
  // Returns true if some column moves the residuals so much more than others that everywhere() would not show
  // an error of the others.
  bool dominated() const {
    const auto [least, most] = range_of_moves();
    return least < kLeastShare * most;
  }

  // Estimates σ from the sampled rows. `rows` is the number of all rows of the model. Returns 0 if the
  // residuals are only rounding errors.
  double sigma(std::size_t rows) const {
    const double m = static_cast<double>(rows), n = static_cast<double>(x_.size());
    const double found = norm(columns_.back()) / root_of_rows() * std::sqrt(m / std::max(m - n, 1.0));
    return found > kDataDigits * rounding_ / root_of_rows() ? found : 0;
  }
  // Returns moves like those that noise of the data would cause (derivative_effect.hpp). Parameters at a
  // bound do not move.
  std::vector<Vector> moves_by_noise() const {
    std::vector<std::size_t> free;
    for (std::size_t j = 0; j < x_.size(); ++j)
      if (!one_sided_[j] && norm(columns_[j]) > 0) free.push_back(j);
    const std::size_t n = free.size(), m = columns_.back().size();
    OrthogonalMoves moves(n, m);
    if (n == 0 || 2.0 * static_cast<double>((m + n) * n * n) > kMostProducts) return {};
    DenseRows rows{std::max(m, n), n, Vector(std::max(m, n) * n, 0.0), Vector(std::max(m, n), 0.0)};
    for (std::size_t j = 0; j < n; ++j) {
      const Vector& column = columns_[free[j]];
      const double length = norm(column);
      for (std::size_t i = 0; i < m; ++i) rows.J[j * rows.rows + i] = column[i] / length;
    }
    for (const Vector& scaled : random_solutions(std::move(rows), std::min(kMovesByNoise, n))) {
      Vector move(x_.size(), 0.0);
      for (std::size_t j = 0; j < n; ++j) move[free[j]] = scaled[j] / norm(columns_[free[j]]);
      Vector image = times(move);
      moves.add(std::move(move), std::move(image));
    }
    return moves.moves();
  }
  // Returns the effect of wrong derivatives along a move.
  double effect(const Vector& move, double sigma) const {
    Vector sizes;
    for (std::size_t j = 0; j < x_.size(); ++j) sizes.push_back(evaluator_.model_.size_of(j, x_[j]));
    if (is_too_long(move, sigma, sizes)) return 0;
    return effect_along({times(move), columns_.back(), sigma, rounding_ / root_of_rows(),
                         [&](double h, std::vector<double>& slopes) {
                           slopes = slopes_along(move, h);
                           return true;
                         }});
  }
  // Stores the column that causes most of the effect along a move, and the relative error of its worst entry.
  void blame(const Vector& move, double sigma, Recheck& out) const {
    double most = 0;
    for (std::size_t j = 0; j < move.size(); ++j) {
      Vector alone(move.size(), 0.0);
      alone[j] = move[j];
      const Vector slopes = slopes_along(alone, kStepOfBlame * sigma), given = times(alone);
      for (std::size_t i = 0; i < given.size(); ++i) {
        const double off = slopes[i] - given[i], moved = std::fabs(columns_.back()[i] * off);
        if (!(moved > most)) continue;
        most = moved;
        out.wrong_column = static_cast<int>(j);
        out.jacobian_difference = std::fabs(off) / std::max(std::fabs(slopes[i]), std::fabs(given[i]));
      }
    }
  }

  // Returns ‖J v - difference‖ beyond rounding, relative to their norms. Tries longer steps until the error
  // is small and returns the smallest error. If the answer is 0, a parameter is only a rounding error at the
  // end, and its usual step shows nothing but rounding. So if no two differences have agreed yet, steps grow
  // up to those of a parameter of size 1. Returns NaN if no residual beside x is finite.
  double error(const Vector& v) const {
    double least = kInfinity, longest = 0;
    for (const double step : v) longest = std::max(longest, std::fabs(step));
    Vector slopes;
    bool seen = false;
    for (double longer = 1; longer <= kLongest || (!seen && longer * longest <= kStep); longer *= kLonger) {
      least = std::min(least, error(v, longer));
      if (least <= kTolerance) break;
      for (double& d : differences_) d /= longer;
      seen = seen || agree(slopes, differences_);
      slopes = differences_;
    }
    return least;
  }

 private:
  static double norm(const Vector& v) {
    double largest = 0, sum = 0;
    for (const double c : v) largest = std::max(largest, std::fabs(c));
    if (!(largest > 0)) return 0;
    for (const double c : v) sum += (c / largest) * (c / largest);
    return largest * std::sqrt(sum);
  }

  // Returns how far a step of parameter j moves the residuals. range_of_moves() returns the least and the
  // largest of these values that are not 0.
  double moved_by(std::size_t j) const { return norm(columns_[j]) * std::fabs(step_[j]); }
  std::pair<double, double> range_of_moves() const {
    double least = kInfinity, most = 0;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (const double moved = moved_by(j); moved > 0)
        least = std::min(least, moved), most = std::max(most, moved);
    }
    return {least, most};
  }

  Vector residuals(const Vector& v, double by) const {
    Vector moved = x_, r(columns_.back().size()), magnitudes(r.size());
    for (std::size_t j = 0; j < moved.size(); ++j) {
      moved[j] += by * v[j];
      if (!evaluator_.box_.allow(j, moved[j])) return Vector(r.size(), kNaN);
    }
    std::size_t at = 0;
    for (const TileRange& group : groups_) {
      evaluator_.model_.reference_residuals(moved, group.first, group.count, &r[at], &magnitudes[at]);
      at += group.count;
    }
    return r;
  }

  double root_of_rows() const { return std::sqrt(static_cast<double>(columns_.back().size())); }

  // Returns J v.
  Vector times(const Vector& v) const {
    Vector out(columns_.back().size(), 0.0);
    for (std::size_t j = 0; j < v.size(); ++j) {
      for (std::size_t i = 0; v[j] != 0 && i < out.size(); ++i) out[i] += columns_[j][i] * v[j];
    }
    return out;
  }

  Vector slopes_along(const Vector& v, double h) const {
    Vector slopes = residuals(v, h);
    for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] = (slopes[i] - columns_.back()[i]) / h;
    return slopes;
  }

  static bool agree(const Vector& a, const Vector& b) {
    if (a.size() != b.size()) return false;
    Vector apart = a;
    for (std::size_t i = 0; i < a.size(); ++i) apart[i] -= b[i];
    return norm(b) > 0 && norm(apart) <= kTolerance * norm(b);
  }

  double error(const Vector& v, double longer) const {
    const Vector above = residuals(v, longer), below = residuals(v, -longer);
    const Vector& here = columns_.back();
    if (longer == 1) {
      StepCheck straight;
      for (std::size_t i = 0; i < here.size(); ++i) straight.add(above[i], here[i], below[i]);
      straightness_ = straight.ratio();
    }
    Vector wrong;
    differences_.clear();
    for (std::size_t i = 0; i < here.size(); ++i) {
      double up = above[i] - here[i], down = here[i] - below[i];
      if (!std::isfinite(up)) up = down;
      if (!std::isfinite(down)) down = up;
      if (!std::isfinite(up)) continue;  // the edge of the domain on both sides
      double linear = 0;
      for (std::size_t j = 0; j < v.size(); ++j) linear += columns_[j][i] * longer * v[j];
      // At a kink any slope between those of the two sides is right.
      const double middle = 0.5 * (up + down), slack = longer == 1 ? 0.5 * std::fabs(up - down) : 0;
      wrong.push_back(std::max(0.0, std::fabs(linear - middle) - slack));
      differences_.push_back(middle);
    }
    if (differences_.empty() && longer > 1) return kInfinity;  // a step that is too long proves nothing
    double squares = 0;
    for (std::size_t j = 0; j < v.size(); ++j) squares += std::pow(norm(columns_[j]) * longer * v[j], 2);
    const double excess = norm(wrong) - rounding_;
    return excess > 0 ? excess / (std::sqrt(squares) + norm(differences_)) : 0;
  }

  DenseEvaluator& evaluator_;
  Vector x_, step_;
  std::vector<bool> one_sided_;
  const std::vector<TileRange>& groups_;
  double rounding_;
  std::vector<Vector> columns_;  // columns of J, then r
  mutable double straightness_ = 0;
  mutable Vector differences_;  // of the step that was tried last
};

// Measures how far wrong derivatives have moved the minimum, from the share of the rows that is sampled.
void DenseEvaluator::check_effect(const JacobianCheck& check, double share, Recheck& out) {
  const double sigma = check.sigma(model_.rows());
  const std::vector<Vector> moves = sigma > 0 ? check.moves_by_noise() : std::vector<Vector>();
  Vector effects;
  for (const Vector& move : moves) effects.push_back(check.effect(move, sigma) / sigma);
  if (const auto worst = worst_move(effects, share)) check.blame(moves[*worst], sigma, out);
}

void DenseEvaluator::check_jacobian(std::span<const double> x, const std::vector<TileRange>& groups,
                                    Recheck& out) {
  const double share =
      static_cast<double>(out.rows) / static_cast<double>(std::max<std::size_t>(1, model_.rows()));
  JacobianCheck check(*this, x, groups, kValueRounding * out.magnitude * std::sqrt(share));
  double all = check.error(check.everywhere());
  // Over a step that crosses the shape of the data, the comparison shows nothing, or curvature may hide a
  // wrong column.
  if (check.straightness() > kCurved || check.dominated()) {
    check.shorten_steps();
    all = check.error(check.everywhere());
  }
  if (all <= kTolerance) {
    check_effect(check, share, out);
    return;
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double error = check.error(check.along(j));
    if (out.wrong_column >= 0 && error <= out.jacobian_difference) continue;
    out.wrong_column = static_cast<int>(j);
    out.jacobian_difference = error;
  }
}

}  // namespace nlsq::inline v0
