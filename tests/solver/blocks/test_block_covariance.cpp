// Covariances of chosen blocks: beside formulas, and said to be none where there are none.
#include <sliding_window.hpp>

#include <nlsq/covariance.hpp>
#include <nlsq/error.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Line {
  static constexpr int residuals = 1;
  double x, y, weight;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = weight * (a[0] + b[0] * x - y);
    return true;
  }
};

// (XᵀX)⁻¹ of a line through points, about their mean, in long double.
struct LineOracle {
  std::vector<long double> x, w;
  void add(double place, double weight) {
    x.push_back(place);
    w.push_back(static_cast<long double>(weight) * weight);
  }
  double at(int i, int j) const {
    long double all = 0, mean = 0, spread = 0;
    for (std::size_t k = 0; k < x.size(); ++k) all += w[k], mean += w[k] * (x[k] - x[0]);
    mean /= all;
    for (std::size_t k = 0; k < x.size(); ++k) spread += w[k] * (x[k] - x[0] - mean) * (x[k] - x[0] - mean);
    mean += x[0];
    return static_cast<double>(i != j   ? -mean / spread
                               : i == 0 ? 1 / all + mean * mean / spread
                                        : 1 / spread);
  }
};

bool is_nan(const Matrix& m) {
  bool all = true;
  for (std::size_t i = 0; i < m.rows(); ++i) {
    for (std::size_t j = 0; j < m.columns(); ++j) all = all && std::isnan(m(i, j));
  }
  return all;
}

double distance(const Matrix& a, const Matrix& b) {
  double largest = 0, size = 0;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < a.columns(); ++j) {
      largest = std::max(largest, std::fabs(a(i, j) - b(i, j)));
      size = std::max(size, std::fabs(b(i, j)));
    }
  }
  return largest / size;
}

}  // namespace

TEST_CASE("A line's covariance is (XᵀX)⁻¹, block by block, and its scatter is told") {
  double a[1] = {0}, b[1] = {0};
  Problem problem;
  LineOracle oracle;
  for (int i = 0; i < 20; ++i) {
    const double x = 0.3 * i, weight = 1 + 0.1 * i;
    problem.add_residual_block(Line{x, 1 + 2 * x + (i % 2 ? 0.1 : -0.1) / weight, weight}, nullptr, {a, b});
    oracle.add(x, weight);
  }
  const Summary summary = solve(problem);
  const BlockCovariance c = covariance(problem, {a, b});
  CHECK(c.determined);
  CHECK(c.rank == 2);
  CHECK(c.parameters == 2);
  CHECK(c.error < 1e-12);
  CHECK(c.block(a)(0, 0) == doctest::Approx(oracle.at(0, 0)).epsilon(1e-12));
  CHECK(c.block(a, b)(0, 0) == doctest::Approx(oracle.at(0, 1)).epsilon(1e-12));
  CHECK(c.block(b, a)(0, 0) == c.block(a, b)(0, 0));
  CHECK(c.joint()(1, 1) == doctest::Approx(oracle.at(1, 1)).epsilon(1e-12));
  CHECK(c.residual_variance == doctest::Approx(2 * summary.final_cost / 18));
  CHECK(c.message.find("all 2 directions") != std::string::npos);
}

TEST_CASE(
    "Columns that are nearly the same: J itself is factored where the normal equations have too few digits") {
  for (const double spread : {1e-2, 1e-4, 1e-6, 1e-7}) {
    CAPTURE(spread);
    double a[1] = {0}, b[1] = {0};
    Problem problem;
    LineOracle oracle;
    for (int i = 0; i < 20; ++i) {
      const double x = 1 + spread * i;
      problem.add_residual_block(Line{x, x, 1}, nullptr, {a, b});
      oracle.add(x, 1);
    }
    const BlockCovariance c = covariance(problem, {a, b});
    CHECK(c.determined);
    const double off = std::fabs(c.block(a)(0, 0) / oracle.at(0, 0) - 1);
    CHECK(off <= std::max(100 * c.error, 1e-13));
    CHECK(off < 1e-6);
  }
}

