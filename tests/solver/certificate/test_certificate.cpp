// Tests what is certified about a minimum: verdicts, rank and covariance, against linear regression by hand.
#include "certificate/certificate.hpp"
#include "dense/dense_evaluator.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "decompositions.hpp"
#include "tables.hpp"

using namespace nlsq;
using tables::Table;
using tables::TableRows;

namespace {

struct Line {
  std::vector<double> x, y, sigma;
};
// Returns y = 2 + 3x with noise of known, uneven standard deviations.
Line line(std::size_t m, unsigned seed) {
  Line d;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < m; ++i) {
    d.x.push_back(static_cast<double>(i) / 4 - 1);
    d.sigma.push_back(0.1 + 0.05 * static_cast<double>(i % 5));
    d.y.push_back(2 + 3 * d.x.back() + d.sigma.back() * normal(random));
  }
  return d;
}

// Weighted linear regression in closed form.
struct Regression {
  double a = 0, b = 0, rss = 0;
  Eigen::Matrix2d inverse;  // (XᵀWX)⁻¹
  Regression(const Line& d, bool weighted) {
    Eigen::Matrix2d A = Eigen::Matrix2d::Zero();
    Eigen::Vector2d c = Eigen::Vector2d::Zero();
    const auto weight = [&](std::size_t i) { return weighted ? 1 / (d.sigma[i] * d.sigma[i]) : 1.0; };
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const Eigen::Vector2d row(1, d.x[i]);
      A += weight(i) * row * row.transpose();
      c += weight(i) * d.y[i] * row;
    }
    inverse = decompositions::inverse(A);
    const Eigen::Vector2d p = inverse * c;
    a = p[0], b = p[1];
    for (std::size_t i = 0; i < d.x.size(); ++i) rss += weight(i) * std::pow(a + b * d.x[i] - d.y[i], 2);
  }
};

void check_covariance(const FitResult& fit, const Eigen::Matrix2d& expected) {
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(fit.standard_errors[i] == doctest::Approx(std::sqrt(expected(i, i))).epsilon(1e-12));
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(fit.covariance(i, j) == doctest::Approx(expected(i, j)).epsilon(1e-12));
  }
  CHECK(fit.correlation(0, 1) ==
        doctest::Approx(expected(0, 1) / std::sqrt(expected(0, 0) * expected(1, 1))).epsilon(1e-12));
  CHECK(fit.correlation(0, 0) == doctest::Approx(1));
}

std::string joined(const std::vector<std::string>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::string());
}

// Certifies a table at the point of its linear model. r does not depend on x, so x is the optimum iff Jᵀr =
// 0.
Certified certify_table(const Table& t, CertificateTests tests = {}) {
  TableRows rows(t, t.rounded(), 256);
  DenseEvaluator evaluator(rows);
  const Vector x(t.n, 1.0);
  Linearization at = evaluator.linearize(x, {Format::f64, Gram::f64});
  UndampedSolver scratch;
  Certified out;
  certify(evaluator, x, at, tests, scratch, out);
  return out;
}
// Makes the residuals orthogonal to the columns of J, twice, in long double.
void project(Table& t) {
  const auto m = static_cast<Eigen::Index>(t.m), n = static_cast<Eigen::Index>(t.n);
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  Long J(m, n), r(m, 1);
  for (Eigen::Index i = 0; i < m; ++i) {
    for (Eigen::Index j = 0; j < n; ++j)
      J(i, j) = t.columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
    r(i, 0) = t.columns[t.n][static_cast<std::size_t>(i)];
  }
  for (int k = 0; k < 2; ++k) r -= J * decompositions::least_squares(J, r);
  for (Eigen::Index i = 0; i < m; ++i)
    t.columns[t.n][static_cast<std::size_t>(i)] = static_cast<double>(r(i, 0));
}

}  // namespace

TEST_CASE("a linear fit is CONVERGED, with the covariance of the textbook") {
  const Line d = line(40, 1);
  const Regression exact(d, false);
  const FitResult fit = curve_fit("a+b*x", d.x, d.y);
  CHECK(fit.summary.verdict == Verdict::converged);
  CHECK(fit.summary.certificate.passed);
  CHECK(fit.summary.certificate.rank == 2);
  CHECK(fit.summary.certificate.confounded.empty());
  CHECK(fit.parameters[0] == doctest::Approx(exact.a).epsilon(1e-13));
  CHECK(fit.parameters[1] == doctest::Approx(exact.b).epsilon(1e-13));
  CHECK(fit.dof == 38);
  CHECK(fit.rss == doctest::Approx(exact.rss).epsilon(1e-12));
  check_covariance(fit, exact.inverse * exact.rss / 38);
}

