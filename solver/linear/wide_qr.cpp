// Feeds triangles to the QR kernels in groups of rows, without their leading zeros.
#include "linear/wide_qr.hpp"

#include <algorithm>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kRows = 256;  // rows per call of a kernel

// Row i of a triangle is zero before column i. So this takes groups of rows, with the columns from the first
// row's diagonal on. In use(first, rows, columns), columns[j] holds those rows of column first + j.
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

void fold_rows(double* R, std::size_t first, std::size_t rows, double* const* columns, std::size_t n,
               KernelCounters& counters) {
  kernels().qr_fold(R + first * (n + 1), n, static_cast<int>(n - first), columns, rows, &counters);
}

// Copies rows of S into columns, in square blocks.
void copy_rows(const double* S, std::size_t n, std::size_t first, std::size_t rows, double* const* columns) {
  constexpr std::size_t kSide = 32;
  for (std::size_t i = 0; i < rows; i += kSide) {
    for (std::size_t j = 0; j < n - first; ++j) {
      for (std::size_t k = i; k < std::min(rows, i + kSide); ++k)
        columns[j][k] = S[(first + k) * n + first + j];
    }
  }
}

}  // namespace

void fold_triangle(double* R, const double* S, std::size_t n, KernelCounters& counters) {
  by_rows(
      n, n,
      [&](std::size_t first, std::size_t rows, double* const* columns) {
        copy_rows(S, n, first, rows, columns);
      },
      [&](std::size_t first, std::size_t rows, double* const* columns) {
        fold_rows(R, first, rows, columns, n, counters);
      });
}

void fold_diagonal(double* R, const double* diagonal, std::size_t count, std::size_t n,
                   KernelCounters& counters) {
  by_rows(
      count, n,
      [&](std::size_t first, std::size_t rows, double* const* columns) {
        for (std::size_t j = 0; j < n - first; ++j) {
          std::fill_n(columns[j], rows, 0.0);
          if (j < rows) columns[j][j] = diagonal[first + j];
        }
      },
      [&](std::size_t first, std::size_t rows, double* const* columns) {
        fold_rows(R, first, rows, columns, n, counters);
      });
}

void square_triangle(const double* R, std::size_t n, double* packed) {
  std::fill_n(packed, n * (n + 1) / 2, 0.0);
  KernelCounters uncounted;  // no rows of the data
  by_rows(
      n, n,
      [&](std::size_t first, std::size_t rows, double* const* columns) {
        copy_rows(R, n, first, rows, columns);
      },
      [&](std::size_t first, std::size_t rows, double* const* columns) {
        // The triangle of the columns from `first` on is the tail of the packed one.
        double* const sums = packed + (first * n - first * (first - 1) / 2);
        kernels().gram_f64(columns, static_cast<int>(n - first), rows, sums, &uncounted);
      });
}

}  // namespace nlsq::inline v0
