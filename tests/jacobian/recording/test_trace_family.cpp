// Tests the merging of recordings into one graph, and vector functions whose residuals share a program.
#include <nlsq/error.hpp>
#include "recording/trace.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace nlsq;
using Outcome = TraceFamily::Outcome;

namespace {

std::vector<double> at(double x) { return {x}; }
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// There are two levels of decisions, and one of them is on a computed value.
const auto nested = [](auto x, auto p) {
  using std::exp, std::sqrt;
  const auto u = p[0] * x;
  if (u < 1) {
    if (x < 0) return p[1] * exp(u);
    return p[1] + u;
  }
  if (u * p[1] > 6) return sqrt(u);
  return u * u - p[1];
};

}  // namespace

TEST_CASE("Variants merge into one program: branches taken have their values, others are NaN") {
  const std::vector<double> p{1.0, 2.0};
  TraceFamily family(make_model_function(nested), 2);
  CHECK(family.record(at(0.5), p) == Outcome::added);
  {
    Graph graph;
    const NodeId root = family.build(graph), explored = family.build_explored(graph);
    CHECK(evaluate(graph, root, at(0.25), p) == nested(0.25, p));
    for (const double x : {-1.0, 2.0, 4.0}) {
      CHECK(std::isnan(evaluate(graph, root, at(x), p)));
      CHECK(evaluate(graph, explored, at(x), p) == 0);
    }
    CHECK(evaluate(graph, explored, at(0.25), p) == 1);
  }
  CHECK(family.record(at(4.0), p) == Outcome::added);
  CHECK(family.record(at(0.75), p) == Outcome::known);
  CHECK(family.record(at(-1.0), p) == Outcome::added);
  CHECK(family.record(at(2.0), p) == Outcome::added);
  CHECK(family.variants() == 4);
  Graph graph;
  const NodeId root = family.build(graph), explored = family.build_explored(graph);
  CHECK(graph.is_constant(explored, 1));  // all branches are known
  const std::vector<int> wrt{0, 1};
  const std::vector<NodeId> derivatives = differentiate(graph, root, wrt);
  const ModelFunction function = make_model_function(nested);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-5, 5);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<double> q{uniform(random), uniform(random)}, x = at(uniform(random));
    CHECK(evaluate(graph, root, x, q) == doctest::Approx(nested(x[0], q)).epsilon(1e-13));
    CHECK(agrees_with_dual(graph, root, derivatives, function, x, q));
  }
}

TEST_CASE("A branch not explored leaves the derivatives of the explored rows alone") {
  TraceFamily family(make_model_function(nested), 2);
  const std::vector<double> p{1.0, 2.0};
  family.record(at(2.0), p);
  Graph graph;
  const NodeId root = family.build(graph);
  const std::vector<int> wrt{0, 1};
  const std::vector<NodeId> derivatives = differentiate(graph, root, wrt);
  CHECK(agrees_with_dual(graph, root, derivatives, make_model_function(nested), at(2.5), p));
  CHECK_FALSE(agrees_with_dual(graph, root, derivatives, make_model_function(nested), at(0.5), p));
}

TEST_CASE("A comparison that occurs twice on one path is recorded as one select") {
  const auto twice = [](auto x, auto p) {
    auto y = x < 1 ? p[0] : p[1];
    if (x < 1) y *= 2;
    if (!(x < 1)) y += 3;
    return y;
  };
  TraceFamily family(make_model_function(twice), 2);
  const std::vector<double> p{5, 7};
  family.record(at(0), p), family.record(at(2), p);
  Graph graph;
  const NodeId root = family.build(graph), explored = family.build_explored(graph);
  CHECK(graph.is_constant(explored, 1));
  CHECK(graph[root].op == Op::select);
  CHECK(evaluate(graph, root, at(0), p) == 10);
  CHECK(evaluate(graph, root, at(2), p) == 10);
}

