// Declares the compiled program that blocks with one recording share. Inputs, and constants that differ, are
// columns.
#pragma once

#include "blocks/block_trace.hpp"

#include "program/tile_program.hpp"

#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class StepsCache;  // machine_code/program_steps.hpp

// Maps the constants of a recording to the program. A constant with the same value in all blocks is a number.
// Any other is a column, which all constants with the same values share.
struct ConstantPlan {
  std::vector<int> column;    // column of each constant; -1 if it is a number
  std::vector<double> value;  // value of each constant that is a number
  std::vector<int> columns;   // for each column, a constant that it holds
};
// Makes the plan for some blocks. Constant c of block b is constants[c * blocks + b].
ConstantPlan plan_constants(std::span<const double> constants, std::size_t blocks);

struct BlockProgram {
  int inputs = 0;  // columns [0, inputs) are the parameters of the block; the columns of the plan follow
  int residuals = 0;
  std::vector<int> wanted;  // inputs whose derivatives are computed
  ConstantPlan plan;
  // `value` gives the residuals, and `jacobian` gives the derivatives by `wanted`, residual by residual. If
  // the recording has guards, one more output is 1 in the lanes that take the recorded branches.
  TileProgram value, jacobian;
  std::shared_ptr<StepsCache> steps;
  bool guarded = false;
  double jacobian_cost = 0;
};

// Blocks at which a program is compared with dual numbers before it is used: their functions, their
// consecutive parameters, and their positions among the blocks that have the constants.
struct BlockSamples {
  std::span<const BlockFunction* const> functions;
  std::span<const double> x;
  std::span<const std::size_t> blocks;
};

// Makes a program, or finds one in the cache. `kind` is the kind of block recorded. `constants` are laid out
// as for plan_constants. `wanted` lists the inputs whose derivatives are needed. Returns null if the program
// disagrees with the samples, or if an operation has no derivative.
std::shared_ptr<const BlockProgram> make_block_program(const void* kind, const BlockRecording& recording,
                                                       std::span<const double> constants, std::size_t blocks,
                                                       std::span<const int> wanted, BlockCaller& caller,
                                                       const BlockSamples& samples);

}  // namespace nlsq::inline v0
