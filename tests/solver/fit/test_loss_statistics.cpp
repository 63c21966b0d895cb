// Tests robust losses: standard errors and statistics, batches, poor starts, refusals.
#include "dense/row_statistics.hpp"

#include "messages.hpp"
#include "outliers.hpp"

#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;
using namespace outliers;

TEST_CASE("Standard errors follow Huber's formula, and statistics their definitions") {
  const Data d = contaminated(200, 11);
  for (const Loss& loss : kLosses) {
    CAPTURE(std::string(loss.name()));
    FitOptions o;
    o.loss = loss;
    const FitResult fit = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"b", 1}}, o);
    const auto& p = fit.parameters;
    double psi2 = 0, slope = 0, slope2 = 0, rss = 0, cost = 0, H[3][3] = {};
    std::size_t beyond = 0;
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const double e = std::exp(-p[1] * d.x[i]), r = p[0] * e + p[2] - d.y[i], h = 1e-6;
      const auto psi = [&](double v) { return loss(v * v).slope * v; };
      const double s = (psi(r + h) - psi(r - h)) / (2 * h), J[3] = {e, -p[0] * d.x[i] * e, 1};
      psi2 += psi(r) * psi(r), slope += s, slope2 += s * s, rss += r * r, cost += 0.5 * loss(r * r).rho;
      beyond += std::fabs(r) > loss.scale() ? 1 : 0;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) H[a][b] += J[a] * J[b];
      }
    }
    const double m = 200, mean = slope / m, K = 1 + 3 / m * (slope2 / m - mean * mean) / (mean * mean);
    const double factor = K * K * psi2 / (m - 3) / (mean * mean);
    // This is (H⁻¹)₁₁ by cofactors.
    const double minor = H[0][0] * H[2][2] - H[0][2] * H[2][0];
    const double det = H[0][0] * (H[1][1] * H[2][2] - H[1][2] * H[2][1]) -
                       H[0][1] * (H[1][0] * H[2][2] - H[1][2] * H[2][0]) +
                       H[0][2] * (H[1][0] * H[2][1] - H[1][1] * H[2][0]);
    CHECK(fit.covariance(1, 1) == doctest::Approx(factor * minor / det).epsilon(1e-4));
    CHECK(fit.rss == doctest::Approx(rss).epsilon(1e-9));
    CHECK(fit.beyond == beyond);
    CHECK(fit.summary.final_cost == doctest::Approx(cost).epsilon(1e-9));
    CHECK(fit.chi2_reduced == doctest::Approx(rss / 197).epsilon(1e-9));
    CHECK(fit.r_squared > 0.5);
    CHECK(std::isnan(fit.aic));
    CHECK(fit.loss == loss);
  }
}

TEST_CASE("A loss of large scale is least squares, with sigma absolute or not") {
  const Data d = contaminated(150, 12, 0.05, 0);
  const std::vector<double> sigma(d.x.size(), 0.04);
  for (const bool absolute : {false, true}) {
    FitOptions o;
    o.sigma = sigma;
    o.absolute_sigma = absolute;
    const FitResult plain = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    for (const char* name : {"soft_l1", "huber", "cauchy", "arctan", "tukey"}) {
      o.loss = Loss::named(name, 1e5);
      check_close(curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o), plain, 1e-7, 1e-5);
    }
  }
  CHECK(normal_variance(Loss::huber(1.345)) == doctest::Approx(1 / 0.95).epsilon(2e-4));
  CHECK(normal_variance(Loss::tukey(4.685)) == doctest::Approx(1 / 0.95).epsilon(2e-4));
  CHECK(normal_variance(Loss::cauchy(2.385)) == doctest::Approx(1 / 0.95).epsilon(1e-3));
  CHECK(normal_variance(Loss::huber(1e-3)) == doctest::Approx(M_PI / 2).epsilon(1e-3));  // the median's
}

