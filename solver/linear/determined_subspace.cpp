// Computes rank, covariance and step: from R⁻¹ where R is clearly regular, from a pivoted factor where its
// rank is clear, and otherwise from singular values.
#include "linear/determined_subspace.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/small_dense.hpp"
#include "linear/small_svd.hpp"
#include "linear/wide_factor.hpp"

#include "program/local_buffer.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kFew = 16;         // up to this many parameters nothing is allocated
constexpr std::size_t kFewSingular = 8;  // up to this many, singular values take the least time
// A parameter counts as determined by the data if the part of its unit vector that lies in the null
// directions is shorter than this.
constexpr double kNegligiblePart = 1e-6;

// Returns the number of singular values above rounding and above the error of R, which changes them by at
// most its norm.
std::size_t rank_of(const double* values, std::size_t n, double error) {
  std::size_t rank = 0;
  while (rank < n && values[rank] > std::max(rank_tolerance(n) * values[0], error)) ++rank;
  return rank;
}

void set_condition(Certificate& c, std::size_t n, double ratio, bool qr) {
  c.qr = qr;
  c.condition = c.rank == static_cast<int>(n) ? ratio * ratio : kInfinity;
  c.covariance_error = static_cast<double>(n) * kUnitRoundoff * (qr ? ratio : ratio * ratio);
}

// Returns the largest singular value of T or of its inverse, by power iteration. apply(v, out) computes T v
// or T⁻¹v, and adjoint(v, out) the same for Tᵀ.
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

// Returns σ_max of an upper triangle.
double largest_value(const double* R, std::size_t n) {
  return largest_by_power(
      n, [&](const double* v, double* out) { dense::multiply_upper(R, n, v, out); },
      [&](const double* v, double* out) { dense::multiply_upper_transposed(R, n, v, out); });
}

// Returns σ_max / σ_min of an upper triangle, never too large.
double triangle_condition(const double* R, std::size_t n) {
  const auto solved = [n](auto solve) {
    return [n, solve](const double* v, double* out) {
      std::copy_n(v, n, out);
      solve(out);
    };
  };
  const double inverse =
      largest_by_power(n, solved([&](double* v) { dense::solve_upper(R, n, v); }),
                       solved([&](double* v) { dense::solve_upper_transposed(R, n, n, v); }));
  return largest_value(R, n) * inverse;
}

Parallelism threads_of(const ScaledTriangle& triangle) {
  return triangle.threads != nullptr ? *triangle.threads : Parallelism{1, {}};
}

// For many parameters that are clearly determined: computes everything from R⁻¹, in a tenth of the time that
// singular values take. If its bound of κ(R) is too large to be sure, returns false and changes nothing.
bool by_inverse(const ScaledTriangle& triangle, Certified& out) {
  const std::size_t n = triangle.scale.size();
  constexpr double kSure = 0.1;
  // ‖R‖ ‖R⁻¹‖ in the Frobenius norm is at least κ(R), and ‖R⁻¹‖ is at least 1 over each entry of the
  // diagonal.
  const double size = dense::norm(triangle.R, n * n), tolerance = std::max(rank_tolerance(n), triangle.error);
  for (std::size_t j = 0; j < n; ++j) {
    if (!(kSure * std::fabs(triangle.R[j * n + j]) > size * tolerance)) return false;
  }
  const Parallelism threads = threads_of(triangle);
  std::vector<double> rows(n * n);  // the rows of R⁻¹, one after the other
  invert_wide(triangle.R, n, rows.data(), threads);
  if (!(size * dense::norm(rows.data(), n * n) * tolerance < kSure)) return false;

  const double ratio = triangle_condition(triangle.R, n);
  Certificate& c = out.certificate;
  c.rank = static_cast<int>(n);
  set_condition(c, n, ratio, triangle.qr);
  c.decrement_sigma = dense::norm(triangle.z, n);
  dense::multiply_transposed(rows.data(), n, triangle.z, out.step.data());
  for (std::size_t i = 0; i < n; ++i) out.step[i] = -out.step[i] / triangle.scale[i];
  if (!triangle.covariance) return true;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) rows[i * n + k] /= triangle.scale[i];
  }
  out.covariance.assign(n, n, 0.0);
  square_wide(rows.data(), n, out.covariance.data(), threads);
  return true;
}

// This is a triangle R whose columns were exchanged so that its diagonal decreases, cut off after its rank r,
// because the rows below are rounding errors. Its null space is spanned by the columns of N = [-R₁₁⁻¹R₁₂; 1].
struct CutTriangle {
  std::size_t n = 0, rank = 0;
  std::vector<std::size_t> order;  // row k of everything here belongs to column order[k] of the triangle
  std::vector<double> z;           // Qᵀz
  double largest = 0;              // singular value
  double left_out = 0;             // norm of what is cut off: no singular value beyond the rank is larger
  std::vector<double> inverse;     // rows of [R₁₁⁻¹; 0], each n long
  std::vector<double> N, factor;   // rows of N; L of NᵀN = LLᵀ, by columns

