// Tests fits at whose end J loses rank. At a minimum that second derivatives of the cost determine, the end
// is a success. If a parameter ran off, or the cost is flat, it is none.
#include "certificate/second_order_minimum.hpp"
#include "dense/dense_evaluator.hpp"

#include <nlsq/groups.hpp>
#include <nlsq/least_squares.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "mgh.hpp"

using namespace nlsq;
namespace mgh = problems::mgh;

namespace {

template <class F>
LeastSquaresResult end_from(double scale) {
  std::vector<double> start(F::start.begin(), F::start.end());
  for (double& v : start) v *= scale;
  return least_squares(mgh::vector_function<F>, start);
}

template <class F>
void check_deficient_minimum(double scale, double squares) {
  CAPTURE(F::name);
  CAPTURE(scale);
  const LeastSquaresResult end = end_from<F>(scale);
  CAPTURE(end.summary.message);
  CHECK(2 * end.cost == doctest::Approx(squares).epsilon(1e-5));
  CHECK(end.summary.verdict == Verdict::rank_deficient);
  CHECK(end.success());
}

template <class F>
void check_lost(double scale) {
  CAPTURE(F::name);
  CAPTURE(scale);
  const LeastSquaresResult end = end_from<F>(scale);
  CAPTURE(end.summary.message);
  CHECK_FALSE(end.success());
}

// Residuals of two unknowns with their derivatives, at points where no fit would end.
struct Row {
  double r, by_a, by_b;
};
using Rows = std::function<std::vector<Row>(double a, double b)>;

class RowsEvaluator final : public Evaluator {
 public:
  explicit RowsEvaluator(Rows rows) : rows_(std::move(rows)) {}
  int parameters() const override { return 2; }
  std::size_t residuals() const override { return rows_(1, 1).size(); }
  bool has_f32() const override { return false; }
  double row_cost() const override { return 1; }
  void linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) override {
    out = {};
    out.plan = plan;
    out.gradient.assign(2, 0.0);
    out.normal.assign(2, 2);
    for (const Row& row : rows_(x[0], x[1])) {
      const double by[] = {row.by_a, row.by_b};
      out.cost += 0.5 * row.r * row.r;
      for (std::size_t i = 0; i < 2; ++i) {
        out.gradient[i] += by[i] * row.r;
        for (std::size_t j = 0; j < 2; ++j) out.normal(i, j) += by[i] * by[j];
      }
    }
    out.finite = std::isfinite(out.cost);
  }
  double cost(std::span<const double> x, Format) override { return linearize(x, {}).cost; }
  Probe probe(std::span<const double>, const PrecisionPlan&) override { return {}; }
  void recheck_into(std::span<const double>, std::size_t, Recheck& out) override { out = {}; }
  double second_order_into(std::span<const double>, std::span<const double>, double, Vector&) override {
    return 0;
  }
  const KernelCounters& counters() const override { return counters_; }
  double counted_work() const override { return 0; }
  double pass_work(const PrecisionPlan&) const override { return 1; }
  std::size_t bytes() const override { return 0; }

 private:
  Rows rows_;
  KernelCounters counters_;
};

bool is_minimum(Rows rows, std::vector<double> x, std::vector<int> fixed = {}, const Box& room = {}) {
  RowsEvaluator evaluator(std::move(rows));
  constexpr double kTerms = 10;  // size of the terms of the residuals
  return is_second_order_minimum(evaluator, x, room, fixed, kTerms);
}

// The first residual determines a. The second bends about b = 2, where its slope by b is zero.
Rows bent(double curvature) {
  return [=](double a, double b) {
    return std::vector<Row>{{a - 3, 1, 0}, {1 + curvature * (b - 2) * (b - 2), 0, 2 * curvature * (b - 2)}};
  };
}

}  // namespace

