// Decides which linear parameters to eliminate, and computes the damping weights and the optimal linear
// parameters.
#include "minimizer/variable_projection.hpp"

#include "dense/dense_algebra.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// A column depends on others if sin² of its angle to their span is below this.
constexpr double kDependent = 1e-10, kDependentInF32 = 1e-6;

// Elimination is worth it if some column of A lies within 8° of the span of Φ at the first point (sin² <=
// 0.02). There the optimal linear parameters move with the others, and steps that damp them follow a curved
// valley. Where A is nearly orthogonal to Φ (such as the centre of a peak beside its height), elimination
// gains nothing. It also adds minima that attract the iteration: a peak that starts far away may shrink to a
// single row. The counted work relative to the whole problem, as a geometric mean, was 0.66 on NIST's 50
// runs, 0.65 on 300 around them, 0.74 on 589 drawn problems. 523 of the drawn problems end in the lower
// minimum; 522 do so without elimination, and 506 if linear parameters are always eliminated
// (tests/accuracy/test_variable_projection.cpp --no-skip).
constexpr double kNear = 0.02;
// Elimination does not pay where the linear parameters are a smaller share of all parameters than this. The
// output weights of a neural network are few. When its neurons become alike, these weights are hardly
// determined; their undamped steps leave the range of the linear model, and one trial after another is
// rejected.
constexpr double kLeastShare = 0.125;

}  // namespace

void Projection::offer(std::span<const int> linear, const Box& box, VariableProjection wish) {
  wish_ = wish;
  decided_ = needs_f64_ = false;
  offered_.clear();
  unbounded_.clear();
  linear_.clear();
  if (wish == VariableProjection::off) return;
  offered_.assign(linear.begin(), linear.end());
  for (const int j : linear) {
    const auto k = static_cast<std::size_t>(j);
    if (box.empty() || (std::isinf(box.lower[k]) && std::isinf(box.upper[k]))) unbounded_.push_back(j);
  }
  linear_ = unbounded_;
}

void Projection::decide_again() {
  decided_ = needs_f64_ = false;
  linear_ = unbounded_;
}

// Computes out = L⁻¹Φᵀa/‖a‖ by the first `count` rows of L, where a is the column. Returns sin² of the angle
// between a and the span of those φ.
double Projection::project(const Linearization& at, std::size_t column, std::size_t count,
                           double* out) const {
  const double squares = at.normal(column, column);
  if (!(squares > 0)) return 0;
  const double inverse = 1 / std::sqrt(squares);
  double inside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double* row = &factor_[i * stride_];
    const double cosine =
        at.normal(static_cast<std::size_t>(linear_[i]), column) * inverse_scale_[i] * inverse;
    out[i] = (cosine - dense::dot(row, out, i)) / row[i];
    inside += out[i] * out[i];
  }
  return 1 - inside;
}

// Computes the Cholesky factor of the scaled ΦᵀΦ. Returns false if a column depends on those before it, or if
// a 16-bit J has too few digits to decide this. In f64, `drop_dependent` drops such columns instead.
bool Projection::factor(const Linearization& at, bool drop_dependent) {
  const Format jacobian = formats_of(at.plan).jacobian;
  if (info(jacobian).bytes == 2) return false;
  dependent_ = jacobian == Format::f64 ? kDependent : kDependentInF32;
  drop_dependent = drop_dependent && jacobian == Format::f64;
  stride_ = linear_.size();
  factor_.resize(stride_ * stride_);
  inverse_scale_.resize(stride_);
  for (std::size_t i = 0; i < linear_.size();) {
    const auto j = static_cast<std::size_t>(linear_[i]);
    const double rest = project(at, j, i, &factor_[i * stride_]);
    if (rest > dependent_) {
      factor_[i * stride_ + i] = std::sqrt(rest);
      inverse_scale_[i] = 1 / std::sqrt(at.normal(j, j));
      ++i;
    } else if (drop_dependent) {
      linear_.erase(linear_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      return false;
    }
  }
  return true;
}

bool Projection::worth_it(const Linearization& at) const {
  const std::size_t n = at.gradient.size();
  bool near = false;
  for (std::size_t j = 0; j < n; ++j) {
    if (std::ranges::find(offered_, static_cast<int>(j)) != offered_.end()) continue;
    near = near || (at.normal(j, j) > 0 && weights_[j] <= kNear);
  }
  const bool many = static_cast<double>(linear_.size()) >= kLeastShare * static_cast<double>(n);
  return (near && many) || wish_ == VariableProjection::on;
}

std::span<const double> Projection::weigh_damping(const Linearization& at) {
  const std::size_t n = at.gradient.size();
  if (offered_.size() >= n) linear_.clear();  // otherwise no parameter would be left to iterate
  if (linear_.empty()) return {};
  if (!factor(at, !decided_)) {
    // If parameters were eliminated later, the iteration would switch to another path half-way.
    if (!decided_ && wish_ == VariableProjection::automatic) {
      linear_.clear();
      needs_f64_ = true;
    }
    return {};
  }
  weights_.assign(n, 1.0);
  column_.resize(stride_);
  for (std::size_t j = 0; j < n; ++j) {
    const double rest = project(at, j, linear_.size(), column_.data());
    if (rest > dependent_) weights_[j] = rest;
  }
  for (const int j : linear_) weights_[static_cast<std::size_t>(j)] = 0;
  if (!decided_ && !worth_it(at)) linear_.clear();
  decided_ = true;
  return linear_.empty() ? std::span<const double>() : weights_;
}

double Projection::solve(const Linearization& at, Vector& x) {
  if (!factor(at, false)) return 0;
  const std::size_t k = linear_.size();
  column_.resize(stride_);
  for (std::size_t i = 0; i < k; ++i) {
    const double* row = &factor_[i * stride_];
    const double slope = at.gradient[static_cast<std::size_t>(linear_[i])] * inverse_scale_[i];
    column_[i] = (slope - dense::dot(row, column_.data(), i)) / row[i];
  }
  const double gain = 0.5 * dense::dot(column_.data(), column_.data(), k);
  if (!std::isfinite(gain)) return 0;
  for (std::size_t i = k; i-- > 0;) {  // multiplies by Lᵀ⁻¹, column by column
    const double* row = &factor_[i * stride_];
    column_[i] /= row[i];
    for (std::size_t j = 0; j < i; ++j) column_[j] -= column_[i] * row[j];
    x[static_cast<std::size_t>(linear_[i])] -= column_[i] * inverse_scale_[i];
  }
  return gain;
}

}  // namespace nlsq::inline v0
