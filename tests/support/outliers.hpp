// Makes data with outliers, lists the robust losses that handle them, and compares two fits. Tests of losses
// use it.
#pragma once

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

namespace outliers {

using namespace nlsq;

inline const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Data {
  std::vector<double> x, y;
};
// Returns data of which about one row in ten is an outlier.
inline Data contaminated(std::size_t rows, unsigned seed = 3, double noise = 0.05, double share = 0.1) {
  Data d;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, noise);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    d.x.push_back(5 * static_cast<double>(i) / static_cast<double>(rows));
    double y = 3 * std::exp(-0.8 * d.x.back()) + 0.5 + normal(random);
    if (uniform(random) < share) y += noise * (uniform(random) < 0.5 ? -1 : 1) * (5 + 10 * uniform(random));
    d.y.push_back(y);
  }
  return d;
}

inline const Loss kLosses[] = {Loss::soft_l1(0.05), Loss::huber(0.07), Loss::cauchy(0.1), Loss::arctan(0.15),
                               Loss::tukey(0.25)};

inline void check_close(const FitResult& a, const FitResult& b, double parameters, double errors = 1e-6) {
  REQUIRE(a.parameters.size() == b.parameters.size());
  CHECK(a.success());
  CHECK(b.success());
  for (std::size_t j = 0; j < a.parameters.size(); ++j) {
    CHECK(a.parameters[j] == doctest::Approx(b.parameters[j]).epsilon(parameters));
    CHECK(a.standard_errors[j] == doctest::Approx(b.standard_errors[j]).epsilon(errors));
  }
}

}  // namespace outliers
