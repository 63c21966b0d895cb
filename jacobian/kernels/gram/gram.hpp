// Gram matrices of a tile. Every sum of a block of columns stays in a register while the rows stream by.
//
//  The columns are cut into blocks. A diagonal block has the sums of its own upper triangle; another pair of
//  blocks has all its products. Sums have a fixed order: lanes of equal position, then across the lanes.
#pragma once

#include "kernels/gram/gram_packed.hpp"
#include "kernels/simd.hpp"

#include "kernels/kernel_table.hpp"

namespace nlsq::inline v0 {
namespace {

// The format that is read, and the format in which products are summed.
struct GramDouble {
  using In = double;
  using Sum = Simd<double>;
  NLSQ_INLINE static Sum::V load(const double* p) { return Sum::load(p); }
};
struct GramFloat {
  using In = float;
  using Sum = Simd<float>;
  NLSQ_INLINE static Sum::V load(const float* p) { return Sum::load(p); }
};
struct GramWidened {
  using In = float;
  using Sum = Simd<double>;
  NLSQ_INLINE static Sum::V load(const float* p) { return Sum::load_widened(p); }
};

// The number of columns whose triangle of sums and its operands fit the registers.
#if defined(NLSQ_KERNEL_SET_avx512) || defined(NLSQ_KERNEL_SET_neon)
inline constexpr int gram_whole = 6;  // 32 registers
inline constexpr int gram_across = 4;
#else
inline constexpr int gram_whole = 4;  // 16 registers
inline constexpr int gram_across = 3;
#endif
inline constexpr int gram_block = 4;  // rows in a block of the matrix; gram_across columns at a time

// Adds one vector of rows to the sums of a triangle. If `tail` is not 0, only `tail` rows count.
template <class P, int N>
NLSQ_INLINE void add_triangle(const typename P::In* const (&c)[N], std::size_t row, std::size_t tail,
                              typename P::Sum::V (&sums)[N * (N + 1) / 2]) {
  using S = typename P::Sum;
  typename S::V x[N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) x[i] = tail ? S::keep_first(P::load(c[i] + row), tail) : P::load(c[i] + row);
  int k = 0;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
#pragma GCC unroll 8
    for (int j = i; j < N; ++j, ++k) sums[k] = S::mul_add(x[i], x[j], sums[k]);
  }
}

template <class P, int NI, int NJ>
NLSQ_INLINE void add_rectangle(const typename P::In* const (&a)[NI], const typename P::In* const (&b)[NJ],
                               std::size_t row, std::size_t tail, typename P::Sum::V (&sums)[NI * NJ]) {
  using S = typename P::Sum;
  typename S::V x[NI];
#pragma GCC unroll 8
  for (int i = 0; i < NI; ++i) x[i] = tail ? S::keep_first(P::load(a[i] + row), tail) : P::load(a[i] + row);
#pragma GCC unroll 8
  for (int j = 0; j < NJ; ++j) {
    const auto y = tail ? S::keep_first(P::load(b[j] + row), tail) : P::load(b[j] + row);
#pragma GCC unroll 8
    for (int i = 0; i < NI; ++i) sums[i * NJ + j] = S::mul_add(x[i], y, sums[i * NJ + j]);
  }
}

// Adds the triangle of columns [first, first + N) to the packed upper triangle of n1 columns.
template <class P, int N>
NLSQ_NOINLINE void triangle(const typename P::In* const* columns, int first, int n1, std::size_t rows,
                            double* packed) {
  using S = typename P::Sum;
  constexpr int count = N * (N + 1) / 2;
  constexpr std::size_t lanes = S::lanes;
  // Enough independent sums to hide the latency of a multiply-add.
  constexpr int chains = count >= 8 ? 1 : count >= 6 ? 2 : count >= 3 ? 3 : 8;
  const typename P::In* c[N];
  for (int i = 0; i < N; ++i) c[i] = columns[first + i];
  typename S::V sums[chains][count];
#pragma GCC unroll 8
  for (int u = 0; u < chains; ++u)
#pragma GCC unroll 32
    for (int k = 0; k < count; ++k) sums[u][k] = S::zero();
  std::size_t row = 0;
  for (; row + chains * lanes <= rows; row += chains * lanes) {
#pragma GCC unroll 8
    for (int u = 0; u < chains; ++u)
      add_triangle<P, N>(c, row + static_cast<std::size_t>(u) * lanes, 0, sums[u]);
  }
  for (; row + lanes <= rows; row += lanes) add_triangle<P, N>(c, row, 0, sums[0]);
  if (row < rows) add_triangle<P, N>(c, row, rows - row, sums[0]);
  int k = 0;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    double* out = packed + (first + i) * n1 - (first + i) * (first + i - 1) / 2;
#pragma GCC unroll 8
    for (int j = i; j < N; ++j, ++k) {
      auto total = sums[0][k];
#pragma GCC unroll 8
      for (int u = 1; u < chains; ++u) total = S::add(total, sums[u][k]);
      out[j - i] += S::sum(total);
    }
  }
}

