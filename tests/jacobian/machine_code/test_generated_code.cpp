// Tests that machine code generated for a program gives the same bits as the interpreter: every operation at
// special arguments, random programs of values and derivatives, programs with more values than registers, and
// rows that leave the range of the inline functions.
#include <doctest/doctest.h>

#include "../kernels/special_arguments.hpp"
#include "random_expression.hpp"

#include "kernels/kernel_sets.hpp"
#include "machine_code/program_steps.hpp"
#include "program/aligned_vector.hpp"
#include "program/tile_program.hpp"

#include <nlsq/formula.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

using namespace nlsq;
using nlsq_test::RandomExpression;

namespace {

// Returns the sets that have a generator. A CPU that runs AVX-512 runs AVX2 as well.
std::vector<const KernelTable*> with_generator() {
  std::vector<const KernelTable*> sets;
  for (const KernelTable* set : available_kernels()) {
    if (set->generated_f64 != nullptr) sets.push_back(set);
  }
  return sets;
}
// Runs a test with each of them in use.
template <class Test>
void on_each_set(Test test) {
  for (const KernelTable* set : with_generator()) {
    CAPTURE(std::string(set->name));
    substitute_kernels(set);
    test();
  }
  substitute_kernels(nullptr);
}

constexpr std::size_t kRows = 130;  // this is two groups of 64 and a rest

// Runs a program on columns with `Real` elements and returns its outputs. With `lanes`, row r of problem l is
// element r * lanes + l, and problem l has its own parameters.
template <class Real>
class Run {
 public:
  Run(const TileProgram& program, bool lanes, std::uint64_t seed)
      : program_(program), lanes_(lanes), e_(seed, 0, nlsq_test::smooth_ops()) {
    width_ = lanes ? static_cast<std::size_t>(kDouble ? kernels().lanes_f64 : kernels().lanes_f32) : 1;
    std::vector<double> wide(static_cast<std::size_t>(program.uniforms));
    uniforms_.resize(wide.size() * width_);
    for (std::size_t l = 0; l < width_; ++l) {
      program.evaluate_uniforms(std::vector<double>{e_.draw_value(), e_.draw_value(), e_.draw_value()}, wide);
      for (std::size_t u = 0; u < wide.size(); ++u) uniforms_[u * width_ + l] = static_cast<Real>(wide[u]);
    }
  }

  template <class Value>
  void fill_columns(Value value) {
    columns_.resize(static_cast<std::size_t>(program_.columns));
    for (auto& column : columns_) {
      column.resize(kPadded * width_);
      for (Real& x : column) x = value(e_);
    }
  }

  std::vector<std::vector<Real>> outputs(bool generate, std::size_t* runs = nullptr) {
    const ProgramSteps steps(program_, {.f64 = kDouble, .lanes = lanes_, .generate = generate});
    if (runs != nullptr) *runs = steps.generated_runs();
    TileProgram fills = program_;
    fills.code = program_.once;
    fills.outputs.clear();
    const ProgramSteps once(fills, {.f64 = kDouble, .lanes = lanes_});
    std::vector<std::vector<Real>> vectors = columns_;
    vectors.resize(static_cast<std::size_t>(program_.columns + program_.registers),
                   std::vector<Real>(kPadded * width_, Real(1)));
    std::vector<Real*> bases;
    for (auto& vector : vectors) bases.push_back(vector.data());
    KernelCounters counters;
    for (const auto* part : {&once, &steps}) execute(part->steps(), bases.data(), counters);
    CHECK((kDouble ? counters.rows_f64 : counters.rows_f32) == 2 * kRows * width_);
    std::vector<std::vector<Real>> out;
    for (const std::int32_t output : program_.outputs) {
      out.push_back(vectors[static_cast<std::size_t>(output)]);
      out.back().resize(kRows * width_);
    }
    return out;
  }

 private:
  static constexpr bool kDouble = std::is_same_v<Real, double>;
  static constexpr std::size_t kPadded = 192;

  void execute(std::span<const KernelStep> steps, Real* const* vectors, KernelCounters& counters) {
    if constexpr (kDouble) {
      (lanes_ ? kernels().f64.run_lanes : kernels().f64.run_steps)(steps.data(), steps.size(), vectors,
                                                                   uniforms_.data(), kRows, &counters);
    } else {
      (lanes_ ? kernels().f32.run_lanes : kernels().f32.run_steps)(steps.data(), steps.size(), vectors,
                                                                   uniforms_.data(), kRows, &counters);
    }
  }

