// Multiplies by S = U - W V⁻¹ Wᵀ without forming it (see block_kernels.hpp), for conjugate gradients. It goes
// point by point, in two passes over the rows of each.
#pragma once

#include "kernels/factor/elimination.hpp"

namespace nlsq::inline v0 {
namespace {

// Computes the diagonal blocks of S (of U if `schur` is false), in the order of F blocks, and V⁻¹. Adds W V⁻¹
// g to b.
template <class R, class T, int E>
bool prepare_point(const EliminationData<R>& d, std::size_t p, const double* V, const double* g,
                   const double* damping, double* root, bool schur, T* diagonal, T* b, T* G) {
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  const std::size_t entry_size = static_cast<std::size_t>(e) * d.pad;
  if (e > 0 && !form_G<R, T, E>(d, view, p, V, g, damping, root, G, b)) return false;
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const SlotView slot(d, s);
    for (std::size_t c = slot.first; c < slot.last; ++c) {
      const std::size_t block = view.blocks[d.cell_entry[c]], size = d.block_size[block];
      const R* F = record_of(d, s) + d.cell_column[c];
      add_product<R, T>(diagonal + d.reduced_target[block], F, F, size, size, slot.rows, slot.stride);
    }
  }
  for (std::size_t a = 0; schur && e > 0 && a < view.entries; ++a) {
    subtract_products<T, E>(diagonal, d.reduced_target, PairBlocks{view.blocks + a, nullptr},
                            G + a * entry_size, 1, d.block_size[view.blocks[a]], d.block_size,
                            view.blocks + a, d.pad, e);
  }
  return true;
}

// Adds a0 row0 + a1 row1 to y, block by block. row1 may be null.
template <class R, class T>
NLSQ_INLINE void add_to_cells(const EliminationData<R>& d, const PointView& view, const SlotView& slot,
                              const R* row0, T a0, const R* row1, T a1, T* y) {
  using S = Simd<T>;
  const auto all0 = S::set(a0), all1 = S::set(a1);
  for (std::size_t c = slot.first; c < slot.last; ++c) {
    const std::size_t block = view.blocks[d.cell_entry[c]], size = d.block_size[block],
                      column = d.cell_column[c];
    T* to = y + block * d.pad;
    for (std::size_t v = 0; v < size; v += S::lanes) {
      auto sum = S::mul_add(load_part<T>(row0 + column, v, size), all0, S::load(to + v));
      if (row1) sum = S::mul_add(load_part<T>(row1 + column, v, size), all1, sum);
      S::store(sum, to + v);
    }
  }
}

// Computes y += Fᵀ (a - E V⁻¹ Eᵀ a), with a = F s.
template <class R, class T, int E>
void multiply_point(const EliminationData<R>& d, std::size_t p, const double* root, const T* s, T* y,
                    T* along) {
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  T t[most_rows<E>], u[most_rows<E>];
  for (int k = 0; k < e; ++k) t[k] = 0;
  T* a = along;
  for (std::size_t slot = d.slot_first[p]; slot < d.slot_first[p + 1]; ++slot) {
    const R* row = record_of(d, slot);
    const SlotView of(d, slot);
    for (std::size_t i = 0; i < of.rows; ++i, row += of.stride, ++a) {
      *a = static_cast<T>(times_cells<T>(d, view, of, row, s));
      for (int k = 0; k < e; ++k) t[k] += static_cast<T>(row[k]) * *a;
    }
  }
  for (int k = 0; k < e; ++k) u[k] = t[k];
  apply_root<E>(root + d.point_matrix[p], u, e);
  const auto left = [&](const R* row, T of) NLSQ_INLINE_LAMBDA {
    for (int k = 0; k < e; ++k) of -= static_cast<T>(row[k]) * u[k];
    return of;
  };
  a = along;
  for (std::size_t slot = d.slot_first[p]; slot < d.slot_first[p + 1]; ++slot) {
    const R* row = record_of(d, slot);
    const SlotView of(d, slot);
    const std::size_t rows = of.rows, stride = of.stride;
    std::size_t i = 0;
    for (; i + 2 <= rows; i += 2, row += 2 * stride)
      add_to_cells<R, T>(d, view, of, row, left(row, a[i]), row + stride, left(row + stride, a[i + 1]), y);
    if (i < rows) add_to_cells<R, T>(d, view, of, row, left(row, a[i]), nullptr, T(0), y);
    a += rows;
  }
}

template <class R, class T>
bool prepare(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* V,
             const double* g, const double* damping, double* root, bool schur, T* diagonal, T* b,
             T* scratch) {
  bool definite = true;
  for (std::size_t p = first; p < last && definite; ++p) {
    definite = for_size(d.point_size[p], [&]<int E>() {
      return prepare_point<R, T, E>(d, p, V, g, damping, root, schur, diagonal, b, scratch);
    });
  }
  return definite;
}

template <class R, class T>
void multiply(const EliminationData<R>& d, std::size_t first, std::size_t last, const double* root,
              const T* s, T* y, T* scratch) {
  for (std::size_t p = first; p < last; ++p)
    for_size(d.point_size[p], [&]<int E>() { multiply_point<R, T, E>(d, p, root, s, y, scratch); });
}

}  // namespace
}  // namespace nlsq::inline v0
