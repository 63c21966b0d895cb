// Computes products of many columns. The columns are copied into panels, row by row, as wide as a vector. One
// number of a column is multiplied with a vector of others, so no sum has to be added across lanes at the
// end.
//
// A block of `packed_height` columns by `packed_across` panels keeps all its sums in registers while the rows
// are read. Each sum is one chain over at most `packed_rows` rows and is then added to the result in double.
#pragma once

#include "kernels/gram/panel_buffer.hpp"
#include "kernels/simd.hpp"
#if defined(NLSQ_KERNEL_SET_avx512)
#include "kernels/gram/transpose_avx512.hpp"
#endif

#include <cstddef>
#include <type_traits>

namespace nlsq::inline v0 {
namespace {

#if defined(NLSQ_KERNEL_SET_avx512)
inline constexpr std::size_t packed_height = 8;  // 24 sums in 32 registers
#elif defined(NLSQ_KERNEL_SET_baseline)
// The number is so high that panels are never used: without multiply-add, 16 registers do not suffice.
inline constexpr std::size_t packed_height = 64;
#else
inline constexpr std::size_t packed_height = 4;  // 12 sums in 16 registers
#endif
inline constexpr std::size_t packed_across = 3;
// This is the number of rows in a panel. A panel of 8 columns of doubles then takes half of a 32 KB L1 cache.
inline constexpr std::size_t packed_rows = 256;
// So many columns of A stay in an L2 cache while all of B is read.
inline constexpr std::size_t packed_group = 96;

// This is a destination of sums: row i of an upper triangle by rows with n1 columns, but only the first
// `width` columns.
struct IntoTriangle {
  double* packed;
  std::size_t n1, width;
  std::size_t rows() const { return width; }
  std::size_t columns() const { return width; }
  NLSQ_INLINE std::size_t first(std::size_t i) const { return i; }
  NLSQ_INLINE double* row(std::size_t i) const { return packed + (i * n1 - i * (i + 1) / 2); }
  template <class V>
  NLSQ_INLINE static V joined(V there, V sum) {
    return Simd<double>::add(there, sum);
  }
  NLSQ_INLINE static double joined(double there, double sum) { return there + sum; }
};

// This is a destination of sums: row i of a matrix with rows `stride` doubles apart, from which they are
// subtracted.
struct OutOfMatrix {
  double* data;
  std::size_t height, width, stride;
  std::size_t rows() const { return height; }
  std::size_t columns() const { return width; }
  NLSQ_INLINE std::size_t first(std::size_t) const { return 0; }
  NLSQ_INLINE double* row(std::size_t i) const { return data + i * stride; }
  template <class V>
  NLSQ_INLINE static V joined(V there, V sum) {
    return Simd<double>::sub(there, sum);
  }
  NLSQ_INLINE static double joined(double there, double sum) { return there - sum; }
};

// Computes products and sums in T of numbers stored as In.
template <class In, class T>
struct Packing {
  using S = Simd<T>;
  using V = typename S::V;
  static constexpr std::size_t lanes = S::lanes;
  static constexpr bool possible = lanes % packed_height == 0;

  NLSQ_INLINE static V load(const In* p) {
    if constexpr (std::is_same_v<In, T>) return S::load(p);
    else return S::load_widened(p);
  }

  // Copies `lanes` rows of `lanes` columns.
  NLSQ_INLINE static void square(const In* const* columns, std::size_t row, T* to) {
#if defined(NLSQ_KERNEL_SET_avx512)
    if constexpr (sizeof(T) == 8) {
      __m512d v[8];
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) v[k] = load(columns[k] + row).raw;
      transpose(v);
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) _mm512_store_pd(to + 8 * k, v[k]);
    } else {
      __m512i v[16];
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) v[k] = _mm512_castps_si512(load(columns[k] + row).raw);
      transpose(v);
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) _mm512_store_si512(to + 16 * k, v[k]);
    }
#else
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::size_t j = 0; j < lanes; ++j) to[i * lanes + j] = static_cast<T>(columns[j][row + i]);
#endif
  }

  // Copies rows [first, first + rows) of `count` columns into a panel; the other columns of the panel are
  // zero.
  NLSQ_NOINLINE static void pack_panel(const In* const* columns, std::size_t count, std::size_t first,
                                       std::size_t rows, T* to) {
    std::size_t row = 0;
    if (count == lanes)
      for (; row + lanes <= rows; row += lanes) square(columns, first + row, to + row * lanes);
    for (; row < rows; ++row)
      for (std::size_t k = 0; k < lanes; ++k)
        to[row * lanes + k] = k < count ? static_cast<T>(columns[k][first + row]) : T(0);
  }

  // Copies n columns in the same way. Calls packed(j) when the columns from j on are packed and in cache.
  template <class Packed>
  static void pack(const In* const* columns, std::size_t n, std::size_t first, std::size_t rows, T* to,
                   Packed packed) {
    for (std::size_t j = 0; j < n; j += lanes, to += rows * lanes) {
      pack_panel(columns + j, n - j < lanes ? n - j : lanes, first, rows, to);
      packed(j);
    }
  }
  static void pack(const In* const* columns, std::size_t n, std::size_t first, std::size_t rows, T* to) {
    pack(columns, n, first, rows, to, [](std::size_t) {});
  }

  static std::size_t panels(std::size_t n) { return (n + lanes - 1) / lanes; }
  // Returns the number of elements that n columns need.
  static std::size_t size(std::size_t n, std::size_t rows) {
    return panels(n) * lanes * (rows < packed_rows ? rows : packed_rows);
  }

  template <class Target>
  NLSQ_INLINE static void flush(V sums, double* at) {
    using Wide = Simd<double>;
    if constexpr (sizeof(T) == 8) {
      Wide::store(Target::joined(Wide::load(at), sums), at);
    } else {
      alignas(64) T narrow[lanes];
      S::store(sums, narrow);
      for (std::size_t k = 0; k < lanes; k += Wide::lanes)
        Wide::store(Target::joined(Wide::load(at + k), Wide::load_widened(narrow + k)), at + k);
    }
  }

  // Computes products of `height` columns, from number i on, with N panels from column j on. `a` points at
  // column i in its panel.
  template <int N, class Target>
  NLSQ_NOINLINE static void block(const T* a, const T* b, std::size_t rows, std::size_t i, std::size_t j,
                                  const Target& target) {
    constexpr std::size_t height = packed_height;
    for (std::size_t k = 0; k < height && i + k < target.rows(); ++k) {
      const double* out = target.row(i + k) + j;
      for (std::size_t l = 0; l <= N * lanes; l += 8) __builtin_prefetch(out + l, 1);
    }
    V c[height][N];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < height; ++k)
