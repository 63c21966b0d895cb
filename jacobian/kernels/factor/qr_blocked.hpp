// Computes a streaming QR factorization of many columns. The rows are copied into panels as wide as a vector,
// row by row. The reflections of a block of columns are accumulated as I - V Tᵀ Vᵀ (Schreiber and Van Loan,
// SIAM J. Sci. Stat. Comput. 10, 1989). A reflection of [R; rows] changes one row of R, so V = [I; v], and
// the columns to the right become
//
//    w = Tᵀ (R + vᵀC),   R -= w,   C -= v w
//
//  Every product is a sum over panels. The L x L sums of one square stay in registers.
#pragma once

#include "kernels/factor/qr.hpp"
#include "kernels/gram/gram_packed.hpp"
#include "kernels/gram/panel_buffer.hpp"
#include "kernels/simd.hpp"

#include <cstddef>

namespace nlsq::inline v0 {
namespace {

class BlockedQr {
 public:
  static constexpr std::size_t L = S64::lanes;
  static constexpr bool possible = L == packed_height;  // a square has L columns and L rows

  static void fold(double* R, std::size_t stride, std::size_t n1, const double* const* columns,
                   std::size_t rows) {
    for (std::size_t first = 0; first < rows; first += kRows) {
      BlockedQr(R, stride, n1, rows - first < kRows ? rows - first : kRows).fold_rows(columns, first);
    }
  }

 private:
  using V = S64::V;
  static constexpr std::size_t kRows = 256;  // a panel takes half of an L1 cache
  static constexpr std::size_t kBlock = 32;  // columns whose reflections are applied together
  static constexpr std::size_t kPanels = kBlock / L;
  static constexpr std::size_t kAcross = packed_across;  // panels that are updated together

  double* R_;
  std::size_t stride_, n1_, rows_, padded_, panel_, count_;
  // These are the panels of rows, the transposed reflections v, and the triangle T with kBlock numbers a row.
  double *tile_, *turned_, *T_;

  BlockedQr(double* R, std::size_t stride, std::size_t n1, std::size_t rows)
      : R_(R), stride_(stride), n1_(n1), rows_(rows), padded_((rows + L - 1) / L * L), panel_(padded_ * L),
        count_((n1 + L - 1) / L) {
    thread_local PanelBuffer buffer;
    tile_ = static_cast<double*>(
        buffer.bytes((count_ * panel_ + padded_ * kBlock + kBlock * kBlock) * sizeof(double)));
    turned_ = tile_ + count_ * panel_;
    T_ = turned_ + padded_ * kBlock;
  }

  void fold_rows(const double* const* columns, std::size_t first) {
    pack(columns, first);
    for (std::size_t b = 0; b < count_; b += kPanels) {
      const std::size_t end = b + kPanels < count_ ? b + kPanels : count_;
      for (std::size_t k = 0; k < kBlock * kBlock; ++k) T_[k] = 0;
      for (std::size_t p = b; p < end; ++p) {
        factor(p, p - b);
        turn(p, p - b);
        if (p > b) extend(b, p);
        apply(p, p - b, 1, p + 1, end);
      }
      apply(b, 0, end - b, end, count_);
    }
  }

  void pack(const double* const* columns, std::size_t first) {
    double* to = tile_;
    for (std::size_t j = 0; j < n1_; j += L, to += panel_) {
      const std::size_t some = n1_ - j < L ? n1_ - j : L;
      Packing<double, double>::pack(columns + j, some, first, rows_, to);
      for (std::size_t i = rows_ * L; i < panel_; ++i) to[i] = 0;
    }
  }

