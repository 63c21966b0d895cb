// 2. A fit without writing a function: a formula in a string, or a built-in model.
//
// Data: the censuses of the United States from 1790 to 1970 (data/us_population.csv), in millions.
#include <nlsq/nlsq.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

void print(const char* title, const nlsq::FitResult& fit) {
  std::printf("%s\n", title);
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    std::printf("  %-4s %12.6g +- %-10.3g (started at %.4g)\n", fit.parameter_names[j].c_str(),
                fit.parameters[j], fit.standard_errors[j], fit.guess[j]);
  }
  for (const std::string& warning : fit.warnings) std::printf("  note: %s\n", warning.c_str());
  std::printf("  R^2 %.5f, AIC %.1f, %s\n\n", fit.r_squared, fit.aic, nlsq::name(fit.summary.verdict));
}

}  // namespace

int main() {
  // Integers can be used as data directly. They are not converted in advance.
  const std::vector<int> year = {1790, 1800, 1810, 1820, 1830, 1840, 1850, 1860, 1870, 1880,
                                 1890, 1900, 1910, 1920, 1930, 1940, 1950, 1960, 1970};
  const std::vector<double> millions = {3.93, 5.31, 7.24, 9.64,  12.9,  17.1,  23.2,  31.4,  39.8, 50.2,
                                        62.9, 76.0, 92.0, 105.7, 122.8, 131.7, 151.3, 179.3, 203.2};

  // A formula: x is the predictor, and every other name is a parameter, in order of appearance. Parameters
  // that enter linearly (here a) are solved for, so only the others need a reasonable start.
  const nlsq::FitResult growth = nlsq::curve_fit("a*exp(b*(x-1790))", year, millions, {{"b", 0.02}});
  print("exponential growth, a*exp(b*(x-1790)):", growth);

  // A formula may have a left side. Here the same law is fitted to the logarithm, so that relative errors of
  // early and late censuses have the same weight.
  const nlsq::FitResult relative =
      nlsq::curve_fit("log(y) = log(a) + b*(x-1790)", year, millions, {{"a", 4}, {"b", 0.02}});
  print("the same with relative errors, log(y) = log(a) + b*(x-1790):", relative);

  // A built-in model finds its own start. Its parameter c, the lower asymptote, is fixed at zero.
  nlsq::FitOptions options;
  options.fixed = {"c"};
  const nlsq::Model& logistic = nlsq::model("logistic");
  const nlsq::FitResult bounded = nlsq::curve_fit(logistic, year, millions, {{"c", 0}}, options);
  print((logistic.name + ", " + logistic.formula + ":").c_str(), bounded);

  // The model with the smaller AIC describes these data better: growth slows down.
  std::printf("better: %s\n", bounded.aic < growth.aic ? "logistic" : "exponential");
  std::printf("built-in models: %zu\n", nlsq::models().size());
  return growth.success() && relative.success() && bounded.success() ? 0 : 1;
}
