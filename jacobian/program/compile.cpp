// Makes the last step of compiling a tile program: numbers the uniforms and assigns registers to scheduled
// values. Also computes the values of a program's uniforms, and the cost of a row.
#include "program/lowering.hpp"

#include "expression/op_kinds.hpp"
#include "program/tile_program.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

constexpr std::int32_t kUnset = std::numeric_limits<std::int32_t>::max();
// Most bytes of a tile; the rest of a 32 KB L1 cache is for other data.
constexpr std::size_t kTileBytes = 24 * 1024;
// With very many derivatives, L1 would hold too few rows for the Gram kernels. The tile then has as many rows
// as fit into about the size of an L2 cache, but at least kLeastOfLarge, so that sums are not flushed too
// often.
constexpr std::size_t kLargeTileBytes = 2 * 1024 * 1024, kLeastOfLarge = 256;
constexpr std::size_t kLeastRows = 64, kMostRows = 512;

class Compiler {
 public:
  explicit Compiler(Lowered lowered)
      : values_(std::move(lowered.values)), outputs_(std::move(lowered.outputs)), order_(),
        place_(values_.size(), kUnset) {}

  TileProgram run(std::vector<std::uint32_t> order) {
    order_ = std::move(order);
    number_columns();
    for (const std::uint32_t output : outputs_) fill_once(output);
    emit_code();
    for (const std::uint32_t output : outputs_) program_.outputs.push_back(vector_of(output));
    program_.uniforms = static_cast<int>(program_.initial_uniforms.size());
    choose_tile_rows();
    return std::move(program_);
  }

 private:
  void number_columns() {
    for (const LoweredValue& v : values_) {
      if (v.op == Op::column) program_.columns = std::max(program_.columns, static_cast<int>(v.index) + 1);
    }
    program_.column_used.assign(static_cast<std::size_t>(program_.columns), 0);
    for (std::uint32_t id = 0; id < values_.size(); ++id) {
      const LoweredValue& v = values_[id];
      if (v.op != Op::column || (v.uses == 0 && !v.is_output)) continue;
      place_[id] = static_cast<std::int32_t>(v.index);
      program_.column_used[v.index] = 1;
    }
  }

  // Writes an output that depends on no column once per pass, to its own register.
  void fill_once(std::uint32_t output) {
    if (values_[output].varies || once_.contains(output)) return;
    const std::int32_t vector = program_.columns + program_.registers++;
    program_.once.push_back({.op = Op::copy, .dst = vector, .a = uniform(output)});
    once_.emplace(output, vector);
  }

  std::int32_t vector_of(std::uint32_t output) const {
    return values_[output].varies ? place_[output] : once_.at(output);
  }

  // Writes the instructions. Operands with no later use free their registers before the result is placed, so
  // that it can use one of them.
  void emit_code() {
    std::vector<std::uint32_t> left(values_.size(), 0);
    for (const std::uint32_t id : order_) {
      for (int i = 0; i < arity(values_[id].op); ++i) ++left[values_[id].operands[i]];
    }
    std::vector<std::int32_t> free;
    for (const std::uint32_t id : order_) {
      const LoweredValue& v = values_[id];
      std::int32_t operands[3] = {0, 0, 0};
      for (int i = 0; i < arity(v.op); ++i) {
        const std::uint32_t operand = v.operands[i];
        const LoweredValue& o = values_[operand];
        operands[i] = o.varies ? place_[operand] : uniform(operand);
        const bool dies = --left[operand] == 0 && o.varies && o.op != Op::column && !o.is_output;
        if (dies) free.push_back(place_[operand]);
      }
      if (free.empty()) free.push_back(program_.columns + program_.registers++);
      place_[id] = free.back();
      free.pop_back();
      program_.code.push_back({v.op, place_[id], operands[0], operands[1], operands[2]});
    }
  }

  // Returns the operand (complemented index) of a uniform. When a uniform is first used, it is numbered, and
  // the prologue gets its computation.
  std::int32_t uniform(std::uint32_t root) {
    std::vector<std::uint32_t> stack{root};
    while (!stack.empty()) {
      const std::uint32_t id = stack.back();
      const LoweredValue& v = values_[id];
      bool ready = true;
      for (int i = arity(v.op); i-- > 0 && place_[id] == kUnset;) {
        if (place_[v.operands[i]] != kUnset) continue;
        stack.push_back(v.operands[i]);
        ready = false;
      }
      if (!ready) continue;
      if (place_[id] == kUnset) place_[id] = ~number_uniform(v);
      stack.pop_back();
    }
    return place_[root];
  }

