// Tests predictions: the fitted curve with its standard error, confidence band and prediction band.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"
#include "solver/prediction/decay_rows.hpp"
#include "solver/prediction/prediction_reference.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace nlsq;

namespace {

const reference::Model decay_model = [](reference::Real x, const std::vector<reference::Real>& p) {
  return p[0] * std::exp(-p[1] * x) + p[2];
};
const std::vector<double> kAt = {-0.5, 0, 1.3, 4, 20};

bool mentions(const std::vector<std::string>& warnings, const std::string& part) {
  for (const std::string& w : warnings)
    if (w.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a straight line has the bands of the textbooks") {
  const std::vector<double> x = {1, 2, 3, 4, 6}, y = {2.1, 3.9, 6.2, 7.8, 12.3};
  const FitResult fit = curve_fit("a+b*x", x, y);
  const std::vector<double> at = {-1, 3.2, 10};
  const Prediction p = predict("a+b*x", at, fit);
  // The sums are computed by hand: mean x = 3.2, Sxx = Σ(x - 3.2)² = 14.8, Sxy = Σ(x - 3.2) y.
  const double mean_y = (2.1 + 3.9 + 6.2 + 7.8 + 12.3) / 5;
  const double Sxy = -2.2 * 2.1 - 1.2 * 3.9 - 0.2 * 6.2 + 0.8 * 7.8 + 2.8 * 12.3, slope = Sxy / 14.8;
  double rss = 0;
  for (std::size_t i = 0; i < 5; ++i) rss += std::pow(y[i] - mean_y - slope * (x[i] - 3.2), 2);
  const double s2 = rss / 3, t = 3.182446305284263;  // the 97.5 % point of t with 3 degrees of freedom
  CHECK(p.quantile == doctest::Approx(t).epsilon(1e-12));
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double f = mean_y + slope * (at[i] - 3.2), h = 1.0 / 5 + std::pow(at[i] - 3.2, 2) / 14.8;
    CHECK(p.fit[i] == doctest::Approx(f).epsilon(1e-12));
    CHECK(p.standard_error[i] == doctest::Approx(std::sqrt(s2 * h)).epsilon(1e-10));
    CHECK(p.confidence_low[i] == doctest::Approx(f - t * std::sqrt(s2 * h)).epsilon(1e-10));
    CHECK(p.confidence_high[i] == doctest::Approx(f + t * std::sqrt(s2 * h)).epsilon(1e-10));
    CHECK(p.prediction_low[i] == doctest::Approx(f - t * std::sqrt(s2 * (1 + h))).epsilon(1e-10));
    CHECK(p.prediction_high[i] == doctest::Approx(f + t * std::sqrt(s2 * (1 + h))).epsilon(1e-10));
  }
  CHECK(p.warnings.empty());
}

TEST_CASE("the bands are those of R's predict.lm") {
  // The data set cars of R (M. Ezekiel, Methods of Correlation Analysis, 1930): speeds and stopping
  // distances. predict(lm(dist ~ speed), data.frame(speed = 12), interval = "confidence")
  // gives 29.60981 24.39514 34.82448, and interval = "prediction" gives the ends -1.749529 and 60.96915.
  const std::vector<double> speed = {4,  4,  7,  7,  8,  9,  10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13,
                                     13, 13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 17, 17, 17, 18, 18, 18,
                                     18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25};
  const std::vector<double> dist = {2,  10, 4,  22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28,  26, 34,
                                    34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40, 32, 40, 50, 42,  56, 76,
                                    84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85};
  const Prediction p = predict("a+b*x", std::vector<double>{12}, curve_fit("a+b*x", speed, dist));
  CHECK(p.fit[0] == doctest::Approx(29.60981).epsilon(2e-7));
  CHECK(p.confidence_low[0] == doctest::Approx(24.39514).epsilon(3e-7));
  CHECK(p.confidence_high[0] == doctest::Approx(34.82448).epsilon(2e-7));
  CHECK(p.prediction_low[0] == doctest::Approx(-1.749529).epsilon(3e-7));
  CHECK(p.prediction_high[0] == doctest::Approx(60.96915).epsilon(2e-7));
}

TEST_CASE("a nonlinear model agrees with a long double computation, for every convention of sigma") {
  const DecayRows d = decay_rows();
  const NamedValues p0 = {{"a", 4}, {"b", 1}, {"c", 0}};
  for (const int convention : {0, 1, 2}) {
    CAPTURE(convention);
    FitOptions options;
    if (convention > 0) options.sigma = d.sigma;
    options.absolute_sigma = convention == 2;
    const FitResult fit = curve_fit(kDecay, d.x, d.y, p0, options);
    PredictionOptions wanted;
    wanted.confidence = 0.9;
    const std::vector<double> new_sigma = {0.1, 0.2, 0.3, 0.4, 0.5};
    if (convention > 0) wanted.sigma = new_sigma;
    const Prediction p = predict(kDecay, kAt, fit, options, wanted);
    const double t = convention == 2 ? 1.6448536269514722 : 1.717144374380242;  // t for 22
    const double s2 = convention == 2 ? 1 : fit.chi2_reduced;
    for (std::size_t i = 0; i < kAt.size(); ++i) {
      const double h = reference::variance(decay_model, d.x, convention > 0 ? d.sigma : std::vector<double>{},
                                           fit.parameters, kAt[i]);
      const double v = convention > 0 ? new_sigma[i] * new_sigma[i] : 1;
      CHECK(p.standard_error[i] == doctest::Approx(std::sqrt(s2 * h)).epsilon(1e-7));
      CHECK(p.confidence_high[i] - p.fit[i] == doctest::Approx(t * std::sqrt(s2 * h)).epsilon(1e-7));
      CHECK(p.fit[i] - p.prediction_low[i] == doctest::Approx(t * std::sqrt(s2 * (h + v))).epsilon(1e-7));
    }
  }
}

TEST_CASE("formula, callable, built-in and prepared model give the same bands") {
  const DecayRows d = decay_rows();
  const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 0}});
  const Prediction formula = predict(kDecay, kAt, fit);
  const Prediction prepared = predict(PreparedModel(kDecay), kAt, fit);
  const Prediction builtin = predict(nlsq::model("exp"), kAt, fit);
  auto f = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  };
  const Prediction callable = predict(f, kAt, fit);
  auto plain = [](double x, const std::vector<double>& p) { return p[0] * std::exp(-p[1] * x) + p[2]; };
  const Prediction differenced = predict(plain, kAt, fit);
  for (std::size_t i = 0; i < kAt.size(); ++i) {
    CHECK(formula.confidence_low[i] == prepared.confidence_low[i]);
    CHECK(formula.confidence_low[i] == builtin.confidence_low[i]);
    CHECK(formula.prediction_high[i] == callable.prediction_high[i]);
    CHECK(differenced.confidence_low[i] == doctest::Approx(formula.confidence_low[i]).epsilon(1e-6));
  }
}

