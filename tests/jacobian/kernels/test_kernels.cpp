// Tests dispatch, operand kinds, and the operations that must agree with evaluate_op to the last bit.
#include <nlsq/error.hpp>
#include <nlsq/op.hpp>
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <kernel_harness.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

using harness::same;
using nlsq::Instruction;
using nlsq::KernelTable;
using nlsq::Op;

namespace {

// Returns the name of the set that a fresh process uses if the variable is `forced`, or "!" and a message on
// an error. "+code" follows if the set generates code.
std::string chosen_under(const char* forced, const char* variable = "NLSQ_ISA") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string answer;
    if (forced) setenv(variable, forced, 1);
    else unsetenv(variable);
    try {
      answer = nlsq::kernels().name;
      if (std::string_view(variable) == "NLSQ_JIT" && nlsq::kernels().generated_f64) answer += "+code";
    } catch (const nlsq::ValidationError& error) {
      answer = std::string("!") + error.what();
    }
    const auto written = write(ends[1], answer.data(), answer.size());
    _exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  close(ends[1]);
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  int status = 1;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

// Returns ordinary numbers and every special one.
template <class T>
std::vector<T> awkward_numbers() {
  using L = std::numeric_limits<T>;
  return {T(0),          T(-0.0),  L::infinity(), -L::infinity(),  L::quiet_NaN(), T(1),
          T(-1),         T(2.5),   T(-2.5),       T(0.5),          T(-0.5),        L::max(),
          -L::max(),     L::min(), -L::min(),     L::denorm_min(), T(3),           T(1e9),
          T(-1e9 - 0.5), T(7.25),  T(-3.75),      T(1e-3)};
}

// Returns every triple of awkward numbers as three long columns.
template <class T>
void triples(std::vector<T>& a, std::vector<T>& b, std::vector<T>& c) {
  const auto values = awkward_numbers<T>();
  for (T x : values)
    for (T y : values)
      for (T z : values) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
}

constexpr Op exact_operations[] = {
    Op::add,         Op::sub,        Op::mul,   Op::div,       Op::neg,         Op::abs,
    Op::sign,        Op::floor,      Op::ceil,  Op::sqrt,      Op::min,         Op::max,
    Op::less,        Op::less_equal, Op::equal, Op::not_equal, Op::logical_and, Op::logical_or,
    Op::logical_not, Op::select,     Op::copy,  Op::fmod};

template <class T>
void check_exact(const KernelTable& set) {
  std::vector<T> a, b, c;
  triples(a, b, c);
  for (Op op : exact_operations) {
    CAPTURE(std::string(nlsq::name(op)));
    const auto got = harness::apply<T>(set, op, a, b, c);
    std::size_t wrong = 0;
    // For these operations, the float result is the double result, rounded once.
    for (std::size_t i = 0; i < got.size(); ++i)
      wrong += !same(got[i], static_cast<T>(nlsq::evaluate_op(op, a[i], b[i], c[i])));
    CHECK(wrong == 0);
  }
}

template <class T>
void check_operand_kinds(const KernelTable& set) {
  std::mt19937 random(3);
  std::uniform_real_distribution<T> uniform(T(0.5), T(2));
  std::vector<T> columns[3];
  for (auto& column : columns)
    for (int i = 0; i < 77; ++i) column.push_back(uniform(random));
  for (Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::less, Op::pow, Op::hypot, Op::atan2, Op::wofz_re,
                Op::select, Op::fma, Op::fms, Op::fnma, Op::exp, Op::neg, Op::erfcx, Op::copy}) {
    CAPTURE(std::string(nlsq::name(op)));
    for (unsigned kinds = 0; kinds < 8; ++kinds) {  // bit i: operand i is a uniform
      std::vector<T> given[3], spread[3];
      for (unsigned i = 0; i < 3; ++i) {
        const bool is_uniform = kinds >> i & 1;
        given[i] = is_uniform ? std::vector<T>{columns[i][5]} : columns[i];
        spread[i] = is_uniform ? std::vector<T>(77, columns[i][5]) : columns[i];
      }
      const auto expected = harness::apply<T>(set, op, spread[0], spread[1], spread[2]);
      const auto got = harness::apply<T>(set, op, given[0], given[1], given[2]);
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(same(got[i], expected[i]));
    }
  }
}

}  // namespace

