// Tests what the certificate reads from the factor that the solve has made: the rank and the condition.
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

constexpr int kMany = 70;

// Depends on one number of the first block; the second block only appears.
struct Seen {
  int number;
  double weight, y;
  template <class T>
  T operator()(const T* p, const T* unseen) const {
    return weight * (p[number] - y) + 0.0 * unseen[0];
  }
};

}  // namespace

TEST_CASE("A parameter that moves no residual is undetermined, however large the other columns of J are") {
  for (const int count : {1, 10, kMany}) {
    for (const double weight : {1.0, 1e3, 1e4, 1e6, 1e10}) {
      CAPTURE(count);
      CAPTURE(weight);
      std::mt19937 random(1);
      std::normal_distribution<double> noise(0, 0.1);
      std::vector<double> p(static_cast<std::size_t>(count), 1.0);
      double unseen[1] = {1};
      Problem problem;
      problem.add_parameter_block(p);
      for (int k = 0; k < 3 * count; ++k)
        problem.add_residual_block(Seen{k % count, weight, 5 + noise(random)}, nullptr, {p, unseen});
      const Summary summary = solve(problem);
      CAPTURE(summary.message);
      CHECK(summary.verdict == Verdict::rank_deficient);
      CHECK(summary.certificate.rank == count);
    }
  }
}

namespace {

// Its terms cancel: y is a thousandth of them.
struct Cancelling {
  double t, y;
  template <class T>
  T operator()(const T* p) const {
    return p[0] - p[1] * (1.0 + 1e-3 * t) - y;
  }
};
struct CancellingApart {
  Cancelling row;
  template <class T>
  T operator()(const T* a, const T* b) const {
    const T p[2] = {a[0], b[0]};
    return row(p);
  }
};

}  // namespace

TEST_CASE("Exact data are certified whether parameters are eliminated or not") {
  double together[2] = {999, 1001}, a[1] = {999}, b[1] = {1001};
  Problem eliminated, kept;
  for (int i = 0; i < 20; ++i) {
    const double t = 0.1 * i;
    const Cancelling row{t, 1000.1 - 1000.2 * (1 + 1e-3 * t)};
    eliminated.add_residual_block(row, nullptr, {together});
    kept.add_residual_block(CancellingApart{row}, nullptr, {a, b});
  }
  for (Problem* problem : {&eliminated, &kept}) {
    const Summary summary = solve(*problem);
    CAPTURE(summary.message);
    CHECK(summary.verdict == Verdict::noise_floor);
    // κ of the scaled JᵀJ is 1.2e7.
    CHECK(summary.certificate.condition > 1e7);
    CHECK(summary.certificate.condition < 3e7);
  }
}
