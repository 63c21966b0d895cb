// Kernels for normal equations with block structure, by instruction set: elimination of many small blocks
// (the Schur complement) and a dense Cholesky factor for what is left.
//
//   H = [U W; Wᵀ V],  V block diagonal with blocks of size e ("points");  S = U - W V⁻¹ Wᵀ  ("cameras")
//
// Triggs, McLauchlan, Hartley, Fitzgibbon: Bundle adjustment, a modern synthesis (2000), section 6.1.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

// What is eliminated, as plain arrays. Residual blocks ("slots") lie sorted by point; a point of size e = 0
// holds one that no point enters. The record of a slot is `rows` rows, `stride` apart: [E | r | F ...], E the
// derivatives by the point (e of them), r the residual, F those by other blocks, by cells.
template <class T>
struct EliminationData {
  const T* J = nullptr;  // readable `pad` numbers past the last record
  std::size_t pad = 0;   // row stride of W and Y: a multiple of every set's lanes
  // By point.
  const std::uint32_t* point_size = nullptr;
  const std::uint32_t* point_offset = nullptr;  // in vectors over the points
  const std::uint64_t* point_matrix = nullptr;  // offset of its e x e matrix among all
  const std::uint32_t* slot_first = nullptr;    // [points + 1]
  const std::uint32_t* entry_first =
      nullptr;  // [points + 1]: F blocks that its slots touch, ascending, each once
  const std::uint64_t* pair_first = nullptr;  // of pairs of entries (a <= b), by rows
  // By slot.
  const std::uint64_t* record = nullptr;
  const std::uint32_t* stride = nullptr;
  const std::uint32_t* rows = nullptr;
  const std::uint32_t* cell_first = nullptr;  // [slots + 1]
  // By cell.
  const std::uint32_t* cell_entry = nullptr;  // counted from the point's first entry; ascending within a slot
  const std::uint32_t* cell_column = nullptr;  // in the record's rows
  // By entry, and by pair of entries.
  const std::uint32_t* entry_block = nullptr;
  const std::uint32_t* pair_block = nullptr;  // which block of S
  // By block of S: where it begins, laid out as ReducedLayout says for the format that sums are in.
  const std::uint64_t* reduced_target = nullptr;
  // By F block.
  const std::uint32_t* block_size = nullptr;
};

// A block of S in memory, for vectors of that many lanes: its columns in whole vectors, row by row; then,
// where that takes fewer vectors, the columns left over, each by itself. (9 x 9 in vectors of 8: 9 + 2
// instead of 18.)
struct ReducedLayout {
  std::size_t rows, columns;
  std::size_t whole;   // columns stored by rows; row i at i * stride
  std::size_t stride;  // of rows
  std::size_t
      column_stride;  // of the columns left over; column j at rows * stride + (j - whole) * column_stride

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

struct BlockKernels {
  const char* name;
  std::size_t lanes_f64, lanes_f32;

  // `_f32_wide`: records in f32, everything computed from them in f64.

  // Of points [first, last): V (e x e each, full) and gradient g = Eᵀr of the points; squares += column norms
  // squared, gradient += Fᵀr, both by F block, `pad` numbers each.
  void (*gather_f64)(const EliminationData<double>&, std::size_t first, std::size_t last, double* V,
                     double* g, double* squares, double* gradient);
  void (*gather_f32)(const EliminationData<float>&, std::size_t first, std::size_t last, double* V, double* g,
                     float* squares, float* gradient);
  void (*gather_f32_wide)(const EliminationData<float>&, std::size_t first, std::size_t last, double* V,
                          double* g, double* squares, double* gradient);
  // Of points [first, last): inverse = (V + diag(damping))⁻¹; S += FᵀF - W inverse Wᵀ; b += W inverse g, by F
  // block. `scratch`: 2 * entries * e * pad numbers, for the point with most. False: some V is not positive
  // definite.
  bool (*eliminate_f64)(const EliminationData<double>&, std::size_t first, std::size_t last, const double* V,
                        const double* g, const double* damping, double* inverse, double* S, double* b,
                        double* scratch);
  bool (*eliminate_f32)(const EliminationData<float>&, std::size_t first, std::size_t last, const double* V,
                        const double* g, const double* damping, double* inverse, float* S, float* b,
                        float* scratch);
  bool (*eliminate_f32_wide)(const EliminationData<float>&, std::size_t first, std::size_t last,
                             const double* V, const double* g, const double* damping, double* inverse,
                             double* S, double* b, double* scratch);
  // step of points [first, last): -inverse (g + Wᵀ s), s by F block, `pad` numbers each.
  void (*substitute_f64)(const EliminationData<double>&, std::size_t first, std::size_t last,
                         const double* inverse, const double* g, const double* s, double* step);
  void (*substitute_f32)(const EliminationData<float>&, std::size_t first, std::size_t last,
                         const double* inverse, const double* g, const float* s, double* step);
  void (*substitute_f32_wide)(const EliminationData<float>&, std::size_t first, std::size_t last,
                              const double* inverse, const double* g, const double* s, double* step);

