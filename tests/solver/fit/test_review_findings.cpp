// Tests points that once were mistaken for minima, and states that once misled the loop.
#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include "rows/graph_rows.hpp"
#include "rows/residual_sources.hpp"
#include "rows/sample_rows.hpp"

#include "dense/dense_evaluator.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

using namespace nlsq;

namespace {

struct Growth {
  std::vector<double> x, y;
  Growth() {
    for (int i = 0; i < 50; ++i) {
      x.push_back(i / 49.0);
      y.push_back(std::exp(1.3 * x.back()) + 0.05 * std::sin(37 * i));
    }
  }
};

constexpr double kBest = 1.2979833;  // the best p of exp(p x) on those data
const auto growth = [](const auto& x, const auto& p) {
  using std::exp;
  return exp(p[0] * x);
};

}  // namespace

TEST_CASE("a start whose cost is astronomic does not make every later cost look like zero") {
  const Growth data;
  for (const double start : {100.0, 200.0, 300.0}) {
    const FitResult fit = curve_fit(growth, data.x, data.y, {start});
    CHECK(fit.summary.verdict == Verdict::converged);
    CHECK(fit.parameters[0] == doctest::Approx(kBest).epsilon(1e-6));
  }
}

TEST_CASE("residuals of a vector function far from the optimum do not set its rounding errors") {
  const Growth data;
  const auto generic = [&](const auto& p) {
    using std::exp;
    std::vector<std::decay_t<decltype(p[0])>> r;
    for (std::size_t i = 0; i < data.x.size(); ++i) r.push_back(exp(p[0] * data.x[i]) - data.y[i]);
    return r;
  };
  const auto plain = [&](const std::vector<double>& p) { return generic(p); };
  for (const double start : {40.0, 200.0}) {
    for (const LeastSquaresResult& fit : {least_squares(generic, {start}), least_squares(plain, {start})}) {
      CHECK(fit.summary.verdict == Verdict::converged);
      CHECK(fit.x[0] == doctest::Approx(kBest).epsilon(1e-6));
      CHECK(fit.summary.certificate.gradient_bound < 1e-7);
    }
  }
}

TEST_CASE("a row of huge weight excuses no gradient that it says nothing of") {
  Growth data;
  data.y[0] = 1;  // exp(p * 0), exactly
  FitOptions options;
  for (const double precise : {1e-12, 1e-16, 1e-20, 1e-25}) {
    std::vector<double> sigma(data.x.size(), 1.0);
    sigma[0] = precise;
    options.sigma = sigma;
    for (const bool absolute : {false, true}) {
      options.absolute_sigma = absolute;
      const FitResult fit = curve_fit(growth, data.x, data.y, {0.1}, options);
      CHECK(fit.summary.verdict == Verdict::converged);
      CHECK(fit.parameters[0] == doctest::Approx(kBest).epsilon(1e-3));
    }
  }
}

TEST_CASE("nothing is certified where the squares of residuals or derivatives underflow") {
  const Growth data;
  const auto scaled = [](double s) {
    return [s](const auto& x, const auto& p) {
      using std::exp;
      return exp(p[0] * s * x);
    };
  };
  for (const double s : {1e-170, 1e-200, 1e-300}) {
    CHECK_FALSE(curve_fit(scaled(s), data.x, data.y, {0.1}).success());
    std::vector<double> tiny;
    for (const double y : data.y) tiny.push_back(y * s);
    CHECK_FALSE(curve_fit("a*exp(b*x)", data.x, tiny, {{"a", 3 * s}, {"b", 0.1}}).success());
  }
  CHECK(curve_fit(scaled(1e-140), data.x, data.y, {1e139}).success());
}

TEST_CASE("if no parameter changes the residual, nothing is fitted and nothing is certified") {
  const Growth data;
  CHECK_FALSE(curve_fit("a*b*x", data.x, data.y, {{"a", 0}, {"b", 0}}).success());
  CHECK_FALSE(curve_fit("max(a,0)*x", data.x, data.y, {{"a", -1}}).success());
  CHECK_FALSE(curve_fit(growth, data.x, data.y, {-1e6}).success());
  const std::vector<double> zeros(50, 0.0);
  // No residual is left to fit, but a may be any negative number, and nothing of y is explained.
  CHECK_FALSE(curve_fit("max(a,0)*x", data.x, zeros, {{"a", -1}}).success());
}

