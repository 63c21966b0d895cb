// Declares kernels for normal equations with block structure, one table per instruction set. They eliminate
// many small blocks (the Schur complement) and factor the remaining matrix by dense Cholesky. Block problems
// use them.
//
//    H = [U W; Wᵀ V],  V block diagonal with blocks of size e ("points");  S = U - W V⁻¹ Wᵀ  ("cameras")
//
//  Triggs, McLauchlan, Hartley, Fitzgibbon: Bundle adjustment, a modern synthesis (2000), section 6.1.
#pragma once

#include "kernels/even_numbers.hpp"

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

// Returns how many numbers the lower triangle of a symmetric matrix has. Such matrices are stored as their
// lower triangles, by rows and without gaps, so row i starts at triangle(i).
NLSQ_INLINE constexpr std::size_t triangle(std::size_t rows) { return rows * (rows + 1) / 2; }
// Returns entry (i, j) of a matrix that is stored as its lower triangle. j may exceed i.
NLSQ_INLINE double symmetric(const double* matrix, std::size_t i, std::size_t j) {
  return j <= i ? matrix[triangle(i) + j] : matrix[triangle(j) + i];
}

inline constexpr int kLargestPoint = 8;  // tangent numbers of a block that may be eliminated

// The blocks to eliminate, as plain arrays. Residual blocks ("slots") are sorted by point. A point of size e
// = 0 holds one residual block that depends on no point. The record of a slot is `rows` rows, `stride` apart,
// with the columns [E | r | F ...]. E holds the derivatives by the point (e columns), r is the residual, and
// F holds the derivatives by other blocks, one cell each.
template <class T>
struct EliminationData {
  const T* J = nullptr;  // readable up to `pad` numbers past the last record that is used
  std::size_t pad = 0;   // row stride of G: a multiple of every set's lanes
  // These exist for each point.
  EvenView<std::uint32_t> point_size;
  EvenView<std::uint32_t> point_offset;       // offset in vectors over the points
  EvenView<std::uint64_t> point_matrix;       // offset of the point's symmetric matrix among all matrices
  const std::uint32_t* slot_first = nullptr;  // [points + 1]
  const std::uint32_t* entry_first =
      nullptr;                                // [points + 1]: the F blocks of its slots, ascending, each once
  const std::uint64_t* pair_first = nullptr;  // pairs of entries (a <= b), by rows; unused with `pair_table`
  // These exist for each slot.
  EvenView<std::uint64_t> record;
  EvenView<std::uint32_t> stride;
  EvenView<std::uint32_t> rows;
  EvenView<std::uint32_t> cell_first;  // [slots + 1]
  // These exist for each cell.
  const std::uint32_t* cell_entry = nullptr;   // position among the point's entries; ascending within a slot
  const std::uint32_t* cell_column = nullptr;  // in the rows of the record
  // These exist for each entry, and for each pair of entries.
  const std::uint32_t* entry_block = nullptr;
  const std::uint32_t* pair_block = nullptr;  // the block of S; unused with `pair_table`
  // For each block of S, this is the position where it starts, in the layout of ReducedLayout for the format
  // of the sums.
  const std::uint64_t* reduced_target = nullptr;
  // This exists for each F block.
  const std::uint32_t* block_size = nullptr;
  // This is the index of J[0] among the numbers of all records.
  std::uint64_t J_first = 0;
  // The block of S of F blocks a <= b is pair_table[a * pair_stride + b]. If this is null, `pair_block` is
  // used.
  const std::uint32_t* pair_table = nullptr;
  std::size_t pair_stride = 0;
};

// Lays out a block of S for vectors with a given number of lanes. The columns that fill whole vectors are
// stored row by row. The remaining columns follow one by one if that takes fewer vectors. For example, a 9 x
// 9 block takes 9 + 2 vectors of 8 lanes instead of 18.
struct ReducedLayout {
  std::size_t rows, columns;
  std::size_t whole;          // columns stored by rows; row i starts at i * stride
  std::size_t stride;         // distance between rows
  std::size_t column_stride;  // distance of the remaining columns; column j starts at rows * stride + (j -
                              // whole) * column_stride

  constexpr ReducedLayout(std::size_t block_rows, std::size_t block_columns, std::size_t lanes)
      : rows(block_rows), columns(block_columns), whole(block_columns),
        stride((block_columns + lanes - 1) / lanes * lanes),
        column_stride((block_rows + lanes - 1) / lanes * lanes) {
    const std::size_t rest = block_columns % lanes;
    if (rest != 0 && rest * (column_stride / lanes) < block_rows) whole = stride = block_columns - rest;
  }
  constexpr std::size_t numbers() const { return rows * stride + (columns - whole) * column_stride; }
  constexpr std::size_t place(std::size_t i, std::size_t j) const {
    return j < whole ? i * stride + j : rows * stride + (j - whole) * column_stride + i;
  }
};

