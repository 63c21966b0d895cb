// Computes rows with derivatives by central differences.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include "expression/names.hpp"
#include "rows/calls/difference_step.hpp"

#include <algorithm>
#include <string>

namespace nlsq::inline v0 {

namespace {

// Evaluates a curve as a function of one parameter on some of the rows. The other parameters stay at p.
class SomeRows {
 public:
  SomeRows(const CurveRows& curve, std::span<const double> p, std::size_t parameter)
      : curve_(curve), p_(p.begin(), p.end()), j_(parameter), start_(p[parameter]),
        row_(static_cast<std::size_t>(curve.function.predictors) + 1) {}

  // Stores the derivatives in `slopes`, too, unless it is null.
  StepCheck check(const DifferenceStep& step, std::vector<double>* slopes = nullptr) {
    StepCheck check;
    const std::size_t rows = curve_.data->rows(), count = std::min(rows, kRows);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = k * rows / count;
      for (std::size_t c = 0; c < row_.size(); ++c) curve_.data->read(i, 1, static_cast<int>(c), &row_[c]);
      const double here = residual(start_), above = residual(step.above), below = residual(step.below);
      check.add(step, start_, above, here, below);
      if (slopes != nullptr) slopes->push_back(step.slope(start_, above, here, below));
    }
    return check;
  }
  // Returns a check that is not finite if the callable throws, which it may do where it is not defined.
  StepCheck check_or_none(const DifferenceStep& step) try { return check(step); } catch (...) {
    return StepCheck::none();
  }

 private:
  static constexpr std::size_t kRows = 64;
  double residual(double place) {
    p_[j_] = place;
    return curve_.function.value(row_.data(), p_) - row_.back();
  }

  const CurveRows& curve_;
  std::vector<double> p_;
  std::size_t j_;
  double start_;
  std::vector<double> row_;
};

class CentralDifferences final : public RowFunction {
 public:
  CentralDifferences(const ModelFunction& function, std::vector<double> p, const std::vector<int>& free,
                     const DifferenceRows& rows)
      : function_(function), p_(std::move(p)), free_(free), rows_(rows) {}

  double evaluate(const double* x, double* df) override {
    const double f = function_.value(x, p_);
    if (df != nullptr && steps_.empty()) steps_ = rows_.steps(p_);
    for (std::size_t k = 0; df != nullptr && k < free_.size(); ++k) {
      double& moved = p_[static_cast<std::size_t>(free_[k])];
      const Restored restored{moved, moved};  // also if the callable throws
      moved = steps_[k].above;
      const double above = function_.value(x, p_);
      moved = steps_[k].below;
      const double below = function_.value(x, p_);
      df[k] = steps_[k].slope(restored.original, above, f, below);
    }
    return f;
  }

 private:
  struct Restored {
    double& place;
    double original;
    ~Restored() { place = original; }
  };

  const ModelFunction& function_;
  std::vector<double> p_;
  const std::vector<int>& free_;
  const DifferenceRows& rows_;
  std::vector<DifferenceStep> steps_;  // found with the first derivatives
};

}  // namespace

DifferenceRows::DifferenceRows(CurveRows rows, std::vector<double> typical, std::vector<double> lower,
                               std::vector<double> upper)
    : CallableRows(std::move(rows)), typical_(std::move(typical)), lower_(std::move(lower)),
      upper_(std::move(upper)) {
  if (typical_.empty()) typical_ = typical_sizes(curve().parameters);
  if (typical_.size() != curve().parameters.size()) {
    throw ValidationError("typical sizes are needed for all " + std::to_string(curve().parameters.size()) +
                          " parameters, not for " + std::to_string(typical_.size()));
  }
  shares_.assign(typical_.size(), 1.0);
}

DifferenceStep DifferenceRows::step(std::size_t j, double p, double share) const {
  return lower_.empty() ? DifferenceStep(p, typical_[j], -kNoBound, kNoBound, share)
                        : DifferenceStep(p, typical_[j], lower_[j], upper_[j], share);
}

