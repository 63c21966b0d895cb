// Makes 25 rows of 5 exp(-0.8 x) + 1 with errors that grow with y, for the tests of predictions.
#pragma once

#include <cmath>
#include <random>
#include <vector>

struct DecayRows {
  std::vector<double> x, y, sigma;
};
inline DecayRows decay_rows() {
  DecayRows d;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 25; ++i) {
    const double x = 0.2 * i, f = 5 * std::exp(-0.8 * x) + 1;
    d.x.push_back(x);
    d.sigma.push_back(0.02 + 0.03 * f);
    d.y.push_back(f + d.sigma.back() * normal(random));
  }
  return d;
}
inline constexpr const char* kDecay = "a*exp(-b*x)+c";
