// Fits a decay within bounds, and with the parameters at active bounds fixed. Tests compare the two.
#pragma once

#include "corpora/noise.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bounded_fits {

using namespace nlsq;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline const std::string kDecay = "a*exp(-b*x)+c";

struct Data {
  std::vector<double> x, y;
};
inline Data decay_data(std::size_t m = 60, double noise = 0.02) {
  Data d;
  problems::Noise random(3);
  for (std::size_t i = 0; i < m; ++i) {
    d.x.push_back(4 * static_cast<double>(i) / static_cast<double>(m));
    d.y.push_back(2.5 * std::exp(-1.3 * d.x.back()) + 0.5 + noise * random.normal());
  }
  return d;
}

inline FitResult fit(const Data& d, const FitOptions& options,
                     NamedValues p0 = {{"a", 1}, {"b", 1}, {"c", 0.4}}) {
  return curve_fit(kDecay, d.x, d.y, p0, options);
}
inline FitOptions within(Bounds bounds) {
  FitOptions options;
  options.bounds = std::move(bounds);
  return options;
}
inline LeastSquaresOptions bounded(Bounds bounds) {
  LeastSquaresOptions options;
  options.bounds = std::move(bounds);
  return options;
}

// A parameter at an active bound must give the same result as if it were fixed there.
inline void check_like_fixed(const FitResult& bounded, const FitResult& fixed) {
  CHECK(bounded.success());
  CHECK(fixed.success());
  CHECK(bounded.summary.final_cost == doctest::Approx(fixed.summary.final_cost).epsilon(1e-13));
  CHECK(bounded.dof == fixed.dof);
  CHECK(bounded.summary.certificate.rank == fixed.summary.certificate.rank);
  CHECK(bounded.summary.certificate.condition ==
        doctest::Approx(fixed.summary.certificate.condition).epsilon(1e-6));
  for (std::size_t j = 0; j < bounded.parameters.size(); ++j) {
    CHECK(bounded.parameters[j] == doctest::Approx(fixed.parameters[j]).epsilon(1e-10));
    CHECK(bounded.at_bound[j] == fixed.fixed[j]);
    if (fixed.fixed[j]) {
      CHECK(std::isnan(bounded.standard_errors[j]));
      CHECK(std::isnan(bounded.covariance(j, j)));
    } else {
      CHECK(bounded.standard_errors[j] == doctest::Approx(fixed.standard_errors[j]).epsilon(1e-7));
    }
  }
}
inline FitResult fixed_at(const Data& d, const std::string& name, double value) {
  FitOptions options;
  options.fixed = {name};
  NamedValues p0{{"a", 1}, {"b", 1}, {"c", 0.4}};
  for (auto& [parameter, start] : p0) start = parameter == name ? value : start;
  return fit(d, options, p0);
}

}  // namespace bounded_fits
