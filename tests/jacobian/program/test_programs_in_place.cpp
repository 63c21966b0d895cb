// Tests programs that let results overwrite operands which are not needed any more. The same program with a
// register of its own for every result must give the same bits, on every kernel set.
#include <doctest/doctest.h>

#include "random_expression.hpp"

#include "kernels/kernel_table.hpp"
#include "program/tile_program.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace nlsq;
using nlsq_test::RandomExpression;

namespace {

// Gives every instruction of `code` a destination that no other instruction writes.
TileProgram without_reuse(TileProgram program) {
  std::vector<std::int32_t> now(static_cast<std::size_t>(program.columns + program.registers));
  for (std::size_t v = 0; v < now.size(); ++v) now[v] = static_cast<std::int32_t>(v);
  for (Instruction& i : program.code) {
    for (std::int32_t* operand : {&i.a, &i.b, &i.c}) {
      if (*operand >= 0) *operand = now[static_cast<std::size_t>(*operand)];
    }
    const std::int32_t fresh = program.columns + program.registers++;
    now[static_cast<std::size_t>(i.dst)] = fresh;
    i.dst = fresh;
  }
  for (std::int32_t& output : program.outputs) output = now[static_cast<std::size_t>(output)];
  return program;
}

template <class Real>
std::vector<std::vector<Real>> run(const KernelTable& kernels, const TileProgram& program,
                                   const std::vector<std::vector<double>>& columns, std::size_t rows,
                                   std::span<const double> parameters) {
  const std::size_t padded = (rows + 63) / 64 * 64;
  std::vector<std::vector<Real>> vectors(static_cast<std::size_t>(program.columns + program.registers),
                                         std::vector<Real>(padded, Real(1)));
  for (std::size_t c = 0; c < static_cast<std::size_t>(program.columns); ++c) {
    for (std::size_t row = 0; row < rows; ++row) vectors[c][row] = static_cast<Real>(columns[c][row]);
  }
  std::vector<Real*> bases;
  for (auto& vector : vectors) bases.push_back(vector.data());
  std::vector<double> uniforms(static_cast<std::size_t>(program.uniforms));
  program.evaluate_uniforms(parameters, uniforms);
  const std::vector<Real> narrow(uniforms.begin(), uniforms.end());
  KernelCounters counters;
  for (const auto* code : {&program.once, &program.code}) {
    if constexpr (sizeof(Real) == 8) {
      kernels.f64.run(code->data(), code->size(), bases.data(), narrow.data(), rows, &counters);
    } else {
      kernels.f32.run(code->data(), code->size(), bases.data(), narrow.data(), rows, &counters);
    }
  }
  std::vector<std::vector<Real>> outputs;
  for (const std::int32_t output : program.outputs) {
    auto values = vectors[static_cast<std::size_t>(output)];
    values.resize(rows);
    outputs.push_back(values);
  }
  return outputs;
}

template <class Real>
bool same_bits(const std::vector<std::vector<Real>>& l, const std::vector<std::vector<Real>>& r) {
  for (std::size_t i = 0; i < l.size(); ++i) {
    for (std::size_t row = 0; row < l[i].size(); ++row) {
      const Real a = l[i][row], b = r[i][row];
      if (!(a == b && std::signbit(a) == std::signbit(b)) && !(std::isnan(a) && std::isnan(b))) return false;
    }
  }
  return true;
}

// Makes columns with extreme values. 130 rows are two full groups of 64 and a rest.
std::vector<std::vector<double>> wild_columns(RandomExpression& e, std::size_t rows) {
  std::vector<std::vector<double>> columns(RandomExpression::kColumns, std::vector<double>(rows));
  for (auto& column : columns) {
    for (double& value : column) {
      value = e.draw_value();
      if (e.pick(20) == 0) value *= 1e30;
      if (e.pick(20) == 0) value = 0;
    }
  }
  return columns;
}

void check(Graph& graph, std::span<const NodeId> outputs, RandomExpression& e) {
  constexpr std::size_t kRows = 130;
  const TileProgram program = compile(graph, outputs), roomy = without_reuse(program);
  const auto columns = wild_columns(e, kRows);
  for (const KernelTable* kernels : available_kernels()) {
    CAPTURE(std::string(kernels->name));
    CHECK(same_bits(run<double>(*kernels, program, columns, kRows, e.parameters),
                    run<double>(*kernels, roomy, columns, kRows, e.parameters)));
    CHECK(same_bits(run<float>(*kernels, program, columns, kRows, e.parameters),
                    run<float>(*kernels, roomy, columns, kRows, e.parameters)));
  }
}

}  // namespace

TEST_CASE("every operation may write over each of its operands") {
  RandomExpression e(1, 0, nlsq_test::smooth_ops());
  for (int number = static_cast<int>(Op::add); number <= static_cast<int>(Op::select); ++number) {
    const Op op = static_cast<Op>(number);
    CAPTURE(std::string(name(op)));
    Graph g;
    // Each sum is computed just before, and is not needed after the operation.
    const NodeId u = g.add(g.column(0), g.parameter(0)), v = g.add(g.column(1), g.parameter(1)),
                 w = g.add(g.column(2), g.parameter(2));
    const NodeId node = g.make(op, u, v, w);
    const NodeId all_die[] = {node};
    check(g, all_die, e);
    const NodeId first_lives[] = {node, u}, second_lives[] = {node, v};
    check(g, first_lives, e);
    check(g, second_lives, e);
  }
}

TEST_CASE("random programs of values and derivatives give the same bits with and without reuse") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    RandomExpression e(seed, 25, seed % 2 == 0 ? nlsq_test::smooth_ops() : nlsq_test::random_ops());
    const int wrt[] = {0, 1, 2};
    std::vector<NodeId> outputs = differentiate(e.graph, e.root(), wrt);
    outputs.push_back(e.root());
    check(e.graph, outputs, e);
  }
}

TEST_CASE("kernels agree with the plain walk of the graph") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomExpression e(seed, 15, nlsq_test::smooth_ops());
    if (!e.tame.back()) continue;
    const NodeId outputs[] = {e.root()};
    const TileProgram program = compile(e.graph, outputs);
    std::vector<std::vector<double>> columns;
    for (const double value : e.columns) columns.push_back({value});
    for (const KernelTable* kernels : available_kernels()) {
      const double value = run<double>(*kernels, program, columns, 1, e.parameters)[0][0];
      // A contracted product rounds once, so every digit that is left after a cancellation may differ.
      double scale = 1;
      for (std::size_t i = 0; i < e.values.size(); ++i) scale = std::max(scale, std::fabs(e.values[i]));
      if (scale > 1e4) continue;
      CAPTURE(seed);
      CHECK(std::fabs(value - e.values.back()) <= 1e-9 * scale);
      ++compared;
    }
  }
  CHECK(compared > 100);
}
