#include <doctest/doctest.h>

#include "program/lowering.hpp"
#include "random_expression.hpp"

#include <nlsq/error.hpp>
#include <nlsq/formula.hpp>
#include "program/tile_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

using namespace nlsq;
using nlsq_test::RandomExpression;

namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

// Runs a program in the plainest way: vectors[v][row]. Contracted products round twice here, so that every
// value must equal that of the lowered graph to the last bit.
class Interpreter {
 public:
  Interpreter(const TileProgram& program, std::span<const double> parameters, std::size_t rows)
      : program_(program), uniforms_(static_cast<std::size_t>(program.uniforms)),
        vectors_(static_cast<std::size_t>(program.columns + program.registers),
                 std::vector<double>(rows, kNaN)) {
    program.evaluate_uniforms(parameters, uniforms_);
    run(program.once);
  }

  void tile(const std::vector<std::vector<double>>& columns) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(program_.columns); ++c) {
      vectors_[c] = program_.column_used[c] ? columns[c] : std::vector<double>(columns[c].size(), kNaN);
    }
    run(program_.code);
  }

  double output(std::size_t i, std::size_t row) const {
    return vectors_[static_cast<std::size_t>(program_.outputs[i])][row];
  }

 private:
  double read(std::int32_t operand, std::size_t row) const {
    return operand < 0 ? uniforms_[static_cast<std::size_t>(~operand)]
                       : vectors_[static_cast<std::size_t>(operand)][row];
  }

  void run(const std::vector<Instruction>& code) {
    for (const Instruction& i : code) {
      REQUIRE(i.dst >= program_.columns);
      auto& target = vectors_[static_cast<std::size_t>(i.dst)];
      for (std::size_t row = 0; row < target.size(); ++row) {
        const double a = read(i.a, row);
        const double b = arity(i.op) > 1 ? read(i.b, row) : 0, c = arity(i.op) > 2 ? read(i.c, row) : 0;
        target[row] = i.op == Op::fma    ? a * b + c
                      : i.op == Op::fms  ? a * b - c
                      : i.op == Op::fnma ? c - a * b
                      : i.op == Op::copy ? a
                                         : evaluate_op(i.op, a, b, c);
      }
    }
  }

  const TileProgram& program_;
  std::vector<double> uniforms_;
  std::vector<std::vector<double>> vectors_;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The sign of a zero is not kept, so a division by it may differ. Such rows prove nothing.
bool meets_infinity(const Graph& g, std::span<const double> columns, std::span<const double> parameters) {
  for (NodeId id = 0; id < g.size(); ++id) {
    if (std::isinf(evaluate(g, id, columns, parameters))) return true;
  }
  return false;
}

std::size_t count(const TileProgram& program, Op op) {
  return static_cast<std::size_t>(std::count_if(program.code.begin(), program.code.end(),
                                                [op](const Instruction& i) { return i.op == op; }));
}

TileProgram compile_text(const char* text) {
  const Formula f = parse_formula(text);
  const NodeId outputs[] = {f.model};
  return compile(f.graph, outputs);
}

}  // namespace

TEST_CASE("programs compute what their graphs say, on random expressions") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomExpression e(seed, static_cast<int>(5 + seed % 40), nlsq_test::random_ops());
    std::vector<NodeId> outputs{e.root()};
    for (std::size_t extra = seed % 4; extra > 0; --extra) outputs.push_back(e.any());
    const TileProgram program = compile(e.graph, outputs);
    const Graph graph = prepared(e.graph, outputs);
    constexpr std::size_t kRows = 3;
    Interpreter machine(program, e.parameters, kRows);
    for (int tile = 0; tile < 2; ++tile) {
      std::vector<std::vector<double>> columns(RandomExpression::kColumns, std::vector<double>(kRows));
      for (auto& column : columns) {
        for (double& value : column) value = e.draw_value();
      }
      machine.tile(columns);
      for (std::size_t row = 0; row < kRows; ++row) {
        std::vector<double> here;
        for (const auto& column : columns) here.push_back(column[row]);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          const double expected = evaluate(graph, outputs[i], here, e.parameters);
          ++compared;
          if (same(machine.output(i, row), expected) || meets_infinity(graph, here, e.parameters)) continue;
          CAPTURE(seed);
          CAPTURE(to_string(graph, outputs[i]));
          REQUIRE(machine.output(i, row) == expected);
        }
      }
    }
  }
  CHECK(compared > 40000);
}

