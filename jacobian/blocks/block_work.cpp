// Operation counts from which the cost of block programs is estimated.
#include "blocks/block_work.hpp"

#include "expression/graph_walk.hpp"
#include "expression/op_kinds.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr double kBuild = 1000;     // derive, check and compile one node of the graph
constexpr double kInstruction = 3;  // start one instruction of a program
constexpr double kDual = 6;         // one operation on dual numbers, in addition to the function itself
constexpr double kAdjoint = 3;      // nodes of the adjoint form for each node of the expression
constexpr std::size_t kLanes = 8;
constexpr std::size_t kMostInputWords = std::size_t{1} << 20;  // size limit of the table of inputs that each
                                                               // step depends on
constexpr std::size_t kLongBlock = 256;                        // residuals

double passes(std::size_t inputs) {
  return static_cast<double>(std::max<std::size_t>(1, (inputs + kDualWidth - 1) / kDualWidth));
}

// Counts the pairs of a step and a wanted input on which it depends. Returns `otherwise` if the table would
// be too large.
double count_pairs(const BlockRecording& recording, std::size_t inputs, std::span<const int> wanted,
                   double otherwise) {
  const std::size_t words = (inputs + 63) / 64, steps = recording.steps.size();
  if (steps * words > kMostInputWords) return otherwise;
  std::vector<std::uint64_t> depends(steps * words, 0), mask(words, 0);
  for (const int j : wanted) mask[static_cast<std::size_t>(j) / 64] |= std::uint64_t{1} << (j % 64);
  double pairs = 0;
  for (std::size_t i = 1; i < steps; ++i) {
    const TapeStep& step = recording.steps[i];
    std::uint64_t* of = depends.data() + i * words;
    if (step.op == Op::column) of[step.a / 64] = std::uint64_t{1} << (step.a % 64) & mask[step.a / 64];
    for (const std::uint32_t operand : Operands(step)) {
      for (std::size_t w = 0; w < words; ++w) of[w] |= depends[operand * words + w];
    }
    for (std::size_t w = 0; w < words; ++w) pairs += std::popcount(of[w]);
  }
  return pairs;
}

}  // namespace

double BlockWork::loss(std::size_t blocks, double evaluations) const {
  const auto vectors = static_cast<double>((blocks + kLanes - 1) / kLanes);
  return build + evaluations * (program + vectors * program_vector - static_cast<double>(blocks) * own);
}

BlockWork count_work(const BlockRecording& recording, std::size_t inputs, std::span<const int> wanted) {
  const double steps = static_cast<double>(recording.steps.size());
  double functions = 0;
  for (const TapeStep& step : recording.steps) functions += op_cost(step.op);
  const double pairs = count_pairs(recording, inputs, wanted, steps * static_cast<double>(wanted.size()));
  const auto separate = static_cast<double>(separate_nodes(recording.steps, recording.outputs, pairs));
  const double nodes = steps + std::min(pairs, kAdjoint * separate);
  return {.build = kBuild * nodes,
          .program = kInstruction * nodes,
          .program_vector = nodes + functions,
          .own = passes(inputs) * (kDual * steps + functions)};
}

// The estimate assumes that a residual has at least a few steps, usually including a function.
bool too_long_to_record(std::size_t blocks, std::size_t residuals, std::size_t inputs, double evaluations) {
  if (evaluations <= 0 || residuals < kLongBlock) return false;
  constexpr double kNodes = 3, kFunction = 15;  // for each step: nodes, and the cost of functions
  return static_cast<double>(blocks) * passes(inputs) * evaluations * (kDual + kFunction) < kBuild * kNodes;
}

}  // namespace nlsq::inline v0
