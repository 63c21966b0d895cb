// Tests errors in x, where the variance of a residual is sigma² + (∂f/∂x)² sigma_x².
#include <nlsq/compare.hpp>
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Data {
  std::vector<double> x, y, sigma, sigma_x;
};
Data decaying(std::size_t rows, std::uint64_t seed, double sy = 0.04, double sx = 0.06) {
  Data d;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = 4 * static_cast<double>(i) / static_cast<double>(rows);
    d.sigma.push_back(sy * (1 + 0.3 * std::sin(static_cast<double>(i))));
    d.sigma_x.push_back(sx * (1 + 0.3 * std::cos(static_cast<double>(i))));
    d.y.push_back(3 * std::exp(-0.8 * x) + 0.5 + d.sigma.back() * normal(random));
    d.x.push_back(x + d.sigma_x.back() * normal(random));
  }
  return d;
}
FitOptions options_of(const Data& d, bool absolute = true) {
  FitOptions o;
  o.sigma = d.sigma;
  o.sigma_x = {d.sigma_x};
  o.absolute_sigma = absolute;
  return o;
}

}  // namespace

// The data are Pearson's with York's weights: D. York, N. M. Evensen et al., Am. J. Phys. 72, 367 (2004),
// table II.
TEST_CASE("York's line through data with errors in both coordinates") {
  const std::vector<double> x = {0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4},
                            y = {5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5};
  const double wx[] = {1000, 1000, 500, 800, 200, 80, 60, 20, 1.8, 1.0},
               wy[] = {1.0, 1.8, 4.0, 8.0, 20, 20, 70, 70, 100, 500};
  std::vector<double> sx, sy;
  for (int i = 0; i < 10; ++i) sx.push_back(1 / std::sqrt(wx[i])), sy.push_back(1 / std::sqrt(wy[i]));
  FitOptions o;
  o.sigma = sy;
  o.sigma_x = {sx};
  o.absolute_sigma = true;
  const FitResult fit = curve_fit("a+b*x", x, y, {{"a", 5}, {"b", -0.5}}, o);
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(5.47991022403).epsilon(1e-9));
  CHECK(fit.parameters[1] == doctest::Approx(-0.480533407446).epsilon(1e-9));
  CHECK(fit.chi2_reduced == doctest::Approx(11.8663531941 / 8).epsilon(1e-8));
  CHECK(fit.standard_errors[0] == doctest::Approx(0.295).epsilon(0.03));
  CHECK(fit.standard_errors[1] == doctest::Approx(0.058).epsilon(0.03));
}

TEST_CASE("With equal errors a line is Deming's") {
  std::vector<double> x, y;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 50; ++i)
    x.push_back(0.2 * i + 0.3 * normal(random)), y.push_back(1.5 * 0.2 * i - 2 + 0.2 * normal(random));
  const std::vector<double> sx(50, 0.3), sy(50, 0.2);
  double mx = 0, my = 0, sxx = 0, syy = 0, sxy = 0;
  for (int i = 0; i < 50; ++i) mx += x[i] / 50, my += y[i] / 50;
  for (int i = 0; i < 50; ++i)
    sxx += (x[i] - mx) * (x[i] - mx), syy += (y[i] - my) * (y[i] - my), sxy += (x[i] - mx) * (y[i] - my);
  const double ratio = 0.2 * 0.2 / (0.3 * 0.3), d = syy - ratio * sxx;
  const double slope = (d + std::sqrt(d * d + 4 * ratio * sxy * sxy)) / (2 * sxy);
  FitOptions o;
  o.sigma = sy;
  o.sigma_x = {sx};
  const FitResult fit =
      curve_fit([](const auto& u, const auto& p) { return p[0] + p[1] * u; }, x, y, {1.0, 1.0}, o);
  CHECK(fit.success());
  CHECK(fit.parameters[1] == doctest::Approx(slope).epsilon(1e-9));
  CHECK(fit.parameters[0] == doctest::Approx(my - slope * mx).epsilon(1e-9));
}

