// Computes the rows of a vector function, all by one call of the user's code.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include "rows/calls/difference_step.hpp"
#include "rows/calls/padded_parameters.hpp"
#include "rows/calls/tile_buffer.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace nlsq::inline v0 {

namespace {

constexpr double kVectorCallCost = 50;     // assumed cost of one residual's share of a call, in additions
constexpr double kExtrapolatedCalls = 10;  // calls for one derivative, as measured on smooth functions (5
                                           // steps)
// Number of evaluations that are kept, beside that of the start and the best one. A fit returns to these
// points.
constexpr std::size_t kRecent = 3;
constexpr std::size_t kLarge = 1u << 22;  // numbers; of larger evaluations only the latest is kept

double squares_of(std::span<const double> residuals) {
  double sum = 0;
  for (const double r : residuals) sum += r * r;
  return sum;
}

void check_size(std::size_t got, std::size_t wanted) {
  if (got != wanted) {
    throw ValidationError("the residual function gave " + std::to_string(got) + " residuals, and " +
                          std::to_string(wanted) + " when it was called first");
  }
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
  start_at_ = start->x;
  start->residuals = value_at(parameters_);
  start->squares = squares_of(start->residuals);
  rows_ = start->residuals.size();
  start_ = start;
  keep(std::move(start));
  const std::vector<RowComponent> whole{{{}, rows_}};
  const std::vector<RowComponent>& parts = components_.empty() ? whole : components_;
  for (std::size_t c = 0, first = 0; c < parts.size(); first += parts[c++].rows) {
    for (std::size_t i = 0; i < parts[c].rows; i += tile_rows()) {
      tiles_.push_back({first + i, std::min(tile_rows(), parts[c].rows - i)});
      tile_component_.push_back(c);
    }
  }
  set_typical(typical_sizes(parameters_));
  step_shares_.assign(free_.size(), 1.0);
  shortened_in_vain_.assign(free_.size(), false);
}

void VectorRows::set_typical(std::span<const double> sizes) {
  typical_.clear();
  for (const int j : free_) typical_.push_back(sizes[static_cast<std::size_t>(j)]);
  without_size_.clear();
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const double p = parameters_[static_cast<std::size_t>(free_[k])];
    without_size_.push_back(p == 0 ? typical_[k] == 1 : typical_[k] < 1 && typical_[k] <= std::fabs(p));
  }
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

std::vector<double> VectorRows::value_at(std::span<const double> p) const {
  return function_.value(PaddedParameters(p).parameters());
}

std::vector<double> VectorRows::residuals_at(std::span<const double> p) const {
  std::vector<double> residuals = value_at(p);
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

bool VectorRows::large() const { return rows() * (free_.size() + 1) > kLarge; }

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
  start_.reset();
  return true;
}

double VectorRows::difference_width(std::span<const double> x, std::size_t j) const {
  if (jacobian_ || function_.dual || by_ridders()) return 0;
  const std::lock_guard lock(mutex_);
  const auto k = static_cast<std::size_t>(free_[j]);
  const DifferenceStep between(x[j], typical_[j], lower_.empty() ? -kNoBound : lower_[k],
                               upper_.empty() ? kNoBound : upper_[k], step_shares_[j]);
  return std::fabs(between.above - between.below);
}

std::vector<double> VectorRows::derivative_errors(std::span<const double> x) const {
  if (!by_ridders()) return {};
  const std::lock_guard lock(mutex_);
  for (const auto& one : recent_)
    if (!one->derivatives.empty() && std::ranges::equal(one->x, x)) return one->errors;
  return {};
}

std::vector<double> VectorRows::apparent_errors(std::span<const double> x) const {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const Evaluation>& latest = recent_.front();
  std::vector<double> squares(free_.size(), kNoBound);
  if (latest->bends.empty() || !std::ranges::equal(latest->x, x)) return squares;
  for (std::size_t k = 0; k < squares.size(); ++k) {
    const DifferenceStep step(x[k], typical_[k], -kNoBound, kNoBound, step_shares_[k]);
    const double rounding = std::numeric_limits<double>::epsilon() / (step.above - step.below);
    // A bend is the second difference of the values, divided by the width of the step. If there are few
    // values, and a step changes only their last digits, second differences may happen to be 0.
    squares[k] = std::max(squares_of(latest->bends[k]) / 3, rounding * rounding * latest->squares);
  }
  return squares;
}

// Runs one evaluation at a time. Threads that need the same x wait for it and share it. With `anew`, central
// differences replace derivatives that were one-sided, because the fit has returned to this x.
std::shared_ptr<const VectorRows::Evaluation> VectorRows::evaluate(std::span<const double> x,
                                                                   bool derivatives, bool anew) const {
  const std::lock_guard lock(mutex_);
  const auto is_here = [&](const auto& one) { return std::ranges::equal(one->x, x); };
  const auto recent = std::ranges::find_if(recent_, is_here);
  std::shared_ptr<const Evaluation> known;
  if (recent != recent_.end()) {
    known = *recent;
    recent_.erase(recent);
  } else if (start_ && is_here(start_)) {
    known = start_;
  }
  const bool enough =
      known && (!derivatives || (known->derivatives.size() == free_.size() && !(anew && known->one_sided)));
  if (enough) {
    keep(known);
    return known;
  }
  auto result = std::make_shared<Evaluation>();
  result->x.assign(x.begin(), x.end());
  const std::vector<double> p = expand(x);
  const bool referred = !known && !reference_.empty() && std::ranges::equal(reference_at_, x);
  result->residuals = known ? known->residuals : referred ? reference_ : residuals_at(p);
  result->squares = squares_of(result->residuals);
  if (derivatives) {
    const bool again = known && !known->derivatives.empty();
    const bool by_steps = !jacobian_ && !function_.dual && !by_ridders();
    result->one_sided = by_steps && !again && far(x);
    result->derivatives.assign(free_.size(), std::vector<double>(rows()));
    if (jacobian_) by_jacobian(p, *result);
    else if (function_.dual) by_dual(p, *result);
    else if (by_ridders()) by_extrapolation(p, *result);
    else if (again || result->one_sided || !(as_beside(*result) || by_bends(p, *result)))
      by_differences(p, *result);
  }
  if (start_ && is_here(start_)) start_ = result;
  keep(result);
  return result;
}

// Keeps an evaluation as the latest one. The best one with derivatives is never dropped, because the checks
// at the end of a fit evaluate other points and then need its derivatives once more.
void VectorRows::keep(std::shared_ptr<const Evaluation> latest) const {
  recent_.insert(recent_.begin(), std::move(latest));
  if (large()) {
    start_.reset();
    recent_.resize(1);
    return;
  }
  if (recent_.size() <= kRecent + 1) return;
  const auto worth = [](const auto& one) { return one->derivatives.empty() ? kNoBound : one->squares; };
  const auto best = std::ranges::min_element(recent_, {}, worth);
  recent_.erase(best + 1 == recent_.end() ? best - 1 : recent_.end() - 1);
}

void VectorRows::prepare(std::span<const double> x, Fill fill) const {
  evaluate(x, fill == Fill::jacobian_and_residual, true);
}

std::unique_ptr<TilePass> VectorRows::begin(std::span<const double> x, Fill fill, bool single) const {
  if (single) throw ValidationError("rows by calls of the user's code are evaluated in f64 only");
  const bool derivatives = fill == Fill::jacobian_and_residual;
  std::shared_ptr<const Evaluation> at = evaluate(x, derivatives);
  std::vector<const double*> columns;
  for (std::size_t k = 0; derivatives && k < at->derivatives.size(); ++k)
    columns.push_back(at->derivatives[k].data());
  columns.push_back(at->residuals.data());
  return std::make_unique<CopyPass>(std::move(at), std::move(columns), tile_rows(), parameters());
}

std::vector<double> response_sizes(const RowSource& data, int y, bool weighted) {
  std::vector<double> sizes(data.rows()), sigma(data.rows(), 1.0);
  data.read(0, sizes.size(), y, sizes.data());
  if (weighted) data.read(0, sizes.size(), y + 1, sigma.data());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::fabs(sizes[i]) / sigma[i];
  return sizes;
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
