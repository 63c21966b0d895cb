// Draws the data sets of a bootstrap: residuals, rows or errors at random. bootstrap() fits them.
#pragma once

#include "prediction/right_side.hpp"
#include "support/random.hpp"

#include <nlsq/bootstrap.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

// Random numbers for the bootstrap: a stream for each sample, so that samples do not depend on the order in
// which threads draw them.
class SampleRandom : public Random {
 public:
  SampleRandom(std::uint64_t seed, std::uint64_t sample) : Random(mixed(mixed(seed) + sample)) {}

  // Returns a standard normal number, by the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
  double normal() {
    for (;;) {
      const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
      if (s < 1 && s > 0) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }

  // Returns a number of the Poisson distribution with this mean.
  double poisson(double mean);
};

// Holds the columns of one sample. Where one is empty, that of the data is used.
struct BootstrapSample {
  std::vector<double> y, sigma;
  std::vector<std::vector<double>> x, sigma_x;
};

class BootstrapSampler {
 public:
  // Throws ValidationError if the fit does not allow the method.
  BootstrapSampler(const RightSide& model, const Columns& x, const FitResult& fit, const FitOptions& options,
                   const BootstrapOptions& wanted);
  void draw(SampleRandom random, BootstrapSample& out) const;

 private:
  void prepare_residuals(bool robust);
  void draw_rows(SampleRandom& random, BootstrapSample& out) const;

  BootstrapMethod method_;
  const Columns& x_;
  const FitOptions& options_;
  const std::vector<double>& y_;
  bool counts_;
  double scatter_ = 1;  // standard deviation of a residual in units of sigma
  std::ptrdiff_t dof_ = 0;
  std::vector<double> fitted_;     // f
  std::vector<double> residuals_;  // e, prepared for drawing
};

}  // namespace nlsq::inline v0
