// Tests first guesses for data whose rows have their own standard errors, and for data with outliers.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/groups.hpp>
#include <nlsq/models.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "trials.hpp"

namespace {

struct Weighted {
  trials::Data data;
  std::vector<double> sigma;
};

double range_of(const std::vector<double>& y) {
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  return *high > *low ? *high - *low : 1.0;
}

// Returns data whose noise grows by a factor of 100 along x.
Weighted growing_noise(const nlsq::Model& model, trials::Random& random) {
  constexpr double kSignalToNoise = 100;
  Weighted out{trials::draw(model, random, 100, true, 1e9), {}};
  const double first = range_of(out.data.y) / kSignalToNoise;
  for (std::size_t i = 0; i < out.data.y.size(); ++i) {
    out.sigma.push_back(first * std::pow(100.0, static_cast<double>(i) / 99));
    out.data.y[i] += out.sigma.back() * random.normal();
  }
  return out;
}

// Returns data of which some rows are far off, with a large sigma.
Weighted flagged_rows(const nlsq::Model& model, trials::Random& random) {
  Weighted out{trials::draw(model, random, 100, true, 100), {}};
  const double range = range_of(out.data.y);
  out.sigma.assign(out.data.y.size(), range / 100);
  for (std::size_t i = 5; i < out.data.y.size(); i += 19) {
    out.data.y[i] += 12 * range;
    out.sigma[i] = 1e4 * range;
  }
  return out;
}

double cost_from(const nlsq::Model& model, const Weighted& drawn, const std::vector<double>& start,
                 const nlsq::FitOptions& options = {}) {
  nlsq::NamedValues p0;
  for (std::size_t j = 0; j < start.size(); ++j) p0.emplace_back(model.parameters[j], start[j]);
  nlsq::FitOptions weighted = options;
  weighted.sigma = drawn.sigma;
  const std::vector<nlsq::Column> columns(drawn.data.x.begin(), drawn.data.x.end());
  const nlsq::FitResult fit = nlsq::curve_fit(model, nlsq::Columns(columns), drawn.data.y, p0, weighted);
  return std::isfinite(fit.summary.final_cost) ? fit.summary.final_cost : 1e300;
}

// Returns the fraction of fits from the guess that end as low as those from the true parameters.
double rate(const nlsq::Model& model, Weighted (*draw)(const nlsq::Model&, trials::Random&)) {
  constexpr int kDraws = 20;
  trials::Random random(7);
  int good = 0;
  for (int t = 0; t < kDraws; ++t) {
    const Weighted drawn = draw(model, random);
    good += cost_from(model, drawn, {}) <= cost_from(model, drawn, drawn.data.truth) * (1 + 1e-6);
  }
  return static_cast<double>(good) / kDraws;
}

}  // namespace

TEST_CASE("rows count by their sigma in the first guess, for every model") {
  for (const nlsq::Model& model : nlsq::models()) {
    const double flagged = rate(model, flagged_rows), growing = rate(model, growing_noise);
    INFO(model.name, ": ", flagged, " of fits with flagged rows, ", growing, " with growing noise");
    CHECK(flagged >= 0.9);
    CHECK(growing >= 0.9);
  }
}

TEST_CASE("a single outlier is not the peak of a fit with a robust loss") {
  nlsq::FitOptions robust;
  robust.loss = nlsq::Loss::cauchy(0.1);
  for (const char* name : {"gaussian", "lorentzian", "voigt"}) {
    CAPTURE(name);
    std::vector<double> x, y;
    trials::Random random(3);
    for (int i = 0; i <= 100; ++i) {
      x.push_back(i / 10.0);
      y.push_back(5 * std::exp(-std::pow(x.back() - 6, 2) / 0.5) + 1 + 0.05 * random.normal());
    }
    y[20] = 60;
    const nlsq::FitResult fit = nlsq::curve_fit(nlsq::model(name), x, y, {}, robust);
    CHECK(fit.success());
    CHECK(fit.parameters[1] == doctest::Approx(6).epsilon(0.01));
  }
}

TEST_CASE("groups and batches take sigma into their guesses") {
  constexpr int kGroups = 40, kRows = 60;
  trials::Random random(11);
  std::vector<double> id, x, y, sigma;
  for (int k = 0; k < kGroups; ++k) {
    for (int i = 0; i < kRows; ++i) {
      id.push_back(k);
      x.push_back(i / 6.0);
      sigma.push_back(0.05);
      y.push_back(5 * std::exp(-std::pow(x.back() - 4 - k * 0.05, 2) / 0.5) + 1 + 0.05 * random.normal());
      if (i == 7) y.back() = 60, sigma.back() = 1e4;
    }
  }
  nlsq::GroupOptions options;
  options.sigma = sigma;
  const nlsq::GroupsResult all = nlsq::curve_fit_groups(nlsq::model("gaussian"), x, y, id, {}, options);
  for (std::size_t k = 0; k < std::size_t{kGroups}; ++k) {
    CAPTURE(k);
    CHECK(all.parameters(k, 1) == doctest::Approx(4 + static_cast<double>(k) * 0.05).epsilon(0.01));
  }
}
