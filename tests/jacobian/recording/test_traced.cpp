// Tests that the graph of a recorded callable has the callable's values and slopes, and that a callable which
// cannot be recorded gives the reason.
#include "recording/trace.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "functors.hpp"

using namespace nlsq;
using Outcome = TraceFamily::Outcome;

namespace {

std::vector<int> first_parameters(std::size_t n) {
  std::vector<int> all(n);
  for (std::size_t j = 0; j < n; ++j) all[j] = static_cast<int>(j);
  return all;
}

// Records f at one row. Returns the reason if it is opaque.
template <class F>
std::string reason_of(F f, double x = 0.5, std::vector<double> p = {1.5, 2.0}) {
  TraceFamily family(make_model_function(std::move(f)), static_cast<int>(p.size()));
  family.record(std::vector<double>{x}, p);
  return family.reason();
}

template <class F>
double evaluate_recorded(F f, double x, std::vector<double> p) {
  TraceFamily family(make_model_function(std::move(f)), static_cast<int>(p.size()));
  REQUIRE(family.record(std::vector<double>{x}, p) == Outcome::added);
  Graph graph;
  const NodeId root = family.build(graph);
  return evaluate(graph, root, std::vector<double>{x}, p);
}

struct TakesPointer {
  template <class T>
  T operator()(const T& x, const T* p) const {
    return p[0] * x;
  }
};

}  // namespace

TEST_CASE("A recorded functor has the values and the derivatives of the functor at every point recorded") {
  functors::for_each([](const auto& functor) {
    const std::string label = functor.name();
    CAPTURE(label);
    const ModelFunction function = make_model_function(functor);
    REQUIRE(function.trace);
    REQUIRE(function.dual);
    const auto points = functor.points();
    const std::size_t n = points.front().second.size();
    TraceFamily family(function, static_cast<int>(n));
    for (const auto& [x, p] : points) {
      CHECK(family.record(std::vector<double>{x}, p) != Outcome::opaque);
      CHECK(family.reason() == "");
      CHECK(family.record(std::vector<double>{x}, p) == Outcome::known);
    }
    Graph graph;
    const NodeId value = family.build(graph), explored = family.build_explored(graph);
    const std::vector<NodeId> derivatives = differentiate(graph, value, first_parameters(n));
    for (const auto& [x, p] : points) {
      CAPTURE(x);
      const std::vector<double> row{x};
      CHECK(evaluate(graph, explored, row, p) == 1);
      CHECK(evaluate(graph, value, row, p) ==
            doctest::Approx(functor(x, std::span<const double>(p))).epsilon(1e-13));
      CHECK(agrees_with_dual(graph, value, derivatives, function, row, p));
    }
    // These points differ from the recorded ones, but the same branches are taken.
    for (const auto& [x, p] : points) {
      std::vector<double> q = p;
      for (double& v : q) v *= 1 + 1e-3;
      const std::vector<double> row{x};
      if (evaluate(graph, explored, row, q) == 1) {
        CHECK(agrees_with_dual(graph, value, derivatives, function, row, q));
      } else {
        CHECK(std::isnan(evaluate(graph, value, row, q)));
      }
    }
  });
}

TEST_CASE("Without a recording, Traced is plain arithmetic with numbers of every type on either side") {
  const auto mixes = [](auto s) {
    const Traced x(3);
    CHECK((x + s).value() == 5);
    CHECK((s - x).value() == -1);
    CHECK((x * s).value() == 6);
    CHECK((s / x).value() == 2.0 / 3);
    CHECK(x > s);
    CHECK(s < x);
    CHECK(s != x);
    CHECK_FALSE(s == x);
    CHECK(s <= x);
    CHECK(pow(x, s).value() == 9);
    CHECK(pow(s, x).value() == 8);
    CHECK(fmin(s, x).value() == 2);
    CHECK(max(x, s).value() == 3);
    CHECK(hypot(s, x, 6).value() == 7);
    Traced y = s;
    y *= s, y += s, y -= s, y /= s;
    CHECK(y == s);
    CHECK(where(less(x, s), x, s).value() == 2);
  };
  mixes(2), mixes(2u), mixes(2L), mixes(2ULL), mixes(2.0), mixes(2.0f), mixes(2.0L);
  mixes(static_cast<short>(2)), mixes(static_cast<unsigned char>(2));
}

TEST_CASE("Traced is trivially copyable, and all-zero bytes are 0.0") {
  static_assert(std::is_trivially_copyable_v<Traced>);
  alignas(Traced) unsigned char bytes[sizeof(Traced)] = {};
  Traced zero(1.0);
  std::memcpy(static_cast<void*>(&zero), bytes, sizeof zero);
  CHECK(zero.value() == 0);
  CHECK(std::numeric_limits<Traced>::epsilon().value() == std::numeric_limits<double>::epsilon());
  CHECK(std::numeric_limits<Traced>::is_specialized);
}

