// Defines what an elimination (elimination.hpp) needs for a single point: views of its rows, its normal
// equations V and g, the root of the inverse of V, and an orthonormal basis of the columns of E.
#pragma once

#include "kernels/simd.hpp"

#include "kernels/block_kernels.hpp"

namespace nlsq::inline v0 {
namespace {

constexpr int kAnySize = -1;

// Calls use.operator()<E>() for a point of size E. The common sizes get loops of known length. For other
// sizes, E is kAnySize.
NLSQ_INLINE auto for_size(std::uint32_t size, auto use) {
  switch (size) {
    case 0: return use.template operator()<0>();
    case 1: return use.template operator()<1>();
    case 2: return use.template operator()<2>();
    case 3: return use.template operator()<3>();
    case 4: return use.template operator()<4>();
    case 6: return use.template operator()<6>();
    default: return use.template operator()<kAnySize>();
  }
}

// Returns the length of arrays for a point: the largest number of rows of its matrix, and at least 1.
template <int E>
constexpr int most_rows = E == kAnySize ? kLargestPoint
                          : E > 0       ? E
                                        : 1;

// Computes L of A = L Lᵀ. A is symmetric, and only its lower triangle is read. The diagonal of L holds
// reciprocals. Returns false if A is not positive definite.
template <int E>
bool factor_small(const double* A, double* L, int size) {
  const int e = E == kAnySize ? size : E;
  for (int j = 0; j < e; ++j) {
    for (int i = j; i < e; ++i) {
      double sum = A[i * e + j];
      for (int k = 0; k < j; ++k) sum -= L[i * e + k] * L[j * e + k];
      if (i > j) L[i * e + j] = sum * L[j * e + j];
      else if (sum > 0) L[j * e + j] = 1 / __builtin_sqrt(sum);
      else return false;
    }
  }
  return true;
}

// Replaces x by L⁻¹ x.
template <int E>
NLSQ_INLINE void solve_small(const double* L, double* x, int size) {
  const int e = E == kAnySize ? size : E;
  for (int i = 0; i < e; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= L[i * e + k] * x[k];
    x[i] *= L[i * e + i];
  }
}

// Replaces t by NᵀN t. N is a lower triangle, stored by rows and without gaps. With the root N of an inverse
// this loses fewer digits than a product with the inverse itself.
template <int E>
NLSQ_INLINE void apply_root(const double* N, double* t, int size) {
  const int e = E == kAnySize ? size : E;
  for (int i = e; i-- > 0;) {
    double sum = 0;
    for (int j = 0; j <= i; ++j) sum += N[triangle(i) + j] * t[j];
    t[i] = sum;
  }
  for (int j = 0; j < e; ++j) {
    double sum = 0;
    for (int i = j; i < e; ++i) sum += N[triangle(i) + j] * t[i];
    t[j] = sum;
  }
}

// Computes the rows of Q, whose columns are an orthonormal basis of the columns of E. The square roots of the
// damping count as further rows of E. Since E = Q Lᵀ, a row q of Q solves L q = e, where e is that row of E.
// L is the Cholesky factor of V = EᵀE. The rounding errors of L grow with the condition of V, and so QᵀQ is
// not exactly the identity. Where it differs too much, a second triangle corrects it, which is the Cholesky
// factor of QᵀQ (Yamamoto, Nakatsukasa, Yanagisawa, Fukaya, Roundoff error analysis of the CholeskyQR2
// algorithm, Electron. Trans. Numer. Anal. 44, 2015).
template <int E>
class OrthonormalRows {
 public:
  // Computes the first triangle from V = EᵀE, which does not contain the damping. A second triangle is needed
  // if V, scaled to a diagonal of ones, has a pivot below `least_pivot`. Returns false if V with the damping
  // is not positive definite.
  bool begin(const double* V, const double* damping, double least_pivot, int size) {
    size_ = size;
    const int e = E == kAnySize ? size : E;
    for (int i = 0; i < e; ++i) {
      for (int j = 0; j <= i; ++j) products_[i * e + j] = V[triangle(i) + j] + (i == j ? damping[i] : 0);
    }
    const double* A = products_;
    if (!factor_small<E>(A, first_, size)) return false;
    twice_ = false;
    for (int i = 0; i < e; ++i)
      twice_ = twice_ || first_[i * e + i] * first_[i * e + i] * A[i * e + i] * least_pivot > 1;
    if (!twice_) return true;
    for (double& product : products_) product = 0;
    for (int i = 0; i < e; ++i) {
      double row[most_rows<E>] = {};
      row[i] = __builtin_sqrt(damping[i]);
      add(row);
    }
    return true;
  }
  // Returns true if add() must be called for all rows of E, and then end().
  bool needs_rows() const { return twice_; }
  template <class R>
  NLSQ_INLINE void add(const R* row) {
    const int e = E == kAnySize ? size_ : E;
    double q[most_rows<E>];
    for (int k = 0; k < e; ++k) q[k] = static_cast<double>(row[k]);
    solve_small<E>(first_, q, e);
    for (int i = 0; i < e; ++i) {
      for (int j = 0; j <= i; ++j) products_[i * e + j] += q[i] * q[j];
    }
  }
  // Returns false if the rows are dependent.
  bool end() { return factor_small<E>(products_, second_, size_); }

