// Makes rows of a known curve with normal noise, rounded to double once.
#pragma once

#include <random>
#include <vector>

struct NoisyRows {
  std::vector<double> x, y;
};

// x runs from 0 to 4. `exact(x)` is the curve in long double.
template <class Exact>
NoisyRows noisy_rows(int rows, double noise, unsigned seed, Exact exact) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  NoisyRows out;
  for (int i = 0; i < rows; ++i) {
    out.x.push_back(4.0 * (i + 0.5) / rows);
    const auto added = static_cast<long double>(noise * normal(random));
    out.y.push_back(static_cast<double>(exact(out.x.back()) + added));
  }
  return out;
}
