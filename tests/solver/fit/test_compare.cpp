// Tests the ranking of models: information criteria and tests by hand, which models are nested, and what
// never wins.
#include <nlsq/compare.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace nlsq;

namespace {

// Computed by hand: constant 5, rss 38.9; slope 1.97, rss 0.091; with the contrast (2,-1,-2,-1,2), rss 0.091
// - 0.25/14.
const std::vector<double> kX = {0, 1, 2, 3, 4}, kY = {1, 3.1, 4.9, 7.2, 8.8};
const double kRss0 = 38.9, kRss1 = 0.091, kRss2 = 0.091 - 0.25 / 14;

Nesting nesting_of(const char* smaller, const char* larger) { return nesting(model(smaller), model(larger)); }

const ModelFit& of(const ModelComparison& c, const std::string& name) {
  for (const ModelFit& m : c.models) {
    if (m.name == name) return m;
  }
  throw std::runtime_error(name);
}

const NestedTest& test_of(const ModelComparison& c, const std::string& smaller, const std::string& larger) {
  for (const NestedTest& t : c.tests) {
    if (c.models[t.smaller].name == smaller && c.models[t.larger].name == larger) return t;
  }
  throw std::runtime_error(smaller + " in " + larger);
}

std::vector<double> decay_with_scatter(const std::vector<double>& x) {
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(3 * std::exp(-0.5 * x[i]) + 1 + 0.01 * (static_cast<double>((i * 7919) % 13) / 6 - 1));
  return y;
}

}  // namespace

TEST_CASE("AIC, AICc and BIC count the variance as a parameter: numbers by hand") {
  const ModelComparison c = compare({"constant", "linear"}, {kX}, kY);
  const FitResult &constant = *of(c, "constant").fit, &linear = *of(c, "linear").fit;
  CHECK(linear.rss == doctest::Approx(kRss1).epsilon(1e-12));
  // AIC is m ln(rss/m) + 2k with k = 3 (slope, intercept and variance) and m = 5.
  const double log_term = 5 * std::log(kRss1 / 5);
  CHECK(log_term == doctest::Approx(-20.0316684245).epsilon(1e-10));
  CHECK(linear.aic == doctest::Approx(log_term + 6).epsilon(1e-12));
  CHECK(linear.bic == doctest::Approx(log_term + 3 * std::log(5.0)).epsilon(1e-12));
  CHECK(aicc(linear) == doctest::Approx(log_term + 6 + 2 * 3 * 4 / 1.0).epsilon(1e-12));
  CHECK(aicc(constant) == doctest::Approx(5 * std::log(kRss0 / 5) + 4 + 2 * 2 * 3 / 2.0).epsilon(1e-12));
  // lmfit and many SciPy programs leave the variance out, so AIC is less by 2, and BIC by ln m.
  const double lmfit_aic = 5 * std::log(kRss1 / 5) + 2 * 2,
               lmfit_bic = 5 * std::log(kRss1 / 5) + std::log(5.0) * 2;
  CHECK(linear.aic - lmfit_aic == doctest::Approx(2).epsilon(1e-10));
  CHECK(linear.bic - lmfit_bic == doctest::Approx(std::log(5.0)).epsilon(1e-10));
}

TEST_CASE("Akaike weights are those of AICc, and add up to 1") {
  const ModelComparison c = compare({"constant", "linear"}, {kX}, kY);
  REQUIRE(c.has_best());
  CHECK(c.models[0].name == "linear");
  const double ratio = std::exp(-0.5 * (c.models[1].aicc - c.models[0].aicc));
  CHECK(c.models[1].weight / c.models[0].weight == doctest::Approx(ratio).epsilon(1e-12));
  CHECK(c.models[0].weight + c.models[1].weight == doctest::Approx(1).epsilon(1e-14));
}

