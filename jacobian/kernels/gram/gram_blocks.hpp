// Computes Gram matrices of few columns. Every sum of a block of columns stays in a register while the rows
// are read.
//
// The columns are divided into blocks. A diagonal block has the sums of its own upper triangle; another pair
// of blocks has all its products. Sums run in a fixed order: first each lane over its rows, then over the
// lanes.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace nlsq::inline v0 {
namespace {

// Defines which rows are read, the format in which products are summed, and where a vector of sums goes: to
// entry number k of the packed triangle.
template <class T, class R>
struct GramOfRows {
  using In = T;
  using Sum = Simd<R>;
  using Packed = double;
  static void add(Packed* packed, std::size_t k, typename Sum::V sum) { packed[k] += Sum::sum(sum); }
  static void add_ones(Packed* packed, std::size_t k, std::size_t rows) {
    packed[k] += static_cast<double>(rows);
  }
};
struct GramDouble : GramOfRows<double, double> {
  NLSQ_INLINE static Sum::V load(const double* p) { return Sum::load(p); }
};
struct GramFloat : GramOfRows<float, float> {
  NLSQ_INLINE static Sum::V load(const float* p) { return Sum::load(p); }
};
struct GramWidened : GramOfRows<float, double> {
  NLSQ_INLINE static Sum::V load(const float* p) { return Sum::load_widened(p); }
};
// Each lane is a problem: row r of problem l is at r * lanes + l of a column, and its sum for entry k at k *
// lanes + l. Lanes never mix, so a problem gives the same bits in every lane.
template <class T>
struct GramOfLanes {
  using In = T;
  using Sum = Simd<T>;
  using Packed = T;
  NLSQ_INLINE static typename Sum::V load(const T* p) { return Sum::load(p); }
  static void add(Packed* packed, std::size_t k, typename Sum::V sum) {
    T* out = packed + k * Sum::lanes;
    Sum::store(Sum::add(Sum::load(out), sum), out);
  }
  static void add_ones(Packed* packed, std::size_t k, std::size_t rows) {
    add(packed, k, Sum::set(static_cast<T>(rows / Sum::lanes)));
  }
};

// This is the largest number of columns whose triangle of sums, with the vectors that are multiplied, fits in
// the registers.
#if defined(NLSQ_KERNEL_SET_avx512) || defined(NLSQ_KERNEL_SET_neon)
inline constexpr int gram_whole = 6;  // 32 registers
inline constexpr int gram_across = 4;
#else
inline constexpr int gram_whole = 4;  // 16 registers
inline constexpr int gram_across = 3;
#endif
inline constexpr int gram_block = 4;  // a block of rows of the matrix; gram_across columns at a time

// Returns the position of entry (i, j), i <= j, in the packed triangle of n1 columns.
NLSQ_INLINE std::size_t packed_at(int i, int j, int n1) {
  return static_cast<std::size_t>(i * n1 - i * (i - 1) / 2 + (j - i));
}

// Adds the products of one vector of rows to the sums of a triangle. If `tail` is not 0, only so many rows
// count.
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

// Adds the sums of the triangle of columns [first, first + N) to the packed upper triangle of n1 columns.
template <class P, int N>
NLSQ_NOINLINE void triangle(const typename P::In* const* columns, int first, int n1, std::size_t rows,
                            typename P::Packed* packed) {
  using S = typename P::Sum;
  constexpr int count = N * (N + 1) / 2;
  constexpr std::size_t lanes = S::lanes;
  // There are enough independent sums to hide the latency of a multiply-add.
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
#pragma GCC unroll 8
    for (int j = i; j < N; ++j, ++k) {
      auto total = sums[0][k];
#pragma GCC unroll 8
      for (int u = 1; u < chains; ++u) total = S::add(total, sums[u][k]);
      P::add(packed, packed_at(first + i, first + j, n1), total);
    }
  }
}

// Computes products of columns [i0, i0 + NI) with columns [j0, j0 + NJ), i0 + NI <= j0.
template <class P, int NI, int NJ>
NLSQ_NOINLINE void rectangle(const typename P::In* const* columns, int i0, int j0, int n1, std::size_t rows,
                             typename P::Packed* packed) {
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
#pragma GCC unroll 8
    for (int j = 0; j < NJ; ++j) P::add(packed, packed_at(i0 + i, j0 + j, n1), sums[i * NJ + j]);
  }
}

