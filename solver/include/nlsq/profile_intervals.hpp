// Computes confidence intervals by profile likelihood. A parameter is fixed at values further and further
// from its estimate, and all others are fitted again. The interval ends where the cost has risen by as much
// as chance would explain. Unlike estimate ± t * standard error, it accounts for the model's curvature and
// need not be symmetric (Bates and Watts, Nonlinear Regression Analysis and Its Applications, 1988, section
// 6.1).
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Selects which intervals are computed.
struct IntervalOptions {
  // probability that an interval covers the parameter, in (0, 1)
  double confidence = 0.95;
  std::vector<std::string> parameters;  // by name; if empty, all fitted parameters that are not on a bound
  int most_fits = 60;                   // limit on places tried for each end, with one or two fits
};

// Says how one end of an interval was determined.
enum class IntervalEnd : std::uint8_t {
  found,      // the cost rises by the threshold there
  at_bound,   // a bound of the parameter comes first
  unbounded,  // ± infinity: the cost never rises by the threshold, however far the parameter goes
  failed,     // NaN: the fits of the other parameters did not converge
};
NLSQ_API const char* name(IntervalEnd end) noexcept;

// Holds the interval of one parameter, in its units.
struct ProfileInterval {
  std::string parameter;
  double estimate = 0, lower = 0, upper = 0;
  IntervalEnd lower_end = IntervalEnd::failed, upper_end = IntervalEnd::failed;
  int fits = 0;  // fits made with the parameter fixed
};

// Holds the intervals of all selected parameters of a fit.
struct ProfileIntervals {
  std::vector<ProfileInterval> intervals;
  double threshold = 0;  // allowed rise of 2 * cost: t² s²; z² with absolute sigma and for counts
  // True if a fit with a parameter fixed found a lower cost than the original fit. Then no interval surrounds
  // a minimum.
  bool better_found = false;
  std::vector<double> better;  // the parameters of that fit, to start a new one from
};

// Fits the model to the same data from another start with other options.
using Refit = std::function<FitResult(const std::vector<double>& start, const FitOptions& options)>;

// Computes intervals about the minimum `fit`, which was found with `options`. Throws ValidationError if `fit`
// is not certified, for a name that is not a fitted parameter, for a confidence outside (0, 1), and for a
// robust loss, which is no likelihood.
NLSQ_API ProfileIntervals profile_intervals_by(const Refit& refit, const FitResult& fit,
                                               const FitOptions& options = {},
                                               const IntervalOptions& intervals = {});

namespace detail {
inline PreparedModel prepared(std::string_view formula, const Columns& x) {
  return PreparedModel(formula, static_cast<int>(x.size()));
}
inline PreparedModel prepared(const Formula& formula, const Columns&) { return PreparedModel(formula); }
inline PreparedModel prepared(const Model& model, const Columns&) { return PreparedModel(model); }
inline const PreparedModel& prepared(const PreparedModel& model, const Columns&) { return model; }
}  // namespace detail

// The overloads below do the same for all models of curve_fit: a formula, a built-in or prepared model ...
template <class M>
requires(std::convertible_to<const M&, std::string_view> || std::convertible_to<const M&, const Formula&> ||
         std::convertible_to<const M&, const Model&> ||
         std::convertible_to<const M&, const PreparedModel&>) ProfileIntervals
    profile_intervals(const M& model, const Columns& x, const Column& y, const FitResult& fit,
                      const FitOptions& options = {}, const IntervalOptions& intervals = {}) {
  const PreparedModel prepared = detail::prepared(model, x);  // it is fitted many times
  const Refit refit = [&](const std::vector<double>& start, const FitOptions& changed) {
    NamedValues p0;
    for (std::size_t j = 0; j < start.size(); ++j) {
      if (fit.ties.empty() || fit.ties[j].empty()) p0.emplace_back(fit.parameter_names[j], start[j]);
    }
    return curve_fit(prepared, x, y, p0, changed);
  };
  return profile_intervals_by(refit, fit, options, intervals);
}

// ... or a callable f(x, p) with a number x.
template <Callable F>
ProfileIntervals profile_intervals(F model, const Column& x, const Column& y, const FitResult& fit,
                                   const FitOptions& options = {}, const IntervalOptions& intervals = {}) {
  const ModelFunction function = make_model_function(std::move(model));
  const Refit refit = [&](const std::vector<double>& start, const FitOptions& changed) {
    return curve_fit(function, Columns(x), y, start, changed);
  };
  return profile_intervals_by(refit, fit, options, intervals);
}

}  // namespace nlsq::inline v0