TEST_CASE("second derivatives tell a minimum from a saddle, a flat cost and a point beside the minimum") {
  CHECK(is_minimum(bent(1), {3, 2}));
  CHECK_FALSE(is_minimum(bent(-0.1), {3, 2}));   // this is a saddle
  CHECK(is_minimum(bent(-0.1), {3, 2}, {1}));    // b lies on a bound and does not count
  CHECK_FALSE(is_minimum(bent(0), {3, 2}));      // b moves nothing
  CHECK_FALSE(is_minimum(bent(1e-15), {3, 2}));  // b moves less than rounding does
  CHECK_FALSE(is_minimum(bent(1), {3, 2.1}));    // the minimum is elsewhere
  const std::vector<double> lower{0, 2}, upper{9, 9};
  CHECK(is_minimum(bent(1), {3, 2}, {}, {lower, upper}));  // with differences to one side
  // The minimum is a valley, because only the product of a and b changes the model.
  CHECK_FALSE(is_minimum(
      [](double a, double b) {
        return std::vector<Row>{{a * b - 6, b, a}, {1, 0, 0}};
      },
      {3, 2}));
  // Here b runs off to infinity: the cost still falls, by less and less, and bends upward all the way.
  CHECK_FALSE(is_minimum(
      [](double a, double b) {
        return std::vector<Row>{{a - 3, 1, 0}, {1 + std::exp(-b), 0, -std::exp(-b)}};
      },
      {3, 20}));
}

TEST_CASE("a minimum that second derivatives determine is a success, though J is deficient there") {
  for (const double scale : mgh::kScales)
    check_deficient_minimum<mgh::FreudensteinRoth>(scale, mgh::FreudensteinRoth::local_minimum);
  check_deficient_minimum<mgh::JennrichSampson>(1, mgh::JennrichSampson::minimum);
  // A parameter runs off to where its column of J is 0, and is brought back because the cost falls there.
  check_deficient_minimum<mgh::JennrichSampson>(10, mgh::JennrichSampson::minimum);
}

TEST_CASE("if a parameter ran off or an amplitude vanished, second derivatives make the end no success") {
  check_lost<mgh::Box>(10);
  check_lost<mgh::OsborneTwo>(10);
  check_lost<mgh::OsborneTwo>(100);
}

TEST_CASE("y that does not vary determines no step: the amplitude vanishes, and such an end is no success") {
  for (const double level : {2.5, 0.1, 1e6}) {
    for (const double spacing : {0.1, 1.0}) {
      std::vector<double> x, y(40, level);
      for (std::size_t i = 0; i < y.size(); ++i) x.push_back(spacing * static_cast<double>(i + 1));
      for (const char* name : {"logistic", "gompertz", "power_offset"}) {
        CAPTURE(name);
        CAPTURE(level);
        CAPTURE(spacing);
        const FitResult fit = curve_fit(model(name), {x}, y);
        CAPTURE(fit.summary.message);
        CHECK(fit.summary.verdict != Verdict::converged);
        CHECK(fit.summary.verdict != Verdict::noise_floor);
      }
    }
  }
}

TEST_CASE("a parameter that ran off to where it has no effect is no success, though J has full rank there") {
  std::vector<double> x;
  for (int i = 0; i < 12; ++i) x.push_back(i);  // the model is 0 at x = 0, so that a residual remains
  for (const double level : {5.0, -2.5, 1e-3}) {
    CAPTURE(level);
    const FitResult fit = curve_fit(model("langmuir"), {x}, std::vector<double>(x.size(), level));
    CAPTURE(fit.summary.message);
    CHECK_FALSE(fit.success());
  }
}

TEST_CASE("residuals that are exactly zero do not hide that the amplitude vanished") {
  std::vector<double> x;
  for (int i = 0; i < 40; ++i) x.push_back(0.1 + 9.9 * i / 39);
  for (const char* name : {"exp", "exp_growth", "exp_rise"}) {
    CAPTURE(name);
    const FitResult fit = curve_fit(model(name), {x}, std::vector<double>(x.size(), 1.0));
    CAPTURE(fit.summary.message);
    CHECK_FALSE(fit.success());
  }
}

TEST_CASE("a parameter that is zero in truth is found where it moves the residuals as much as others do") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.1 * i);
    y.push_back(3 * std::sin(2 * x.back()) + 1);
  }
  const FitResult phase = curve_fit("a*sin(b*x+p)+c", {x}, y, {{"a", 2.9}, {"b", 2.1}, {"p", 0.1}, {"c", 1}});
  CAPTURE(phase.summary.message);
  CHECK(phase.success());
  CHECK(std::fabs(phase.parameters[2]) < 1e-12);
  const FitResult rate = curve_fit("a*exp(-b*x)", {x}, std::vector<double>(40, 2.0), {{"a", 1}, {"b", 0.1}});
  CAPTURE(rate.summary.message);
  CHECK(rate.success());
  CHECK(std::fabs(rate.parameters[1]) < 1e-12);
}