// Products of columns [i0, i0 + NI) with columns [j0, j0 + NJ), i0 + NI <= j0.
template <class P, int NI, int NJ>
NLSQ_NOINLINE void rectangle(const typename P::In* const* columns, int i0, int j0, int n1, std::size_t rows,
                             double* packed) {
  using S = typename P::Sum;
  constexpr std::size_t lanes = S::lanes;
  const typename P::In *a[NI], *b[NJ];
  for (int i = 0; i < NI; ++i) a[i] = columns[i0 + i];
  for (int j = 0; j < NJ; ++j) b[j] = columns[j0 + j];
  typename S::V sums[NI * NJ];
#pragma GCC unroll 32
  for (int k = 0; k < NI * NJ; ++k) sums[k] = S::zero();
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes) add_rectangle<P, NI, NJ>(a, b, row, 0, sums);
  if (row < rows) add_rectangle<P, NI, NJ>(a, b, row, rows - row, sums);
#pragma GCC unroll 8
  for (int i = 0; i < NI; ++i) {
    const int g = i0 + i;
    double* out = packed + g * n1 - g * (g - 1) / 2 + (j0 - g);
#pragma GCC unroll 8
    for (int j = 0; j < NJ; ++j) out[j] += S::sum(sums[i * NJ + j]);
  }
}

template <class P>
void triangle_of(int n, const typename P::In* const* columns, int first, int n1, std::size_t rows,
                 double* packed) {
  switch (n) {
    case 1: return triangle<P, 1>(columns, first, n1, rows, packed);
    case 2: return triangle<P, 2>(columns, first, n1, rows, packed);
    case 3: return triangle<P, 3>(columns, first, n1, rows, packed);
    case 4: return triangle<P, 4>(columns, first, n1, rows, packed);
    default: break;
  }
  if constexpr (gram_whole == 6) {
    if (n == 5) triangle<P, 5>(columns, first, n1, rows, packed);
    else triangle<P, 6>(columns, first, n1, rows, packed);
  }
}

// A full block of rows of the matrix times n columns, n <= gram_across.
template <class P>
void rectangle_of(int n, const typename P::In* const* columns, int i0, int j0, int n1, std::size_t rows,
                  double* packed) {
  switch (n) {
    case 1: return rectangle<P, gram_block, 1>(columns, i0, j0, n1, rows, packed);
    case 2: return rectangle<P, gram_block, 2>(columns, i0, j0, n1, rows, packed);
    case 3: return rectangle<P, gram_block, 3>(columns, i0, j0, n1, rows, packed);
    default: break;
  }
  if constexpr (gram_across == 4) rectangle<P, gram_block, 4>(columns, i0, j0, n1, rows, packed);
}

// Position of entry (i, j), i <= j, in the packed triangle of n1 columns.
NLSQ_INLINE std::size_t packed_at(int i, int j, int n1) {
  return static_cast<std::size_t>(i * n1 - i * (i - 1) / 2 + (j - i));
}

