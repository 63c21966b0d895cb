// Tests solves that start at, or are led to, a point that is no minimum although its gradient is zero: a
// saddle of a symmetric problem, or a bound where the cost is flat. No solve may certify such a point.
#include <nlsq/certify.hpp>
#include <nlsq/nlsq.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

struct Range {  // the range of a beacon
  double x, y, distance;
  template <class T>
  T operator()(const T* p) const {
    using std::sqrt;
    const T u = p[0] - T(x), v = p[1] - T(y);
    return sqrt(u * u + v * v) - T(distance);
  }
};

struct OnCircle {
  double x, y;
  template <class T>
  T operator()(const T* centre, const T* radius) const {
    using std::sqrt;
    const T u = centre[0] - T(x), v = centre[1] - T(y);
    return sqrt(u * u + v * v) - radius[0];
  }
};

struct Turned {  // a point and its place after a rotation
  std::array<double, 3> from, to;
  static constexpr int residuals = 3;
  template <class T>
  bool operator()(const T* q, T* r) const {
    const T a = q[0], b = q[1], c = q[2], d = q[3];
    const std::array<T, 9> R{
        a * a + b * b - c * c - d * d, T(2) * (b * c - a * d),        T(2) * (b * d + a * c),
        T(2) * (b * c + a * d),        a * a - b * b + c * c - d * d, T(2) * (c * d - a * b),
        T(2) * (b * d - a * c),        T(2) * (c * d + a * b),        a * a - b * b - c * c + d * d};
    for (std::size_t i = 0; i < 3; ++i)
      r[i] = R[3 * i] * T(from[0]) + R[3 * i + 1] * T(from[1]) + R[3 * i + 2] * T(from[2]) - T(to[i]);
    return true;
  }
};

struct Distance {
  double squared;
  template <class T>
  T operator()(const T* p, const T* q) const {
    T sum(0);
    for (int i = 0; i < 3; ++i) sum += (p[i] - q[i]) * (p[i] - q[i]);
    return sum - T(squared);
  }
};

struct SquareMinus {  // w (x² - 1)
  double weight;
  template <class T>
  T operator()(const T* x) const {
    return T(weight) * (x[0] * x[0] - T(1));
  }
};

struct Measured {  // a measured number
  double value;
  template <class T>
  T operator()(const T* x) const {
    return x[0] - T(value);
  }
};

// Computes a weighted sum of all unknowns, which should be 0, or, if `is_distance`, whose square should be 1.
struct Mixture {
  std::vector<double> shares;
  double beside;
  bool is_distance;
  static constexpr int residuals = 2;
  template <class T>
  bool operator()(const T* x, T* r) const {
    T u(0);
    for (std::size_t j = 0; j < shares.size(); ++j) u += T(shares[j]) * x[j];
    r[0] = is_distance ? u * u - T(1) : u;
    r[1] = T(beside) * u;
    return true;
  }
};

// Computes a weighted sum of all unknowns beside an offset, and the height of a peak there. Both should be 0.
struct Peak {
  std::vector<double> shares;
  double offset, height;
  static constexpr int residuals = 2;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    T u(0);
    for (std::size_t j = 0; j < shares.size(); ++j) u += T(shares[j]) * (x[j] - T(offset));
    r[0] = T(0.5) * u;
    r[1] = T(height) * exp(-u * u);
    return true;
  }
};

SolverOptions in_f64() {
  SolverOptions options;
  options.precision = PrecisionPolicy::parse("f64");
  return options;
}

}  // namespace

TEST_CASE("beacons in a line: a point on the line is a saddle, however far from the origin it lies") {
  for (const double offset : {0.0, 1e3, 1e6, 1e7}) {
    CAPTURE(offset);
    std::array<double, 2> p{offset + 0.1, offset};
    Problem problem;
    for (const double x : {-1.0, -0.4, 0.3, 0.9, 1.4})
      problem.add_residual_block(Range{offset + x, offset, std::hypot(x - 0.2, 1.0)}, nullptr, {p});
    const Summary summary = solve(problem, in_f64());
    if (summary.certificate.passed) CHECK(summary.final_cost < 1e-6);
    CHECK(summary.certificate.passed);
  }
}