TEST_CASE("Every kernel set has the width of its instruction set") {
  const auto sets = nlsq::available_kernels();
  REQUIRE(!sets.empty());
  CHECK(std::string(sets[0]->name) == "baseline");
  for (const KernelTable* set : sets) {
    const std::string name = set->name;
    const int lanes = name == "avx512" || name == "amx" ? 8 : name == "avx2" ? 4 : 2;
    CHECK(set->lanes_f64 == lanes);
    CHECK(set->lanes_f32 == 2 * lanes);
  }
}

TEST_CASE("The best set is used unless NLSQ_ISA forces another") {
  CHECK(chosen_under(nullptr) == nlsq::available_kernels().back()->name);
  CHECK(chosen_under("") == nlsq::available_kernels().back()->name);
  for (const KernelTable* set : nlsq::available_kernels()) CHECK(chosen_under(set->name) == set->name);
}

TEST_CASE("An instruction set that is not there is an error that lists those that are") {
  const std::string answer = chosen_under("mmx");
  CHECK(answer[0] == '!');
  CHECK(answer.find("mmx") != std::string::npos);
  for (const KernelTable* set : nlsq::available_kernels()) CHECK(answer.find(set->name) != std::string::npos);
}

TEST_CASE("NLSQ_JIT=off leaves everything to the interpreter") {
  const KernelTable& set = *nlsq::available_kernels().back();
  const std::string with = std::string(set.name) + (set.generated_f64 ? "+code" : "");
  CHECK(chosen_under("on", "NLSQ_JIT") == with);
  CHECK(chosen_under(nullptr, "NLSQ_JIT") == with);
  CHECK(chosen_under("off", "NLSQ_JIT") == set.name);
  CHECK(chosen_under("never", "NLSQ_JIT") == "!NLSQ_JIT=never is neither on nor off");
}

TEST_CASE("Every operation has a name, and its arity is what evaluate_op reads") {
  for (int i = 0; i <= static_cast<int>(Op::copy); ++i) {
    const Op op = static_cast<Op>(i);
    CHECK(std::string(nlsq::name(op)) != "?");
    CHECK(nlsq::arity(op) >= 0);
    CHECK(nlsq::arity(op) <= 3);
  }
  CHECK(nlsq::arity(Op::column) == 0);
  CHECK(nlsq::arity(Op::exp) == 1);
  CHECK(nlsq::arity(Op::wofz_im) == 2);
  CHECK(nlsq::arity(Op::select) == 3);
  CHECK(std::isnan(nlsq::evaluate_op(Op::unexplored, 1)));
}

TEST_CASE(
    "Arithmetic, comparisons and choices agree with evaluate_op to the last bit, special values included") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    check_exact<double>(*set);
    check_exact<float>(*set);
  }
}

TEST_CASE("NaN wins min and max, is true, and equals nothing") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    const std::vector<double> a{nan, 1, nan, 1}, b{1, nan, nan, 2}, c{5, 5, 5, 5};
    for (Op op : {Op::min, Op::max}) {
      const auto m = harness::apply<double>(*set, op, a, b);
      CHECK(std::isnan(m[0]));
      CHECK(std::isnan(m[1]));
      CHECK(std::isnan(m[2]));
    }
    CHECK(harness::apply<double>(*set, Op::select, a, b, c)[0] == 1);
    CHECK(harness::apply<double>(*set, Op::logical_not, a)[0] == 0);
    CHECK(harness::apply<double>(*set, Op::not_equal, a, a)[0] == 1);
    CHECK(harness::apply<double>(*set, Op::equal, a, a)[0] == 0);
    // The branch that is not taken may contain anything.
    CHECK(harness::apply<double>(*set, Op::select, {0.0, 1.0}, {nan, 3.0}, {4.0, nan}) ==
          std::vector<double>{4, 3});
  }
}

