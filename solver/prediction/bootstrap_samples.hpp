// Draws the data sets of a bootstrap: residuals, rows or errors at random. bootstrap() fits them.
#pragma once

#include "prediction/right_side.hpp"
#include "support/random.hpp"

#include <nlsq/bootstrap.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::vector<std::size_t> rows;  // of the data, where whole rows are drawn
};

class BootstrapSampler {
 public:
  // `fitted` are the values of the model, in units of y. x, y and the options must outlive the sampler.
  // Throws ValidationError if the fit does not allow the method.
  BootstrapSampler(const Columns& x, const std::vector<double>& y, std::vector<double> fitted,
                   const FitResult& fit, const FitOptions& options, const BootstrapOptions& wanted);
  void draw(SampleRandom random, BootstrapSample& out) const;

 private:
  double residual(std::size_t row) const;  // weighted
  double sum_of_squares() const;
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

// Fits the model of a bootstrap to one sample, from the estimate. The options are those of the first fit,
// with the sample's sigma and errors in x.
using FitSample = std::function<FitResult(const BootstrapSample& sample, const FitOptions& options)>;

// Does the work of bootstrap() for any model: `fit_again` is called by as many threads as `wanted` allows.
// Throws ValidationError for what bootstrap() refuses.
Bootstrap bootstrap_by(const FitSample& fit_again, const BootstrapSampler& sampler, const FitResult& fit,
                       const FitOptions& options, const BootstrapOptions& wanted);
// Throws ValidationError for a fit that allows no bootstrap, and for options that break a rule.
void check_bootstrap(const FitResult& fit, const BootstrapOptions& wanted);
Columns columns_of(const BootstrapSample& sample, const Columns& x);

}  // namespace nlsq::inline v0
