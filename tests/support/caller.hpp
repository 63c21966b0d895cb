// Makes one set of fits that is compiled twice: like every other test, and with -ffast-math, as a user's
// program may be. A test compares the results.
#pragma once

#include <nlsq/nlsq.hpp>

#include <cmath>
#include <vector>

namespace caller {

struct Data {
  std::vector<double> x, y;
  double unit = 1;  // unit of y and of the starting values
};

// Returns every number that a caller sees of a few fits: recorded lambdas with and without a branch, a
// formula, a model with its first guess, residuals as one function, in f64 and in f32.
inline std::vector<double> all_numbers(const Data& d) {
  std::vector<double> out;
  const auto take = [&out](const nlsq::FitResult& fit) {
    out.push_back(fit.success() ? 1 : 0);
    for (const auto* list : {&fit.parameters, &fit.standard_errors, &fit.guess})
      out.insert(out.end(), list->begin(), list->end());
    out.insert(out.end(), {fit.rss, fit.r_squared, fit.chi2_reduced, fit.aic, fit.bic,
                           fit.summary.certificate.condition});
    for (const nlsq::IterationSummary& it : fit.summary.iterations)
      out.insert(out.end(), {it.cost, it.lambda, it.gradient_norm});
  };
  for (const char* policy : {"f64", "f32"}) {
    nlsq::FitOptions options;
    options.precision = nlsq::PrecisionPolicy::parse(policy);
    take(nlsq::curve_fit([](const auto& x, const auto& p) { return p[0] * exp(-p[1] * x) + p[2]; }, d.x, d.y,
                         {d.unit, 1.0, d.unit}, options));
    take(nlsq::curve_fit(
        [](const auto& x, const auto& p) { return x < 1 ? p[0] - p[1] * x : p[0] - p[1] + p[2] * (x - 1); },
        d.x, d.y, {d.unit, d.unit, d.unit}, options));
    take(nlsq::curve_fit("a*exp(-x*2/3-b*x/10)+c", d.x, d.y, {{"b", 1}}, options));
    take(nlsq::curve_fit(nlsq::model("exp"), d.x, d.y, {}, options));
    nlsq::LeastSquaresOptions least;
    least.precision = options.precision;
    const auto residuals = [&d](const auto& p) {
      using T = std::decay_t<decltype(p[0])>;
      std::vector<T> r;
      for (std::size_t i = 0; i < d.x.size(); ++i) r.push_back(p[0] * exp(-p[1] * d.x[i]) + p[2] - d.y[i]);
      return r;
    };
    const nlsq::LeastSquaresResult r = nlsq::least_squares(residuals, {d.unit, 1.0, d.unit}, least);
    out.insert(out.end(), r.x.begin(), r.x.end());
    out.insert(out.end(), {r.cost, r.standard_errors[0]});
  }
  return out;
}

std::vector<double> all_numbers_with_fast_math(const Data& d);  // fast_math_caller.cpp

}  // namespace caller
