// Tests blocked QR of many columns against Eigen's and against sums in long double: kernels, triangles,
// passes and steps.
#include "dense/dense_evaluator.hpp"
#include "linear/linear_solver.hpp"
#include "linear/wide_factor.hpp"

#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "decompositions.hpp"
#include "tables.hpp"

using namespace nlsq;
using tables::Table;
using tables::TableRows;

namespace {

using decompositions::Dense;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kU = 0x1p-53;

Dense random_matrix(Eigen::Index m, Eigen::Index n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  return Dense::NullaryExpr(m, n, [&] { return normal(engine); });
}

// Folds rows of A from `first` on into R, as a kernel set does it. Its columns may be destroyed.
void fold(const KernelTable& set, double* R, std::size_t stride, const Dense& A, KernelCounters& counters) {
  const auto padded = (A.rows() + 63) / 64 * 64;
  Dense copy = Dense::Constant(padded, A.cols(), std::nan(""));
  copy.topRows(A.rows()) = A;
  std::vector<double*> columns;
  for (Eigen::Index j = 0; j < A.cols(); ++j) columns.push_back(copy.col(j).data());
  set.qr_fold(R, stride, static_cast<int>(A.cols()), columns.data(), static_cast<std::size_t>(A.rows()),
              &counters);
}

Rows triangle_of(const KernelTable& set, const Dense& A, Eigen::Index tile) {
  Rows R = Rows::Zero(A.cols(), A.cols());
  KernelCounters counters;
  for (Eigen::Index i = 0; i < A.rows(); i += tile) {
    fold(set, R.data(), static_cast<std::size_t>(A.cols()), A.middleRows(i, std::min(tile, A.rows() - i)),
         counters);
  }
  return R;
}

// Returns ‖RᵀR - AᵀA‖ by columns, in units of u. A backward stable QR keeps this small for every column of
// any size.
double mismatch(const Rows& R, const Dense& A) {
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Wide r = R.cast<long double>(), a = A.cast<long double>();
  const Wide difference = r.transpose() * r - a.transpose() * a;
  double worst = 0;
  for (Eigen::Index i = 0; i < A.cols(); ++i) {
    for (Eigen::Index j = 0; j < A.cols(); ++j) {
      const long double size = a.col(i).norm() * a.col(j).norm();
      if (size > 0) worst = std::max(worst, static_cast<double>(std::fabs(difference(i, j)) / size));
      else if (difference(i, j) != 0) return std::numeric_limits<double>::infinity();
    }
  }
  return worst / kU;
}

bool upper(const Rows& R) { return Rows(R.triangularView<Eigen::StrictlyLower>()).isZero(0); }

// Holds rows with enough work for threads.
class SharedRows final : public TableRows {
 public:
  using TableRows::TableRows;
  double row_cost(Fill) const override { return 1000; }
};

Table table_of(const Dense& J, const Eigen::VectorXd& r) {
  Table t{static_cast<std::size_t>(J.rows()), static_cast<std::size_t>(J.cols()), {}};
  for (Eigen::Index j = 0; j < J.cols(); ++j) t.columns.emplace_back(J.col(j).begin(), J.col(j).end());
  t.columns.emplace_back(r.begin(), r.end());
  return t;
}

// Returns a matrix with singular values from 1 to 1/condition, in random directions.
Dense with_condition(Eigen::Index m, Eigen::Index n, double condition, unsigned seed) {
  const Dense U = decompositions::qr(random_matrix(m, n, seed)).Q;
  const Dense V = decompositions::qr(random_matrix(n, n, seed + 1)).Q;
  const Eigen::VectorXd values =
      Eigen::VectorXd::LinSpaced(n, 0, -std::log10(condition)).unaryExpr([](double e) {
        return std::pow(10.0, e);
      });
  return U * values.asDiagonal() * V.transpose();
}

}  // namespace

