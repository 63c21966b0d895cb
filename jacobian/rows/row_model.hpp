// The seam between "how residuals are made" and "what is done with them".
//
// A RowModel fills tiles [J | r]: `parameters()` derivative columns and the residual. Implementations:
// GraphRows (tile programs, f64 and f32), DualRows (forward dual numbers), DifferenceRows (f64 finite
// differences). Nothing above this line knows which.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/kernel_counters.hpp>
#include <nlsq/loss.hpp>
#include <nlsq/row_ranges.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

enum class Fill : std::uint8_t { residual, jacobian_and_residual };

// One pass over the rows at one x in one precision. Not shared between threads: each worker begins
// its own. Columns handed out stay valid until the next fill.
class TilePass {
 public:
  virtual ~TilePass() = default;
  // Fills rows [first, first + count), count <= tile_rows(). Returns the tile's columns: n + 1
  // pointers, J first (null for J when only residuals were asked for), r last. Buffers are
  // readable up to the next multiple of 64 rows and may be overwritten by the caller.
  virtual double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) = 0;
  // The same pass at another x, its memory kept. False: this pass cannot, begin another one.
  virtual bool restart(std::span<const double> x) {
    (void)x;
    return false;
  }
  // A column that is 1 in every row of this pass, known without looking (the derivative by an offset); -1:
  // none.
  virtual int ones_column() const { return -1; }
  // Memory this pass holds, for reports.
  virtual std::size_t bytes() const { return 0; }
  virtual float* const* fill_f32(std::size_t first, std::size_t count, KernelCounters& counters) = 0;
};

class RowModel {
 public:
  virtual ~RowModel() = default;
  virtual int parameters() const = 0;         // n: free parameters
  virtual std::size_t rows() const = 0;       // m: residuals
  virtual std::size_t tile_rows() const = 0;  // most rows of a tile; multiple of 64
  // Tiles partition the rows in order; rows of one tile share one program.
  virtual std::size_t tile_count() const { return (rows() + tile_rows() - 1) / tile_rows(); }
  virtual TileRange tile(std::size_t index) const {
    const std::size_t first = index * tile_rows();
    return {first, std::min(tile_rows(), rows() - first)};
  }
  // Named components of the rows; empty: none. Rows of one tile are of one of them.
  virtual std::span<const RowComponent> components() const { return {}; }
  virtual std::size_t component(std::size_t tile) const { return (void)tile, 0; }
  virtual bool has_f32() const = 0;      // fill_f32 works
  virtual const char* kind() const = 0;  // "graph", "dual", "derivatives", "finite differences"
  // Whether several passes may run at once (a callable that keeps state may not).
  virtual bool concurrent() const { return true; }
  // Operations a row, in units of one f64 add, by the constant cost table (gates, caps, reports).
  virtual double row_cost(Fill fill) const = 0;
  // Called by one thread before several begin passes at x: what all of them share is computed here, so that a
  // user's callable with threads of its own is never called from within a task, nor by several at once.
  virtual void prepare(std::span<const double> x, Fill fill) const { (void)x, (void)fill; }
  // What is prepared at one x takes the place of what was at another: passes at two points are not made at
  // once.
  virtual bool one_point() const { return false; }
  // A pass at x (free parameters). `single`: f32.
  virtual std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const = 0;
  // The robust loss that residuals have gone through (residual_form.hpp); null: none.
  virtual const Loss* robust_loss() const { return nullptr; }
  // Called by the evaluator when a tile holds NaN, before the tile is believed: a traced model may
  // find that rows took a branch not recorded yet, record it, and ask for the pass to be run again.
  enum class NonFinite : std::uint8_t { genuine, retry, give_up };
  virtual NonFinite explain_non_finite(std::span<const double> x, std::size_t first, std::size_t count) {
    (void)x, (void)first, (void)count;
    return NonFinite::genuine;
  }
  // Residuals of rows [first, first + count) by the user's own callable in double (never by the program),
  // for the certificate. Together with each residual, the size of the terms it was made of
  // (|f| + |y|) * weight, so that "beyond rounding" has a scale.
  virtual void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                   double* residuals, double* magnitudes) const = 0;
  // Sizes of the free parameters, where those magnitudes know nothing of the terms a residual is made of
  // (functions that give all residuals at once): its first-order terms |J_ij| size_j then count as well.
  virtual std::span<const double> typical_parameters() const { return {}; }
};

}  // namespace nlsq::inline v0
