// Tests confidence bands by profile likelihood.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"
#include "solver/prediction/decay_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace nlsq;

namespace {

const NamedValues kStart = {{"a", 4}, {"b", 1}, {"c", 0}};
const std::vector<double> kAt = {0, 1.3, 4};

}  // namespace

TEST_CASE("for a linear model the profile band is the standard band") {
  const std::vector<double> x = {1, 2, 3, 4, 6}, y = {2.1, 3.9, 6.2, 7.8, 12.3};
  const FitResult fit = curve_fit("a+b*x", x, y);
  const Prediction p = predict("a+b*x", kAt, fit), q = predict_by_profile("a+b*x", x, y, kAt, fit);
  for (std::size_t i = 0; i < kAt.size(); ++i) {
    CHECK(q.confidence_low[i] == doctest::Approx(p.confidence_low[i]).epsilon(1e-6));
    CHECK(q.confidence_high[i] == doctest::Approx(p.confidence_high[i]).epsilon(1e-6));
    CHECK(q.prediction_low[i] == doctest::Approx(p.prediction_low[i]).epsilon(1e-6));
    CHECK(q.prediction_high[i] == doctest::Approx(p.prediction_high[i]).epsilon(1e-6));
  }
  CHECK(q.fits > 0);
  CHECK(q.warnings.empty());
}

TEST_CASE("for a nonlinear model it is the profile of the curve's value as a parameter") {
  const DecayRows d = decay_rows();
  for (const bool weighted : {false, true}) {
    CAPTURE(weighted);
    FitOptions options;
    if (weighted) options.sigma = d.sigma;
    const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart, options);
    const Prediction p = predict_by_profile(kDecay, d.x, d.y, kAt, fit, options);
    // f(1.3) is the parameter f here, so a = (f - c) exp(1.3 b).
    const char* model = "(f-c)*exp(b*(1.3-x))+c";
    const FitResult other = curve_fit(model, d.x, d.y, {{"f", 2}, {"c", 1}, {"b", 1}}, options);
    IntervalOptions only;
    only.parameters = {"f"};
    const ProfileInterval f = profile_intervals(model, d.x, d.y, other, options, only).intervals[0];
    CHECK(p.confidence_low[1] == doctest::Approx(f.lower).epsilon(1e-6));
    CHECK(p.confidence_high[1] == doctest::Approx(f.upper).epsilon(1e-6));
  }
}

TEST_CASE("the prediction band adds one observation on each side") {
  const DecayRows d = decay_rows();
  const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart);
  const Prediction p = predict_by_profile(kDecay, d.x, d.y, kAt, fit);
  for (std::size_t i = 0; i < kAt.size(); ++i) {
    const double up = p.confidence_high[i] - p.fit[i], down = p.fit[i] - p.confidence_low[i];
    const double one = p.quantile * p.quantile * fit.chi2_reduced;
    CHECK(p.prediction_high[i] == doctest::Approx(p.fit[i] + std::sqrt(up * up + one)).epsilon(1e-12));
    CHECK(p.prediction_low[i] == doctest::Approx(p.fit[i] - std::sqrt(down * down + one)).epsilon(1e-12));
  }
}

TEST_CASE("the bits do not depend on the number of threads") {
  const DecayRows d = decay_rows();
  const FitResult fit = curve_fit(kDecay, d.x, d.y, kStart);
  PredictionOptions one, four;
  one.threads = 1;
  four.threads = 4;
  const Prediction p = predict_by_profile(kDecay, d.x, d.y, kAt, fit, {}, one);
  const Prediction q = predict_by_profile(kDecay, d.x, d.y, kAt, fit, {}, four);
  CHECK(p.confidence_low == q.confidence_low);
  CHECK(p.confidence_high == q.confidence_high);
}

TEST_CASE("a callable has a profile band, too, and fixed parameters stay fixed") {
  const DecayRows d = decay_rows();
  auto f = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  };
  FitOptions held;
  held.fixed = {"p2"};
  const FitResult fit = curve_fit(f, d.x, d.y, {4.0, 1.0, 1.0}, held);
  const PreparedModel model(make_model_function(f), Columns(d.x), fit.parameters);
  const Prediction p = predict_by_profile(model, d.x, d.y, kAt, fit, held);
  FitOptions by_name;
  by_name.fixed = {"c"};
  const FitResult same = curve_fit(kDecay, d.x, d.y, {{"a", 4}, {"b", 1}, {"c", 1}}, by_name);
  const Prediction q = predict_by_profile(kDecay, d.x, d.y, kAt, same, by_name);
  for (std::size_t i = 0; i < kAt.size(); ++i)
    CHECK(p.confidence_low[i] == doctest::Approx(q.confidence_low[i]).epsilon(1e-6));
}

TEST_CASE("bands that do not exist are refused") {
  const DecayRows d = decay_rows();
  FitOptions counts;
  counts.loss = Loss::poisson();
  std::vector<double> y;
  for (const double v : d.y) y.push_back(std::round(10 * v));
  const FitResult fit = curve_fit(kDecay, d.x, y, {{"a", 40}, {"b", 1}, {"c", 5}}, counts);
  CHECK(contains(message_of([&] { predict_by_profile(kDecay, d.x, y, kAt, fit, counts); }), "for counts"));
  FitOptions errors;
  const std::vector<double> sx(d.x.size(), 0.01);
  errors.sigma = d.sigma;
  errors.sigma_x = {Column(sx)};
  const FitResult with_x = curve_fit(kDecay, d.x, d.y, kStart, errors);
  CHECK(contains(message_of([&] { predict_by_profile(kDecay, d.x, d.y, kAt, with_x, errors); }),
                 "errors in x"));
}

TEST_CASE("where the curve is fixed, a new measurement scatters to both sides") {
  const std::vector<double> x = {0.02, 0.06, 0.11, 0.22, 0.56, 1.1}, y = {60, 100, 130, 155, 190, 205};
  const char* model = "a*x/(b+x)";
  const FitResult fit = curve_fit(model, x, y, {{"a", 200}, {"b", 0.1}});
  REQUIRE(fit.success());
  const std::vector<double> at = {0, 0.5};
  const Prediction band = predict_by_profile(model, x, y, at, fit);
  CHECK(band.confidence_low[0] == 0);
  CHECK(band.confidence_high[0] == 0);
  CHECK(band.prediction_low[0] < 0);
  CHECK(band.prediction_low[0] == doctest::Approx(-band.prediction_high[0]));
}