TEST_CASE("R is Eigen's up to signs, for columns and rows that blocks divide and do not, in every set") {
  for (const KernelTable* set : available_kernels()) {
    CAPTURE(std::string(set->name));
    for (const int n : {63, 64, 65, 71, 97, 131}) {
      for (const int m : {1, 7, 60, 131, 256, 257, 300}) {
        CAPTURE(n);
        CAPTURE(m);
        const Dense A = random_matrix(m, n, static_cast<unsigned>(1000 * n + m));
        const Rows R = triangle_of(*set, A, 1000);
        CHECK(upper(R));
        CHECK(mismatch(R, A) < 100);
        if (m < 256) continue;
        const Dense expected = decompositions::qr(A).R;
        Dense difference(n, n);
        for (int i = 0; i < n; ++i) {
          const double sign = R(i, i) * expected(i, i) < 0 ? -1 : 1;
          difference.row(i) = R.row(i) - sign * expected.row(i);
        }
        // A perturbation of A by some u changes R by κ(A) times as much, and κ of such random rows is below
        // 7.
        CHECK(difference.norm() < 200 * kU * A.norm());
      }
    }
  }
}

TEST_CASE("tiles go on from the R of those before, with rows of R further apart than its columns") {
  for (const KernelTable* set : available_kernels()) {
    CAPTURE(std::string(set->name));
    const Dense A = random_matrix(1000, 90, 5);
    for (const Eigen::Index tile : {1, 40, 256, 333}) {
      CAPTURE(tile);
      CHECK(mismatch(triangle_of(*set, A, tile), A) < 100);
    }
    Rows apart = Rows::Constant(90, 101, 7.0);
    apart.leftCols(90).setZero();
    KernelCounters counters;
    fold(*set, apart.data(), 101, A.topRows(400), counters);
    fold(*set, apart.data(), 101, A.bottomRows(600), counters);
    CHECK(mismatch(apart.leftCols(90), A) < 100);
    CHECK((apart.rightCols(11).array() == 7).all());
    CHECK(counters.qr_flops_f64 == 2u * 90u * 90u * 1000u);
  }
}

TEST_CASE("columns of zeros, of huge and of tiny numbers, and columns twice leave R what it has to be") {
  for (const KernelTable* set : available_kernels()) {
    CAPTURE(std::string(set->name));
    Dense A = random_matrix(400, 80, 9);
    const auto scale = [&](Eigen::Index j, double by) { A.col(j) *= by; };
    A.col(3).setZero();
    A.col(40).setZero();
    scale(5, 1e-180);
    scale(41, 1e-300);
    scale(42, 1e150);
    scale(70, 1e-150);
    A.col(60) = A.col(50);
    A.col(61) = 3 * A.col(7);
    const Rows R = triangle_of(*set, A, 150);
    CHECK(R.allFinite());
    CHECK(upper(R));
    CHECK(mismatch(R, A) < 100);
    CHECK((R.col(3).array() == 0).all());
    CHECK(std::fabs(R(60, 60)) < 1e-13 * A.col(60).norm());
    CHECK(std::fabs(R(61, 61)) < 1e-13 * A.col(61).norm());
    for (const double size : {1e300, 1e200, 1e-200, 0x1p-1000}) {  // the squares of all leave the range
      CAPTURE(size);
      const Dense B = random_matrix(100, 70, 10);
      const Rows all = triangle_of(*set, size * B, 100), one = triangle_of(*set, B, 100);
      CHECK((all / size - one).cwiseAbs().maxCoeff() < 1e-12);
    }
    const Rows before = triangle_of(*set, random_matrix(100, 70, 11), 100);
    Rows after = before;
    KernelCounters counters;
    fold(*set, after.data(), 70, Dense::Zero(300, 70), counters);
    CHECK(after == before);
  }
}

TEST_CASE("NaN shows in R, wherever it is and whatever is beside it") {
  for (const KernelTable* set : available_kernels()) {
    CAPTURE(std::string(set->name));
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      for (const Eigen::Index column : {0, 1, 7, 8, 40, 69}) {
        for (const bool alone : {false, true}) {
          CAPTURE(column);
          Dense A = alone ? Dense::Zero(100, 70) : random_matrix(100, 70, 5);
          A(17, column) = bad;
          Rows R = Rows(random_matrix(70, 70, 6)).triangularView<Eigen::Upper>();
          KernelCounters counters;
          fold(*set, R.data(), 70, A, counters);
          CHECK_FALSE(R.allFinite());
        }
      }
    }
  }
}

