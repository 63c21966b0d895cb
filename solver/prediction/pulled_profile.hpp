// Computes profile likelihood intervals of a function h of the parameters: the values that h can have while 2
// * cost rises by no more than t² s². Bands and derived quantities use it.
//
// h is not a parameter, so it cannot be held. Instead the data get one more row, whose model is h, whose
// response is a target c and whose standard deviation is w. A fit to all rows minimizes S(p) + ((h(p) -
// c)/w)², where S is that of the data. At its minimum p*, no other parameters with the same h have a smaller
// S, because they would make the sum smaller, too. So p* is a point of the profile of h, whatever the target
// is. The target is moved until S has risen by t² s², and the interval ends at h(p*). w is a hundredth of the
// standard error of h, so that h stays close to its target. It becomes smaller where S is not convex in h: h
// may jump over values there, and a stronger pull reaches them.
#pragma once

#include "prediction/right_side.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/profile_intervals.hpp>

#include <vector>

namespace nlsq::inline v0 {

// Holds the data of a fit with room for one more row, which is the last.
struct PulledData {
  std::vector<std::vector<double>> x;
  std::vector<double> y, sigma;
};
// Copies the columns. Without sigma in the options, sigma is 1.
PulledData pulled_data(const Columns& x, const std::vector<double>& y, const FitOptions& options);

struct PulledInterval {
  double low, high;
  IntervalEnd low_end = IntervalEnd::failed, high_end = IntervalEnd::failed;
  int fits = 0;
  bool better_found = false;  // a fit found a lower cost than the original one
};

// Settings that all intervals of one fit have in common.
struct PulledScale {
  double quantile = 0;  // t
  double scatter = 1;   // s²
  int most_fits = 60;   // for each end
};
// Throws ValidationError for fits without a profile: uncertified, without scatter, counts, robust losses,
// errors in x, a covariance matrix of y. `what` begins the message.
PulledScale pulled_scale(std::string_view what, const FitResult& fit, const FitOptions& options,
                         double confidence, int most_fits);

// Returns the interval of h, whose estimate and standard error by the delta method are given. `model`
// computes h in the last row of `data`; its target and sigma are set here.
PulledInterval pulled_interval(const PreparedModel& model, PulledData data, const FitResult& fit,
                               const FitOptions& refit, const PulledScale& scale, double estimate,
                               double standard_error);

}  // namespace nlsq::inline v0
