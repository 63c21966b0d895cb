// 3. Options, and what can be said about the uncertainty of a result.
//
// Data: the velocity of an enzyme reaction against substrate concentration (data/puromycin.csv, treated).
#include <nlsq/nlsq.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  const std::vector<double> concentration = {0.02, 0.02, 0.06, 0.06, 0.11, 0.11,
                                             0.22, 0.22, 0.56, 0.56, 1.10, 1.10};
  const std::vector<double> rate = {76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200};
  const std::vector<double> errors(rate.size(),
                                   10.0);  // standard deviation of a rate, from the instrument's maker

  nlsq::FitOptions options;
  options.sigma = errors;         // weights: 1/sigma^2
  options.absolute_sigma = true;  // the errors are known, not just their ratios: do not rescale them
  options.precision = nlsq::PrecisionPolicy::parse("f64");  // "auto" is the default; the answer is the same
  options.max_iterations = 50;
  options.callback = [](const nlsq::IterationSummary& it) {  // watch the fit, or stop it
    std::printf("iteration %d: cost %.4f, damping %.0e, %s\n", it.iteration, it.cost, it.lambda,
                nlsq::name(it.outcome));
    return it.iteration < 40 ? nlsq::Continue : nlsq::Stop;
  };
  const nlsq::FitResult fit =
      nlsq::curve_fit("V*x/(K+x)", concentration, rate, {{"V", 200}, {"K", 0.1}}, options);

  // Standard errors are the roots of the covariance's diagonal; the correlation says how far an error of V
  // can be made up by one of K.
  for (std::size_t j = 0; j < 2; ++j) {
    std::printf("%s = %.4f +- %.4f\n", fit.parameter_names[j].c_str(), fit.parameters[j],
                fit.standard_errors[j]);
  }
  std::printf("correlation of V and K: %.3f\n", fit.correlation(0, 1));
  // Near 1 where the model is right and the errors are what sigma says; 10 degrees of freedom leave +- 0.45.
  std::printf("chi^2/dof: %.3f, of %td degrees of freedom\n", fit.chi2_reduced, fit.dof);

  // An error of anything computed from the parameters follows from the covariance: here of V/K, the slope at
  // the origin. Its gradient is (1/K, -V/K^2).
  const double V = fit.parameters[0], K = fit.parameters[1], g[] = {1 / K, -V / (K * K)};
  double variance = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) variance += g[i] * fit.covariance(i, j) * g[j];
  }
  std::printf("V/K = %.1f +- %.1f\n", V / K, std::sqrt(variance));

  // What stands behind the word "converged": tests in double, at the point returned.
  const nlsq::Certificate& c = fit.summary.certificate;
  std::printf("%s by %s: %.1e standard errors from the optimum, condition %.1f, rank %d\n",
              nlsq::name(c.verdict), c.governed_by.c_str(), c.decrement_sigma, c.condition, c.rank);

  // Data that cannot tell two parameters apart: the fit says so instead of inventing an error.
  const nlsq::FitResult vague =
      nlsq::curve_fit("a*b*x/(K+x)", concentration, rate, {{"a", 10}, {"b", 20}, {"K", 0.1}});
  std::printf("a*b*x/(K+x): %s\n", nlsq::name(vague.summary.verdict));
  for (const std::string& warning : vague.warnings) std::printf("  warning: %s\n", warning.c_str());
  return fit.success() && vague.success() ? 0 : 1;
}