  std::size_t nullity() const { return n - rank; }
  double* null_row(std::size_t k) { return &N[k * nullity()]; }
};

// Cuts R at the first entry of its diagonal that is not above `least`. The columns of R are in the order of
// out.order. Returns true if the rank is then beyond doubt: what is cut off is well below `least`, and the
// rest is well above it.
bool cut_here(std::span<const double> R, double least, const Parallelism& threads, CutTriangle& out) {
  constexpr double kMargin = 2;
  const std::size_t n = out.n;
  out.rank = 0;
  while (out.rank < n && std::fabs(R[out.rank * n + out.rank]) > least) ++out.rank;
  const std::size_t r = out.rank, nullity = out.nullity();
  double squares = 0;
  for (std::size_t k = r; k < n; ++k) {
    const double size = dense::norm(&R[k * n + r], k - r + 1);
    squares += size * size;
  }
  out.left_out = std::sqrt(squares);
  if (r == 0 || !(kMargin * out.left_out < least)) return false;

  std::vector<double> R11(r * r, 0.0), rows(r * r);
  for (std::size_t k = 0; k < r; ++k) std::copy_n(&R[k * n], k + 1, &R11[k * r]);
  invert_wide(R11.data(), r, rows.data(), threads);
  if (!(kMargin * least * dense::norm(rows.data(), r * r) < 1)) return false;
  out.inverse.assign(n * n, 0.0);
  for (std::size_t k = 0; k < r; ++k) std::copy_n(&rows[k * r], r, &out.inverse[k * n]);
  out.N.assign(n * nullity, 0.0);
  for (std::size_t c = 0; c < nullity; ++c) {
    out.null_row(r + c)[c] = 1;
    for (std::size_t k = 0; k < r; ++k) out.null_row(k)[c] = -dense::dot(&rows[k * r], &R[(r + c) * n], r);
  }
  return true;
}

// Cuts R with its columns as they are, or with pivoted columns if the rank would be in doubt. Returns false
// if it is in doubt with these, too. The triangle does not change.
bool cut(const ScaledTriangle& triangle, CutTriangle& out) {
  const Parallelism threads = threads_of(triangle);
  const std::size_t n = triangle.scale.size();
  std::vector<double> R(triangle.R, triangle.R + n * n);
  out.n = n;
  out.order.resize(n);
  std::iota(out.order.begin(), out.order.end(), std::size_t{0});
  out.z.assign(triangle.z, triangle.z + n);
  out.largest = largest_value(triangle.R, n);
  const double least = std::max(rank_tolerance(n) * out.largest, triangle.error);
  if (!cut_here(R, least, threads, out)) {
    dense::pivoted_qr(R.data(), n, n, out.order.data(), out.z.data());
    if (!cut_here(R, least, threads, out)) return false;
  }
  const std::size_t nullity = out.nullity();
  out.factor.assign(nullity * nullity, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t c = 0; c < nullity; ++c) {
      for (std::size_t d = c; d < nullity; ++d)
        out.factor[c * nullity + d] += out.null_row(k)[c] * out.null_row(k)[d];
    }
  }
  return nullity == 0 || dense::cholesky(out.factor.data(), nullity);
}

// Subtracts from each column of X the part that lies in the null space: X -= N (NᵀN)⁻¹ Nᵀ X. X has n rows of
// `columns` numbers.
void remove_null_part(CutTriangle& from, double* X, std::size_t columns) {
  const std::size_t nullity = from.nullity();
  std::vector<double> along(nullity * columns, 0.0);  // by columns of X
  for (std::size_t k = 0; k < from.n; ++k) {
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t d = 0; d < nullity; ++d)
        along[c * nullity + d] += X[k * columns + c] * from.null_row(k)[d];
    }
  }
  dense::solve_lower(from.factor.data(), nullity, along.data(), columns);
  dense::solve_lower_transposed(from.factor.data(), nullity, along.data(), columns);
  for (std::size_t k = 0; k < from.n; ++k) {
    for (std::size_t c = 0; c < columns; ++c)
      X[k * columns + c] -= dense::dot(from.null_row(k), &along[c * nullity], nullity);
  }
}