TEST_CASE("a parameter that only moves a jump is no success, and the message says why") {
  std::vector<double> x, y, group;
  for (int i = 0; i < 80; ++i) {
    x.push_back(0.1 * i);
    y.push_back((x.back() > 5 ? 3 : 1) + 0.05 * std::sin(13.0 * i));
  }
  for (const char* formula : {"a+b*(x>t)", "if(x<t,a,b)", "a+b*floor(x/t)"}) {
    CAPTURE(formula);
    const FitResult fit = curve_fit(formula, {x}, y, {{"a", 1}, {"b", 1}, {"t", 4}});
    CAPTURE(fit.summary.message);
    CHECK(!fit.success());
    CHECK(fit.summary.message.find("derivatives by t are 0") != std::string::npos);
    FitOptions fixed;
    fixed.fixed = {"t"};
    CHECK(curve_fit(formula, {x}, y, {{"a", 1}, {"b", 1}, {"t", 4}}, fixed).success());
  }
  const auto step = [](auto at, const auto* p) { return at > p[2] ? p[1] : p[0]; };
  const FitResult recorded = curve_fit(step, x, y, {1, 3, 4});
  CHECK(!recorded.success());
  std::vector<double> all_x, all_y;  // 40 groups of one length are fitted in lanes
  for (int k = 0; k < 40; ++k) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      all_x.push_back(x[i]);
      all_y.push_back(y[i] + 0.001 * k);
      group.push_back(k);
    }
  }
  const GroupsResult groups =
      curve_fit_groups("a+b*(x>t)", all_x, all_y, group, {{"a", 1}, {"b", 1}, {"t", 4}});
  CHECK(groups.succeeded == 0);
}

namespace {

struct StepAt {
  double x, y;
  template <class T>
  bool operator()(const T* levels, const T* place, T* r) const {
    r[0] = (T(x) > place[0] ? levels[1] : levels[0]) - y;
    return true;
  }
};

struct SquaredSlope {
  double x, y;
  template <class T>
  bool operator()(const T* b, T* r) const {
    r[0] = b[0] * b[0] * x - y;
    return true;
  }
};

}  // namespace

TEST_CASE("blocks: a number that only moves a jump is no success, one whose derivative vanishes is") {
  Problem problem;
  double levels[2] = {1, 1}, place[1] = {4};
  for (int i = 0; i < 80; ++i) {
    const double x = 0.1 * i;
    problem.add_residual_block<1>(StepAt{x, (x > 5 ? 3 : 1) + 0.05 * std::sin(13.0 * i)}, Loss(),
                                  {levels, place});
  }
  const Summary summary = solve(problem);
  CAPTURE(summary.message);
  CHECK(!is_success(summary.verdict));
  CHECK(summary.message.find("in jumps") != std::string::npos);
  Problem flat;
  double b[1] = {1};
  for (int i = 0; i < 20; ++i) flat.add_residual_block<1>(SquaredSlope{0.1 * i, 0}, Loss(), {b});
  CHECK(is_success(solve(flat).verdict));
}

TEST_CASE("a step that left its data is an exponential, whose two linear parameters cancel: no success") {
  const Formula formula = parse_formula("a/(1+exp((c-x)/w))+d");
  int lost = 0;
  for (int k = 0; k < 40; ++k) {
    std::mt19937 random(static_cast<unsigned>(k));
    const auto uniform = [&](double from, double to) {
      return from + (to - from) * static_cast<double>(random()) / 0x1p32;
    };
    const double a = uniform(0.5, 3), c = uniform(2, 8), w = uniform(0.4, 2), d = uniform(-1, 1);
    std::vector<double> x, y;
    for (int i = 0; i < 80; ++i) {
      x.push_back(0.05 + 0.125 * i);
      y.push_back(a / (1 + std::exp((c - x.back()) / w)) + d + uniform(-0.035, 0.035));
    }
    // From c = -15 some fits end at a = 1e6, d = -1e6.
    const FitResult fit = curve_fit(formula, x, y, {{"a", 1}, {"c", -15}, {"w", 1}, {"d", 0}});
    const FitResult best = curve_fit(formula, x, y, {{"a", a}, {"c", c}, {"w", w}, {"d", d}});
    REQUIRE(best.success());
    CAPTURE(k);
    CAPTURE(fit.parameters);
    if (fit.success()) CHECK(fit.summary.final_cost < 1.001 * best.summary.final_cost);
    else ++lost;
  }
  CHECK(lost <= 8);
}

