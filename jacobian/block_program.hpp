// The program that blocks following one recording share: inputs and constants that differ are columns.
#pragma once

#include "block_trace.hpp"

#include <nlsq/tile_program.hpp>

#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct BlockProgram {
  int inputs = 0;     // columns [0, inputs): the parameters of the block
  int residuals = 0;
  std::vector<int> wanted;     // inputs that have derivatives
  std::vector<int> constants;  // column inputs + c holds this constant of the recording
  // Outputs: residuals; and residual by residual the derivatives by `wanted`. After them, where the recording
  // has guards, 1 in the lanes that decide as it did.
  TileProgram value, jacobian;
  bool guarded = false;
  double value_cost = 0, jacobian_cost = 0;
};

// `constants`: constant c of the recording in block b at [c * blocks + b]. `wanted`: the inputs whose derivatives
// are asked for. `x` and `functions`: blocks that the program is compared with on dual numbers before it is
// believed. None where it does not agree, or an operation has no derivative.
std::optional<BlockProgram> make_block_program(const BlockRecording& recording, std::span<const double> constants,
                                               std::size_t blocks, std::span<const int> wanted,
                                               BlockCaller& caller, std::span<const BlockFunction* const> functions,
                                               std::span<const std::size_t> samples, std::span<const double> x);

}  // namespace nlsq::inline v0