  // Computes the root N of (V + diag(damping))⁻¹ = NᵀN, as apply_root() takes it.
  void root_of_inverse(double* N) const {
    const int e = E == kAnySize ? size_ : E;
    double unit[most_rows<E>] = {}, column[most_rows<E>];
    for (int j = 0; j < e; ++j) {
      unit[j] = 1;
      (*this)(unit, column);
      unit[j] = 0;
      for (int i = j; i < e; ++i) N[triangle(i) + j] = column[i];
    }
  }
  // Computes a row of Q from that of E, or Qᵀr from Eᵀr.
  template <class R>
  NLSQ_INLINE void operator()(const R* row, double* q) const {
    const int e = E == kAnySize ? size_ : E;
    for (int k = 0; k < e; ++k) q[k] = static_cast<double>(row[k]);
    solve_small<E>(first_, q, e);
    if (twice_) solve_small<E>(second_, q, e);
  }

 private:
  static constexpr int kNumbers = most_rows<E> * most_rows<E>;
  int size_ = E;
  bool twice_ = false;
  double first_[kNumbers] = {}, second_[kNumbers] = {}, products_[kNumbers] = {};
};

template <class T>
NLSQ_INLINE typename Simd<T>::V load_as(const T* p) {
  return Simd<T>::load(p);
}
template <class T>
requires(sizeof(T) == 8) NLSQ_INLINE typename Simd<T>::V load_as(const float* p) {
  return Simd<T>::load_widened(p);
}

// Loads `size` numbers from row + v on; the other lanes are zero.
template <class T, class R>
NLSQ_INLINE typename Simd<T>::V load_part(const R* row, std::size_t v, std::size_t size) {
  using S = Simd<T>;
  return v + S::lanes <= size ? load_as<T>(row + v) : S::keep_first(load_as<T>(row + v), size - v);
}

// Calls use(size) for a camera's size. Poses have six numbers, and poses with a lens nine. Loops over these
// are compiled with a known length.
NLSQ_INLINE void with_size(std::size_t size, auto use) {
  if (size == 6) use(std::size_t{6});
  else if (size == 9) use(std::size_t{9});
  else use(size);
}

// Finds which of many small matrices are not zero. A point with many entries may have mostly zero ones, such
// as a spline's distant control points, and the elimination spends its time on pairs of entries. With few
// entries the test is skipped.
class NonZero {
 public:
  // Matrix k has `rows` rows, `stride` apart, of size_of(k) numbers starting at first_of(k).
  template <class First, class Size>
  NonZero(std::size_t count, std::size_t rows, std::size_t stride, First first_of, Size size_of)
      : all_(count <= kFew || count > kMost) {
    for (std::size_t w = 0; !all_ && w < (count + 63) / 64; ++w) marks_[w] = 0;
    for (std::size_t k = 0; !all_ && k < count; ++k) {
      const auto* row = first_of(k);
      const std::size_t size = size_of(k);
      bool any = false;
      for (std::size_t i = 0; i < rows && !any; ++i, row += stride) {
        for (std::size_t j = 0; j < size; ++j) any |= row[j] != 0;
      }
      marks_[k / 64] |= std::uint64_t{any} << (k % 64);
    }
  }
  bool operator()(std::size_t k) const { return all_ || (marks_[k / 64] >> (k % 64) & 1) != 0; }

