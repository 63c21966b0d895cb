// Implements the blocked Cholesky factorisation, the inverse of a triangle and its square.
#include "linear/wide_factor.hpp"

#include "support/parallel.hpp"

#include "kernels/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kBlock = 96;  // columns per block: four strips of the kernels' panels
constexpr std::size_t kSmall = 24;  // columns of a block that are solved one by one

// Returns pointers to consecutive vectors that are `stride` apart.
std::vector<const double*> vectors(const double* first, std::size_t count, std::size_t stride) {
  std::vector<const double*> out(count);
  for (std::size_t k = 0; k < count; ++k) out[k] = first + k * stride;
  return out;
}

// Subtracts the products of vectors a with vectors b, each of `rows` numbers, from C. C is stored by rows.
void subtract(const double* a, std::size_t na, const double* b, std::size_t nb, std::size_t rows,
              std::size_t stride, double* C, std::size_t stride_of_C) {
  if (na == 0 || nb == 0 || rows == 0) return;
  kernels().subtract_products_f64(vectors(a, na, stride).data(), na, vectors(b, nb, stride).data(), nb, rows,
                                  C, stride_of_C);
}
void subtract(const double* a, std::size_t na, const double* b, std::size_t nb, std::size_t rows,
              std::size_t stride, double* C) {
  subtract(a, na, b, nb, rows, stride, C, stride);
}

// Computes v := T⁻ᵀv for `count` vectors v that are `stride` apart. T is an upper triangle of order m <=
// kSmall by columns with the same stride.
void solve_small(const double* T, std::size_t m, std::size_t stride, double* v, std::size_t count) {
  constexpr std::size_t kTogether = 8;
  using Vectors [[gnu::vector_size(kTogether * sizeof(double))]] = double;  // side by side
  double inverse[kSmall];
  Vectors w[kSmall];
  for (std::size_t l = 0; l < m; ++l) inverse[l] = 1 / T[l * stride + l];
  for (std::size_t k = 0; k < count; k += kTogether, v += kTogether * stride) {
    const std::size_t some = std::min(kTogether, count - k);
    for (std::size_t i = 0; i < m; ++i) {
      const double* column = T + i * stride;
      Vectors sums = {};
      for (std::size_t q = 0; q < some; ++q) sums[q] = v[q * stride + i];
      for (std::size_t l = 0; l < i; ++l) sums -= column[l] * w[l];
      w[i] = sums * inverse[i];
    }
    for (std::size_t q = 0; q < some; ++q) {
      for (std::size_t i = 0; i < m; ++i) v[q * stride + i] = w[i][q];
    }
  }
}

// Does the same for a triangle of any order.
void solve_block(const double* T, std::size_t m, std::size_t stride, double* v, std::size_t count) {
  for (std::size_t b = 0; b < m; b += kSmall) {
    const std::size_t some = std::min(kSmall, m - b);
    subtract(v, count, T + b * stride, some, b, stride, v + b);
    solve_small(T + b * stride + b, some, stride, v + b, count);
  }
}

// Factors a small block by Cholesky, column by column.
bool factor_small(double* A, std::size_t m, std::size_t stride) {
  for (std::size_t j = 0; j < m; ++j) {
    double* column = A + j * stride;
    for (std::size_t i = 0; i < j; ++i) {
      const double* other = A + i * stride;
      double sum = column[i];
      for (std::size_t l = 0; l < i; ++l) sum -= other[l] * column[l];
      column[i] = sum / other[i];
    }
    double pivot = column[j];
    for (std::size_t l = 0; l < j; ++l) pivot -= column[l] * column[l];
    if (!(pivot > 0)) return false;
    column[j] = std::sqrt(pivot);
  }
  return true;
}

// Subtracts the contribution of the rows above the triangle of order m at A + k from that triangle.
void subtract_square(double* A, std::size_t m, std::size_t k, std::size_t stride, double* products) {
  std::fill_n(products, m * m, 0.0);
  subtract(A, m, A, m, k, stride, products, m);
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t i = 0; i <= j; ++i) A[j * stride + k + i] += products[j * m + i];
  }
}

// Does what factor_wide does, for one block.
bool factor_block(double* A, std::size_t m, std::size_t stride) {
  double products[kSmall * kSmall];
  for (std::size_t k = 0; k < m; k += kSmall) {
    const std::size_t some = std::min(kSmall, m - k), next = k + some;
    double* columns = A + k * stride;
    subtract_square(columns, some, k, stride, products);
    if (!factor_small(columns + k, some, stride)) return false;
    double* right = A + next * stride;
    subtract(right, m - next, columns, some, k, stride, right + k);
    solve_small(columns + k, some, stride, right + k, m - next);
  }
  return true;
}

// Calls use(first, count) for every block of [0, n).
template <class Use>
void by_blocks(std::size_t n, const Parallelism& threads, Use use, std::size_t block = kBlock) {
  run_tasks((n + block - 1) / block, threads,
            [&](std::size_t t) { use(t * block, std::min(block, n - t * block)); });
}

// Returns the number of columns that one task solves for. The block that multiplies them is packed once for
// all of them.
std::size_t columns_of_task(std::size_t n) {
  return kBlock * std::clamp<std::size_t>(n / (4 * kBlock), 1, 4);
}

}  // namespace