TEST_CASE("Errors in x, by formula and callable; the objective is the one stated, and losses go with it") {
  const Data d = decaying(80, 3);
  for (const Loss& loss : {Loss(), Loss::huber(1.345)}) {
    FitOptions o = options_of(d, false);
    o.loss = loss;
    const FitResult formula = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 2}, {"b", 1}, {"c", 0}}, o);
    const FitResult callable = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    const FitResult prepared =
        curve_fit(PreparedModel("a*exp(-b*x)+c"), d.x, d.y, std::vector<double>{2, 1, 0}, o);
    CHECK(formula.success());
    CHECK(formula.parameters == callable.parameters);
    CHECK(prepared.parameters[1] == doctest::Approx(formula.parameters[1]).epsilon(1e-10));
    CHECK(callable.summary.certificate.rechecked_rows > 0);
    const auto cost = [&](const std::vector<double>& p) {
      double sum = 0;
      for (std::size_t i = 0; i < d.x.size(); ++i) {
        const double shift = -p[0] * p[1] * std::exp(-p[1] * d.x[i]) * d.sigma_x[i];
        const double r2 = std::pow(decay(d.x[i], p) - d.y[i], 2) / (d.sigma[i] * d.sigma[i] + shift * shift);
        sum += 0.5 * loss(r2).rho;
      }
      return sum;
    };
    CHECK(formula.summary.final_cost == doctest::Approx(cost(formula.parameters)).epsilon(1e-12));
    for (std::size_t j = 0; j < 3; ++j) {  // it is least along every axis
      const double h = 1e-3 * formula.standard_errors[j];
      std::vector<double> up = formula.parameters, down = formula.parameters;
      up[j] += h, down[j] -= h;
      CHECK(cost(up) > formula.summary.final_cost);
      CHECK(cost(down) > formula.summary.final_cost);
      CHECK(std::fabs(cost(up) - cost(down)) <
            1e-3 * (cost(up) + cost(down) - 2 * formula.summary.final_cost));
    }
  }
}

TEST_CASE(
    "Exact predictors are as without; several predictors add up; parameters linear in the model are no "
    "longer so") {
  Data d = decaying(60, 9);
  FitOptions exact = options_of(d);
  exact.sigma_x = {};
  const FitResult plain = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, exact);
  FitOptions zero = options_of(d);
  const std::vector<double> zeros(60, 0.0);
  zero.sigma_x = {zeros};
  const FitResult with_zeros = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, zero);
  zero.sigma_x = {Column()};
  const FitResult with_empty = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, zero);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(with_zeros.parameters[j] == doctest::Approx(plain.parameters[j]).epsilon(1e-9));
    CHECK(with_zeros.standard_errors[j] == doctest::Approx(plain.standard_errors[j]).epsilon(1e-8));
    CHECK(with_empty.parameters[j] == plain.parameters[j]);
  }
  std::vector<double> u, v, y, su(40, 0.1), sv(40, 0.05), sy(40, 0.1);
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 40; ++i) {
    u.push_back(0.1 * i), v.push_back(std::sin(i));
    y.push_back(2 * u.back() + 3 * v.back() * v.back() + 0.3 * normal(random));
  }
  FitOptions o;
  o.sigma = sy;
  o.absolute_sigma = true;
  o.sigma_x = {Column(su), Column(sv)};
  const FitResult both = curve_fit("a*x1+b*x2^2", {u, v}, y, {{"a", 1}, {"b", 1}}, o);
  o.sigma_x = {Column(), Column(sv)};
  const FitResult second = curve_fit("a*x1+b*x2^2", {u, v}, y, {{"a", 1}, {"b", 1}}, o);
  double cost_both = 0, cost_second = 0;
  for (int i = 0; i < 40; ++i) {
    const auto term = [&](const std::vector<double>& p, double s1) {
      const double r = p[0] * u[i] + p[1] * v[i] * v[i] - y[i], du = p[0] * s1, dv = 2 * p[1] * v[i] * 0.05;
      return 0.5 * r * r / (0.01 + du * du + dv * dv);
    };
    cost_both += term(both.parameters, 0.1), cost_second += term(second.parameters, 0);
  }
  CHECK(both.success());
  CHECK(second.success());
  CHECK(both.summary.final_cost == doctest::Approx(cost_both).epsilon(1e-12));
  CHECK(second.summary.final_cost == doctest::Approx(cost_second).epsilon(1e-12));
}

