// Tests profiles whose fits with a fixed parameter may stay in another minimum, or jump over values that the
// data reject. Most expected ends are from profiles on dense grids, with linear parameters eliminated.
#include <nlsq/curve_fit.hpp>
#include <nlsq/prediction.hpp>
#include <nlsq/profile_intervals.hpp>

#include <doctest/doctest.h>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// These are twelve rows of a growth curve, with noise.
const std::vector<double> kDay{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
const std::vector<double> kGrown{1.1,   1.24,  2.133, 2.632, 2.81,  3.943,
                                 4.056, 4.527, 5.043, 4.798, 4.562, 4.726};
const std::vector<double> kDose{0.3, 1.829, 3.357, 4.886, 6.414, 7.943, 9.471, 11.0};
const std::vector<double> kResponse{1.856, 3.49, 3.302, 4.802, 4.645, 4.897, 5.752, 5.13};

ProfileInterval interval_of(const Model& model, const std::vector<double>& x, const std::vector<double>& y,
                            const std::string& parameter) {
  const FitResult fit = curve_fit(model, x, y);
  REQUIRE(fit.success());
  IntervalOptions wanted;
  wanted.parameters = {parameter};
  return profile_intervals(model, x, y, fit, {}, wanted).intervals.front();
}

}  // namespace

TEST_CASE("an end is where the lowest of the held fits rises, not where another minimum begins") {
  const ProfileInterval growth = interval_of(model("weibull_growth"), kDay, kGrown, "c");
  CHECK(growth.lower == doctest::Approx(0.009048).epsilon(1e-4));  // once this was the estimate itself
  CHECK(growth.upper == doctest::Approx(0.169862).epsilon(1e-5));
  const ProfileInterval ratio = interval_of(model("rational11"), kDose, kResponse, "a1");
  CHECK(ratio.lower == doctest::Approx(0.23306).epsilon(1e-4));
  CHECK(ratio.upper == doctest::Approx(9.78103).epsilon(1e-5));
}

// Where K passes 0 the curve is flat. Beyond that, the first row rises to a pole at K = -0.5.
TEST_CASE("no step leaps over what lies just behind 0") {
  const std::vector<double> dose{0.5, 1.17, 1.83, 2.5, 3.17, 3.83, 4.5};
  const std::vector<double> rate{0.15, 0.13, 1.5, 0.64, 1.26, 0.49, 0.74};
  const auto of_k = [](const std::vector<double>& x, const std::vector<double>& y, double k) {
    const FitResult fit = curve_fit("v*x/(k+x)", x, y, {{"v", 2}, {"k", k}});
    REQUIRE(fit.success());
    IntervalOptions wanted;
    wanted.parameters = {"k"};
    return profile_intervals("v*x/(k+x)", x, y, fit, {}, wanted).intervals.front();
  };
  CHECK(of_k(dose, rate, 1).lower == doctest::Approx(-0.3197457).epsilon(1e-5));  // once -1.84
  const std::vector<double> other{0.5, 1.3, 2.1, 2.9, 3.7, 4.5}, slow{0.92, 0.59, 0.47, 1.12, 1.46, 1.56};
  CHECK(of_k(other, slow, 7).lower == doctest::Approx(-0.2719473).epsilon(1e-5));  // once -infinity
}

// A search with steps as long as the standard interval ended in another peak, or went on behind it.
TEST_CASE("intervals of a peak grow with the confidence") {
  const std::vector<double> x{0.0291, 0.0652, 0.3002, 0.3819, 0.3974, 0.4002, 0.4350, 0.4491, 0.5293, 0.5311,
                              0.5708, 0.6327, 0.6690, 0.7518, 0.8484, 0.8584, 0.8721, 0.8967, 0.9112, 0.9961},
      y{0.189, 0.503, 1.090, 1.453, 2.250, 0.790, 2.151, 1.509, 1.278, 0.404,
        1.243, 1.554, 0.697, 0.273, 0.152, 0.802, 0.715, 1.381, 0.415, 0.899};
  const char* const peak = "h*exp(-(x-m)^2/(2*s^2))+c";
  const FitResult fit = curve_fit(peak, x, y, {{"h", 1}, {"m", 0.4}, {"s", 0.1}, {"c", 0.6}});
  REQUIRE(fit.success());
  IntervalOptions wanted;
  wanted.parameters = {"h"};
  double lower = fit.parameters[0], upper = lower;
  for (const double confidence : {0.5, 0.8, 0.95, 0.98, 0.99}) {
    CAPTURE(confidence);
    wanted.confidence = confidence;
    const ProfileInterval of_h = profile_intervals(peak, x, y, fit, {}, wanted).intervals.front();
    CHECK(of_h.lower < lower);
    CHECK(of_h.upper >= upper);  // infinite from 98 % on
    lower = of_h.lower, upper = of_h.upper;
  }
  CHECK(upper == std::numeric_limits<double>::infinity());
}