TEST_CASE("fixed parameters have no variance, and ties are followed") {
  const DecayRows d = decay_rows();
  FitOptions held;
  held.fixed = {"c"};
  const FitResult fixed = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 1}}, held);
  const Prediction p = predict(kDecay, kAt, fixed, held);
  CHECK(p.standard_error[4] < 1e-5);  // at x = 20 only c is left
  const reference::Model two = [](reference::Real x, const std::vector<reference::Real>& q) {
    return q[0] * std::exp(-q[1] * x) + 1;
  };
  const double h = reference::variance(two, d.x, {}, {fixed.parameters[0], fixed.parameters[1]}, 1.3);
  CHECK(p.standard_error[2] == doctest::Approx(std::sqrt(fixed.chi2_reduced * h)).epsilon(1e-7));

  FitOptions ties;
  ties.ties = {"c = a/5"};
  const FitResult tied = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}}, ties);
  const Prediction q = predict(kDecay, kAt, tied, ties);
  const reference::Model one = [](reference::Real x, const std::vector<reference::Real>& r) {
    return r[0] * std::exp(-r[1] * x) + r[0] / 5;
  };
  const double k = reference::variance(one, d.x, {}, {tied.parameters[0], tied.parameters[1]}, 1.3);
  CHECK(q.standard_error[2] == doctest::Approx(std::sqrt(tied.chi2_reduced * k)).epsilon(1e-7));
}