#pragma GCC unroll 3
      for (int q = 0; q < N; ++q) c[k][q] = S::zero();
    const std::size_t panel = rows * lanes;
    for (std::size_t row = 0; row < panel; row += lanes) {
      V y[N];
#pragma GCC unroll 3
      for (int q = 0; q < N; ++q) y[q] = S::load(b + static_cast<std::size_t>(q) * panel + row);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < height; ++k) {
        const V x = S::set(a[row + k]);
#pragma GCC unroll 3
        for (int q = 0; q < N; ++q) c[k][q] = S::mul_add(x, y[q], c[k][q]);
      }
    }
    if (i + height <= target.rows() && target.first(i + height - 1) <= j &&
        j + N * lanes <= target.columns()) {
#pragma GCC unroll 8
      for (std::size_t k = 0; k < height; ++k)
#pragma GCC unroll 3
        for (int q = 0; q < N; ++q)
          flush<Target>(c[k][q], target.row(i + k) + j + static_cast<std::size_t>(q) * lanes);
      return;
    }
    alignas(64) T sums[height][N * lanes];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < height; ++k)
#pragma GCC unroll 3
      for (int q = 0; q < N; ++q) S::store(c[k][q], &sums[k][static_cast<std::size_t>(q) * lanes]);
    for (std::size_t k = 0; k < height && i + k < target.rows(); ++k) {
      double* out = target.row(i + k);
      const std::size_t first = target.first(i + k);
      for (std::size_t l = 0; l < N * lanes && j + l < target.columns(); ++l)
        if (j + l >= first) out[j + l] = Target::joined(out[j + l], static_cast<double>(sums[k][l]));
    }
  }

  // Computes rows [i, last) of the target from `count` panels, from panel p on.
  template <class Target>
  static void strip(const T* a, const T* b, std::size_t rows, std::size_t i, std::size_t last, std::size_t p,
                    std::size_t count, const Target& target) {
    const std::size_t end = (p + count) * lanes;
    for (; i < last && target.first(i) < end; i += packed_height) {
      // Skips panels that are entirely below the triangle.
      const std::size_t first = target.first(i) / lanes, skip = first > p ? first - p : 0;
      const T* rows_of_a = a + i / lanes * rows * lanes + i % lanes;
      const T* from = b + skip * rows * lanes;
      switch (count - skip) {
        case 1: block<1>(rows_of_a, from, rows, i, (p + skip) * lanes, target); break;
        case 2: block<2>(rows_of_a, from, rows, i, (p + skip) * lanes, target); break;
        default: block<3>(rows_of_a, from, rows, i, (p + skip) * lanes, target);
      }
    }
  }

  template <class Target>
  static void strips(const T* a, const T* b, std::size_t rows, const Target& target) {
    const std::size_t all = panels(target.columns());
    for (std::size_t i = 0; i < target.rows(); i += packed_group) {
      const std::size_t last = target.rows() - i < packed_group ? target.rows() : i + packed_group;
      for (std::size_t p = target.first(i) / lanes / packed_across * packed_across; p < all;
           p += packed_across) {
        const std::size_t count = all - p < packed_across ? all - p : packed_across;
        strip(a, b + p * rows * lanes, rows, i, last, p, count, target);
      }
    }
  }

  // Adds the triangle of products of the first `width` of n1 columns to the sums. Calls packed(j, first,
  // count) when these rows of a panel's columns from j on are in cache.
  template <class Packed>
  static void gram(const In* const* columns, std::size_t width, std::size_t n1, std::size_t rows,
                   double* sums, Packed packed) {
    T* panels = memory(size(width, rows));
    for (std::size_t first = 0; first < rows; first += packed_rows) {
      const std::size_t some = rows - first < packed_rows ? rows - first : packed_rows;
      pack(columns, width, first, some, panels, [&](std::size_t j) { packed(j, first, some); });
      strips(panels, panels, some, IntoTriangle{sums, n1, width});
    }
  }

  // Computes C -= AᵀB.
  static void subtract(const In* const* a, const In* const* b, std::size_t rows, const OutOfMatrix& C) {
    T* const of_a = memory(size(C.height, rows) + size(C.width, rows));
    T* const of_b = of_a + size(C.height, rows);
    for (std::size_t first = 0; first < rows; first += packed_rows) {
      const std::size_t some = rows - first < packed_rows ? rows - first : packed_rows;
      pack(a, C.height, first, some, of_a);
      pack(b, C.width, first, some, of_b);
      strips(of_a, of_b, some, C);
    }
  }

 private:
  static T* memory(std::size_t numbers) {
    thread_local PanelBuffer buffer;
    return static_cast<T*>(buffer.bytes(numbers * sizeof(T)));
  }
};

}  // namespace
}  // namespace nlsq::inline v0