TEST_CASE("A branch in C++ and if() in a formula's graph are one node") {
  const auto f = [](auto x, auto p) { return x < p[0] ? p[1] * x : p[0]; };
  TraceFamily family(make_model_function(f), 2);
  const std::vector<double> p{1, 2};
  family.record(at(0), p), family.record(at(3), p);
  Graph graph;
  const NodeId x = graph.column(0), a = graph.parameter(0), b = graph.parameter(1);
  const NodeId expected = graph.make(Op::select, graph.make(Op::less, x, a), graph.mul(b, x), a);
  CHECK(family.build(graph) == expected);
  const auto w = [](auto t, auto q) { return where(less(t, q[0]), q[1] * t, q[0]); };
  TraceFamily masked(make_model_function(w), 2);
  CHECK(masked.record(at(0), p) == Outcome::added);
  CHECK(masked.record(at(3), p) == Outcome::known);
  CHECK(masked.build(graph) == expected);
}

TEST_CASE("Variants, guards and length are capped, and the reason names the cap") {
  const auto steps = [](auto x, auto p) {
    for (int k = 1; k < 20; ++k) {
      if (x < k) return p[0] * k + x;
    }
    return p[0] * x;
  };
  TraceFamily many(make_model_function(steps), 1);
  const std::vector<double> p{1.0};
  for (int k = 0; k < 8; ++k) CHECK(many.record(at(k + 0.5), p) == Outcome::added);
  CHECK(many.record(at(9.5), p) == Outcome::opaque);
  CHECK(contains(many.reason(), "more than 8 different paths"));
  CHECK(many.record(at(0.5), p) == Outcome::opaque);  // this is final
  Graph graph;
  CHECK_THROWS_AS(many.build(graph), Error);

  const auto newton = [](auto x, auto p) {
    auto y = x;
    for (int k = 0; k < 100 && y < 1e9; ++k) y = y + p[0];
    return y;
  };
  TraceFamily guards(make_model_function(newton), 1);
  CHECK(guards.record(at(1), p) == Outcome::opaque);
  CHECK(contains(guards.reason(), "more than 64 decisions"));

  const auto longest = [](auto x, auto p) {
    auto y = x;
    for (int k = 0; k < 200000; ++k) y = y + p[0];
    return y;
  };
  TraceFamily length(make_model_function(longest), 1);
  CHECK(length.record(at(1), p) == Outcome::opaque);
  CHECK(contains(length.reason(), "more than 100000 operations"));
}

TEST_CASE("A callable whose constants or operations change between calls is opaque") {
  int calls = 0;
  const std::vector<double> p{1.0};
  TraceFamily constants(make_model_function([&calls](auto x, auto q) { return q[0] * x + ++calls; }), 1);
  CHECK(constants.record(at(1), p) == Outcome::opaque);
  CHECK(contains(constants.reason(), "change between calls"));

  calls = 0;
  TraceFamily operations(
      make_model_function([&calls](auto x, auto q) { return ++calls % 2 == 1 ? q[0] * x : q[0] + x; }), 1);
  CHECK(operations.record(at(1), p) == Outcome::opaque);
  CHECK(contains(operations.reason(), "change between calls"));

  // A state that changes later is noticed when another row is recorded.
  double state = 1;
  TraceFamily later(make_model_function([&state](auto x, auto q) { return q[0] * x * state; }), 1);
  CHECK(later.record(at(1), p) == Outcome::added);
  state = 2;
  CHECK(later.record(at(2), p) == Outcome::opaque);
}

