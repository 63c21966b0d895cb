// Elimination of points from the normal equations: S = U - W V⁻¹ Wᵀ, point by point (see block_kernels.hpp).
//
// A point's W and Y = V⁻¹Wᵀ stay in the first cache; each pair of its entries then updates one block of S. Small
// matrices V are inverted in double: their condition is that of a point seen under a small angle. R: the format of
// records; T: that of the arithmetic, R or double.
#pragma once

#include "simd.hpp"

#include <nlsq/block_kernels.hpp>

namespace nlsq::inline v0 {
namespace {

constexpr int kAnySize = -1;

// (V + diag(damping))⁻¹ by Cholesky: A = L Lᵀ, L⁻¹ in place, then L⁻ᵀL⁻¹. `L`: e x e scratch.
template <int E>
bool invert(const double* V, const double* damping, double* inverse, int size) {
  const int e = E == kAnySize ? size : E;
  double* L = inverse;
  for (int j = 0; j < e; ++j) {
    for (int i = j; i < e; ++i) {
      double sum = V[i * e + j] + (i == j ? damping[i] : 0);
      for (int k = 0; k < j; ++k) sum -= L[i * e + k] * L[j * e + k];
      if (i == j) {
        if (!(sum > 0)) return false;
        L[j * e + j] = __builtin_sqrt(sum);
      } else {
        L[i * e + j] = sum / L[j * e + j];
      }
    }
  }
  for (int j = 0; j < e; ++j) {  // L⁻¹, column by column
    L[j * e + j] = 1 / L[j * e + j];
    for (int i = j + 1; i < e; ++i) {
      double sum = 0;
      for (int k = j; k < i; ++k) sum -= L[i * e + k] * L[k * e + j];
      L[i * e + j] = sum / L[i * e + i];
    }
  }
  for (int i = 0; i < e; ++i) {  // row i of the product needs rows >= i of L⁻¹ alone
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = i; k < e; ++k) sum += L[k * e + i] * L[k * e + j];
      inverse[j * e + i] = sum;  // the upper half is free
      if (i == j) continue;
    }
  }
  for (int i = 0; i < e; ++i) {
    for (int j = 0; j < i; ++j) inverse[i * e + j] = inverse[j * e + i];
  }
  return true;
}

template <class T>
NLSQ_INLINE typename Simd<T>::V load_as(const T* p) { return Simd<T>::load(p); }
template <class T>
requires(sizeof(T) == 8) NLSQ_INLINE typename Simd<T>::V load_as(const float* p) { return Simd<T>::load_widened(p); }

// `size` numbers from row + v on, zeros beyond.
template <class T, class R>
NLSQ_INLINE typename Simd<T>::V load_part(const R* row, std::size_t v, std::size_t size) {
  using S = Simd<T>;
  return v + S::lanes <= size ? load_as<T>(row + v) : S::keep_first(load_as<T>(row + v), size - v);
}

struct PointView {
  const std::uint32_t* blocks;  // F block of each entry
  std::size_t entries;
  template <class R>
  PointView(const EliminationData<R>& data, std::size_t point)
      : blocks(data.entry_block + data.entry_first[point]),
        entries(data.entry_first[point + 1] - data.entry_first[point]) {}
};

