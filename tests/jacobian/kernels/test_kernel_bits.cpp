// Tests that a kernel gives the same bits in any lane, whatever else is in the same call.

#include <nlsq/error.hpp>
#include <nlsq/op.hpp>
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <kernel_harness.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <string>

using harness::same;
using nlsq::Instruction;
using nlsq::KernelTable;
using nlsq::Op;

TEST_CASE("Two instructions give the same bits in one call as in two") {
  std::mt19937 random(6);
  std::vector<Op> ops{Op::mul, Op::add,  Op::sub, Op::fma, Op::exp,
                      Op::div, Op::fnma, Op::neg, Op::sin, Op::cos};
  const auto pick = [&](int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random);
  };
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (int trial = 0; trial < 4000; ++trial) {
      // Vectors 0 and 1 are data, 2 and 3 are registers. The first result is in 2, and the second mostly,
      // too.
      const auto operand = [&] {
        const int v = pick(-2, 3);
        return v;
      };
      const Instruction code[] = {
          {ops[static_cast<std::size_t>(pick(0, 9))], 2, operand(), operand(), operand()},
          {ops[static_cast<std::size_t>(pick(0, 9))], pick(0, 3) ? 2 : 3, pick(0, 2) ? 2 : operand(),
           pick(0, 1) ? 2 : operand(), operand()}};
      const double uniforms[] = {0.75, -1.5};
      std::vector<double> together[4], apart[4];
      double *together_base[4], *apart_base[4];
      for (unsigned v = 0; v < 4; ++v) {
        for (int i = 0; i < 64; ++i) together[v].push_back(0.01 * pick(-200, 200));
        apart[v] = together[v];
        together_base[v] = together[v].data();
        apart_base[v] = apart[v].data();
      }
      nlsq::KernelCounters counters;
      set->f64.run(code, 2, together_base, uniforms, 41, &counters);
      set->f64.run(code, 1, apart_base, uniforms, 41, &counters);
      set->f64.run(code + 1, 1, apart_base, uniforms, 41, &counters);
      for (unsigned v = 0; v < 4; ++v)
        for (std::size_t i = 0; i < 41; ++i) REQUIRE(same(together[v][i], apart[v][i]));
    }
  }
}

TEST_CASE("sin and cos of one vector give the same bits together as alone, whatever lanes lie beside") {
  std::mt19937 random(8);
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (int trial = 0; trial < 200; ++trial) {
      const bool sine_first = trial % 2 == 0, over_operand = trial % 3 == 0;
      const Instruction code[] = {{sine_first ? Op::sin : Op::cos, 1, 0, 0, 0},
                                  {sine_first ? Op::cos : Op::sin, over_operand ? 0 : 2, 0, 0, 0}};
      std::vector<double> x(64), together[3], alone(64);
      for (double& v : x)
        v = std::uniform_real_distribution<double>(-20, 20)(random) * (random() % 16 == 0 ? 1e7 : 1);
      for (auto& v : together) v = x;
      double* vectors[] = {together[0].data(), together[1].data(), together[2].data()};
      nlsq::KernelCounters counters;
      set->f64.run(code, 2, vectors, nullptr, 64, &counters);
      for (int k = 0; k < 2; ++k) {
        for (std::size_t i = 0; i < 64; ++i) {  // one row at a time
          std::vector<double> one(64, x[i]), result(64);
          double* pair[] = {one.data(), result.data()};
          const Instruction single{code[k].op, 1, 0, 0, 0};
          set->f64.run(&single, 1, pair, nullptr, 1, &counters);
          REQUIRE(together[code[k].dst][i] == result[0]);
        }
      }
    }
  }
}

namespace {

// Tests log and a power of x. Vectors 0 to 3 are x, the exponents, and two more. `exponent` may be a uniform,
// ~0.
template <class T>
void check_log_and_pow(const KernelTable& set, bool log_first, std::int32_t exponent, std::int32_t second_dst,
                       std::mt19937& random) {
  const Instruction log{Op::log, log_first ? 2 : second_dst, 0, 0, 0},
      pow{Op::pow, log_first ? second_dst : 2, 0, exponent, 0};
  const Instruction code[] = {log_first ? log : pow, log_first ? pow : log};
  std::vector<T> x(64), y(64), together[4];
  for (T& v : x)
    v = static_cast<T>(std::uniform_real_distribution<double>(random() % 16 == 0 ? -5 : 0, 5)(random));
  for (T& v : y) v = static_cast<T>(std::uniform_real_distribution<double>(-3, 3)(random));
  if (random() % 4 == 0) x[random() % 64] = 0, x[random() % 64] = std::numeric_limits<T>::infinity();
  if (random() % 4 == 0)
    x[random() % 64] = std::numeric_limits<T>::denorm_min(),
                 y[random() % 64] = std::numeric_limits<T>::quiet_NaN();
  const T uniforms[] = {y[0]};
  T* vectors[4];
  for (int k = 0; k < 4; ++k) together[k] = k == 1 ? y : x, vectors[k] = together[k].data();
  nlsq::KernelCounters counters;
  const auto run = [&](const Instruction* instructions, std::size_t count, T* const* v, std::size_t rows) {
    if constexpr (sizeof(T) == 8) set.f64.run(instructions, count, v, uniforms, rows, &counters);
    else set.f32.run(instructions, count, v, uniforms, rows, &counters);
  };
  run(code, 2, vectors, 64);
  for (const Instruction& one : code) {
    for (std::size_t i = 0; i < 64; ++i) {  // one row at a time
      std::vector<T> a(64, x[i]), b(64, y[i]), result(64);
      T* alone[] = {a.data(), b.data(), result.data()};
      const Instruction single{one.op, 2, 0, one.b, 0};
      run(&single, 1, alone, 1);
      REQUIRE(same(together[one.dst][i], result[0]));
    }
  }
}

}  // namespace

TEST_CASE("log and a power of one vector give the same bits together as alone, whatever lanes lie beside") {
  std::mt19937 random(9);
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (int trial = 0; trial < 60; ++trial) {
      for (const bool log_first : {true, false}) {
        for (const std::int32_t exponent : {1, ~0}) {
          for (const std::int32_t second : {0, 1, 3}) {  // over x, over the exponents, and elsewhere
            check_log_and_pow<double>(*set, log_first, exponent, second, random);
            check_log_and_pow<float>(*set, log_first, exponent, second, random);
          }
        }
      }
    }
    // This is x to the power of its logarithm, where one needs the other.
    std::vector<double> x(64, 2.5), a(64), b(64);
    double* vectors[] = {x.data(), a.data(), b.data()};
    const Instruction code[] = {{Op::log, 1, 0, 0, 0}, {Op::pow, 2, 0, 1, 0}};
    nlsq::KernelCounters counters;
    set->f64.run(code, 2, vectors, nullptr, 64, &counters);
    CHECK(b[63] == doctest::Approx(std::pow(2.5, std::log(2.5))).epsilon(1e-14));
  }
}
