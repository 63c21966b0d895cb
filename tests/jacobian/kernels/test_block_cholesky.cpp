// Tests the Cholesky factor of the block kernels, whole and in part.

#include "kernels/block_kernels.hpp"

#include "decompositions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

TEST_CASE("The Cholesky factor solves systems of every size, and refuses what is not positive definite") {
  std::mt19937 random(5);
  for (const BlockKernels* set : available_block_kernels()) {
    INFO(std::string(set->name));
    for (const std::size_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 40, 63, 64, 65, 100, 131}) {
      const auto size = static_cast<Eigen::Index>(n);
      Eigen::MatrixXd B(size, size);
      for (Eigen::Index i = 0; i < B.size(); ++i)
        B.data()[i] = static_cast<double>(random() % 2001) / 1000 - 1;
      const Eigen::MatrixXd A = B * B.transpose() + Eigen::MatrixXd::Identity(size, size);
      const std::size_t ld = (n + 7) / 8 * 8 + 8;
      std::vector<double> L(ld * n + 8, -7.0);  // numbers outside the lower triangle must not matter
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = j; i < n; ++i)
          L[j * ld + i] = A(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      }
      std::vector<double> indefinite = L;
      REQUIRE(set->cholesky_f64(L.data(), n, ld));
      const Eigen::MatrixXd reference = decompositions::cholesky(A);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = j; i < n; ++i) {
          CHECK(std::abs(L[j * ld + i] - reference(static_cast<Eigen::Index>(i),
                                                   static_cast<Eigen::Index>(j))) <= 1e-12 * A.norm());
        }
      }
      Eigen::VectorXd b = A * Eigen::VectorXd::LinSpaced(size, -1, 2);
      set->cholesky_solve_f64(L.data(), n, ld, b.data());
      CHECK((b - Eigen::VectorXd::LinSpaced(size, -1, 2)).norm() <= 1e-10 * static_cast<double>(n));
      indefinite[(n - 1) * ld + n - 1] = -1;
      CHECK_FALSE(set->cholesky_f64(indefinite.data(), n, ld));
    }
  }
}

TEST_CASE("Part of a Cholesky factor leaves the Schur complement of what it took") {
  std::mt19937 random(6);
  for (const BlockKernels* set : available_block_kernels()) {
    INFO(std::string(set->name));
    for (const std::size_t n : {1, 3, 8, 11, 16, 27, 64, 71}) {
      for (const std::size_t part : {std::size_t{1}, n / 3, n / 2, n - 1, n}) {
        if (part == 0) continue;
        const auto size = static_cast<Eigen::Index>(n), taken = static_cast<Eigen::Index>(part);
        Eigen::MatrixXd B(size, size);
        for (Eigen::Index i = 0; i < B.size(); ++i)
          B.data()[i] = static_cast<double>(random() % 2001) / 1000 - 1;
        const Eigen::MatrixXd A = B * B.transpose() + Eigen::MatrixXd::Identity(size, size);
        const std::size_t ld = (n + 7) / 8 * 8;
        std::vector<double> L(ld * n + 8, -7.0);
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t i = j; i < n; ++i)
            L[j * ld + i] = A(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
        }
        REQUIRE(set->cholesky_part_f64(L.data(), n, ld, part));
        const Eigen::MatrixXd whole = decompositions::cholesky(A);
        const Eigen::MatrixXd left = A - whole.leftCols(taken) * whole.leftCols(taken).transpose();
        double worst = 0;
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t i = j; i < n; ++i) {
            const auto row = static_cast<Eigen::Index>(i), column = static_cast<Eigen::Index>(j);
            worst = std::max(worst, std::abs(L[j * ld + i] - (j < part ? whole : left)(row, column)));
          }
        }
        CHECK(worst <= 1e-12 * A.norm());
      }
    }
  }
}