TEST_CASE("Errors in x in many rows: policies, threads, and data that are looked at on the way") {
  Data d = decaying(std::size_t{1} << 18, 12);
  FitOptions o = options_of(d);
  o.precision = PrecisionPolicy::all_f64();
  o.sampling = Sampling::never;
  const FitResult f64 = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
  CHECK(f64.success());
  o.sampling = Sampling::automatic;
  for (const char* policy : {"auto", "bf16"}) {
    o.precision = PrecisionPolicy::parse(policy);
    o.threads = 1;
    const FitResult one = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    o.threads = 2;
    const FitResult two = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    CHECK(one.success());
    CHECK(one.parameters == two.parameters);
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(std::fabs(one.parameters[j] - f64.parameters[j]) < 1e-3 * f64.standard_errors[j]);
  }
  d.sigma_x[200000] = -0.1;
  try {
    curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    FAIL("a negative standard deviation was taken");
  } catch (const DataError& e) {
    CHECK(e.row() == 200000);
    CHECK(contains(e.what(), "sigma_x of x"));
  }
}

TEST_CASE("95 % intervals under errors in x cover the truth in 93 to 97 % of simulated fits") {
  const std::size_t fits = 2000;
  for (const bool absolute : {true, false}) {
    std::size_t covered[3] = {};
    for (std::size_t f = 0; f < fits; ++f) {
      const Data d = decaying(80, 500 + f);
      const FitResult fit = curve_fit(decay, d.x, d.y, {3.0, 0.8, 0.5}, options_of(d, absolute));
      REQUIRE(fit.success());
      const double truth[3] = {3, 0.8, 0.5};
      for (std::size_t j = 0; j < 3; ++j) {
        covered[j] +=
            std::fabs(fit.parameters[j] - truth[j]) <= (absolute ? 1.96 : 1.991) * fit.standard_errors[j] ? 1
                                                                                                          : 0;
      }
    }
    for (std::size_t j = 0; j < 3; ++j) {
      const double share = static_cast<double>(covered[j]) / static_cast<double>(fits);
      MESSAGE((absolute ? "absolute" : "relative")
              << " sigmas, parameter " << j << ": " << 100 * share << " %");
      CHECK(share >= 0.93);
      CHECK(share <= 0.97);
    }
  }
}