TEST_CASE("A callable that lets a number out is opaque, and says why") {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(reason_of([](auto x, auto p) { return p[0] * static_cast<double>(x); }), "into a plain one"));
  CHECK(has(reason_of([](auto x, auto p) { return p[0] * static_cast<double>(static_cast<int>(p[1] * x)); }),
            "plain"));
  CHECK(has(reason_of([](auto x, auto p) { return p[0] + 0 * nlsq::value_of(x); }), "into a plain one"));
  // Constants may be read, because they depend on nothing.
  CHECK(reason_of([](auto x, auto p) {
          using T = std::remove_cvref_t<decltype(x)>;
          return p[0] * x + static_cast<double>(T(2) * T(3));
        }) == "");
}

TEST_CASE("A bool made of a number is a guard, not a leak") {
  const auto f = [](auto x, auto p) { return x ? p[0] * x : p[1] + x; };
  CHECK(reason_of(f) == "");
  CHECK(evaluate_recorded(f, 0.0, {2, 3}) == 3);
  CHECK(evaluate_recorded(f, 2.0, {2, 3}) == 4);
}

TEST_CASE("Comparisons of constants record nothing") {
  TraceFamily family(make_model_function([](auto x, auto p) {
                       using T = std::remove_cvref_t<decltype(x)>;
                       T a(2);
                       for (int i = 0; i < 1000; ++i) {
                         if (a > T(i)) a += T(1);
                       }
                       return p[0] * x + a;
                     }),
                     1);
  CHECK(family.record(std::vector<double>{1.0}, std::vector<double>{1.0}) == Outcome::added);
}

TEST_CASE("Questions about special values are recorded as decisions") {
  const auto f = [](auto x, auto p) {
    using std::fpclassify, std::isfinite, std::isinf, std::isnan, std::isnormal, std::log, std::signbit;
    using T = std::remove_cvref_t<decltype(x)>;
    const T v = log(p[0] * x);
    if (isnan(v)) return T(-1);
    if (isinf(v)) return signbit(v) ? T(-2) : T(2);
    if (fpclassify(v) == FP_ZERO) return p[1];
    return isfinite(v) && isnormal(v) ? v * p[1] : v;
  };
  const std::vector<double> rows{1.0, 2.0, 0.0, -1.0, 0.5, 1e-3};
  TraceFamily family(make_model_function(f), 2);
  const std::vector<double> p{1.0, 3.0};
  for (const double x : rows) CHECK(family.record(std::vector<double>{x}, p) != Outcome::opaque);
  CHECK(family.variants() == 4);
  Graph graph;
  const NodeId root = family.build(graph);
  for (const double x : rows) CHECK(evaluate(graph, root, std::vector<double>{x}, p) == f(x, p));
}

TEST_CASE("The sign bit is told from the sign, at minus zero too") {
  const auto f = [](auto x, auto p) {
    using std::copysign;
    return copysign(p[0], x);
  };
  for (const double x : {2.0, -2.0, 0.0, -0.0, 1e-310, -1e-310})
    CHECK(evaluate_recorded(f, x, {3}) == f(x, std::vector{3.0}));
}

TEST_CASE("fmin and fmax pass over a NaN, min and max choose as in std") {
  const auto f = [](auto x, auto p) {
    using std::fmax, std::fmin, std::log;
    return fmax(log(x), p[0]) + 10 * fmin(p[1], log(x)) + 100 * fmax(log(x), 0.5) + 1000 * fmin(0.5, log(x));
  };
  for (const double x : {-1.0, 2.0, 1.0}) {
    CHECK(evaluate_recorded(f, x, {0.25, 0.75}) ==
          doctest::Approx(f(x, std::vector{0.25, 0.75})).epsilon(1e-15));
  }
  const auto g = [](auto x, auto p) {
    using std::log, std::max;
    return max(log(x), p[0]);
  };
  CHECK(std::isnan(evaluate_recorded(g, -1.0, {0.25})));
  const auto h = [](auto x, auto p) {
    using std::log, std::max;
    using T = std::remove_cvref_t<decltype(x)>;
    return max(T(p[0]), T(log(x)));
  };
  CHECK(evaluate_recorded(h, -1.0, {0.25}) == 0.25);
}

TEST_CASE("round and trunc are C's") {
  const auto f = [](auto x, auto p) {
    using std::round, std::trunc;
    return p[0] * round(x) + 100 * trunc(x);
  };
  for (const double x : {0.49999999999999994, 0.5, -0.5, 1.5, -1.5, 2.4, -2.6, 0.0, 4503599627370497.0}) {
    CHECK(evaluate_recorded(f, x, {1}) == f(x, std::vector{1.0}));
  }
}