  // Of points [first, last), where `step` and s are a step of theirs and of the F blocks (`pad` numbers
  // each), and `moved`, by row as `row` says for each slot, what J times that step would be if the residuals
  // were not linear:
  //   ρ = factor (moved - J step), in place of `moved`;  bent = Eᵀρ;  b += Fᵀ(ρ - E inverse bent), by F
  //   block.
  // Right-hand sides of geodesic acceleration, for the matrix that was eliminated last.
  void (*bend_f64)(const EliminationData<double>&, std::size_t first, std::size_t last, const double* inverse,
                   const double* step, const double* s, double factor, const std::uint32_t* row,
                   double* moved, double* bent, double* b);
  void (*bend_f32)(const EliminationData<float>&, std::size_t first, std::size_t last, const double* inverse,
                   const double* step, const float* s, double factor, const std::uint32_t* row, double* moved,
                   double* bent, float* b);
  void (*bend_f32_wide)(const EliminationData<float>&, std::size_t first, std::size_t last,
                        const double* inverse, const double* step, const double* s, double factor,
                        const std::uint32_t* row, double* moved, double* bent, double* b);

  // S as an operator, for conjugate gradients. Of points [first, last): inverse as eliminate() leaves it; the
  // diagonal blocks of S (not of `schur`: of U) and b, added to, by F block: reduced_target counts F blocks
  // here. `scratch` as eliminate()'s.
  bool (*prepare_f64)(const EliminationData<double>&, std::size_t first, std::size_t last, const double* V,
                      const double* g, const double* damping, double* inverse, bool schur, double* diagonal,
                      double* b, double* scratch);
  bool (*prepare_f32_wide)(const EliminationData<float>&, std::size_t first, std::size_t last,
                           const double* V, const double* g, const double* damping, double* inverse,
                           bool schur, double* diagonal, double* b, double* scratch);
  // y += their part of (U - W inverse Wᵀ) s, vectors of `pad` numbers by F block. `scratch`: the rows of the
  // point with most.
  void (*multiply_f64)(const EliminationData<double>&, std::size_t first, std::size_t last,
                       const double* inverse, const double* s, double* y, double* scratch);
  void (*multiply_f32_wide)(const EliminationData<float>&, std::size_t first, std::size_t last,
                            const double* inverse, const double* s, double* y, double* scratch);

  // A = L Lᵀ in place: lower triangle by columns, column j at A + j * ld, readable to whole vectors past row
  // n. False: not positive definite. Then solve L Lᵀ x = b in place.
  bool (*cholesky_f64)(double* A, std::size_t n, std::size_t ld);
  // The first `columns` of them alone; what is left becomes its Schur complement. ld: a multiple of 8.
  bool (*cholesky_part_f64)(double* A, std::size_t n, std::size_t ld, std::size_t columns);
  void (*cholesky_solve_f64)(const double* A, std::size_t n, std::size_t ld, double* b);
};

// The set that belongs to kernels().
NLSQ_API const BlockKernels& block_kernels();
// One for each of available_kernels().
NLSQ_API std::span<const BlockKernels* const> available_block_kernels();

}  // namespace nlsq::inline v0