TEST_CASE("programs of values and derivatives compute what their graphs say") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomExpression e(seed, 20, nlsq_test::smooth_ops());
    const int wrt[] = {0, 1, 2};
    std::vector<NodeId> outputs = differentiate(e.graph, e.root(), wrt);
    outputs.push_back(e.root());
    const TileProgram program = compile(e.graph, outputs);
    const Graph graph = prepared(e.graph, outputs);
    Interpreter machine(program, e.parameters, 1);
    machine.tile({{e.columns[0]}, {e.columns[1]}, {e.columns[2]}});
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const double expected = evaluate(graph, outputs[i], e.columns, e.parameters);
      if (same(machine.output(i, 0), expected) || meets_infinity(graph, e.columns, e.parameters)) continue;
      CAPTURE(seed);
      REQUIRE(machine.output(i, 0) == expected);
    }
  }
}

TEST_CASE("the exponential decay with its derivatives takes six instructions") {
  Formula f = parse_formula("a*exp(-b*x)+c");
  const int wrt[] = {0, 1, 2};
  std::vector<NodeId> outputs = differentiate(f.graph, f.model, wrt);
  outputs.push_back(f.graph.sub(f.model, f.response));
  const TileProgram program = compile(f.graph, outputs);
  CHECK(program.code.size() == 6);  // -b*x, exp, *-a, *x, a*exp+c, -y
  CHECK(program.once.size() == 1);  // df/dc = 1
  CHECK(program.prologue.size() == 2);
  CHECK(program.registers == 4);
  CHECK(program.row_cost() == 20);
  CHECK(program.parameter_slot.size() == 3);
}

// Returns the largest relative difference between the lowered expression and the original over many rows.
double rewriting_error(const char* text) {
  const Formula f = parse_formula(text);
  std::vector<NodeId> outputs{f.model};
  const Graph graph = prepared(f.graph, outputs);
  const std::vector<double> p{1.37, 0.71, 2.9, 0.33};
  double worst = 0;
  for (double x = 0.0123; x < 50; x *= 1.07) {
    const double expected = evaluate(f.graph, f.model, std::span(&x, 1), p);
    worst = std::max(worst, std::fabs(evaluate(graph, outputs[0], std::span(&x, 1), p) / expected - 1));
  }
  return worst;
}

TEST_CASE("rewriting costs a rounding or two") {
  for (const char* text : {"x/a", "x/7", "a/(b+x)+x/(b+x)", "a+(b*x+c*exp(-x))", "a*(exp(-x)*(x*b))",
                           "a*x/(b+c*x)+d/(b+c*x)", "(a+x)*sqrt(x/b)"}) {
    CAPTURE(text);
    CHECK(rewriting_error(text) <= 4 * 0x1p-52);
  }
  CHECK(rewriting_error("(a-x)*sin(x-a)*(a-x)") == 0);
}

TEST_CASE("quotients are products where their divisor is a uniform, or shared") {
  CHECK(count(compile_text("x/a"), Op::div) == 0);
  CHECK(count(compile_text("x/7+1"), Op::div) == 0);
  CHECK(count(compile_text("a/x"), Op::div) == 1);
  CHECK(count(compile_text("a/(b+x)+x/(b+x)+exp(x)/(b+x)"), Op::div) == 1);
  CHECK(compile_text("a*(sin(x)*(x/b))").code.size() == 3);
}

TEST_CASE("products of a uniform are contracted into sums, others where nothing else needs them") {
  CHECK(count(compile_text("a*x+b"), Op::fma) == 1);
  CHECK(count(compile_text("a*x-b"), Op::fms) == 1);
  CHECK(count(compile_text("b-a*x"), Op::fnma) == 1);
  CHECK(compile_text("a+b*x+c*x^2+d*x^3").code.size() == 5);
  CHECK(count(compile_text("a*x+sin(a*x)"), Op::fma) == 1);
  CHECK(count(compile_text("x*exp(x)+sin(x*exp(x))"), Op::fma) == 0);
  Formula f = parse_formula("a*x+b");
  const NodeId product = f.graph.mul(f.graph.parameter(0), f.graph.column(0));
  const NodeId outputs[] = {f.model, product};
  const TileProgram program = compile(f.graph, outputs);
  CHECK(count(program, Op::fma) == 0);  // the product is an output
  CHECK(program.code.size() == 2);
}

