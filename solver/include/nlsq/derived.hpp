// derive: computes quantities from fitted parameters, such as "half_life = log(2)/b", with their errors.
//
// The standard error follows from the delta method: √(gᵀ C g) with the derivatives g of the expression and
// the covariance C of the fit. The interval is value ± t times that. Fixed parameters have no variance, and a
// parameter on a bound is taken as fixed there. derive_by_profile finds intervals by profile likelihood
// instead, which accounts for curvature: they end where the cost, minimized with the quantity held, has risen
// by t² (Bates and Watts 1988, section 6.1; Venzon and Moolgavkar, Applied Statistics 37, 1988).
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/profile_intervals.hpp>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Holds a derived quantity. Undefined numbers are NaN, and `note` gives the reason.
struct DerivedQuantity {
  std::string name, expression;
  double value = 0;
  double standard_error = 0;  // by the delta method, also if the interval is by profile
  double ci_low = 0, ci_high = 0;
  bool by_profile = false;  // how the interval was computed
  int fits = 0;             // fits made for the interval
  std::string note;
};

struct DeriveOptions : Parallelism {
  double confidence = 0.95;  // in (0, 1)
  int most_fits = 60;        // derive_by_profile: limit on fits for each end
  // Is called by all threads in each iteration of derive_by_profile. Once it returns true, the remaining
  // intervals are NaN. If it is empty, derive_by_profile is not stopped.
  std::function<bool()> stop;
};

// Computes derived quantities. Each text is "name = expression". An expression may use the parameters of the
// fit and earlier names. `options` are those that the fit was made with. Throws ValidationError for a text
// without a name, a name that is taken, an unknown parameter, and an expression that does not parse.
NLSQ_API std::vector<DerivedQuantity> derive(const FitResult& fit, const std::vector<std::string>& texts,
                                             const FitOptions& options = {},
                                             const DeriveOptions& derive = {});
// Without this function, a list of two texts in braces would be ambiguous.
inline std::vector<DerivedQuantity> derive(const FitResult& fit, std::initializer_list<std::string> texts,
                                           const FitOptions& options = {}, const DeriveOptions& wanted = {}) {
  return derive(fit, std::vector<std::string>(texts), options, wanted);
}
NLSQ_API DerivedQuantity derive(const FitResult& fit, std::string_view text, const FitOptions& options = {},
                                const DeriveOptions& derive = {});

// Throws what derive() would for a fit with these parameters. It finds mistakes before a long fit.
NLSQ_API void check_derived(const std::vector<std::string>& parameters,
                            const std::vector<std::string>& texts);

// Does what derive() does, with intervals by profile likelihood. The data are those of the fit. Each end
// takes about six fits. Throws ValidationError also where profile_intervals does, and for counts, errors in
// x, a covariance matrix of y, and models that are not formulas.
NLSQ_API std::vector<DerivedQuantity> derive_by_profile(const PreparedModel& model, const Columns& x,
                                                        const Column& y, const FitResult& fit,
                                                        const std::vector<std::string>& texts,
                                                        const FitOptions& options = {},
                                                        const DeriveOptions& derive = {});
template <class M>
requires(std::convertible_to<const M&, std::string_view> || std::convertible_to<const M&, const Formula&> ||
         std::convertible_to<const M&, const Model&>)
    std::vector<DerivedQuantity> derive_by_profile(const M& model, const Columns& x, const Column& y,
                                                   const FitResult& fit,
                                                   const std::vector<std::string>& texts,
                                                   const FitOptions& options = {},
                                                   const DeriveOptions& derive = {}) {
  return derive_by_profile(detail::prepared(model, x), x, y, fit, texts, options, derive);
}

}  // namespace nlsq::inline v0