TEST_CASE("a circle through a shape of fourfold symmetry: its centre is a saddle although J has full rank") {
  std::array<double, 2> centre{0, 0};
  std::array<double, 1> radius{1.3};
  Problem problem;
  for (int i = 0; i < 28; ++i) {
    const double t = 2 * std::numbers::pi * i / 28, size = 1 + 0.8 * std::cos(2 * t);
    problem.add_residual_block(OnCircle{size * std::cos(t), size * std::sin(t)}, nullptr, {centre, radius});
  }
  CHECK(solve(problem, in_f64()).final_cost < 4.36);  // 4.48 at the centre
}

TEST_CASE("the saddle of one circle is seen among many unknowns whose residuals are linear") {
  for (const std::size_t linear : {3, 8, 20, 60}) {
    CAPTURE(linear);
    std::array<double, 2> centre{0, 0};
    std::array<double, 1> radius{1.3};
    std::vector<double> numbers(linear, 0.0);
    Problem problem;
    for (int i = 0; i < 28; ++i) {
      const double t = 2 * std::numbers::pi * i / 28, size = 1 + 0.8 * std::cos(2 * t);
      problem.add_residual_block(OnCircle{size * std::cos(t), size * std::sin(t)}, nullptr, {centre, radius});
    }
    for (std::size_t k = 0; k < linear; ++k) {
      for (const double value : {1.0, 1.1})
        problem.add_residual_block(Measured{value}, nullptr, {std::span<double>(&numbers[k], 1)});
    }
    const double of_numbers = 0.0025 * static_cast<double>(linear);
    CHECK(solve(problem, in_f64()).final_cost < 4.36 + of_numbers);  // 4.48 at the centre
  }
}

TEST_CASE("a saddle along a mixture of all unknowns is seen") {
  for (const std::size_t n : {3, 5, 9, 20, 50, 80, 150}) {
    CAPTURE(n);
    std::vector<double> x(n, 0.0);
    Problem problem;
    std::mt19937 random(static_cast<unsigned>(n));
    std::uniform_real_distribution<double> unit(-1, 1);
    for (std::size_t i = 0; i < n; ++i) {
      Mixture mixture{std::vector<double>(n), 0.5 + 0.1 * unit(random), i == 0};
      for (double& share : mixture.shares) share = unit(random);
      problem.add_residual_block(mixture, nullptr, {x});
    }
    // At 0 the gradient is 0, J has full rank, and the first mixture's cost falls to both sides.
    const Summary summary = solve(problem, in_f64());
    if (summary.certificate.passed) CHECK(summary.final_cost < 0.2);  // 0.5 at 0
    CHECK(summary.certificate.passed);
  }
}

// If the weights are 1e9, differences reach far beyond the peak, where the residuals are straight.
TEST_CASE("the top of a narrow peak far from 0 is seen to be a saddle") {
  for (const std::size_t n : {3, 8, 20, 64, 65, 150}) {
    CAPTURE(n);
    constexpr double kOffset = 1e9;
    std::vector<double> x(n, kOffset);
    Problem problem;
    std::mt19937 random(static_cast<unsigned>(n));
    std::uniform_real_distribution<double> unit(-1, 1);
    for (std::size_t i = 0; i < n; ++i) {
      Peak peak{std::vector<double>(n), kOffset, i == 0 ? 1.5 : 0};
      for (double& share : peak.shares) share = unit(random);
      problem.add_residual_block(peak, nullptr, {x});
    }
    // At the start the gradient is 0, J has full rank, and the cost of the first peak falls to both sides.
    const Summary summary = solve(problem, in_f64());
    if (summary.certificate.passed) CHECK(summary.final_cost < 0.5);  // 1.125 at the start
  }
}

TEST_CASE("a cloud of points turned by half a turn turns back") {
  std::array<double, 4> q{0, 0, 1, 0};
  Problem problem;
  problem.add_parameter_block(q, quaternion_manifold());
  for (const std::array<double, 3>& p : std::vector<std::array<double, 3>>{
           {1, 2, 0.5}, {-1, -2, 0.5}, {1, -2, 0.5}, {-1, 2, 0.5}, {0.7, 0.4, -1.5}, {-0.7, -0.4, -1.5}})
    problem.add_residual_block(Turned{p, p}, nullptr, {q});
  CHECK(solve(problem, in_f64()).final_cost < 1e-20);
}

