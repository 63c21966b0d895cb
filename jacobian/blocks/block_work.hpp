// What a program of residual blocks costs and what it saves, by counts of operations: no decision reads a
// clock.
//
// A program is derived, compared and compiled once; dual numbers need none of that, and take longer at every
// evaluation. Few long blocks are done with dual numbers before their program would be made.
#pragma once

#include "blocks/block_trace.hpp"

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

// In units of some nanosecond.
struct BlockWork {
  double build = 0;           // of the program, once
  double program = 0;         // of J by the program, for each tile: what it takes whatever blocks there are
  double program_vector = 0;  // and for each vector of blocks
  double own = 0;             // of J of one block by dual numbers

  // What the program costs more than it saves, where J of so many blocks is evaluated so often; negative: it
  // saves that.
  double loss(std::size_t blocks, double evaluations) const;
};

// `wanted`: inputs whose derivatives are asked for.
BlockWork count_work(const BlockRecording& recording, std::size_t inputs, std::span<const int> wanted);

// Whether blocks that have not even been called yet are better not recorded: so few inputs and so many
// residuals that no recording of theirs can pay.
bool too_long_to_record(std::size_t blocks, std::size_t residuals, std::size_t inputs, double evaluations);

// Adds of one block in f64, in a vector of many, that take as long as a unit.
inline constexpr double kAddsPerUnit = 20;

// Programs that lose less than this together are made all the same: small problems are not worth a second
// way.
inline constexpr double kLittleWork = 1e6;

}  // namespace nlsq::inline v0