template <class R, class T, int E>
void gather_point(const EliminationData<R>& d, std::size_t p, double* V, double* g, T* squares, T* gradient) {
  using S = Simd<T>;
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  double* Vp = V + d.point_matrix[p];
  double* gp = g + d.point_offset[p];
  for (int k = 0; k < e * e; ++k) Vp[k] = 0;
  for (int k = 0; k < e; ++k) gp[k] = 0;
  const PointView view(d, p);
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const R* row = d.J + d.record[s];
    for (std::size_t i = 0; i < d.rows[s]; ++i, row += d.stride[s]) {
      const double r = static_cast<double>(row[e]);
      for (int k = 0; k < e; ++k) {
        const double ek = static_cast<double>(row[k]);
        gp[k] += ek * r;
        for (int l = 0; l <= k; ++l) Vp[k * e + l] += ek * static_cast<double>(row[l]);
      }
      const auto r_all = S::set(static_cast<T>(row[e]));
      for (std::size_t c = d.cell_first[s]; c < d.cell_first[s + 1]; ++c) {
        const std::size_t block = view.blocks[d.cell_entry[c]], size = d.block_size[block];
        T* squares_of = squares + block * d.pad;
        T* gradient_of = gradient + block * d.pad;
        for (std::size_t v = 0; v < size; v += S::lanes) {
          const auto f = load_part<T>(row + d.cell_column[c], v, size);
          S::store(S::mul_add(f, f, S::load(squares_of + v)), squares_of + v);
          S::store(S::mul_add(f, r_all, S::load(gradient_of + v)), gradient_of + v);
        }
      }
    }
  }
  for (int k = 0; k < e; ++k) {
    for (int l = 0; l < k; ++l) Vp[l * e + k] = Vp[k * e + l];
  }
}

// block += F_aᵀ F_b over the rows of one slot.
template <class R, class T>
[[gnu::noinline]] void add_product(T* block, const R* F_a, const R* F_b, std::size_t size_a, std::size_t size_b, std::size_t pad,
                                   std::size_t rows, std::size_t stride) {
  using S = Simd<T>;
  for (std::size_t v = 0; v < size_b; v += S::lanes) {
    std::size_t i = 0;
    for (; i + 2 <= rows; i += 2) {
      const R* F0 = F_a + i * stride;
      const R* F1 = F0 + stride;
      const auto f0 = load_part<T>(F_b + i * stride, v, size_b), f1 = load_part<T>(F_b + (i + 1) * stride, v, size_b);
      T* to = block + v;
      for (std::size_t j = 0; j < size_a; ++j, to += pad) {
        S::store(S::mul_add(S::set(static_cast<T>(F0[j])), f0, S::mul_add(S::set(static_cast<T>(F1[j])), f1, S::load(to))), to);
      }
    }
    for (; i < rows; ++i) {
      const auto f = load_part<T>(F_b + i * stride, v, size_b);
      T* to = block + v;
      for (std::size_t j = 0; j < size_a; ++j, to += pad) {
        S::store(S::mul_add(S::set(static_cast<T>(F_a[i * stride + j])), f, S::load(to)), to);
      }
    }
  }
}

// W (e rows of `pad`) += Eᵀ F over the rows of one slot.
template <class R, class T, int E>
[[gnu::noinline]] void add_W(T* W, const R* record, const R* F, std::size_t size_f, std::size_t pad, std::size_t rows, std::size_t stride, int size) {
  using S = Simd<T>;
  const int e = E == kAnySize ? size : E;
  for (std::size_t v = 0; v < size_f; v += S::lanes) {
    for (std::size_t i = 0; i < rows; ++i) {
      const auto f = load_part<T>(F + i * stride, v, size_f);
      T* w = W + v;
      for (int k = 0; k < e; ++k, w += pad) {
        S::store(S::mul_add(S::set(static_cast<T>(record[i * stride + static_cast<std::size_t>(k)])), f, S::load(w)), w);
      }
    }
  }
}

// W of all entries, [entry][k][pad], and S += FᵀF.
template <class R, class T, int E>
void form_W(const EliminationData<R>& d, const PointView& view, std::size_t p, T* W, T* S_out) {
  using S = Simd<T>;
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const std::size_t pad = d.pad, entry_size = static_cast<std::size_t>(e) * pad;
  for (std::size_t k = 0; k < view.entries * entry_size; k += S::lanes) S::store(S::zero(), W + k);
  const std::uint64_t* targets = d.pair_target + d.pair_first[p];
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const R* record = d.J + d.record[s];
    const std::size_t stride = d.stride[s], rows = d.rows[s];
    for (std::size_t c = d.cell_first[s]; c < d.cell_first[s + 1]; ++c) {
      const std::size_t a = d.cell_entry[c], size_a = d.block_size[view.blocks[a]];
      const R* F_a = record + d.cell_column[c];
      if (e > 0) add_W<R, T, E>(W + a * entry_size, record, F_a, size_a, pad, rows, stride, e);
      for (std::size_t other = c; other < d.cell_first[s + 1]; ++other) {
        const std::size_t b = d.cell_entry[other];
        add_product<R, T>(S_out + targets[a * view.entries - a * (a + 1) / 2 + b], F_a, record + d.cell_column[other], size_a,
                          d.block_size[view.blocks[b]], pad, rows, stride);
      }
    }
  }
}