TEST_CASE("Multiply-add rounds once on wide sets and at most twice on the baseline") {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::vector<double> a, b, c;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(uniform(random));
    b.push_back(uniform(random));
    c.push_back(-a.back() * b.back() * (1 + 1e-15 * uniform(random)));  // this cancels heavily
  }
  for (const KernelTable* set : nlsq::available_kernels()) {
    const bool once = std::string(set->name) != "baseline";
    CAPTURE(std::string(set->name));
    for (Op op : {Op::fma, Op::fms, Op::fnma}) {
      const auto got = harness::apply<double>(*set, op, a, b, c);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double fused = nlsq::evaluate_op(op, a[i], b[i], c[i]);
        const double p = a[i] * b[i];
        const double twice = op == Op::fma ? p + c[i] : op == Op::fms ? p - c[i] : c[i] - p;
        REQUIRE((got[i] == fused || (!once && got[i] == twice)));
      }
    }
  }
}

TEST_CASE("Every mixture of columns and uniforms gives the same numbers") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    check_operand_kinds<double>(*set);
    check_operand_kinds<float>(*set);
  }
}

TEST_CASE(
    "An instruction may overwrite its operand, and writes nothing beyond the next multiple of 64 rows") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (std::size_t rows : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 500u, 512u}) {
      std::vector<double> x(640, -1), y(640, 2);
      for (std::size_t i = 0; i < rows; ++i) x[i] = static_cast<double>(i);
      double* vectors[2] = {x.data(), y.data()};
      const double uniforms[1] = {3};
      const Instruction code[] = {{Op::mul, 0, 0, 1, 0}, {Op::fma, 0, 0, ~0, 0}};  // x = 2x; x = 3x + x
      nlsq::KernelCounters counters;
      set->f64.run(code, 2, vectors, uniforms, rows, &counters);
      for (std::size_t i = 0; i < rows; ++i) REQUIRE(x[i] == 8 * static_cast<double>(i));
      for (std::size_t i = harness::padded(rows); i < x.size(); ++i) REQUIRE(x[i] == -1);
      CHECK(counters.rows_f64 == rows);
      CHECK(counters.rows_f32 == 0);
    }
  }
}

TEST_CASE("Rows are counted in the format that ran them, and counters add") {
  nlsq::KernelCounters total;
  for (const KernelTable* set : nlsq::available_kernels()) {
    nlsq::KernelCounters counters;
    std::vector<float> x(64, 1);
    float* vectors[1] = {x.data()};
    const float uniforms[1] = {2};
    const Instruction code{Op::mul, 0, 0, ~0, 0};
    set->f32.run(&code, 1, vectors, uniforms, 40, &counters);
    set->f32.run(&code, 1, vectors, uniforms, 2, &counters);
    CHECK(counters.rows_f32 == 42);
    CHECK(counters.rows_f64 == 0);
    total.add(counters);
  }
  CHECK(total.rows_f32 == 42 * nlsq::available_kernels().size());
}

TEST_CASE("Overflow in float gives an infinity, not a wrong number") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    CHECK(std::isinf(harness::apply<float>(*set, Op::exp, {89.0f, 1.0f})[0]));
    CHECK(std::isinf(harness::apply<double>(*set, Op::exp, {710.0, 1.0})[0]));
    CHECK(harness::apply<float>(*set, Op::exp, {-110.0f, 1.0f})[0] == 0);
    CHECK(std::isinf(harness::apply<float>(*set, Op::mul, {1e30f}, {1e30f, 1.0f})[0]));
    CHECK(std::isinf(harness::apply<float>(*set, Op::erfcx, {-10.0f, 1.0f})[0]));  // 5e43 in double
  }
}

TEST_CASE("narrow and widen convert the true count and touch nothing else") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (std::size_t count : {0u, 1u, 5u, 16u, 33u}) {
      std::vector<double> wide(40, 7);
      std::vector<float> narrow(40, 7);
      for (std::size_t i = 0; i < count; ++i) wide[i] = std::pow(-1.1, static_cast<double>(i));
      if (count > 2) wide[2] = 1e300;
      set->narrow(wide.data(), narrow.data(), count);
      for (std::size_t i = 0; i < count; ++i) REQUIRE(narrow[i] == static_cast<float>(wide[i]));
      for (std::size_t i = count; i < 40; ++i) REQUIRE(narrow[i] == 7);
      std::vector<double> back(40, 9);
      set->widen(narrow.data(), back.data(), count);
      for (std::size_t i = 0; i < count; ++i) REQUIRE(back[i] == static_cast<double>(narrow[i]));
      for (std::size_t i = count; i < 40; ++i) REQUIRE(back[i] == 9);
    }
  }
}
