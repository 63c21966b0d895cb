// Measures precision policies on a given problem, and chooses one for an objective.
//
// Only this choice depends on a clock, so two calls may choose differently. A fit under the chosen policy has
// the same bits every time. Keep the policy's text to repeat the fit.
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

// Selects what is measured.
struct ProfileOptions {
  // if empty, every policy with a name (policy_aliases()); f64 is always measured
  std::vector<PrecisionPolicy> policies;
  std::size_t rows = 0;  // rows of the sample; 0: 1,048,576, or all if there are fewer
  int repeats = 3;       // fits under each policy; the fastest counts
  double seconds = 3;    // no further repeat after this time in s
};

// Holds the measurements of all policies.
struct NLSQ_API PolicyProfile {
  std::size_t rows = 0, sampled = 0;        // rows of the problem, and of the sample
  std::vector<PolicyMeasurement> policies;  // in the requested order; f64 first if it was not requested
  bool stopped = false;                     // the callback returned Stop, so some policies were not measured
  // Returns a table for people, one line per policy.
  std::string table() const;
};

// Fits the model in question to other rows.
using FitFunction = std::function<FitResult(const Columns& x, const Column& y, const FitOptions& options)>;

// Fits evenly spread blocks of rows under each policy in turn, `repeats` times, and compares with f64. The
// entry gate decides as for all rows. Peak memory is that of the sample's fits. options.precision is ignored.
// The callback and the limits of time and iterations apply to each fit. Throws what the fit throws.
NLSQ_API PolicyProfile profile_policies(const FitFunction& fit, const Columns& x, const Column& y,
                                        const FitOptions& options = {}, const ProfileOptions& profile = {});

// Holds the chosen policy and the measurements behind it.
struct OptimizedPolicy {
  PrecisionPolicy policy;
  std::string text;     // the policy as text: PrecisionPolicy::parse(text) == policy
  bool met = true;      // the objective's target is met, if it has one
  std::string message;  // the choice and its reason, with figures
  PolicyProfile profile;
};
// Chooses the best policy for the objective, by such a profile. To fit with it, set options.precision =
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

// The overloads below do the same for all models of curve_fit: a formula or a built-in model with starting
// values by name ...
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
// ... or a callable of one predictor, or of several.
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