TEST_CASE("a parameter is also looked for in the ranges of the data") {
  std::vector<double> x, line, rate, energy;
  constexpr double kBoltzmann = 1.380649e-23;
  for (int i = 0; i < 50; ++i) {
    x.push_back(5 + 0.2 * i);
    const double noise = 0.02 * std::sin(97.0 * i);
    line.push_back(1 + 0.5 * x[i] - 0.7 * std::fmax(x[i] - 9, 0) + noise);
    rate.push_back(3 * std::exp(-1e-15 * 1e14 * x[i]) + 1 + noise);
    energy.push_back(3e3 * std::exp(-3.2e-20 / (kBoltzmann * 30 * x[i])) + 2 + 0.3 * x[i] + noise);
  }
  // The kink lies below all x, so that the data determine two of four parameters; between them it has an
  // effect.
  for (const double t : {1.0, 4.9, 16.0}) {
    CAPTURE(t);
    const NamedValues p0{{"a", 1}, {"b", 1}, {"c", 1}, {"t", t}};
    CHECK_FALSE(curve_fit("a+b*x+c*max(x-t,0)", x, line, p0).success());
  }
  std::vector<double> far;  // 5e14 to 1.5e15, where exp(-x) is 0
  for (const double v : x) far.push_back(1e14 * v);
  CHECK_FALSE(curve_fit("a*exp(-b*x)+c", far, rate, {{"a", 1}, {"b", 1}, {"c", 1}}).success());
  for (const double joules : {1.0, 1e-3, 1e-6}) {
    CAPTURE(joules);
    const NamedValues p0{{"a", 1}, {"E", joules}, {"c", 1}, {"d", 1}};
    CHECK_FALSE(curve_fit("a*exp(-E/(1.380649e-23*30*x))+c+d*x", x, energy, p0).success());
  }
}

TEST_CASE("a model that is degenerate everywhere has lost nothing") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    y.push_back(3 * std::exp(-0.1 * i) + 0.02 * std::sin(7.0 * i));
  }
  for (const char* formula :
       {"a*exp(-k*(x-b))", "a/b*exp(-k*x)", "a^2*b*exp(-k*x)", "exp(a+b-k*x)", "abs(a*b)*exp(-k*x)"}) {
    CAPTURE(formula);
    const FitResult fit = curve_fit(formula, x, y, {{"a", 1}, {"b", 1}, {"k", 1}});
    CHECK(fit.summary.verdict == Verdict::rank_deficient);
    CHECK(fit.dof == 38);
  }
}

TEST_CASE("a function that is only called, and rounds a parameter, is no success") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(i / 6.0);
    y.push_back(2 * std::pow(x[i], 3) + 0.1 * std::sin(97.0 * i));
  }
  const auto rounded = [](double at, const std::vector<double>& p) {
    return p[0] * std::pow(at, std::round(p[1]));
  };
  CHECK_FALSE(curve_fit(rounded, x, y, {1, 1}).success());
  const auto residuals = [&](std::span<const double> p) {
    std::vector<double> r;
    for (std::size_t i = 0; i < x.size(); ++i) r.push_back(p[0] * std::pow(x[i], std::round(p[1])) - y[i]);
    return r;
  };
  CHECK_FALSE(least_squares(residuals, {1, 1}).success());
}

TEST_CASE("a function that throws beside the end of a fit is not asked for more") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.1 * i);
    y.push_back(3 * std::exp(-0.7 * x[i]) + 0.01 * std::sin(97.0 * i));
  }
  const auto decay = [](double at, const std::vector<double>& p) {
    if (p[2] < 0.9 || p[2] > 1.05) throw std::runtime_error("outside");
    return p[0] * std::exp(-p[1] * at) + 0 * std::round(p[2]);
  };
  CHECK(curve_fit(decay, x, y, {1, 1, 1}).summary.verdict == Verdict::rank_deficient);
}

TEST_CASE("A parameter that has an effect with the other sign alone is no success") {
  std::vector<double> x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(0.5 * i);
    y.push_back(2 * x.back() + 1 + (i % 2 == 0 ? 0.1 : -0.1));
  }
  const FitResult fit = curve_fit("max(0, a)*x + b", x, y, {{"a", -1}, {"b", 0}});
  CHECK((!fit.success() || std::fabs(fit.parameters[0] - 2) < 0.1));
  const auto called = [](double v, const double* p) { return std::fmax(0.0, p[0]) * v + p[1]; };
  const FitResult by_calls = curve_fit(called, x, y, {-1, 0});
  CHECK((!by_calls.success() || std::fabs(by_calls.parameters[0] - 2) < 0.1));
}