TEST_CASE("a parameter on a bound is taken as fixed there, and a warning says so") {
  const DecayRows d = decay_rows();
  FitOptions bounded;
  bounded.bounds = {{-INFINITY, -INFINITY, 1.2}, {INFINITY, INFINITY, INFINITY}};
  const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 2}}, bounded);
  REQUIRE(fit.at_bound[2]);
  const Prediction p = predict(kDecay, kAt, fit, bounded);
  FitOptions held;
  held.fixed = {"c"};
  const FitResult fixed = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 1.2}}, held);
  const Prediction q = predict(kDecay, kAt, fixed, held);
  CHECK(p.standard_error[2] == doctest::Approx(q.standard_error[2]).epsilon(1e-6));
  CHECK(mentions(p.warnings, "on a bound"));
  CHECK(q.warnings.empty());
}

TEST_CASE("treated puromycin: far out, the error of the curve is that of Vm") {
  // Bates and Watts (1988), table A1.3. R's nls gives Vm = 212.7 with standard error 6.947.
  const std::vector<double> x = {0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.1, 1.1};
  const std::vector<double> y = {76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200};
  const FitResult fit = curve_fit("Vm*x/(K+x)", x, y, {{"Vm", 200}, {"K", 0.05}});
  const Prediction p = predict("Vm*x/(K+x)", std::vector<double>{1e12}, fit);
  CHECK(p.fit[0] == doctest::Approx(212.7).epsilon(3e-4));
  CHECK(p.standard_error[0] == doctest::Approx(6.947).epsilon(1e-4));
}

TEST_CASE("the band of a linear regression through several predictors and a left side") {
  // log(y) = a + b x1 + c x2 is a linear regression of log(y), and the bands are in units of log(y).
  const std::vector<double> x1 = {1, 2, 3, 4, 5, 6, 7, 8}, x2 = {3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<double> y, logs;
  for (std::size_t i = 0; i < 8; ++i) {
    logs.push_back(0.2 + 0.1 * x1[i] - 0.05 * x2[i] + (i % 2 == 0 ? 0.01 : -0.02));
    y.push_back(std::exp(logs.back()));
  }
  FormulaOptions names;
  names.predictors = {"x1", "x2"};
  const Formula formula = parse_formula("log(y) = a+b*x1+c*x2", names);
  const Columns x({Column(x1), Column(x2)});
  const FitResult by_left = curve_fit(formula, x, y), by_logs = curve_fit("a+b*x1+c*x2", x, logs);
  const Prediction p = predict(formula, x, by_left), q = predict("a+b*x1+c*x2", x, by_logs);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(p.fit[i] == doctest::Approx(q.fit[i]).epsilon(1e-10));
    CHECK(p.prediction_high[i] == doctest::Approx(q.prediction_high[i]).epsilon(1e-9));
    CHECK(p.standard_error[i] > 0);
  }
}

TEST_CASE("counts have the scatter of the model's value, and a band that ends at 0") {
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(i);
    y.push_back(std::round(40 * std::exp(-0.15 * i)));
  }
  FitOptions options;
  options.loss = Loss::poisson();
  const FitResult fit = curve_fit("a*exp(-b*x)", x, y, {{"a", 30}, {"b", 0.1}}, options);
  const std::vector<double> at = {0, 35};
  const Prediction p = predict("a*exp(-b*x)", at, fit, options);
  CHECK(p.quantile == doctest::Approx(1.959963984540054).epsilon(1e-12));
  // The reference is the inverse Fisher information with sigma² = f.
  std::vector<double> root;
  for (const double v : x) root.push_back(std::sqrt(fit.parameters[0] * std::exp(-fit.parameters[1] * v)));
  const reference::Model f = [](reference::Real v, const std::vector<reference::Real>& q) {
    return q[0] * std::exp(-q[1] * v);
  };
  const double h = reference::variance(f, x, root, fit.parameters, 0);
  CHECK(p.standard_error[0] == doctest::Approx(std::sqrt(h)).epsilon(1e-7));
  CHECK(p.prediction_high[0] - p.fit[0] == doctest::Approx(1.959963984540054 * std::sqrt(h + p.fit[0])));
  CHECK(p.prediction_low[1] == 0);
}