// Blocks (a, c) of S, c = a, a + 1, ...: -= Y_aᵀ W_c over the point's e rows.
template <class T, int E>
[[gnu::noinline]] void subtract_products(T* S_out, const std::uint64_t* target, const T* Y, const T* W, std::size_t count,
                                         std::size_t size_a, const std::uint32_t* sizes, const std::uint32_t* blocks,
                                         std::size_t pad, int size) {
  using S = Simd<T>;
  const int e = E == kAnySize ? size : E;
  for (std::size_t c = 0; c < count; ++c, W += static_cast<std::size_t>(e) * pad) {
    const std::size_t size_c = sizes[blocks[c]];
    for (std::size_t v = 0; v < size_c; v += S::lanes) {
      T* to = S_out + target[c] + v;
      if constexpr (E != kAnySize) {
        typename S::V w[E > 0 ? E : 1];
        for (int k = 0; k < E; ++k) w[k] = S::load(W + static_cast<std::size_t>(k) * pad + v);
        for (std::size_t j = 0; j < size_a; ++j, to += pad) {
          auto sum = S::load(to);
          for (int k = 0; k < E; ++k) sum = S::neg_mul_add(S::set(Y[static_cast<std::size_t>(k) * pad + j]), w[k], sum);
          S::store(sum, to);
        }
      } else {
        for (std::size_t j = 0; j < size_a; ++j, to += pad) {
          auto sum = S::load(to);
          for (int k = 0; k < e; ++k) {
            sum = S::neg_mul_add(S::set(Y[static_cast<std::size_t>(k) * pad + j]), S::load(W + static_cast<std::size_t>(k) * pad + v), sum);
          }
          S::store(sum, to);
        }
      }
    }
  }
}

// Y = V⁻¹ W of one entry; b += Yᵀ g.
template <class T, int E>
[[gnu::noinline]] void form_Y(T* Y, const T* W, const double* inverse, const double* g, T* b, std::size_t size_f, std::size_t pad, int size) {
  using S = Simd<T>;
  const int e = E == kAnySize ? size : E;
  for (std::size_t v = 0; v < size_f; v += S::lanes) {
    auto b_sum = S::load(b + v);
    for (int k = 0; k < e; ++k) {
      auto sum = S::zero();
      for (int l = 0; l < e; ++l) {
        sum = S::mul_add(S::set(static_cast<T>(inverse[k * e + l])), S::load(W + static_cast<std::size_t>(l) * pad + v), sum);
      }
      S::store(sum, Y + static_cast<std::size_t>(k) * pad + v);
      b_sum = S::mul_add(S::set(static_cast<T>(g[k])), sum, b_sum);
    }
    S::store(b_sum, b + v);
  }
}

