// What one worker of a DenseEvaluator fills again and again: passes over the rows, and buffers.
#pragma once

#include "dense_evaluator.hpp"

#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct DenseEvaluator::Scratch {
  Vector tile, copies;
  std::vector<double*> pointers;
  Vector moved;                  // x and a part of a step
  Vector residuals, magnitudes;  // of a group of rows re-checked

  // The pass made before, at another x, where the model can; else a new one.
  TilePass& pass(const RowModel& model, std::span<const double> x, Fill fill, bool single) {
    std::unique_ptr<TilePass>& kept = passes_[fill == Fill::residual ? 0 : 1][single ? 1 : 0];
    if (!kept || !kept->restart(x)) kept = model.begin(x, fill, single);
    return *kept;
  }

 private:
  std::unique_ptr<TilePass> passes_[2][2];
};

}  // namespace nlsq::inline v0
