// Tests sparse Cholesky by supernodes: solutions are compared with a dense factor's, orders must be
// permutations, and patterns must contain the fill-in.
#include "linear/sparse_cholesky.hpp"

#include <Eigen/Core>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

using namespace nlsq;

namespace {

struct LinearProblem {
  std::vector<std::uint32_t> sizes;
  std::vector<std::size_t> first{0};
  SparseCholesky::Pairs pairs;
  Eigen::MatrixXd A;

  explicit LinearProblem(std::vector<std::uint32_t> block_sizes) : sizes(std::move(block_sizes)) {
    for (const std::uint32_t size : sizes) first.push_back(first.back() + size);
    A.setZero(static_cast<Eigen::Index>(first.back()), static_cast<Eigen::Index>(first.back()));
    for (std::uint32_t i = 0; i < sizes.size(); ++i) pairs.emplace_back(i, i);
  }
  // Adds J'J of a residual on blocks a and b, which keeps the matrix positive definite.
  void couple(std::uint32_t a, std::uint32_t b, std::mt19937& random) {
    if (a != b && std::ranges::find(pairs, std::pair(std::min(a, b), std::max(a, b))) == pairs.end())
      pairs.emplace_back(std::min(a, b), std::max(a, b));
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(7, A.cols());
    for (const std::uint32_t block : {a, b}) {
      for (std::size_t j = first[block]; j < first[block + 1]; ++j) {
        for (int i = 0; i < 7; ++i)
          J(i, static_cast<Eigen::Index>(j)) = static_cast<double>(random() % 2001) / 1000 - 1;
      }
    }
    A += J.transpose() * J;
  }
  void add(std::size_t k, const FrontPlace& place) const {
    const auto [a, b] = pairs[k];
    for (std::size_t i = 0; i < sizes[a]; ++i) {
      for (std::size_t j = a == b ? i : 0; j < sizes[b]; ++j) {
        const double v = A(static_cast<Eigen::Index>(first[b] + j), static_cast<Eigen::Index>(first[a] + i));
        place.front[place.turned ? (place.column + j) * place.ld + place.row + i
                                 : (place.column + i) * place.ld + place.row + j] = v;
      }
    }
  }
  double error(SparseCholesky& cholesky) const {
    std::vector<double> b(first.back());
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i) + 1);
    const Eigen::VectorXd right = Eigen::Map<const Eigen::VectorXd>(b.data(), A.cols());
    cholesky.solve(b);
    const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(b.data(), A.cols());
    return (A * x - right).norm() / (A.norm() * x.norm());
  }
};

std::vector<std::uint32_t> random_sizes(std::size_t count, std::mt19937& random) {
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(1 + static_cast<std::uint32_t>(random() % 9));
  return sizes;
}

}  // namespace

TEST_CASE("Chains with loops, stars, grids and islands of blocks of many sizes are solved, again and again") {
  std::mt19937 random(1);
  for (int shape = 0; shape < 5; ++shape) {
    for (const std::uint32_t count : {1U, 2U, 7U, 40U, 90U}) {
      CAPTURE(shape);
      CAPTURE(count);
      LinearProblem p(random_sizes(count, random));
      for (std::uint32_t i = 0; i < count; ++i) {
        p.couple(i, i, random);
        p.couple(i, i, random);
        if (shape == 0 && i > 0) p.couple(i - 1, i, random);
        if (shape == 0 && i > 12 && i % 3 == 0) p.couple(i, i - 11, random);
        if (shape == 1 && i > 0) p.couple(i, 0, random);
        if (shape == 2 && i > 0 && i % 9 != 0) p.couple(i, i - 1, random);
        if (shape == 2 && i >= 9) p.couple(i - 9, i, random);
        if (shape == 3 && i % 4 != 0) p.couple(i, i - 1, random);  // there are islands
        if (shape == 4) p.couple(i, static_cast<std::uint32_t>(random() % count), random);
      }
      SparseCholesky cholesky(p.sizes, p.pairs);
      for (int again = 0; again < 2; ++again) {
        REQUIRE(cholesky.factor([&](std::size_t k, const FrontPlace& place) { p.add(k, place); }));
        CHECK(p.error(cholesky) < 1e-14);
      }
    }
  }
}

TEST_CASE("A matrix that is not positive definite is found out, wherever the fault lies") {
  std::mt19937 random(2);
  LinearProblem p(std::vector<std::uint32_t>(30, 3));
  for (std::uint32_t i = 0; i < 30; ++i) {
    p.couple(i, i, random);
    if (i > 0) p.couple(i - 1, i, random);
  }
  SparseCholesky cholesky(p.sizes, p.pairs);
  const auto factored = [&] {
    return cholesky.factor([&](std::size_t k, const FrontPlace& place) { p.add(k, place); });
  };
  CHECK(factored());
  for (const Eigen::Index at : {0, 44, 89}) {
    const double kept = std::exchange(p.A(at, at), -1.0);
    CHECK_FALSE(factored());
    p.A(at, at) = kept;
  }
  CHECK(factored());
  CHECK(p.error(cholesky) < 1e-14);
}

TEST_CASE("An order is a permutation, supernodes hold every pair, and a chain fills in next to nothing") {
  SparseCholesky::Pairs pairs;
  for (std::uint32_t i = 0; i < 500; ++i) pairs.emplace_back(i, i);
  for (std::uint32_t i = 1; i < 500; ++i) pairs.emplace_back(i - 1, i);
  const std::vector<std::uint32_t> sizes(500, 6);
  const BlockOrdering order(sizes, pairs);
  std::vector<std::uint32_t> sorted = order.place;
  std::ranges::sort(sorted);
  for (std::uint32_t i = 0; i < 500; ++i) {
    CHECK(sorted[i] == i);
    CHECK(order.place[order.block[i]] == i);
  }
  std::size_t held = 0, next = 0;
  for (const Supernode& s : order.supernodes) {
    CHECK(s.first == next);
    next += s.columns;
    for (const auto& [a, b] : pairs) {
      const std::uint32_t low = std::min(order.place[a], order.place[b]),
                          high = std::max(order.place[a], order.place[b]);
      if (low < s.first || low >= s.first + s.columns) continue;
      held += high < s.first + s.columns || std::ranges::binary_search(s.below, high) ? 1 : 0;
    }
  }
  CHECK(held == pairs.size());
  SparseCholesky cholesky(sizes, pairs);
  CHECK(cholesky.numbers() < 3 * 500 * 6 * 12);  // 6 columns of 12 rows a block are needed
}
