// Tests sums of built-in models: their formulas and names, and how often a fit from the guess reaches the
// best minimum known. Also tests formulas that are equivalent to built-in models.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/model_sum.hpp"
#include "models/recognise.hpp"
#include "trials.hpp"

using nlsq::model;

namespace {

std::string message_of(const char* text) {
  try {
    model(text);
  } catch (const nlsq::ValidationError& e) {
    return e.what();
  }
  return "";
}

double cost_from(const nlsq::Model& sum, const trials::Data& data, const std::vector<double>& start) {
  nlsq::NamedValues p0;
  for (std::size_t j = 0; j < start.size(); ++j) p0.emplace_back(sum.parameters[j], start[j]);
  nlsq::FitOptions options;
  options.max_iterations = 300;
  const nlsq::FitResult fit = nlsq::curve_fit(sum, data.x[0], data.y, p0, options);
  return std::isfinite(fit.summary.final_cost) ? fit.summary.final_cost : 1e300;
}

// Peaks that nearly coincide are one peak; no guess can tell them apart. So such draws are not counted.
bool peaks_overlap(const nlsq::Model& sum, const std::vector<double>& truth) {
  std::vector<double> places, widths;
  for (std::size_t j = 0; j + 1 < truth.size(); ++j) {
    const std::string &name = sum.parameters[j], &next = sum.parameters[j + 1];
    const bool place = name.ends_with("_mu") || name.ends_with("_x0");
    if (!place || !(next.ends_with("_sigma") || next.ends_with("_gamma"))) continue;  // a step has no width
    places.push_back(truth[j]);
    widths.push_back(std::fabs(truth[j + 1]));
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (std::fabs(places[i] - places[k]) < 1.5 * (widths[i] + widths[k])) return true;
  return false;
}

}  // namespace

TEST_CASE("a sum has labels, prefixes, and one constant") {
  const nlsq::Model& sum = model(" gaussian + 2*lorentzian+linear ");
  CHECK(sum.formula ==
        "g1_h*exp(-(x-g1_mu)^2/(2*g1_sigma^2))+l1_h/(1+((x-l1_x0)/l1_gamma)^2)+"
        "l2_h/(1+((x-l2_x0)/l2_gamma)^2)+l3_a*x+c");
  CHECK(sum.parameters == std::vector<std::string>{"g1_h", "g1_mu", "g1_sigma", "l1_h", "l1_x0", "l1_gamma",
                                                   "l2_h", "l2_x0", "l2_gamma", "l3_a", "c"});
  CHECK(sum.meaning.size() == sum.parameters.size());
  CHECK(sum.description == "g1 = gaussian, l1 = lorentzian, l2 = lorentzian, l3 = linear");
  REQUIRE(sum.terms.size() == 4);
  CHECK(sum.terms[2].label == "l2");
  CHECK(sum.terms[3].formula == "l3_a*x");
  CHECK(&model(" gaussian + 2*lorentzian+linear ") == &sum);
  CHECK(model("exp0+constant").formula == "e1_a*exp(-e1_b*x)+c");
  CHECK(model("weibull_growth+exp0").formula == "-w1_b*exp(-w1_c*x^w1_d)+e1_a*exp(-e1_b*x)+c");
  CHECK(model("2*gaussian2d").predictors == 2);
  CHECK(model("2*constant").formula == "c");
}

TEST_CASE("a sum that cannot be is refused by name") {
  CHECK(message_of("gaussian + foo").find("'foo'") != std::string::npos);
  CHECK(message_of("gaussian + gaussian2d").find("cannot be added") != std::string::npos);
  CHECK(message_of("21*gaussian").find("1 to 20") != std::string::npos);
  CHECK(message_of("0*gaussian").find("1 to 20") != std::string::npos);
  for (const char* text :
       {"gaussian +", "+", "gaussian - linear", "x*gaussian", "gaussian*2", "2*", "1000*linear"}) {
    CAPTURE(text);
    CHECK_FALSE(nlsq::is_model_sum(text));
    CHECK(message_of(text).find("no built-in model is called") != std::string::npos);
  }
}

TEST_CASE("a text without the name of a built-in model is a formula, unless it is a name alone") {
  const std::vector<std::string> x{"x"};
  for (const char* text : {"a+0*x", "a + x", "2*x", "2*a", "x", "b+a", "gausian + 3*lorentzan"}) {
    CAPTURE(text);
    CHECK_FALSE(nlsq::guessing::chooses_model(text, x));
  }
  for (const char* text : {"gausian", "a", "linear", " 2*linear ", "gaussian + x", "a + linear"}) {
    CAPTURE(text);
    CHECK(nlsq::guessing::chooses_model(text, x));
  }
  const std::vector<std::string> own{"linear", "gaussian"};  // the predictors have names of models
  CHECK_FALSE(nlsq::guessing::chooses_model("a + 2*linear", own));
  CHECK_FALSE(nlsq::guessing::chooses_model("gaussian", own));
  CHECK(message_of("gaussian + x").find("read as a sum of built-in models, because 'gaussian' is one") !=
        std::string::npos);
}

TEST_CASE("the guess of a sum leads to the best minimum known") {
  struct Sum {
    const char* text;
    double demanded;  // required fraction of the draws
  };
  // Beside a parabola, the noise hides the peaks in many draws.
  for (const auto& [text, demanded] :
       {Sum{"gaussian+linear", 0.95}, Sum{"2*gaussian+linear", 0.95}, Sum{"3*gaussian+linear", 0.95},
        Sum{"3*lorentzian", 0.9}, Sum{"gaussian+logistic", 0.95}, Sum{"gaussian+lorentzian+poly2", 0.7},
        Sum{"gaussian+2*lorentzian", 0.95}, Sum{"gaussian+exp", 0.9}, Sum{"sine+linear", 0.95},
        Sum{"exp0+gaussian+constant", 0.95}, Sum{"voigt+linear", 0.85}}) {
    const nlsq::Model& sum = model(text);
    for (const double snr : {100.0, 20.0}) {
      trials::Random random(20260214);
      int tried = 0, reached = 0;
      for (int t = 0; tried < 20 && t < 1200; ++t) {
        const trials::Data data = trials::draw(sum, random, t % 2 == 0 ? 120 : 400, t % 4 < 2, snr);
        if (peaks_overlap(sum, data.truth)) continue;
        ++tried;
        const double cost = cost_from(sum, data, sum.guess(data.columns(), data.y).values);
        double best = cost_from(sum, data, data.truth);
        for (int k = 0; k < 2; ++k) best = std::min(best, cost_from(sum, data, random.parameters(sum)));
        reached += cost <= best * (1 + 1e-6) ? 1 : 0;
      }
      fmt::print("{:<28} S/N {:>3}: {} of {}\n", text, snr, reached, tried);
      CAPTURE(text);
      CAPTURE(snr);
      CHECK(tried >= 15);
      CHECK(reached >= demanded * tried);
    }
  }
}

TEST_CASE("terms that are easily taken for others are told apart") {
  struct Draw {
    std::string text;
    double snr;
    std::vector<std::uint64_t> seeds;  // the rows of these are 60, 120, 400, 1000 in turn
  };
  const Draw draws[] = {
      {"gaussian+logistic", 20, {1, 4, 17, 26, 35}},   // a step beside a peak, not a dip on its other side
      {"gaussian+logistic", 100, {42, 98, 133, 138}},  // the peak before a sharp step, not behind a slack one
      {"lorentzian+gaussian",
       100,
       {36, 170, 265, 392}},  // two peaks, not a peak with a dip, and not two dips
      {"3*gaussian+linear",
       20,
       {506, 819, 950, 1594}},  // three peaks, not the difference of two at one place
      {"3*gaussian+linear", 20, {34, 46, 62, 66, 110}},  // two peaks close together, and not one beside noise
      {"2*gaussian+exp", 100, {376}}};                   // peaks on a decay, not dips in a rise
  for (const auto& [text, snr, seeds] : draws) {
    const nlsq::Model& sum = model(text);
    for (const std::uint64_t seed : seeds) {
      constexpr std::size_t kRows[] = {60, 120, 400, 1000};
      trials::Random random(1000003 * seed + 17);
      const trials::Data data = trials::draw(sum, random, kRows[seed % 4], seed / 4 % 2 == 0, snr);
      CAPTURE(text);
      CAPTURE(seed);
      CHECK(cost_from(sum, data, sum.guess(data.columns(), data.y).values) <=
            cost_from(sum, data, data.truth) * (1 + 1e-6));
    }
  }
}

TEST_CASE("peaks of another shape than the model are not fitted by the difference of two high ones") {
  for (const double apart : {0.8, 1.4}) {
    std::vector<double> x, y;
    for (int i = 0; i < 80; ++i) {
      x.push_back(i / 7.9);
      const double a = x.back() - 5, b = a - apart;
      y.push_back(2.8 * std::exp(-a * a) + 1.5 * std::exp(-b * b) + 0.02 * std::sin(37.0 * i * i));
    }
    const nlsq::FitResult fit = nlsq::curve_fit(model("2*lorentzian+constant"), x, y);
    CAPTURE(fit.summary.brief_report());
    CHECK(fit.success());
    CHECK(fit.r_squared > 0.9);
  }
}

TEST_CASE("a formula that is a built-in model in other words is recognised") {
  const std::vector<std::pair<const char*, const char*>> known = {
      {"A*exp(-x/tau)+y0", "exp"},
      {"u+v*exp(w*x)", "exp"},
      {"p1*exp(-x*log(2)/th)+p2", "exp"},
      {"a*exp(-x/t1)+b*exp(-x/t2)+c", "biexp"},
      {"a1*exp(-((x-b1)/c1)^2)+d", "gaussian"},
      {"H*exp(-4*log(2)*(x-m)^2/w^2)+base", "gaussian"},
      {"V*x/(K+x)", "michaelis_menten"},
      {"m*x+n", "linear"},
      {"d+(a-d)/(1+(K/x)^n)", "logistic4"},
      {"h1*exp(-(x-m1)^2/(2*s1^2))+h2*exp(-(x-m2)^2/(2*s2^2))+c", "gaussian2"},
  };
  for (const auto& [text, name] : known) {
    CAPTURE(text);
    const nlsq::Formula formula = nlsq::parse_formula(text);
    const auto found = nlsq::guessing::recognise(formula);
    REQUIRE(found.model != nullptr);
    CHECK(found.model->name == name);
    // The converted parameters give the same curve.
    trials::Random random(3);
    const std::vector<double> q = random.parameters(*found.model), p = found.convert(q);
    const nlsq::Formula built_in = trials::parsed(*found.model);
    for (const double x : {0.4, 1.9, 3.3}) {
      const std::vector<double> at = {x};
      CHECK(formula.evaluate(at, p) == doctest::Approx(built_in.evaluate(at, q)).epsilon(1e-12));
    }
  }
  for (const char* text :
       {"a*exp(-b*x^2)+c", "a*x+b*x^3", "a*cos(b*x)+c", "a*b*x", "a/(x+b)+c*x", "a", "log(y)=a-b*x"}) {
    CAPTURE(text);
    CHECK(nlsq::guessing::recognise(nlsq::parse_formula(text)).model == nullptr);
  }
}

TEST_CASE("curve_fit starts a recognised formula from the model's guess, beside the values given") {
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(1000.0 + i);
    y.push_back(5e4 * std::exp(-0.5 * std::pow((x.back() - 1130) / 7, 2)) + 300 + 20 * std::sin(17.0 * i));
  }
  const auto fit = nlsq::curve_fit("h*exp(-((x-m)/w)^2)+b", x, y, nlsq::NamedValues{});
  CHECK(fit.success());
  CHECK(fit.parameters[1] == doctest::Approx(1130).epsilon(1e-3));
  const auto given = nlsq::curve_fit("h*exp(-((x-m)/w)^2)+b", x, y, nlsq::NamedValues{{"b", 290.0}});
  CHECK(given.success());
  CHECK(given.summary.final_cost == doctest::Approx(fit.summary.final_cost).epsilon(1e-9));
}