TEST_CASE("relative sigma is scaled by the scatter, absolute sigma is taken at its word") {
  const Line d = line(25, 2);
  const Regression exact(d, true);
  FitOptions options;
  options.sigma = d.sigma;
  const FitResult relative = curve_fit("a+b*x", d.x, d.y, {}, options);
  CHECK(relative.rss == doctest::Approx(exact.rss).epsilon(1e-12));
  CHECK(relative.chi2_reduced == doctest::Approx(exact.rss / 23).epsilon(1e-12));
  check_covariance(relative, exact.inverse * exact.rss / 23);
  options.absolute_sigma = true;
  const FitResult absolute = curve_fit("a+b*x", d.x, d.y, {}, options);
  CHECK(absolute.success());
  CHECK(absolute.parameters[0] == doctest::Approx(exact.a).epsilon(1e-12));
  check_covariance(absolute, exact.inverse);
}

TEST_CASE("the distance to the optimum is in standard errors: one error off is one") {
  const Line d = line(40, 3);
  const Regression exact(d, false);
  FitOptions options;
  options.max_iterations = 0;
  options.solve_linear_start = false;
  const FitResult best = curve_fit("a+b*x", d.x, d.y);
  for (const double errors : {0.01, 1.0, 100.0}) {
    // Along b, with a at its conditional optimum, a unit in the metric of H is b's standard error.
    const double shift = errors * best.standard_errors[1];
    const double a = best.parameters[0] + best.covariance(0, 1) / best.covariance(1, 1) * shift;
    const FitResult off =
        curve_fit("a+b*x", d.x, d.y, {{"a", a}, {"b", best.parameters[1] + shift}}, options);
    CHECK(off.summary.termination == Termination::max_iterations);
    CHECK(off.summary.verdict == Verdict::budget);
    CHECK_FALSE(off.summary.certificate.passed);
    // sigma is estimated at the point itself.
    const double inflated = std::sqrt(off.rss / exact.rss);
    CHECK(off.summary.certificate.decrement_sigma * inflated == doctest::Approx(errors).epsilon(1e-6));
  }
}

TEST_CASE("data without noise are certified, by gradient bound or zero residual") {
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(0.1 * i);
    y.push_back(2 * std::exp(-0.7 * x.back()) + 1);
  }
  const FitResult fit = curve_fit("a*exp(-b*x)+c", x, y, {{"a", 1}, {"b", 1}, {"c", 0}});
  CHECK(fit.success());
  CHECK(fit.summary.verdict == Verdict::noise_floor);
  CHECK(fit.parameters[0] == doctest::Approx(2).epsilon(1e-11));
  CHECK(fit.parameters[1] == doctest::Approx(0.7).epsilon(1e-11));
  CHECK(joined(fit.warnings).find("noise floor") != std::string::npos);
}

TEST_CASE("as many rows as parameters: certified, without standard errors") {
  const std::vector<double> x{0, 1, 3}, y{3, 2, 1.5};
  const FitResult fit = curve_fit("a*exp(-b*x)+c", x, y, {{"a", 1}, {"b", 1}, {"c", 0}});
  CHECK(fit.success());
  CHECK(fit.rss < 1e-25);
  CHECK(fit.dof == 0);
  for (const double error : fit.standard_errors) CHECK(std::isnan(error));
  CHECK(std::isnan(fit.chi2_reduced));
  CHECK(joined(fit.warnings).find("standard errors are undefined") != std::string::npos);
}

TEST_CASE("confounded parameters are named, and have no finite standard error") {
  const Line d = line(40, 4);
  const FitResult fit = curve_fit("(a+b)*x+c", d.x, d.y, {{"a", 5}, {"b", 7}, {"c", 0}});
  CHECK(fit.summary.verdict == Verdict::rank_deficient);
  CHECK(fit.success());
  const Certificate& c = fit.summary.certificate;
  CHECK(c.passed);
  CHECK(c.rank == 2);
  CHECK(c.confounded == std::vector<int>{0, 1});
  CHECK(std::isinf(c.condition));
  CHECK(std::isnan(fit.standard_errors[0]));
  CHECK(std::isnan(fit.standard_errors[1]));
  CHECK(std::isnan(fit.covariance(0, 2)));
  // The parameters that the data determine are right.
  const Regression exact(d, false);
  CHECK(fit.parameters[0] + fit.parameters[1] == doctest::Approx(exact.b).epsilon(1e-10));
  CHECK(fit.parameters[2] == doctest::Approx(exact.a).epsilon(1e-10));
  CHECK(fit.standard_errors[2] ==
        doctest::Approx(std::sqrt(exact.inverse(0, 0) * exact.rss / 38)).epsilon(1e-8));
  const std::string warning = joined(fit.warnings);
  CHECK(warning.find("a, b") != std::string::npos);
  CHECK(warning.find("c") != std::string::npos);
}