TEST_CASE("bands that are not defined are NaN, and a warning says why") {
  const DecayRows d = decay_rows();
  SUBCASE("there are no degrees of freedom") {
    const std::vector<double> x = {0, 1, 2}, y = {6, 3.2, 2};
    const FitResult fit = curve_fit(kDecay, x, y, {{"a", 4}, {"b", 1}, {"c", 0}});
    const Prediction p = predict(kDecay, kAt, fit);
    CHECK(std::isfinite(p.fit[1]));
    CHECK(std::isnan(p.confidence_low[1]));
    CHECK(std::isnan(p.prediction_high[1]));
    CHECK(mentions(p.warnings, "as many parameters as rows"));
  }
  SUBCASE("a parameter that the data do not determine, where the curve depends on it") {
    // At x <= 0 the data say nothing about b, which acts only on positive x.
    std::vector<double> x, y;
    for (int i = 0; i < 10; ++i) x.push_back(-i), y.push_back(3 - i + 0.1 * (i % 3));
    const char* model = "a + b*max(x, 0) + c*min(x, 0)";
    const FitResult fit = curve_fit(model, x, y, {{"a", 1}, {"b", 1}, {"c", 2}});
    REQUIRE(fit.summary.verdict == Verdict::rank_deficient);
    const Prediction p = predict(model, std::vector<double>{-2.5, 2.5}, fit);
    CHECK(p.standard_error[0] > 0);
    CHECK(std::isnan(p.standard_error[1]));
    CHECK(mentions(p.warnings, "in row 2 there is no band"));
  }
  SUBCASE("a model that is not finite") {
    const std::vector<double> x = {1, 2, 3, 4, 5}, y = {0.1, 0.8, 1.0, 1.5, 1.6};
    const FitResult fit = curve_fit("a*log(x)", x, y);
    const Prediction p = predict("a*log(x)", std::vector<double>{1, 2, -1}, fit);
    CHECK(std::isfinite(p.prediction_low[1]));
    CHECK(std::isnan(p.prediction_low[2]));
    CHECK(mentions(p.warnings, "not finite"));
  }
  SUBCASE("sigma of the data that differs by row says nothing of a new row") {
    FitOptions options;
    options.sigma = d.sigma;
    const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 0}}, options);
    const Prediction p = predict(kDecay, kAt, fit, options);
    CHECK(std::isfinite(p.confidence_low[1]));
    CHECK(std::isnan(p.prediction_low[1]));
    CHECK(mentions(p.warnings, "the sigma of the data differs by row"));
  }
  SUBCASE("nor does a sigma_matrix") {
    FitOptions options;
    options.sigma_matrix.assign(d.x.size(), d.x.size());
    for (std::size_t i = 0; i < d.x.size(); ++i) options.sigma_matrix(i, i) = 0.01;
    const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 0}}, options);
    const Prediction p = predict(kDecay, kAt, fit, options);
    CHECK(std::isnan(p.prediction_low[1]));
    CHECK(mentions(p.warnings, "the data have a sigma_matrix"));
  }
  SUBCASE("a robust loss without absolute sigma") {
    FitOptions options;
    options.loss = Loss::huber(0.1);
    const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 0}}, options);
    const Prediction p = predict(kDecay, kAt, fit, options);
    CHECK(p.standard_error[1] > 0);
    CHECK(std::isnan(p.prediction_low[1]));
    CHECK(mentions(p.warnings, "outliers"));
  }
}

TEST_CASE("the same sigma in all rows also holds for a new row") {
  const DecayRows d = decay_rows();
  const std::vector<double> same(d.x.size(), 0.1);
  FitOptions options;
  options.sigma = same;
  const NamedValues p0 = {{"a", 4}, {"b", 1}, {"c", 0}};
  const Prediction p = predict(kDecay, kAt, curve_fit(kDecay, d.x, d.y, p0, options), options);
  const Prediction q = predict(kDecay, kAt, curve_fit(kDecay, d.x, d.y, p0));
  for (std::size_t i = 0; i < kAt.size(); ++i)
    CHECK(p.prediction_low[i] == doctest::Approx(q.prediction_low[i]).epsilon(1e-9));
  CHECK(p.warnings.empty());
}

