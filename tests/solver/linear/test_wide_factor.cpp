// Tests factors of wide matrices against their definition, with the same bits for any number of threads.
#include "linear/wide_factor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

using Numbers = std::vector<double>;

// BᵀB + I of random B, by columns (or rows, as it is symmetric), with NaN below the diagonal.
struct Symmetric {
  std::size_t n;
  Numbers whole, upper;

  explicit Symmetric(std::size_t order) : n(order), whole(n * n), upper(n * n, std::nan("")) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<double> normal;
    Numbers B(n * n);
    for (double& b : B) b = normal(random);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i <= j; ++i) {
        double sum = i == j ? 1 : 0;
        for (std::size_t k = 0; k < n; ++k) sum += B[i * n + k] * B[j * n + k];
        whole[i * n + j] = whole[j * n + i] = upper[j * n + i] = sum;
      }
    }
  }
};

Parallelism of(int threads) { return {threads, {}}; }

// Returns ‖·‖_max of the values of f for all i, j.
template <class F>
double largest(std::size_t n, F f) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double v = std::fabs(f(i, j));
      most = std::isnan(v) ? 1e300 : std::max(most, v);
    }
  }
  return most;
}

}  // namespace

TEST_CASE(
    "factor, inverse and its square are what they are called, for orders that blocks divide and do not") {
  for (const std::size_t n : {1u, 2u, 23u, 24u, 25u, 95u, 96u, 97u, 120u, 192u, 200u, 301u}) {
    CAPTURE(n);
    const Symmetric A(n);
    Numbers R = A.upper, X(n * n, 7.0), C(n * n, 7.0), L(n * n, 7.0);
    REQUIRE(factor_wide(R.data(), n, of(1)));
    double size = 0;
    for (const double a : A.whole) size = std::max(size, std::fabs(a));
    const auto product = [&](std::size_t i, std::size_t j) {  // (RᵀR)_ij
      double sum = 0;
      for (std::size_t k = 0; k <= std::min(i, j); ++k) sum += R[i * n + k] * R[j * n + k];
      return sum;
    };
    CHECK(largest(n, [&](std::size_t i, std::size_t j) { return product(i, j) - A.whole[i * n + j]; }) <
          1e-14 * size);
    bool kept = true;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j + 1; i < n; ++i) kept = kept && std::isnan(R[j * n + i]);
    }
    CHECK(kept);  // numbers below the diagonal

    invert_wide(R.data(), n, X.data(), of(1));
    const auto identity = [&](std::size_t i, std::size_t j) {  // (XR - 1)_ij
      double sum = i == j ? -1 : 0;
      for (std::size_t k = i; k <= j; ++k) sum += X[i * n + k] * R[j * n + k];
      return sum;
    };
    CHECK(largest(n, identity) < 1e-12);
    CHECK(largest(n, [&](std::size_t i, std::size_t j) { return j < i ? X[i * n + j] : 0.0; }) == 0);
    square_wide(X.data(), n, C.data(), of(1));
    const auto covariance = [&](std::size_t i, std::size_t j) {
      double sum = -C[i * n + j];
      for (std::size_t k = std::max(i, j); k < n; ++k) sum += X[i * n + k] * X[j * n + k];
      return sum;
    };
    CHECK(largest(n, covariance) < 1e-13);
    transpose_wide(R.data(), n, L.data());
    CHECK(largest(n, [&](std::size_t i, std::size_t j) {
            return i >= j ? L[j * n + i] - R[i * n + j] : 0.0;
          }) == 0);
  }
}

TEST_CASE("a matrix that is not positive definite has no factor, wherever it shows") {
  for (const std::size_t bad : {0u, 50u, 96u, 149u}) {
    CAPTURE(bad);
    Symmetric A(150);
    A.upper[bad * 150 + bad] = -1;
    CHECK_FALSE(factor_wide(A.upper.data(), 150, of(2)));
    Symmetric B(150);
    B.upper[bad * 150 + bad] = std::nan("");
    CHECK_FALSE(factor_wide(B.upper.data(), 150, of(2)));
  }
  Symmetric twice(130);  // two columns are alike
  for (std::size_t i = 0; i < 130; ++i) {
    twice.upper[129 * 130 + i] = i < 129 ? twice.whole[128 * 130 + i] : 0;
  }
  twice.upper[129 * 130 + 129] = twice.whole[128 * 130 + 128] * (1 - 1e-10);
  CHECK_FALSE(factor_wide(twice.upper.data(), 130, of(1)));
}

TEST_CASE("any number of threads gives the same bits") {
  constexpr std::size_t n = 310;
  const Symmetric A(n);
  Numbers R = A.upper, X(n * n), C(n * n);
  REQUIRE(factor_wide(R.data(), n, of(1)));
  invert_wide(R.data(), n, X.data(), of(1));
  square_wide(X.data(), n, C.data(), of(1));
  for (const int threads : {2, 3, 8}) {
    CAPTURE(threads);
    Numbers r = A.upper, x(n * n), c(n * n);
    REQUIRE(factor_wide(r.data(), n, of(threads)));
    invert_wide(r.data(), n, x.data(), of(threads));
    square_wide(x.data(), n, c.data(), of(threads));
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i <= j; ++i) REQUIRE(r[j * n + i] == R[j * n + i]);
    }
    CHECK(x == X);
    CHECK(c == C);
  }
}
