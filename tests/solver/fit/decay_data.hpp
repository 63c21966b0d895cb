// Makes an exponential decay with noise: the model as a callable, and data.
#pragma once

#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <cmath>
#include <random>

namespace decays {

using namespace nlsq;

inline const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Data {
  std::vector<double> x, y;
};
inline Data decay_data(std::size_t m = 50, unsigned seed = 1) {
  Data d;
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.02);
  for (std::size_t i = 0; i < m; ++i) {
    d.x.push_back(4 * static_cast<double>(i) / static_cast<double>(m));
    d.y.push_back(2.5 * std::exp(-1.3 * d.x.back()) + 0.5 + noise(random));
  }
  return d;
}

}  // namespace decays