TEST_CASE("95 % intervals under a loss cover the truth in 93 to 97 % of simulated fits") {
  struct Case {
    Loss loss;
    double share;
  };
  const Case cases[] = {{Loss::huber(0.067), 0},
                        {Loss::huber(0.067), 0.1},
                        {Loss::soft_l1(0.05), 0.1},
                        {Loss::cauchy(0.12), 0.1},
                        {Loss::tukey(0.235), 0.1}};
  for (const Case& c : cases) {
    CAPTURE(std::string(c.loss.name()));
    CAPTURE(c.share);
    const std::size_t rows = 100, fits = 1500;
    Matrix Y(fits, rows), P0(1, 3);
    std::vector<double> x;
    for (std::size_t f = 0; f < fits; ++f) {
      const Data d = contaminated(rows, static_cast<unsigned>(1000 + f), 0.05, c.share);
      if (f == 0) x = d.x;
      for (std::size_t i = 0; i < rows; ++i) Y(f, i) = d.y[i];
    }
    P0(0, 0) = 3, P0(0, 1) = 0.8, P0(0, 2) = 0.5;
    BatchOptions o;
    o.loss = c.loss;
    const BatchResult many = curve_fit_batch("a*exp(-b*x)+c", x, Y, P0, o);
    CHECK(many.certified == fits);
    const double truth[3] = {3, 0.8, 0.5}, t = 1.985;  // for 97 degrees of freedom
    for (std::size_t j = 0; j < 3; ++j) {
      std::size_t covered = 0;
      for (std::size_t f = 0; f < fits; ++f)
        covered += std::fabs(many.parameters(f, j) - truth[j]) <= t * many.standard_errors(f, j) ? 1 : 0;
      const double share = static_cast<double>(covered) / static_cast<double>(fits);
      MESSAGE(std::string(c.loss.name())
              << ", " << 100 * c.share << " % outliers, parameter " << j << ": " << 100 * share << " %");
      CHECK(share >= 0.93);
      CHECK(share <= 0.97);
    }
  }
}

TEST_CASE("A batch under a loss is the single fits") {
  const std::size_t rows = 60, fits = 40;
  Matrix Y(fits, rows), P0(1, 3);
  std::vector<double> x;
  for (std::size_t f = 0; f < fits; ++f) {
    const Data d = contaminated(rows, static_cast<unsigned>(50 + f));
    x = d.x;
    for (std::size_t i = 0; i < rows; ++i) Y(f, i) = d.y[i];
  }
  P0(0, 0) = 2, P0(0, 1) = 1;
  BatchOptions o;
  o.loss = Loss::huber(0.07);
  Y(7, 3) = std::numeric_limits<double>::quiet_NaN();
  const BatchResult many = curve_fit_batch("a*exp(-b*x)+c", x, Y, P0, o);
  CHECK(many.in_lanes == 0);
  CHECK(many.certified == fits - 1);
  CHECK(many.verdict[7] == Verdict::failed);
  FitOptions single;
  single.loss = o.loss;
  single.threads = 1;
  for (const std::size_t f : {std::size_t{0}, std::size_t{23}, std::size_t{39}}) {
    const std::vector<double> y(&Y(f, 0), &Y(f, 0) + rows);
    const FitResult fit =
        curve_fit(PreparedModel("a*exp(-b*x)+c"), x, y, std::vector<double>{2, 1, 0}, single);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(many.parameters(f, j) == fit.parameters[j]);
      CHECK(many.standard_errors(f, j) == fit.standard_errors[j]);
    }
    CHECK(many.cost[f] == fit.summary.final_cost);
  }
}

TEST_CASE("Far starts of linear parameters are no matter: they begin at their least-squares values") {
  const Data d = contaminated(100, 21);
  for (const Loss& loss : kLosses) {
    CAPTURE(std::string(loss.name()));
    FitOptions o;
    o.loss = loss;
    const FitResult near = curve_fit(decay, d.x, d.y, {3.0, 0.8, 0.5}, o);
    const FitResult far = curve_fit(decay, d.x, d.y, {1e4, 1.0, -1e4}, o);
    check_close(far, near, 1e-8);
    CHECK(far.summary.initial_cost > far.summary.final_cost);
  }
}

