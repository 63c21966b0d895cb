// Gram matrices of as many problems as a vector has lanes. Row r of problem l is at r * lanes + l of a
// column, and its sum for entry k of the triangle at k * lanes + l. Lanes never mix, so a problem gives the
// same bits in every lane.
#pragma once

#include "kernels/gram/gram.hpp"

namespace nlsq::inline v0 {
namespace {

// Sums of the triangle of columns [first, first + N) of n1, kept in registers while the rows stream by.
template <class T, int N>
NLSQ_NOINLINE void lane_triangle(const T* const* columns, int first, int n1, std::size_t rows, T* packed) {
  using S = Simd<T>;
  constexpr std::size_t lanes = S::lanes;
  const T* c[N];
  for (int i = 0; i < N; ++i) c[i] = columns[first + i];
  typename S::V sums[N * (N + 1) / 2];
#pragma GCC unroll 32
  for (int k = 0; k < N * (N + 1) / 2; ++k) sums[k] = S::zero();
  for (std::size_t row = 0; row < rows * lanes; row += lanes) {
    typename S::V x[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) x[i] = S::load(c[i] + row);
    int k = 0;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
#pragma GCC unroll 8
      for (int j = i; j < N; ++j, ++k) sums[k] = S::mul_add(x[i], x[j], sums[k]);
    }
  }
  int k = 0;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    T* out = packed + packed_at(first + i, first + i, n1) * lanes;
#pragma GCC unroll 8
    for (int j = i; j < N; ++j, ++k, out += lanes) S::store(S::add(S::load(out), sums[k]), out);
  }
}

// Products of columns [i0, i0 + NI) with columns [j0, j0 + NJ), i0 + NI <= j0.
template <class T, int NI, int NJ>
NLSQ_NOINLINE void lane_rectangle(const T* const* columns, int i0, int j0, int n1, std::size_t rows,
                                  T* packed) {
  using S = Simd<T>;
  constexpr std::size_t lanes = S::lanes;
  const T *a[NI], *b[NJ];
  for (int i = 0; i < NI; ++i) a[i] = columns[i0 + i];
  for (int j = 0; j < NJ; ++j) b[j] = columns[j0 + j];
  typename S::V sums[NI * NJ];
#pragma GCC unroll 32
  for (int k = 0; k < NI * NJ; ++k) sums[k] = S::zero();
  for (std::size_t row = 0; row < rows * lanes; row += lanes) {
    typename S::V x[NI];
#pragma GCC unroll 8
    for (int i = 0; i < NI; ++i) x[i] = S::load(a[i] + row);
#pragma GCC unroll 8
    for (int j = 0; j < NJ; ++j) {
      const auto y = S::load(b[j] + row);
#pragma GCC unroll 8
      for (int i = 0; i < NI; ++i) sums[i * NJ + j] = S::mul_add(x[i], y, sums[i * NJ + j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < NI; ++i) {
    T* out = packed + packed_at(i0 + i, j0, n1) * lanes;
#pragma GCC unroll 8
    for (int j = 0; j < NJ; ++j, out += lanes) S::store(S::add(S::load(out), sums[i * NJ + j]), out);
  }
}

// N columns and a column of ones, which is column `ones` of n1 = N + 1. Its products are sums, which the
// adders compute while the multipliers are busy.
template <class T, int N>
NLSQ_NOINLINE void lane_triangle_with_ones(const T* const* columns, int ones, std::size_t rows, T* packed) {
  using S = Simd<T>;
  constexpr std::size_t lanes = S::lanes;
  constexpr int n1 = N + 1, products = N * (N + 1) / 2;
  const T* c[N];
  int number[N];
  for (int i = 0; i < N; ++i) {
    number[i] = i < ones ? i : i + 1;
    c[i] = columns[number[i]];
  }
  typename S::V sums[products], totals[N];
#pragma GCC unroll 32
  for (int k = 0; k < products; ++k) sums[k] = S::zero();
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) totals[i] = S::zero();
  for (std::size_t row = 0; row < rows * lanes; row += lanes) {
    typename S::V x[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      x[i] = S::load(c[i] + row);
      totals[i] = S::add(totals[i], x[i]);
    }
    int k = 0;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
#pragma GCC unroll 8
      for (int j = i; j < N; ++j, ++k) sums[k] = S::mul_add(x[i], x[j], sums[k]);
    }
  }
  const auto add = [packed](int i, int j, typename S::V sum) NLSQ_INLINE_LAMBDA {
    T* out = packed + packed_at(i, j, n1) * lanes;
    S::store(S::add(S::load(out), sum), out);
  };
  add(ones, ones, S::set(static_cast<T>(rows)));
  int k = 0;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    number[i] < ones ? add(number[i], ones, totals[i]) : add(ones, number[i], totals[i]);
#pragma GCC unroll 8
    for (int j = i; j < N; ++j, ++k) add(number[i], number[j], sums[k]);
  }
}