TEST_CASE("strongly correlated parameters give the right band or none") {
  // This is a cubic far from its origin. The same curve about its centre has the true band.
  for (const double centre : {30.0, 300.0, 3000.0, 30000.0, 300000.0}) {
    CAPTURE(centre);
    std::vector<double> x, u, y;
    for (int i = 0; i <= 20; ++i) {
      u.push_back(0.1 * i - 1);
      x.push_back(centre + u.back());
      y.push_back(std::sin(2 * u.back()) + 0.01 * ((i * 7) % 5));
    }
    const char* model = "a+b*x+c*x^2+d*x^3";
    const FitResult far = curve_fit(model, x, y), near = curve_fit(model, u, y);
    const Prediction p = predict(model, x, far), q = predict(model, u, near);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(p.standard_error[i])) continue;
      CHECK(p.standard_error[i] / q.standard_error[i] == doctest::Approx(1).epsilon(0.01));
    }
    PredictionOptions with_data;
    with_data.data = {Column(x)};
    std::vector<double> sigma;
    for (const double v : u) sigma.push_back(1 + v * v);
    for (const bool weighted : {false, true}) {
      FitOptions options;
      if (weighted) options.sigma = sigma;
      const FitResult fit = curve_fit(model, x, y, {}, options);
      const Prediction r = predict(model, x, fit, options, with_data);
      const Prediction s = predict(model, u, curve_fit(model, u, y, {}, options), options);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (centre < 30000) CHECK(std::isfinite(r.standard_error[i]));
        if (std::isnan(r.standard_error[i])) continue;
        CHECK(r.standard_error[i] / s.standard_error[i] == doctest::Approx(1).epsilon(0.01));
      }
    }
    if (centre == 30) CHECK(std::isfinite(p.standard_error[0]));
    if (std::isnan(p.standard_error[0])) CHECK_FALSE(p.warnings.empty());
  }
}

TEST_CASE("the bands have the same bits on any number of threads") {
  const DecayRows d = decay_rows();
  const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 0}});
  std::vector<double> at;
  for (int i = 0; i < 200000; ++i) at.push_back(1e-4 * i);
  PredictionOptions one, four;
  one.threads = 1;
  four.threads = 4;
  const Prediction p = predict(kDecay, at, fit, {}, one), q = predict(kDecay, at, fit, {}, four);
  CHECK(p.prediction_low == q.prediction_low);
  CHECK(p.standard_error == q.standard_error);
}

TEST_CASE("mistakes are named") {
  const DecayRows d = decay_rows();
  FitOptions options;
  options.sigma = d.sigma;
  const FitResult fit = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 0}}, options);
  PredictionOptions wanted;
  const auto said = [&](const FitOptions& of_fit = {}) {
    return message_of([&] { predict(kDecay, kAt, fit, of_fit, wanted); });
  };
  wanted.confidence = 1;
  CHECK(said() == "confidence = 1: use a number between 0 and 1");
  wanted.confidence = 0.9;
  const std::vector<double> short_sigma = {1, 1}, bad_sigma = {1, 1, 0, 1, 1};
  wanted.sigma = short_sigma;
  CHECK(said().find("the fit had no sigma") != std::string::npos);
  CHECK(said(options).find("has 2 values, x has 5 rows") != std::string::npos);
  wanted.sigma = bad_sigma;
  CHECK(said(options).find("row 3 is 0") != std::string::npos);
  wanted.sigma = Column();
  wanted.data = {Column(bad_sigma)};
  CHECK(said(options).find("one of 5 rows; the fit had 1 predictor(s) of 25 rows") != std::string::npos);
  CHECK(message_of([&] { predict("a*x", kAt, fit); }).find("the model has the parameters a,") !=
        std::string::npos);
  CHECK_THROWS_AS(predict(kDecay, std::vector<double>{}, fit), DataError);
  CHECK_THROWS_AS(predict(kDecay, std::vector<double>{1, NAN}, fit), DataError);
}
