// Tests the bootstrap, which estimates errors from fits to resampled data.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"
#include "prediction/bootstrap_samples.hpp"
#include "solver/prediction/decay_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace nlsq;

namespace {

const NamedValues kStart = {{"a", 4}, {"b", 1}, {"c", 0}};

BootstrapOptions with(BootstrapMethod method, int samples, std::uint64_t seed = 1) {
  BootstrapOptions out;
  out.method = method;
  out.samples = samples;
  out.seed = seed;
  return out;
}

// doctest's Approx has a tolerance of epsilon * (1 + size), which is too wide for small numbers.
bool close(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::fabs(b); }

}  // namespace

TEST_CASE("for a straight line the methods agree with the known standard errors") {
  // Errors have equal size, so that all methods estimate the same. With 4000 samples a standard deviation is
  // known to 1.1 %. Rows drawn at random differ by some percent more.
  std::vector<double> x, y;
  SampleRandom random(5, 0);
  for (int i = 0; i < 200; ++i) x.push_back(0.01 * i), y.push_back(1 + 2 * x.back() + 0.3 * random.normal());
  const FitResult fit = curve_fit("a+b*x", x, y);
  for (const auto method : {BootstrapMethod::residual, BootstrapMethod::parametric, BootstrapMethod::cases}) {
    CAPTURE(name(method));
    const Bootstrap b = bootstrap("a+b*x", x, y, fit, {}, with(method, 4000));
    CHECK(b.failures == 0);
    CHECK(b.samples == 4000);
    const double tolerance = method == BootstrapMethod::cases ? 0.12 : 0.05;
    for (std::size_t j = 0; j < 2; ++j) {
      CHECK(close(b.parameters[j].standard_error, fit.standard_errors[j], tolerance));
      CHECK(std::fabs(b.parameters[j].bias) < 0.06 * fit.standard_errors[j]);
      CHECK(close(b.parameters[j].ci_high - b.parameters[j].estimate, 1.96 * fit.standard_errors[j], 0.15));
    }
  }
}

TEST_CASE("with few rows, residuals are enlarged to the size of the errors") {
  // There are eight rows and two parameters. Without enlargement, errors would be too small by √(6/8) = 0.87.
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {1.2, 1.7, 3.4, 3.8, 5.3, 5.7, 7.1, 8.3};
  const FitResult fit = curve_fit("a+b*x", x, y);
  for (const auto method : {BootstrapMethod::residual, BootstrapMethod::parametric}) {
    CAPTURE(name(method));
    const Bootstrap b = bootstrap("a+b*x", x, y, fit, {}, with(method, 8000));
    CHECK(close(b.parameters[1].standard_error, fit.standard_errors[1], 0.03));
  }
}

TEST_CASE("residuals are centered, so a curve without a constant is not shifted") {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {5.1, 6.8, 9.2, 10.9, 13.1, 15.2, 16.8, 19.1};
  const FitResult fit = curve_fit("a*x", x, y);
  const Bootstrap b = bootstrap("a*x", x, y, fit, {}, with(BootstrapMethod::residual, 4000));
  CHECK(std::fabs(b.parameters[0].bias) < 0.05 * b.parameters[0].standard_error);
}

TEST_CASE("residuals of a robust loss are not centred: their mean is that of the outliers") {
  std::vector<double> x, y;
  SampleRandom random(7, 0);
  for (int i = 0; i < 60; ++i) {
    x.push_back(0.17 * i);
    y.push_back(1 + 2 * x.back() + 0.1 * random.normal() + (i % 10 == 5 ? 4 : 0));
  }
  FitOptions options;
  options.loss = Loss::huber(0.3);
  const FitResult fit = curve_fit("a+b*x", x, y, {}, options);
  REQUIRE(fit.success());
  const Bootstrap b = bootstrap("a+b*x", x, y, fit, options, with(BootstrapMethod::residual, 1000));
  CHECK(std::fabs(b.parameters[0].bias) < 0.5 * fit.standard_errors[0]);
  CHECK(b.parameters[0].ci_low < fit.parameters[0]);
  CHECK(b.parameters[0].ci_high > fit.parameters[0]);
}