template <class T>
void lane_triangle_of(int n, const T* const* columns, int first, int n1, std::size_t rows, T* packed) {
  switch (n) {
    case 1: return lane_triangle<T, 1>(columns, first, n1, rows, packed);
    case 2: return lane_triangle<T, 2>(columns, first, n1, rows, packed);
    case 3: return lane_triangle<T, 3>(columns, first, n1, rows, packed);
    case 4: return lane_triangle<T, 4>(columns, first, n1, rows, packed);
    default: break;
  }
  if constexpr (gram_whole == 6) {
    if (n == 5) lane_triangle<T, 5>(columns, first, n1, rows, packed);
    else lane_triangle<T, 6>(columns, first, n1, rows, packed);
  }
}

template <class T>
void lane_rectangle_of(int n, const T* const* columns, int i0, int j0, int n1, std::size_t rows, T* packed) {
  switch (n) {
    case 1: return lane_rectangle<T, gram_block, 1>(columns, i0, j0, n1, rows, packed);
    case 2: return lane_rectangle<T, gram_block, 2>(columns, i0, j0, n1, rows, packed);
    case 3: return lane_rectangle<T, gram_block, 3>(columns, i0, j0, n1, rows, packed);
    default: break;
  }
  if constexpr (gram_across == 4) lane_rectangle<T, gram_block, 4>(columns, i0, j0, n1, rows, packed);
}

// n1 <= gram_whole.
template <class T>
void lane_gram_with_ones(const T* const* columns, int n1, int ones, std::size_t rows, T* packed) {
  switch (n1 - 1) {
    case 1: return lane_triangle_with_ones<T, 1>(columns, ones, rows, packed);
    case 2: return lane_triangle_with_ones<T, 2>(columns, ones, rows, packed);
    case 3: return lane_triangle_with_ones<T, 3>(columns, ones, rows, packed);
    default: break;
  }
  if constexpr (gram_whole == 6) {
    if (n1 == 5) lane_triangle_with_ones<T, 4>(columns, ones, rows, packed);
    else lane_triangle_with_ones<T, 5>(columns, ones, rows, packed);
  }
}

template <class T>
void lane_gram(const T* const* columns, int n1, int ones, std::size_t rows, T* packed) {
  if (ones >= 0 && n1 > 1 && n1 <= gram_whole) return lane_gram_with_ones<T>(columns, n1, ones, rows, packed);
  if (n1 <= gram_whole) return lane_triangle_of<T>(n1, columns, 0, n1, rows, packed);
  for (int i = 0; i < n1; i += gram_block) {
    const int left = n1 - i;
    lane_triangle_of<T>(left < gram_block ? left : gram_block, columns, i, n1, rows, packed);
    for (int j = i + gram_block; j < n1; j += gram_across)
      lane_rectangle_of<T>(n1 - j < gram_across ? n1 - j : gram_across, columns, i, j, n1, rows, packed);
  }
}

void lane_gram_f64(const double* const* columns, int n1, int ones, std::size_t rows, double* sums,
                   KernelCounters* counters) {
  lane_gram<double>(columns, n1, ones, rows, sums);
  counters->gram_flops_f64 += gram_flops(n1, rows * Simd<double>::lanes);
}

void lane_gram_f32(const float* const* columns, int n1, int ones, std::size_t rows, float* sums,
                   KernelCounters* counters) {
  lane_gram<float>(columns, n1, ones, rows, sums);
  counters->gram_flops_f32 += gram_flops(n1, rows * Simd<float>::lanes);
}

}  // namespace
}  // namespace nlsq::inline v0
