#include "block_program.hpp"

#include "derivative_forms.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

constexpr double kRelative = 1e-9;    // agreement of numbers of one size
constexpr double kCancelled = 1e-11;  // and of what is left of numbers that cancel

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// Constants of the recording as nodes: a number where all blocks agree, else a column (one for all places that
// hold the same numbers).
class ConstantNodes {
 public:
  ConstantNodes(Graph& graph, std::span<const double> values, std::size_t blocks, int first_column)
      : graph_(graph), values_(values), blocks_(blocks), first_column_(first_column) {}

  NodeId make(std::size_t constant) {
    const auto numbers = values_.subspan(constant * blocks_, blocks_);
    if (std::ranges::all_of(numbers, [&](double v) { return same_bits(v, numbers.front()); })) {
      return graph_.constant(numbers.front());
    }
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const double v : numbers) hash = (hash ^ std::bit_cast<std::uint64_t>(v)) * 0x100000001b3ULL;
    const auto [begin, end] = known_.equal_range(hash);
    for (auto place = begin; place != end; ++place) {
      const auto other = values_.subspan(static_cast<std::size_t>(columns_[place->second]) * blocks_, blocks_);
      if (std::ranges::equal(numbers, other, same_bits)) return column(place->second);
    }
    known_.emplace(hash, columns_.size());
    columns_.push_back(static_cast<int>(constant));
    return column(columns_.size() - 1);
  }
  std::vector<int> take_columns() { return std::move(columns_); }

 private:
  NodeId column(std::size_t place) { return graph_.column(first_column_ + static_cast<int>(place)); }

  Graph& graph_;
  std::span<const double> values_;
  std::size_t blocks_;
  int first_column_;
  std::vector<int> columns_;
  std::unordered_multimap<std::uint64_t, std::size_t> known_;
};

std::vector<NodeId> replay(Graph& graph, const BlockRecording& recording, ConstantNodes& constants) {
  std::vector<NodeId> nodes(recording.steps.size(), 0);
  std::size_t constant = 0;
  for (std::size_t i = 1; i < recording.steps.size(); ++i) {
    const TapeStep& step = recording.steps[i];
    switch (step.op) {
      case Op::constant: nodes[i] = constants.make(constant++); break;
      case Op::column: nodes[i] = graph.column(static_cast<int>(step.a)); break;
      default: nodes[i] = graph.make(step.op, nodes[step.a], nodes[step.b], nodes[step.c]);
    }
  }
  return nodes;
}

// 1 where every guard answers as recorded.
NodeId all_guards(Graph& graph, const BlockRecording& recording, const std::vector<NodeId>& nodes) {
  NodeId all = graph.constant(1);
  for (const TapeGuard& guard : recording.guards) {
    const NodeId condition = nodes[guard.condition];
    const NodeId held = guard.outcome ? condition : graph.make(Op::logical_not, condition);
    all = graph.make(Op::logical_and, all, held);
  }
  return all;
}

struct Expressions {
  Graph graph;
  std::vector<NodeId> residuals, derivatives;
  NodeId guard = 0;
};

bool agree(double ours, double dual, double size) {
  if (std::isnan(dual)) return true;  // 0·∞, which the graph's derivatives drop
  if (std::isinf(dual)) return !std::isfinite(ours);
  return std::fabs(ours - dual) <= kRelative * std::max(std::fabs(ours), std::fabs(dual)) + kCancelled * size;
}

// The graph gives what dual numbers give, at one point; also where the point's decisions are not the recording's.
bool agrees(const Expressions& e, std::span<const int> wanted, BlockCaller& caller, const BlockFunction& function,
            std::span<const double> columns) {
  if (evaluate(e.graph, e.guard, columns, {}) == 0) return true;
  const std::size_t n = caller.inputs(), rows = e.residuals.size();
  std::vector<double> residuals(rows), J(rows * n), plain(rows);
  if (!caller.value(function, columns.data(), plain.data())) return false;
  if (!caller.derivatives(function, columns.data(), residuals.data(), J.data())) return false;
  for (std::size_t i = 0; i < rows; ++i) {
    const double ours = evaluate(e.graph, e.residuals[i], columns, {});
    if (!std::isfinite(plain[i])) {
      if (std::isfinite(ours)) return false;
      continue;
    }
    double size = std::fabs(plain[i]);  // of the terms that may have cancelled, to first order
    for (std::size_t j = 0; j < n; ++j) {
      if (std::isfinite(J[i * n + j])) size += std::fabs(J[i * n + j] * columns[j]);
    }
    if (!agree(ours, plain[i], size) || !agree(ours, residuals[i], size)) return false;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const auto j = static_cast<std::size_t>(wanted[w]);
      const double scale = columns[j] != 0 ? std::fabs(columns[j]) : 1;
      if (!agree(evaluate(e.graph, e.derivatives[i * wanted.size() + w], columns, {}), J[i * n + j], size / scale)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<BlockProgram> make_block_program(const BlockRecording& recording, std::span<const double> constants,
                                               std::size_t blocks, std::span<const int> wanted, BlockCaller& caller,
                                               std::span<const BlockFunction* const> functions,
                                               std::span<const std::size_t> samples, std::span<const double> x) {
  BlockProgram program;
  program.inputs = static_cast<int>(caller.inputs());
  program.residuals = static_cast<int>(recording.outputs.size());
  program.wanted.assign(wanted.begin(), wanted.end());
  Expressions e;
  ConstantNodes nodes_of(e.graph, constants, blocks, program.inputs);
  const std::vector<NodeId> nodes = replay(e.graph, recording, nodes_of);
  program.constants = nodes_of.take_columns();
  e.guard = all_guards(e.graph, recording, nodes);
  program.guarded = !e.graph.is_constant(e.guard, 1);
  for (const std::uint32_t output : recording.outputs) e.residuals.push_back(nodes[output]);
  try {
    for (const NodeId residual : e.residuals) {
      const auto slopes = differentiate_columns(e.graph, residual, wanted);
      e.derivatives.insert(e.derivatives.end(), slopes.begin(), slopes.end());
    }
  } catch (const Error&) {  // an operation whose derivative is none
    return std::nullopt;
  }
  // At each sampled block's parameters, and a little off them.
  std::vector<double> columns(caller.inputs() + program.constants.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t c = 0; c < program.constants.size(); ++c) {
      columns[caller.inputs() + c] = constants[static_cast<std::size_t>(program.constants[c]) * blocks + samples[s]];
    }
    for (const double shift : {0.0, 0.01}) {
      for (std::size_t j = 0; j < caller.inputs(); ++j) {
        const double here = x[s * caller.inputs() + j];
        columns[j] = here + shift * (1 + static_cast<double>(j % 3)) * (here != 0 ? here : 1);
      }
      if (!agrees(e, wanted, caller, *functions[s], columns)) return std::nullopt;
    }
  }
  const auto compiled = [&](std::vector<NodeId> outputs) {
    if (program.guarded) outputs.push_back(e.guard);
    return compile(e.graph, outputs);
  };
  program.value = compiled(e.residuals);
  program.jacobian = compiled(e.derivatives);
  program.value_cost = program.value.row_cost();
  program.jacobian_cost = program.jacobian.row_cost();
  return program;
}

}  // namespace nlsq::inline v0
