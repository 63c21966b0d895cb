// Calls the user's own code for residual blocks that have no program, and stores what it returns. The block
// evaluator uses it.
#pragma once

#include "blocks/block_groups.hpp"
#include "blocks/block_reference.hpp"
#include "blocks/block_scan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// The buffers of one thread.
class BlockCalls {
 public:
  BlockCalls(const BlockList& list, const BlockGroups& groups) : list_(list), groups_(groups) {
    for (const BlockKind& kind : groups.kinds) callers_.emplace_back(kind.sizes);
  }

  // Computes the residuals. They are NaN if the function has none.
  void residuals(std::uint32_t block, std::span<const double> x, double* r) {
    const BlockFunction& function = list_.function(block);
    double* to = r + list_.row[block];
    if (!function.value(places_in(x, list_.of(block)), to)) std::fill_n(to, function.residuals(), kNaN);
  }

  // Computes those of the blocks [first, last) of a list.
  void residuals(std::span<const std::uint32_t> blocks, std::size_t first, std::size_t last,
                 std::span<const double> x, double* r) {
    for (std::size_t i = first; i < last; ++i) {
      fetch_ahead(blocks, i);
      residuals(blocks[i], x, r);
    }
  }

  // Returns the sums of all extrapolated differences since the last call: one for each number of x, or none.
  std::vector<DifferenceSums> take_difference_sums() { return std::exchange(difference_sums_, {}); }

  // Computes the derivatives and stores them in the format of J.
  template <class T>
  void jacobian(std::uint32_t block, std::span<const double> x, const RecordTarget<T>& J) {
    const BlockFunction& function = list_.function(block);
    const auto rows = static_cast<std::size_t>(function.residuals());
    if (r_.size() < rows) r_.resize(rows);
    const BlockFunction::Derivatives by = function.derivatives_by();
    if (by == BlockFunction::Derivatives::own || by == BlockFunction::Derivatives::traced_own)
      return own_jacobian(block, function, rows, x, J);
    BlockCaller& caller = callers_[groups_.kind(block)];
    const std::size_t n = caller.inputs();
    x_.resize(n);
    J_.resize(rows * n);
    gather_block(list_, block, x, x_.data());
    if (!by_caller(block, function, caller)) std::ranges::fill(J_, kNaN);
    const auto parameters = list_.of(block);
    std::size_t start = 0;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const auto size = static_cast<std::size_t>(list_.sizes[parameters[k]]);
      store(block, k, J_.data() + start, n, {rows, size}, J);
      start += size;
    }
  }
  template <class T>
  void jacobian(std::span<const std::uint32_t> blocks, std::size_t first, std::size_t last,
                std::span<const double> x, const RecordTarget<T>& J) {
    for (std::size_t i = first; i < last; ++i) {
      fetch_ahead(blocks, i);
      jacobian(blocks[i], x, J);
    }
  }

 private:
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

  // Begins to load what a later call reads, so that the call need not wait for the memory.
  void fetch_ahead(std::span<const std::uint32_t> blocks, std::size_t i) const {
    const auto fetch = list_.problem->fetch;
    if (i + 2 * kBlocksAhead < blocks.size()) load_ahead(list_, blocks[i + 2 * kBlocksAhead]);
    if (fetch && i + kBlocksAhead < blocks.size()) fetch(list_.function(blocks[i + kBlocksAhead]));
  }

  // Returns where the parameter blocks of a residual block are in x.
  const double* const* places_in(std::span<const double> x, std::span<const std::uint32_t> parameters) {
    places_.resize(parameters.size());
    for (std::size_t k = 0; k < places_.size(); ++k) places_[k] = x.data() + list_.offsets[parameters[k]];
    return places_.data();
  }

  // Computes derivatives at x_ by dual numbers or differences, into J_. Returns false if there are none.
  bool by_caller(std::uint32_t block, const BlockFunction& function, BlockCaller& caller) {
    const bool extrapolated = !groups_.first_steps.empty() && by_differences(function);
    const std::vector<double>& steps = extrapolated ? groups_.first_steps : groups_.step_shares;
    steps_.resize(steps.empty() ? 0 : caller.inputs());
    if (!steps.empty()) gather_block(list_, block, steps, steps_.data());
    if (!extrapolated) {
      least_sizes_.resize(groups_.least_sizes.empty() ? 0 : caller.inputs());
      if (!least_sizes_.empty()) gather_block(list_, block, groups_.least_sizes, least_sizes_.data());
      return caller.derivatives(function, x_.data(), r_.data(), J_.data(), steps_, least_sizes_);
    }
    errors_.resize(J_.size());
    if (!caller.extrapolated(function, x_.data(), r_.data(), J_.data(), steps_, errors_.data())) return false;
    difference_sums_.resize(groups_.first_steps.size());
    add_difference_sums(list_, block, J_, errors_, difference_sums_);
    return true;
  }

  // Does what jacobian() does, by the function's own derivatives.
  template <class T>
  void own_jacobian(std::uint32_t block, const BlockFunction& function, std::size_t rows,
                    std::span<const double> x, const RecordTarget<T>& J) {
    const auto parameters = list_.of(block);
    BlockCaller& caller = callers_[groups_.kind(block)];
    const bool known = caller.evaluate_own(function, places_in(x, parameters), r_.data());
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const auto size = static_cast<std::size_t>(list_.sizes[parameters[k]]);
      if (!known) std::fill_n(caller.own()[k], rows * size, kNaN);
      store(block, k, caller.own()[k], size, {rows, size}, J);
    }
  }

  struct Size {
    std::size_t rows, columns;
  };
  // Stores the derivatives by the k-th parameter block of a residual block, whose rows are `stride` apart.
  template <class T>
  void store(std::uint32_t block, std::size_t k, const double* from, std::size_t stride, Size size,
             const RecordTarget<T>& J) {
    const std::int32_t column = list_.column[list_.first[block] + k];
    if (column < 0) return;
    T* to = J.at(list_.record[block]) + static_cast<std::size_t>(column);
    const std::size_t apart = list_.stride[block];
    for (std::size_t i = 0; i < size.rows; ++i, to += apart, from += stride) {
      for (std::size_t c = 0; c < size.columns; ++c) to[c] = static_cast<T>(from[c]);
    }
  }

  const BlockList& list_;
  const BlockGroups& groups_;
  std::vector<BlockCaller> callers_;
  std::vector<double> x_, r_, J_, steps_, least_sizes_, errors_;
  std::vector<DifferenceSums> difference_sums_;
  std::vector<const double*> places_;
};

}  // namespace nlsq::inline v0