// Five rows of a wave. τ first passes t at f = 2.37, and then again and again, up to 747.
TEST_CASE("an interval ends where the profile first rises, not behind a rise") {
  const std::vector<double> x{0.012224, 0.231703, 0.473337, 0.661095, 0.689437},
      y{0.944086, -0.476831, 0.900968, -0.535521, -0.319198};
  const char* const wave = "a*sin(w*x+f)";
  const std::vector<double> sigma(x.size(), 0.1583);
  FitOptions options;
  options.sigma = sigma;
  const FitResult fit = curve_fit(wave, x, y, {{"a", 1}, {"w", 13.6536}, {"f", 0.71732}}, options);
  REQUIRE(fit.success());
  IntervalOptions wanted;
  wanted.parameters = {"f"};
  wanted.confidence = 0.6827;
  const ProfileInterval of_f = profile_intervals(wave, x, y, fit, options, wanted).intervals.front();
  CHECK(of_f.lower == doctest::Approx(0.2577).epsilon(1e-3));
  CHECK(of_f.upper == doctest::Approx(2.374).epsilon(1e-3));
}

TEST_CASE("if the data determine r of n parameters, statistics are those of r parameters") {
  const std::vector<double> x{1, 2, 3, 4, 5}, y{2.1, 3.9, 6.2, 7.8, 10.1};
  const NamedValues start{{"a", 1}, {"b", 0}, {"c", 0}};
  const FitResult whole = curve_fit("a*x+b", x, y), split = curve_fit("a*x+b+c", x, y, start);
  REQUIRE(split.summary.verdict == Verdict::rank_deficient);
  CHECK(split.dof == whole.dof);  // once 2, one less
  CHECK(split.chi2_reduced == doctest::Approx(whole.chi2_reduced));
  CHECK(split.aic == doctest::Approx(whole.aic));
  CHECK(split.bic == doctest::Approx(whole.bic));
  CHECK(split.standard_errors[0] == doctest::Approx(whole.standard_errors[0]));
  IntervalOptions wanted;
  wanted.parameters = {"a"};
  const auto of_a = [&](const char* model, const FitResult& fit) {
    return profile_intervals(model, x, y, fit, {}, wanted).intervals.front();
  };
  CHECK(of_a("a*x+b+c", split).lower == doctest::Approx(of_a("a*x+b", whole).lower));
  FitOptions robust;
  robust.loss = Loss::huber(0.1);
  CHECK(curve_fit("a*x+b+c", x, y, start, robust).standard_errors[0] ==
        doctest::Approx(curve_fit("a*x+b", x, y, {}, robust).standard_errors[0]));
}

TEST_CASE("a loss whose scale most residuals exceed says that its standard errors do not hold") {
  std::vector<double> large;
  for (const double y : kGrown) large.push_back(1e4 * y);
  FitOptions options;
  options.loss = Loss::huber(1);
  const auto warned = [](const FitResult& fit) {
    return std::ranges::any_of(fit.warnings, [](const std::string& w) {
      return w.find("are beyond the scale of the loss, 1") != std::string::npos;
    });
  };
  CHECK(warned(curve_fit(model("linear"), kDay, large, {}, options)));
  CHECK_FALSE(warned(curve_fit(model("linear"), kDay, kGrown, {}, options)));
}
