// Declares random block problems. A seed decides on the family and all of its properties. No rule of the
// library was chosen by them. They combine what the adversarial corpus tries one at a time: units, noise,
// distance of the start, offsets, losses, outliers.
#pragma once

#include "corpus.hpp"
#include "functors.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace blocks {

// The families take turns: seed modulo kFamilies names one.
inline constexpr std::size_t kFamilies = 16;
Case random_case(std::uint64_t seed);

// Holds the choices that follow from the seed, for every family.
struct Draw {
  explicit Draw(std::uint64_t seed) : noise(seed) {
    unit = pick({1, 1, 1, 1e-8, 1e-4, 1e4, 1e8});
    sigma = pick({0, 1e-6, 1e-3, 1e-2, 1e-2, 0.1});
    away = pick({0.01, 0.1, 0.3, 1, 3});
    offset = pick({0, 0, 1e3, 1e6, 1e9});
    const double kind = noise.uniform();
    if (kind > 0.55) {
      loss.kind = kRobust[noise.below(6)];
      loss.a = pick({0.5, 1, 3}), loss.b = loss.kind == LossSpec::Kind::tolerant ? pick({0.1, 0.5}) : 1;
      outliers = pick({0, 0.05, 0.2});
    }
    // Losses bend at residuals of size `loss.a`, so residuals under a loss are measured in units of the
    // noise.
    if (loss.kind != LossSpec::Kind::none && sigma == 0) sigma = 1e-3;
  }
  double pick(std::initializer_list<double> list) { return list.begin()[noise.below(list.size())]; }
  double gauss() { return noise.normal(); }
  std::array<double, 3> direction() {
    const double x = gauss(), y = gauss(), z = gauss();
    return {x, y, z};
  }
  // Returns the noise of a measurement in units of sigma, which is sometimes an outlier.
  double deviate() {
    const double e = noise.normal();
    return noise.uniform() < outliers ? 300 * e : e;
  }
  double error() { return sigma * deviate(); }
  // These return the factor of residuals, and the size of residuals whose terms have the size `size`.
  double weight() const { return loss.kind == LossSpec::Kind::none ? unit : 1 / sigma; }
  double scale(double size) const { return weight() * size; }
  Noise noise;
  double unit;          // factor of all residuals where there is no loss
  double sigma;         // of the noise, relative to the size of the data
  double away;          // of the start from the truth, relative
  double offset;        // of positions or of levels
  double outliers = 0;  // share of the measurements
  LossSpec loss;
};

Scene positioning(Draw& d);
Scene kinetics(Draw& d);
Scene doses(Draw& d);
Scene ellipse(Draw& d);
Scene hand_eye(Draw& d);
Scene to_planes(Draw& d);
Scene factors(Draw& d, bool ridge);
Scene peaks(Draw& d);
Scene bearings(Draw& d);
Scene growth(Draw& d);
Scene two_views(Draw& d);
Scene inverse_depths(Draw& d);
Scene network(Draw& d);
Scene quotient(Draw& d);
Scene tide(Draw& d);

}  // namespace blocks
