// Tests that intervals by repeated fits are refused for data that are not those of the fit.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace nlsq;

namespace {

const char* const kFormula = "a*exp(-b*x)+c";

struct Data {
  std::vector<double> x, y, sigma;
};

Data decay(double noise) {
  Data d;
  for (int i = 0; i < 60; ++i) {
    d.x.push_back(0.1 * i);
    d.y.push_back(5 * std::exp(-0.8 * d.x.back()) + 2 + noise * std::sin(12.9898 * i * i));
    d.sigma.push_back(0.05 + 0.001 * i);
  }
  return d;
}

BootstrapOptions few() {
  BootstrapOptions out;
  out.samples = 20;
  return out;
}

bool refused(const std::function<void()>& call) {
  return contains(message_of<DataError>(call), "give the data and options of the fit");
}

}  // namespace

TEST_CASE("profile intervals and the bootstrap refuse other data and other weights") {
  const Data d = decay(0.1);
  FitOptions weighted;
  weighted.sigma = d.sigma;
  for (const FitOptions& options : {FitOptions(), weighted}) {
    const FitResult fit = curve_fit(kFormula, d.x, d.y, {{"b", 1}}, options);
    REQUIRE(fit.success());
    Data other = d;
    other.y[7] += 0.2;
    FitOptions changed = options;
    changed.sigma = options.sigma.empty() ? Column(d.sigma) : Column();
    CHECK(refused([&] { profile_intervals(kFormula, d.x, other.y, fit, options); }));
    CHECK(refused([&] { bootstrap(kFormula, d.x, other.y, fit, options, few()); }));
    CHECK(refused([&] { profile_intervals(kFormula, d.x, d.y, fit, changed); }));
    CHECK(refused([&] { bootstrap(kFormula, d.x, d.y, fit, changed, few()); }));
    CHECK(profile_intervals(kFormula, d.x, d.y, fit, options).intervals.size() == 3);
    CHECK(bootstrap(kFormula, d.x, d.y, fit, options, few()).samples == 20);
  }
}

TEST_CASE(
    "the data of the fit are accepted under losses, bounds and ties, for counts and for nearly exact data") {
  Data d = decay(0.1);
  FitOptions tied, bounded, robust, counts, in_x;
  tied.ties = {"c=0.4*a"};
  bounded.bounds = Bounds(0, {9, 9, 1.9});
  robust.loss = Loss::huber(0.1);
  counts.loss = Loss::poisson();
  in_x.sigma = d.sigma;
  const std::vector<double> sigma_x(60, 0.01);
  in_x.sigma_x = {sigma_x};
  for (const FitOptions* options : {&tied, &bounded, &robust, &counts, &in_x}) {
    std::vector<double> y = d.y;
    if (options == &counts)
      for (double& v : y) v = std::round(10 * v);
    NamedValues p0 = {{"a", 5}, {"b", 1}};
    if (options != &tied) p0.emplace_back("c", 1.8);
    const FitResult fit = curve_fit(kFormula, d.x, y, p0, *options);
    REQUIRE(fit.success());
    BootstrapOptions cases = few();
    cases.method = BootstrapMethod::cases;
    CHECK_NOTHROW(bootstrap(kFormula, d.x, y, fit, *options, cases));
    if (options != &robust) CHECK_NOTHROW(profile_intervals(kFormula, d.x, y, fit, *options));
  }
  for (const double noise : {1e-9, 1e-13}) {
    d = decay(noise);
    const FitResult fit = curve_fit(kFormula, d.x, d.y, {{"b", 1}});
    REQUIRE(fit.success());
    CHECK_NOTHROW(profile_intervals(kFormula, d.x, d.y, fit));
    d.y[3] += 1e-3;
    CHECK(refused([&] { profile_intervals(kFormula, d.x, d.y, fit); }));
  }
}