TEST_CASE("What the data do not determine has no covariance, unless the pseudo-inverse is asked for") {
  double a[1] = {1}, b[1] = {2}, c[1] = {3};
  Problem problem;  // only a + b, and c
  for (int i = 0; i < 5; ++i) {
    problem.add_residual_block([](const auto* p, const auto* q) { return p[0] + q[0] - 3.0; }, nullptr,
                               {a, b});
    problem.add_residual_block([](const auto* p) { return 2.0 * p[0]; }, nullptr, {c});
  }
  BlockCovariance none = covariance(problem, {a, b, c});
  CHECK_FALSE(none.determined);
  CHECK(none.rank == 2);
  CHECK(is_nan(none.joint()));
  CHECK(none.message.find("2 of 3") != std::string::npos);
  CovarianceOptions options;
  options.pseudo_inverse = true;
  const BlockCovariance pseudo = covariance(problem, {a, b, c}, options);
  CHECK_FALSE(pseudo.determined);
  CHECK(pseudo.rank == 2);
  // JᵀJ = 5 (1 1; 1 1) and 20: eigenvalue 10 along (1, 1)/√2.
  CHECK(pseudo.block(a)(0, 0) == doctest::Approx(0.05));
  CHECK(pseudo.block(a, b)(0, 0) == doctest::Approx(0.05));
  CHECK(pseudo.block(c)(0, 0) == doctest::Approx(0.05));
  problem.set_constant(b);
  const BlockCovariance held = covariance(problem, {a, b, c});
  CHECK(held.determined);
  CHECK(held.block(a)(0, 0) == doctest::Approx(0.2));
  CHECK(held.block(b)(0, 0) == 0);
  CHECK(held.block(a, b)(0, 0) == 0);
}

TEST_CASE("Losses weigh, or do not, as is asked") {
  double a[1] = {0}, b[1] = {0};
  Problem problem;
  LineOracle plain, weighed;
  const Loss loss = Loss::cauchy(0.5);
  for (int i = 0; i < 10; ++i) {
    const double y = i % 3;
    problem.add_residual_block(Line{1.0 * i, y, 1}, loss, {a, b});
    plain.add(i, 1);
    weighed.add(i, std::sqrt(loss(y * y).slope));
  }
  CovarianceOptions options;
  CHECK(covariance(problem, {a}, options).block(a)(0, 0) == doctest::Approx(weighed.at(0, 0)).epsilon(1e-10));
  options.apply_losses = false;
  CHECK(covariance(problem, {a}, options).block(a)(0, 0) == doctest::Approx(plain.at(0, 0)).epsilon(1e-10));
}

TEST_CASE("On manifolds: tangent numbers, and what they are in ambient ones") {
  double q[4] = {1, 0, 0, 0}, s[3] = {1, 2, 3};
  Problem problem;
  problem.add_parameter_block(q, quaternion_manifold());
  problem.add_parameter_block(s, subset_manifold(3, {1}));
  problem.add_residual_block(
      [](const auto* p) {
        return std::array{2.0 * p[1], 4.0 * p[2], 5.0 * p[3]};
      },
      nullptr, {q});
  problem.add_residual_block([](const auto* p) { return std::array{10.0 * p[0], 2.0 * p[2]}; }, nullptr, {s});
  const BlockCovariance c = covariance(problem, {s, q});
  CHECK(c.determined);
  const Matrix tangent = c.tangent_block(q, q), ambient = c.block(q);
  const double expected[3] = {1.0 / 4, 1.0 / 16, 1.0 / 25};  // exp(δ) has the vector part δ at the identity
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(tangent(i, i) == doctest::Approx(expected[i]));
    CHECK(ambient(i + 1, i + 1) == doctest::Approx(expected[i]));
    CHECK(ambient(0, i) == 0);
  }
  CHECK(c.tangent_block(s, s).rows() == 2);
  CHECK(c.block(s)(0, 0) == doctest::Approx(0.01));
  CHECK(c.block(s)(1, 1) == 0);
  CHECK(c.block(s)(2, 2) == doctest::Approx(0.25));
  CHECK(c.block(q, s).rows() == 4);
  CHECK(c.block(q, s).columns() == 3);
}