// For many parameters if the data clearly do not determine all of them. Computes everything from the
// pseudo-inverse by two factorisations, which takes a small part of the time that singular values take.
// Returns false if the rank is in doubt. The triangle does not change.
bool by_cut_triangle(const ScaledTriangle& triangle, Certified& out) {
  CutTriangle part;
  if (!cut(triangle, part)) return false;
  const std::size_t n = part.n, nullity = part.nullity();
  std::vector<double> step(n);
  for (std::size_t k = 0; k < n; ++k) step[k] = -dense::dot(&part.inverse[k * n], part.z.data(), part.rank);
  std::vector<double> null_parts(n, 0.0), along(nullity);
  if (nullity > 0) {
    for (std::size_t k = 0; k < n; ++k) {
      std::copy_n(part.null_row(k), nullity, along.data());
      dense::solve_lower(part.factor.data(), nullity, along.data());
      null_parts[k] = dense::norm(along.data(), nullity);
    }
    remove_null_part(part, step.data(), 1);
    remove_null_part(part, part.inverse.data(), n);
  }
  std::vector<double> by_columns(n * n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t c = 0; c < n; ++c) by_columns[c * n + k] = part.inverse[k * n + c];
  }
  const double of_inverse = largest_by_power(
      n, [&](const double* v, double* u) { dense::multiply_transposed(part.inverse.data(), n, v, u); },
      [&](const double* v, double* u) { dense::multiply_transposed(by_columns.data(), n, v, u); });
  Certificate& c = out.certificate;
  c.rank = static_cast<int>(part.rank);
  out.rank_margin = rank_tolerance(n) / part.left_out;  // the largest singular value is at least 1
  set_condition(c, n, part.largest * of_inverse, triangle.qr);
  c.decrement_sigma = dense::norm(part.z.data(), part.rank);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t j = part.order[k];
    if (null_parts[k] > kConfounded) c.confounded.push_back(static_cast<int>(j));
    out.step[j] = step[k] / triangle.scale[j];
  }
  std::ranges::sort(c.confounded);
  if (!triangle.covariance) return true;
  out.covariance.assign(n, n, kNaN);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t j = part.order[k];
    for (std::size_t m = 0; m <= k && null_parts[k] < kNegligiblePart; ++m) {
      if (!(null_parts[m] < kNegligiblePart)) continue;
      const std::size_t i = part.order[m];
      out.covariance(i, j) = out.covariance(j, i) =
          dense::dot(&part.inverse[k * n], &part.inverse[m * n], part.rank) /
          (triangle.scale[i] * triangle.scale[j]);
    }
  }
  return true;
}

// Returns true if the last entry of the diagonal is a rounding error. It is one if J lacks full rank and
// columns were pivoted.
bool ends_in_rounding(const ScaledTriangle& triangle) {
  const std::size_t n = triangle.scale.size();
  return std::fabs(triangle.R[n * n - 1]) <= rank_tolerance(n);
}

// Computes everything from singular values. A parameter counts as determined if its part in the null
// directions is negligible.
void by_singular_values(const ScaledTriangle& triangle, Certified& out) {
  const std::size_t n = triangle.scale.size();
  LocalBuffer<double, kFew> sv(n), projected(n);
  LocalBuffer<double, kFew * kFew> V(n * n);
  small_svd(triangle.R, n, triangle.z, sv.data(), V.data(), projected.data());
  const std::size_t rank = rank_of(sv.data(), n, triangle.error);

  Certificate& c = out.certificate;
  c.rank = static_cast<int>(rank);
  if (rank < n) out.rank_margin = rank_tolerance(n) / sv[rank];
  set_condition(c, n, rank > 0 ? sv[0] / sv[rank - 1] : 1, triangle.qr);
  c.decrement_sigma = small_dense::norm(projected.data(), rank);

  LocalBuffer<bool, kFew> determined(n);
  for (std::size_t j = 0; j < n; ++j) {
    double null_squares = 0, step = 0;
    for (std::size_t k = rank; k < n; ++k) null_squares += V[k * n + j] * V[k * n + j];
    const double null_part = std::sqrt(null_squares);
    determined[j] = null_part < kNegligiblePart;
    if (null_part > kConfounded) c.confounded.push_back(static_cast<int>(j));
    for (std::size_t k = 0; k < rank; ++k) {
      V[k * n + j] /= sv[k];
      step -= V[k * n + j] * projected[k];
    }
    out.step[j] = step / triangle.scale[j];
  }
  if (!triangle.covariance) return;
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

double rank_tolerance(std::size_t n) { return 64 * kUnitRoundoff * std::sqrt(static_cast<double>(n)); }

void analyse(const ScaledTriangle& triangle, Certified& out) {
  const std::size_t n = triangle.scale.size();
  // The condition is shown to users beside a covariance. For a few parameters, singular values give it
  // exactly.
  const bool many = n > (triangle.covariance ? small_dense::kMost : kFewSingular);
  if (many && by_inverse(triangle, out)) return;
  if ((many || (n > kFewSingular && ends_in_rounding(triangle))) && by_cut_triangle(triangle, out)) return;
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
