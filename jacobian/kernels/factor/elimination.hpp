// Eliminates points from the normal equations: S = U - W V⁻¹ Wᵀ, point by point (see block_kernels.hpp).
//
//  If a point is seen under a small angle, V is ill-conditioned, and W V⁻¹ Wᵀ would lose as many digits as
//  V⁻¹ does. So the product is computed as GᵀG with G = QᵀF. The columns of Q are an orthonormal basis of the
//  columns of E, and are computed in double. The method is related to that of Demmel, Sommer, Cremers and
//  Usenko, Square root bundle adjustment for large-scale reconstruction, CVPR 2021. The G of a point stays in
//  the L1 cache. Each pair of its entries then updates one block of S. R is the format of the records, and T
//  is the format of the arithmetic: R or double.
#pragma once

#include "kernels/factor/elimination_point.hpp"

#include "kernels/block_kernels.hpp"

namespace nlsq::inline v0 {
namespace {

// Computes block += F_aᵀ F_b over two rows of one slot, or over one row if `two` is false (F_a1 and F_b1
// null).
template <class R, class T, bool two>
NLSQ_INLINE void add_rows(T* block, const ReducedLayout& layout, const R* F_a0, const R* F_a1, const R* F_b0,
                          const R* F_b1) {
  using S = Simd<T>;
  const std::size_t by_rows = layout.whole;
  for (std::size_t v = 0; v < by_rows; v += S::lanes) {
    const auto f0 = load_part<T>(F_b0, v, by_rows);
    const auto f1 = two ? load_part<T>(F_b1, v, by_rows) : S::zero();
    T* to = block + v;
    for (std::size_t j = 0; j < layout.rows; ++j, to += layout.stride) {
      auto sum = S::mul_add(S::set(static_cast<T>(F_a0[j])), f0, S::load(to));
      if constexpr (two) sum = S::mul_add(S::set(static_cast<T>(F_a1[j])), f1, sum);
      S::store(sum, to);
    }
  }
  T* column = block + layout.rows * layout.stride;
  for (std::size_t j = layout.whole; j < layout.columns; ++j, column += layout.column_stride) {
    const auto f0 = S::set(static_cast<T>(F_b0[j])), f1 = two ? S::set(static_cast<T>(F_b1[j])) : S::zero();
    for (std::size_t v = 0; v < layout.rows; v += S::lanes) {
      auto sum = S::mul_add(load_part<T>(F_a0, v, layout.rows), f0, S::load(column + v));
      if constexpr (two) sum = S::mul_add(load_part<T>(F_a1, v, layout.rows), f1, sum);
      S::store(sum, column + v);
    }
  }
}

// Calls use(a, b) for the sizes of two cameras, as with_size() does.
NLSQ_INLINE void with_sizes(std::size_t a, std::size_t b, auto use) {
  if (a == 6 && b == 6) use(std::size_t{6}, std::size_t{6});
  else if (a == 9 && b == 9) use(std::size_t{9}, std::size_t{9});
  else use(a, b);
}

template <class R, class T>
[[gnu::noinline]] void add_product(T* block, const R* F_a, const R* F_b, std::size_t size_a,
                                   std::size_t size_b, std::size_t rows, std::size_t stride) {
  with_sizes(size_a, size_b, [&](std::size_t a, std::size_t b) NLSQ_INLINE_LAMBDA {
    const ReducedLayout layout(a, b, Simd<T>::lanes);
    std::size_t i = 0;
    for (; i + 2 <= rows; i += 2) {
      add_rows<R, T, true>(block, layout, F_a + i * stride, F_a + (i + 1) * stride, F_b + i * stride,
                           F_b + (i + 1) * stride);
    }
    for (; i < rows; ++i)
      add_rows<R, T, false>(block, layout, F_a + i * stride, nullptr, F_b + i * stride, nullptr);
  });
}

// Computes G += Qᵀ F over some rows of one slot. G has e rows of `pad` numbers, and Q rows of e numbers.
template <class R, class T, int E>
[[gnu::noinline]] void add_G(T* G, const T* Q, const R* F, std::size_t size_f, std::size_t pad,
                             std::size_t rows, std::size_t stride, int size) {
  using S = Simd<T>;
  const int e = E == kAnySize ? size : E;
  for (std::size_t v = 0; v < size_f; v += S::lanes) {
    const T* q = Q;
    std::size_t i = 0;
    for (; i + 2 <= rows; i += 2, q += 2 * e) {
      const auto f0 = load_part<T>(F + i * stride, v, size_f),
                 f1 = load_part<T>(F + (i + 1) * stride, v, size_f);
      T* to = G + v;
      for (int k = 0; k < e; ++k, to += pad)
        S::store(S::mul_add(S::set(q[k]), f0, S::mul_add(S::set(q[e + k]), f1, S::load(to))), to);
    }
    if (i == rows) continue;
    const auto f = load_part<T>(F + i * stride, v, size_f);
    T* to = G + v;
    for (int k = 0; k < e; ++k, to += pad) S::store(S::mul_add(S::set(q[k]), f, S::load(to)), to);
  }
}

// Computes b += Gᵀ h for one entry.
template <class T, int E>
NLSQ_INLINE void add_Gh(T* b, const T* G, const double* h, std::size_t size_f, std::size_t pad, int size) {
  using S = Simd<T>;
  const int e = E == kAnySize ? size : E;
  for (std::size_t v = 0; v < size_f; v += S::lanes) {
    auto sum = S::load(b + v);
    for (int k = 0; k < e; ++k) {
      sum = S::mul_add(S::set(static_cast<T>(h[k])), S::load(G + static_cast<std::size_t>(k) * pad + v), sum);
    }
    S::store(sum, b + v);
  }
}

// Computes G = QᵀF of all entries, [entry][k][pad], and the root of the inverse of V, and adds Gᵀ(Qᵀr) to b.
// Returns false if V is not positive definite.
template <class R, class T, int E>
bool form_G(const EliminationData<R>& d, const PointView& view, std::size_t p, const double* V,
            const double* g, const double* damping, double* root, T* G, T* b) {
  using S = Simd<T>;
  constexpr std::size_t kRows = 8;  // of Q that are held at a time
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const std::size_t pad = d.pad, entry_size = static_cast<std::size_t>(e) * pad;
  constexpr double kLeastPivot = sizeof(T) == sizeof(float) ? 1e-5 : 1e-2;  // see OrthonormalRows
  OrthonormalRows<E> basis;
  if (!basis.begin(V + d.point_matrix[p], damping + d.point_offset[p], kLeastPivot, e)) return false;
  for (std::size_t s = d.slot_first[p]; basis.needs_rows() && s < d.slot_first[p + 1]; ++s) {
    const SlotView of(d, s);
    const R* row = record_of(d, s);
    for (std::size_t i = 0; i < of.rows; ++i, row += of.stride) basis.add(row);
  }
  if (basis.needs_rows() && !basis.end()) return false;
  basis.root_of_inverse(root + d.point_matrix[p]);
  if (view.entries == 0) return true;
  for (std::size_t k = 0; k < view.entries * entry_size; k += S::lanes) S::store(S::zero(), G + k);
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const SlotView of(d, s);
    for (std::size_t from = 0; from < of.rows; from += kRows) {
      const R* record = record_of(d, s) + from * of.stride;
      const std::size_t rows = of.rows - from < kRows ? of.rows - from : kRows;
      T Q[kRows * most_rows<E>];
      for (std::size_t i = 0; i < rows; ++i) {
        double q[most_rows<E>];
        basis(record + i * of.stride, q);
        for (int k = 0; k < e; ++k) Q[static_cast<int>(i) * e + k] = static_cast<T>(q[k]);
      }
      for (std::size_t c = of.first; c < of.last; ++c) {
        const std::size_t a = d.cell_entry[c];
        add_G<R, T, E>(G + a * entry_size, Q, record + d.cell_column[c], d.block_size[view.blocks[a]], pad,
                       rows, of.stride, e);
      }
    }
  }
  double h[most_rows<E>];
  basis(g + d.point_offset[p], h);
  for (std::size_t a = 0; a < view.entries; ++a)
    add_Gh<T, E>(b + view.blocks[a] * pad, G + a * entry_size, h, d.block_size[view.blocks[a]], pad, e);
  return true;
}

// Computes S += FᵀF.
template <class R, class T>
void add_products(const EliminationData<R>& d, const PointView& view, std::size_t p, T* S_out) {
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const R* record = record_of(d, s);
    const SlotView of(d, s);
    const std::size_t rows = of.rows, stride = of.stride, first = of.first, last = of.last;
    const NonZero cells(
        last - first, rows, stride, [&](std::size_t k) { return record + d.cell_column[first + k]; },
        [&](std::size_t k) { return d.block_size[view.blocks[d.cell_entry[first + k]]]; });
    for (std::size_t c = first; c < last; ++c) {
      if (!cells(c - first)) continue;
      const std::size_t a = d.cell_entry[c], size_a = d.block_size[view.blocks[a]];
      const R* F_a = record + d.cell_column[c];
      const PairBlocks pairs = pairs_of(d, view, p, a);
      for (std::size_t other = c; other < last; ++other) {
        if (!cells(other - first)) continue;
        const std::size_t b = d.cell_entry[other];
        add_product<R, T>(S_out + d.reduced_target[pairs(b - a)], F_a, record + d.cell_column[other], size_a,
                          d.block_size[view.blocks[b]], rows, stride);
      }
    }
  }
}