TEST_CASE("What is wrong is refused; what is not finite has no covariance") {
  double a[1] = {0}, b[1] = {0}, apart[1] = {0};
  Problem problem;
  problem.add_residual_block(Line{1, 2, 1}, nullptr, {a, b});
  problem.add_residual_block(Line{2, 2, 1}, nullptr, {a, b});
  problem.add_parameter_block(apart);
  double stranger = 0;
  CHECK_THROWS_AS(covariance(problem, {&stranger}), ValidationError);
  const BlockCovariance c = covariance(problem, {a, apart});
  CHECK_THROWS_AS(c.block(b), ValidationError);
  CHECK(c.determined);
  CHECK(is_nan(c.block(apart)));
  CHECK(is_nan(c.block(a, apart)));
  CHECK(c.block(a)(0, 0) == doctest::Approx(5));
  CHECK(std::isnan(c.residual_variance));
  a[0] = std::numeric_limits<double>::infinity();
  const BlockCovariance none = covariance(problem, {a});
  CHECK_FALSE(none.determined);
  CHECK(is_nan(none.block(a)));
  CHECK(none.message.find("not finite") != std::string::npos);
}

namespace {

struct Kept {
  Problem problem;
  std::vector<double*> poses, points;
  void add_pose(double* pose) { problem.add_parameter_block(pose, 6), poses.push_back(pose); }
  void add_point(double* point) { problem.add_parameter_block(point, 3), points.push_back(point); }
  void add(const sliding_window::Sight& sight, double* pose, double* point) {
    problem.add_residual_block(sight, nullptr, {pose, point});
  }
  void add(const sliding_window::Motion& motion, double* a, double* b) {
    problem.add_residual_block(motion, nullptr, {a, b});
  }
  void remove(double* block) { problem.remove_parameter_block(block); }
  void hold(double* pose) { problem.set_constant(pose); }
  double solve() {
    // Poses and points, eliminated and not: the same by the elimination and by J itself, on one thread and on
    // three.
    nlsq::solve(problem, {});
    CovarianceOptions one, three;
    one.threads = 1;
    three.threads = 3;
    const std::vector<const double*> chosen{poses.back(), points.front(), poses[4], points.back()};
    const BlockCovariance c = covariance(problem, chosen, one);
    CHECK(c.determined);
    CHECK(c.error < 1e-8);
    CHECK(covariance(problem, chosen, three).joint() == c.joint());
    // A pose beside what a small change of a measurement of it does: C is its own inverse's inverse.
    const Matrix all = covariance(problem, {poses.begin() + 1, poses.end()}, one).joint();
    const Matrix last = c.block(poses.back());
    Matrix part(6, 6);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) part(i, j) = all(all.rows() - 6 + i, all.rows() - 6 + j);
    }
    CHECK(distance(part, last) < 1e-8);
    for (std::size_t i = 0; i < 6; ++i) CHECK(last(i, i) > 0);
    return 0;
  }
};

}  // namespace

TEST_CASE("In a window, blocks eliminated and not, on any number of threads") {
  Kept kept;
  sliding_window::slide(sliding_window::drive(sliding_window::kWindow, 5), kept);
}

namespace {

// Two columns that differ by 1e-10 of their size, as a template and for doubles alone.
struct NearTwins {
  static constexpr int residuals = 1;
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] * std::exp(-x) + p[1] * (std::exp(-x) * (1 + 1e-10 * x * x)) - y;
    return true;
  }
};
struct NearTwinsInDouble {
  static constexpr int residuals = 1;
  double x, y;
  bool operator()(const double* p, double* r) const { return NearTwins{x, y}(p, r); }
};

template <class F>
BlockCovariance covariance_of_twins(double* p) {
  Problem problem;
  problem.add_parameter_block(p, 2);
  for (int i = 0; i < 20; ++i) problem.add_residual_block(F{0.1 * i, std::sin(7.0 * i)}, nullptr, {p});
  return covariance(problem, {p});
}

}  // namespace

TEST_CASE("derivatives by differences determine no direction that their own errors would hide") {
  double p[] = {1, 2};
  const BlockCovariance exact = covariance_of_twins<NearTwins>(p);
  CHECK(exact.determined);
  CHECK(exact.error < 1e-3);
  const BlockCovariance differences = covariance_of_twins<NearTwinsInDouble>(p);
  CHECK_FALSE(differences.determined);
  CHECK(differences.rank == 1);
  CHECK(std::isnan(differences.block(p)(0, 0)));
  CHECK(differences.message.find("finite differences") != std::string::npos);
}
