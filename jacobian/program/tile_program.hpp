// A tile program is a flat list of vector operations over tiles of rows, compiled from a graph. The kernels
// execute it.
//
//  It has three kinds of values. *Uniforms* are one number for the whole pass: constants, parameters, and
//  expressions of parameters alone, evaluated once per pass in double. *Columns* are data. *Registers* are
//  arrays of the size of a tile; they are reused after the last use of a value, so that the working set of a
//  tile stays in the L1 cache.
//
//  An operand is one int: v >= 0 is vector v (columns first, then registers); v < 0 is uniform ~v. The
//  destination may be the same vector as an operand, but never a different, overlapping one: kernels read
//  their operands of a row before they write it.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct Instruction {
  Op op = Op::copy;
  std::int32_t dst = 0;  // vector (in code and once), or uniform index, not complemented (in the prologue)
  std::int32_t a = 0, b = 0, c = 0;
};

struct NLSQ_API TileProgram {
  int columns = 0;                           // vectors [0, columns)
  int registers = 0;                         // vectors [columns, columns + registers)
  int uniforms = 0;                          // size of the uniform array
  std::vector<double> initial_uniforms;      // constants are set; parameters are filled in
  std::vector<std::int32_t> parameter_slot;  // parameter j -> uniform index; -1 if unused
  std::vector<Instruction> prologue;         // computes uniforms from uniforms, scalar double
  std::vector<Instruction> once;          // executed once per pass: fills registers that no later instruction
                                          // overwrites
  std::vector<Instruction> code;          // executed for each tile
  std::vector<std::int32_t> outputs;      // vector index of each output: a column or a register
  std::vector<std::uint8_t> column_used;  // which columns are read
  int tile_rows = 256;                    // multiple of 64; chosen so that the live registers fit L1

  // Computes the uniforms at parameters p, which lists all parameters, fixed ones too, and may be longer than
  // the program needs. `out` holds `uniforms` doubles. Throws ValidationError if either is too short.
  void evaluate_uniforms(std::span<const double> p, std::span<double> out) const;
  // Cost of one row in abstract units (an addition is 1, an exp about 15), for the entry gate and reports.
  double row_cost() const;
};

// Compiles `outputs` (each a node of `graph`). Products that are used only in one sum are contracted to
// multiply-add explicitly here, so that the result does not depend on the compiler.
NLSQ_API TileProgram compile(const Graph& graph, std::span<const NodeId> outputs);

}  // namespace nlsq::inline v0