// Works by block rows: subtracts the products of the rows above, factors the diagonal block, then solves for
// all columns to its right.
bool factor_wide(double* A, std::size_t n, const Parallelism& threads) {
  std::vector<double> products(kBlock * kBlock);
  for (std::size_t k = 0; k < n; k += kBlock) {
    const std::size_t m = std::min(kBlock, n - k);
    double* corner = A + k * n + k;
    subtract_square(A + k * n, m, k, n, products.data());
    if (!factor_block(corner, m, n)) return false;
    const std::size_t next = k + m;
    by_blocks(
        n - next, threads,
        [&](std::size_t first, std::size_t count) {
          double* columns = A + (next + first) * n;
          subtract(columns, count, A + k * n, m, k, n, columns + k);
          solve_block(corner, m, n, columns + k, count);
        },
        columns_of_task(n - next));
  }
  return true;
}

// Row i of R⁻¹ is the solution of Rᵀx = e_i.
void invert_wide(const double* R, std::size_t n, double* X, const Parallelism& threads) {
  by_blocks(n, threads, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      std::fill_n(X + i * n, n, 0.0);
      X[i * n + i] = 1;
    }
    double* rows = X + first * n;
    for (std::size_t k = first; k < n; k += kBlock) {
      const std::size_t m = std::min(kBlock, n - k);
      subtract(rows + first, count, R + k * n + first, m, k - first, n, rows + k);
      solve_block(R + k * n + k, m, n, rows + k, count);
    }
  });
}

void transpose_wide(const double* R, std::size_t n, double* L) {
  constexpr std::size_t kSide = 32;
  for (std::size_t i = 0; i < n; i += kSide) {
    for (std::size_t j = 0; j < n; j += kSide) {
      for (std::size_t k = i; k < std::min(n, i + kSide); ++k) {
        for (std::size_t l = j; l < std::min(n, j + kSide); ++l) L[k * n + l] = R[l * n + k];
      }
    }
  }
}

void square_wide(const double* X, std::size_t n, double* C, const Parallelism& threads) {
  by_blocks(n, threads, [&](std::size_t first, std::size_t count) {
    double* rows = C + first * n;
    std::fill_n(rows, count * n, 0.0);
    // Column i of X begins where row i does.
    subtract(X + first * n + first, count, X + first, first + count, n - first, n, rows);
    for (std::size_t k = 0; k < count * n; ++k) rows[k] = -rows[k];
  });
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) C[i * n + j] = C[j * n + i];
  }
}

namespace {

constexpr std::size_t kRows = 256;  // rows per call of a kernel

// Visits the rows of a triangle in groups. Row i is zero before column i, so each group has only the columns
// from its first row's diagonal on. In use(first, rows, columns), columns[j] holds those rows of column first
// + j.
template <class Fill, class Use>
void by_rows(std::size_t rows, std::size_t n, Fill fill, Use use) {
  std::vector<double> numbers(n * kRows);
  std::vector<double*> columns(n);
  for (std::size_t j = 0; j < n; ++j) columns[j] = numbers.data() + j * kRows;
  for (std::size_t first = 0; first < rows; first += kRows) {
    const std::size_t some = std::min(kRows, rows - first);
    fill(first, some, columns.data());
    use(first, some, columns.data());
  }
}

// Updates R for `rows` rows of a triangle, which fill(first, rows, columns) copies.
template <class Fill>
void fold(double* R, std::size_t rows, std::size_t n, Fill fill, KernelCounters& counters) {
  by_rows(rows, n, fill, [&](std::size_t first, std::size_t some, double* const* columns) {
    kernels().qr_fold(R + first * (n + 1), n, static_cast<int>(n - first), columns, some, &counters);
  });
}

// Returns a function that copies rows of the triangle S into columns, in square blocks.
auto copy_of(const double* S, std::size_t n) {
  return [S, n](std::size_t first, std::size_t rows, double* const* columns) {
    constexpr std::size_t kSide = 32;
    for (std::size_t i = 0; i < rows; i += kSide) {
      for (std::size_t j = 0; j < n - first; ++j) {
        for (std::size_t k = i; k < std::min(rows, i + kSide); ++k)
          columns[j][k] = S[(first + k) * n + first + j];
      }
    }
  };
}

}  // namespace

void fold_triangle(double* R, const double* S, std::size_t n, KernelCounters& counters) {
  fold(R, n, n, copy_of(S, n), counters);
}

void fold_diagonal(double* R, const double* diagonal, std::size_t count, std::size_t n,
                   KernelCounters& counters) {
  const auto fill = [&](std::size_t first, std::size_t rows, double* const* columns) {
    for (std::size_t j = 0; j < n - first; ++j) {
      std::fill_n(columns[j], rows, 0.0);
      if (j < rows) columns[j][j] = diagonal[first + j];
    }
  };
  fold(R, count, n, fill, counters);
}

void square_triangle(const double* R, std::size_t n, double* packed) {
  std::fill_n(packed, n * (n + 1) / 2, 0.0);
  KernelCounters uncounted;  // the kernels read no rows of the data here
  by_rows(n, n, copy_of(R, n), [&](std::size_t first, std::size_t rows, double* const* columns) {
    // The triangle of the columns from `first` on is the tail of the packed one.
    double* const sums = packed + (first * n - first * (first - 1) / 2);
    kernels().gram_f64(columns, static_cast<int>(n - first), rows, sums, &uncounted);
  });
}

}  // namespace nlsq::inline v0
