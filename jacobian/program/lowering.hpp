// From a graph to the values a tile program computes, before they have registers.
#pragma once

#include <nlsq/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// A node of the program: fewer kinds of operation than it seems, and signs and products already merged
// into the instructions that use them. Operands are indices of other values.
struct LoweredValue {
  Op op = Op::constant;
  bool varies = false;  // depends on a data column: a vector, else a uniform
  bool is_output = false;
  std::uint32_t uses = 0;  // by vectors that are computed
  std::uint32_t index = 0;
  std::uint32_t operands[3] = {0, 0, 0};
  double number = 0;
};

struct Lowered {
  std::vector<LoweredValue> values;
  std::vector<std::uint32_t> outputs;  // value of each output
};

// The graph that is lowered: half powers written out, rewritten (rewrite.hpp), and numbered by structure.
// `outputs` are renamed.
Graph prepared(const Graph& graph, std::vector<NodeId>& outputs);

Lowered lower(const Graph& graph, std::span<const NodeId> outputs);

// The computed vectors in an order that keeps few of them alive at once.
std::vector<std::uint32_t> schedule(const Lowered& program);

}  // namespace nlsq::inline v0