TEST_CASE("Invalid errors in x are refused by name") {
  const Data d = decaying(20, 1);
  const std::vector<double> p0 = {2.0, 1.0, 0.0};
  const auto with = [&](auto change) {
    FitOptions o = options_of(d);
    change(o);
    return o;
  };
  std::vector<double> bad = d.sigma_x;
  bad[4] = -1;
  CHECK(contains(message_of<DataError>([&] {
                   curve_fit(decay, d.x, d.y, p0, with([&](FitOptions& o) { o.sigma_x = {bad}; }));
                 }),
                 "row 4"));
  bad[4] = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(message_of<DataError>([&] {
                   curve_fit(decay, d.x, d.y, p0, with([&](FitOptions& o) { o.sigma_x = {bad}; }));
                 }),
                 "row 4"));
  bad.resize(7);
  CHECK(contains(message_of<DataError>([&] {
                   curve_fit(decay, d.x, d.y, p0, with([&](FitOptions& o) { o.sigma_x = {bad}; }));
                 }),
                 "7 rows"));
  CHECK(contains(
      message_of<ValidationError>([&] {
        curve_fit(decay, d.x, d.y, p0, with([&](FitOptions& o) { o.sigma_x = {d.sigma_x, d.sigma_x}; }));
      }),
      "2 columns"));
  CHECK(contains(message_of<ValidationError>([&] {
                   curve_fit(decay, d.x, d.y, p0, with([](FitOptions& o) { o.sigma = Column(); }));
                 }),
                 "needs sigma"));
  const auto plain = [](double x, const std::vector<double>& p) { return decay(x, p); };
  CHECK(contains(message_of<ValidationError>([&] { curve_fit(plain, d.x, d.y, p0, options_of(d)); }),
                 "generic"));
  CHECK(
      contains(message_of<ValidationError>([&] { curve_fit(untraced(decay), d.x, d.y, p0, options_of(d)); }),
               "generic"));
  BatchOptions batch;
  static_cast<FitOptions&>(batch) = options_of(d);
  Matrix P0(1, 3), Y(1, 20);
  CHECK_THROWS_AS(curve_fit_batch("a*exp(-b*x)+c", d.x, Y, P0, batch), ValidationError);
}

// Without a fit that ignores the errors in x, growth from these starts ran off to steep curves: their rows
// have errors so large that the cost falls. 12 of the 20 fits with a start and all 5 without one ended so.
TEST_CASE("Errors in x do not let a fit from a poor start run off") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (int fit = 0; fit < 20; ++fit) {
    CAPTURE(fit);
    std::vector<double> x, y;
    for (int i = 0; i < 40; ++i) {
      const double at = 6.0 * i / 39;
      x.push_back(at + 0.12 * normal(random));
      y.push_back(2 * std::exp(0.5 * at) + 1.1 * normal(random));
    }
    FitOptions o;
    const std::vector<double> sy(40, 1.1), sx(40, 0.12);
    o.sigma = sy;
    o.sigma_x = {sx};
    const NamedValues p0{{"a", std::exp(normal(random))}, {"b", std::exp(normal(random))}};
    const FitResult grown = curve_fit("a*exp(b*x)", x, y, p0, o);
    CHECK(grown.success());
    CHECK(grown.parameters[1] == doctest::Approx(0.5).epsilon(0.1));
  }
  for (int fit = 0; fit < 5; ++fit) {
    CAPTURE(fit);
    std::vector<double> u, v, y;
    for (int i = 0; i < 40; ++i) {
      const double at = 1 + 4.0 * i / 39, other = std::cos(3 * at);
      y.push_back(2 * std::exp(0.3 * at) + 0.7 * other + 0.1 * normal(random));
      u.push_back(at + 0.05 * normal(random));
      v.push_back(other + 0.03 * normal(random));
    }
    FitOptions o;
    const std::vector<double> sy(40, 0.1), su(40, 0.05), sv(40, 0.03);
    o.sigma = sy;
    o.sigma_x = {su, sv};
    const FitResult both = curve_fit("a*exp(b*x1)+c*x2", {u, v}, y, {}, o);
    CHECK(both.success());
    CHECK(both.parameters[1] == doctest::Approx(0.3).epsilon(0.1));
  }
}