TEST_CASE("a step to where derivatives are not finite is no step") {
  for (double low = -1.1; low < 1; low += 0.05) {
    LeastSquaresOptions options;
    options.jacobian = [low](std::span<const double> p, std::span<double> J) {
      const bool hole = p[0] > low && p[0] < low + 0.15;
      J[0] = hole ? std::numeric_limits<double>::quiet_NaN() : -20 * p[0];
      J[1] = 10, J[2] = -1, J[3] = 0;
    };
    const auto rosenbrock = [](const std::vector<double>& p) {
      return std::vector<double>{10 * (p[1] - p[0] * p[0]), 1 - p[0]};
    };
    const LeastSquaresResult fit = least_squares(rosenbrock, {-1.2, 1}, options);
    CHECK(std::isfinite(fit.summary.final_cost));
    CHECK(fit.summary.final_cost <= fit.summary.initial_cost);
    CHECK_FALSE((fit.x[0] > low && fit.x[0] < low + 0.15));
  }
}

TEST_CASE("a start that only f32 takes for finite is a failure of the start") {
  std::vector<double> x, y;
  for (int i = 0; i < 2000; ++i) {
    x.push_back(1 + i * 0.001);
    y.push_back(2 * x.back());
  }
  FitOptions options;
  options.precision = PrecisionPolicy::parse("f32");
  // `a` is 1 in f32, where the logarithm is that of 1e-12. In f64, it is the logarithm of a negative number.
  const NamedValues start{{"a", 1 - 1e-9}, {"b", 1}};
  const FitResult fit = curve_fit("b*x+1e-3*log(a*x-x+1e-12)", x, y, start, options);
  CHECK(fit.summary.termination == Termination::failure);
  CHECK_FALSE(fit.success());
  CHECK(fit.parameters == std::vector<double>{1, 1 - 1e-9});  // b and a are unchanged, although b is linear
}

TEST_CASE("Eigen's vectors are columns, with their strides; temporaries are not kept") {
  const Growth data;
  Eigen::Matrix<double, Eigen::Dynamic, 2, Eigen::RowMajor> table(50, 2);
  for (int i = 0; i < 50; ++i)
    table.row(i) << data.x[static_cast<std::size_t>(i)], data.y[static_cast<std::size_t>(i)];
  const Eigen::VectorXd x = table.col(0);
  const std::vector<double> expected = curve_fit(growth, data.x, data.y, {1.0}).parameters;
  CHECK(curve_fit(growth, x, table.col(1), {1.0}).parameters == expected);
  CHECK(
      curve_fit("exp(p*x)", table.col(0), Eigen::Map<const Eigen::VectorXd>(data.y.data(), 50)).parameters ==
      expected);
  static_assert(!std::is_convertible_v<Eigen::MatrixXd, Column>);
  static_assert(std::is_assignable_v<Column&, const std::vector<double>&>);
  static_assert(std::is_assignable_v<Column&, std::span<const double>>);
  static_assert(!std::is_assignable_v<Column&, std::vector<double>>);
}

