#include <doctest/doctest.h>

#include "random_expression.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/graph.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

using namespace nlsq;
using nlsq_test::RandomExpression;

namespace {

struct Leaves {
  Graph g;
  NodeId x = g.column(0), y = g.column(1), a = g.parameter(0), b = g.parameter(1);
  NodeId number(double v) { return g.constant(v); }
  NodeId call(Op op, NodeId u, NodeId v = 0, NodeId w = 0) { return g.make(op, u, v, w); }
};

}  // namespace

TEST_CASE("equal expressions are one node") {
  Leaves l;
  CHECK(l.g.add(l.x, l.a) == l.g.add(l.a, l.x));
  CHECK(l.g.mul(l.x, l.g.add(l.a, l.b)) == l.g.mul(l.g.add(l.b, l.a), l.x));
  CHECK(l.g.sub(l.x, l.a) != l.g.sub(l.a, l.x));
  const std::size_t size = l.g.size();
  l.g.mul(l.g.add(l.a, l.b), l.x);
  CHECK(l.g.size() == size);
  CHECK(l.g.constant(0.0) != l.g.constant(-0.0));
}

TEST_CASE("a sign has one place, however it was typed") {
  Leaves l;
  const NodeId expected = l.g.neg(l.g.mul(l.b, l.x));
  CHECK(l.g.mul(l.g.neg(l.b), l.x) == expected);
  CHECK(l.g.mul(l.b, l.g.neg(l.x)) == expected);
  CHECK(l.g.neg(l.g.mul(l.x, l.b)) == expected);
  CHECK(l.g.mul(l.g.neg(l.b), l.g.neg(l.x)) == l.g.mul(l.b, l.x));
  CHECK(l.g.mul(l.number(-2), l.x) == l.g.neg(l.g.mul(l.number(2), l.x)));
  CHECK(l.g.div(l.g.neg(l.a), l.x) == l.g.neg(l.g.div(l.a, l.x)));
  CHECK(l.g.div(l.x, l.number(-3)) == l.g.neg(l.g.div(l.x, l.number(3))));
  CHECK(l.g.add(l.a, l.g.neg(l.b)) == l.g.sub(l.a, l.b));
  CHECK(l.g.add(l.g.neg(l.b), l.a) == l.g.sub(l.a, l.b));
  CHECK(l.g.sub(l.a, l.g.neg(l.b)) == l.g.add(l.a, l.b));
  CHECK(l.g.sub(l.g.neg(l.a), l.b) == l.g.neg(l.g.add(l.a, l.b)));
  CHECK(l.g.add(l.x, l.number(-2)) == l.g.sub(l.x, l.number(2)));
  CHECK(l.g.neg(l.g.sub(l.a, l.x)) == l.g.sub(l.x, l.a));
  CHECK(l.g.neg(l.g.neg(l.x)) == l.x);
  CHECK(l.call(Op::sin, l.g.neg(l.x)) == l.g.neg(l.call(Op::sin, l.x)));
  CHECK(l.call(Op::cos, l.g.neg(l.x)) == l.call(Op::cos, l.x));
}

TEST_CASE("operations that do nothing disappear") {
  Leaves l;
  const NodeId zero = l.number(0), one = l.number(1);
  CHECK(l.g.add(l.x, zero) == l.x);
  CHECK(l.g.sub(l.x, zero) == l.x);
  CHECK(l.g.sub(zero, l.x) == l.g.neg(l.x));
  CHECK(l.g.mul(one, l.x) == l.x);
  CHECK(l.g.mul(l.x, zero) == zero);
  CHECK(l.g.mul(l.number(-1), l.x) == l.g.neg(l.x));
  CHECK(l.g.div(l.x, one) == l.x);
  CHECK(l.g.sub(l.x, l.x) == zero);
  CHECK(l.g.add(l.x, l.x) == l.g.mul(l.number(2), l.x));
  CHECK(l.g.mul(l.number(0.5), l.g.mul(l.number(2), l.x)) == l.x);
  CHECK(l.g.mul(l.number(3), l.g.mul(l.number(2), l.x)) == l.g.mul(l.number(6), l.x));
  CHECK(l.g.mul(l.number(3), l.g.mul(l.number(7), l.x)) != l.g.mul(l.number(21), l.x));  // this would round
  CHECK(l.g.div(l.x, l.number(4)) == l.g.mul(l.number(0.25), l.x));
  CHECK(l.g[l.g.div(l.x, l.number(3))].op == Op::div);
  CHECK(l.g[l.g.div(l.x, l.x)].op == Op::div);  // 0/0 is not 1
  CHECK(l.call(Op::min, l.x, l.x) == l.x);
  CHECK(l.g.is_constant(l.call(Op::exp, zero), 1));
}