TEST_CASE("Losses that leave far residuals out find their way from poor starts by a convex one") {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto peak = [](const auto& x, const auto& p) {
    using std::exp;
    const auto u = (x - p[1]) / p[2];
    return p[0] * exp(-u * u) + p[3];
  };
  for (const Loss& loss : {Loss::tukey(0.4685), Loss::arctan(0.3)}) {
    int lowest = 0, as_given = 0;
    for (int t = 0; t < 60; ++t) {
      const std::vector<double> truth = {3, 2.5, 0.5, 0.5};
      std::vector<double> x, y, p0 = truth;
      for (int i = 0; i < 80; ++i) {
        x.push_back(5.0 * i / 80);
        y.push_back(peak(x.back(), truth) + 0.1 * normal(random));
        if (uniform(random) < 0.3)
          y.back() += 0.1 * (uniform(random) < 0.7 ? 1 : -1) * (5 + 25 * uniform(random));
      }
      for (double& v : p0) v *= std::exp(0.5 * normal(random));
      p0[1] = truth[1] + 0.5 * normal(random);
      FitOptions o;
      o.loss = loss;
      const double best = curve_fit(peak, x, y, truth, o).summary.final_cost * (1 + 1e-6);
      lowest += curve_fit(peak, x, y, p0, o).summary.final_cost <= best ? 1 : 0;
      o.solve_linear_start = false;
      as_given += curve_fit(peak, x, y, p0, o).summary.final_cost <= best ? 1 : 0;
    }
    CAPTURE(std::string(loss.name()));
    CAPTURE(lowest);
    CAPTURE(as_given);
    CHECK(lowest >= 48);
    CHECK(as_given < lowest);
  }
}

TEST_CASE("Fixed parameters, all of them too, and fits of exact data under a loss") {
  const Data d = contaminated(80, 22);
  FitOptions o;
  o.loss = Loss::huber(0.07);
  o.fixed = {"c"};
  const FitResult one = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 3}, {"b", 1}, {"c", 0.5}}, o);
  CHECK(one.success());
  CHECK(one.standard_errors[2] == 0);
  o.fixed = {"a", "b", "c"};
  const FitResult all = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 3}, {"b", 0.8}, {"c", 0.5}}, o);
  CHECK(all.success());
  double rss = 0, cost = 0;
  for (std::size_t i = 0; i < d.x.size(); ++i) {
    const double r = 3 * std::exp(-0.8 * d.x[i]) + 0.5 - d.y[i];
    rss += r * r, cost += 0.5 * o.loss(r * r).rho;
  }
  CHECK(all.rss == doctest::Approx(rss));
  CHECK(all.summary.final_cost == doctest::Approx(cost));
  std::vector<double> exact;
  for (const double x : d.x) exact.push_back(3 * std::exp(-0.8 * x) + 0.5);
  for (const Loss& loss : kLosses) {
    FitOptions e;
    e.loss = loss;
    const FitResult fit = curve_fit(decay, d.x, exact, {2.9, 0.9, 0.4}, e);
    CAPTURE(std::string(loss.name()));
    CAPTURE(fit.summary.message);
    CHECK(fit.success());
    CHECK(fit.parameters[1] == doctest::Approx(0.8).epsilon(1e-10));
  }
}