TEST_CASE("a branch that first shows in a sample, and needs many registers, leaves the tiles as they are") {
  constexpr std::size_t kRows = 1 << 17;
  std::vector<double> x(kRows), y(kRows, 1.0);
  for (std::size_t i = 0; i < kRows; ++i) x[i] = static_cast<double>(i) / kRows;
  const auto rare = [](const auto& at, const auto& p) {
    using std::cos;
    using std::exp;
    using T = std::decay_t<decltype(p[0] * at)>;
    T value = p[0] * exp(-p[1] * at);
    if (at > 0.2 && at < 0.8) {
      std::vector<T> terms;
      for (int k = 1; k < 80; ++k) terms.push_back(exp(-p[1] * at / k));
      for (std::size_t k = 0; k < 79; ++k) value = value + 1e-3 * terms[k] * cos(terms[78 - k]);
    }
    return value;
  };
  const std::vector<double> start{1, 1};
  const auto source = std::make_shared<RecordedResidual>(make_model_function(rare), 2, false);
  REQUIRE(source->explore(std::vector<double>{0.0, 1.0}, start));
  GraphRows all(source, std::make_shared<MemoryRows>(std::vector<Column>{x, y}), start, {0, 1});
  const std::size_t tile_rows = all.tile_rows();
  SampleRows sample(all, 4096);
  const Linearization at = DenseEvaluator(sample).linearize(start, {Format::f64, Gram::f64});
  CHECK(at.finite);
  CHECK(all.tile_rows() == tile_rows);
  CHECK(all.programs().jacobian.tile_rows < static_cast<int>(tile_rows));  // what would have shrunk them
}

TEST_CASE("max_iterations limits the second attempt, too") {
  const Growth data;
  for (const int most : {0, 1, 2, 3, 30}) {
    FitOptions options;
    options.max_iterations = most;
    const FitResult fit = curve_fit("sqrt(abs(p))*x-q^2", data.x, data.y, {{"p", 4}, {"q", 1}}, options);
    CHECK(fit.summary.iterations.size() <= static_cast<std::size_t>(most));
  }
}

TEST_CASE("two parameters of one name, or two starting values for one, are an error") {
  const Growth data;
  const auto two = [](const auto& x, const auto& p) { return p[0] * x + p[1]; };
  FitOptions options;
  options.parameter_names = {"a", "a"};
  CHECK_THROWS_AS(curve_fit(two, data.x, data.y, {1.0, 2.0}, options), ValidationError);
  options.parameter_names = {"p1"};  // the second one is p1 by default
  CHECK_THROWS_AS(curve_fit(two, data.x, data.y, {1.0, 2.0}, options), ValidationError);
  CHECK_THROWS_AS(curve_fit("a*x+b", data.x, data.y, {{"a", 1}, {"a", 2}}), ValidationError);
}

TEST_CASE("one row of huge weight leaves costs comparable: steps are judged by them") {
  Growth data;
  data.y[0] = 1;  // exp(p * 0), exactly
  FitOptions options;
  std::vector<double> sigma(data.x.size(), 1.0);
  sigma[0] = 1e-20;
  options.sigma = sigma;
  const FitResult fit = curve_fit(growth, data.x, data.y, {4.0}, options);
  CHECK(fit.success());
  int judged = 0;
  for (std::size_t k = 0; k + 1 < fit.summary.iterations.size(); ++k) {
    CHECK(fit.summary.iterations[k + 1].cost <= fit.summary.iterations[k].cost * (1 + 1e-12));
    const double rho = fit.summary.iterations[k].rho;
    judged += std::isfinite(rho) && rho != 1 ? 1 : 0;
  }
  CHECK(judged >= 3);
}

TEST_CASE("a linear model far from the origin is solved from its start") {
  std::vector<double> x, y;
  for (int i = 0; i < 400; ++i) {
    x.push_back(1e7 + i * 0.01);
    y.push_back(3 + 2 * (x.back() - 1e7) + 0.5 * std::sin(5.1 * i));
  }
  const FitResult line = curve_fit("a+b*x", x, y, {{"a", 1}, {"b", 1}});
  CHECK(line.success());
  CHECK(line.summary.iterations.size() <= 6);
  CHECK(line.parameters[1] == doctest::Approx(2).epsilon(0.05));
}