template <class P>
void triangle_of(int n, const typename P::In* const* columns, int first, int n1, std::size_t rows,
                 typename P::Packed* packed) {
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

// Multiplies a full block of rows of the matrix with n columns, n <= gram_across.
template <class P>
void rectangle_of(int n, const typename P::In* const* columns, int i0, int j0, int n1, std::size_t rows,
                  typename P::Packed* packed) {
  switch (n) {
    case 1: return rectangle<P, gram_block, 1>(columns, i0, j0, n1, rows, packed);
    case 2: return rectangle<P, gram_block, 2>(columns, i0, j0, n1, rows, packed);
    case 3: return rectangle<P, gram_block, 3>(columns, i0, j0, n1, rows, packed);
    default: break;
  }
  if constexpr (gram_across == 4) rectangle<P, gram_block, 4>(columns, i0, j0, n1, rows, packed);
}

// Computes products of N columns and a column of ones, number `ones` of n1 = N + 1. One sweep over the rows
// forms the products of columns [First, End) with themselves and all later ones. The products of the column
// of ones are sums of the other columns. The CPU's adders form them while its multipliers are busy. One sweep
// forms them all (Totals).
template <class P, int N, int First, int End, bool Totals>
NLSQ_NOINLINE void sweep(const typename P::In* const* columns, int ones, std::size_t rows,
                         typename P::Packed* packed) {
  using S = typename P::Sum;
  constexpr int n1 = N + 1, products = (End - First) * (2 * N - First - End + 1) / 2;
  constexpr int seen = Totals ? 0 : First, totals = Totals ? N : 0;  // the first column that is read
  constexpr std::size_t lanes = S::lanes;
  constexpr int chains = products >= 6 ? 1 : products >= 3 ? 2 : 4;
  const typename P::In* c[N];
  int number[N];
  for (int i = 0; i < N; ++i) {
    number[i] = i < ones ? i : i + 1;
    c[i] = columns[number[i]];
  }
  typename S::V sums[chains][products + totals];
#pragma GCC unroll 8
  for (int u = 0; u < chains; ++u) {
#pragma GCC unroll 32
    for (int k = 0; k < products + totals; ++k) sums[u][k] = S::zero();
  }
  const auto add = [&](std::size_t row, std::size_t tail, int u) NLSQ_INLINE_LAMBDA {
    typename S::V x[N];
#pragma GCC unroll 8
    for (int i = seen; i < N; ++i) {
      x[i] = tail ? S::keep_first(P::load(c[i] + row), tail) : P::load(c[i] + row);
      if constexpr (Totals) sums[u][products + i] = S::add(sums[u][products + i], x[i]);
    }
    int k = 0;
#pragma GCC unroll 8
    for (int i = First; i < End; ++i) {
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
  int k = 0;
  const auto add_sum = [&](int i, int j) NLSQ_INLINE_LAMBDA {
    auto total = sums[0][k];
#pragma GCC unroll 8
    for (int u = 1; u < chains; ++u) total = S::add(total, sums[u][k]);
    P::add(packed, i < j ? packed_at(i, j, n1) : packed_at(j, i, n1), total);
    ++k;
  };
#pragma GCC unroll 8
  for (int i = First; i < End; ++i) {
#pragma GCC unroll 8
    for (int j = i; j < N; ++j) add_sum(number[i], number[j]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < totals; ++i) add_sum(number[i], ones);
  if constexpr (Totals) P::add_ones(packed, packed_at(ones, ones, n1), rows);
}

// Forms all products. With 16 registers, four columns or more take two sweeps. A sum that does not stay in a
// register would wait for its own store in every row, which takes longer than reading the columns twice.
template <class P, int N>
void with_ones(const typename P::In* const* columns, int ones, std::size_t rows, typename P::Packed* packed) {
  if constexpr (N < 4 || gram_whole > 4) return sweep<P, N, 0, N, true>(columns, ones, rows, packed);
  sweep<P, N, 0, 2, N == 4>(columns, ones, rows, packed);
  sweep<P, N, 2, N, N != 4>(columns, ones, rows, packed);
}

// Computes the products if one of the columns is null, which stands for a column of ones.
template <class P>
void gram_with_ones(const typename P::In* const* columns, int n1, int ones, std::size_t rows,
                    typename P::Packed* packed) {
  static_assert(most_columns_with_ones == 6);
  switch (n1) {
    case 1: return P::add_ones(packed, 0, rows);
    case 2: return with_ones<P, 1>(columns, ones, rows, packed);
    case 3: return with_ones<P, 2>(columns, ones, rows, packed);
    case 4: return with_ones<P, 3>(columns, ones, rows, packed);
    case 5: return with_ones<P, 4>(columns, ones, rows, packed);
    default: return with_ones<P, 5>(columns, ones, rows, packed);
  }
}

template <class P>
void gram(const typename P::In* const* columns, int n1, std::size_t rows, typename P::Packed* packed) {
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

}  // namespace
}  // namespace nlsq::inline v0