TEST_CASE("signs cost no instruction where a uniform can carry them") {
  CHECK(compile_text("-a*x").code.size() == 1);
  CHECK(compile_text("-a/x").code.size() == 1);
  CHECK(compile_text("-x/a").code.size() == 1);
  CHECK(compile_text("-(a+x)").code.size() == 1);
  CHECK(compile_text("-2*x").code.size() == 1);
  CHECK(compile_text("-x*sin(x)").code.size() == 2);
  CHECK(compile_text("exp(-x^2/2)").code.size() == 3);
}

TEST_CASE("half powers run as products and square roots, and stay within a few units in the last place") {
  for (const char* exponent : {"1.5", "-1.5", "2.5", "8.5", "-3.5", "0.5"}) {
    const std::string text = std::string("x^(") + exponent + ")";
    const TileProgram program = compile_text(text.c_str());
    CHECK(count(program, Op::pow) == 0);
    CHECK(count(program, Op::sqrt) == 1);
    Interpreter machine(program, {}, 1);
    for (double x = 0.013; x < 40; x *= 1.37) {
      machine.tile({{x}});
      CHECK(std::fabs(machine.output(0, 0) / std::pow(x, std::stod(exponent)) - 1) < 8 * 1.2e-16);
    }
  }
  CHECK(count(compile_text("x^2.7"), Op::pow) == 1);
}

TEST_CASE("expressions without a column are computed once a pass") {
  const TileProgram program = compile_text("sin(a)*exp(b)/2*x");
  CHECK(program.code.size() == 1);
  CHECK(program.prologue.size() == 4);
  std::vector<double> uniforms(static_cast<std::size_t>(program.uniforms));
  const double p[] = {0.4, 0.9};
  program.evaluate_uniforms(p, uniforms);
  const auto factor = static_cast<std::size_t>(~std::min(program.code[0].a, program.code[0].b));
  CHECK(uniforms[factor] == doctest::Approx(std::sin(0.4) * std::exp(0.9) / 2).epsilon(1e-15));
  CHECK_THROWS_AS(program.evaluate_uniforms(std::span(p, 1), uniforms), ValidationError);
  CHECK_THROWS_AS(program.evaluate_uniforms(p, std::span<double>()), ValidationError);
}

TEST_CASE("outputs may be columns, uniforms, and the same twice") {
  Graph g;
  const NodeId x = g.column(1), a = g.parameter(0), sum = g.add(x, a);
  const NodeId outputs[] = {x, a, g.constant(3), sum, a, sum};
  const TileProgram program = compile(g, outputs);
  CHECK(program.columns == 2);
  CHECK(program.column_used == std::vector<std::uint8_t>{0, 1});
  CHECK(program.outputs[0] == 1);
  CHECK(program.outputs[1] == program.outputs[4]);
  CHECK(program.outputs[3] == program.outputs[5]);
  CHECK(program.once.size() == 2);
  const double p[] = {0.5};
  Interpreter machine(program, p, 1);
  for (const double value : {4.0, 5.0}) {  // registers filled once survive the tiles
    machine.tile({{0}, {value}});
    const double expected[] = {value, 0.5, 3, value + 0.5, 0.5, value + 0.5};
    for (std::size_t i = 0; i < 6; ++i) CHECK(machine.output(i, 0) == expected[i]);
  }
}

TEST_CASE("no instruction writes a register that was filled once") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomExpression e(seed, 30, nlsq_test::random_ops());
    const NodeId outputs[] = {e.any(), e.graph.parameter(0), e.graph.constant(1), e.root()};
    const TileProgram program = compile(e.graph, outputs);
    std::set<std::int32_t> filled;
    for (const Instruction& i : program.once) filled.insert(i.dst);
    for (const Instruction& i : program.code) REQUIRE(!filled.contains(i.dst));
  }
}

TEST_CASE("dead code is not compiled and dead parameters have no slot") {
  Graph g;
  const NodeId x = g.column(0);
  g.make(Op::exp, g.mul(g.parameter(2), g.column(3)));
  const NodeId outputs[] = {g.add(g.mul(g.parameter(1), x), g.constant(2))};
  const TileProgram program = compile(g, outputs);
  CHECK(program.columns == 1);
  CHECK(program.code.size() == 1);
  REQUIRE(program.parameter_slot.size() == 2);
  CHECK(program.parameter_slot[0] == -1);
  CHECK(program.parameter_slot[1] >= 0);
}