TEST_CASE("least squares of condition 1e10 to 1e14 have the error that QR of all rows has") {
  for (const double condition : {1e10, 1e12, 1e14}) {
    CAPTURE(condition);
    const Dense J = with_condition(900, 100, condition, 3);
    const Eigen::VectorXd x = random_matrix(100, 1, 4), b = J * x;
    Dense both(900, 101);
    both << J, b;
    const Rows R = triangle_of(kernels(), both, 256);
    CHECK(mismatch(R, both) < 100);
    const auto error = [&](const Eigen::VectorXd& got) { return (got - x).norm() / x.norm(); };
    const double ours =
        error(R.topLeftCorner(100, 100).triangularView<Eigen::Upper>().solve(R.topRightCorner(100, 1)));
    const double eigens = error(decompositions::least_squares(J, b));
    CHECK(ours < 10 * eigens);
    CHECK(ours < 30 * kU * condition);
  }
}

TEST_CASE("triangles are folded and squared as the rows they stand for") {
  for (const std::size_t n : {64u, 100u, 255u, 256u, 300u}) {
    CAPTURE(n);
    const auto order = static_cast<Eigen::Index>(n);
    const Dense A = random_matrix(order + 20, order, 21), B = random_matrix(order + 5, order, 22);
    Rows R = triangle_of(kernels(), A, 256);
    const Rows S = triangle_of(kernels(), B, 256);
    KernelCounters counters;
    fold_triangle(R.data(), S.data(), n, counters);
    Dense both(A.rows() + B.rows(), order);
    both << A, B;
    CHECK(upper(R));
    CHECK(mismatch(R, both) < 200);
    CHECK(counters.qr_flops_f64 <= 2 * n * n * n);

    std::vector<double> packed(n * (n + 1) / 2, 5.0);
    square_triangle(R.data(), n, packed.data());
    const Dense product = R.transpose() * R;
    double worst = 0;
    for (std::size_t i = 0, k = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j, ++k) {
        const auto a = static_cast<Eigen::Index>(i), b = static_cast<Eigen::Index>(j);
        worst = std::max(worst, std::fabs(packed[k] - product(a, b)) / (R.col(a).norm() * R.col(b).norm()));
      }
    }
    CHECK(worst < 50 * kU);

    // All columns except the last get a diagonal.
    Dense damped(A.rows() + order - 1, order);
    damped << A, Dense::Zero(order - 1, order);
    std::vector<double> diagonal;
    for (Eigen::Index j = 0; j + 1 < order; ++j) {
      diagonal.push_back(j == 3 ? 0 : 0.1 * static_cast<double>(j + 1));
      damped(A.rows() + j, j) = diagonal.back();
    }
    Rows with_diagonal = triangle_of(kernels(), A, 256);
    fold_diagonal(with_diagonal.data(), diagonal.data(), n - 1, n, counters);
    CHECK(mismatch(with_diagonal, damped) < 200);
  }
}

TEST_CASE(
    "a pass over many columns gives the same bits on any number of threads, within tiles and some triangles "
    "of memory") {
  constexpr std::size_t n = 130, m = 6000, tile = 64;
  const Table t = Table::random(m, n, 8);
  const auto pass = [&](int threads, std::size_t& bytes, int& took_part) {
    SharedRows rows(t, t, tile);
    DenseEvaluator evaluator(rows, {threads, {}});
    Linearization at = evaluator.linearize(Vector(n, 1.0), {Format::f64, Gram::qr});
    bytes = evaluator.bytes();
    took_part = evaluator.threads();
    return at;
  };
  std::size_t bytes = 0, others = 0;
  int took_part = 0;
  const Linearization one = pass(1, bytes, took_part);
  REQUIRE(one.triangle.rows() == n + 1);
  double worst = 0;
  for (std::size_t i = 0; i <= n; ++i) {
    for (std::size_t j = i; j <= n; ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k <= i; ++k)
        sum += static_cast<long double>(one.triangle(k, i)) * one.triangle(k, j);
      worst = std::max(worst, std::fabs(static_cast<double>(sum - t.product(i, j))) / t.size(i, j));
      const double normal = j < n ? one.normal(i, j) : i < n ? one.gradient[i] : 2 * one.cost;
      worst = std::max(worst, std::fabs(normal - static_cast<double>(sum)) / t.size(i, j));
    }
  }
  CHECK(worst < 1e-14);
  // 22 chunks of at least 2 n rows are 22 triangles. J as a whole would be 6.3 MB.
  CHECK(bytes < (23 * (n + 1) * (n + 1) + 6 * tile * (n + 1)) * sizeof(double));
  for (const int threads : {2, 3, 8}) {
    CAPTURE(threads);
    const Linearization many = pass(threads, others, took_part);
    CHECK(many.triangle == one.triangle);
    CHECK(many.normal == one.normal);
    CHECK(many.gradient == one.gradient);
    CHECK(many.cost == one.cost);
  }
}

