// Tests least_squares on classic problems: recorded, on dual numbers, with the user's Jacobian, by
// differences. Source: Moré, Garbow, Hillstrom: Testing unconstrained optimization software (ACM TOMS 7,
// 1981).
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

// {.jacobian = jac} leaves the base's options at their defaults on purpose.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace nlsq;

namespace {

const auto rosenbrock = [](const auto& p) {
  using T = std::decay_t<decltype(p[0])>;
  return std::vector<T>{10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]};
};
void rosenbrock_jacobian(std::span<const double> p, std::span<double> J) {
  J[0] = -20 * p[0], J[1] = 10;
  J[2] = -1, J[3] = 0;
}

const auto freudenstein_roth = [](const auto& p) {
  using T = std::decay_t<decltype(p[0])>;
  return std::vector<T>{-13.0 + p[0] + ((5.0 - p[1]) * p[1] - 2.0) * p[1],
                        -29.0 + p[0] + ((p[1] + 1.0) * p[1] - 14.0) * p[1]};
};

const auto powell_singular = [](const auto& p) {
  using std::sqrt;
  using T = std::decay_t<decltype(p[0])>;
  const T middle = p[1] - 2.0 * p[2], cross = p[0] - p[3];
  return std::vector<T>{p[0] + 10.0 * p[1], std::sqrt(5.0) * (p[2] - p[3]), middle * middle,
                        std::sqrt(10.0) * cross * cross};
};

// Bard's problem has three parameters, fifteen figures, and a residual that is not zero. The minimum is
// 8.21487e-3.
const auto bard = [](const auto& p) {
  using T = std::decay_t<decltype(p[0])>;
  static const double y[] = {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39,
                             0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39};
  std::vector<T> r;
  for (int i = 1; i <= 15; ++i) {
    const double u = i, v = 16 - i, w = std::min(u, v);
    r.push_back(y[i - 1] - (p[0] + u / (v * p[1] + w * p[2])));
  }
  return r;
};

// Solves the same function in four ways. `in_double` takes only doubles.
template <class F>
std::vector<LeastSquaresResult> all_ways(F f, const std::vector<double>& x0) {
  const auto in_double = [f](const std::vector<double>& p) { return f(p); };
  std::vector<LeastSquaresResult> results{least_squares(f, x0), least_squares(untraced(f), x0),
                                          least_squares(in_double, x0)};
  CHECK(results[0].summary.evaluator == "graph");
  CHECK(results[1].summary.evaluator == "dual");
  CHECK(results[2].summary.evaluator == "finite differences");
  return results;
}

}  // namespace

TEST_CASE("Rosenbrock's valley ends at (1, 1) whichever way derivatives come") {
  auto results = all_ways(rosenbrock, {-1.2, 1.0});
  results.push_back(least_squares(rosenbrock, {-1.2, 1.0}, {.jacobian = rosenbrock_jacobian}));
  CHECK(results.back().summary.evaluator == "derivatives");
  for (const LeastSquaresResult& r : results) {
    CAPTURE(r.summary.evaluator);
    CHECK(r.success());
    CHECK(r.x[0] == doctest::Approx(1).epsilon(1e-10));
    CHECK(r.x[1] == doctest::Approx(1).epsilon(1e-10));
    CHECK(r.cost < 1e-18);
    CHECK(r.residuals == rosenbrock(r.x));
    CHECK(r.summary.initial_cost == doctest::Approx(12.1));
    CHECK(std::isnan(r.standard_errors[0]));  // there are as many residuals as parameters
  }
}

TEST_CASE("Bard's minimum is the published one, with the same standard errors every way") {
  const auto results = all_ways(bard, {1.0, 1.0, 1.0});
  for (const LeastSquaresResult& r : results) {
    CAPTURE(r.summary.evaluator);
    CHECK(r.summary.verdict == Verdict::converged);
    CHECK(2 * r.cost == doctest::Approx(8.21487e-3).epsilon(1e-5));
    CHECK(r.x[0] == doctest::Approx(0.08241).epsilon(1e-3));
    CHECK(r.residuals.size() == 15);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(r.x[j] == doctest::Approx(results[0].x[j]).epsilon(1e-8));
      CHECK(r.standard_errors[j] == doctest::Approx(results[0].standard_errors[j]).epsilon(1e-6));
      CHECK(r.covariance(j, j) == doctest::Approx(std::pow(r.standard_errors[j], 2)));
    }
  }
}

