// Estimates the cost and the savings of a program of residual blocks from operation counts. No decision uses
// a clock.
//
//  A program is derived, checked and compiled once. Dual numbers need none of that but take longer at every
//  evaluation. A few long blocks are finished with dual numbers before their program would be ready.
#pragma once

#include "blocks/block_trace.hpp"

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

// Holds times in units of a few nanoseconds.
struct BlockWork {
  double build = 0;           // building the program, once
  double program = 0;         // J by the program: fixed cost of each tile
  double program_vector = 0;  // J by the program: cost of each vector of blocks
  double own = 0;             // J of one block by dual numbers

  // Returns the program's cost minus its savings, if J of `blocks` blocks is evaluated `evaluations` times. A
  // negative loss is a saving.
  double loss(std::size_t blocks, double evaluations) const;
};

// Counts the work for one recording. `wanted` lists the inputs whose derivatives are needed.
BlockWork count_work(const BlockRecording& recording, std::size_t inputs, std::span<const int> wanted);

// Returns true if blocks that were never called should not be recorded: they have so few inputs and so many
// residuals that no recording of them can pay.
bool too_long_to_record(std::size_t blocks, std::size_t residuals, std::size_t inputs, double evaluations);

// One unit of time is that of so many f64 additions of one block, in a vector of many.
inline constexpr double kAddsPerUnit = 20;

// Programs that together lose less than this are built anyway: a small problem does not justify a second
// method.
inline constexpr double kLittleWork = 1e5;

}  // namespace nlsq::inline v0
