// RowModel is the interface between the evaluation of residuals and the minimizers.
//
// A RowModel fills tiles [J | r]: `parameters()` derivative columns and the residual. GraphRows and
// GroupedRows do it by tile programs, in f64 and f32. DualRows (forward dual numbers), DifferenceRows (finite
// differences) and VectorRows call the user's code, in f64. SampleRows, LossRows and WhitenedRows stand in
// front of another RowModel. The minimizers do not know which of these they have.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/kernel_counters.hpp>
#include <nlsq/loss.hpp>
#include <nlsq/row_ranges.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>

namespace nlsq::inline v0 {

enum class Fill : std::uint8_t { residual, jacobian_and_residual };

// One pass over the rows at one x in one precision. Threads do not share a pass: each begins its own.
// Returned columns stay valid until the next fill.
class TilePass {
 public:
  virtual ~TilePass() = default;
  // Fills rows [first, first + count), count <= tile_rows(). Returns n + 1 column pointers: J first (null if
  // only residuals were requested), r last. Buffers are readable up to the next multiple of 64 rows, and the
  // caller may overwrite them.
  virtual double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) = 0;
  // Moves this pass to another x and keeps its memory. If it returns false, the caller must begin a new pass.
  virtual bool restart(std::span<const double> /*x*/) { return false; }
  // Returns the number of a column that is 1 in every row of this pass without being evaluated (the
  // derivative by an offset), or -1 if there is none.
  virtual int ones_column() const { return -1; }
  // Memory that this pass holds, for reports.
  virtual std::size_t bytes() const { return 0; }
  virtual float* const* fill_f32(std::size_t first, std::size_t count, KernelCounters& counters) = 0;
};

class TwofoldRows;  // twofold_rows.hpp

