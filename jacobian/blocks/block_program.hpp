// The program that blocks following one recording share: inputs and constants that differ are columns.
#pragma once

#include "blocks/block_trace.hpp"

#include "program/tile_program.hpp"

#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// What becomes of a recording's constants: a number where all blocks have the same, else a column, one for
// all places that hold the same numbers.
struct ConstantPlan {
  std::vector<int> column;    // by constant; -1: a number
  std::vector<double> value;  // by constant, where it is a number
  std::vector<int> columns;   // by column: a constant it holds
};
// Constant c of block b at [c * blocks + b].
ConstantPlan plan_constants(std::span<const double> constants, std::size_t blocks);

struct BlockProgram {
  int inputs = 0;  // columns [0, inputs): the parameters of the block; after them those of the plan
  int residuals = 0;
  std::vector<int> wanted;  // inputs that have derivatives
  ConstantPlan plan;
  // Outputs: residuals; and residual by residual the derivatives by `wanted`. After them, where the recording
  // has guards, 1 in the lanes that decide as it did.
  TileProgram value, jacobian;
  bool guarded = false;
  double value_cost = 0, jacobian_cost = 0;
};

// Blocks that a program is compared with on dual numbers before it is believed: their functions, their
// parameters side by side, and which of the blocks that have the constants they are.
struct BlockSamples {
  std::span<const BlockFunction* const> functions;
  std::span<const double> x;
  std::span<const std::size_t> blocks;
};

// `kind`: whose recording it is. `constants` as of plan_constants. `wanted`: the inputs whose derivatives are
// asked for. Null where it does not agree with the samples, or an operation has no derivative. One made
// before serves again.
std::shared_ptr<const BlockProgram> make_block_program(const void* kind, const BlockRecording& recording,
                                                       std::span<const double> constants, std::size_t blocks,
                                                       std::span<const int> wanted, BlockCaller& caller,
                                                       const BlockSamples& samples);

}  // namespace nlsq::inline v0