TEST_CASE("rows keep their sigma when they are drawn") {
  // Every second row is worthless, and its sigma says so. With the sigma of another row it would spoil the
  // fit.
  std::vector<double> x, y, sigma;
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.1 * i);
    sigma.push_back(i % 2 == 0 ? 0.01 : 100);
    y.push_back(1 + x.back() + (i % 2 == 0 ? 0.01 * std::sin(40.0 * i) : 50 * std::cos(3.0 * i)));
  }
  FitOptions options;
  options.sigma = sigma;
  const FitResult fit = curve_fit("a+b*x", x, y, {}, options);
  const Bootstrap b = bootstrap("a+b*x", x, y, fit, options, with(BootstrapMethod::cases, 200));
  CHECK(b.parameters[1].standard_error < 0.01);
}

TEST_CASE("figures are those of the table of values") {
  const DecayRows d = decay_rows();
  const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart);
  BootstrapOptions options = with(BootstrapMethod::residual, 401);
  options.derived = {"tau = 1/b"};
  options.confidence = 0.9;
  const Bootstrap b = bootstrap(kDecay, d.x, d.y, fit, {}, options);
  REQUIRE(b.values.rows() == 401u - static_cast<unsigned>(b.failures));
  REQUIRE(b.failures == 0);
  std::vector<double> tau;
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < 401; ++i) {
    CHECK(b.values(i, 3) == 1 / b.values(i, 1));
    tau.push_back(b.values(i, 3));
    mean += tau.back() / 401;
  }
  for (const double t : tau) square += (t - mean) * (t - mean) / 400;
  std::ranges::sort(tau);
  CHECK(b.derived[0].name == "tau");
  CHECK(b.derived[0].estimate == 1 / fit.parameters[1]);
  CHECK(close(b.derived[0].bias, mean - 1 / fit.parameters[1], 1e-6));
  CHECK(close(b.derived[0].standard_error, std::sqrt(square), 1e-9));
  CHECK(b.derived[0].ci_low == tau[20]);    // 5 % of 400
  CHECK(b.derived[0].ci_high == tau[380]);  // 95 %
}

TEST_CASE("the same seed gives the same bits on any number of threads, another seed others") {
  const DecayRows d = decay_rows();
  FitOptions weighted;
  weighted.sigma = d.sigma;
  const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart, weighted);
  for (const auto method : {BootstrapMethod::residual, BootstrapMethod::cases, BootstrapMethod::parametric}) {
    BootstrapOptions one = with(method, 100, 7), four = with(method, 100, 7);
    one.threads = 1;
    four.threads = 4;
    const Bootstrap a = bootstrap(kDecay, d.x, d.y, fit, weighted, one);
    const Bootstrap b = bootstrap(kDecay, d.x, d.y, fit, weighted, four);
    CHECK(a.values == b.values);
    CHECK(a.failures == b.failures);
    const Bootstrap c = bootstrap(kDecay, d.x, d.y, fit, weighted, with(method, 100, 8));
    CHECK_FALSE(a.values == c.values);
  }
}

TEST_CASE("counts are drawn from Poisson's distribution") {
  for (const double mean : {0.7, 9.0, 11.0, 400.0, 1e6}) {
    CAPTURE(mean);
    SampleRandom random(3, 1);
    constexpr int kDraws = 200000;
    double sum = 0, square = 0, cube = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double e = random.poisson(mean) - mean;
      sum += e;
      square += e * e;
      cube += e * e * e;
    }
    // The mean must be within four standard deviations. The variance is `mean`, and so is the third central
    // moment.
    CHECK(std::fabs(sum / kDraws) < 4 * std::sqrt(mean / kDraws));
    CHECK(std::fabs(square / kDraws - mean) < 4 * std::sqrt((2 * mean * mean + mean) / kDraws));
    CHECK(std::fabs(cube / kDraws - mean) <
          4 * std::sqrt((15 * mean * mean * mean + 24 * mean * mean + mean) / kDraws));
  }
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7}, y = {103, 77, 61, 44, 41, 25, 23, 18};
  FitOptions counts;
  counts.loss = Loss::poisson();
  const FitResult fit = curve_fit("a*exp(-b*x)", x, y, {{"a", 90}, {"b", 0.2}}, counts);
  const Bootstrap b = bootstrap("a*exp(-b*x)", x, y, fit, counts, with(BootstrapMethod::parametric, 2000));
  CHECK(close(b.parameters[1].standard_error, fit.standard_errors[1], 0.08));
}