  const TileProgram& program_;
  bool lanes_;
  RandomExpression e_;  // this draws numbers
  std::size_t width_ = 1;
  std::vector<Real> uniforms_;
  std::vector<std::vector<Real>> columns_;
};

template <class Real>
std::size_t differences(const std::vector<std::vector<Real>>& l, const std::vector<std::vector<Real>>& r) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < l.size(); ++k) {
    for (std::size_t i = 0; i < l[k].size(); ++i) count += !harness::same(l[k][i], r[k][i]);
  }
  return count;
}

template <class Real, class Value>
void check(const TileProgram& program, Value value, std::uint64_t seed = 0, bool all_generated = false) {
  for (const bool lanes : {false, true}) {
    CAPTURE(lanes);
    Run<Real> run(program, lanes, seed);
    run.fill_columns(value);
    std::size_t runs = 0;
    const auto generated = run.outputs(true, &runs);
    CHECK(differences(generated, run.outputs(false)) == 0);
    if (all_generated) CHECK(runs == 1);
  }
}

double wild(RandomExpression& e) {
  const double value = e.draw_value();
  if (e.pick(20) == 0) return value * 1e30;
  return e.pick(20) == 0 ? 0 : value;
}

// Makes a program whose uniforms are parameters. It has no instructions yet; tests add them.
TileProgram made_by_hand(int columns, int registers, int parameters) {
  TileProgram program;
  program.columns = columns;
  program.registers = registers;
  program.uniforms = parameters;
  program.initial_uniforms.assign(static_cast<std::size_t>(parameters), 0.0);
  for (int j = 0; j < parameters; ++j) program.parameter_slot.push_back(j);
  program.column_used.assign(static_cast<std::size_t>(columns), 1);
  return program;
}

// Makes a program whose values are all live at once, with many outputs that each use all of them. Its
// functions are inline for all arguments, so that no row goes to the interpreter, which would hide a mistake.
TileProgram crowded(int count, int outputs_wanted) {
  Graph g;
  std::vector<NodeId> values, outputs;
  const auto at = [&](int k) { return values[static_cast<std::size_t>(k % count)]; };
  for (int k = 0; k < count; ++k)
    values.push_back(g.add(g.mul(g.column(k), g.parameter(k % 3)), g.column((k + 1) % count)));
  for (int k = 0; k < outputs_wanted; ++k) {
    NodeId sum = at(k);
    for (int j = 0; j < count; ++j) sum = g.add(sum, g.mul(at(j), at(7 * j + k)));
    if (k % 4 == 0) sum = g.make(Op::exp, g.mul(sum, g.constant(1e-4)));
    if (k % 4 == 1) sum = g.make(Op::atan, sum);
    outputs.push_back(sum);
  }
  return compile(g, outputs);
}

}  // namespace

TEST_CASE("this machine generates code where its instruction sets say so") {
  for (const KernelTable* set : available_kernels()) {
    const std::string name = set->name;
    CAPTURE(name);
    CHECK((set->generated_f64 != nullptr) == (name == "avx2" || name == "avx512" || name == "amx"));
    CHECK((set->generated_f32 != nullptr) == (set->generated_f64 != nullptr));
  }
}

TEST_CASE("every operation, of special arguments, in vectors and uniforms") {
  on_each_set([] {
    for (int number = static_cast<int>(Op::add); number <= static_cast<int>(Op::copy); ++number) {
      const Op op = static_cast<Op>(number);
      const int count = arity(op);
      CAPTURE(std::string(name(op)));
      for (int uniforms = 0; uniforms < 1 << count; ++uniforms) {
        CAPTURE(uniforms);
        TileProgram program = made_by_hand(3, 2, 3);
        const auto operand = [&](int k) { return uniforms >> k & 1 ? ~k : k; };
        // The second instruction overwrites the result of the first.
        program.code = {
            {op, 3, operand(0), operand(1), operand(2)}, {Op::neg, 4, 3}, {op, 3, 4, operand(1), operand(2)}};
        program.outputs = {3, 4};
        const auto f64 = elementary::special_arguments<double>();
        const auto f32 = elementary::special_arguments<float>();
        check<double>(program, [&](RandomExpression& e) {
          return e.pick(3) == 0 ? e.draw_value() : f64[e.pick(f64.size())];
        });
        check<float>(program, [&](RandomExpression& e) {
          return e.pick(3) == 0 ? static_cast<float>(e.draw_value()) : f32[e.pick(f32.size())];
        });
      }
    }
  });
}

