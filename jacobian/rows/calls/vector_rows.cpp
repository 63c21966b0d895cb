// Rows of a vector function, all computed by one call of the user's code.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include "rows/calls/difference_step.hpp"
#include "rows/calls/tile_buffer.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace nlsq::inline v0 {

struct VectorRows::Evaluation {
  std::vector<double> x;
  std::vector<double> residuals;
  std::vector<std::vector<double>> derivatives;  // for each free parameter; empty if not requested
  bool one_sided = false;                        // derivatives by steps to one side, while x is far
  double error = 0;                              // RowModel::derivative_error
};

namespace {

constexpr double kVectorCallCost = 50;     // assumed cost of one residual's share of a call, in additions
constexpr double kExtrapolatedCalls = 10;  // calls for one derivative, as measured on smooth functions (5
                                           // steps)
constexpr std::size_t kRecent = 3;         // evaluations that are kept: a fit comes back to its best point
constexpr std::size_t kLarge = 1u << 22;   // numbers; of larger evaluations only the latest is kept
constexpr double kFar = 1e-5;              // of a parameter: a longer step is not the last one of a fit
constexpr double kLittle = 0.05;           // of the residuals, by a step to one side
void check_size(std::size_t got, std::size_t wanted) {
  if (got != wanted) {
    throw ValidationError("the residual function gave " + std::to_string(got) + " residuals, and " +
                          std::to_string(wanted) + " when it was called first");
  }
}

// Returns (‖error‖ / ‖slope‖)² of a column of J. A column of zeros gives 0, because its parameter has no
// effect.
double square_of(std::span<const double> error, std::span<const double> slope) {
  double errors = 0, slopes = 0;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    errors += error[i] * error[i];
    slopes += slope[i] * slope[i];
  }
  return slopes > 0 && std::isfinite(errors) ? errors / slopes : 0;
}

// False also where a residual is not finite.
bool moves_little(std::span<const double> moved, std::span<const double> here) {
  double change = 0, size = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    change += (moved[i] - here[i]) * (moved[i] - here[i]);
    size += here[i] * here[i];
  }
  return std::isfinite(change) && std::sqrt(change) <= kLittle * std::sqrt(size);
}

}  // namespace

VectorRows::VectorRows(VectorFunction function, std::vector<double> parameters, std::vector<int> free,
                       Jacobian jacobian, std::vector<RowComponent> components, std::vector<double> lower,
                       std::vector<double> upper, Differences differences)
    : function_(std::move(function)), parameters_(std::move(parameters)), free_(std::move(free)),
      jacobian_(std::move(jacobian)), components_(std::move(components)), lower_(std::move(lower)),
      upper_(std::move(upper)), differences_(differences) {
  if (!function_.value) throw ValidationError("rows need a callable in double");
  for (const int j : free_) {
    if (j < 0 || static_cast<std::size_t>(j) >= parameters_.size()) {
      throw ValidationError("there is no parameter " + std::to_string(j) + ": the function has " +
                            std::to_string(parameters_.size()));
    }
  }
  auto start = std::make_shared<Evaluation>();
  for (const int j : free_) start->x.push_back(parameters_[static_cast<std::size_t>(j)]);
  start->residuals = function_.value(parameters_);
  rows_ = start->residuals.size();
  recent_.push_back(std::move(start));
  const std::vector<RowComponent> whole{{{}, rows_}};
  const std::vector<RowComponent>& parts = components_.empty() ? whole : components_;
  for (std::size_t c = 0, first = 0; c < parts.size(); first += parts[c++].rows) {
    for (std::size_t i = 0; i < parts[c].rows; i += tile_rows()) {
      tiles_.push_back({first + i, std::min(tile_rows(), parts[c].rows - i)});
      tile_component_.push_back(c);
    }
  }
  const std::vector<double> sizes = typical_sizes(parameters_);
  for (const int j : free_) typical_.push_back(sizes[static_cast<std::size_t>(j)]);
  step_shares_.assign(free_.size(), 1.0);
  shortened_in_vain_.assign(free_.size(), false);
}

const char* VectorRows::kind() const {
  if (jacobian_) return "derivatives";
  return function_.dual ? "dual" : "finite differences";
}

double VectorRows::row_cost(Fill fill) const {
  const double n = static_cast<double>(free_.size());
  if (fill == Fill::residual) return kVectorCallCost;
  if (jacobian_) return kVectorCallCost * (1 + static_cast<double>(parameters_.size()));
  return kVectorCallCost * (function_.dual ? std::max(1.0, (1 + kDualWidth) * std::ceil(n / kDualWidth))
                            : by_ridders() ? 1 + kExtrapolatedCalls * n
                                           : 1 + 2 * n);
}

std::vector<double> VectorRows::expand(std::span<const double> x) const {
  std::vector<double> p = parameters_;
  for (std::size_t k = 0; k < free_.size(); ++k) p[static_cast<std::size_t>(free_[k])] = x[k];
  return p;
}