// N columns and a column of ones, which is column `ones` of n1 = N + 1. Its products are sums, which the
// adders compute while the multipliers are busy. `c` holds the N columns.
template <class P, int N>
NLSQ_NOINLINE void triangle_with_ones(const typename P::In* const* columns, int ones, std::size_t rows,
                                      double* packed) {
  using S = typename P::Sum;
  constexpr int n1 = N + 1, products = N * (N + 1) / 2;
  constexpr std::size_t lanes = S::lanes;
  constexpr int chains = products >= 6 ? 1 : products >= 3 ? 2 : 4;
  const typename P::In* c[N];
  int number[N];
  for (int i = 0; i < N; ++i) {
    number[i] = i < ones ? i : i + 1;
    c[i] = columns[number[i]];
  }
  typename S::V sums[chains][products], totals[chains][N];
#pragma GCC unroll 8
  for (int u = 0; u < chains; ++u) {
#pragma GCC unroll 32
    for (int k = 0; k < products; ++k) sums[u][k] = S::zero();
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) totals[u][i] = S::zero();
  }
  const auto add = [&](std::size_t row, std::size_t tail, int u) NLSQ_INLINE_LAMBDA {
    typename S::V x[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      x[i] = tail ? S::keep_first(P::load(c[i] + row), tail) : P::load(c[i] + row);
      totals[u][i] = S::add(totals[u][i], x[i]);
    }
    int k = 0;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
#pragma GCC unroll 8
      for (int j = i; j < N; ++j, ++k) sums[u][k] = S::mul_add(x[i], x[j], sums[u][k]);
    }
  };
  std::size_t row = 0;
  for (; row + chains * lanes <= rows; row += chains * lanes) {
#pragma GCC unroll 8
    for (int u = 0; u < chains; ++u) add(row + static_cast<std::size_t>(u) * lanes, 0, u);
  }
  for (; row + lanes <= rows; row += lanes) add(row, 0, 0);
  if (row < rows) add(row, rows - row, 0);
  packed[packed_at(ones, ones, n1)] += static_cast<double>(rows);
  int k = 0;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    auto total = totals[0][i];
#pragma GCC unroll 8
    for (int u = 1; u < chains; ++u) total = S::add(total, totals[u][i]);
    packed[number[i] < ones ? packed_at(number[i], ones, n1) : packed_at(ones, number[i], n1)] +=
        S::sum(total);
#pragma GCC unroll 8
    for (int j = i; j < N; ++j, ++k) {
      auto product = sums[0][k];
#pragma GCC unroll 8
      for (int u = 1; u < chains; ++u) product = S::add(product, sums[u][k]);
      packed[packed_at(number[i], number[j], n1)] += S::sum(product);
    }
  }
}

template <class P>
void gram(const typename P::In* const* columns, int n1, std::size_t rows, double* packed);

// One of the column pointers is null and stands for a column of ones.
template <class P>
void gram_with_ones(const typename P::In* const* columns, int n1, int ones, std::size_t rows,
                    double* packed) {
  switch (n1 - 1) {
    case 1: return triangle_with_ones<P, 1>(columns, ones, rows, packed);
    case 2: return triangle_with_ones<P, 2>(columns, ones, rows, packed);
    case 3: return triangle_with_ones<P, 3>(columns, ones, rows, packed);
    default: break;
  }
  if constexpr (gram_whole == 6) {
    if (n1 == 5) return triangle_with_ones<P, 4>(columns, ones, rows, packed);
    if (n1 == 6) return triangle_with_ones<P, 5>(columns, ones, rows, packed);
  }
  // Too many columns for the registers: ones are written out, some rows at a time.
  constexpr std::size_t most_rows = 128;
  alignas(64) typename P::In written[most_rows];
  for (auto& one : written) one = 1;
  const typename P::In* part[most_columns_with_ones];
  for (std::size_t row = 0; row < rows; row += most_rows) {
    for (int j = 0; j < n1; ++j) part[j] = j == ones ? written : columns[j] + row;
    gram<P>(part, n1, rows - row < most_rows ? rows - row : most_rows, packed);
  }
}

