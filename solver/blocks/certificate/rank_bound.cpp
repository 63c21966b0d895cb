// Implements RankBound.
#include "blocks/certificate/rank_bound.hpp"

#include "blocks/record_rows.hpp"
#include "linear/determined_subspace.hpp"
#include "linear/weighted_rows.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Returns true if some rows are so heavy that JᵀJ, and J v beside the largest singular value, hide the light
// ones, which may have a rank of their own. Returns true also if a row is not finite.
bool rows_differ(const BlockStructure& structure, RecordReader<double>& J) {
  std::vector<double> norms;
  double most = 0;
  for_each_record_row(structure, J, [&](const JacobianRow& row) {
    norms.push_back(row.norm());
    most = std::isnan(norms.back()) ? kInfinity : std::max(most, norms.back());
  });
  return !std::isfinite(most) || most > kHeavyRows * quantile_of_nonzero(std::move(norms), kLightRows);
}

}  // namespace

bool RankBound::at_most(std::size_t rank, const BlockStructure& structure, RecordReader<double>& J,
                        std::span<const double> factors) {
  constexpr double kSafety = 4;
  constexpr int kCorrections = 2;
  n_ = structure.tangent_size();
  factors_ = factors;
  if (rank >= n_) return true;
  if (factors.empty() && rows_differ(structure, J)) return false;
  nullity_ = n_ - rank;
  normal_.assign(n_ * n_, 0.0);
  for_each_record_row(structure, J, [&](const JacobianRow& row) {
    const double factor = factor_of(row), square = factor * factor;
    row.for_each([&](std::size_t i, double entry) {
      double* const of = &normal_[i * n_];
      entry *= square;
      row.for_each([&](std::size_t j, double other) { of[j] += entry * other; });
    });
  });
  if (!factor(rank)) return false;
  estimate(rank);
  const double tolerance = rank_tolerance(n_) / kSafety;  // the largest singular value is at least 1
  for (int k = 0;; ++k) {
    const double length = multiply(structure, J);
    if (length <= tolerance) return true;
    if (k == kCorrections || !std::isfinite(length)) return false;
    correct(rank, structure, J);
  }
}

// Scales JᵀJ and factors its first `rank` pivots. Returns false if they are not clearly positive. Rows of the
// columns that remain are those of L, too.
bool RankBound::factor(std::size_t rank) {
  constexpr double kLeastPivot = 1e-10;  // smaller ones may be rounding errors
  // Squares of columns outside of this range may have lost digits.
  constexpr double kLeastSquare = 1e-250, kMostSquare = 1e250;
  inverse_.resize(n_);
  bool any = false;
  for (std::size_t j = 0; j < n_; ++j) {
    const double square = A(j, j);
    if (square != 0 && !(square > kLeastSquare && square < kMostSquare)) return false;
    any = any || square > 0;
    inverse_[j] = square > 0 ? 1 / std::sqrt(square) : 1;
  }
  if (!any) return false;
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < n_; ++j) A(i, j) *= inverse_[i] * inverse_[j];
  }
  column_.resize(n_);
  order_.resize(n_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // The lower triangle is exchanged and reduced column by column. L replaces its columns.
  for (std::size_t k = 0; k < rank; ++k) {
    std::size_t pivot = k;
    for (std::size_t j = k + 1; j < n_; ++j) {
      if (A(j, j) > A(pivot, pivot)) pivot = j;
    }
    if (!(A(pivot, pivot) > kLeastPivot)) return false;
    if (pivot != k) {
      std::swap(order_[k], order_[pivot]);
      for (std::size_t j = 0; j < k; ++j) std::swap(A(k, j), A(pivot, j));
      for (std::size_t j = k + 1; j < pivot; ++j) std::swap(A(j, k), A(pivot, j));
      for (std::size_t i = pivot + 1; i < n_; ++i) std::swap(A(i, k), A(i, pivot));
      std::swap(A(k, k), A(pivot, pivot));
    }
    const double root = std::sqrt(A(k, k));
    A(k, k) = root;
    for (std::size_t i = k + 1; i < n_; ++i) column_[i] = A(i, k) /= root;
    for (std::size_t i = k + 1; i < n_; ++i) {
      double* const row = &A(i, 0);
      for (std::size_t j = k + 1; j <= i; ++j) row[j] -= column_[i] * column_[j];
    }
  }
  return true;
}

// Sets V = [-L₁₁⁻ᵀ L₂₁ᵀ; 1] in the order of the pivots.
void RankBound::estimate(std::size_t rank) {
  V_.assign(n_ * nullity_, 0.0);
  for (std::size_t c = 0; c < nullity_; ++c) {
    V_[(rank + c) * nullity_ + c] = 1;
    for (std::size_t i = rank; i-- > 0;) {
      double sum = -A(rank + c, i);
      for (std::size_t j = i + 1; j < rank; ++j) sum -= A(j, i) * V_[j * nullity_ + c];
      V_[i * nullity_ + c] = sum / A(i, i);
    }
  }
}

// Returns ‖J V‖, or infinity if V is long.
double RankBound::multiply(const BlockStructure& structure, RecordReader<double>& J) {
  constexpr double kLongest = 16;  // directions with larger entries would be tested with too few digits
  scaled_.resize(V_.size());
  along_.resize(nullity_);
  for (std::size_t k = 0; k < n_; ++k) {
    const std::size_t j = order_[k];
    for (std::size_t c = 0; c < nullity_; ++c) {
      const double v = V_[k * nullity_ + c];
      if (!(std::fabs(v) <= kLongest)) return std::numeric_limits<double>::infinity();
      scaled_[j * nullity_ + c] = inverse_[j] * v;
    }
  }
  double squares = 0;
  for_each_record_row(structure, J, [&](const JacobianRow& row) {
    multiply(row);
    for (const double a : along_) squares += a * a;
  });
  return std::sqrt(squares);
}

// Computes the product of a row with V.
void RankBound::multiply(const JacobianRow& row) {
  std::ranges::fill(along_, 0.0);
  row.for_each([&](std::size_t j, double entry) {
    for (std::size_t c = 0; c < nullity_; ++c) along_[c] += entry * scaled_[j * nullity_ + c];
  });
  const double factor = factor_of(row);
  if (factor == 1) return;
  for (double& a : along_) a *= factor;
}

// Subtracts (L₁₁L₁₁ᵀ)⁻¹ times the upper part of JᵀJ V from the upper part of V.
void RankBound::correct(std::size_t rank, const BlockStructure& structure, RecordReader<double>& J) {
  image_.assign(V_.size(), 0.0);
  for_each_record_row(structure, J, [&](const JacobianRow& row) {
    multiply(row);
    row.for_each([&](std::size_t j, double entry) {
      for (std::size_t c = 0; c < nullity_; ++c) image_[j * nullity_ + c] += inverse_[j] * entry * along_[c];
    });
  });
  std::vector<double> part(rank);
  for (std::size_t c = 0; c < nullity_; ++c) {
    for (std::size_t i = 0; i < rank; ++i) {
      double sum = image_[order_[i] * nullity_ + c];
      for (std::size_t j = 0; j < i; ++j) sum -= A(i, j) * part[j];
      part[i] = sum / A(i, i);
    }
    for (std::size_t i = rank; i-- > 0;) {
      double sum = part[i];
      for (std::size_t j = i + 1; j < rank; ++j) sum -= A(j, i) * part[j];
      part[i] = sum / A(i, i);
      V_[i * nullity_ + c] -= part[i];
    }
  }
}

}  // namespace nlsq::inline v0