TEST_CASE("F-tests by hand, where the distribution has a closed form") {
  const ModelComparison c = compare({"poly2", "constant", "linear"}, {kX}, kY);
  // For F(1, 2), p = 1 - sqrt(F/(2 + F)). For F(2, 2), p = 1/(1 + F).
  const NestedTest& one = test_of(c, "linear", "poly2");
  const double f1 = (kRss1 - kRss2) / (kRss2 / 2);
  CHECK(one.statistic == doctest::Approx(f1).epsilon(1e-9));
  CHECK(one.p_value == doctest::Approx(1 - std::sqrt(f1 / (2 + f1))).epsilon(1e-9));
  const NestedTest& two = test_of(c, "constant", "poly2");
  const double f2 = (kRss0 - kRss2) / 2 / (kRss2 / 2);
  CHECK(two.dof == 2);
  CHECK(two.dof_larger == 2);
  CHECK(two.p_value == doctest::Approx(1 / (1 + f2)).epsilon(1e-9));
  CHECK_FALSE(two.approximate);
  CHECK(c.tests.size() == 3);
  CHECK(c.unknown.empty());
  // With two rows more than parameters there is no AICc, because k = 4 and m = 5.
  CHECK(std::isnan(of(c, "poly2").aicc));
  CHECK(c.models.back().name == "poly2");
}

TEST_CASE("with absolute sigmas the difference of chi-squares is tested") {
  FitOptions options;
  const std::vector<double> sigma(5, 0.2);
  options.sigma = sigma;
  options.absolute_sigma = true;
  const ModelComparison c = compare({"linear", "poly2"}, {kX}, kY, options);
  const NestedTest& t = test_of(c, "linear", "poly2");
  CHECK(t.chi_square);
  const double difference = (kRss1 - kRss2) / 0.04;
  CHECK(t.statistic == doctest::Approx(difference).epsilon(1e-9));
  CHECK(t.p_value ==
        doctest::Approx(std::erfc(std::sqrt(difference / 2))).epsilon(1e-9));  // for one degree of freedom
}

TEST_CASE("the comparison knows which models are nested") {
  for (const auto& [smaller, larger] :
       std::vector<std::pair<const char*, const char*>>{{"constant", "linear"},
                                                        {"linear", "poly2"},
                                                        {"poly3", "poly9"},
                                                        {"exp0", "exp"},
                                                        {"exp", "stretched_exp"},
                                                        {"exp_rise", "weibull_growth"},
                                                        {"power", "power_offset"},
                                                        {"linear", "power_offset"},
                                                        {"gaussian", "pseudo_voigt"},
                                                        {"lorentzian_area", "moffat"},
                                                        {"sine", "damped_sine"},
                                                        {"logistic4", "logistic5"},
                                                        {"michaelis_menten", "logistic4"},
                                                        {"langmuir", "rational11"},
                                                        {"rational11", "rational22"},
                                                        {"gaussian2d", "gaussian2d_rotated"},
                                                        {"gaussian", "gaussian + linear"},
                                                        {"constant", "log"},
                                                        {"exp0", "weibull_pdf"}}) {
    CAPTURE(smaller);
    CAPTURE(larger);
    CHECK(nesting_of(smaller, larger) == Nesting::nested);
    CHECK(nesting_of(larger, smaller) == Nesting::unknown);
  }
  for (const auto& [smaller, larger] :
       std::vector<std::pair<const char*, const char*>>{{"exp", "biexp"},
                                                        {"constant", "exp"},
                                                        {"gaussian", "gaussian2"},
                                                        {"gaussian", "voigt"},
                                                        {"gaussian + linear", "2*gaussian + linear"},
                                                        {"linear", "gaussian + linear"},
                                                        {"gaussian", "skew_gaussian"},
                                                        {"exp", "exp0 + exp"}}) {
    CAPTURE(smaller);
    CAPTURE(larger);
    CHECK(nesting_of(smaller, larger) == Nesting::nested_irregular);
  }
  for (const auto& [a, b] :
       std::vector<std::pair<const char*, const char*>>{{"exp", "exp_rise"},
                                                        {"gaussian", "gaussian_area"},
                                                        {"pearson7", "moffat"},
                                                        {"logistic", "fermi"},
                                                        {"exp0 + constant", "exp"},
                                                        {"2*gaussian", "gaussian2"},
                                                        {"2*exp0 + constant", "biexp"}}) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(nesting_of(a, b) == Nesting::same_curve);
    CHECK(nesting_of(b, a) == Nesting::same_curve);
  }
  CHECK(nesting_of("gaussian", "lorentzian2") == Nesting::unknown);
  CHECK(nesting_of("exp", "gaussian2d") == Nesting::unknown);
  CHECK(nesting_of("biexp", "stretched_exp") == Nesting::unknown);
}