// Returns sum - Σ_k x_k w_k over the point's e rows. x and w are functions of k.
template <class T, int E>
NLSQ_INLINE typename Simd<T>::V without_products(typename Simd<T>::V sum, int size, auto x, auto w) {
  const int e = E == kAnySize ? size : E;
  for (int k = 0; k < e; ++k)
    sum = Simd<T>::neg_mul_add(x(static_cast<std::size_t>(k)), w(static_cast<std::size_t>(k)), sum);
  return sum;
}

// Subtracts G_aᵀ G_c from one block of S, over the point's e rows.
template <class T, int E>
NLSQ_INLINE void subtract_product(T* block, const T* G_a, const T* G_c, const ReducedLayout& layout,
                                  std::size_t pad, int e) {
  using S = Simd<T>;
  constexpr int kept = E == kAnySize || E == 0 ? 1 : E;
  for (std::size_t v = 0; v < layout.whole; v += S::lanes) {
    typename S::V w[kept];
    if constexpr (E != kAnySize) {
      for (int k = 0; k < E; ++k) w[k] = S::load(G_c + static_cast<std::size_t>(k) * pad + v);
    }
    T* to = block + v;
    for (std::size_t j = 0; j < layout.rows; ++j, to += layout.stride) {
      S::store(without_products<T, E>(
                   S::load(to), e, [&](std::size_t k) NLSQ_INLINE_LAMBDA { return S::set(G_a[k * pad + j]); },
                   [&](std::size_t k) NLSQ_INLINE_LAMBDA {
                     if constexpr (E == kAnySize) return S::load(G_c + k * pad + v);
                     else return w[k];
                   }),
               to);
    }
  }
  T* column = block + layout.rows * layout.stride;
  for (std::size_t j = layout.whole; j < layout.columns; ++j, column += layout.column_stride) {
    for (std::size_t v = 0; v < layout.rows; v += S::lanes) {
      S::store(without_products<T, E>(
                   S::load(column + v), e,
                   [&](std::size_t k) NLSQ_INLINE_LAMBDA { return S::load(G_a + k * pad + v); },
                   [&](std::size_t k) NLSQ_INLINE_LAMBDA { return S::set(G_c[k * pad + j]); }),
               column + v);
    }
  }
}