TEST_CASE("R², AIC and BIC with errors in x have the effective variances of the fit") {
  const Data d = decaying(60, 11);
  std::vector<double> exp_y;
  for (const double y : d.y) exp_y.push_back(std::exp(y));
  for (const bool absolute : {false, true}) {
    const FitOptions o = options_of(d, absolute);
    const FitResult fits[] = {
        curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 2}, {"b", 1}, {"c", 0}}, o),
        curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o),
        curve_fit(PreparedModel("a*exp(-b*x)+c"), d.x, d.y, std::vector<double>{2, 1, 0}, o),
        curve_fit("log(y) = a*exp(-b*x)+c", d.x, exp_y, {{"a", 2}, {"b", 1}, {"c", 0}}, o)};
    for (const FitResult& fit : fits) {
      const std::vector<double>& p = fit.parameters;
      std::vector<double> weights;
      double sum = 0, mean = 0, total = 0, logs = 0;
      for (std::size_t i = 0; i < d.x.size(); ++i) {
        const double shift = p[0] * p[1] * std::exp(-p[1] * d.x[i]) * d.sigma_x[i];
        const double variance = d.sigma[i] * d.sigma[i] + shift * shift;
        weights.push_back(1 / variance);
        sum += weights[i], mean += weights[i] * d.y[i], logs += std::log(variance);
      }
      mean /= sum;
      for (std::size_t i = 0; i < d.x.size(); ++i) total += weights[i] * (d.y[i] - mean) * (d.y[i] - mean);
      CHECK(fit.success());
      CHECK(fit.errors_in_x);
      CHECK(fit.r_squared == doctest::Approx(1 - fit.rss / total).epsilon(1e-10));
      const double deviance = (absolute ? fit.rss : 60 * std::log(fit.rss / 60)) + logs;
      CHECK(fit.aic == doctest::Approx(deviance + 2 * 4).epsilon(1e-10));
      CHECK(fit.bic == doctest::Approx(deviance + std::log(60.0) * 4).epsilon(1e-10));
    }
  }
}

TEST_CASE("Where y is unrelated to x, a line with errors in x wins no more often than one without") {
  const std::size_t rows = 30;
  const std::vector<double> sigma(rows, 0.1), sigma_x(rows, 0.3);
  for (const double scatter : {0.1, 1.0}) {
    CAPTURE(scatter);
    std::mt19937_64 random(29);
    std::normal_distribution<double> normal;
    int wins[2] = {0, 0};
    for (int k = 0; k < 200; ++k) {
      std::vector<double> x, y;
      for (std::size_t i = 0; i < rows; ++i)
        x.push_back(normal(random)), y.push_back(scatter * normal(random));
      for (const bool errors : {false, true}) {
        FitOptions o;
        o.sigma = sigma;
        if (errors) o.sigma_x = {sigma_x};
        const ModelComparison c = compare({"constant", "linear"}, {x}, y, o);
        wins[errors] += c.models.front().name == "linear";
        REQUIRE(c.tests.size() == 1);
        CHECK(std::isnan(c.tests[0].p_value) == errors);
        CHECK((c.tests[0].note.find("errors in x") != std::string::npos) == errors);
      }
    }
    CHECK(wins[0] > 10);
    CHECK(wins[1] <= wins[0] + 10);
    if (scatter == 0.1) CHECK(wins[1] >= wins[0] - 10);
  }
}

TEST_CASE("Points without a slope give no evidence for a line with errors in x") {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y = {2, 5, 1, 4, 6, 2, 5, 3, 6, 4};
  const std::vector<double> sigma(10, 0.01), sigma_x(10, 0.5);
  FitOptions o;
  o.sigma = sigma;
  o.sigma_x = {sigma_x};
  const ModelComparison c = compare({"constant", "linear"}, {x}, y, o);
  CHECK(c.models[0].name == "constant");  // once linear had weight 1, R² 0.999 and p = 3e-13
  CHECK(c.models[0].weight > 0.5);
  CHECK(c.models[1].fit->r_squared < 0.127);
}

TEST_CASE("Fits with errors in x are not ranked with others") {
  const Data d = decaying(20, 4);
  const FitOptions with = options_of(d);
  FitOptions without = with;
  without.sigma_x.clear();
  CHECK_THROWS_WITH_AS(rank_models({{"a", nullptr, curve_fit("a+b*x", d.x, d.y, {{"a", 1}, {"b", 1}}, with)},
                                    {"b", nullptr, curve_fit("a+0*x", d.x, d.y, {{"a", 1}}, without)}}),
                       doctest::Contains("only one has errors in x"), ValidationError);
}