TEST_CASE("powers become products, roots and reciprocals") {
  Leaves l;
  const auto pow = [&](double n) { return l.call(Op::pow, l.x, l.number(n)); };
  const NodeId x2 = l.g.mul(l.x, l.x), root = l.call(Op::sqrt, l.x);
  CHECK(l.g.is_constant(pow(0), 1));
  CHECK(pow(1) == l.x);
  CHECK(pow(2) == x2);
  CHECK(pow(3) == l.g.mul(l.x, x2));
  CHECK(pow(4) == l.g.mul(x2, x2));
  CHECK(pow(0.5) == root);
  CHECK(pow(-1) == l.g.div(l.number(1), l.x));
  CHECK(pow(-0.5) == l.g.div(l.number(1), root));
  CHECK(l.g[pow(1.5)].op == Op::pow);  // its derivative at 0 is 0, that of x*sqrt(x) is 0*inf
  CHECK(l.g[pow(1.0 / 3)].op == Op::pow);
  CHECK(l.g[pow(9)].op == Op::pow);
  CHECK(l.g[pow(std::numeric_limits<double>::quiet_NaN())].op == Op::pow);
  CHECK(l.call(Op::pow, l.g.neg(l.x), l.number(2)) == x2);
  CHECK(l.g.is_constant(l.call(Op::pow, l.number(1), l.x), 1));
}

TEST_CASE("products for powers stay within a few units in the last place") {
  for (const double n : {-8., -7., -6., -5., -4., -3., -2., -1., -0.5, 0.5, 1., 2., 3., 4., 5., 6., 7., 8.}) {
    Leaves l;
    const NodeId node = l.call(Op::pow, l.x, l.number(n));
    for (double x = 0.013; x < 40; x *= 1.37) {
      const double column[] = {x};
      const double expected = std::pow(x, n);
      CAPTURE(n);
      CAPTURE(x);
      CHECK(std::fabs(evaluate(l.g, node, column, {}) / expected - 1) < 6 * 1.2e-16);
    }
  }
}

TEST_CASE("choices and truth values fold") {
  Leaves l;
  const NodeId less = l.call(Op::less, l.x, l.a), zero = l.number(0), one = l.number(1);
  CHECK(l.call(Op::select, one, l.x, l.y) == l.x);
  CHECK(l.call(Op::select, zero, l.x, l.y) == l.y);
  CHECK(l.call(Op::select, l.number(std::nan("")), l.x, l.y) == l.x);
  CHECK(l.call(Op::select, less, l.x, l.x) == l.x);
  CHECK(l.call(Op::select, l.call(Op::logical_not, less), l.x, l.y) == l.call(Op::select, less, l.y, l.x));
  CHECK(l.call(Op::select, less, one, zero) == less);
  CHECK(l.call(Op::logical_not, l.call(Op::logical_not, less)) == less);
  CHECK(l.call(Op::logical_not, l.call(Op::equal, l.x, l.a)) == l.call(Op::not_equal, l.x, l.a));
  CHECK(l.call(Op::logical_and, less, zero) == zero);
  CHECK(l.call(Op::logical_and, one, less) == less);
  CHECK(l.call(Op::logical_or, less, one) == one);
  CHECK(l.g.is_constant(l.call(Op::less, one, l.number(2)), 1));
  CHECK(l.g.is_constant(l.call(Op::logical_not, l.number(3)), 0));
}

TEST_CASE("an unexplored branch spreads through arithmetic but not through a choice") {
  Leaves l;
  const NodeId unknown = l.g.unexplored();
  CHECK(l.g.add(l.x, unknown) == unknown);
  CHECK(l.g.mul(l.number(0), unknown) == unknown);
  CHECK(l.call(Op::exp, unknown) == unknown);
  const NodeId choice = l.call(Op::select, l.call(Op::less, l.x, l.number(0)), unknown, l.x);
  const double left[] = {-1.0}, right[] = {1.0};
  CHECK(std::isnan(evaluate(l.g, choice, left, {})));
  CHECK(evaluate(l.g, choice, right, {}) == 1);
}

TEST_CASE("simplification changes no value") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const RandomExpression e(seed, 25, nlsq_test::random_ops());
    for (std::size_t i = 0; i < e.nodes.size(); ++i) {
      if (!e.tame[i]) continue;
      ++compared;
      const double value = evaluate(e.graph, e.nodes[i], e.columns, e.parameters);
      if (value == e.values[i]) continue;
      CAPTURE(seed);
      CAPTURE(to_string(e.graph, e.nodes[i]));
      REQUIRE(value == e.values[i]);
    }
  }
  CHECK(compared > 60000);
}

TEST_CASE("dependence on columns and parameters is found") {
  Leaves l;
  const NodeId sum = l.g.add(l.g.mul(l.a, l.x), l.b);
  CHECK(l.g.depends_on_columns()[sum] == 1);
  CHECK(l.g.depends_on_columns()[l.a] == 0);
  CHECK(l.g.depends_on_parameters()[sum] == 1);
  CHECK(l.g.depends_on_parameters()[l.x] == 0);
  CHECK(l.g.depends_on_parameter(1)[sum] == 1);
  CHECK(l.g.depends_on_parameter(1)[l.g.mul(l.a, l.x)] == 0);
}

