// Builds the program of a recorded residual block, and checks it against dual numbers.
#include "blocks/block_program.hpp"

#include "blocks/block_program_cache.hpp"
#include "expression/derivative_forms.hpp"
#include "expression/rounding.hpp"
#include "machine_code/program_steps.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

constexpr double kRelative = 1e-9;    // relative tolerance where nothing cancels
constexpr double kCancelled = 1e-11;  // tolerance relative to terms that cancel
// Multiple of the graph's rounding bound: dual numbers use other operations, and they round, too.
constexpr double kRounding = 16;

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::vector<NodeId> replay(Graph& graph, const BlockRecording& recording, const ConstantPlan& plan,
                           int inputs) {
  std::vector<NodeId> nodes(recording.steps.size(), 0);
  std::size_t constant = 0;
  for (std::size_t i = 1; i < recording.steps.size(); ++i) {
    const TapeStep& step = recording.steps[i];
    switch (step.op) {
      case Op::constant:
        nodes[i] = plan.column[constant] < 0 ? graph.constant(plan.value[constant])
                                             : graph.column(inputs + plan.column[constant]);
        ++constant;
        break;
      case Op::column: nodes[i] = graph.column(static_cast<int>(step.a)); break;
      default: nodes[i] = graph.make(step.op, nodes[step.a], nodes[step.b], nodes[step.c]);
    }
  }
  return nodes;
}

// 1 where every guard gives the recorded answer.
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

bool agree(const RoundedNumber& ours, double dual, double size) {
  if (std::isnan(dual)) return true;  // 0·∞, which the derivatives of the graph do not have
  if (std::isinf(dual)) return !std::isfinite(ours.value);
  const double rounding = std::isfinite(ours.bound) ? kRounding * ours.bound : 0;
  return std::fabs(ours.value - dual) <=
         kRelative * std::max(std::fabs(ours.value), std::fabs(dual)) + kCancelled * size + rounding;
}

// True if the graph agrees with dual numbers at one point, even if the branches there differ from the
// recorded ones.
bool agrees(const Expressions& e, std::span<const int> wanted, BlockCaller& caller,
            const BlockFunction& function, std::span<const double> columns) {
  const std::vector<RoundedNumber> at = evaluate_rounded(e.graph, columns);
  if (at[e.guard].value == 0) return true;
  const std::size_t n = caller.inputs(), rows = e.residuals.size();
  std::vector<double> residuals(rows), J(rows * n), plain(rows);
  if (!caller.value(function, columns.data(), plain.data())) return false;
  if (!caller.derivatives(function, columns.data(), residuals.data(), J.data())) return false;
  for (std::size_t i = 0; i < rows; ++i) {
    const RoundedNumber& ours = at[e.residuals[i]];
    if (!std::isfinite(plain[i])) {
      if (std::isfinite(ours.value)) return false;
      continue;
    }
    double size = std::fabs(plain[i]);  // first-order bound of the terms that may have cancelled
    for (std::size_t j = 0; j < n; ++j) {
      if (std::isfinite(J[i * n + j])) size += std::fabs(J[i * n + j] * columns[j]);
    }
    if (!agree(ours, plain[i], size) || !agree(ours, residuals[i], size)) return false;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const auto j = static_cast<std::size_t>(wanted[w]);
      const double scale = columns[j] != 0 ? std::fabs(columns[j]) : 1;
      if (!agree(at[e.derivatives[i * wanted.size() + w]], J[i * n + j], size / scale)) return false;
    }
  }
  return true;
}

struct Built {
  BlockProgram program;
  Expressions expressions;
};