TEST_CASE("random programs of values and derivatives") {
  on_each_set([] {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      const auto& ops = seed % 2 == 0 ? nlsq_test::smooth_ops() : nlsq_test::random_ops();
      RandomExpression e(seed, 10 + static_cast<int>(seed % 40), ops);
      const int wrt[] = {0, 1, 2};
      std::vector<NodeId> outputs = differentiate(e.graph, e.root(), wrt);
      outputs.push_back(e.root());
      const TileProgram program = compile(e.graph, outputs);
      check<double>(program, wild, seed);
      check<float>(
          program, [](RandomExpression& x) { return static_cast<float>(wild(x)); }, seed);
    }
  });
}

TEST_CASE("derivatives where an exponential inside an exponential or a power overflows") {
  on_each_set([] {
    for (const char* const text :
         {"a*exp(-b*exp(-c*x))", "a/(1+b*exp(-c*x))^(1/b)", "a*(1+b*exp(-c*x))^(-c)"}) {
      CAPTURE(text);
      Formula f = parse_formula(text);
      const int wrt[] = {0, 1, 2};
      std::vector<NodeId> outputs = differentiate(f.graph, f.model, wrt);
      outputs.push_back(f.model);
      const TileProgram program = compile(f.graph, outputs);
      const auto far = [](RandomExpression& e) { return e.draw_value() * (e.pick(3) == 0 ? 5000 : 1); };
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        check<double>(program, far, seed);
        check<float>(
            program, [&](RandomExpression& e) { return static_cast<float>(far(e)); }, seed);
      }
    }
  });
}

TEST_CASE("more values than registers, and more vectors than pointers") {
  on_each_set([] {
    for (const int count : {4, 9, 14, 40}) {
      CAPTURE(count);
      const TileProgram program = crowded(count, count == 40 ? 4 : count);
      check<double>(
          program, [](RandomExpression& e) { return e.draw_value(); }, 1, true);
      check<float>(
          program, [](RandomExpression& e) { return static_cast<float>(e.draw_value()); }, 1, true);
    }
    // For a program as long as this, the interpreter is faster.
    CHECK(ProgramSteps(crowded(80, 80), {.generate = true}).generated_runs() == 0);
  });
}

TEST_CASE("more conditions than mask registers") {
  on_each_set([] {
    constexpr int kConditions = 12;
    // Each condition chooses twice, and all others choose in between.
    TileProgram program = made_by_hand(kConditions + 2, 2, 1);
    const int a = kConditions, b = a + 1, sum = b + 1, term = sum + 1;
    program.code.push_back({Op::add, sum, a, ~0});
    for (int turn = 0; turn < 2; ++turn) {
      for (int k = 0; k < kConditions; ++k) {
        program.code.push_back({Op::select, term, k, turn == 0 ? a : b, sum});
        program.code.push_back({Op::fma, sum, term, a, sum});
      }
    }
    program.outputs = {sum};
    const auto often_zero = [](RandomExpression& e) { return e.pick(2) == 0 ? 0 : e.draw_value(); };
    check<double>(program, often_zero, 7, true);
    check<float>(
        program, [&](RandomExpression& e) { return static_cast<float>(often_zero(e)); }, 7, true);
  });
}

TEST_CASE("a vector that is overwritten keeps its old value for all that need it") {
  on_each_set([] {
    TileProgram program = made_by_hand(2, 3, 1);
    program.once = {{Op::copy, 2, ~0}};
    // The last instruction computes the first value once more, into a vector that the second instruction
    // reads.
    program.code = {{Op::add, 3, 0, 1}, {Op::mul, 4, 2, ~0}, {Op::add, 2, 0, 1}};
    program.outputs = {2, 3, 4};
    check<double>(
        program, [](RandomExpression& e) { return e.draw_value(); }, 3);
    check<float>(
        program, [](RandomExpression& e) { return static_cast<float>(e.draw_value()); }, 3);
  });
}

