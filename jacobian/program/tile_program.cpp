// Evaluates the uniforms of a tile program and estimates the cost of a row.
#include "program/tile_program.hpp"
#include <nlsq/error.hpp>

#include "expression/op_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

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