TEST_CASE("a fixed partner makes the other one determined") {
  const Line d = line(40, 4);
  FitOptions options;
  options.fixed = {"b"};
  const FitResult fit = curve_fit("(a+b)*x+c", d.x, d.y, {{"b", 1}}, options);
  CHECK(fit.summary.verdict == Verdict::converged);
  CHECK(fit.parameters[1] == 1);
  CHECK(fit.standard_errors[1] == 0);
  CHECK(fit.parameters[0] == doctest::Approx(Regression(d, false).b - 1).epsilon(1e-10));
}

TEST_CASE(
    "a fit that loses parameters on its way, or begins where the data say nothing of them, is no success") {
  std::vector<double> x, times, y, constant(50, 3.1);
  for (int i = 0; i < 50; ++i) {
    x.push_back(0.2 * i);
    times.push_back(1.7e9 + 200 * i);
    y.push_back(2 * std::exp(-0.5 * x.back()) + 1 + 0.05 * std::sin(37.0 * i));
  }
  struct Case {
    const char* formula;
    const std::vector<double>&x, &y;
    NamedValues start;
  };
  const Case cases[] = {
      {"a*exp(-b*x)+c", times, y, {}},                                 // exp(-b*x) is 0 in every row
      {"a*exp(-b*x)+c", x, constant, {{"a", 1}, {"b", 1}, {"c", 0}}},  // the amplitude vanishes
      {"a*exp(-b*x)+c", x, constant, {{"a", 0}, {"b", 0.006}, {"c", 0}}},
      {"a*sin(w*x+p)+c", x, constant, {{"w", 0.9}}},
      {"h*exp(-((x-m)/s)^2)+c", x, constant, {{"m", 4}, {"s", 2}}},
      {"a*exp(-((x-m)/s)^2)+c", x, y, {{"m", 1e4}, {"s", 1}}},  // a peak where there are no rows
  };
  for (const Case& c : cases) {
    CAPTURE(c.formula);
    CAPTURE(&c - cases);
    for (const char* precision : {"auto", "f64", "f32"}) {
      FitOptions options;
      options.precision = PrecisionPolicy::parse(precision);
      const FitResult fit = curve_fit(c.formula, c.x, c.y, c.start, options);
      CHECK_FALSE(fit.success());
      CHECK_FALSE(fit.summary.certificate.passed);
      CHECK(fit.summary.termination == Termination::no_progress);
      CHECK(fit.summary.message.find("other starting values") != std::string::npos);
    }
  }
}

TEST_CASE(
    "residuals that are all zero have no scatter: standard errors are undefined, and the warning says why") {
  const std::vector<double> x{0, 1, 2, 3, 4}, y{1, 1, 1, 1, 1};
  const FitResult fit = curve_fit("a*x+b", x, y, {{"a", 1}, {"b", 0}});
  CHECK(fit.success());
  REQUIRE(fit.rss == 0);
  for (const double error : fit.standard_errors) CHECK(std::isnan(error));
  CHECK(joined(fit.warnings).find("every residual is zero") != std::string::npos);
  FitOptions options;
  options.absolute_sigma = true;
  for (const double error : curve_fit("a*x+b", x, y, {{"a", 1}, {"b", 0}}, options).standard_errors)
    CHECK(error > 0);
}

TEST_CASE("a dead parameter keeps its starting value and is named") {
  const Line d = line(40, 5);
  for (const char* formula : {"a+b*x+0*dead", "a+b*x+if(x>1e6,dead,0)"}) {
    CAPTURE(formula);
    const FitResult fit = curve_fit(formula, d.x, d.y, {{"dead", 7}});
    CHECK(fit.summary.verdict == Verdict::rank_deficient);
    CHECK(fit.summary.certificate.rank == 2);
    CHECK(fit.summary.certificate.confounded == std::vector<int>{2});
    CHECK(fit.parameters[2] == 7);
    CHECK(std::isnan(fit.standard_errors[2]));
    CHECK(fit.parameters[1] == doctest::Approx(Regression(d, false).b).epsilon(1e-10));
    CHECK(fit.standard_errors[1] > 0);
  }
}

