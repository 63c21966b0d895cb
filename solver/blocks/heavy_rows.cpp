// Implements solve_beside_heavy_rows(), and the steps of BlockSystem that use it.
#include "blocks/heavy_rows.hpp"

#include "blocks/block_system.hpp"
#include "blocks/record_rows.hpp"
#include "linear/weighted_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Damping of the factor alone, relative to the squared column norms. The corrections do not contain it.
constexpr double kLeastDampingOfStep = 1e-14;
constexpr double kAccuracy = 1e-8;  // of a step
constexpr double kNoBetter = 1e-6;  // of a step that corrections make no better
constexpr double kFalls = 0.1;      // a correction that helps is at most this part of the one before
constexpr int kMostCorrections = 8;
// Up to this ratio of squared norms, or of a squared norm and its damping, JᵀJ has some digits of the light
// rows.
constexpr double kSomeDigits = 1e14;
// Above this ratio of the same numbers, corrections often fail. Then the lighter rows are tried first.
constexpr double kManyDigits = 1e10;
// Rows above this norm count as heavy. If they are made lighter, the least of them gets the second norm,
// which still outweighs light rows by far, and none may keep more than the third. All are relative to the
// light rows.
constexpr double kHeavy = 300, kLightest = 1e4, kHeaviest = 1e6;

struct RowWeights {
  std::vector<std::uint8_t> heavy;  // by row
  double spread = 1;                // the norm of the largest row over that of the light ones
  double factor = 1;                // makes heavy rows lighter; 1 if they are too different
};

RowWeights weigh_rows(const BlockPoint& at) {
  RowWeights out;
  out.heavy.assign(at.structure.residuals, 0);
  std::vector<double> norms(at.structure.residuals, 0.0);
  for_each_record_row(at.structure, at.model.records<double>(),
                      [&](const JacobianRow& row) { norms[row.number] = row.norm(); });
  const double light = quantile_of_nonzero(norms, kLightRows);
  if (light == 0) return out;
  double least = 0, most = 0;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (!(norms[i] > kHeavy * light)) continue;
    out.heavy[i] = 1;
    least = least > 0 ? std::min(least, norms[i]) : norms[i];
    most = std::max(most, norms[i]);
  }
  out.spread = most > 0 ? most / light : 1;
  if (most * kLightest <= kHeaviest * least) out.factor = std::min(1.0, kLightest * light / least);
  return out;
}

// Exchanges the records of the model with others, which the solver gathers. Its end restores both.
class ExchangedRecords {
 public:
  // Copies the records, and calls change(row, record) for each row, where `record` points at the copy of that
  // row. Does nothing if the records are not all in memory at once.
  ExchangedRecords(const BlockPoint& at, const auto& change) : at_(at) {
    RecordReader<double>& J = at.model.records<double>();
    if (J.whole() == nullptr) return;
    others_.assign(J.whole(), J.whole() + at.structure.record_size);
    for_each_record_row(at.structure, J, [&](const JacobianRow& row) {
      change(row, others_.data() + (row.entries - J.whole()));
    });
    exchange();
  }
  ~ExchangedRecords() {
    if (in_place()) exchange();
  }
  ExchangedRecords(const ExchangedRecords&) = delete;
  ExchangedRecords& operator=(const ExchangedRecords&) = delete;
  bool in_place() const { return !others_.empty(); }

 private:
  void exchange() {
    at_.model.exchange_records(others_);
    at_.solver.gather<double, double>(at_.model.records<double>());
    if (at_.fixed_count > 0) at_.solver.hold(at_.fixed);
  }
  const BlockPoint& at_;
  std::vector<double> others_;
};

class CorrectedStep {
 public:
  // With a factor of 1, the records are those of J. Otherwise heavy rows must be lighter by this factor.
  CorrectedStep(const BlockPoint& at, double lambda, std::span<const double> scale,
                std::span<const std::uint8_t> heavy, double factor)
      : at_(at), J_(at.model.records<double>()), lambda_(lambda), scale_(scale), heavy_(heavy),
        factor_(factor) {}

  bool solve(BlockStep& out) {
    if (!start(out)) return false;
    for (int k = 0; k <= kMostCorrections; ++k) {
      const double last = size_;
      sweep();
      if (k > 0 && size_ <= kAccuracy) return finish(out);
      if (k > 0 && !(size_ <= kFalls * last)) return size_ <= kNoBetter && finish(out);
      change_ = left_;
      at_.solver.solve_factored(J_, change_);
      for (std::size_t j = 0; j < change_.size(); ++j) {
        change_[j] = at_.is_fixed(j) ? 0 : -change_[j];
        step_[j] += change_[j];
      }
    }
    return false;
  }

 private:
  bool start(BlockStep& out) {
    const std::vector<double>& squares = at_.solver.squares();
    std::vector<double> damping(squares.size());
    for (std::size_t j = 0; j < squares.size(); ++j) {
      const double least = kLeastDampingOfStep * (squares[j] > 0 ? squares[j] : 1);
      damping[j] = std::sqrt(lambda_ * scale_[j] * scale_[j] + least);
    }
    at_.solver.solve<double, double>(J_, 1, damping, out);
    if (!out.factored) return false;
    step_ = change_ = out.step;
    left_.resize(step_.size());
    if (factor_ == 1) return true;
    multiplier_.assign(heavy_.size(), 0.0);
    missed_.assign(heavy_.size(), 0.0);
    for_each_record_row(at_.structure, J_,
                        [&](const JacobianRow& row) { missed_[row.number] = row.residual(); });
    return true;
  }