TEST_CASE("fixed, tied and left sides, and a callable") {
  const DecayRows d = decay_rows();
  FitOptions ties;
  ties.ties = {"c = a/5"};
  const FitResult tied = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}}, ties);
  const Bootstrap t = bootstrap(kDecay, d.x, d.y, tied, ties, with(BootstrapMethod::residual, 50));
  CHECK(close(t.parameters[2].standard_error, t.parameters[0].standard_error / 5, 1e-9));

  FitOptions held;
  held.fixed = {"c"};
  const FitResult fixed = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 1}}, held);
  const Bootstrap f = bootstrap(kDecay, d.x, d.y, fixed, held, with(BootstrapMethod::cases, 50));
  CHECK(f.parameters[2].standard_error == 0);
  CHECK(f.parameters[0].standard_error > 0);

  const Formula left = parse_formula("log(y) = k - u*x");
  const FitResult line = curve_fit(left, d.x, d.y);
  std::vector<double> logs;
  for (const double y : d.y) logs.push_back(std::log(y));
  const Bootstrap l = bootstrap(left, d.x, d.y, line, {}, with(BootstrapMethod::residual, 50));
  const Bootstrap r = bootstrap("k - u*x", d.x, logs, curve_fit("k - u*x", d.x, logs), {},
                                with(BootstrapMethod::residual, 50));
  CHECK(close(l.parameters[0].standard_error, r.parameters[0].standard_error, 1e-6));

  auto callable = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  };
  const FitResult plain = curve_fit(kDecay, d.x, d.y, kStart);
  const FitResult by_callable = curve_fit(callable, d.x, d.y, {4.0, 1.0, 0.0});
  const Bootstrap g = bootstrap(callable, d.x, d.y, by_callable, {}, with(BootstrapMethod::cases, 50));
  const Bootstrap h = bootstrap(kDecay, d.x, d.y, plain, {}, with(BootstrapMethod::cases, 50));
  CHECK(close(g.parameters[1].standard_error, h.parameters[1].standard_error, 1e-6));
}

TEST_CASE("a callable of several predictors") {
  const std::vector<double> x1 = {1, 2, 3, 4, 5, 6, 7, 8}, x2 = {3, 1, 4, 1, 5, 9, 2, 6};
  const std::vector<double> y = {5.1, 2.9, 9.2, 5.8, 13.1, 20.9, 9.2, 17.8};
  auto plane = [](const auto& x, const auto& p) { return p[0] * x[0] + p[1] * x[1]; };
  const std::vector<Column> x = {Column(x1), Column(x2)};
  const FitResult fit = curve_fit(plane, x, y, {1.0, 1.0});
  const Bootstrap b = bootstrap(plane, x, y, fit, {}, with(BootstrapMethod::residual, 2000));
  CHECK(close(b.parameters[0].standard_error, fit.standard_errors[0], 0.06));
  const Prediction p = predict(plane, x, fit);
  CHECK(p.fit[0] == doctest::Approx(fit.parameters[0] + 3 * fit.parameters[1]).epsilon(1e-13));
}

TEST_CASE("fits that fail are counted, and a warning says so") {
  // There are four rows. A sample with a single x cannot determine the line. This happens in 4/256 of the
  // samples with one x, and 12 rows of the same two x do not matter.
  const std::vector<double> x = {1, 1, 1, 2}, y = {1, 1.2, 0.9, 2.1};
  const FitResult fit = curve_fit("a+b*x", x, y);
  const Bootstrap b = bootstrap("a+b*x", x, y, fit, {}, with(BootstrapMethod::cases, 1000));
  // In the (3/4)^4 = 31.6 % of the samples without row 4, b is undetermined. Only row 4 occurs in 0.4 %.
  CHECK(close(b.failures, 320, 0.15));
  CHECK(b.values.rows() == static_cast<std::size_t>(1000 - b.failures));
  REQUIRE_FALSE(b.warnings.empty());
  CHECK(contains(b.warnings[0], "ended without a minimum or with undetermined parameters"));
}

