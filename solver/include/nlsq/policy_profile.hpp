// Precision policies measured on the problem at hand, and the choice of one for an objective.
//
// Here alone a clock decides: two calls may choose differently. What is chosen is a policy, and a fit under
// it has the same bits every time: keep its text to repeat the fit.
#pragma once

#include <nlsq/columns.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/precision_objective.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

struct ProfileOptions {
  std::vector<PrecisionPolicy>
      policies;          // empty: each that has a name (policy_aliases()); f64 is measured in any case
  std::size_t rows = 0;  // of the sample; 0: 1,048,576, or all where there are fewer
  int repeats = 3;       // fits of each policy, the fastest counts
  double seconds = 3;    // no further repeat once so much time has been spent
};

struct NLSQ_API PolicyProfile {
  std::size_t rows = 0, sampled = 0;        // of the problem; that were fitted
  std::vector<PolicyMeasurement> policies;  // in the order asked for, f64 first where it was not asked for
  bool stopped = false;                     // the callback said Stop: some policies were not measured
  // For people: a line a policy.
  std::string table() const;
};

// A fit of other rows by the model in question.
using FitFunction = std::function<FitResult(const Columns& x, const Column& y, const FitOptions& options)>;

// Fits blocks of rows spread evenly over the data under each policy in turn, `repeats` times, and compares
// with f64. The entry gate decides as it would for all rows. Peak memory is that of the sample's fits.
// options.precision is not read; the callback, and limits of time and iterations, hold for every single fit.
// Errors are those of the fit.
NLSQ_API PolicyProfile profile_policies(const FitFunction& fit, const Columns& x, const Column& y,
                                        const FitOptions& options = {}, const ProfileOptions& profile = {});

struct OptimizedPolicy {
  PrecisionPolicy policy;
  std::string text;     // of the policy: PrecisionPolicy::parse(text) == policy
  bool met = true;      // the objective's target, if it has one
  std::string message;  // what was chosen and why, with figures
  PolicyProfile profile;
};
// The policy that serves the objective best, by such a profile. Fit with it: options.precision =
// chosen.policy.
NLSQ_API OptimizedPolicy optimize_policy(const PrecisionObjective& objective, const FitFunction& fit,
                                         const Columns& x, const Column& y, const FitOptions& options = {},
                                         const ProfileOptions& profile = {});

namespace detail {

template <class M, class P>
concept Fits = requires(const M& model, const Columns& x, const Column& y, const P& p0,
                        const FitOptions& options) {
  { curve_fit(model, x, y, p0, options) } -> std::same_as<FitResult>;
};
template <class M, class P>
FitFunction fit_function(const M& model, const P& p0) {
  return [&model, &p0](const Columns& x, const Column& y, const FitOptions& options) {
    return curve_fit(model, x, y, p0, options);
  };
}

}  // namespace detail

// The same for whatever curve_fit takes: a formula or a built-in model with starts by name ...
template <class M>
requires detail::Fits<M, NamedValues> PolicyProfile profile_policies(const M& model, const Columns& x,
                                                                     const Column& y,
                                                                     const NamedValues& p0 = {},
                                                                     const FitOptions& options = {},
                                                                     const ProfileOptions& profile = {}) {
  return profile_policies(detail::fit_function(model, p0), x, y, options, profile);
}
template <class M>
requires detail::Fits<M, NamedValues> OptimizedPolicy optimize_policy(
    const PrecisionObjective& objective, const M& model, const Columns& x, const Column& y,
    const NamedValues& p0 = {}, const FitOptions& options = {}, const ProfileOptions& profile = {}) {
  return optimize_policy(objective, detail::fit_function(model, p0), x, y, options, profile);
}
// ... a callable of one predictor, or of several.
template <Callable F>
requires(!std::convertible_to<F, FitFunction>) PolicyProfile
    profile_policies(F f, const Column& x, const Column& y, const std::vector<double>& p0,
                     const FitOptions& options = {}, const ProfileOptions& profile = {}) {
  const ModelFunction model = make_model_function(std::move(f));
  return profile_policies(detail::fit_function(model, p0), Columns(x), y, options, profile);
}
template <Callable F>
requires(!std::convertible_to<F, FitFunction>) PolicyProfile
    profile_policies(F f, const std::vector<Column>& x, const Column& y, const std::vector<double>& p0,
                     const FitOptions& options = {}, const ProfileOptions& profile = {}) {
  const ModelFunction model = make_model_function(std::move(f), static_cast<int>(x.size()));
  return profile_policies(detail::fit_function(model, p0), Columns(x), y, options, profile);
}
template <Callable F>
requires(!std::convertible_to<F, FitFunction>) OptimizedPolicy
    optimize_policy(const PrecisionObjective& objective, F f, const Column& x, const Column& y,
                    const std::vector<double>& p0, const FitOptions& options = {},
                    const ProfileOptions& profile = {}) {
  const ModelFunction model = make_model_function(std::move(f));
  return optimize_policy(objective, detail::fit_function(model, p0), Columns(x), y, options, profile);
}
template <Callable F>
requires(!std::convertible_to<F, FitFunction>) OptimizedPolicy
    optimize_policy(const PrecisionObjective& objective, F f, const std::vector<Column>& x, const Column& y,
                    const std::vector<double>& p0, const FitOptions& options = {},
                    const ProfileOptions& profile = {}) {
  const ModelFunction model = make_model_function(std::move(f), static_cast<int>(x.size()));
  return optimize_policy(objective, detail::fit_function(model, p0), Columns(x), y, options, profile);
}

}  // namespace nlsq::inline v0