TEST_CASE("a parameter that the f32 grid has no place for sends rows to f64 before steps are lost on it") {
  // The formula subtracts most of a time since 1970, so rows on the grid have no rounding errors.
  std::vector<double> x, y;
  for (int i = 0; i < 30000; ++i) {
    x.push_back(8.0 * i / 30000);
    y.push_back(2 * std::exp(-std::pow((x.back() - 4.3) / 1.1, 2)) + 0.5 + 0.01 * std::sin(1e4 * i * i));
  }
  const NamedValues start{{"h", 1}, {"c", 1.7e9 + 3.5}, {"w", 1.5}, {"d", 0}};
  const auto under = [&](const char* policy) {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    return curve_fit("h*exp(-((x-(c-1.7e9))/w)^2)+d", x, y, start, options);
  };
  const FitResult f32 = under("f32"), f64 = under("f64");
  CHECK(f32.success());
  CHECK(std::fabs(f32.parameters[1] - f64.parameters[1]) <= 1e-3 * f64.standard_errors[1]);
  CHECK(f32.summary.rejected == f64.summary.rejected);
  CHECK(f32.summary.counted_work <= 1.25 * f64.summary.counted_work);
  bool noted = false;
  for (const IterationSummary& it : f32.summary.iterations)
    noted = noted || it.event == Event::gradient_noise;
  CHECK(noted);
}

TEST_CASE("a parameter that no row sees, however large, makes no step look small") {
  // r is orthogonal to both columns except for 1e-11 of a square that b alone could remove, so it is far from
  // settled.
  std::vector<double> x, y;
  for (int i = 1; i <= 40; ++i) x.push_back(i / 20.0);
  double cubes = 0, squares = 0;
  for (const double t : x) cubes += t * t * t, squares += t * t;
  for (const double t : x) y.push_back(2 * t + 1e-11 * t * t + t * t - cubes / squares * t);
  FitOptions options;
  options.precision = PrecisionPolicy::parse("f64");
  options.solve_linear_start = false;
  options.max_iterations = 0;
  for (const double unseen : {1.0, 1e39}) {
    const FitResult fit =
        curve_fit("a*x+b*(x+1e-11*x^2)+0*c", x, y, {{"a", 1}, {"b", 1}, {"c", unseen}}, options);
    CHECK_FALSE(fit.success());
    CHECK(fit.summary.certificate.step > 1);
  }
}

TEST_CASE("with absolute sigma a small cosine alone is no minimum: the distance counts in the given sigma") {
  // Residuals are up to 1e12 sigma, so a gradient of 1e-10 as a cosine may be hundreds of standard errors.
  for (const char* formula : {"a*x^b", "a*exp(-(x/t)^b)"}) {
    const bool power = formula[2] == 'x';
    int certified = 0;
    for (int k = 0; k < 40; ++k) {
      std::vector<double> x, y;
      for (int i = 0; i < 3000; ++i) {
        x.push_back(0.05 + 1.65e-3 * i);
        y.push_back((power ? 1.5 * std::pow(x.back(), 0.4 + 0.05 * k)
                           : 2 * std::exp(-std::pow(x.back(), 0.6 + 0.02 * k))) +
                    0.3 * std::sin(1.7 * i * i + k));
      }
      FitOptions options;
      const std::vector<double> sigma(x.size(), std::pow(10, -7 - 0.15 * k));
      options.sigma = sigma;
      options.absolute_sigma = true;
      const NamedValues start =
          power ? NamedValues{{"a", 1}, {"b", 0.7}} : NamedValues{{"a", 1.5}, {"t", 1.3}, {"b", 0.8}};
      const FitResult fit = curve_fit(formula, x, y, start, options);
      CAPTURE(formula);
      CAPTURE(k);
      certified += fit.success() ? 1 : 0;
      if (fit.success()) CHECK(fit.summary.certificate.decrement_sigma <= 0.1);
      Matrix Y(1, y.size()), P0(1, start.size());
      std::ranges::copy(y, Y.data());
      BatchOptions of_batch;
      of_batch.sigma = sigma;
      of_batch.absolute_sigma = true;
      const PreparedModel model{std::string_view(formula)};
      for (std::size_t j = 0; j < start.size(); ++j) P0(0, j) = start[j].second;
      const BatchResult batch = curve_fit_batch(model, x, Y, P0, of_batch);
      if (is_success(batch.verdict[0])) CHECK(batch.decrement_sigma[0] <= 0.1);
    }
    CHECK(certified > 25);
  }
}