TEST_CASE("Freudenstein and Roth: the local minimum from the standard start, the zero from near it") {
  for (const LeastSquaresResult& r : all_ways(freudenstein_roth, {0.5, -2.0})) {
    CAPTURE(r.summary.evaluator);
    CHECK(2 * r.cost == doctest::Approx(48.98425).epsilon(1e-6));
    CHECK(r.x[1] == doctest::Approx(-0.8968).epsilon(1e-3));
  }
  for (const LeastSquaresResult& r : all_ways(freudenstein_roth, {6.0, 3.0})) {
    CHECK(r.success());
    CHECK(r.x[0] == doctest::Approx(5).epsilon(1e-9));
    CHECK(r.x[1] == doctest::Approx(4).epsilon(1e-9));
  }
}

TEST_CASE("Powell's singular function: cost falls to nothing though the Jacobian loses rank at the end") {
  for (const LeastSquaresResult& r : all_ways(powell_singular, {3.0, -1.0, 0.0, 1.0})) {
    CAPTURE(r.summary.evaluator);
    CAPTURE(r.summary.message);
    CHECK(r.success());
    CHECK(r.cost < 1e-20);
    for (const double v : r.x) CHECK(std::fabs(v) < 1e-3);
  }
}

TEST_CASE("residuals may come as an array, and parameters as a span, a vector or a pointer") {
  const auto as_array = [](const auto& p) {
    using T = std::decay_t<decltype(p[0])>;
    return std::array<T, 2>{10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]};
  };
  CHECK(least_squares(as_array, {-1.2, 1.0}).x[0] == doctest::Approx(1));
  const auto by_span = [](std::span<const double> p) {
    return std::vector<double>{10 * (p[1] - p[0] * p[0]), 1 - p[0]};
  };
  CHECK(least_squares(by_span, {-1.2, 1.0}).x[1] == doctest::Approx(1).epsilon(1e-8));
  const auto by_pointer = [](const double* p) {
    return std::vector<double>{10 * (p[1] - p[0] * p[0]), 1 - p[0]};
  };
  CHECK(least_squares(by_pointer, {-1.2, 1.0}).x[1] == doctest::Approx(1).epsilon(1e-8));
}

TEST_CASE("many residuals of few kinds are rolled up and fitted in every precision") {
  std::vector<double> t, y;
  for (int i = 0; i < 20000; ++i) {
    t.push_back(1e-4 * i);
    y.push_back(3 * std::exp(-2 * t.back()) + 0.01 * std::sin(999.0 * i));
  }
  const auto f = [&](const auto& p) {
    using std::exp;
    using T = std::decay_t<decltype(p[0])>;
    std::vector<T> r;
    for (std::size_t i = 0; i < t.size(); ++i) r.push_back(p[0] * exp(-p[1] * t[i]) - y[i]);
    r.push_back(0.1 * (p[0] - 3.0));  // this is a prior, which is an expression of its own
    return r;
  };
  LeastSquaresOptions options;
  options.precision = PrecisionPolicy::parse("f64");
  const LeastSquaresResult exact = least_squares(f, {1.0, 1.0}, options);
  options.precision = PrecisionPolicy::parse("f32");
  const LeastSquaresResult low = least_squares(f, {1.0, 1.0}, options);
  CHECK(exact.success());
  CHECK(low.success());
  CHECK(exact.summary.evaluator == "graph");
  CHECK(exact.summary.precision.counters.rows_f32 == 0);
  CHECK(low.summary.precision.counters.rows_f32 > 0);
  for (std::size_t j = 0; j < 2; ++j) CHECK(low.x[j] == doctest::Approx(exact.x[j]).epsilon(1e-10));
  CHECK(exact.x[1] == doctest::Approx(2).epsilon(1e-3));
}

TEST_CASE("a Jacobian that is wrong is not certified as a minimum") {
  const auto wrong = [](std::span<const double> p, std::span<double> J) {
    rosenbrock_jacobian(p, J);
    J[0] = -J[0];
  };
  const LeastSquaresResult r = least_squares(rosenbrock, {-1.2, 1.0}, {.jacobian = wrong});
  CHECK(r.cost <= 12.1 * (1 + 1e-12));
  CHECK_FALSE(r.success());
}

TEST_CASE("bad input is refused by name, and exceptions pass through") {
  CHECK_THROWS_AS(least_squares(rosenbrock, {}), ValidationError);
  CHECK_THROWS_AS(least_squares(rosenbrock, {1.0, NAN}), ValidationError);
  CHECK_THROWS_AS(least_squares([](const auto& p) { return std::vector{p[0] + p[1]}; }, {1.0, 1.0}),
                  DataError);
  LeastSquaresOptions options;
  options.gtol = 2;
  CHECK_THROWS_AS(least_squares(rosenbrock, {1.0, 1.0}, options), ValidationError);
  const auto throwing = [](const std::vector<double>& p) -> std::vector<double> {
    if (p[0] > 0) throw std::out_of_range("by the user");
    return {p[0] - 1, 2 * p[0] - 2};
  };
  CHECK_THROWS_AS(least_squares(throwing, {-5.0}), std::out_of_range);
}