  std::int32_t number_uniform(const LoweredValue& v) {
    if (v.op == Op::constant) return pooled(v.number);
    if (v.op == Op::unexplored) return pooled(std::numeric_limits<double>::quiet_NaN());
    const std::int32_t slot = new_uniform(0);
    if (v.op == Op::parameter) {
      auto& slots = program_.parameter_slot;
      if (slots.size() <= v.index) slots.resize(v.index + 1, -1);
      slots[v.index] = slot;
      return slot;
    }
    Instruction instruction{.op = v.op, .dst = slot};
    std::int32_t* const operands[] = {&instruction.a, &instruction.b, &instruction.c};
    for (int i = 0; i < arity(v.op); ++i) *operands[i] = place_[v.operands[i]];
    program_.prologue.push_back(instruction);
    return slot;
  }

  std::int32_t pooled(double number) {
    const auto [place, added] = constants_.try_emplace(std::bit_cast<std::uint64_t>(number), 0);
    if (added) place->second = new_uniform(number);
    return place->second;
  }

  std::int32_t new_uniform(double initial) {
    program_.initial_uniforms.push_back(initial);
    return static_cast<std::int32_t>(program_.initial_uniforms.size() - 1);
  }

  void choose_tile_rows() {
    const auto used = std::ranges::count(program_.column_used, 1);
    const std::size_t vectors = static_cast<std::size_t>(program_.registers) + static_cast<std::size_t>(used);
    const std::size_t row = sizeof(double) * std::max<std::size_t>(vectors, 1);
    const bool many = sizeof(double) * outputs_.size() * kLeastRows > kTileBytes;
    const std::size_t bytes = many ? kLargeTileBytes : kTileBytes;
    const std::size_t rows = bytes / row / 64 * 64;
    program_.tile_rows = static_cast<int>(std::clamp(rows, many ? kLeastOfLarge : kLeastRows, kMostRows));
  }

  std::vector<LoweredValue> values_;
  std::vector<std::uint32_t> outputs_;
  std::vector<std::uint32_t> order_;
  std::vector<std::int32_t> place_;  // of each value: vector, or complemented uniform index
  std::unordered_map<std::uint32_t, std::int32_t> once_;
  std::unordered_map<std::uint64_t, std::int32_t> constants_;
  TileProgram program_;
};

}  // namespace

TileProgram compile(const Graph& graph, std::span<const NodeId> outputs) {
  Lowered lowered = lower(graph, outputs);
  std::vector<std::uint32_t> order = schedule(lowered);
  return Compiler(std::move(lowered)).run(std::move(order));
}

void TileProgram::evaluate_uniforms(std::span<const double> p, std::span<double> out) const {
  if (p.size() < parameter_slot.size() || out.size() < initial_uniforms.size()) {
    throw ValidationError(
        fmt::format("the program needs {} parameters and room for {} uniforms, not {} and {}",
                    parameter_slot.size(), initial_uniforms.size(), p.size(), out.size()));
  }
  std::ranges::copy(initial_uniforms, out.begin());
  for (std::size_t j = 0; j < parameter_slot.size(); ++j) {
    if (parameter_slot[j] >= 0) out[static_cast<std::size_t>(parameter_slot[j])] = p[j];
  }
  for (const Instruction& step : prologue) {
    const std::int32_t operands[] = {step.a, step.b, step.c};
    double values[3] = {0, 0, 0};
    for (int i = 0; i < arity(step.op); ++i) values[i] = out[static_cast<std::size_t>(~operands[i])];
    out[static_cast<std::size_t>(step.dst)] = evaluate_op(step.op, values[0], values[1], values[2]);
  }
}

double TileProgram::row_cost() const {
  double cost = 0;
  for (const Instruction& instruction : code) cost += op_cost(instruction.op);
  return cost;
}

}  // namespace nlsq::inline v0