  // Computes what is left of the gradient after the step, the size of the last change beside the step, and
  // the decrease that the step predicts.
  void sweep() {
    std::ranges::fill(left_, 0.0);
    double light = 0, others = 0, light_change = 0, other_changes = 0;
    squares_ = scaled_ = 0;
    for_each_record_row(at_.structure, J_, [&](const JacobianRow& row) {
      const double along = row.times(step_.data()), change = row.times(change_.data());
      const bool heavy = heavy_[row.number] != 0;
      (heavy ? others : light) += along * along;
      (heavy ? other_changes : light_change) += change * change;
      double slope = row.residual() + along;
      if (heavy && factor_ < 1) {
        double &y = multiplier_[row.number], &missed = missed_[row.number];
        y += change + missed;
        missed = slope - factor_ * factor_ * y;
        slope = y + missed;
      }
      const double of_J = heavy ? along / factor_ : along;
      squares_ += of_J * of_J;
      row.add_multiple(slope, left_.data());
    });
    for (std::size_t j = 0; j < step_.size(); ++j) {
      const double squared_scale = scale_[j] * scale_[j];
      left_[j] += lambda_ * squared_scale * step_[j];
      scaled_ += squared_scale * step_[j] * step_[j];
      others += lambda_ * squared_scale * step_[j] * step_[j];
      other_changes += lambda_ * squared_scale * change_[j] * change_[j];
    }
    const auto ratio = [](double part, double of) { return part > 0 ? std::sqrt(part / of) : 0; };
    size_ = std::max(ratio(light_change, light), ratio(other_changes, light + others));
  }

  bool finish(BlockStep& out) const {
    const double damped = lambda_ * scaled_;
    out.step = step_;
    out.decrement = std::sqrt(squares_ + damped);  // -gᵀs = ‖J s‖² + λ‖D s‖² for the exact step
    out.predicted = 0.5 * squares_ + damped;
    out.scaled_norm = std::sqrt(scaled_);
    out.factored = std::isfinite(out.predicted) && std::isfinite(out.scaled_norm);
    return out.factored;
  }

  const BlockPoint& at_;
  RecordReader<double>& J_;
  double lambda_;
  std::span<const double> scale_;
  std::span<const std::uint8_t> heavy_;
  double factor_;
  std::vector<double> step_, change_, left_;
  std::vector<double> multiplier_, missed_;  // y, and by how much each heavy row misses it
  double size_ = 1, squares_ = 0, scaled_ = 0;
};

// QR of many rows takes up to fifty times as long as the elimination, so it is only done if the elimination's
// step does not have enough digits.
void solve_few_rows(const BlockPoint& here, double lambda, std::span<const double> scale, BlockStep& out) {
  if (qr_takes_least(here) || !solve_beside_heavy_rows(here, lambda, scale, out))
    solve_by_rows(here, lambda, scale, out);
}

}  // namespace

bool solve_beside_heavy_rows(const BlockPoint& at, double lambda, std::span<const double> scale,
                             BlockStep& out) {
  const RowWeights weights = weigh_rows(at);
  const auto digits = [&](double most) {
    return weights.spread * weights.spread <= most || lambda * most >= 1;
  };
  const auto as_they_are = [&] {
    return digits(kSomeDigits) && CorrectedStep(at, lambda, scale, weights.heavy, 1).solve(out);
  };
  const auto lighter = [&] {
    // Where λ D² exceeds the squares of the lighter rows, multipliers hardly change the step, and corrections
    // that are too small would look like the last ones.
    if (weights.factor == 1 || lambda > weights.factor * weights.factor) return false;
    const ExchangedRecords rows(at, [&](const JacobianRow& row, double* record) {
      if (weights.heavy[row.number] == 0) return;
      record[row.residual_at] *= weights.factor;
      for (const RecordColumns& part : row.parts) {
        for (std::size_t c = 0; c < part.count; ++c) record[part.column + c] *= weights.factor;
      }
    });
    return rows.in_place() && CorrectedStep(at, lambda, scale, weights.heavy, weights.factor).solve(out);
  };
  return digits(kManyDigits) ? as_they_are() || lighter() : lighter() || as_they_are();
}

// Returns true if rows have very different weights. Weights hardly change during a solve. So the norms of
// rows, which take a pass over J, are compared at the first point only, and the result holds for the whole
// solve.
bool BlockSystem::heavy_rows() {
  if (low_jacobian() || !at_.model.finite) return false;
  if (!heavy_ && !derivatives_at_trial_) heavy_ = rows_are_few(point()) && terms()->spread > kHeavyRows;
  return heavy_.value_or(false);
}

void BlockSystem::solve_heavy(double lambda) {
  solve_few_rows(point(derivatives_at_trial_ ? trial_ : at_), lambda, *scale_, step_);
}

// Returns -(JᵀJ)⁻¹Jᵀz at x where rows have very different weights, or nothing if that is not possible.
std::vector<double> BlockSystem::move_beside_heavy_rows(std::span<const double> z,
                                                        std::span<const double> norms) {
  const BlockPoint here = point();
  const ExchangedRecords rows(
      here, [&](const JacobianRow& row, double* record) { record[row.residual_at] = z[row.number]; });
  BlockStep solved;
  if (rows.in_place()) solve_few_rows(here, kNegligibleDamping, norms, solved);
  return solved.factored ? std::move(solved.step) : std::vector<double>();
}

}  // namespace nlsq::inline v0
