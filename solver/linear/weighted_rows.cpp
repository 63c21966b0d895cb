// Implements QR of rows of very different weights.
#include "linear/weighted_rows.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/determined_subspace.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

std::vector<double> row_norms(const DenseRows& A) {
  constexpr double kLeast = 1e-280, kMost = 1e280;  // sums of squares between these are exact
  std::vector<double> norms(A.rows, 0.0);
  for (std::size_t j = 0; j < A.columns; ++j) {
    const double* column = &A.J[j * A.rows];
    for (std::size_t i = 0; i < A.rows; ++i) norms[i] += column[i] * column[i];
  }
  for (std::size_t i = 0; i < A.rows; ++i) {
    const bool exact = norms[i] > kLeast && norms[i] < kMost;
    norms[i] = exact ? std::sqrt(norms[i]) : 0;
    for (std::size_t j = 0; j < A.columns && !exact; ++j)
      norms[i] = std::hypot(norms[i], A.J[j * A.rows + i]);
  }
  return norms;
}

void divide_columns(DenseRows& A, std::span<const double> scale) {
  for (std::size_t j = 0; j < A.columns; ++j) {
    for (std::size_t i = 0; i < A.rows; ++i) A.J[j * A.rows + i] /= scale[j];
  }
}

// Returns a divisor for each column: the median of its entries other than 0. After this division, columns
// that depend on heavy rows are larger than the others, so pivoting takes them first. If a column without
// heavy rows came first, its elimination would mix light rows into a heavy one.
std::vector<double> typical_entries(const DenseRows& A) {
  std::vector<double> typical(A.columns), column(A.rows);
  for (std::size_t j = 0; j < A.columns; ++j) {
    for (std::size_t i = 0; i < A.rows; ++i) column[i] = std::fabs(A.J[j * A.rows + i]);
    const double median = quantile_of_nonzero(column, 0.5);
    typical[j] = median > 0 ? median : 1;
  }
  return typical;
}

// Holds the triangle of J with its rows sorted and its columns pivoted.
struct SortedTriangle {
  double spread = 1;
  std::vector<double> R, z;
  std::vector<std::size_t> order;  // of the columns
};

SortedTriangle factor_sorted(DenseRows A) {
  const std::size_t m = A.rows, n = A.columns;
  const std::vector<double> typical = typical_entries(A);
  divide_columns(A, typical);
  const std::vector<double> norms = row_norms(A);
  std::vector<std::size_t> rows(m);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::ranges::stable_sort(rows, std::greater(), [&](std::size_t i) { return norms[i]; });
  std::vector<double> sorted(m * n), r(m);
  for (std::size_t i = 0; i < m; ++i) r[i] = A.r[rows[i]];
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) sorted[j * m + i] = A.J[j * m + rows[i]];
  }
  SortedTriangle out;
  const double median = quantile_of_nonzero(norms, 0.5);
  if (median > 0) out.spread = norms[rows[0]] / median;
  out.order.resize(n);
  dense::pivoted_qr(sorted.data(), m, n, out.order.data(), r.data());
  out.R.assign(n * n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i <= k; ++i) out.R[k * n + i] = typical[out.order[k]] * sorted[k * m + i];
  }
  out.z.assign(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(n));
  return out;
}

RegularSolution substituted(const SortedTriangle& triangle) {
  const std::size_t n = triangle.order.size();
  std::vector<double> solved = triangle.z;
  dense::solve_upper(triangle.R.data(), n, solved.data());
  RegularSolution out{std::vector<double>(n), dense::norm(triangle.z.data(), n)};
  for (std::size_t k = 0; k < n; ++k) out.step[triangle.order[k]] = -solved[k];
  return out;
}

}  // namespace

double quantile_of_nonzero(std::vector<double> values, double place) {
  std::erase(values, 0.0);
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place * static_cast<double>(values.size()));
  std::ranges::nth_element(values, at);
  return *at;
}

RowAnalysis analyse_rows(DenseRows A, std::span<const double> scale) {
  const std::size_t n = A.columns;
  divide_columns(A, scale);
  SortedTriangle triangle = factor_sorted(std::move(A));
  RowAnalysis out;
  out.spread = triangle.spread;
  out.regular = substituted(triangle);
  for (std::size_t j = 0; j < n; ++j) out.regular.step[j] /= scale[j];
  std::vector<double> in_order(n);
  for (std::size_t k = 0; k < n; ++k) in_order[k] = scale[triangle.order[k]];
  Certified found;
  found.step.assign(n, 0.0);
  analyse({triangle.R.data(), triangle.z.data(), in_order, true, nullptr, 0, false}, found);
  out.least.certificate = found.certificate;
  out.least.rank_margin = found.rank_margin;
  out.least.step.resize(n);
  for (std::size_t k = 0; k < n; ++k) out.least.step[triangle.order[k]] = found.step[k];
  for (int& j : out.least.certificate.confounded)
    j = static_cast<int>(triangle.order[static_cast<std::size_t>(j)]);
  return out;
}

bool lightening_keeps_rank(const DenseRows& A, double place, double rank_margin) {
  constexpr double kSafety = 4;
  const std::vector<double> norms = row_norms(A);
  if (norms.empty()) return true;
  return kSafety * std::ranges::max(norms) < rank_margin * quantile_of_nonzero(norms, place);
}

std::vector<double> lightening_factors(const DenseRows& A, double place) {
  std::vector<double> factors = row_norms(A);
  const double light = quantile_of_nonzero(factors, place);
  for (double& norm : factors) norm = norm > light ? light / norm : 1;
  return factors;
}

RowAnalysis analyse_lightened(DenseRows A, double place) {
  const std::vector<double> factors = lightening_factors(A, place);
  std::vector<double> scale(A.columns);
  for (std::size_t j = 0; j < A.columns; ++j) {
    double squares = 0;
    for (std::size_t i = 0; i < A.rows; ++i) {
      double& entry = A.J[j * A.rows + i];
      if (factors[i] < 1) entry *= factors[i];
      squares += entry * entry;
    }
    scale[j] = squares > 0 ? std::sqrt(squares) : 1;
  }
  return analyse_rows(std::move(A), scale);
}

RegularSolution solve_regular(DenseRows A) { return substituted(factor_sorted(std::move(A))); }

std::vector<std::vector<double>> random_solutions(DenseRows A, std::size_t count) {
  constexpr double kLeastPivot = 1e-9;
  SortedTriangle triangle = factor_sorted(std::move(A));
  const std::size_t n = triangle.order.size();
  std::vector<bool> determined(n);
  for (std::size_t j = 0; j < n; ++j) {
    double& pivot = triangle.R[j * n + j];
    determined[j] = std::fabs(pivot) > kLeastPivot;
    if (!determined[j]) pivot = 1;
  }
  Random random(1);
  std::vector<std::vector<double>> out;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      const double sign = random.below(2) == 0 ? -1 : 1;
      triangle.z[j] = determined[j] ? sign : 0;
    }
    out.push_back(substituted(triangle).step);
  }
  return out;
}

}  // namespace nlsq::inline v0