template <class P>
void gram(const typename P::In* const* columns, int n1, std::size_t rows, double* packed) {
  for (int j = 0; j < n1 && n1 <= most_columns_with_ones; ++j) {
    if (columns[j] == nullptr) return gram_with_ones<P>(columns, n1, j, rows, packed);
  }
  if (n1 <= gram_whole) return triangle_of<P>(n1, columns, 0, n1, rows, packed);
  for (int i = 0; i < n1; i += gram_block) {
    const int left = n1 - i;
    triangle_of<P>(left < gram_block ? left : gram_block, columns, i, n1, rows, packed);
    for (int j = i + gram_block; j < n1; j += gram_across)
      rectangle_of<P>(n1 - j < gram_across ? n1 - j : gram_across, columns, i, j, n1, rows, packed);
  }
}

// Products of N columns, starting at `first`, with the last column: N sums.
template <class P, int N>
NLSQ_NOINLINE void products_with(const typename P::In* const* columns, int first, const typename P::In* last,
                                 std::size_t rows, double* out) {
  using S = typename P::Sum;
  constexpr std::size_t lanes = S::lanes;
  constexpr int chains = N >= 4 ? 2 : 4;
  const typename P::In *a[N], *const b[1] = {last};
  for (int i = 0; i < N; ++i) a[i] = columns[first + i];
  typename S::V sums[chains][N];
#pragma GCC unroll 4
  for (int u = 0; u < chains; ++u)
#pragma GCC unroll 4
    for (int k = 0; k < N; ++k) sums[u][k] = S::zero();
  std::size_t row = 0;
  for (; row + chains * lanes <= rows; row += chains * lanes) {
#pragma GCC unroll 4
    for (int u = 0; u < chains; ++u)
      add_rectangle<P, N, 1>(a, b, row + static_cast<std::size_t>(u) * lanes, 0, sums[u]);
  }
  for (; row + lanes <= rows; row += lanes) add_rectangle<P, N, 1>(a, b, row, 0, sums[0]);
  if (row < rows) add_rectangle<P, N, 1>(a, b, row, rows - row, sums[0]);
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) {
    auto total = sums[0][k];
#pragma GCC unroll 4
    for (int u = 1; u < chains; ++u) total = S::add(total, sums[u][k]);
    out[first + k] += S::sum(total);
  }
}

// Rows [first, first + rows): products of columns [i, end) with the remaining column number `last` of n1.
template <class P>
void times_left_over(const typename P::In* const* columns, std::size_t i, std::size_t end, std::size_t last,
                     std::size_t n1, std::size_t first, std::size_t rows, double* sums) {
  const auto add = [&]<int N>() {
    const typename P::In* c[N];
    double products[N] = {};
    for (std::size_t k = 0; k < N; ++k) c[k] = columns[i + k] + first;
    products_with<P, N>(c, 0, columns[last] + first, rows, products);
    for (std::size_t k = 0; k < N; ++k)
      sums[packed_at(static_cast<int>(i + k), static_cast<int>(last), static_cast<int>(n1))] += products[k];
  };
  for (; i + 4 <= end; i += 4) add.template operator()<4>();
  for (; i < end; ++i) add.template operator()<1>();
}

// Uses panels. A few remaining columns are multiplied one by one and not by a panel that they do not fill.
template <class P, class T>
void gram_by_panels(const typename P::In* const* columns, std::size_t n1, std::size_t rows, double* sums) {
  using Panels = Packing<typename P::In, T>;
  constexpr std::size_t lanes = Panels::lanes;
  const std::size_t left = n1 % lanes, width = left <= lanes / 2 ? n1 - left : n1;
  Panels::gram(columns, width, n1, rows, sums, [&](std::size_t j, std::size_t first, std::size_t some) {
    for (std::size_t l = width; l < n1; ++l)
      times_left_over<P>(columns, j, j + lanes, l, n1, first, some, sums);
  });
  for (std::size_t l = width; l < n1; ++l) times_left_over<P>(columns, width, l + 1, l, n1, 0, rows, sums);
}