TEST_CASE("The check against dual numbers catches a recording that does less than the callable") {
  struct Cheats {
    double operator()(double x, std::span<const double> p) const { return p[0] * x * x; }
    Dual8 operator()(const Dual8& x, std::span<const Dual8> p) const { return p[0] * x * x; }
    Traced operator()(const Traced& x, std::span<const Traced> p) const {
      return p[0] * x;
    }  // right at x = 1
  };
  struct NoSlope {
    double operator()(double x, std::span<const double> p) const { return p[0] * x; }
    Dual8 operator()(const Dual8& x, std::span<const Dual8> p) const { return p[0] * x; }
    Traced operator()(const Traced& x, std::span<const Traced>) const { return 2 * x; }  // right at p = 2
  };
  const std::vector<double> p{2.0};
  const auto check = [&](const ModelFunction& function, double x) {
    TraceFamily family(function, 1);
    family.record(at(x), p);
    Graph graph;
    const NodeId root = family.build(graph);
    const int wrt[] = {0};
    return agrees_with_dual(graph, root, differentiate(graph, root, wrt), function, at(x), p);
  };
  CHECK(check(make_model_function(Cheats{}), 1));
  CHECK_FALSE(check(make_model_function(Cheats{}), 1.5));
  CHECK_FALSE(check(make_model_function(NoSlope{}), 1.5));
}

TEST_CASE("A callable that is not generic has nothing to record") {
  TraceFamily family(make_model_function([](double x, const std::vector<double>& p) { return p[0] * x; }), 1);
  CHECK(family.record(at(1), std::vector<double>{1.0}) == Outcome::opaque);
  CHECK(contains(family.reason(), "not generic"));
}

TEST_CASE("Rows and parameters of the wrong number are errors") {
  TraceFamily family(make_model_function(nested), 2);
  CHECK_THROWS_AS(family.record(std::vector<double>{1, 2}, std::vector<double>{1, 2}), Error);
  CHECK_THROWS_AS(family.record(at(1), std::vector<double>{1}), Error);
  Graph graph;
  CHECK_THROWS_AS(family.build(graph), Error);
}

TEST_CASE("Residuals that are one expression share a program; constants that differ become columns") {
  // x contains a 0 and a 1. Constants are told apart by their place, so nothing is folded for these rows.
  const std::vector<double> x{0, 1, 2, 3.5}, y{1, 1, 0.5, 0.25};
  const auto f = [&](const auto& p) {
    using T = std::remove_cvref_t<decltype(p[0])>;
    using std::exp;
    std::vector<T> r;
    const T rate = exp(p[1]);
    for (std::size_t i = 0; i < x.size(); ++i)
      r.push_back(p[0] * exp(-rate * x[i]) + 3.0 * p[1] * x[i] - y[i]);
    r.push_back(0.1 * (p[0] - 1));  // this is a prior
    return r;
  };
  const VectorFunction function = make_vector_function(f);
  const std::vector<double> p{2.0, -0.5};
  const RolledTrace rolled = roll(function, p);
  REQUIRE(rolled.reason == "");
  CHECK(rolled.residuals == 5);
  REQUIRE(rolled.groups.size() == 2);
  CHECK(rolled.groups[0].residuals == std::vector<std::size_t>{0, 1, 2, 3});
  REQUIRE(rolled.groups[0].columns.size() == 2);  // x, used twice, and y; 3.0 is the same everywhere
  CHECK(rolled.groups[0].columns[0] == x);
  CHECK(rolled.groups[0].columns[1] == y);
  CHECK(rolled.groups[1].residuals == std::vector<std::size_t>{4});
  CHECK(rolled.groups[1].columns.empty());
  const std::vector<double> q{0.7, 0.3}, expected = f(q);
  for (const RolledGroup& group : rolled.groups) {
    for (std::size_t row = 0; row < group.residuals.size(); ++row) {
      std::vector<double> values;
      for (const auto& column : group.columns) values.push_back(column[row]);
      CHECK(evaluate(group.graph, group.root, values, q) ==
            doctest::Approx(expected[group.residuals[row]]).epsilon(1e-14));
    }
  }
  CHECK(agrees_with_dual(rolled, function, p));
  CHECK(agrees_with_dual(rolled, function, q));
}

