// Tests fits where several first guesses give the same curve, and only one of them suits a value, a bound or
// a tie. The peaks of a sum may be in any order, and a wave may have either sign.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Two peaks at 3 and 6 on a slope. The first guess sorts peaks by their places, so the one at 6 is second.
struct TwoPeaks {
  std::vector<double> x, y;

  TwoPeaks() {
    for (int i = 0; i < 200; ++i) {
      x.push_back(0.05 * i);
      const double t = x.back(), u = (t - 3) / 0.5, v = (t - 6) / 0.7;
      y.push_back(3 * std::exp(-u * u / 2) + 2 * std::exp(-v * v / 2) + 1 + 0.02 * (i % 3 - 1));
    }
  }
};

constexpr double kGood = 0.99;  // R²
constexpr double kNone = std::numeric_limits<double>::infinity();

const char* const kTwoGaussians = "2*gaussian+constant";
const char* const kOwnNotation = "A*exp(-(x-m)^2/w^2)+B*exp(-(x-n)^2/v^2)+k";

}  // namespace

TEST_CASE("a peak that is held at the place of another one of the guess is that peak") {
  const TwoPeaks data;
  FitOptions options;
  options.fixed = {"g1_mu"};
  CHECK(curve_fit(model(kTwoGaussians), data.x, data.y, {{"g1_mu", 6.0}}, options).r_squared > kGood);
  CHECK(curve_fit(PreparedModel(model(kTwoGaussians)), data.x, data.y, {{"g1_mu", 6.0}}, options).r_squared >
        kGood);
  options.fixed = {"mu1"};
  CHECK(curve_fit(model("gaussian2"), data.x, data.y, {{"mu1", 6.0}}, options).r_squared > kGood);
  options.fixed = {"m"};
  CHECK(curve_fit(kOwnNotation, data.x, data.y, {{"m", 6.0}}, options).r_squared > kGood);
}

TEST_CASE("bounds and ties say which peak is which, too") {
  const TwoPeaks data;
  FitOptions bounded, tied;
  bounded.bounds.lower.assign(7, -kNone);
  bounded.bounds.lower[1] = 5;  // g1_mu
  bounded.bounds.upper.assign(7, kNone);
  tied.ties = {"g1_mu = g2_mu + 3"};
  CHECK(curve_fit(model(kTwoGaussians), data.x, data.y, {}, bounded).r_squared > kGood);
  CHECK(curve_fit(model(kTwoGaussians), data.x, data.y, {}, tied).r_squared > kGood);
}

TEST_CASE("a time constant that is held decides which decay is which") {
  std::vector<double> x, y;
  for (int i = 0; i < 100; ++i) {
    x.push_back(0.1 * i);
    y.push_back(5 * std::exp(-2 * x.back()) + 3 * std::exp(-0.3 * x.back()) + 1 + 0.001 * (i % 3 - 1));
  }
  FitOptions options;
  for (const double rate : {2.0, 0.3}) {
    for (const std::string name : {"b1", "b2"}) {
      CAPTURE(rate);
      CAPTURE(name);
      options.fixed = {name};
      CHECK(curve_fit(model("biexp"), x, y, {{name, rate}}, options).r_squared > 0.9999);
    }
  }
}

TEST_CASE("a wave whose amplitude is held at the other sign has half a period more") {
  std::vector<double> x, y;
  for (int i = 0; i < 120; ++i) {
    x.push_back(0.1 * i);
    y.push_back(2 * std::sin(3 * x.back() + 0.5) + 1 + 0.05 * (i % 3 - 1));
  }
  FitOptions fixed, bounded;
  fixed.fixed = {"a"};
  bounded.bounds.lower.assign(4, -kNone);
  bounded.bounds.upper = {0, kNone, kNone, kNone};
  for (const std::string text : {"sine", "a*sin(2*pi*f*x+phi)+c"}) {
    CAPTURE(text);
    if (text == "sine") {
      CHECK(curve_fit(model(text), x, y, {{"a", -2.0}}, fixed).r_squared > kGood);
      CHECK(curve_fit(model(text), x, y, {}, bounded).r_squared > kGood);
    } else {
      CHECK(curve_fit(text, x, y, {{"a", -2.0}}, fixed).r_squared > kGood);
      CHECK(curve_fit(text, x, y, {}, bounded).r_squared > kGood);
    }
  }
}

TEST_CASE("a certified curve that a constant beats has a warning") {
  const std::vector<double> x{0, 1, 2, 3}, y{10, 11, 9, 10};
  const FitResult fit = curve_fit("a*x", x, y, {});
  CHECK(fit.success());
  REQUIRE(fit.warnings.size() == 1);
  CHECK(fit.warnings.front().find("R² is below 0") != std::string::npos);
}

TEST_CASE("groups start so, too") {
  const TwoPeaks one;
  std::vector<double> x, y, group;
  for (const double g : {1.0, 2.0}) {
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      x.push_back(one.x[i]);
      y.push_back(g * one.y[i]);
      group.push_back(g);
    }
  }
  GroupOptions options;
  options.fixed = {"g1_mu"};
  for (const bool joint : {false, true}) {
    CAPTURE(joint);
    if (joint) options.share = {"g1_sigma"};
    const GroupsResult fits =
        curve_fit_groups(model(kTwoGaussians), Columns(x), y, group, {{"g1_mu", 6.0}}, options);
    REQUIRE(fits.r_squared.size() == 2);
    for (const double r_squared : fits.r_squared) CHECK(r_squared > kGood);
  }
}