// Panels are used if the set's vectors allow it and there are so many columns that they pay, as measured.
// Blocks of a few columns read their operands once for every 4 x 4 products, and are faster while all columns
// fit in an L2 cache.
template <class In, class T>
inline constexpr int gram_packed_columns = sizeof(T) == 4    ? 160
                                           : sizeof(In) == 4 ? 128
                                                             : 320;
template <class P, class T>
void gram_of(const typename P::In* const* columns, int n1, std::size_t rows, double* sums) {
  if constexpr (Packing<typename P::In, T>::possible) {
    if (n1 >= gram_packed_columns<typename P::In, T>)
      return gram_by_panels<P, T>(columns, static_cast<std::size_t>(n1), rows, sums);
  }
  gram<P>(columns, n1, rows, sums);
}

// One multiply and one add for each entry of the triangle and each row.
NLSQ_INLINE std::uint64_t gram_flops(int n1, std::size_t rows) {
  return static_cast<std::uint64_t>(n1) * static_cast<std::uint64_t>(n1 + 1) * rows;
}

void gram_f64(const double* const* columns, int n1, std::size_t rows, double* sums,
              KernelCounters* counters) {
  gram_of<GramDouble, double>(columns, n1, rows, sums);
  counters->gram_flops_f64 += gram_flops(n1, rows);
}

void gram_f32(const float* const* columns, int n1, std::size_t rows, double* sums, KernelCounters* counters) {
  gram_of<GramFloat, float>(columns, n1, rows, sums);
  counters->gram_flops_f32 += gram_flops(n1, rows);
}

void gram_f32_wide(const float* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters) {
  gram_of<GramWidened, double>(columns, n1, rows, sums);
  counters->gram_flops_f32_wide += gram_flops(n1, rows);
}

template <class P>
void gradient(const typename P::In* const* columns, int n1, std::size_t rows, double* sums) {
  int i = 0;
  for (; i + 4 <= n1; i += 4) products_with<P, 4>(columns, i, columns[n1 - 1], rows, sums);
  for (; i < n1; ++i) products_with<P, 1>(columns, i, columns[n1 - 1], rows, sums);
}

void gradient_f64(const double* const* columns, int n1, std::size_t rows, double* sums,
                  KernelCounters* counters) {
  gradient<GramDouble>(columns, n1, rows, sums);
  counters->gram_flops_f64 += 2 * static_cast<std::uint64_t>(n1) * rows;
}

void gradient_f32_wide(const float* const* columns, int n1, std::size_t rows, double* sums,
                       KernelCounters* counters) {
  gradient<GramWidened>(columns, n1, rows, sums);
  counters->gram_flops_f32_wide += 2 * static_cast<std::uint64_t>(n1) * rows;
}

// C -= AᵀB by blocks of a few columns, for sets without panels.
void subtract_products_f64(const double* const* a, std::size_t na, const double* const* b, std::size_t nb,
                           std::size_t rows, double* C, std::size_t stride) {
  if constexpr (Packing<double, double>::possible)
    return Packing<double, double>::subtract(a, b, rows, {C, na, nb, stride});
  for (std::size_t i = 0; i < na; ++i) {
    double* out = C + i * stride;
    std::size_t j = 0;
    double sums[4];
    for (; j + 4 <= nb; j += 4) {
      for (double& sum : sums) sum = 0;
      products_with<GramDouble, 4>(b + j, 0, a[i], rows, sums);
      for (std::size_t k = 0; k < 4; ++k) out[j + k] -= sums[k];
    }
    for (; j < nb; ++j) {
      sums[0] = 0;
      products_with<GramDouble, 1>(b + j, 0, a[i], rows, sums);
      out[j] -= sums[0];
    }
  }
}

}  // namespace
}  // namespace nlsq::inline v0