  // Computes c = Σ a_k b_k over `depth`. There are L numbers of a, `step` apart for successive k, and N
  // panels of b.
  template <int N>
  NLSQ_INLINE static void products(const double* a, std::size_t step, const double* b, std::size_t panel,
                                   std::size_t depth, V (&c)[L][N]) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < L; ++k)
#pragma GCC unroll 3
      for (int q = 0; q < N; ++q) c[k][q] = S64::zero();
    for (std::size_t d = 0; d < depth; ++d, a += step, b += L) {
      V y[N];
#pragma GCC unroll 3
      for (int q = 0; q < N; ++q) y[q] = S64::load(b + static_cast<std::size_t>(q) * panel);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < L; ++k) {
        const V x = S64::set(a[k]);
#pragma GCC unroll 3
        for (int q = 0; q < N; ++q) c[k][q] = S64::mul_add(x, y[q], c[k][q]);
      }
    }
  }

  // Loads numbers [j, j + L) of a row of R. Those beyond its end are read as zero.
  NLSQ_INLINE V row_of_r(const double* row, std::size_t j) const {
    if (j + L <= n1_) return S64::load(row + j);
    alignas(64) double some[L] = {};
    for (std::size_t k = 0; j + k < n1_; ++k) some[k] = row[j + k];
    return S64::load(some);
  }
  NLSQ_INLINE void set_row_of_r(V v, double* row, std::size_t j) const {
    if (j + L <= n1_) return S64::store(v, row + j);
    alignas(64) double some[L];
    S64::store(v, some);
    for (std::size_t k = 0; j + k < n1_; ++k) row[j + k] = some[k];
  }

  // Computes dot products of column c of a panel with all columns of the panel.
  NLSQ_NOINLINE void dots_with(const double* panel, std::size_t c, double* out) const {
    V sums[4] = {S64::zero(), S64::zero(), S64::zero(), S64::zero()};
    std::size_t i = 0;
    for (; i + 4 * L <= panel_; i += 4 * L) {
#pragma GCC unroll 4
      for (std::size_t u = 0; u < 4; ++u)
        sums[u] = S64::mul_add(S64::set(panel[i + u * L + c]), S64::load(panel + i + u * L), sums[u]);
    }
    for (; i < panel_; i += L) sums[0] = S64::mul_add(S64::set(panel[i + c]), S64::load(panel + i), sums[0]);
    S64::store(S64::add(S64::add(sums[0], sums[1]), S64::add(sums[2], sums[3])), out);
  }

  // Divides column c by v0, which makes it v, and subtracts w v from the later columns. w is zero up to c.
  NLSQ_NOINLINE void reflect_panel(double* panel, std::size_t c, double inverse_v0, const double* w) const {
    alignas(64) double factors[L];
    for (std::size_t k = 0; k < L; ++k) factors[k] = k == c ? inverse_v0 : 1;
    const V factor = S64::load(factors), by = S64::load(w), inverse = S64::set(inverse_v0);
    for (std::size_t i = 0; i < panel_; i += L) {
      const V x = S64::mul(S64::set(panel[i + c]), inverse);
      S64::store(S64::neg_mul_add(x, by, S64::mul(factor, S64::load(panel + i))), panel + i);
    }
  }

  // If the squares of column c leave the range of double, divides the column by a power of two and returns
  // this power. Returns 0 if the column is negligible beside the diagonal of R, and 1 if it is not finite.
  double bring_into_range(double* panel, std::size_t c, double diagonal) const {
    double top = 0;
    for (std::size_t i = c; i < panel_; i += L)
      top = __builtin_fabs(panel[i]) > top ? __builtin_fabs(panel[i]) : top;
    if (top == 0) return 0;
    if (__builtin_fabs(diagonal) > top) top = __builtin_fabs(diagonal);
    if (!(top < __builtin_inf())) return 1;
    const int exponent = __builtin_ilogb(top),
              half = exponent / 2;  // in two steps, because it may be as small as 2^-1074
    const double one = __builtin_ldexp(1.0, -half), other = __builtin_ldexp(1.0, -(exponent - half));
    double squares = 0;
    for (std::size_t i = c; i < panel_; i += L) {
      panel[i] = panel[i] * one * other;
      squares += panel[i] * panel[i];
    }
    return squares > 0 ? __builtin_ldexp(1.0, exponent) : 0;
  }

  // Computes the reflections of panel p, number `at` of its block, and their triangle on the diagonal of T.
  void factor(std::size_t p, std::size_t at) {
    double* const panel = tile_ + p * panel_;
    double* const T = T_ + at * L * (kBlock + 1);
    for (std::size_t c = 0; c < L && p * L + c < n1_; ++c) {
      double* const row = R_ + (p * L + c) * stride_ + p * L;
      alignas(64) double sums[L], w[L] = {};
      dots_with(panel, c, sums);
      double alpha = row[c], unit = 1;
      const bool in_range = sums[c] > 1e-260 && sums[c] < 1e300 && alpha * alpha < 1e300;
      if (!in_range && sums[c] == sums[c]) {  // NaN goes into R
        unit = bring_into_range(panel, c, alpha);
        if (unit == 0) {
          for (std::size_t i = c; i < panel_; i += L) panel[i] = 0;
          continue;
        }
        alpha /= unit;
        dots_with(panel, c, sums);
      }
      const double norm = __builtin_sqrt(alpha * alpha + sums[c]);
      const double beta = alpha > 0 ? -norm : norm, v0 = alpha - beta, tau = -v0 / beta;
      row[c] = beta * unit;
      for (std::size_t k = c + 1; k < L && p * L + k < n1_; ++k) {
        w[k] = tau * (row[k] + sums[k] / v0);
        row[k] -= w[k];
      }
      reflect_panel(panel, c, 1 / v0, w);
      T[c * kBlock + c] = tau;
      for (std::size_t l = 0; l < c; ++l) {
        double sum = 0;
        for (std::size_t k = l; k < c; ++k) sum += T[l * kBlock + k] * (sums[k] / v0);
        T[l * kBlock + c] = -tau * sum;
      }
    }
  }

  // Writes the reflections of panel p transposed to place `at` of turned_.
  void turn(std::size_t p, std::size_t at) {
    const double* from = tile_ + p * panel_;
    double* to = turned_ + at * L * L;
    for (std::size_t i = 0; i < padded_; i += L, from += L * L, to += kBlock * L) {
      const double* rows[L];
      for (std::size_t k = 0; k < L; ++k) rows[k] = from + k * L;
      Packing<double, double>::square(rows, 0, to);
    }
  }

  // Extends T for the panels from b up to p by the block between them and panel p, which is -T (vᵀv) T.
  void extend(std::size_t b, std::size_t p) {
    const std::size_t before = (p - b) * L;
    alignas(64) double between[kBlock * L];
    for (std::size_t k = 0; k < before; k += L) {
      V c[L][1];
      products<1>(tile_ + (b + k / L) * panel_, L, tile_ + p * panel_, panel_, padded_, c);
      const double* const T = T_ + before * (kBlock + 1);
      for (std::size_t i = 0; i < L; ++i) {
        alignas(64) double sums[L];
        S64::store(c[i][0], sums);
        V row = S64::zero();
        for (std::size_t l = 0; l < L; ++l)
          row = S64::mul_add(S64::set(sums[l]), S64::load(T + l * kBlock), row);
        S64::store(row, between + (k + i) * L);
      }
    }
    for (std::size_t i = 0; i < before; ++i) {
      V row = S64::zero();
      for (std::size_t k = i; k < before; ++k)
        row = S64::neg_mul_add(S64::set(T_[i * kBlock + k]), S64::load(between + k * L), row);
      S64::store(row, T_ + i * kBlock + before);
    }
  }

  // Applies the reflections of `many` panels, from p on (numbers `at` and up of their block), to panels
  // [first, end).
  void apply(std::size_t p, std::size_t at, std::size_t many, std::size_t first, std::size_t end) {
    for (; first < end; first += kAcross) {
      switch (end - first) {
        case 1: reflect<1>(p, at, many, first); break;
        case 2: reflect<2>(p, at, many, first); break;
        default: reflect<3>(p, at, many, first);
      }
    }
  }

  template <int N>
  NLSQ_NOINLINE void reflect(std::size_t p, std::size_t at, std::size_t many, std::size_t first) {
    alignas(64) double sums[kAcross * kBlock * L], w[kAcross * kBlock * L];
    const std::size_t depth = many * L, part = depth * L;
    double* const C = tile_ + first * panel_;
    for (std::size_t k = 0; k < depth; k += L) {
      V c[L][N];
      products<N>(tile_ + (p + k / L) * panel_, L, C, panel_, padded_, c);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < L; ++i) {
        const double* const row = R_ + (p * L + k + i) * stride_;
#pragma GCC unroll 3
        for (std::size_t q = 0; q < N; ++q)
          S64::store(S64::add(row_of_r(row, (first + q) * L), c[i][q]), sums + q * part + (k + i) * L);
      }
    }
    for (std::size_t k = 0; k < depth; k += L) {
      V c[L][N];
      products<N>(T_ + at * L * (kBlock + 1) + k, kBlock, sums, part, k + L, c);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < L; ++i) {
        double* const row = R_ + (p * L + k + i) * stride_;
#pragma GCC unroll 3
        for (std::size_t q = 0; q < N; ++q) {
          S64::store(c[i][q], w + q * part + (k + i) * L);
          set_row_of_r(S64::sub(row_of_r(row, (first + q) * L), c[i][q]), row, (first + q) * L);
        }
      }
    }
    for (std::size_t i = 0; i < padded_; i += L) {
      V c[L][N];
      products<N>(turned_ + i * kBlock + at * L * L, L, w, part, depth, c);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < L; ++k)
#pragma GCC unroll 3
        for (std::size_t q = 0; q < N; ++q) {
          double* const to = C + q * panel_ + (i + k) * L;
          S64::store(S64::sub(S64::load(to), c[k][q]), to);
        }
    }
  }
};

// Measurements show that blocking gains nothing with fewer columns.
inline constexpr int qr_block_columns = 64;

void qr_fold(double* R, std::size_t stride, int n1, double* const* columns, std::size_t rows,
             KernelCounters* counters) {
  counters->qr_flops_f64 += qr_flops(n1, rows);
  if constexpr (BlockedQr::possible) {
    if (n1 >= qr_block_columns)
      return BlockedQr::fold(R, stride, static_cast<std::size_t>(n1), columns, rows);
  }
  fold_by_columns(R, stride, n1, columns, rows);
}

}  // namespace
}  // namespace nlsq::inline v0