TEST_CASE("fewer rows than parameters, and the rows that show them, make a triangle") {
  const Table t = Table::random(100, 140, 3);
  TableRows rows(t, t, 64);
  const Linearization at = DenseEvaluator(rows).linearize(Vector(140, 1.0), {Format::f64, Gram::qr});
  REQUIRE(at.finite);
  double worst = 0;
  for (std::size_t i = 0; i < 140; ++i) {
    for (std::size_t j = i; j < 140; ++j) {
      worst =
          std::max(worst, std::fabs(static_cast<double>(at.normal(i, j) - t.product(i, j))) / t.size(i, j));
    }
  }
  CHECK(worst < 1e-13);
  LinearSolver solver(at, column_norms(at));
  const Step step = solver.solve(1e-3);
  CHECK(step.factored);
  CHECK(step.predicted > 0);
}

TEST_CASE("a wide damped step by QR is that of the rows where normal equations have lost it") {
  for (const double lambda : {0.0, 1e-20, 1e-6, 1.0}) {
    CAPTURE(lambda);
    const Dense J = with_condition(600, 150, 1e10, 7);
    const Eigen::VectorXd r = J * Eigen::VectorXd(random_matrix(150, 1, 8));
    const Table t = table_of(J, r);
    const Linearization at = linearized(t, true);
    const Vector scale(150, 1.0);
    LinearSolver solver(at, scale);
    const Step step = solver.solve(lambda);
    REQUIRE(step.factored);
    Dense stacked = Dense::Zero(750, 150);
    stacked.topRows(600) = J;
    stacked.bottomRows(150).diagonal().setConstant(std::sqrt(lambda));
    Eigen::VectorXd rhs = Eigen::VectorXd::Zero(750);
    rhs.head(600) = -r;
    const Eigen::VectorXd expected = decompositions::least_squares(stacked, rhs);
    const Eigen::Map<const Eigen::VectorXd> got(step.step.data(), 150);
    const double condition = std::min(1e10, 1 / std::sqrt(std::max(lambda, 1e-300)));
    CHECK((got - expected).norm() < 100 * kU * condition * expected.norm());
    CHECK(step.nu ==
          doctest::Approx(std::sqrt(got.dot(J.transpose() * (J * got)) + lambda * got.squaredNorm()))
              .epsilon(1e-5));
    const double larger = std::max(1.0, lambda + 1);
    CHECK(step.condition >= 0.1 * larger / std::max(lambda, 1e-20));
    CHECK(step.condition <= 1e3 * larger / std::max(lambda, 1e-20));
  }
}

TEST_CASE("a wide step within bounds by QR is that by Cholesky") {
  const Table t = Table::random(500, 140, 31);
  const Vector scale(140, 1.0), lower(140, -0.02), upper_bound(140, 0.03);
  const Linearization by_qr = linearized(t, true), by_normal = linearized(t);
  LinearSolver a(by_qr, scale), b(by_normal, scale);
  a.keep_within({lower, upper_bound});
  b.keep_within({lower, upper_bound});
  const Step first = a.solve(1e-3), second = b.solve(1e-3);
  REQUIRE(first.factored);
  REQUIRE(second.factored);
  CHECK(std::count(first.held.begin(), first.held.end(), Held::none) < 140);
  CHECK(first.held == second.held);
  double worst = 0;
  for (std::size_t j = 0; j < 140; ++j) worst = std::max(worst, std::fabs(first.step[j] - second.step[j]));
  CHECK(worst < 1e-12);
}
