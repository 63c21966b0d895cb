// Tests certify() of a Problem. It makes no step, changes nothing, and gives the verdict that the values
// deserve.
#include <nlsq/certify.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

using namespace nlsq;

namespace {

constexpr std::size_t kRows = 40;

double time_of(std::size_t i) { return 0.1 * static_cast<double>(i); }
double count_of(std::size_t i) {
  return 2 * std::exp(-0.7 * time_of(i)) + 1 + 0.02 * (static_cast<double>(i * 7919 % 23) / 11.0 - 1);
}

// Builds a exp(-b t) + c with slightly noisy data, as one residual block for each row.
struct Decay {
  std::array<double, 3> p{2, 0.7, 1};
  Problem problem;

  explicit Decay(const Loss& loss = {}) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const double t = time_of(i), y = count_of(i);
      problem.add_residual_block(
          [=](const auto* q) {
            using std::exp;
            return q[0] * exp(-q[1] * t) + q[2] - y;
          },
          loss, {p});
    }
  }
};

void expect_untouched(const Summary& summary) {
  CHECK(summary.accepted == 0);
  CHECK(summary.rejected == 0);
  CHECK(summary.iterations.empty());
  CHECK(summary.initial_cost == summary.final_cost);
}

// Checks that the values of solve() pass, and that they fail if number `moved` is changed by `off`.
void check_ends(Decay& decay, std::size_t moved, double off) {
  REQUIRE(is_success(solve(decay.problem).verdict));
  const std::array<double, 3> found = decay.p;
  const Summary same = certify(decay.problem);
  CAPTURE(same.message);
  CHECK(is_success(same.verdict));
  CHECK(same.certificate.passed);
  CHECK(same.termination == Termination::converged);
  CHECK(same.certificate.decrement_sigma <= 1e-3);
  CHECK(contains(same.message, "certified by"));
  CHECK(decay.p == found);
  expect_untouched(same);
  decay.p[moved] += off;
  const std::array<double, 3> given = decay.p;
  const Summary other = certify(decay.problem);
  CAPTURE(other.message);
  CHECK_FALSE(is_success(other.verdict));
  CHECK_FALSE(other.certificate.passed);
  CHECK(contains(other.message, "not a certified minimum"));
  CHECK(decay.p == given);
  expect_untouched(other);
}

}  // namespace

TEST_CASE("the end of a solve passes; one standard error beside it does not, and the distance is reported") {
  std::vector<double> x, y;
  for (std::size_t i = 0; i < kRows; ++i) x.push_back(time_of(i)), y.push_back(count_of(i));
  const FitResult fit = curve_fit("a*exp(-b*x)+c", x, y, {{"a", 2}, {"b", 1}, {"c", 1}});
  REQUIRE(fit.success());
  for (std::size_t j = 0; j < 3; ++j) {
    CAPTURE(j);
    Decay decay;
    check_ends(decay, j, fit.standard_errors[j]);
    // If the others stay where they are, the distance is at least the change of the parameter.
    CHECK(certify(decay.problem).certificate.decrement_sigma > 0.9);
  }
}

TEST_CASE("values with few digits pass: the distance in standard errors decides") {
  Decay decay;
  REQUIRE(is_success(solve(decay.problem).verdict));
  const std::array<double, 3> found = decay.p;
  for (double& v : decay.p) v *= 1 + 1e-7;
  CHECK(decay.p != found);
  CHECK(certify(decay.problem).verdict == Verdict::converged);
  SolverOptions strict;
  strict.tau = 1e-9;
  CHECK_FALSE(is_success(certify(decay.problem, strict).verdict));
}

TEST_CASE("a parameter whose value is zero passes, too") {
  std::array<double, 2> p{0.5, 0.3};
  Problem problem;
  for (int i = -10; i <= 10; ++i) {
    const double t = 0.1 * i, y = 0.01 * (i % 2 == 0 ? 1 : -1);
    problem.add_residual_block([=](const auto* q) { return q[0] + q[1] * t - y; }, {}, {p});
  }
  REQUIRE(is_success(solve(problem).verdict));
  p[1] += 1e-8;  // its value is zero, and its standard error 0.003
  CHECK(is_success(certify(problem).verdict));
}

TEST_CASE("with a loss, the minimum of the robust cost passes and nothing else does") {
  for (const Loss& loss : {Loss::huber(0.01), Loss::cauchy(0.02), Loss::soft_l1(0.01)}) {
    Decay decay(loss);
    check_ends(decay, 1, 0.05);
  }
}