// Subtracts G_aᵀ G_c over the point's e rows from the blocks (a, c) of S, for c = a, a + 1, ... G points to
// G_a. If `entries` is given, it does so only for the c with nonzero G_c.
template <class T, int E>
[[gnu::noinline]] void subtract_products(T* S_out, const std::uint64_t* targets, PairBlocks pairs, const T* G,
                                         std::size_t count, std::size_t size_a, const std::uint32_t* sizes,
                                         const std::uint32_t* blocks, std::size_t pad, int size,
                                         std::size_t a = 0, const NonZero* entries = nullptr) {
  const int e = E == kAnySize ? size : E;
  const T* G_c = G;
  for (std::size_t c = 0; c < count; ++c, G_c += static_cast<std::size_t>(e) * pad) {
    if (entries && !(*entries)(a + c)) continue;
    T* block = S_out + targets[pairs(c)];
    with_sizes(size_a, sizes[blocks[c]], [&](std::size_t rows, std::size_t columns) NLSQ_INLINE_LAMBDA {
      subtract_product<T, E>(block, G, G_c, ReducedLayout(rows, columns, Simd<T>::lanes), pad, e);
    });
  }
}

template <class R, class T, int E>
bool eliminate_point(const EliminationData<R>& d, std::size_t p, const double* V, const double* g,
                     const double* damping, double* root, T* S_out, T* b, T* G) {
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  const std::size_t pad = d.pad, entry_size = static_cast<std::size_t>(e) * pad;
  if (e > 0 && !form_G<R, T, E>(d, view, p, V, g, damping, root, G, b)) return false;
  add_products<R, T>(d, view, p, S_out);
  if (e == 0) return true;
  const NonZero entries(
      view.entries, static_cast<std::size_t>(e), pad, [&](std::size_t k) { return G + k * entry_size; },
      [&](std::size_t k) { return d.block_size[view.blocks[k]]; });
  for (std::size_t a = 0; a < view.entries; ++a) {
    if (!entries(a)) continue;
    subtract_products<T, E>(S_out, d.reduced_target, pairs_of(d, view, p, a), G + a * entry_size,
                            view.entries - a, d.block_size[view.blocks[a]], d.block_size, view.blocks + a,
                            pad, e, a, &entries);
  }
  return true;
}

