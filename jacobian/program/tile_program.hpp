// A tile program: a flat list of vector operations over tiles of rows, compiled from a graph.
//
// Three kinds of value. *Uniforms* are one number for the whole pass (constants, parameters, and
// expressions of parameters alone: evaluated once per pass in double). *Columns* are data.
// *Registers* are tile-sized arrays; they are reused as values die, so that the working set of a
// tile stays in the L1 cache.
//
// An operand is one int: v >= 0 is vector v (columns first, then registers); v < 0 is uniform ~v.
// The destination may be the same vector as an operand (never a different, overlapping one): kernels
// read what they need of a row before they write it.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct Instruction {
  Op op = Op::copy;
  std::int32_t dst = 0;  // vector (code, once) or uniform index, not complemented (prologue)
  std::int32_t a = 0, b = 0, c = 0;
};

struct NLSQ_API TileProgram {
  int columns = 0;                           // vectors [0, columns)
  int registers = 0;                         // vectors [columns, columns + registers)
  int uniforms = 0;                          // size of the uniform array
  std::vector<double> initial_uniforms;      // constants in place, parameters to be filled
  std::vector<std::int32_t> parameter_slot;  // parameter j -> uniform index, or -1 when unused
  std::vector<Instruction> prologue;         // uniform <- uniforms, scalar double
  std::vector<Instruction> once;      // fills registers that no later instruction overwrites; once per pass
  std::vector<Instruction> code;      // per tile
  std::vector<std::int32_t> outputs;  // vector index of each output: a column or a register
  std::vector<std::uint8_t> column_used;  // which columns are read
  int tile_rows = 256;                    // multiple of 64; chosen so that the live set fits L1

  // Uniform values at parameters p (all parameters, free or not; more than the program uses is fine).
  // `out` holds `uniforms` doubles. Throws ValidationError when either is too short.
  void evaluate_uniforms(std::span<const double> p, std::span<double> out) const;
  // Cost of one row in abstract units (an add is 1, an exp about 15): for gates and reports.
  double row_cost() const;
};

// Compiles `outputs` (each a node of `graph`). Multiply-add pairs whose product has no other use are
// contracted here, explicitly: nothing is left to the compiler's mood.
NLSQ_API TileProgram compile(const Graph& graph, std::span<const NodeId> outputs);

}  // namespace nlsq::inline v0
