// TileFolder evaluates one tile of rows and adds it to the sums of a worker. The passes of DenseEvaluator use
// it.
#pragma once

#include "dense/dense_scratch.hpp"
#include "dense/tile_issues.hpp"
#include "kernels/flush_tiny.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Fills tiles in the plan's precision and adds them to the sums. With `flush`, subnormal products are zero.
class DenseEvaluator::TileFolder {
 public:
  TileFolder(RowModel& model, std::span<const double> x, Fill fill, const PrecisionPlan& plan,
             KernelCounters& counters, Scratch& scratch, bool flush)
      : model_(model), x_(x), fill_(fill), plan_(plan), counters_(counters), flush_(flush),
        n1_(fill == Fill::residual ? 1 : model.parameters() + 1),
        first_(static_cast<std::size_t>(model.parameters() + 1 - n1_)), scratch_(scratch),
        pass_(scratch.pass(model, x, fill, plan.residual == Format::f32)),
        ones_(fill == Fill::residual || n1_ > most_columns_with_ones ? -1 : pass_.ones_column()) {
    scratch.low_gram.restart(plan.gram, n1_, model.tile_rows());
  }

  // Adds a tile's sums in the plan's precision; add_f64 does so in f64.
  void add(const TileRange& range, double* sums) {
    if (plan_.gram >= Gram::f64 || fill_ == Fill::residual) {
      if (plan_.residual == Format::f64) return add_f64(range, sums);
    } else if (plan_.residual == Format::f64) {
      const double* const* columns = fill_f64(range);
      const FlushTiny flush(flush_);
      return scratch_.low_gram.add(columns, range.count, sums, counters_);
    }
    const float* const* columns = pass_.fill_f32(range.first, range.count, counters_) + first_;
    const FlushTiny flush(flush_);
    if (plan_.gram < Gram::f32_tile) return scratch_.low_gram.add(columns, range.count, sums, counters_);
    const auto kernel = plan_.gram == Gram::f32_tile ? kernels().gram_f32 : kernels().gram_f32_wide;
    kernel(without_ones(columns, scratch_.columns_f32), n1_, range.count, sums, &counters_);
  }
  void add_f64(const TileRange& range, double* sums) {
    const double* const* columns = without_ones(fill_f64(range), scratch_.columns_f64);
    const FlushTiny flush(flush_);
    kernels().gram_f64(columns, n1_, range.count, sums, &counters_);
  }
  // Adds only the products with r, n1 sums, in f64.
  void add_gradient(const TileRange& range, double* sums) {
    const double* const* columns = fill_f64(range);
    const FlushTiny flush(flush_);
    kernels().gradient_f64(columns, n1_, range.count, sums, &counters_);
  }
  // Returns the issues of a tile in the plan's precision: of f32 rows, or of J narrowed to f32.
  PrecisionIssue issue(const TileRange& range) {
    const auto n1 = static_cast<std::size_t>(n1_);
    if (plan_.residual == Format::f32) {
      return issues_of(pass_.fill_f32(range.first, range.count, counters_) + first_, n1, range.count,
                       Operation::evaluate, Format::f32);
    }
    const double* const* columns = fill_f64(range);
    std::vector<float> narrow((n1 - 1) * range.count);
    std::vector<const float*> pointers;
    for (std::size_t j = 0; j + 1 < n1; ++j) {
      pointers.push_back(&narrow[j * range.count]);
      kernels().narrow(columns[j], &narrow[j * range.count], range.count);
    }
    return issues_of(pointers.data(), pointers.size(), range.count, Operation::jacobian_storage, Format::f32);
  }
  // Returns the issue of sums that are not finite although the numbers of the tile are.
  PrecisionIssue sums_issue(const TileRange& range, const Vector& sums) const {
    PrecisionIssue found;
    found.operation = fill_ == Fill::residual ? Operation::cost_sum : Operation::gram_sum;
    found.format = formats_of(plan_).gram;
    for (const double s : sums) (std::isnan(s) ? found.nan : found.inf) += std::isfinite(s) ? 0 : 1;
    found.rows = range.count;
    return found;
  }
  bool below_f64() const {
    return plan_.residual == Format::f32 || (plan_.gram < Gram::f64 && fill_ != Fill::residual);
  }

  // Adds one tile to R. The kernel destroys its input, which may be the user's data, so the tile is copied
  // first.
  bool qr(const TileRange& range, Matrix& triangle) {
    const double* const* columns = fill_f64(range);
    const std::size_t stride = (model_.tile_rows() + 63) / 64 * 64;
    scratch_.copies.resize(static_cast<std::size_t>(n1_) * stride);
    std::vector<double*>& pointers = scratch_.pointers;
    pointers.resize(static_cast<std::size_t>(n1_));
    double zero = 0;
    for (std::size_t j = 0; j < pointers.size(); ++j) {
      pointers[j] = scratch_.copies.data() + j * stride;
      for (std::size_t i = 0; i < range.count; ++i) zero += columns[j][i] - columns[j][i];
      std::copy_n(columns[j], range.count, pointers[j]);
    }
    if (zero != 0) return false;
    kernels().qr_fold(triangle.data(), static_cast<std::size_t>(n1_), n1_, pointers.data(), range.count,
                      &counters_);
    return true;
  }

 private:
  const double* const* fill_f64(const TileRange& range) {
    if (plan_.residual == Format::f64) return pass_.fill_f64(range.first, range.count, counters_) + first_;
    if (wide_ == nullptr) wide_ = &scratch_.pass(model_, x_, fill_, false);
    return wide_->fill_f64(range.first, range.count, counters_) + first_;
  }

  template <class T>
  const T* const* without_ones(const T* const* columns, std::vector<const T*>& copy) const {
    if (ones_ < 0) return columns;
    copy.assign(columns, columns + n1_);
    copy[static_cast<std::size_t>(ones_)] = nullptr;
    return copy.data();
  }

  RowModel& model_;
  std::span<const double> x_;
  Fill fill_;
  PrecisionPlan plan_;
  KernelCounters& counters_;
  bool flush_;
  int n1_;
  std::size_t first_;
  Scratch& scratch_;
  TilePass& pass_;
  TilePass* wide_ = nullptr;
  int ones_;  // index of a column of ones, or -1
};

}  // namespace nlsq::inline v0