TEST_CASE("κ₀ is the squared ratio of the singular values of J with unit columns") {
  for (const double mix : {1.0, 1e-2, 1e-4}) {
    CAPTURE(mix);
    Table t = Table::random(500, 3, 6);
    for (std::size_t i = 0; i < t.m; ++i) {
      t.columns[1][i] = t.columns[0][i] + mix * t.columns[1][i];
      t.columns[2][i] *= 1e9;  // scales do not change the condition
    }
    Eigen::MatrixXd J(500, 3);
    for (Eigen::Index j = 0; j < 3; ++j) {
      for (Eigen::Index i = 0; i < 500; ++i)
        J(i, j) = t.columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
      J.col(j).normalize();
    }
    const Eigen::VectorXd s = decompositions::svd(J).values;
    const Certified found = certify_table(t);
    CHECK(found.certificate.condition == doctest::Approx(std::pow(s[0] / s[2], 2)).epsilon(1e-5));
    CHECK(found.certificate.covariance_error >= 3 * 0x1p-53);
  }
}

TEST_CASE("QR is used where normal equations lose digits, and its covariance has these digits") {
  Table t = Table::random(400, 2, 8);
  for (std::size_t i = 0; i < t.m; ++i) t.columns[1][i] = t.columns[0][i] + 1e-6 * t.columns[1][i];
  const Certified found = certify_table(t);
  CHECK(found.certificate.qr);
  CHECK(found.certificate.rank == 2);
  CHECK(found.certificate.covariance_error < 1e-8);
  // This is the inverse of a symmetric 2 × 2 matrix in long double.
  const long double a = t.product(0, 0), b = t.product(0, 1), c = t.product(1, 1),
                    determinant = a * c - b * b;
  CHECK(found.covariance(0, 0) == doctest::Approx(static_cast<double>(c / determinant)).epsilon(1e-6));
  CHECK(found.covariance(1, 1) == doctest::Approx(static_cast<double>(a / determinant)).epsilon(1e-6));
  CHECK_FALSE(certify_table(Table::random(400, 2, 8)).certificate.qr);
}

TEST_CASE("a point is certified by the tests it passes and by no others") {
  Table t = Table::random(200, 3, 9);
  CHECK_FALSE(certify_table(t).certificate.passed);  // a random residual is not at an optimum
  CHECK(certify_table(t).certificate.verdict == Verdict::failed);
  project(t);
  const Certified optimal = certify_table(t);
  CHECK(optimal.certificate.passed);
  CHECK(optimal.first_order);
  CHECK(optimal.certificate.verdict == Verdict::converged);
  CHECK(optimal.certificate.governed_by == "decrement+xtol");
  // With every tolerance at zero, only the rounding bound of the gradient is left.
  const Certified strict = certify_table(
      t, {.tau = 0, .xtol = 0, .gtol = 0, .magnitude = 20, .initial_cost = 0, .unit_sigma = false});
  CHECK(strict.certificate.verdict == Verdict::noise_floor);
  CHECK(strict.certificate.governed_by == "gradient bound");
  CHECK(strict.certificate.gradient_norm <= strict.certificate.gradient_bound);
}

TEST_CASE("the certificate's step is the Gauss-Newton step") {
  const Table t = Table::random(100, 4, 10);
  const Certified found = certify_table(t);
  Eigen::MatrixXd J(100, 4);
  Eigen::VectorXd r(100);
  for (Eigen::Index i = 0; i < 100; ++i) {
    for (Eigen::Index j = 0; j < 4; ++j)
      J(i, j) = t.columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
    r[i] = t.columns[4][static_cast<std::size_t>(i)];
  }
  const Eigen::VectorXd expected = decompositions::least_squares(J, -r);
  for (std::size_t j = 0; j < 4; ++j)
    CHECK(found.step[j] == doctest::Approx(expected[static_cast<Eigen::Index>(j)]).epsilon(1e-10));
}

TEST_CASE("scatter has no value without degrees of freedom, and is one by the user's word") {
  CHECK(scatter(8, 6, 2, false) == doctest::Approx(2));
  CHECK(scatter(8, 2, 2, false) == 0);
  CHECK(scatter(8, 2, 2, true) == 1);
}

TEST_CASE("verdicts that may be used as a minimum are the first three") {
  for (const Verdict v : {Verdict::converged, Verdict::noise_floor, Verdict::rank_deficient})
    CHECK(is_success(v));
  for (const Verdict v : {Verdict::tolerance, Verdict::budget, Verdict::failed}) CHECK_FALSE(is_success(v));
  CHECK(std::string(name(Verdict::rank_deficient)) == "RANK_DEFICIENT");
}