// Returns false if an operation has no derivative.
bool build(const BlockRecording& recording, Built& out) {
  auto& [program, e] = out;
  const std::vector<NodeId> nodes = replay(e.graph, recording, program.plan, program.inputs);
  e.guard = all_guards(e.graph, recording, nodes);
  program.guarded = !e.graph.is_constant(e.guard, 1);
  for (const std::uint32_t output : recording.outputs) e.residuals.push_back(nodes[output]);
  try {
    e.derivatives = differentiate_columns(e.graph, e.residuals, program.wanted);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Compares the program with dual numbers at each sample's parameters, and at points near them.
bool agrees_with_dual_numbers(const Built& built, std::span<const double> constants, std::size_t blocks,
                              BlockCaller& caller, const BlockSamples& samples) {
  const auto& [program, e] = built;
  const std::size_t inputs = caller.inputs(), kept = program.plan.columns.size();
  std::vector<double> columns(inputs + kept);
  for (std::size_t s = 0; s < samples.blocks.size(); ++s) {
    for (std::size_t c = 0; c < kept; ++c)
      columns[inputs + c] =
          constants[static_cast<std::size_t>(program.plan.columns[c]) * blocks + samples.blocks[s]];
    for (const double shift : {0.0, 0.01}) {
      for (std::size_t j = 0; j < inputs; ++j) {
        const double here = samples.x[s * inputs + j];
        columns[j] = here + shift * (1 + static_cast<double>(j % 3)) * (here != 0 ? here : 1);
      }
      if (!agrees(e, program.wanted, caller, *samples.functions[s], columns)) return false;
    }
  }
  return true;
}

void compile_all(Built& built) {
  auto& [program, e] = built;
  const auto compiled = [&](std::vector<NodeId> outputs) {
    if (program.guarded) outputs.push_back(e.guard);
    return compile(e.graph, outputs);
  };
  program.value = compiled(e.residuals);
  program.jacobian = compiled(e.derivatives);
  program.value_cost = program.value.row_cost();
  program.jacobian_cost = program.jacobian.row_cost();
}

}  // namespace

ConstantPlan plan_constants(std::span<const double> constants, std::size_t blocks) {
  const std::size_t count = blocks == 0 ? 0 : constants.size() / blocks;
  const auto numbers_of = [&](std::size_t c) { return constants.subspan(c * blocks, blocks); };
  ConstantPlan plan;
  plan.column.assign(count, -1);
  plan.value.assign(count, 0);
  std::unordered_multimap<std::uint64_t, int> known;
  for (std::size_t c = 0; c < count; ++c) {
    const auto numbers = numbers_of(c);
    if (std::ranges::all_of(numbers, [&](double v) { return same_bits(v, numbers.front()); })) {
      plan.value[c] = numbers.front();
      continue;
    }
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const double v : numbers) hash = (hash ^ std::bit_cast<std::uint64_t>(v)) * 0x100000001b3ULL;
    const auto [begin, end] = known.equal_range(hash);
    const auto place = std::find_if(begin, end, [&](const auto& k) {
      return std::ranges::equal(
          numbers, numbers_of(static_cast<std::size_t>(plan.columns[static_cast<std::size_t>(k.second)])),
          same_bits);
    });
    plan.column[c] = place != end ? place->second : static_cast<int>(plan.columns.size());
    if (place != end) continue;
    known.emplace(hash, plan.column[c]);
    plan.columns.push_back(static_cast<int>(c));
  }
  return plan;
}

std::shared_ptr<const BlockProgram> make_block_program(const void* kind, const BlockRecording& recording,
                                                       std::span<const double> constants, std::size_t blocks,
                                                       std::span<const int> wanted, BlockCaller& caller,
                                                       const BlockSamples& samples) {
  Built built;
  BlockProgram& program = built.program;
  program.plan = plan_constants(constants, blocks);
  BlockProgramKey key(kind, recording, program.plan, caller.inputs(), wanted);
  if (auto known = BlockProgramCache::shared().find(key)) return known;
  program.inputs = static_cast<int>(caller.inputs());
  program.residuals = static_cast<int>(recording.outputs.size());
  program.wanted.assign(wanted.begin(), wanted.end());
  if (!build(recording, built) || !agrees_with_dual_numbers(built, constants, blocks, caller, samples))
    return nullptr;
  compile_all(built);
  program.steps = std::make_shared<StepsCache>();
  auto made = std::make_shared<const BlockProgram>(std::move(program));
  BlockProgramCache::shared().keep(std::move(key), made);
  return made;
}

}  // namespace nlsq::inline v0