TEST_CASE("Invalid losses are refused by name") {
  const Data d = contaminated(20);
  CHECK(contains(message_of<ValidationError>([] { Loss::huber(0); }), "huber"));
  CHECK(contains(message_of<ValidationError>([] { Loss::cauchy(-1); }), "-1"));
  CHECK(contains(message_of<ValidationError>([] { Loss::tukey(std::numeric_limits<double>::infinity()); }),
                 "finite"));
  CHECK(contains(message_of<ValidationError>([] { Loss::soft_l1(std::nan("")); }), "soft_l1"));
  CHECK(contains(message_of<ValidationError>([] { Loss::named("hubber"); }), "soft_l1, huber"));
  LeastSquaresOptions o;
  o.loss = Loss::poisson();
  CHECK(contains(message_of<ValidationError>(
                     [&] { least_squares([](const auto& p) { return std::vector{p[0] - 1}; }, {0.0}, o); }),
                 "counts"));
  Problem problem;
  double a[1] = {0};
  CHECK_THROWS_AS(problem.add_residual_block([](const auto* p) { return p[0] - 1.0; }, Loss::poisson(), {a}),
                  ValidationError);
}

TEST_CASE("a parameter whose rows all lie beyond the scale of tukey's loss has no error, and no success") {
  const std::vector<double> g{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
      y{-5.1, 5, -4.9, 5.1, -5, 4.9, 1, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1};
  FitOptions options;
  options.loss = Loss::tukey(0.5);
  const FitResult fit = curve_fit("if(x<0.5,a,b)", g, y, {{"a", 2}, {"b", 1}}, options);
  CHECK_FALSE(fit.success());
  CHECK(fit.summary.message.find("every row that would determine a lies beyond") != std::string::npos);
  CHECK(std::isnan(fit.standard_errors[0]));
  CHECK(std::isnan(fit.covariance(0, 1)));
  CHECK(fit.standard_errors[1] == doctest::Approx(0.03).epsilon(0.5));
}

TEST_CASE(
    "a curve that only goes through as many rows as it has parameters has no errors under tukey's loss") {
  // A parabola through the first three rows; the others are beyond the scale.
  const std::vector<double> x{0, 0.8, 1.6, 2.4, 3.2, 4}, y{1.204, 1.352, 1.874, -0.385, 1.083, 0.178};
  FitOptions options;
  options.loss = Loss::tukey(0.2);
  const FitResult fit = curve_fit("a+b*x+c*x^2", x, y, NamedValues(), options);
  CHECK_FALSE(fit.success());
  CHECK(fit.summary.message.find("only 3 of 6 rows are within the scale of the loss, 0.2") !=
        std::string::npos);
  for (const double error : fit.standard_errors) CHECK(std::isnan(error));
  const BatchResult batch =
      curve_fit_batch("a+b*x+c*x^2", ColumnPerFit(x), ColumnPerFit(std::vector{Column(y)}), Matrix(1, 3, 1.0),
                      BatchOptions(options));
  CHECK_FALSE(batch.success());
  CHECK(std::isnan(batch.standard_errors(0, 0)));
  const GroupsResult groups = curve_fit_groups("a+b*x+c*x^2", x, y, std::vector<double>(6, 1.0),
                                               NamedValues(), GroupOptions(options));
  CHECK(groups.succeeded == 0);
  LeastSquaresOptions of_function;
  of_function.loss = options.loss;
  const auto residuals = [&](const std::vector<double>& p) {
    std::vector<double> r;
    for (std::size_t i = 0; i < 6; ++i) r.push_back(p[0] + x[i] * (p[1] + x[i] * p[2]) - y[i]);
    return r;
  };
  const LeastSquaresResult one = least_squares(residuals, fit.parameters, of_function);
  CHECK_FALSE(one.success());
  CHECK(std::isnan(one.standard_errors[0]));
  // A fourth row within the scale leaves a degree of freedom.
  std::vector<double> more = y;
  more[3] = fit.parameters[0] + 2.4 * (fit.parameters[1] + 2.4 * fit.parameters[2]) + 0.05;
  const FitResult sound = curve_fit("a+b*x+c*x^2", x, more, NamedValues(), options);
  CHECK(sound.success());
  CHECK(sound.standard_errors[0] > 1e-3);
}
