// The data sets of a bootstrap: residuals, rows or errors drawn at random. bootstrap() fits them.
#pragma once

#include "prediction/random.hpp"
#include "prediction/right_side.hpp"

#include <nlsq/bootstrap.hpp>

#include <vector>

namespace nlsq::inline v0 {

// The columns of one sample. Empty ones are those of the data.
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
