// Computes derivatives of one residual block by dual numbers, the user's derivatives or differences. Also
// defines what a BlockFunction does if it is asked for an evaluation that it does not offer.
#include "blocks/block_reference.hpp"

#include "rows/calls/difference_step.hpp"

#include <nlsq/block_function.hpp>

#include <algorithm>
#include <stdexcept>

namespace nlsq::inline v0 {

namespace {

template <class T>
const T* const* pointers(std::vector<const T*>& blocks, const T* x, const std::vector<int>& starts) {
  blocks.resize(starts.size() - 1);
  for (std::size_t k = 0; k < blocks.size(); ++k) blocks[k] = x + starts[k];
  return blocks.data();
}

}  // namespace

BlockCaller::BlockCaller(std::span<const int> sizes) : starts_{0} {
  for (const int size : sizes) starts_.push_back(starts_.back() + size);
}

bool BlockCaller::value(const BlockFunction& function, const double* x, double* residuals) {
  return function.value(pointers(plain_, x, starts_), residuals);
}

bool BlockCaller::trace(const BlockFunction& function, const Traced* x, Traced* residuals) {
  return function.trace(pointers(traced_, x, starts_), residuals);
}

bool BlockCaller::derivatives(const BlockFunction& function, const double* x, double* residuals, double* J,
                              std::span<const double> shares, std::span<const double> least_sizes) {
  switch (function.derivatives_by()) {
    case BlockFunction::Derivatives::traced:
    case BlockFunction::Derivatives::dual: return by_dual(function, x, residuals, J);
    case BlockFunction::Derivatives::traced_own:
    case BlockFunction::Derivatives::own: return by_own(function, x, residuals, J);
    default: return by_differences(function, x, residuals, J, shares, least_sizes);
  }
}

bool BlockCaller::by_dual(const BlockFunction& function, const double* x, double* residuals, double* J) {
  const auto rows = static_cast<std::size_t>(function.residuals());
  const std::size_t n = inputs();
  results_.resize(rows);
  seeded_.assign(x, x + n);
  for (std::size_t first = 0; first < std::max<std::size_t>(n, 1); first += kDualWidth) {
    const std::size_t end = std::min(n, first + kDualWidth);
    for (std::size_t j = first; j < end; ++j) seeded_[j] = Dual8(x[j], static_cast<int>(j - first));
    if (!function.dual(pointers(dual_, seeded_.data(), starts_), results_.data())) return false;
    for (std::size_t i = 0; i < rows; ++i) {
      residuals[i] = results_[i].value();
      for (std::size_t j = first; j < end; ++j)
        J[i * n + j] = results_[i].derivative(static_cast<int>(j - first));
    }
    for (std::size_t j = first; j < end; ++j) seeded_[j] = Dual8(x[j]);
  }
  return true;
}

bool BlockCaller::evaluate_own(const BlockFunction& function, const double* const* blocks,
                               double* residuals) {
  const auto rows = static_cast<std::size_t>(function.residuals());
  own_.assign(rows * inputs(), 0);
  own_blocks_.clear();
  for (std::size_t k = 0; k + 1 < starts_.size(); ++k)
    own_blocks_.push_back(own_.data() + rows * static_cast<std::size_t>(starts_[k]));
  return function.derivatives(blocks, residuals, own_blocks_.data());
}

bool BlockCaller::by_own(const BlockFunction& function, const double* x, double* residuals, double* J) {
  if (!evaluate_own(function, pointers(plain_, x, starts_), residuals)) return false;
  for (std::size_t k = 0; k < own_blocks_.size(); ++k) {
    const auto first = static_cast<std::size_t>(starts_[k]),
               size = static_cast<std::size_t>(starts_[k + 1]) - first;
    for (std::size_t i = 0; i < static_cast<std::size_t>(function.residuals()); ++i)
      std::copy_n(own_blocks_[k] + i * size, size, J + i * inputs() + first);
  }
  return true;
}

bool BlockCaller::by_differences(const BlockFunction& function, const double* x, double* residuals, double* J,
                                 std::span<const double> shares, std::span<const double> least_sizes) {
  const auto rows = static_cast<std::size_t>(function.residuals());
  const std::size_t n = inputs();
  if (!value(function, x, residuals)) return false;
  moved_.assign(x, x + n);
  above_.resize(rows);
  below_.resize(rows);
  const auto at = [&](std::size_t j, double place, std::vector<double>& out) {
    moved_[j] = place;
    if (!value(function, moved_.data(), out.data()))
      out.assign(rows, std::numeric_limits<double>::quiet_NaN());
    moved_[j] = x[j];
  };
  for (std::size_t j = 0; j < n; ++j) {
    const double size = size_of_number(x[j], least_sizes.empty() ? 0 : least_sizes[j]);
    const DifferenceStep step(x[j], size, -kNoBound, kNoBound, shares.empty() ? 1 : shares[j]);
    at(j, step.above, above_);
    at(j, step.below, below_);
    for (std::size_t i = 0; i < rows; ++i)
      J[i * n + j] = step.slope(x[j], above_[i], residuals[i], below_[i]);
  }
  return true;
}

bool BlockCaller::extrapolated(const BlockFunction& function, const double* x, double* residuals, double* J,
                               std::span<const double> first, double* errors) {
  const auto rows = static_cast<std::size_t>(function.residuals());
  const std::size_t n = inputs();
  if (!value(function, x, residuals)) return false;
  moved_.assign(x, x + n);
  for (std::size_t j = 0; j < n; ++j) {
    const auto values = [&](double place) {
      std::vector<double> there(rows);
      moved_[j] = place;
      if (!value(function, moved_.data(), there.data()))
        there.assign(rows, std::numeric_limits<double>::quiet_NaN());
      moved_[j] = x[j];
      return there;
    };
    const ExtrapolatedSlopes found = extrapolated_slopes(values, {residuals, rows}, x[j], first[j]);
    for (std::size_t i = 0; i < rows; ++i) {
      J[i * n + j] = found.slope[i];
      errors[i * n + j] = found.error[i];
    }
  }
  return true;
}

BlockFunction::~BlockFunction() = default;

// The defaults of these evaluations throw, because the function does not offer them.
bool BlockFunction::trace(const Traced* const*, Traced*) const {
  throw std::logic_error("this residual function is not recorded");
}
bool BlockFunction::dual(const Dual8* const*, Dual8*) const {
  throw std::logic_error("this residual function takes no dual numbers");
}
bool BlockFunction::derivatives(const double* const*, double*, double* const*) const {
  throw std::logic_error("this residual function has no derivatives of its own");
}

}  // namespace nlsq::inline v0