// Holds the kernels for records of R that compute and sum in T: R or double.
template <class R, class T>
struct EliminationKernels {
  // For points [first, last): computes V (a symmetric matrix each) and the gradient g = Eᵀr. Also adds the
  // squared column norms to `squares` and Fᵀr to `gradient`, for each F block, `pad` numbers each.
  void (*gather)(const EliminationData<R>&, std::size_t first, std::size_t last, double* V, double* g,
                 T* squares, T* gradient);
  // For points [first, last), computes the root N of (V + diag(damping))⁻¹ = NᵀN, a lower triangle, and for
  // each F block adds FᵀF - W NᵀN Wᵀ to S and W NᵀN g to b. `scratch` has entries * e * pad numbers for the
  // largest point.
  // Returns false if some V is not positive definite.
  bool (*eliminate)(const EliminationData<R>&, std::size_t first, std::size_t last, const double* V,
                    const double* g, const double* damping, double* root, T* S, T* b, T* scratch);
  // Computes the step of points [first, last), which is -NᵀN (g + Wᵀ s). s holds `pad` numbers for each F
  // block.
  void (*substitute)(const EliminationData<R>&, std::size_t first, std::size_t last, const double* root,
                     const double* g, const T* s, double* step);

  // Computes the right-hand sides of geodesic acceleration for the matrix that was eliminated last. For
  // points [first, last), `step` and s are a step of the points and of the F blocks (`pad` numbers each).
  // `moved` holds the actual change of the residual of each row, where a linear model has J times the step.
  // `row` gives the first row of each slot. The function replaces `moved` by ρ = factor (moved - J step),
  // stores Eᵀρ in `bent`, and adds Fᵀ(ρ - E NᵀN bent) to b for each F block.
  void (*bend)(const EliminationData<R>&, std::size_t first, std::size_t last, const double* root,
               const double* step, const T* s, double factor, EvenView<std::uint32_t> row, double* moved,
               double* bent, T* b);
};

// Kernels that multiply by S without forming it, for conjugate gradients, from records of R. All arithmetic
// is in double.
template <class R>
struct OperatorKernels {
  // For points [first, last): computes `root` as eliminate() does. Adds the diagonal blocks of S (of U if
  // `schur` is false) and b for each F block; reduced_target counts F blocks here. `scratch` has the size
  // that eliminate() needs.
  bool (*prepare)(const EliminationData<R>&, std::size_t first, std::size_t last, const double* V,
                  const double* g, const double* damping, double* root, bool schur, double* diagonal,
                  double* b, double* scratch);
  // Adds the points' part of (U - W NᵀN Wᵀ) s to y; vectors have `pad` numbers for each F block.
  // `scratch` has the number of rows of the largest point.
  void (*multiply)(const EliminationData<R>&, std::size_t first, std::size_t last, const double* root,
                   const double* s, double* y, double* scratch);
};

struct BlockKernels {
  const char* name;
  std::size_t lanes_f64, lanes_f32;

  EliminationKernels<double, double> eliminate_f64;
  EliminationKernels<float, float> eliminate_f32;
  EliminationKernels<float, double> eliminate_f32_wide;
  template <class R, class T>
  const EliminationKernels<R, T>& elimination() const {
    if constexpr (sizeof(R) == sizeof(double)) return eliminate_f64;
    else if constexpr (sizeof(T) == sizeof(double)) return eliminate_f32_wide;
    else return eliminate_f32;
  }

  OperatorKernels<double> operate_f64;
  OperatorKernels<float> operate_f32;
  template <class R>
  const OperatorKernels<R>& operators() const {
    if constexpr (sizeof(R) == sizeof(double)) return operate_f64;
    else return operate_f32;
  }

  // Factors A = L Lᵀ in place. A is the lower triangle by columns: column j is at A + j * ld, readable to
  // whole vectors past row n. Returns false if A is not positive definite. cholesky_solve then solves L Lᵀ x
  // = b in place.
  bool (*cholesky_f64)(double* A, std::size_t n, std::size_t ld);
  // Factors only the first `columns` columns. The rest becomes their Schur complement. ld must be a multiple
  // of 8.
  bool (*cholesky_part_f64)(double* A, std::size_t n, std::size_t ld, std::size_t columns);
  void (*cholesky_solve_f64)(const double* A, std::size_t n, std::size_t ld, double* b);
};

// Returns the table of the same instruction set as kernels().
NLSQ_API const BlockKernels& block_kernels();
// Returns one table for each of available_kernels().
NLSQ_API std::span<const BlockKernels* const> available_block_kernels();

}  // namespace nlsq::inline v0
