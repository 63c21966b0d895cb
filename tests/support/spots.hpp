// Makes camera images of spots, 15 x 15 pixels, for tests of batch fits.
#pragma once

#include <nlsq/nlsq.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

inline const char* const kSpot = "a*exp(-((x1-cx)^2+(x2-cy)^2)/(2*s^2))+b";

struct Spots {
  std::vector<double> x, y;
  nlsq::Matrix image, start;

  explicit Spots(std::size_t fits) : image(fits, 225), start(fits, 5) {
    std::mt19937_64 random(7);
    std::normal_distribution<> noise;
    std::uniform_real_distribution<> spread(-0.5, 0.5);
    for (int i = 0; i < 225; ++i) {
      x.push_back(i % 15);
      y.push_back(i / 15);
    }
    for (std::size_t f = 0; f < fits; ++f) {
      const double a = 100 * (1 + 0.4 * spread(random)), cx = 7 + 2 * spread(random),
                   cy = 7 + 2 * spread(random);
      const double s = 1.5 * (1 + 0.4 * spread(random));
      for (std::size_t i = 0; i < 225; ++i) {
        const double square = std::pow(x[i] - cx, 2) + std::pow(y[i] - cy, 2);
        image(f, i) = a * std::exp(-square / (2 * s * s)) + 10 + 3 * noise(random);
      }
      const double p[] = {a * (1 + 0.2 * spread(random)), cx + spread(random), cy + spread(random),
                          s * (1 + 0.3 * spread(random)), 10 * (1 + 0.3 * spread(random))};
      std::copy(p, p + 5, &start(f, 0));
    }
  }
  std::vector<nlsq::ColumnPerFit> predictors() const {
    return {nlsq::ColumnPerFit(x), nlsq::ColumnPerFit(y)};
  }
  nlsq::Column image_of(std::size_t f) const { return nlsq::Column(image.data() + f * 225, 225); }
  std::vector<double> start_of(std::size_t f) const {
    return {start.data() + f * 5, start.data() + f * 5 + 5};
  }
};