TEST_CASE("a saddle point and a maximum are no minimum, although the gradient vanishes") {
  // ½(x² + y² + (5 - x²)²) has a maximum over x at 0.
  std::array<double, 2> p{0, 0};
  Problem saddle;
  saddle.add_residual_block(
      [](const auto* q) {
        return std::vector{q[0], q[1], 5.0 - q[0] * q[0]};
      },
      {}, {p});
  const Summary there = certify(saddle);
  CHECK(there.certificate.gradient_norm < 1e-12);
  CHECK_FALSE(is_success(there.verdict));
  p = {std::sqrt(4.5), 0};
  CHECK(is_success(certify(saddle).verdict));
  // q begins at the saddle between two of the four minima of Himmelblau's function, and then is one of these.
  std::array<double, 2> q{0.0866775, 2.8842547};
  Problem himmelblau;
  himmelblau.add_residual_block(
      [](const auto* v) {
        return std::vector{v[0] * v[0] + v[1] - 11.0, v[0] + v[1] * v[1] - 7.0};
      },
      {}, {q});
  CHECK_FALSE(is_success(certify(himmelblau).verdict));
  q = {3, 2};
  CHECK(is_success(certify(himmelblau).verdict));
}

TEST_CASE("if the data do not determine all parameters, the verdict says so") {
  std::array<double, 2> p{1, 1};
  Problem problem;
  for (int i = 0; i < 10; ++i) {
    const double y = 2 + 0.01 * (i % 3 - 1);
    problem.add_residual_block([=](const auto* q) { return q[0] + q[1] - y; }, {}, {p});
  }
  REQUIRE(is_success(solve(problem).verdict));
  const Summary summary = certify(problem);
  CHECK(summary.verdict == Verdict::rank_deficient);
  CHECK(summary.certificate.rank == 1);
  CHECK(contains(summary.message, "1 of 2 directions"));
  p[0] += 0.1;
  CHECK_FALSE(is_success(certify(problem).verdict));
}

TEST_CASE("bounds: a value on an active one passes, one beside it does not, one outside is an error") {
  Decay decay;
  decay.problem.set_lower_bound(decay.p.data(), 2, 1.1);
  decay.p[2] = 1.5;
  REQUIRE(is_success(solve(decay.problem).verdict));
  REQUIRE(decay.p[2] == 1.1);
  const Summary summary = certify(decay.problem);
  CHECK(is_success(summary.verdict));
  CHECK(contains(summary.message, "1 numbers are at their bounds"));
  decay.p[2] = 1.2;
  CHECK_FALSE(is_success(certify(decay.problem).verdict));
  decay.p[2] = 1;
  const std::string message = message_of([&] { certify(decay.problem); });
  CHECK(contains(message, "number 2 of parameter block 0 is 1, outside its bounds 1.1 and inf"));
  CHECK(decay.p[2] == 1);
}

TEST_CASE("a manifold: the unit vector nearest to the data passes, one turned away does not") {
  std::array<double, 3> v{0, 0, 1};
  Problem problem;
  problem.add_parameter_block(v, sphere_manifold(3));
  for (int i = 0; i < 12; ++i) {
    const double a = 1 + 0.1 * (i % 3), b = 2 - 0.1 * (i % 4), c = 2 + 0.1 * (i % 2);
    problem.add_residual_block(
        [=](const auto* u) {
          return std::vector{3.0 * u[0] - a, 3.0 * u[1] - b, 3.0 * u[2] - c};
        },
        {}, {v});
  }
  REQUIRE(is_success(solve(problem).verdict));
  const std::array<double, 3> found = v;
  CHECK(is_success(certify(problem).verdict));
  CHECK(v == found);
  const double turn = 0.1, x = v[0], y = v[1];
  v[0] = std::cos(turn) * x - std::sin(turn) * y;
  v[1] = std::sin(turn) * x + std::cos(turn) * y;
  CHECK_FALSE(is_success(certify(problem).verdict));
}

TEST_CASE("limits and callbacks of the options have no effect, mistakes in them are errors") {
  Decay decay;
  REQUIRE(is_success(solve(decay.problem).verdict));
  SolverOptions options;
  int calls = 0;
  options.callback = [&](const IterationSummary&) { return ++calls, Stop; };
  options.max_seconds = 1e-9;
  options.precision = PrecisionPolicy::parse("f32");
  CHECK(is_success(certify(decay.problem, options).verdict));
  CHECK(calls == 0);
  options.tau = -1;
  CHECK(contains(message_of([&] { certify(decay.problem, options); }), "tau"));
}

TEST_CASE("if residuals do not exist, nothing is certified") {
  std::array<double, 1> p{-1};
  Problem problem;
  problem.add_residual_block(
      [](const auto* q) {
        using std::log;
        return log(q[0]) - 1.0;
      },
      {}, {p});
  const Summary summary = certify(problem);
  CHECK(summary.verdict == Verdict::failed);
  CHECK(summary.termination == Termination::failure);
  CHECK(contains(summary.message, "not finite"));
  CHECK(p[0] == -1);
}
