// Makes independent residual blocks, each with its own parameter blocks, for tests of the block evaluator.
#pragma once

#include "blocks/block_evaluator.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace blocks_side_by_side {

using namespace nlsq;

// Lists residual blocks whose J is stored by rows, with all columns of a block.
struct Blocks {
  BlockList list;
  std::unique_ptr<BlockUses> problem = std::make_unique<BlockUses>();  // stays where it is when this moves
  std::vector<double> x;
  std::size_t residuals = 0, numbers = 0;

  Blocks() {
    list.problem = problem.get();
    list.first.push_back(0);
  }
  void add(std::shared_ptr<const BlockFunction> function,
           const std::vector<std::vector<double>>& parameters) {
    const auto rows = static_cast<std::uint32_t>(function->residuals());
    std::uint32_t width = 0;
    list.residual_block.push_back(static_cast<std::uint32_t>(problem->functions.size()));
    problem->functions.push_back(std::move(function));
    list.row.push_back(static_cast<std::uint32_t>(residuals));
    list.record.push_back(numbers);
    for (const auto& values : parameters) {
      problem->uses.push_back(static_cast<std::uint32_t>(list.sizes.size()));
      list.column.push_back(static_cast<std::int32_t>(width));
      list.offsets.push_back(static_cast<std::uint32_t>(x.size()));
      list.sizes.push_back(static_cast<int>(values.size()));
      x.insert(x.end(), values.begin(), values.end());
      width += static_cast<std::uint32_t>(values.size());
    }
    list.stride.push_back(width);
    list.first.push_back(static_cast<std::uint32_t>(problem->uses.size()));
    problem->first = list.first;
    residuals += rows;
    numbers += static_cast<std::size_t>(rows) * width;
  }
};

struct Values {
  std::vector<double> r, J;
  std::vector<float> J_f32;
  std::size_t left = 0;  // lanes that left their program, summed over the three passes
};

inline Values evaluate(const Blocks& blocks, const BlockEvaluator& evaluator, std::span<const double> x) {
  Values v{std::vector<double>(blocks.residuals), std::vector<double>(blocks.numbers),
           std::vector<float>(blocks.numbers)};
  const auto pass = evaluator.begin();
  for (std::size_t t = 0; t < evaluator.tiles(); ++t) {
    v.left += pass->residuals(t, x, v.r.data());
    v.left += pass->jacobian(t, x, v.J.data());
    v.left += pass->jacobian(t, x, v.J_f32.data());
  }
  return v;
}

}  // namespace blocks_side_by_side