std::vector<double> VectorRows::residuals_at(std::span<const double> p) const {
  std::vector<double> residuals = function_.value(p);
  check_size(residuals.size(), rows());
  return residuals;
}

void VectorRows::by_jacobian(std::span<const double> p, Evaluation& result) const {
  // An entry that the user's code does not set stays NaN and is detected.
  std::vector<double> J(rows() * p.size(), std::numeric_limits<double>::quiet_NaN());
  jacobian_(p, J);
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    for (std::size_t i = 0; i < rows(); ++i) result.derivatives[k][i] = J[i * p.size() + j];
  }
}

void VectorRows::by_dual(std::span<const double> p, Evaluation& result) const {
  for (std::size_t first = 0; first < free_.size(); first += kDualWidth) {
    std::vector<Dual8> seeded(p.begin(), p.end());
    const std::size_t end = std::min(free_.size(), first + kDualWidth);
    for (std::size_t k = first; k < end; ++k) {
      const auto j = static_cast<std::size_t>(free_[k]);
      seeded[j] = Dual8(p[j], static_cast<int>(k - first));
    }
    const std::vector<Dual8> duals = function_.dual(seeded);
    check_size(duals.size(), rows());
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t k = first; k < end; ++k) {
        result.derivatives[k][i] = duals[i].derivative(static_cast<int>(k - first));
      }
    }
  }
}

// Steps that turn out too long are shortened, now and for the rest of the fit. Where that does not help,
// because the residuals are noisy, it is not tried again.
void VectorRows::by_differences(std::span<const double> p, Evaluation& result) const {
  const std::vector<double> typical = typical_sizes(parameters_);
  const std::vector<double>& here = result.residuals;
  std::vector<double> moved(p.begin(), p.end()), above, below;
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    const auto at = [&](double place) {
      moved[j] = place;
      std::vector<double> residuals = residuals_at(moved);
      moved[j] = p[j];
      return residuals;
    };
    const auto step_of = [&](double share) {
      return lower_.empty() ? DifferenceStep(p[j], typical[j], -kNoBound, kNoBound, share)
                            : DifferenceStep(p[j], typical[j], lower_[j], upper_[j], share);
    };
    // Leaves the residuals beside p in `above` and `below`.
    const auto ratio_at = [&](double share) {
      const DifferenceStep step = step_of(share);
      above = at(step.above);
      below = at(step.below);
      if (!step.central) return kNoBound;
      StepCheck check;
      for (std::size_t i = 0; i < rows(); ++i) check.add(above[i], here[i], below[i]);
      return check.ratio();
    };
    DifferenceStep step = step_of(step_shares_[k]);
    const bool one_side = result.one_sided && step.central;
    if (one_side) above = at(step.above);
    if (one_side && moves_little(above, here)) {
      below.assign(rows(), std::numeric_limits<double>::quiet_NaN());
    } else if (ratio_at(step_shares_[k]) > kCurved && !shortened_in_vain_[k]) {
      const double share = straight_share(ShareSearch(step_shares_[k]), ratio_at);
      shortened_in_vain_[k] = share == step_shares_[k];
      step_shares_[k] = share;
      step = step_of(share);
      ratio_at(share);
    }
    for (std::size_t i = 0; i < rows(); ++i)
      result.derivatives[k][i] = step.slope(p[j], above[i], here[i], below[i]);
  }
}

void VectorRows::by_extrapolation(std::span<const double> p, Evaluation& result) const {
  const std::vector<double> typical = typical_sizes(parameters_);
  double squares = 0;
  std::vector<double> moved(p.begin(), p.end());
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    const auto along = [&](double place) {
      moved[j] = place;
      return residuals_at(moved);
    };
    const double lower = lower_.empty() ? -kNoBound : lower_[j],
                 upper = upper_.empty() ? kNoBound : upper_[j];
    ExtrapolatedSlopes by = extrapolated_slopes(along, result.residuals, p[j], typical[j], lower, upper);
    if (!by.one_sided) squares += square_of(by.error, by.slope);
    result.derivatives[k] = std::move(by.slope);
    moved[j] = p[j];
  }
  result.error = std::sqrt(squares);
}

// Whether a fit is still on its way: it begins here, or some parameter is far from where it was at every
// point with derivatives. Derivatives to one side, of error h |f''|/2 with h = cbrt(eps) |p|, serve such a
// step as well, and save half of the calls.
bool VectorRows::far(std::span<const double> x) const {
  bool known = false;
  for (const auto& one : recent_) {
    if (one->derivatives.empty()) continue;
    known = true;
    bool moved = false;
    for (std::size_t k = 0; k < x.size(); ++k)
      moved = moved ||
              std::fabs(x[k] - one->x[k]) > kFar * step_shares_[k] * std::max(std::fabs(x[k]), typical_[k]);
    if (!moved) return false;
  }
  return known || std::ranges::equal(expand(x), parameters_);
}