TEST_CASE("the interpreter goes on where code that overwrites its inputs has left") {
  on_each_set([] {
    TileProgram program = made_by_hand(1, 2, 1);
    program.once = {{Op::copy, 1, ~0}, {Op::copy, 2, ~0}};
    for (int k = 0; k < 4; ++k) {
      program.code.push_back({Op::add, 1, 1, 0});
      program.code.push_back({Op::sin, 2, 1});
      program.code.push_back({Op::fma, 1, 1, 2, 1});
    }
    program.outputs = {1, 2};
    const auto far = [](RandomExpression& e) { return e.draw_value() * (e.pick(7) == 0 ? 1e8 : 1); };
    check<double>(program, far, 5, true);
    check<float>(
        program, [far](RandomExpression& e) { return static_cast<float>(far(e)); }, 5, true);
  });
}

TEST_CASE("f32 code converts columns of doubles") {
  on_each_set([] {
    Graph g;
    const NodeId x = g.column(0), t = g.column(1), y = g.column(2);
    // gamma is a step of the interpreter, so its column must be given as floats; y is an output itself.
    const NodeId outputs[] = {g.make(Op::log, x), g.make(Op::gamma, t), g.sub(g.make(Op::exp, x), y), y};
    const TileProgram program = compile(g, outputs);
    const ProgramSteps steps(program, {.f64 = false, .generate = true, .f64_columns = ~std::uint64_t(0)});
    CHECK(steps.generated_runs() > 0);
    CHECK(steps.reads_f64(0));
    CHECK_FALSE(steps.reads_f64(1));
    CHECK_FALSE(steps.reads_f64(2));
    for (int c = 3; c < 70; ++c) CHECK_FALSE(steps.reads_f64(c));
    constexpr std::size_t kRoom = 192;
    std::vector<double> doubles(kRoom);
    std::vector<std::vector<float>> floats(static_cast<std::size_t>(program.columns + program.registers),
                                           std::vector<float>(kRoom, 1.5F));
    for (std::size_t i = 0; i < kRoom; ++i) {
      // These are numbers below 1, above it, and lanes that log leaves to the interpreter.
      doubles[i] = 0.013 * static_cast<double>(i) + 1e-9 - (i % 50 == 7 ? 3 : 0);
      for (std::size_t c = 0; c < 3; ++c) floats[c][i] = static_cast<float>(doubles[i]);
    }
    const auto outputs_of = [&](const ProgramSteps& of, bool as_doubles) {
      auto vectors = floats;
      std::vector<float*> bases;
      for (auto& vector : vectors) bases.push_back(vector.data());
      if (as_doubles) bases[0] = reinterpret_cast<float*>(doubles.data());
      KernelCounters counters;
      kernels().f32.run_steps(of.steps().data(), of.steps().size(), bases.data(), nullptr, kRows, &counters);
      std::vector<std::vector<float>> out;
      for (const std::int32_t output : program.outputs)
        out.push_back(vectors[static_cast<std::size_t>(output)]);
      for (auto& column : out) column.resize(kRows);
      return out;
    };
    const ProgramSteps plain(program, {.f64 = false});
    CHECK(differences(outputs_of(steps, true), outputs_of(plain, false)) == 0);
  });
}

TEST_CASE("functions that are inline for every argument leave no step to the interpreter") {
  on_each_set([] {
    for (const Op op : {Op::exp, Op::expm1, Op::tanh, Op::atan, Op::erf, Op::erfc}) {
      CAPTURE(std::string(name(op)));
      Graph g;
      const NodeId value = g.make(op, g.add(g.column(0), g.parameter(0)));
      const NodeId outputs[] = {g.mul(value, g.column(1)), g.make(op, g.sub(value, g.parameter(1)))};
      const TileProgram program = compile(g, outputs);
      check<double>(program, wild, 3, true);
      check<float>(
          program, [](RandomExpression& e) { return static_cast<float>(wild(e)); }, 3, true);
    }
  });
}

TEST_CASE("rows beyond the range of the inline functions are left to the interpreter") {
  on_each_set([] {
    Graph g;
    const NodeId x = g.column(0);
    const NodeId outputs[] = {g.make(Op::sin, x),   g.make(Op::cos, x),
                              g.make(Op::log, x),   g.make(Op::pow, x, g.parameter(0)),
                              g.make(Op::log1p, x), g.mul(x, g.column(1))};
    const TileProgram program = compile(g, outputs);
    for (const std::size_t one_in : {2, 20, 500}) {
      const auto far = [one_in](RandomExpression& e) {
        const double value = e.draw_value();
        return e.pick(one_in) == 0 ? value * 1e8 : std::fabs(value);
      };
      check<double>(program, far, one_in, true);
      check<float>(
          program, [far](RandomExpression& e) { return static_cast<float>(far(e)); }, one_in, true);
    }
  });
}