class NLSQ_API RowModel {
 public:
  virtual ~RowModel() = default;
  virtual int parameters() const = 0;         // n: free parameters
  virtual std::size_t rows() const = 0;       // m: residuals
  virtual std::size_t tile_rows() const = 0;  // largest number of rows in a tile; multiple of 64
  // Tiles partition the rows in order; rows of one tile share one program.
  virtual std::size_t tile_count() const { return (rows() + tile_rows() - 1) / tile_rows(); }
  virtual TileRange tile(std::size_t index) const {
    const std::size_t first = index * tile_rows();
    return {first, std::min(tile_rows(), rows() - first)};
  }
  // Returns the named components of the rows, or nothing. All rows of a tile belong to one component.
  virtual std::span<const RowComponent> components() const { return {}; }
  virtual std::size_t component(std::size_t /*tile*/) const { return 0; }
  virtual bool has_f32() const = 0;      // fill_f32 works
  virtual const char* kind() const = 0;  // "graph", "dual", "derivatives", "finite differences"
  // True if several passes may run at once. A callable that keeps state does not allow it.
  virtual bool concurrent() const { return true; }
  // Returns the operations per row, in f64 additions, by the constant cost table. The choice of precision,
  // limits and reports use it.
  virtual double row_cost(Fill fill) const = 0;
  // One thread calls this before several threads begin passes at x. It computes what all passes share, so
  // that a user's callable that uses threads itself is never called from a task, or by several threads at
  // once.
  virtual void prepare(std::span<const double> /*x*/, Fill /*fill*/) const {}
  // Announces that a fit starts at x. There, derivatives need not be exact.
  virtual void start_at(std::span<const double> /*x*/) {}
  // True if preparing for one x discards what was prepared for another, so that passes at two points cannot
  // run at the same time.
  virtual bool one_point() const { return false; }
  // True if the derivatives at x were computed less accurately than they can be, because the fit was far from
  // its end. Another pass at x computes them anew.
  virtual bool rough(std::span<const double> /*x*/) const { return false; }
  // Switches the most accurate differences on or off (Differences::ridders), for models that take their
  // derivatives by differences. They cost several times as much as the usual ones. Returns false if nothing
  // changes: no better ones are available, or they are in use anyway.
  virtual bool extrapolate(bool /*on*/) { return false; }
  // Returns the distance of the two points whose values give the difference by parameter j at x. The rounding
  // errors of the values, divided by it, are errors of the derivatives. Returns 0 if derivatives are not
  // taken by the usual differences.
  virtual double difference_width(std::span<const double> /*x*/, std::size_t /*j*/) const { return 0; }
  // Returns an estimate of the errors of the derivatives at x, beyond rounding: ‖error‖ / ‖column‖ for each
  // column of J. It is empty if there is no estimate. Call this after a pass at x, because the pass computes
  // it.
  virtual std::vector<double> derivative_errors(std::span<const double> /*x*/) const { return {}; }
  // Begins a pass at x (the free parameters), in f32 if `single` is true.
  virtual std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const = 0;
  // Returns the robust loss applied to the residuals (residual_form.hpp), or null if there is none.
  virtual const Loss* robust_loss() const { return nullptr; }
  // The evaluator calls this when a tile contains NaN, before it uses the tile. A recorded model may find
  // that rows took a branch not recorded yet, record it, and request another pass.
  enum class NonFinite : std::uint8_t { genuine, retry, give_up };
  virtual NonFinite explain_non_finite(std::span<const double> /*x*/, std::size_t /*first*/,
                                       std::size_t /*count*/) {
    return NonFinite::genuine;
  }
  // Computes residuals of rows [first, first + count) by the user's own callable in double, never by the
  // program, for the certificate. Also returns the size of each residual's terms, (|f| + |y|) * weight, which
  // bounds its rounding error.
  virtual void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                   double* residuals, double* magnitudes) const = 0;
  // Returns the same rows in numbers of twice the digits of f64, or null if they exist in double alone. The
  // result must not outlive these rows.
  virtual std::unique_ptr<TwofoldRows> twofold() const;
  // False if the user's own callable is a formula or a tape, which gives the same values in every call.
  virtual bool may_have_state() const { return true; }
  // Sizes of the free parameters, for functions that return all residuals at once, where the magnitudes do
  // not include the terms of a residual. Its first-order terms |J_ij| size_j are then added to the
  // magnitudes.
  virtual std::span<const double> typical_parameters() const { return {}; }
  // Returns the size of parameter j with this value. If there are typical sizes, it is at least the typical
  // one.
  double size_of(std::size_t j, double value) const {
    const std::span<const double> typical = typical_parameters();
    return std::max(std::fabs(value), j < typical.size() ? typical[j] : 0.0);
  }
  // Tells the source of the rows whether the reads that follow leave long gaps (RowSource::expect_gaps).
  virtual void expect_gaps(bool /*gaps*/) const {}
  // Tells the source which rows are read soon (RowSource::will_read).
  virtual void will_read(std::size_t /*first*/, std::size_t /*count*/) const {}
  // Tells the source which rows a pass needs no more (RowSource::was_read).
  virtual void was_read(std::size_t /*first*/, std::size_t /*count*/) const {}
};

// Tells the model, as long as this object lives, that only `groups` groups of rows are read, which are spread
// evenly over the data. It tells nothing if the gaps are short, because reading ahead over a short gap costs
// no more than leaving it out.
class ReadGaps {
 public:
  ReadGaps(const RowModel& model, std::size_t groups)
      : model_(model), long_(model.rows() / std::max<std::size_t>(1, groups) >= kLong) {
    if (long_) model_.expect_gaps(true);
  }
  ~ReadGaps() {
    if (long_) model_.expect_gaps(false);
  }
  bool are_long() const { return long_; }
  ReadGaps(const ReadGaps&) = delete;
  ReadGaps& operator=(const ReadGaps&) = delete;

 private:
  static constexpr std::size_t kLong = 1 << 14;  // rows; 128 kB of doubles
  const RowModel& model_;
  bool long_;
};

}  // namespace nlsq::inline v0