// Draws a smaller model's curve and fits the larger one to it. No residual may be left.
TEST_CASE("a model that is nested by the table can be fitted exactly by the larger one") {
  for (const auto& [smaller, larger] :
       std::vector<std::pair<const char*, const char*>>{{"exp", "stretched_exp"},
                                                        {"exp_rise", "weibull_growth"},
                                                        {"linear", "power_offset"},
                                                        {"gaussian", "pseudo_voigt"},
                                                        {"lorentzian", "pseudo_voigt"},
                                                        {"lorentzian", "moffat"},
                                                        {"lorentzian", "pearson7"},
                                                        {"logistic4", "logistic5"},
                                                        {"michaelis_menten", "logistic4"},
                                                        {"michaelis_menten", "rational11"},
                                                        {"linear", "rational11"},
                                                        {"rational11", "rational22"},
                                                        {"exp0", "weibull_pdf"},
                                                        {"logistic", "fermi"}}) {
    CAPTURE(smaller);
    CAPTURE(larger);
    const Model& m = model(smaller);
    std::vector<double> x, values;
    for (int i = 1; i <= 40; ++i) x.push_back(m.trial_x.low + (m.trial_x.high - m.trial_x.low) * i / 41);
    for (const TrialRange& r : m.trials)
      values.push_back(r.logarithmic ? std::copysign(std::sqrt(r.low * r.high), r.low)
                                     : 0.4 * r.low + 0.6 * r.high);
    const std::vector<double> y = evaluate(m, {x}, values).values;
    FitOptions options;
    options.starts = 8;
    const FitResult fit = curve_fit(model(larger), {x}, y, {}, options);
    CHECK(fit.rss <= 1e-10 * curve_fit(model("constant"), {x}, y).rss);
  }
}

TEST_CASE("formulas are recognised as built-in models, and others are said to be unknown") {
  std::vector<double> x;
  for (int i = 0; i < 30; ++i) x.push_back(0.3 * i);
  const std::vector<double> y = decay_with_scatter(x);
  const ModelComparison c = compare({"A*exp(-x/T)+B", "stretched_exp", "q/(1+w*x)+v*x"}, {x}, y);
  CHECK(test_of(c, "A*exp(-x/T)+B", "stretched_exp").p_value > 1e-3);
  CHECK(c.unknown.size() == 2);
}

TEST_CASE("a model that fails is listed with its reason and never wins") {
  const ModelComparison c = compare({"poly9", "linear", "a*log(x-100)"}, {kX}, kY);
  REQUIRE(c.models.size() == 3);
  CHECK(c.models[0].name == "linear");
  CHECK(c.models[0].weight == 1);
  CHECK_FALSE(of(c, "poly9").success());
  CHECK(of(c, "poly9").error.find("rows") != std::string::npos);
  CHECK_FALSE(of(c, "a*log(x-100)").success());
  CHECK(c.tests.empty());
  const ModelComparison none = compare({"poly9", "a*log(x-100)"}, {kX}, kY);
  CHECK_FALSE(none.has_best());
}

TEST_CASE("fixed parameters make no test") {
  FitOptions options;
  options.fixed = {"b"};
  std::vector<ModelFit> fits(2);
  fits[0] = {"linear", &model("linear"), curve_fit(model("linear"), {kX}, kY, {{"b", 1.0}}, options)};
  fits[1] = {"poly2", &model("poly2"), curve_fit(model("poly2"), {kX}, kY)};
  const ModelComparison c = rank_models(fits);
  CHECK(std::isnan(test_of(c, "linear", "poly2").p_value));
  CHECK(of(c, "linear").parameters == 1);
}

TEST_CASE("a model with undetermined parameters counts those that the data determine") {
  const ModelComparison c = compare({"linear", "linear + linear", "constant"}, kX, kY);
  const ModelFit &line = of(c, "linear"), &twice = of(c, "linear + linear");
  REQUIRE(twice.success());
  CHECK(twice.fit->summary.verdict == Verdict::rank_deficient);
  CHECK(twice.parameters == line.parameters);
  CHECK(twice.aicc == doctest::Approx(line.aicc).epsilon(1e-9));
  CHECK(c.models.front().name == "linear");
  for (const NestedTest& t : c.tests) {
    const bool names_it = c.models[t.larger].name == twice.name || c.models[t.smaller].name == twice.name;
    CHECK(t.note.empty() != names_it);
  }
}