TEST_CASE("a function not finite at the start is a failure that leaves x0") {
  const auto f = [](const auto& p) {
    using std::log;
    using T = std::decay_t<decltype(p[0])>;
    return std::vector<T>{p[0] - 1.0, log(p[0])};
  };
  const LeastSquaresResult r = least_squares(f, {-1.0});
  CHECK(r.summary.termination == Termination::failure);
  CHECK(r.x == std::vector<double>{-1.0});
  CHECK_FALSE(r.success());
}

TEST_CASE("residuals that end far below the smallest square are zero beside their terms, and certified") {
  // In the helical valley of Fletcher and Powell, the last step leaves 1e-242.
  const auto valley = [](const auto& p) {
    using std::atan, std::sqrt;
    auto theta = atan(p[1] / p[0]) / 6.283185307179586;
    if (p[0] < 0.0) theta = theta + 0.5;
    return std::vector{10.0 * (p[2] - 10.0 * theta), 10.0 * (sqrt(p[0] * p[0] + p[1] * p[1]) - 1.0),
                       p[2] + 0.0};
  };
  for (const double scale : {1.0, 10.0, 100.0}) {
    const nlsq::LeastSquaresResult result = nlsq::least_squares(valley, {-scale, 0, 0});
    CAPTURE(result.summary.message);
    CHECK(result.success());
    CHECK(result.cost <= 1e-28);
  }
}

TEST_CASE("residuals that subtract data with a large offset are certified, as the curve is") {
  for (const double offset : {1e5, 1e6, 1e7}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      CAPTURE(offset);
      CAPTURE(seed);
      std::mt19937 random(seed);
      std::normal_distribution<double> normal;
      std::vector<double> x, y;
      for (int i = 0; i < 40; ++i) {
        x.push_back(4.0 * i / 39);
        y.push_back(2.5 * std::exp(-1.3 * x.back()) + 0.5 + offset + 0.1 * normal(random));
      }
      const auto residuals = [&](const auto& p) {
        using std::exp;
        std::vector<std::decay_t<decltype(p[0])>> r;
        for (std::size_t i = 0; i < x.size(); ++i)
          r.push_back(p[0] * exp(-p[1] * x[i]) + p[2] + offset - y[i]);
        return r;
      };
      const LeastSquaresResult fit = least_squares(residuals, {1, 1, 0});
      CAPTURE(fit.summary.message);
      CHECK(fit.success());
      CHECK(fit.summary.accepted + fit.summary.rejected < 15);  // steps that rounding decides lead nowhere
    }
  }
}

TEST_CASE(
    "two columns that are the same: steps along what the data do not determine are not taken for progress") {
  constexpr std::size_t n = 40, m = 700;
  std::mt19937 random(40701);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> A(m, std::vector<double>(n));
  for (auto& row : A) {
    for (double& a : row) a = normal(random);
    row[5] = row[6];
  }
  std::vector<double> y(m);
  for (double& v : y) v = normal(random);
  // These residuals are nearly linear.
  const auto residuals = [&](const auto& p) {
    using std::sin;
    using T = std::decay_t<decltype(p[0])>;
    std::vector<T> r;
    for (std::size_t i = 0; i < m; ++i) {
      T sum = -y[i];
      for (std::size_t j = 0; j < n; ++j) sum = sum + p[j] * A[i][j];
      r.push_back(sum + 0.01 * sin(p[0] * A[i][0]));
    }
    return r;
  };
  LeastSquaresOptions options;
  options.threads = 1;
  options.precision = PrecisionPolicy::parse("f64");
  const LeastSquaresResult fit = least_squares(residuals, std::vector<double>(n, 0.1), options);
  const Summary& s = fit.summary;
  CHECK(s.certificate.passed);
  CHECK(s.certificate.rank == 39);
  CHECK(s.accepted + s.rejected < 100);  // the budget is 200
  CHECK(std::fabs(fit.x[5]) < 10);       // not 1e13
  CHECK(std::fabs(fit.x[6]) < 10);
  // The data determine the sum of both. The cost is that of the fit without one of them.
  std::vector<double> fewer(fit.x.begin(), fit.x.end());
  fewer[5] += fewer[6];
  fewer[6] = 0;
  double cost = 0;
  for (const double r : residuals(fewer)) cost += 0.5 * r * r;
  CHECK(s.final_cost == doctest::Approx(cost).epsilon(1e-13));
}