bool VectorRows::rough(std::span<const double> x) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      recent_, [&](const auto& one) { return one->one_sided && std::ranges::equal(one->x, x); });
}

bool VectorRows::extrapolate(bool on) {
  const bool better = !jacobian_ && !function_.dual && differences_ == Differences::central;
  if (!better || on == extrapolated_ || rows() > kMostExtrapolated) return false;
  const std::lock_guard lock(mutex_);
  extrapolated_ = on;
  recent_.clear();
  return true;
}

double VectorRows::derivative_error(std::span<const double> x) const {
  if (!by_ridders()) return 0;
  const std::lock_guard lock(mutex_);
  for (const auto& one : recent_)
    if (!one->derivatives.empty() && std::ranges::equal(one->x, x)) return one->error;
  return 0;
}

// Runs one evaluation at a time. Threads that need the same x wait for it and share it. `anew`: derivatives
// that were taken to one side are taken to both, since the fit has come back to this x.
std::shared_ptr<const VectorRows::Evaluation> VectorRows::evaluate(std::span<const double> x,
                                                                   bool derivatives, bool anew) const {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::ranges::find_if(recent_, [&](const auto& one) { return std::ranges::equal(one->x, x); });
  const bool found = known != recent_.end();
  const bool enough =
      found &&
      (!derivatives || ((*known)->derivatives.size() == free_.size() && !(anew && (*known)->one_sided)));
  if (enough) {
    std::rotate(recent_.begin(), known, known + 1);
    return recent_.front();
  }
  auto result = std::make_shared<Evaluation>();
  result->x.assign(x.begin(), x.end());
  const std::vector<double> p = expand(x);
  result->residuals = found ? (*known)->residuals : residuals_at(p);
  if (derivatives) {
    const bool again = found && !(*known)->derivatives.empty();
    const bool by_steps = !jacobian_ && !function_.dual && !by_ridders();
    result->one_sided = by_steps && !again && far(x);
    result->derivatives.assign(free_.size(), std::vector<double>(rows()));
    if (jacobian_) by_jacobian(p, *result);
    else if (function_.dual) by_dual(p, *result);
    else if (by_ridders()) by_extrapolation(p, *result);
    else by_differences(p, *result);
  }
  if (found) recent_.erase(known);
  recent_.insert(recent_.begin(), result);
  const bool large = rows() * (free_.size() + 1) > kLarge;
  recent_.resize(std::min(recent_.size(), large ? 1 : kRecent));
  return result;
}

namespace {

// Returns an evaluation tile by tile. Callers may overwrite the tiles.
template <class Evaluation>
class VectorPass final : public DoublePass {
 public:
  VectorPass(std::shared_ptr<const Evaluation> evaluation, std::size_t tile_rows, int parameters,
             bool jacobian)
      : evaluation_(std::move(evaluation)), tile_(tile_rows, parameters, jacobian), jacobian_(jacobian) {}

  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    std::copy_n(evaluation_->residuals.data() + first, count, tile_.residual());
    for (std::size_t k = 0; jacobian_ && k < evaluation_->derivatives.size(); ++k) {
      std::copy_n(evaluation_->derivatives[k].data() + first, count, tile_.columns()[k]);
    }
    counters.rows_f64 += count;
    return tile_.columns();
  }

 private:
  std::shared_ptr<const Evaluation> evaluation_;
  TileBuffer tile_;
  bool jacobian_;
};

}  // namespace

void VectorRows::prepare(std::span<const double> x, Fill fill) const {
  evaluate(x, fill == Fill::jacobian_and_residual, true);
}

std::unique_ptr<TilePass> VectorRows::begin(std::span<const double> x, Fill fill, bool single) const {
  if (single) throw ValidationError("rows by calls of the user's code are evaluated in f64 only");
  const bool derivatives = fill == Fill::jacobian_and_residual;
  return std::make_unique<VectorPass<Evaluation>>(evaluate(x, derivatives), tile_rows(), parameters(),
                                                  derivatives);
}

void VectorRows::set_constants(std::vector<double> sizes) {
  check_size(sizes.size(), rows());
  constants_ = std::move(sizes);
}

void VectorRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                     double* residuals, double* magnitudes) const {
  const std::lock_guard lock(mutex_);
  if (first == 0 || !std::equal(x.begin(), x.end(), reference_at_.begin(), reference_at_.end())) {
    reference_ = residuals_at(expand(x));
    reference_at_.assign(x.begin(), x.end());
  }
  for (std::size_t i = 0; i < count; ++i) {
    residuals[i] = reference_[first + i];
    magnitudes[i] = std::fabs(residuals[i]) + (constants_.empty() ? 0 : 2 * constants_[first + i]);
  }
}

}  // namespace nlsq::inline v0