TEST_CASE(
    "A vector function rolls up with plain constants, shared parts and parameters among its residuals") {
  const auto f = [](const auto& p) {
    using T = std::remove_cvref_t<decltype(p[0])>;
    const T shared = p[0] * p[1];
    return std::vector<T>{shared - 1, shared - 2, T(5), p[1], p[0]};
  };
  const VectorFunction function = make_vector_function(f);
  const std::vector<double> p{2.0, 3.0}, q{-1.0, 0.5};
  const RolledTrace rolled = roll(function, p);
  REQUIRE(rolled.reason == "");
  CHECK(rolled.groups.size() == 4);
  CHECK(agrees_with_dual(rolled, function, p));
  CHECK(agrees_with_dual(rolled, function, q));
}

TEST_CASE("A vector function that cannot be rolled up says why") {
  const std::vector<double> p{2.0, 3.0};
  const auto branch = [](const auto& q) { return std::vector{q[0] < 1 ? q[0] : q[1]}; };
  CHECK(contains(roll(make_vector_function(branch), p).reason, "decisions"));
  const auto leak = [](const auto& q) { return std::vector{q[0] * nlsq::value_of(q[1])}; };
  CHECK(contains(roll(make_vector_function(leak), p).reason, "plain one"));
  int calls = 0;
  const auto stateful = [&calls](const auto& q) { return std::vector{q[0] * ++calls}; };
  CHECK(contains(roll(make_vector_function(stateful), p).reason, "change between calls"));
  const auto doubles = [](const std::vector<double>& q) { return q; };
  CHECK(contains(roll(make_vector_function(doubles), p).reason, "not generic"));
  const auto growing = [](const auto& q) {  // each residual is a longer expression than the last
    auto r = std::vector{q[0]};
    for (int i = 0; i < 100; ++i) r.push_back(r.back() * q[1] + 1);
    return r;
  };
  CHECK(contains(roll(make_vector_function(growing), p).reason, "more than 64 different expressions"));
  RollLimits limits;
  limits.max_length = 50;
  CHECK(contains(roll(make_vector_function(growing), p, limits).reason, "more than 50 operations"));
  limits = {};
  limits.max_row_length = 20;
  CHECK(contains(roll(make_vector_function(growing), p, limits).reason, "more than 20"));
  const auto thrower = [](const auto& q) {
    if (q.size() == 2) throw std::runtime_error("no residuals");
    return std::vector{q[0]};
  };
  CHECK_THROWS_WITH_AS(roll(make_vector_function(thrower), p), "no residuals", std::runtime_error);
}

TEST_CASE("The check against dual numbers catches a rolled function that does less than the callable") {
  struct Cheats {
    std::vector<double> operator()(std::span<const double> p) const { return {p[0] * p[0], p[0]}; }
    std::vector<Dual8> operator()(std::span<const Dual8> p) const { return {p[0] * p[0], p[0]}; }
    std::vector<Traced> operator()(std::span<const Traced> p) const {
      return {2 * p[0], p[0]};
    }  // right at p = 2
  };
  const VectorFunction function = make_vector_function(Cheats{});
  const RolledTrace rolled = roll(function, std::vector<double>{2.0});
  CHECK_FALSE(agrees_with_dual(rolled, function, std::vector<double>{2.5}));
}

TEST_CASE("A hundred thousand residuals roll up into one program") {
  constexpr std::size_t kRows = 100000;
  const auto f = [](const auto& p) {
    using T = std::remove_cvref_t<decltype(p[0])>;
    std::vector<T> r(kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      const double x = 1e-5 * static_cast<double>(i);
      r[i] = p[0] / (1 + p[1] * x) - x * x;
    }
    return r;
  };
  const RolledTrace rolled = roll(make_vector_function(f), std::vector<double>{1.0, 2.0});
  REQUIRE(rolled.reason == "");
  REQUIRE(rolled.groups.size() == 1);
  CHECK(rolled.groups[0].columns.size() == 2);
  CHECK(rolled.groups[0].residuals.size() == kRows);
}
