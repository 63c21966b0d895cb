// Rank, covariance and step from R⁻¹ where R is clearly regular, else from singular values.
#include "linear/determined_subspace.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/small_dense.hpp"
#include "linear/small_svd.hpp"
#include "linear/wide_factor.hpp"

#include "program/local_buffer.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kFew = 16;  // up to this many parameters nothing is allocated

// Singular values below this share of the largest are rounding. A column computed to a few units in the last
// place cannot show a smaller angle to the others.
double rank_tolerance(std::size_t n) { return 64 * kUnitRoundoff * std::sqrt(static_cast<double>(n)); }

// An error of R moves its singular values by at most its norm.
std::size_t rank_of(const double* values, std::size_t n, double error) {
  std::size_t rank = 0;
  while (rank < n && values[rank] > std::max(rank_tolerance(n) * values[0], error)) ++rank;
  return rank;
}

void set_condition(Certificate& c, std::size_t n, double ratio, bool qr) {
  c.qr = qr;
  c.condition = c.rank == static_cast<int>(n) ? ratio * ratio : std::numeric_limits<double>::infinity();
  c.covariance_error = static_cast<double>(n) * kUnitRoundoff * (qr ? ratio : ratio * ratio);
}

// The largest singular value of T or of its inverse, by power iteration. apply(v, out) computes T v or T⁻¹v,
// and adjoint(v, out) the same for Tᵀ.
template <class Apply, class Adjoint>
double largest_by_power(std::size_t n, Apply apply, Adjoint adjoint) {
  constexpr int kRounds = 30;
  std::vector<double> u(n), v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 1 + static_cast<double>(i) / static_cast<double>(n);
  double largest = 0, length = dense::norm(v.data(), n);
  for (int round = 0; round < kRounds && length > 0; ++round) {
    for (double& entry : v) entry /= length;
    apply(v.data(), u.data());
    largest = std::max(largest, dense::norm(u.data(), n));
    adjoint(u.data(), v.data());
    length = dense::norm(v.data(), n);
  }
  return largest;
}

// σ_max / σ_min of an upper triangle, never too large.
double triangle_condition(const double* R, std::size_t n) {
  const auto solved = [n](auto solve) {
    return [n, solve](const double* v, double* out) {
      std::copy_n(v, n, out);
      solve(out);
    };
  };
  const double largest = largest_by_power(
      n, [&](const double* v, double* out) { dense::multiply_upper(R, n, v, out); },
      [&](const double* v, double* out) { dense::multiply_upper_transposed(R, n, v, out); });
  const double inverse =
      largest_by_power(n, solved([&](double* v) { dense::solve_upper(R, n, v); }),
                       solved([&](double* v) { dense::solve_upper_transposed(R, n, n, v); }));
  return largest * inverse;
}

// For many parameters that are clearly determined: computes everything from R⁻¹, at a tenth of the cost of
// singular values. Returns false and destroys nothing if its bound of κ(R) is too large to be sure.
bool by_inverse(const ScaledTriangle& triangle, Certified& out) {
  const std::size_t n = triangle.scale.size();
  for (std::size_t j = 0; j < n; ++j) {
    if (!(std::fabs(triangle.R[j * n + j]) > 0)) return false;
  }
  const Parallelism one{1, {}};
  const Parallelism& threads = triangle.threads != nullptr ? *triangle.threads : one;
  std::vector<double> rows(n * n);  // the rows of R⁻¹, one after the other
  invert_wide(triangle.R, n, rows.data(), threads);
  // ‖R‖ ‖R⁻¹‖ in the Frobenius norm is at least κ(R).
  const double most = dense::norm(triangle.R, n * n) * dense::norm(rows.data(), n * n);
  if (!(most * std::max(rank_tolerance(n), triangle.error) < 0.1)) return false;

  const double ratio = triangle_condition(triangle.R, n);
  Certificate& c = out.certificate;
  c.rank = static_cast<int>(n);
  set_condition(c, n, ratio, triangle.qr);
  c.decrement_sigma = dense::norm(triangle.z, n);
  dense::multiply_transposed(rows.data(), n, triangle.z, out.step.data());
  for (std::size_t i = 0; i < n; ++i) {
    out.step[i] = -out.step[i] / triangle.scale[i];
    for (std::size_t k = 0; k < n; ++k) rows[i * n + k] /= triangle.scale[i];
  }
  out.covariance.assign(n, n, 0.0);
  square_wide(rows.data(), n, out.covariance.data(), threads);
  return true;
}

// A parameter counts as determined if its part in the null directions is negligible.
void by_singular_values(const ScaledTriangle& triangle, Certified& out) {
  const std::size_t n = triangle.scale.size();
  LocalBuffer<double, kFew> sv(n), projected(n);
  LocalBuffer<double, kFew * kFew> V(n * n);
  small_svd(triangle.R, n, triangle.z, sv.data(), V.data(), projected.data());
  const std::size_t rank = rank_of(sv.data(), n, triangle.error);

  Certificate& c = out.certificate;
  c.rank = static_cast<int>(rank);
  set_condition(c, n, rank > 0 ? sv[0] / sv[rank - 1] : 1, triangle.qr);
  c.decrement_sigma = small_dense::norm(projected.data(), rank);

  LocalBuffer<bool, kFew> determined(n);
  for (std::size_t j = 0; j < n; ++j) {
    double null_squares = 0, step = 0;
    for (std::size_t k = rank; k < n; ++k) null_squares += V[k * n + j] * V[k * n + j];
    const double null_part = std::sqrt(null_squares);
    determined[j] = null_part < 1e-6;
    if (null_part > 0.05) c.confounded.push_back(static_cast<int>(j));
    for (std::size_t k = 0; k < rank; ++k) {
      V[k * n + j] /= sv[k];
      step -= V[k * n + j] * projected[k];
    }
    out.step[j] = step / triangle.scale[j];
  }
  out.covariance.assign(n, n, kNaN);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (!determined[i] || !determined[j]) continue;
      double sum = 0;
      for (std::size_t k = 0; k < rank; ++k) sum += V[k * n + i] * V[k * n + j];
      out.covariance(i, j) = out.covariance(j, i) = sum / (triangle.scale[i] * triangle.scale[j]);
    }
  }
}

}  // namespace

void analyse(const ScaledTriangle& triangle, Certified& out) {
  if (triangle.scale.size() > small_dense::kMost && by_inverse(triangle, out)) return;
  by_singular_values(triangle, out);
}

double normal_condition(const ScaledTriangle& triangle) {
  const double ratio = triangle_condition(triangle.R, triangle.scale.size());
  return ratio * ratio;
}

std::size_t numerical_rank(const ScaledTriangle& triangle) {
  const std::size_t n = triangle.scale.size();
  LocalBuffer<double, kFew> sv(n), projected(n);
  LocalBuffer<double, kFew * kFew> V(n * n);
  small_svd(triangle.R, n, triangle.z, sv.data(), V.data(), projected.data());
  return rank_of(sv.data(), n, triangle.error);
}

}  // namespace nlsq::inline v0