TEST_CASE("it can be stopped, and few samples get a warning") {
  const DecayRows d = decay_rows();
  const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart);
  BootstrapOptions options = with(BootstrapMethod::residual, 1000);
  options.threads = 1;
  int asked = 0;
  options.stop = [&] { return ++asked > 200; };
  const Bootstrap b = bootstrap(kDecay, d.x, d.y, fit, {}, options);
  CHECK(b.samples > 10);
  CHECK(b.samples < 200);
  CHECK(b.failures == 0);
  CHECK(b.values.rows() == static_cast<std::size_t>(b.samples));
  REQUIRE(b.warnings.size() == 2);
  CHECK(contains(b.warnings[0], "stopped after " + std::to_string(b.samples) + " of 1000 samples"));
  CHECK(contains(b.warnings[1], "samples lie beyond each end"));
}

TEST_CASE("methods that a fit does not allow are refused") {
  const DecayRows d = decay_rows();
  const auto said = [&](const FitOptions& options, BootstrapMethod method) {
    const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart, options);
    return message_of([&] { bootstrap(kDecay, d.x, d.y, fit, options, with(method, 10)); });
  };
  FitOptions robust;
  robust.loss = Loss::huber(0.1);
  CHECK(contains(said(robust, BootstrapMethod::parametric), "bootstrap method parametric: a robust loss"));
  CHECK(said(robust, BootstrapMethod::residual) == "no such error");
  FitOptions errors;
  const std::vector<double> sx(d.x.size(), 0.01);
  errors.sigma = d.sigma;
  errors.sigma_x = {Column(sx)};
  CHECK(contains(said(errors, BootstrapMethod::residual), "x has errors, too; use case"));
  CHECK(said(errors, BootstrapMethod::cases) == "no such error");
  FitOptions counts;
  counts.loss = Loss::poisson();
  CHECK(contains(said(counts, BootstrapMethod::residual), "the scatter of counts differs by row"));
  const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart);
  CHECK(
      contains(message_of([&] { bootstrap(kDecay, d.x, d.y, fit, {}, with(BootstrapMethod::residual, 1)); }),
               "bootstrap samples = 1"));
}

TEST_CASE("the suitable method is one that the fit allows") {
  const DecayRows d = decay_rows();
  const auto suits = [&](const FitOptions& options) {
    const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart, options);
    const BootstrapMethod method = suitable_method(fit, options);
    CHECK(message_of([&] { bootstrap(kDecay, d.x, d.y, fit, options, with(method, 10)); }) ==
          "no such error");
    return method;
  };
  FitOptions errors, counts;
  const std::vector<double> sx(d.x.size(), 0.01);
  errors.sigma = d.sigma;
  errors.sigma_x = {Column(sx)};
  counts.loss = Loss::poisson();
  CHECK(suits({}) == BootstrapMethod::residual);
  CHECK(suits(errors) == BootstrapMethod::cases);
  CHECK(suits(counts) == BootstrapMethod::parametric);
}

TEST_CASE("residuals of as many parameters as rows are zero, and say nothing of the errors") {
  const std::vector<double> x = {0, 1}, y = {2, 5}, sigma = {0.1, 0.2};
  FitOptions options;
  options.sigma = sigma;
  options.absolute_sigma = true;
  const FitResult fit = curve_fit("a+b*x", x, y, {}, options);
  REQUIRE(fit.dof == 0);
  CHECK(suitable_method(fit, options) == BootstrapMethod::parametric);
  CHECK(contains(
      message_of([&] { bootstrap("a+b*x", x, y, fit, options, with(BootstrapMethod::residual, 400)); }),
      "bootstrap method residual: there are as many parameters as rows, so residuals are 0; use "
      "parametric"));
  CHECK(
      contains(message_of([&] { bootstrap("a+b*x", x, y, fit, options, with(BootstrapMethod::cases, 400)); }),
               "only if it has every row; use parametric"));
  const Bootstrap made = bootstrap("a+b*x", x, y, fit, options, with(BootstrapMethod::parametric, 400));
  CHECK(made.parameters[1].standard_error == doctest::Approx(fit.standard_errors[1]).epsilon(0.1));
}