TEST_CASE("a network that starts on a line does not stay on it") {
  int certified = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> u(-1, 1);
    std::vector<std::array<double, 3>> truth, x;
    for (int i = 0; i < 9; ++i) {
      truth.push_back({3 * u(random), i < 3 ? 0 : 3 * u(random), i < 3 ? 0 : 3 * u(random)});
      x.push_back({truth.back()[0] + (i < 3 ? 0 : 0.3 * u(random)), 0, 0});
    }
    Problem problem;
    for (auto& p : x) problem.add_parameter_block(p);
    for (std::size_t j = 3; j < 9; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        double squared = 0.01 * u(random);
        for (std::size_t k = 0; k < 3; ++k) squared += std::pow(truth[i][k] - truth[j][k], 2);
        problem.add_residual_block(Distance{squared}, Loss::cauchy(0.04), {x[i], x[j]});
      }
    }
    for (std::size_t i = 0; i < 3; ++i) problem.set_constant(x[i].data());
    const Summary summary = solve(problem, in_f64());
    if (!summary.certificate.passed) continue;
    ++certified;
    for (std::size_t j = 3; j < 9; ++j) x[j][1] += 1e-3 * u(random), x[j][2] += 1e-3 * u(random);
    const double from_beside = solve(problem, in_f64()).final_cost;
    CAPTURE(seed);
    CHECK(from_beside > summary.final_cost * (1 - 1e-3) - 1e-12);
  }
  CHECK(certified >= 10);
}

// All points start in a plane, and nothing pulls them out of it. With more than 64 unknowns such ends were
// certified.
TEST_CASE("a large network that starts in a plane does not stay in it") {
  for (const unsigned points : {30, 150}) {
    CAPTURE(points);
    constexpr unsigned kHeld = 4;
    std::mt19937 random(points);
    std::uniform_real_distribution<double> u(-1, 1);
    std::vector<std::array<double, 3>> truth, x;
    for (unsigned i = 0; i < kHeld + points; ++i) {
      truth.push_back({5 * u(random), 5 * u(random), i < kHeld ? 0 : 2 * u(random)});
      x.push_back({truth[i][0], truth[i][1], 0});
    }
    Problem problem;
    for (auto& p : x) problem.add_parameter_block(p);
    for (unsigned j = kHeld; j < x.size(); ++j) {
      for (unsigned k = 0; k < 8; ++k) {
        const unsigned i = k < kHeld ? k : static_cast<unsigned>(random()) % j;
        double squared = 0.01 * u(random);
        for (std::size_t c = 0; c < 3; ++c) squared += std::pow(truth[i][c] - truth[j][c], 2);
        problem.add_residual_block(Distance{squared}, nullptr, {x[i], x[j]});
      }
    }
    for (unsigned i = 0; i < kHeld; ++i) problem.set_constant(x[i].data());
    const Summary summary = solve(problem, in_f64());
    CHECK(summary.certificate.passed);
    for (unsigned j = kHeld; j < x.size(); ++j) x[j][2] += 1e-3 * u(random);
    CHECK(solve(problem, in_f64()).final_cost > summary.final_cost * (1 - 1e-3));
  }
}

TEST_CASE("a bound where the cost has no slope, but falls into the feasible side, holds nothing") {
  for (const bool beside : {false, true}) {
    CAPTURE(beside);
    std::array<double, 1> x{0}, y{1};
    Problem problem;
    for (int i = 0; i < 5; ++i) problem.add_residual_block(SquareMinus{1 + 0.1 * i}, nullptr, {x});
    if (beside) problem.add_residual_block(SquareMinus{2}, nullptr, {y});
    problem.set_lower_bound(x.data(), 0, 0);
    const Summary summary = solve(problem, in_f64());
    if (summary.certificate.passed) CHECK(x[0] == doctest::Approx(1));
  }
  FitOptions bounded;
  bounded.bounds = {{0, -1e9}, {1e9, 1e9}};  // for b and c
  const std::vector<double> at{0, 0.5, 1}, y{-1, 1, 3};
  const FitResult fit = curve_fit("b^2*x-1+c", at, y, NamedValues{{"b", 0.0}, {"c", 0.1}}, bounded);
  if (fit.success()) CHECK(fit.parameters[0] == doctest::Approx(2));
}