// Returns the product of a row with s over the cells of a slot.
template <class T, class R>
NLSQ_INLINE double times_cells(const EliminationData<R>& d, const PointView& view, const SlotView& slot,
                               const R* row, const T* s) {
  using S = Simd<T>;
  if (slot.first == slot.last) return 0;
  auto sum = S::zero();
  for (std::size_t c = slot.first; c < slot.last; ++c) {
    const std::size_t block = view.blocks[d.cell_entry[c]];
    with_size(d.block_size[block], [&](std::size_t size) NLSQ_INLINE_LAMBDA {
      for (std::size_t v = 0; v < size; v += S::lanes)
        sum = S::mul_add(load_part<T>(row + d.cell_column[c], v, size), S::load(s + block * d.pad + v), sum);
    });
  }
  return S::sum(sum);
}

template <class R, class T, int E>
void substitute_point(const EliminationData<R>& d, std::size_t p, const double* root, const double* g,
                      const T* s, double* step) {
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  double t[most_rows<E>];
  const double* gp = g + d.point_offset[p];
  for (int k = 0; k < e; ++k) t[k] = gp[k];
  // Without cameras, no row connects the point with anything else.
  const std::size_t end = view.entries > 0 ? d.slot_first[p + 1] : d.slot_first[p];
  for (std::size_t slot = d.slot_first[p]; slot < end; ++slot) {
    const R* row = record_of(d, slot);
    const SlotView of(d, slot);
    for (std::size_t i = 0; i < of.rows; ++i, row += of.stride) {
      const double moved = times_cells<T>(d, view, of, row, s);
      for (int k = 0; k < e; ++k) t[k] += static_cast<double>(row[k]) * moved;
    }
  }
  apply_root<E>(root + d.point_matrix[p], t, e);
  double* out = step + d.point_offset[p];
  for (int k = 0; k < e; ++k) out[k] = -t[k];
}