TEST_CASE("A number kept from an earlier call makes the recording opaque") {
  // The second call adds the number of the first call.
  struct Keeps {
    static Traced& kept() {
      static thread_local Traced t;
      return t;
    }
    double operator()(double x, std::span<const double> p) const { return p[0] * x; }
    Traced operator()(const Traced& x, std::span<const Traced> p) const {
      const Traced result = p[0] * x + kept();
      kept() = p[0];
      return result;
    }
  };
  Keeps::kept() = 0;
  const std::string reason = reason_of(Keeps{});
  CHECK(reason != "");
  CHECK(reason_of(Keeps{}).find("from one call to another") != std::string::npos);
}

TEST_CASE("A solve inside a callable does not disturb the recording outside") {
  const auto f = [](auto x, auto p) {
    TraceFamily inner(make_model_function([](auto u, auto q) { return q[0] * u; }), 1);
    inner.record(std::vector<double>{2}, std::vector<double>{3});
    if (inner.variants() != 1) throw std::runtime_error("inner recording failed");
    return p[0] * x + p[1];
  };
  CHECK(evaluate_recorded(f, 2, {3, 4}) == 10);
}

TEST_CASE("A callable that throws is rethrown, and the next recording is clean") {
  bool fail = true;
  const auto f = [&fail](auto x, auto p) {
    const auto y = p[0] * x;
    if (fail) throw std::runtime_error("no value today");
    return y + p[1];
  };
  TraceFamily family(make_model_function(f), 2);
  const std::vector<double> x{1}, p{2, 3};
  CHECK_THROWS_WITH_AS(family.record(x, p), "no value today", std::runtime_error);
  CHECK((Traced(1) + Traced(2)).value() == 3);
  fail = false;
  CHECK(family.record(x, p) == Outcome::added);
}

TEST_CASE("Threads record at once without seeing each other") {
  std::atomic<int> wrong{0};
  const auto work = [&wrong](int seed) {
    for (int i = 0; i < 200; ++i) {
      const double a = seed + 0.01 * i;
      const auto f = [](auto x, auto p) {
        using std::exp;
        return x < 1 ? p[0] * exp(-x) : p[0] + x;
      };
      TraceFamily family(make_model_function(f), 1);
      const std::vector<double> p{a};
      for (const double x : {0.5, 2.0}) {
        if (family.record(std::vector<double>{x}, p) != Outcome::added) ++wrong;
      }
      Graph graph;
      const NodeId root = family.build(graph);
      for (const double x : {0.25, 3.0}) {
        if (evaluate(graph, root, std::vector<double>{x}, p) != f(x, p)) ++wrong;
      }
    }
  };
  std::thread one(work, 1), two(work, 100);
  one.join(), two.join();
  CHECK(wrong == 0);
}

TEST_CASE("Callables are told apart by what they take") {
  const auto generic = make_model_function([](const auto& x, const auto& p) { return p[0] * x; });
  CHECK((generic.trace && generic.dual));
  const auto fixed_x = make_model_function([](double x, const auto& p) { return p[0] * x; });
  CHECK((!fixed_x.trace && fixed_x.dual));
  const auto vector = make_model_function([](double x, const std::vector<double>& p) { return p.at(0) * x; });
  CHECK((!vector.trace && !vector.dual));
  const auto pointer = make_model_function([](double x, const double* p) { return p[0] * x; });
  CHECK((!pointer.trace && !pointer.dual));
  // A callable that takes only double is never instantiated with any other type.
  const auto result =
      make_model_function([](const auto& x, const auto& p) -> double { return std::cyl_bessel_j(p[0], x); });
  CHECK((!result.trace && !result.dual));
  const auto kept = make_model_function(untraced([](const auto& x, const auto& p) { return p[0] * x; }));
  CHECK((!kept.trace && kept.dual));
  const std::vector<double> p{2};
  const double x = 3;
  for (const ModelFunction& f : {generic, fixed_x, vector, pointer, kept}) CHECK(f.value(&x, p) == 6);
  CHECK(fixed_x.dual(&x, std::vector{Dual8(2, 0)}).derivative(0) == 3);

  CHECK(make_model_function(TakesPointer{}).trace);
  const double two[] = {3, 4};
  const auto several =
      make_model_function([](const auto& x, const auto& p) { return p[0] * x[0] + x[1]; }, 2);
  CHECK((several.trace && several.dual && several.predictors == 2));
  CHECK(several.value(two, p) == 10);
  CHECK(several.dual(two, std::vector{Dual8(2, 0)}).derivative(0) == 3);
}

TEST_CASE("A functor with state is copied once, and its calls share the copy") {
  int calls = 0;
  auto f = make_model_function([&calls, own = 0](double x, const std::vector<double>& p) mutable {
    calls = ++own;
    return p[0] * x;
  });
  CHECK_FALSE(f.concurrent);
  const auto copy = f;
  const double x = 1;
  f.value(&x, std::vector{1.0}), copy.value(&x, std::vector{1.0});
  CHECK(calls == 2);
  CHECK(make_model_function([](double t, const std::vector<double>& p) { return p[0] * t; }).concurrent);
}
