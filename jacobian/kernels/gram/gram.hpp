// Computes Gram matrices and gradients of a tile, as the table of a kernel set offers them. It works by
// blocks of columns, or by panels if there are many columns.
#pragma once

#include "kernels/gram/gram_blocks.hpp"
#include "kernels/gram/gram_packed.hpp"

namespace nlsq::inline v0 {
namespace {

// Computes the N products of columns from `first` on with the last one.
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

// Computes, for rows [first, first + rows), the products of columns [i, end) with one more column, number
// `last` of n1.
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

// Counts one multiply and one add for each entry of the triangle and each row.
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

// With at least `gram_copied_from` and fewer than `gram_copied_to` columns it is faster to copy the columns
// as doubles first than to widen each number every time that it is multiplied. Sets with 32 registers do not
// copy: their larger blocks widen a number a quarter as often.
inline constexpr int gram_copied_from = gram_across == 3 ? 12 : 1 << 30,
                     gram_copied_to = Packing<float, double>::possible ? 192 : 1 << 30;
inline constexpr std::size_t gram_copied_bytes = 1 << 18;  // of a copy, so that it stays in an L2 cache

NLSQ_NOINLINE void widen(const float* from, double* to, std::size_t rows) {
  using S = Simd<double>;
  std::size_t row = 0;
  for (; row + S::lanes <= rows; row += S::lanes) S::store(S::load_widened(from + row), to + row);
  for (; row < rows; ++row) to[row] = static_cast<double>(from[row]);
}

// Computes the same sums from copies of the columns in double.
void gram_f32_copied(const float* const* columns, int n1, std::size_t rows, double* sums) {
  thread_local PanelBuffer buffer;
  const auto width = static_cast<std::size_t>(n1);
  const std::size_t fitting = gram_copied_bytes / (width * sizeof(double)) / 64 * 64,
                    most = rows < fitting ? rows : fitting;
  auto* copies = static_cast<double*>(buffer.bytes(width * (most * sizeof(double) + sizeof(const double*))));
  auto** wide = reinterpret_cast<const double**>(copies + width * most);
  for (std::size_t i = 0; i < width; ++i) wide[i] = copies + i * most;
  for (std::size_t first = 0; first < rows; first += most) {
    const std::size_t some = rows - first < most ? rows - first : most;
    for (std::size_t i = 0; i < width; ++i) widen(columns[i] + first, copies + i * most, some);
    gram_of<GramDouble, double>(wide, n1, some, sums);
  }
}

void gram_f32_wide(const float* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters) {
  if (n1 >= gram_copied_from && n1 < gram_copied_to) gram_f32_copied(columns, n1, rows, sums);
  else gram_of<GramWidened, double>(columns, n1, rows, sums);
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

// Computes C -= AᵀB by blocks of a few columns, for sets without panels.
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

// Computes Gram matrices of as many problems as a vector has lanes (GramOfLanes).
template <class T>
void lane_gram(const T* const* columns, int n1, int ones, std::size_t rows, T* sums,
               KernelCounters* counters) {
  const std::size_t count = rows * Simd<T>::lanes;
  if (ones < 0 || n1 > most_columns_with_ones) gram<GramOfLanes<T>>(columns, n1, count, sums);
  else gram_with_ones<GramOfLanes<T>>(columns, n1, ones, count, sums);
  (sizeof(T) == sizeof(double) ? counters->gram_flops_f64 : counters->gram_flops_f32) +=
      gram_flops(n1, count);
}

}  // namespace
}  // namespace nlsq::inline v0
