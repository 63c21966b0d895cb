// Tests first guesses that were wrong once. Each case is a kind of data for which fits failed or ended
// elsewhere.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "models/guesses/separable.hpp"
#include "trials.hpp"

namespace {

double cost_from(const nlsq::Model& model, const trials::Data& data, const std::vector<double>& start) {
  nlsq::NamedValues p0;
  for (std::size_t j = 0; j < start.size(); ++j) p0.emplace_back(model.parameters[j], start[j]);
  const nlsq::FitResult fit = nlsq::curve_fit(model, data.x[0], data.y, p0);
  return std::isfinite(fit.summary.final_cost) ? fit.summary.final_cost : 1e300;
}

// Returns true if a fit from the guess ends as low as one from the parameters that the data were drawn with.
// Linear parameters need no start, so `data` may have the other sign.
bool as_low_as_truth(const nlsq::Model& model, const trials::Data& data) {
  return cost_from(model, data, {}) <= cost_from(model, data, data.truth) * (1 + 1e-6);
}

// Returns draw number t of the program nlsq_guess_rates with `rows` rows, at signal-to-noise 100.
trials::Data drawn(const nlsq::Model& model, int t, std::size_t rows, bool even) {
  trials::Random random(20240501 + static_cast<std::uint64_t>(t));
  return trials::draw(model, random, rows, even, 100);
}

}  // namespace

TEST_CASE("logistic5: x in the thousands does not overflow, and x = 0 is allowed") {
  const nlsq::Model& model = nlsq::model("logistic5");
  for (const double first : {900.0, 0.0}) {
    CAPTURE(first);
    std::vector<double> x, y;
    trials::Random random(6);
    for (int i = 0; i < 80; ++i) {
      x.push_back(i == 0 ? first : 900 * std::pow(1.03, i));
      const double rise = x.back() > 0 ? std::pow(1 + std::pow(3000 / x.back(), 30), -3) : 0;
      y.push_back(1 + 7 * rise + 0.05 * random.normal());
    }
    const nlsq::FitResult fit = nlsq::curve_fit(model, x, y, nlsq::NamedValues{});
    CHECK(fit.success());
    CHECK(fit.r_squared > 0.999);
    CHECK(fit.rss == doctest::Approx(75 * 0.05 * 0.05).epsilon(0.4));
    CHECK(fit.parameters[1] == doctest::Approx(8).epsilon(0.02));
  }
}

TEST_CASE("two peaks and two dips of similar height are both found") {
  for (const char* name : {"gaussian2", "lorentzian2"}) {
    const nlsq::Model& model = nlsq::model(name);
    for (const auto& [t, rows] : {std::pair(8, 100), {157, 50}, {186, 30}, {98, 100}, {3, 250}}) {
      CAPTURE(name);
      CAPTURE(t);
      trials::Data data = drawn(model, t, static_cast<std::size_t>(rows), (t / 6) % 2 == 0);
      CHECK(as_low_as_truth(model, data));
      for (double& value : data.y) value = -value;
      CHECK(as_low_as_truth(model, data));
      data.truth = model.guess(data.x[0], data.y).values;
      CHECK(data.truth[0] < 0);
      CHECK(data.truth[3] < 0);
    }
  }
}

TEST_CASE("emg: a tail that the data cut off") {
  nlsq::Model model = nlsq::model("emg");
  model.trial_x = {0, 5};
  for (const auto& [t, rows] : {std::pair(2, 100), {38, 100}, {50, 100}, {7, 50}}) {
    CAPTURE(t);
    CHECK(as_low_as_truth(model, drawn(model, t, static_cast<std::size_t>(rows), (t / 6) % 2 == 0)));
  }
}

TEST_CASE("pseudo_voigt: the Lorentzian fraction is found as a linear parameter") {
  const nlsq::Model& model = nlsq::model("pseudo_voigt");
  CHECK(as_low_as_truth(model, drawn(model, 187, 50, false)));
}

TEST_CASE("voigt: the guess keeps away from widths where the derivatives vanish") {
  for (const bool lorentzian : {true, false}) {
    CAPTURE(lorentzian);
    std::vector<double> x, y;
    trials::Random random(4);
    for (int i = 0; i < 200; ++i) {
      x.push_back(i / 20.0);
      const double z = (x.back() - 5) / 0.8;
      y.push_back(1 + 4 * (lorentzian ? 1 / (1 + z * z) : std::exp(-z * z / 2)) + 0.05 * random.normal());
    }
    const std::vector<double> guess = nlsq::model("voigt").guess(x, y).values;
    CHECK(guess[2] >= 0.03 * guess[3] * (1 - 1e-9));
    CHECK(guess[3] >= 0.03 * guess[2] * (1 - 1e-9));
    const nlsq::FitResult fit = nlsq::curve_fit(nlsq::model("voigt"), x, y, nlsq::NamedValues{});
    CHECK(fit.r_squared > 0.99);
  }
}

TEST_CASE("exp_in_place agrees with exp, and its results neither overflow nor vanish") {
  std::vector<double> x, values;
  for (double at = -339; at < 708; at += 0.37) x.push_back(at);
  values = x;
  nlsq::guessing::exp_in_place(values);
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(values[i] == doctest::Approx(std::exp(x[i])).epsilon(1e-13));
  std::vector<double> extreme = {-1e300, 1e300, -HUGE_VAL, HUGE_VAL, std::nan("")};
  nlsq::guessing::exp_in_place(extreme);
  for (const double value : extreme) {
    CHECK(std::isfinite(value));
    CHECK(value > 0);
  }
}

TEST_CASE("a sum with logistic4 has one level: its bottom is the shared constant") {
  const nlsq::Model& sum = nlsq::model("logistic4+linear");
  CHECK(sum.formula == "(l1_top-c)*x^l1_n/(l1_K^l1_n+x^l1_n)+l2_a*x+c");
  std::vector<double> x, y;
  trials::Random random(11);
  for (int i = 0; i < 200; ++i) {
    x.push_back(i * 0.1);
    const double power = std::pow(x.back(), 5);
    y.push_back(2 + 6 * power / (std::pow(7, 5) + power) + 0.3 * x.back() + 0.02 * random.normal());
  }
  const nlsq::FitResult fit = nlsq::curve_fit(sum, x, y, nlsq::NamedValues{});
  CHECK(fit.summary.verdict == nlsq::Verdict::converged);
  CHECK(fit.rss == doctest::Approx(195 * 0.02 * 0.02).epsilon(0.4));
  CHECK(fit.parameters[0] == doctest::Approx(8).epsilon(0.02));
}

TEST_CASE("a ratio of polynomials with a pole between the data is reported") {
  const nlsq::Model& model = nlsq::model("rational11");
  std::vector<double> x, pole, smooth;
  for (int i = 0; i < 60; ++i) {
    x.push_back(0.05 + 0.1 * i);
    pole.push_back((1 + 2 * x.back()) / (1 - 0.5 * x.back()));
    smooth.push_back((1 + 2 * x.back()) / (1 + 0.5 * x.back()));
  }
  const auto reported = [&](const std::vector<double>& y) {
    const nlsq::FitResult fit = nlsq::curve_fit(model, x, y, nlsq::NamedValues{});
    for (const std::string& warning : fit.warnings)
      if (warning.find("pole at x = 2,") != std::string::npos) return true;
    return false;
  };
  CHECK(reported(pole));
  CHECK_FALSE(reported(smooth));
}