TEST_CASE("an unexplored branch is NaN in the rows that take it, and nowhere else") {
  Graph g;
  const NodeId x = g.column(0);
  const NodeId outputs[] = {g.make(Op::select, g.make(Op::less, x, g.constant(0)), g.unexplored(), x)};
  const TileProgram program = compile(g, outputs);
  Interpreter machine(program, {}, 2);
  machine.tile({{-1.0, 2.0}});
  CHECK(std::isnan(machine.output(0, 0)));
  CHECK(machine.output(0, 1) == 2);
}

TEST_CASE("registers are reused: a long sum of terms needs three") {
  std::string text = "sin(x)";
  for (int i = 1; i < 200; ++i)
    text += "+sin(" + std::to_string(i) + ".5*x)*cos(" + std::to_string(i) + ".25*x)";
  const TileProgram program = compile_text(text.c_str());
  CHECK(program.registers == 3);
  CHECK(program.tile_rows == 512);
}

TEST_CASE("a balanced tree needs as many registers as it has levels") {
  Graph g;
  std::vector<NodeId> level;
  for (int i = 0; i < 64; ++i) level.push_back(g.make(Op::sin, g.mul(g.parameter(i), g.column(0))));
  while (level.size() > 1) {
    std::vector<NodeId> next;
    for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(g.add(level[i], level[i + 1]));
    level = next;
  }
  const TileProgram program = compile(g, level);
  CHECK(program.registers == 7);
}

TEST_CASE("the tile shrinks so that its vectors fit the cache") {
  for (int outputs = 1; outputs < 200; outputs += 7) {
    Graph g;
    std::vector<NodeId> nodes;
    for (int i = 0; i < outputs; ++i) nodes.push_back(g.make(Op::sin, g.mul(g.parameter(i), g.column(0))));
    const TileProgram program = compile(g, nodes);
    CHECK(program.tile_rows % 64 == 0);
    CHECK(program.tile_rows >= 64);
    CHECK(program.tile_rows <= 512);
    const int bytes = (program.registers + 1) * program.tile_rows * 8;
    if (outputs <= 48) CHECK((bytes <= 24 * 1024 || program.tile_rows == 64));
    else CHECK((bytes <= 1024 * 1024 && program.tile_rows >= 256));  // of L2: Gram kernels want rows
  }
}

TEST_CASE("equal models give the same program, whichever way they were written") {
  const auto listing = [](const char* text) {
    Formula f = parse_formula(text);
    std::vector<int> wrt;
    for (std::size_t i = 0; i < f.parameters.size(); ++i) wrt.push_back(static_cast<int>(i));
    std::vector<NodeId> outputs = differentiate(f.graph, f.model, wrt);
    outputs.push_back(f.graph.sub(f.model, f.response));
    const TileProgram program = compile(f.graph, outputs);
    std::string lines;
    for (const Instruction& i : program.code) {
      lines += std::string(name(i.op)) + std::to_string(i.dst) + "," + std::to_string(i.a) + "," +
               std::to_string(i.b) + "," + std::to_string(i.c) + ";";
    }
    return lines;
  };
  CHECK(listing("a*exp(-b*x)+c") == listing("a*exp(-(b*x)) + c"));
  CHECK(listing("a*exp(-b*x)+c") == listing("a*exp((-b)*x) - (-c)"));
  CHECK(listing("a*exp(-b*x)+c") == listing("0*a + exp(-x*b)*a + c"));
  CHECK(listing("a*x^2+b") == listing("b*0+a*(x*x)+b"));
  CHECK(listing("a*x+b") != listing("a*x-b"));
}

TEST_CASE("a program of a hundred thousand operations compiles without a deep stack") {
  Graph g;
  NodeId node = g.column(0);
  for (int i = 0; i < 100000; ++i) node = g.make(Op::sin, g.add(node, g.parameter(0)));
  const NodeId outputs[] = {node};
  const TileProgram program = compile(g, outputs);
  CHECK(program.code.size() == 200000);
  CHECK(program.registers == 1);
}
