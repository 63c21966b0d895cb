// Lowers a graph to the values that a tile program computes, before registers are assigned.
#pragma once

#include <nlsq/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// This is one value of the program. Signs and products are already merged into the instructions that use
// them. Operands are indices of other values.
struct LoweredValue {
  Op op = Op::constant;
  bool varies = false;  // depends on a data column: a vector; otherwise a uniform
  bool exact = false;   // rounded as written (see exact_nodes)
  bool is_output = false;
  std::uint32_t uses = 0;  // uses by vectors that are computed
  std::uint32_t index = 0;
  std::uint32_t operands[3] = {0, 0, 0};
  double number = 0;
};

struct Lowered {
  std::vector<LoweredValue> values;
  std::vector<std::uint32_t> outputs;  // the value of each output
};

// Prepares a graph for lowering: writes out half powers, rewrites (rewrite.hpp), and numbers nodes by
// structure. Replaces `outputs` by their new ids.
Graph prepared(const Graph& graph, std::vector<NodeId>& outputs);

Lowered lower(const Graph& graph, std::span<const NodeId> outputs);

// Returns the computed vectors in an order that keeps few of them live at once.
std::vector<std::uint32_t> schedule(const Lowered& program);

}  // namespace nlsq::inline v0
