// Tests what a triangle determines. For many parameters its inverse is used; this is compared with singular
// values.
#include "linear/determined_subspace.hpp"

#include "decompositions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

// n columns of length one, of which `twins` are nearly or exactly copies of their neighbours.
struct LinearProblem {
  Eigen::MatrixXd R;
  Eigen::VectorXd z;
  std::vector<double> scale;

  LinearProblem(Eigen::Index n, double apart, int twins) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<double> normal;
    Eigen::MatrixXd A(3 * n, n);
    for (Eigen::Index j = 0; j < n; ++j) {
      for (Eigen::Index i = 0; i < 3 * n; ++i) A(i, j) = normal(random);
    }
    for (int k = 0; k < twins; ++k) A.col(2 * k + 1) = A.col(2 * k) + apart * A.col(2 * k + 1);
    A.colwise().normalize();
    R = decompositions::qr(A).R;
    z.resize(n);
    for (Eigen::Index j = 0; j < n; ++j) {
      z[j] = normal(random);
      scale.push_back(std::exp(normal(random)));
    }
  }

  Certified analysed() const {
    Eigen::MatrixXd copy = R;
    Eigen::VectorXd right = z;
    Certified out;
    out.step.assign(scale.size(), 0.0);
    analyse({copy.data(), right.data(), scale, true}, out);
    return out;
  }
};

}  // namespace

TEST_CASE("covariance, step, condition and decrement of many parameters are those of linear algebra") {
  for (const double apart : {1.0, 1e-3, 1e-7}) {
    for (const Eigen::Index n : {33, 64, 150}) {
      CAPTURE(apart);
      CAPTURE(n);
      const LinearProblem problem(n, apart, 3);
      const Certified found = problem.analysed();
      const decompositions::Svd svd = decompositions::svd(problem.R);
      const Eigen::VectorXd& sv = svd.values;
      const double kappa = sv[0] / sv[n - 1];
      CHECK(found.certificate.rank == n);
      CHECK(found.certificate.confounded.empty());
      CHECK(found.certificate.condition <= kappa * kappa * (1 + 1e-6));
      CHECK(found.certificate.condition >= 0.8 * kappa * kappa);
      Eigen::MatrixXd copy = problem.R;
      Eigen::VectorXd right = problem.z;
      CHECK(normal_condition({copy.data(), right.data(), problem.scale, true}) ==
            doctest::Approx(found.certificate.condition));
      CHECK(found.certificate.decrement_sigma == doctest::Approx(problem.z.norm()));
      const Eigen::MatrixXd W = svd.V * sv.cwiseInverse().asDiagonal();
      const Eigen::VectorXd step = -W * (svd.U.transpose() * problem.z);
      for (Eigen::Index i = 0; i < n; ++i) {
        const auto si = static_cast<std::size_t>(i);
        CHECK(found.step[si] * problem.scale[si] ==
              doctest::Approx(step[i]).epsilon(1e-13 * kappa).scale(step.norm()));
        for (Eigen::Index j = 0; j <= i; ++j) {
          const auto sj = static_cast<std::size_t>(j);
          const double expected = W.row(i).dot(W.row(j)), size = W.row(i).norm() * W.row(j).norm();
          const double actual = found.covariance(si, sj) * problem.scale[si] * problem.scale[sj];
          REQUIRE(std::fabs(actual - expected) <= 1e-13 * kappa * size);
          REQUIRE(found.covariance(sj, si) == found.covariance(si, sj));
        }
      }
    }
  }
}

TEST_CASE("copies among many parameters are confounded, and the rest stays determined") {
  for (const double apart : {0.0, 1e-15}) {
    const LinearProblem problem(80, apart, 2);
    const Certified found = problem.analysed();
    CHECK(found.certificate.rank == 78);
    CHECK(found.certificate.condition == std::numeric_limits<double>::infinity());
    CHECK(found.certificate.confounded == std::vector<int>{0, 1, 2, 3});
    for (std::size_t j = 0; j < 80; ++j) CHECK(std::isnan(found.covariance(j, j)) == (j < 4));
  }
}

// The certificate of a pose graph without a fixed pose is computed in this way. When it was computed from
// singular values, it took a thousand times longer than the rest of the solve.
TEST_CASE("the step and the covariance where many parameters lose rank are those of the pseudo-inverse") {
  for (const Eigen::Index n : {12, 20, 32, 40, 150}) {
    CAPTURE(n);
    LinearProblem problem(n, 0, 3);
    // One more direction belongs to no single parameter: the sum of the columns from the eighth on is zero.
    Eigen::MatrixXd R = problem.R;
    R.col(n - 1) = -R.middleCols(8, n - 9).rowwise().sum() / std::sqrt(static_cast<double>(n));
    problem.R = decompositions::qr(R).R;
    const Certified found = problem.analysed();
    const decompositions::Svd svd = decompositions::svd(problem.R);
    const Eigen::Index rank = n - 4;
    REQUIRE(found.certificate.rank == rank);
    const Eigen::MatrixXd V = svd.V.leftCols(rank), U = svd.U.leftCols(rank), rest = svd.V.rightCols(4);
    const double kappa = svd.values[0] / svd.values[rank - 1];
    CHECK(found.certificate.decrement_sigma == doctest::Approx((U.transpose() * problem.z).norm()));
    CHECK(found.certificate.covariance_error ==
          doctest::Approx(static_cast<double>(n) * 0x1p-53 * kappa).epsilon(0.2));
    const Eigen::MatrixXd W = V * svd.values.head(rank).cwiseInverse().asDiagonal();
    const Eigen::VectorXd step = -W * (U.transpose() * problem.z);
    std::vector<int> confounded;
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto si = static_cast<std::size_t>(i);
      if (rest.row(i).norm() > 0.05) confounded.push_back(static_cast<int>(i));
      CHECK(found.step[si] * problem.scale[si] ==
            doctest::Approx(step[i]).epsilon(1e-12 * kappa).scale(step.norm()));
      for (Eigen::Index j = 0; j <= i; ++j) {
        const auto sj = static_cast<std::size_t>(j);
        const bool determined = rest.row(i).norm() < 1e-6 && rest.row(j).norm() < 1e-6;
        REQUIRE(std::isnan(found.covariance(si, sj)) == !determined);
        if (!determined) continue;
        const double actual = found.covariance(si, sj) * problem.scale[si] * problem.scale[sj];
        REQUIRE(std::fabs(actual - W.row(i).dot(W.row(j))) <=
                1e-12 * kappa * W.row(i).norm() * W.row(j).norm());
      }
    }
    CHECK(found.certificate.confounded == confounded);
  }
}
