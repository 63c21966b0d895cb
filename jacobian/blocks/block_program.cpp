// Builds the program of a recorded residual block, and checks it against dual numbers.
#include "blocks/block_program.hpp"

#include "blocks/block_program_cache.hpp"
#include "expression/partials.hpp"
#include "expression/rounding.hpp"
#include "machine_code/program_steps.hpp"

#include <nlsq/error.hpp>

#include <cmath>

namespace nlsq::inline v0 {

namespace {

// The tolerance is this multiple of the graph's rounding bound, because dual numbers use other operations,
// which round, too.
constexpr double kRounding = 16;

// Builds a node that is 1 if every guard gives the recorded answer.
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

bool rounded_agree(const RoundedNumber& ours, double dual, double size) {
  return agree(ours.value, dual, size, std::isfinite(ours.bound) ? kRounding * ours.bound : 0);
}

// Returns true if the graph agrees with dual numbers at one point, even if the branches there differ from the
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
    const double size = size_of_terms(plain[i], std::span(J).subspan(i * n, n), columns);
    if (!rounded_agree(ours, plain[i], size) || !rounded_agree(ours, residuals[i], size)) return false;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const auto j = static_cast<std::size_t>(wanted[w]);
      const double scale = columns[j] != 0 ? std::fabs(columns[j]) : 1;
      if (!rounded_agree(at[e.derivatives[i * wanted.size() + w]], J[i * n + j], size / scale)) return false;
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
  const auto constant = [&out, k = std::size_t{0}](const TapeStep&) mutable {
    const int column = out.program.plan.column[k++];
    Graph& graph = out.expressions.graph;
    return column < 0 ? graph.constant(out.program.plan.value[k - 1])
                      : graph.column(out.program.inputs + column);
  };
  const std::vector<NodeId> nodes = replay(e.graph, recording.steps, 1, constant);
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
  program.jacobian_cost = program.jacobian.row_cost();
}

}  // namespace

ConstantPlan plan_constants(std::span<const double> constants, std::size_t blocks) {
  const std::size_t count = blocks == 0 ? 0 : constants.size() / blocks;
  const auto numbers_of = [&](std::size_t c) { return constants.subspan(c * blocks, blocks); };
  ConstantPlan plan;
  plan.column.assign(count, -1);
  plan.value.assign(count, 0);
  EqualColumns known;
  for (std::size_t c = 0; c < count; ++c) {
    const auto numbers = numbers_of(c);
    if (all_equal(numbers)) {
      plan.value[c] = numbers.front();
      continue;
    }
    const auto [column, added] = known.number(numbers, [&](int k) {
      return numbers_of(static_cast<std::size_t>(plan.columns[static_cast<std::size_t>(k)]));
    });
    plan.column[c] = column;
    if (added) plan.columns.push_back(static_cast<int>(c));
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