template <class R, class T, int E>
void bend_point(const EliminationData<R>& d, std::size_t p, const double* root, const double* step,
                const T* s, double factor, EvenView<std::uint32_t> row_of, double* moved, double* bent,
                T* b) {
  using S = Simd<T>;
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  const double* step_p = step + d.point_offset[p];
  double* g = bent + d.point_offset[p];
  double t[most_rows<E>];
  for (int k = 0; k < e; ++k) g[k] = 0;
  for (std::size_t slot = d.slot_first[p]; slot < d.slot_first[p + 1]; ++slot) {
    const R* row = record_of(d, slot);
    double* to = moved + row_of[slot];
    const SlotView of(d, slot);
    for (std::size_t i = 0; i < of.rows; ++i, row += of.stride) {
      double linear = times_cells<T>(d, view, of, row, s);
      for (int k = 0; k < e; ++k) linear += static_cast<double>(row[k]) * step_p[k];
      to[i] = factor * (to[i] - linear);
      for (int k = 0; k < e; ++k) g[k] += static_cast<double>(row[k]) * to[i];
    }
  }
  if (view.entries == 0) return;
  for (int k = 0; k < e; ++k) t[k] = g[k];
  apply_root<E>(root + d.point_matrix[p], t, e);
  for (std::size_t slot = d.slot_first[p]; slot < d.slot_first[p + 1]; ++slot) {
    const R* row = record_of(d, slot);
    const double* from = moved + row_of[slot];
    const SlotView of(d, slot);
    for (std::size_t i = 0; i < of.rows; ++i, row += of.stride) {
      double left = from[i];
      for (int k = 0; k < e; ++k) left -= static_cast<double>(row[k]) * t[k];
      const auto all = S::set(static_cast<T>(left));
      for (std::size_t c = of.first; c < of.last; ++c) {
        const std::size_t block = view.blocks[d.cell_entry[c]], size = d.block_size[block];
        T* to = b + block * d.pad;
        for (std::size_t v = 0; v < size; v += S::lanes) {
          S::store(S::mul_add(load_part<T>(row + d.cell_column[c], v, size), all, S::load(to + v)), to + v);
        }
      }
    }
  }
}

template <class R, class T>
void gather(const EliminationData<R>& d, std::size_t first, std::size_t last, double* V, double* g,
            T* squares, T* gradient) {
  const auto gather_one = [&]<int E>(std::size_t p) { gather_point<R, T, E>(d, p, V, g, squares, gradient); };
  for (std::size_t p = first; p < last; ++p) {
    switch (d.point_size[p]) {
      case 5: gather_one.template operator()<5>(p); break;
      case 7: gather_one.template operator()<7>(p); break;
      case 8: gather_one.template operator()<8>(p); break;
      default: for_size(d.point_size[p], [&]<int E>() { gather_one.template operator()<E>(p); });
    }
  }
}

template <class R, class T>
bool eliminate(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* V,
               const double* g, const double* damping, double* root, T* S, T* b, T* scratch) {
  bool definite = true;
  for (std::size_t p = first; p < last && definite; ++p) {
    definite = for_size(d.point_size[p], [&]<int E>() {
      return eliminate_point<R, T, E>(d, p, V, g, damping, root, S, b, scratch);
    });
  }
  return definite;
}

template <class R, class T>
void substitute(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* root,
                const double* g, const T* s, double* step) {
  for (std::size_t p = first; p < last; ++p)
    for_size(d.point_size[p], [&]<int E>() { substitute_point<R, T, E>(d, p, root, g, s, step); });
}

template <class R, class T>
void bend(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* root,
          const double* step, const T* s, double factor, EvenView<std::uint32_t> row, double* moved,
          double* bent, T* b) {
  for (std::size_t p = first; p < last; ++p) {
    for_size(d.point_size[p],
             [&]<int E>() { bend_point<R, T, E>(d, p, root, step, s, factor, row, moved, bent, b); });
  }
}

}  // namespace
}  // namespace nlsq::inline v0