template <class R, class T, int E>
bool eliminate_point(const EliminationData<R>& d, std::size_t p, const double* V, const double* g, const double* damping,
                     double* inverse, T* S_out, T* b, T* scratch) {
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  const std::size_t pad = d.pad, entry_size = static_cast<std::size_t>(e) * pad;
  double* Vi = inverse + d.point_matrix[p];
  if (e > 0 && !invert<E>(V + d.point_matrix[p], damping + d.point_offset[p], Vi, e)) return false;
  T* W = scratch;
  T* Y = scratch + view.entries * entry_size;
  form_W<R, T, E>(d, view, p, W, S_out);
  if (e == 0) return true;
  for (std::size_t a = 0; a < view.entries; ++a) {
    form_Y<T, E>(Y + a * entry_size, W + a * entry_size, Vi, g + d.point_offset[p], b + view.blocks[a] * pad, d.block_size[view.blocks[a]], pad, e);
  }
  const std::uint64_t* target = d.pair_target + d.pair_first[p];
  for (std::size_t a = 0; a < view.entries; ++a) {
    const std::size_t count = view.entries - a;
    subtract_products<T, E>(S_out, target, Y + a * entry_size, W + a * entry_size, count, d.block_size[view.blocks[a]], d.block_size,
                            view.blocks + a, pad, e);
    target += count;
  }
  return true;
}

template <class R, class T, int E>
void substitute_point(const EliminationData<R>& d, std::size_t p, const double* inverse, const double* g, const T* s, double* step) {
  using S = Simd<T>;
  constexpr int kMost = E == kAnySize ? 64 : E;
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  double t[kMost > 0 ? kMost : 1];
  const double* gp = g + d.point_offset[p];
  for (int k = 0; k < e; ++k) t[k] = gp[k];
  for (std::size_t slot = d.slot_first[p]; slot < d.slot_first[p + 1]; ++slot) {
    const R* row = d.J + d.record[slot];
    for (std::size_t i = 0; i < d.rows[slot]; ++i, row += d.stride[slot]) {
      auto sum = S::zero();
      for (std::size_t c = d.cell_first[slot]; c < d.cell_first[slot + 1]; ++c) {
        const std::size_t block = view.blocks[d.cell_entry[c]], size = d.block_size[block];
        for (std::size_t v = 0; v < size; v += S::lanes) {
          sum = S::mul_add(load_part<T>(row + d.cell_column[c], v, size), S::load(s + block * d.pad + v), sum);
        }
      }
      const double moved = S::sum(sum);
      for (int k = 0; k < e; ++k) t[k] += static_cast<double>(row[k]) * moved;
    }
  }
  const double* Vi = inverse + d.point_matrix[p];
  double* out = step + d.point_offset[p];
  for (int k = 0; k < e; ++k) {
    double sum = 0;
    for (int l = 0; l < e; ++l) sum -= Vi[k * e + l] * t[l];
    out[k] = sum;
  }
}

// The common sizes have loops of known length.
#define NLSQ_FOR_SIZE(size, call)     \
  switch (size) {                     \
    case 0: { constexpr int E = 0; call; } break;        \
    case 1: { constexpr int E = 1; call; } break;        \
    case 2: { constexpr int E = 2; call; } break;        \
    case 3: { constexpr int E = 3; call; } break;        \
    case 4: { constexpr int E = 4; call; } break;        \
    case 6: { constexpr int E = 6; call; } break;        \
    default: { constexpr int E = kAnySize; call; }       \
  }

template <class R, class T>
void gather(const EliminationData<R>& d, std::size_t first, std::size_t last, double* V, double* g, T* squares, T* gradient) {
  for (std::size_t p = first; p < last; ++p) NLSQ_FOR_SIZE(d.point_size[p], (gather_point<R, T, E>(d, p, V, g, squares, gradient)))
}

template <class R, class T>
bool eliminate(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* V, const double* g,
               const double* damping, double* inverse, T* S, T* b, T* scratch) {
  bool definite = true;
  for (std::size_t p = first; p < last && definite; ++p) {
    NLSQ_FOR_SIZE(d.point_size[p], (definite = eliminate_point<R, T, E>(d, p, V, g, damping, inverse, S, b, scratch)))
  }
  return definite;
}

template <class R, class T>
void substitute(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* inverse, const double* g,
                const T* s, double* step) {
  for (std::size_t p = first; p < last; ++p) NLSQ_FOR_SIZE(d.point_size[p], (substitute_point<R, T, E>(d, p, inverse, g, s, step)))
}

#undef NLSQ_FOR_SIZE

}  // namespace
}  // namespace nlsq::inline v0
