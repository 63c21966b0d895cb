// Memory that one worker of a DenseEvaluator reuses: passes over the rows, and buffers.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "dense/low_gram.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct DenseEvaluator::Scratch {
  Vector tile, copies;
  LowGram low_gram;                        // for plans below f64
  std::vector<const double*> columns_f64;  // columns of a tile; null for a column of ones
  std::vector<const float*> columns_f32;
  std::vector<double*> pointers;
  Vector moved;                  // x plus a part of a step
  Vector residuals, magnitudes;  // of a group of rechecked rows

  // Returns a pass at x: the last pass of this kind, if the model can move it to x, else a new one.
  TilePass& pass(const RowModel& model, std::span<const double> x, Fill fill, bool single) {
    std::unique_ptr<TilePass>& kept = passes_[fill == Fill::residual ? 0 : 1][single ? 1 : 0];
    bool& there = there_[fill == Fill::residual ? 0 : 1][single ? 1 : 0];
    if (kept && there) return *kept;
    if (!kept || !kept->restart(x)) kept = model.begin(x, fill, single);
    there = one_x_;
    return *kept;
  }

  // Declares that all passes until the next call are at one x.
  void hold_x() {
    one_x_ = true;
    for (auto& row : there_) row[0] = row[1] = false;
  }

  // Holds the size of each buffer in bytes. For several workers, it is the largest size.
  struct Sizes {
    std::size_t vectors = 0, low_gram = 0, passes[2][2] = {};
    std::size_t total() const {
      return vectors + low_gram + passes[0][0] + passes[0][1] + passes[1][0] + passes[1][1];
    }
  };

  void add_sizes(Sizes& largest) const {
    const auto raise = [](std::size_t& size, std::size_t bytes) { size = std::max(size, bytes); };
    raise(largest.vectors, (tile.size() + copies.size()) * sizeof(double));
    raise(largest.low_gram, low_gram.bytes());
    for (int f = 0; f < 2; ++f) {
      for (int s = 0; s < 2; ++s) raise(largest.passes[f][s], passes_[f][s] ? passes_[f][s]->bytes() : 0);
    }
  }

  std::size_t bytes() const {
    Sizes sizes;
    add_sizes(sizes);
    return sizes.total();
  }

 private:
  std::unique_ptr<TilePass> passes_[2][2];
  bool there_[2][2] = {{false, false}, {false, false}};  // the pass is at the current x
  bool one_x_ = false;
};

}  // namespace nlsq::inline v0
