// Tests profiles whose fits with a fixed parameter may stay in another minimum, or jump over values that the
// data reject. Most expected ends are from profiles on dense grids, with linear parameters eliminated.
#include <nlsq/curve_fit.hpp>
#include <nlsq/derived.hpp>
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

// Once the lower end of s was -2.44, that of a -inf, and the upper ends of a0 and w were inf and 3.7.
TEST_CASE("a quantity that is a parameter has the interval of this parameter") {
  struct Data {
    const char* model;
    NamedValues start;
    std::vector<double> x, y;
    std::vector<std::string> parameters;  // whose intervals are compared
  };
  const Data all[] = {
      {"h*exp(-(x-m)^2/(2*s^2))+c",
       {{"h", 2}, {"m", 0.3}, {"s", 0.5}, {"c", 0.4}},
       {1.447, -0.576, -0.903, 1.86, -1.863, 1.68, -0.706, 1.566, 1.654, 0.764, 0.725, -0.688, 0.822, 0.936,
        1.262, -1.113, -1.306},
       {1.368, 1.505, 1.214, -0.406, -0.092, 0.564, 0.261, 0.64, 1.153, 2.521, 2.334, 0.619, 1.63, 1.365,
        0.195, 0.831, 1.072},
       {"h", "m", "s", "c"}},
      {"(a0+a1*x)/(1+b1*x)",
       {{"a0", 1}, {"a1", 2}, {"b1", 0.5}},
       {4.442, 2.089, 3.221, 4.743, 3.117, 4.51, 1.798},
       {3.093, 2.644, 2.832, 3.067, 2.792, 3.067, 2.423},
       {"a0", "a1", "b1"}},
      {"a*exp(-b*x)+c",
       {{"a", 3}, {"b", 0.7}, {"c", 0.5}},
       {3.477, 5.761, 2.469, 5.764, 1.55, 4.635, 2.6, 2.119, 4.284, 1.263, 1.833},
       {-0.302, 0.386, 1.481, 0.229, 2.959, 0.826, 1.094, 1.127, 0.083, 1.212, 1.605},
       {"a", "b", "c"}},
      {"a*sin(w*x+f)",
       {{"a", 1}, {"w", 2}, {"f", 0.4}},
       {0.688, 3.654, 3.815, 4.363, 4.312, 4.362},
       {0.516, 1.04, 0.929, 0.142, 0.576, 0.885},
       {"a", "w"}},
  };
  for (const Data& data : all) {
    CAPTURE(data.model);
    const FitResult fit = curve_fit(data.model, data.x, data.y, data.start);
    REQUIRE(fit.success());
    IntervalOptions wanted;
    wanted.parameters = data.parameters;
    std::vector<std::string> texts;
    for (const std::string& name : data.parameters) texts.push_back("q_" + name + " = " + name);
    const auto of_parameters = profile_intervals(data.model, data.x, data.y, fit, {}, wanted).intervals;
    const auto derived = derive_by_profile(data.model, data.x, data.y, fit, texts);
    for (std::size_t j = 0; j < derived.size(); ++j) {
      CAPTURE(data.parameters[j]);
      const auto same = [](double a, double b) { return a == b || a == doctest::Approx(b).epsilon(1e-4); };
      CHECK(same(derived[j].ci_low, of_parameters[j].lower));
      CHECK(same(derived[j].ci_high, of_parameters[j].upper));
    }
  }
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