TEST_CASE("a copy of an expression is numbered by structure, not by history") {
  Graph first, second;
  const auto build = [](Graph& g, bool backwards) {
    NodeId left = 0, right = 0;
    const auto make_left = [&] { left = g.mul(g.parameter(0), g.make(Op::exp, g.column(0))); };
    const auto make_right = [&] { right = g.div(g.column(1), g.add(g.parameter(1), g.constant(2))); };
    if (backwards) make_right();
    make_left();
    if (!backwards) make_right();
    return backwards ? g.add(right, left) : g.add(left, right);
  };
  const NodeId roots_first[] = {build(first, false)}, roots_second[] = {build(second, true)};
  Graph a, b;
  CHECK(a.adopt(first, roots_first) == b.adopt(second, roots_second));
  REQUIRE(a.size() == b.size());
  for (NodeId id = 0; id < a.size(); ++id) {
    CHECK(a[id].op == b[id].op);
    CHECK(a[id].a == b[id].a);
    CHECK(a[id].b == b[id].b);
  }
}

TEST_CASE("text reads back as the same node") {
  for (const char* text : {"a*exp(-b*x)+c", "-(a+b)/(x-1)", "a-(b-x)", "a/(b*x)", "2^x*atan2(x,a)",
                           "if(x<a && !(x==2), min(a,x), -x)", "(x<a)*b+3e-5", "a^(b+1)"}) {
    const Formula formula = parse_formula(text);
    const std::string shown = to_string(formula.graph, formula.model, formula.parameters, formula.predictors);
    CAPTURE(shown);
    const Formula again = parse_formula(shown);
    const double x[] = {1.7};
    std::vector<double> in_order{0.3, 1.1, -0.4}, reordered;
    for (const std::string& name : again.parameters) {
      const auto place = std::find(formula.parameters.begin(), formula.parameters.end(), name);
      reordered.push_back(in_order[static_cast<std::size_t>(place - formula.parameters.begin())]);
    }
    CHECK(again.evaluate(x, reordered) == doctest::Approx(formula.evaluate(x, in_order)).epsilon(1e-15));
  }
}

TEST_CASE("a chain of a million operations needs no deep stack") {
  Graph g;
  const NodeId x = g.column(0);
  NodeId node = g.parameter(0);
  for (int i = 0; i < 1000000; ++i) node = g.make(i % 2 == 0 ? Op::sin : Op::exp, node);
  node = g.mul(node, x);
  const double column[] = {2.0}, parameter[] = {0.1};
  CHECK(std::isfinite(evaluate(g, node, column, parameter)));
  CHECK(to_string(g, node).size() < 70000);
  Graph copy;
  const NodeId roots[] = {node};
  const NodeId top = copy.adopt(g, roots)[0];
  CHECK(top + 1 == copy.size());
}

TEST_CASE("every operation reads as many operands as its name says") {
  for (const Op op : {Op::constant, Op::column, Op::parameter, Op::unexplored}) CHECK(arity(op) == 0);
  for (const Op op : {Op::neg, Op::abs, Op::sqrt, Op::exp, Op::erfcx, Op::besj1, Op::logical_not, Op::copy}) {
    CHECK(arity(op) == 1);
  }
  for (const Op op :
       {Op::add, Op::div, Op::pow, Op::fmod, Op::wofz_im, Op::less, Op::logical_and, Op::logical_or}) {
    CHECK(arity(op) == 2);
  }
  for (const Op op : {Op::select, Op::fma, Op::fms, Op::fnma}) CHECK(arity(op) == 3);
}

TEST_CASE("An operation on both sides of a choice is done once, on the operand chosen") {
  Graph g;
  const NodeId x = g.column(0), a = g.parameter(0), b = g.parameter(1), c = g.parameter(2);
  const NodeId test = g.make(Op::less, x, a);
  const auto around = [&](NodeId inside) { return g.add(g.mul(b, g.make(Op::exp, inside)), c); };
  const NodeId branched = g.make(Op::select, test, around(g.mul(a, x)), around(g.mul(a, b)));
  CHECK(branched == around(g.mul(a, g.make(Op::select, test, x, b))));
  // Two operands differ, so both sides stay.
  const NodeId apart = g.make(Op::select, test, g.sub(x, a), g.sub(b, c));
  CHECK(g[apart].op == Op::select);
  // A chain of any length is simplified without recursion.
  NodeId yes = x, no = b;
  for (int i = 0; i < 200000; ++i) {
    yes = g.make(i % 2 ? Op::sin : Op::exp, yes);
    no = g.make(i % 2 ? Op::sin : Op::exp, no);
  }
  CHECK(g[g.make(Op::select, test, yes, no)].op == Op::sin);
  for (const double value : {-1.0, 0.5, 2.0}) {
    const double p[] = {0.7, 1.3, -0.4};
    const double inside = value < p[0] ? p[0] * value : p[0] * p[1];
    CHECK(evaluate(g, branched, {&value, 1}, p) == doctest::Approx(p[1] * std::exp(inside) + p[2]));
  }
}