void DifferenceRows::shorten_steps(std::span<const double> p) const {
  std::vector<double> shares(shares_.size(), 1.0);
  for (const int index : curve().free) {
    const auto j = static_cast<std::size_t>(index);
    SomeRows rows(curve(), p, j);
    if (checked_.empty() && p[j] == 0 && typical_[j] == 1) {
      typical_[j] = size_of_zero([&](double size) {
        CheckedColumn out;
        const StepCheck check = rows.check(step(j, 0, size), &out.slopes);
        out.ratio = check.ratio();
        out.residual = check.residual();
        return out;
      });
    }
    if (checked_.empty() && p[j] != 0 && typical_[j] <= std::fabs(p[j])) {
      SizeSearch search(typical_[j]);
      while (search.open()) {
        typical_[j] = search.size();
        search.take(rows.check_or_none(step(j, p[j], 1)));
      }
      typical_[j] = search.found();
    }
    shares[j] = straight_share(ShareSearch(), [&](double share) {
      const DifferenceStep beside = step(j, p[j], share);
      return beside.central || beside.one_sided() ? rows.check(beside).ratio() : kNoBound;
    });
  }
  shares_ = std::move(shares);
}

std::vector<DifferenceStep> DifferenceRows::steps(std::span<const double> p) const {
  // Change of a parameter, by its size, after which its step is checked again.
  constexpr double kChanged = 0.5;
  const std::lock_guard lock(mutex_);
  bool changed = checked_.empty();
  for (std::size_t j = 0; !changed && j < p.size(); ++j)
    changed = std::fabs(p[j] - checked_[j]) > kChanged * std::max(std::fabs(checked_[j]), typical_[j]);
  if (changed) {
    shorten_steps(p);
    checked_.assign(p.begin(), p.end());
  }
  std::vector<DifferenceStep> steps;
  for (const int index : curve().free) {
    const auto j = static_cast<std::size_t>(index);
    steps.push_back(step(j, p[j], shares_[j]));
  }
  return steps;
}

bool DifferenceRows::extrapolate(bool on) {
  if (on == (extrapolated_ != nullptr) || (on && rows() > VectorRows::kMostExtrapolated)) return false;
  extrapolated_.reset();
  if (!on) return true;
  const auto of_free = [&](const std::vector<double>& all) {
    std::vector<double> out;
    for (const int j : curve().free)
      if (!all.empty()) out.push_back(all[static_cast<std::size_t>(j)]);
    return out;
  };
  VectorFunction function;
  function.value = [this](std::span<const double> x) {
    std::vector<double> residuals(rows()), magnitudes(rows());
    reference_residuals(x, 0, rows(), residuals.data(), magnitudes.data());
    return residuals;
  };
  auto rows_at_once = std::make_unique<VectorRows>(std::move(function), of_free(curve().parameters),
                                                   all_parameters(curve().free.size()),
                                                   VectorRows::Jacobian{}, std::vector<RowComponent>{},
                                                   of_free(lower_), of_free(upper_), Differences::ridders);
  if (!curve().values) {
    rows_at_once->set_constants(response_sizes(*curve().data, curve().function.predictors, curve().weighted));
  }
  extrapolated_ = std::move(rows_at_once);
  return true;
}

double DifferenceRows::difference_width(std::span<const double> x, std::size_t j) const {
  if (extrapolated_) return 0;
  const std::lock_guard lock(mutex_);
  const auto k = static_cast<std::size_t>(curve().free[j]);
  const DifferenceStep between = step(k, x[j], shares_[k]);
  return std::fabs(between.above - between.below);
}

std::vector<double> DifferenceRows::derivative_errors(std::span<const double> x) const {
  return extrapolated_ ? extrapolated_->derivative_errors(x) : std::vector<double>{};
}

double DifferenceRows::row_cost(Fill fill) const {
  return extrapolated_ ? extrapolated_->row_cost(fill) : CallableRows::row_cost(fill);
}

std::unique_ptr<TilePass> DifferenceRows::begin(std::span<const double> x, Fill fill, bool single) const {
  return extrapolated_ ? extrapolated_->begin(x, fill, single) : CallableRows::begin(x, fill, single);
}

std::unique_ptr<RowFunction> DifferenceRows::at(std::vector<double> p) const {
  return std::make_unique<CentralDifferences>(curve().function, std::move(p), curve().free, *this);
}

double DifferenceRows::calls_per_row() const { return 1 + 2 * static_cast<double>(curve().free.size()); }

}  // namespace nlsq::inline v0
