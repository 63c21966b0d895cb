// 3. Options, and the uncertainty of a result.
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
  // This is the standard deviation of a rate, from the manufacturer of the instrument.
  const std::vector<double> errors(rate.size(), 10.0);

  nlsq::FitOptions options;
  options.sigma = errors;         // weights: 1/sigma^2
  options.absolute_sigma = true;  // the errors are absolute, not only relative: do not rescale them
  options.precision = nlsq::PrecisionPolicy::parse("f64");  // "auto" is the default; the answer is the same
  options.max_iterations = 50;
  options.callback = [](const nlsq::IterationSummary& it) {  // watch the fit, or stop it
    std::printf("iteration %d: cost %.4f, damping %.0e, %s\n", it.iteration, it.cost, it.lambda,
                nlsq::name(it.outcome));
    return it.iteration < 40 ? nlsq::Continue : nlsq::Stop;
  };
  const nlsq::FitResult fit =
      nlsq::curve_fit("V*x/(K+x)", concentration, rate, {{"V", 200}, {"K", 0.1}}, options);

  // Standard errors are the square roots of the covariance's diagonal. The correlation shows how far an error
  // of K can compensate an error of V.
  for (std::size_t j = 0; j < 2; ++j) {
    std::printf("%s = %.4f +- %.4f\n", fit.parameter_names[j].c_str(), fit.parameters[j],
                fit.standard_errors[j]);
  }
  std::printf("correlation of V and K: %.3f\n", fit.correlation(0, 1));
  // The reduced chi^2 is near 1 if the model and sigma are right. With 10 degrees of freedom its standard
  // deviation is 0.45.
  std::printf("chi^2/dof: %.3f, of %td degrees of freedom\n", fit.chi2_reduced, fit.dof);

  // The error of any function of the parameters follows from the covariance. Here it is V/K, the slope at the
  // origin, with the gradient (1/K, -V/K^2).
  const double V = fit.parameters[0], K = fit.parameters[1], g[] = {1 / K, -V / (K * K)};
  double variance = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) variance += g[i] * fit.covariance(i, j) * g[j];
  }
  std::printf("V/K = %.1f +- %.1f\n", V / K, std::sqrt(variance));

  // The basis of the verdict "converged": tests in double at the returned point.
  const nlsq::Certificate& c = fit.summary.certificate;
  std::printf("%s by %s: %.1e standard errors from the optimum, condition %.1f, rank %d\n",
              nlsq::name(c.verdict), c.governed_by.c_str(), c.decrement_sigma, c.condition, c.rank);

  // If the data cannot distinguish two parameters, the fit reports this and gives no arbitrary error.
  const nlsq::FitResult vague =
      nlsq::curve_fit("a*b*x/(K+x)", concentration, rate, {{"a", 10}, {"b", 20}, {"K", 0.1}});
  std::printf("a*b*x/(K+x): %s\n", nlsq::name(vague.summary.verdict));
  for (const std::string& warning : vague.warnings) std::printf("  warning: %s\n", warning.c_str());
  return fit.success() && vague.success() ? 0 : 1;
}