TEST_CASE("a formula that adds names and multiples of them is no sum of built-in models") {
  const ModelComparison c = compare({"a+0*x", "a+2*x"}, kX, kY);
  REQUIRE(of(c, "a+2*x").fit.has_value());
  CHECK(of(c, "a+2*x").fit->parameters[0] == doctest::Approx(1.0));  // this is the mean of y - 2 x
  CHECK(of(c, "a+0*x").fit->parameters[0] == doctest::Approx(5.0));
}

TEST_CASE("models without predictors: their rows are those of y") {
  const ModelComparison c = compare({"a*1", "exp(q)"}, {}, kY);
  REQUIRE(c.models.size() == 2);
  for (const ModelFit& m : c.models) {
    CAPTURE(m.name);
    CAPTURE(m.error);
    REQUIRE(m.success());
    CHECK(m.fit->rows == kY.size());
    CHECK(m.fit->rss == doctest::Approx(kRss0).epsilon(1e-12));
    CHECK(m.weight == doctest::Approx(0.5));
  }
  CHECK(of(c, "a*1").fit->parameters[0] == doctest::Approx(5).epsilon(1e-14));
}

TEST_CASE("without a column of x, a model that needs one says so") {
  const ModelComparison c = compare({"a*1", "linear"}, {}, kY);
  REQUIRE(c.has_best());
  CHECK(c.models[0].name == "a*1");
  CHECK_FALSE(of(c, "linear").success());
  CHECK(of(c, "linear").error.find("0 data column(s) of x were given") != std::string::npos);
  CHECK_THROWS_WITH_AS(compare({"a*x+b"}, {}, kY),
                       "the model names x, and no data column of x was given: give one, or rename it if it "
                       "is a parameter",
                       DataError);
  CHECK_THROWS_AS(curve_fit("a*x+b", {}, kY), DataError);
  CHECK_THROWS_AS(compare({"a"}, {}, kY), ValidationError);  // one name is that of a built-in model
}

TEST_CASE("models that cannot be compared are refused") {
  FitOptions robust;
  robust.loss = Loss::huber(0.1);
  CHECK_THROWS_AS(compare({"linear", "poly2"}, {kX}, kY, robust), ValidationError);
  CHECK_THROWS_AS(compare({}, {kX}, kY), ValidationError);
  CHECK_THROWS_AS(compare({"linear", "log(y)=a*x"}, {kX}, kY), ValidationError);
  CHECK_THROWS_AS(compare({"lineaar"}, {kX}, kY), ValidationError);
  std::vector<ModelFit> fits(2);
  fits[0] = {"linear", nullptr, curve_fit(model("linear"), {kX}, kY)};
  const std::vector<double> fewer_x(kX.begin(), kX.end() - 1), fewer_y(kY.begin(), kY.end() - 1);
  fits[1] = {"poly2", nullptr, curve_fit(model("poly2"), {fewer_x}, fewer_y)};
  CHECK_THROWS_AS(rank_models(fits), ValidationError);
}

// Rounding errors decided: a parabola was best, and an F-test of the line had p = 9e-7.
TEST_CASE("of models that leave only rounding errors, the one with the fewest parameters is first") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.1 * i);
    y.push_back(2.49 * x.back() + 0.11);
  }
  const ModelComparison c = compare({"poly3", "poly2", "linear", "exp"}, x, y);
  CHECK(c.models[0].name == "linear");
  CHECK(c.models[1].name == "poly2");
  CHECK(c.models[2].name == "poly3");
  for (const NestedTest& t : c.tests) {
    CAPTURE(t.note);
    if (c.models[t.smaller].name == "linear" || c.models[t.smaller].name == "poly2")
      CHECK(std::isnan(t.p_value));
    CHECK(t.note.find("another minimum") == std::string::npos);
  }
  REQUIRE(c.warnings.size() == 1);
  CHECK(c.warnings[0].find("leaves no residual") != std::string::npos);
  // Noise of the size of last digits of 1e6 is no rounding of numbers near 1.
  for (int i = 0; i < 40; ++i) y[static_cast<std::size_t>(i)] += 1e-10 * ((i * 7) % 5 - 2);
  CHECK(compare({"poly2", "linear"}, x, y).warnings.empty());
}