 private:
  static constexpr std::size_t kFew = 8, kMost = 4096;
  bool all_;
  std::uint64_t marks_[kMost / 64];
};

template <class R>
NLSQ_INLINE const R* record_of(const EliminationData<R>& d, std::size_t slot) {
  return d.J + (d.record[slot] - d.J_first);
}

// Holds the rows and cells of a slot. Kernels look them up once, before they go through the rows.
struct SlotView {
  std::size_t rows, stride, first, last;  // its cells are [first, last)
  template <class R>
  NLSQ_INLINE SlotView(const EliminationData<R>& d, std::size_t slot)
      : rows(d.rows[slot]), stride(d.stride[slot]), first(d.cell_first[slot]), last(d.cell_first[slot + 1]) {}
};

struct PointView {
  const std::uint32_t* blocks;  // the F block of each entry
  std::size_t entries;
  template <class R>
  PointView(const EliminationData<R>& data, std::size_t point)
      : blocks(data.entry_block + data.entry_first[point]),
        entries(data.entry_first[point + 1] - data.entry_first[point]) {}
};

// Finds blocks of S for entry a of a point. Block c belongs to the cameras of entries a and a + c.
struct PairBlocks {
  const std::uint32_t* numbers;
  const std::uint32_t* blocks;  // null: numbers[c], not numbers[blocks[c]]
  NLSQ_INLINE std::uint32_t operator()(std::size_t c) const { return numbers[blocks ? blocks[c] : c]; }
};
template <class R>
NLSQ_INLINE PairBlocks pairs_of(const EliminationData<R>& d, const PointView& view, std::size_t point,
                                std::size_t a) {
  if (d.pair_table) return {d.pair_table + view.blocks[a] * d.pair_stride, view.blocks + a};
  return {d.pair_block + d.pair_first[point] + (a * view.entries - a * (a + 1) / 2 + a), nullptr};
}

// Computes V = EᵀE and g = Eᵀr of a point, with several columns of E in one vector. products[k][v] holds the
// products of column k with the columns of vector v. If a point has fewer columns than kLeastByVectors, the
// loop over single numbers in gather_point() is as fast.
constexpr int kLeastByVectors = 4;
template <class R, int E>
void sum_by_vectors(const EliminationData<R>& d, std::size_t p, double* V, double* g) {
  using S = Simd<double>;
  constexpr std::size_t e = E, vectors = (e + S::lanes - 1) / S::lanes;
  typename S::V products[e][vectors], gradient[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    gradient[v] = S::zero();
    for (std::size_t k = 0; k < e; ++k) products[k][v] = S::zero();
  }
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const R* row = record_of(d, s);
    const SlotView slot(d, s);
    for (std::size_t i = 0; i < slot.rows; ++i, row += slot.stride) {
      const auto r = S::set(static_cast<double>(row[e]));
      for (std::size_t v = 0; v < vectors; ++v) {
        const auto columns = load_part<double>(row, v * S::lanes, e);
        gradient[v] = S::mul_add(columns, r, gradient[v]);
        for (std::size_t k = v * S::lanes; k < e; ++k)  // the others are above the diagonal
          products[k][v] = S::mul_add(columns, S::set(static_cast<double>(row[k])), products[k][v]);
      }
    }
  }
  double sums[vectors * S::lanes];
  for (std::size_t k = 0; k < e; ++k) {
    for (std::size_t v = 0; v < vectors; ++v) S::store(products[k][v], sums + v * S::lanes);
    for (std::size_t l = 0; l <= k; ++l) V[triangle(k) + l] = sums[l];
  }
  for (std::size_t v = 0; v < vectors; ++v) S::store(gradient[v], sums + v * S::lanes);
  for (std::size_t k = 0; k < e; ++k) g[k] = sums[k];
}

template <class R, class T, int E>
void gather_point(const EliminationData<R>& d, std::size_t p, double* V, double* g, T* squares, T* gradient) {
  using S = Simd<T>;
  const int e = E == kAnySize ? static_cast<int>(d.point_size[p]) : E;
  const PointView view(d, p);
  constexpr bool by_vectors = E >= kLeastByVectors;
  if constexpr (by_vectors) {
    sum_by_vectors<R, E>(d, p, V + d.point_matrix[p], g + d.point_offset[p]);
    if (view.entries == 0) return;
  }
  // If the sums are few, they are kept in registers.
  constexpr bool known = E > 0 && !by_vectors;
  double kept_V[known ? triangle(E) : 1], kept_g[known ? E : 1];
  double* const Vp = known ? kept_V : V + d.point_matrix[p];
  double* const gp = known ? kept_g : g + d.point_offset[p];
  if constexpr (!by_vectors) {
    for (std::size_t k = 0; k < triangle(e); ++k) Vp[k] = 0;
    for (int k = 0; k < e; ++k) gp[k] = 0;
  }
  for (std::size_t s = d.slot_first[p]; s < d.slot_first[p + 1]; ++s) {
    const R* record = record_of(d, s);
    const SlotView slot(d, s);
    if constexpr (!by_vectors) {
      const R* row = record;
      for (std::size_t i = 0; i < slot.rows; ++i, row += slot.stride) {
        const double r = static_cast<double>(row[e]);
        for (int k = 0; k < e; ++k) {
          const double ek = static_cast<double>(row[k]);
          gp[k] += ek * r;
          for (int l = 0; l <= k; ++l) Vp[triangle(k) + l] += ek * static_cast<double>(row[l]);
        }
      }
    }
    for (std::size_t c = slot.first; c < slot.last; ++c) {
      const std::size_t block = view.blocks[d.cell_entry[c]];
      const R* F = record + d.cell_column[c];
      with_size(d.block_size[block], [&](std::size_t size) NLSQ_INLINE_LAMBDA {
        for (std::size_t v = 0; v < size; v += S::lanes) {
          T* squares_of = squares + block * d.pad + v;
          T* gradient_of = gradient + block * d.pad + v;
          auto squares_sum = S::load(squares_of), gradient_sum = S::load(gradient_of);
          for (std::size_t i = 0; i < slot.rows; ++i) {
            const auto f = load_part<T>(F + i * slot.stride, v, size);
            const auto r = S::set(static_cast<T>(record[i * slot.stride + static_cast<std::size_t>(e)]));
            squares_sum = S::mul_add(f, f, squares_sum);
            gradient_sum = S::mul_add(f, r, gradient_sum);
          }
          S::store(squares_sum, squares_of);
          S::store(gradient_sum, gradient_of);
        }
      });
    }
  }
  for (std::size_t k = 0; known && k < triangle(e); ++k) V[d.point_matrix[p] + k] = Vp[k];
  for (int k = 0; known && k < e; ++k) g[d.point_offset[p] + static_cast<std::size_t>(k)] = gp[k];
}

}  // namespace
}  // namespace nlsq::inline v0