namespace {

// Twenty residuals that are linear and independent, and one that falls to both sides of a plane through 0.
// It subtracts a large constant, so that it loses small changes. 0 is a saddle, along one direction only.
struct Plane final : BlockFunction {
  static constexpr std::size_t kSize = 20;
  std::array<std::array<double, kSize>, kSize> A{};
  std::array<double, kSize> w{};
  double bend = 0, constant;
  Plane(unsigned seed, double large) : BlockFunction(kSize + 1), constant(large) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::array<double, kSize> y{};  // w = Aᵀ y
    double squares = 0;
    for (std::size_t i = 0; i < kSize; ++i) squares += std::pow(y[i] = normal(random), 2);
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t j = 0; j < kSize; ++j) {
        A[i][j] = 0.1 * normal(random) + (i == j ? 1 : 0);
        w[j] += A[i][j] * y[i];
      }
    }
    bend = -2 / squares;  // the cost curves down as much as it would curve up without this residual
  }
  Derivatives derivatives_by() const override { return Derivatives::own; }
  const void* kind() const override { return &kSize; }
  double along(const double* x) const {
    double sum = 0;
    for (std::size_t j = 0; j < kSize; ++j) sum += w[j] * x[j];
    return sum;
  }
  bool value(const double* const* x, double* r) const override {
    for (std::size_t i = 0; i < kSize; ++i) {
      r[i] = 0;
      for (std::size_t j = 0; j < kSize; ++j) r[i] += A[i][j] * x[0][j];
    }
    const volatile double sum = constant + 1 + 0.5 * bend * std::pow(along(x[0]), 2);
    r[kSize] = sum - constant;
    return true;
  }
  bool derivatives(const double* const* x, double* r, double* const* J) const override {
    value(x, r);
    for (std::size_t j = 0; j < kSize && J[0]; ++j) {
      for (std::size_t i = 0; i < kSize; ++i) J[0][i * kSize + j] = A[i][j];
      J[0][kSize * kSize + j] = bend * along(x[0]) * w[j];
    }
    return true;
  }
};

}  // namespace

// If differences of residuals were trusted below their rounding errors, some of these passed: along random
// directions the cost seemed to have exactly the curvature of JᵀJ.
TEST_CASE("a saddle along one direction of twenty is no minimum, wherever that direction lies") {
  for (const double large : {0.0, 1e4, 1e9}) {
    CAPTURE(large);
    int passed = 0;
    for (unsigned seed = 1; seed <= 2000; ++seed) {
      std::array<double, Plane::kSize> x{};
      Problem problem;
      const std::vector<BlockRef> blocks{BlockRef(x)};
      problem.add_residual_block(std::make_shared<Plane>(seed, large), Loss(), blocks);
      passed += nlsq::certify(problem, in_f64()).certificate.passed ? 1 : 0;
    }
    CHECK(passed == 0);
  }
}

// The large constants of a pair of rows round alike, so no difference of residuals shows their curvature.
TEST_CASE("a saddle of symmetric pairs of rows that subtract a large constant is not certified") {
  for (const double large : {1e6, 1e8}) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
      CAPTURE(large);
      CAPTURE(seed);
      std::mt19937 random(seed);
      std::normal_distribution<double> normal;
      std::array<double, 3> x{}, w{normal(random), normal(random), normal(random)};
      const double length = std::hypot(w[0], w[1], w[2]);
      const BlockRef blocks[] = {BlockRef(x)};
      Problem problem;
      const auto add = [&](auto row) {
        const auto of_block = [row](const auto* const* at, auto* r) { return r[0] = row(at[0]), true; };
        problem.add_residual_block<1>(of_block, Loss(nullptr), blocks);
      };
      for (std::size_t j = 0; j < 3; ++j) add([j](const auto* at) { return at[j] - 0.0; });
      for (double& number : w) number /= length;
      const std::array<double, 3> l{0.3 * normal(random), 0.3 * normal(random), 0.3 * normal(random)};
      const double slope = l[0] * w[0] + l[1] * w[1] + l[2] * w[2];
      if (2 * slope * slope > 1) continue;  // it may be a minimum: along w, the cost curves by 2 slope² - 1.4
      for (const double sign : {1.0, -1.0}) {
        add([=](const auto* at) {
          const auto s = w[0] * at[0] + w[1] * at[1] + w[2] * at[2];
          const auto a = sign * (l[0] * at[0] + l[1] * at[1] + l[2] * at[2]);
          return (large + (1.0 + a - 0.6 * s * s)) - large;
        });
      }
      CHECK_FALSE(nlsq::certify(problem).certificate.passed);
    }
  }
}
