// 1. A curve: three numbers from a hundred measurements.
//
// A capacitor discharges through a resistor. The voltage was measured a hundred times. We want the time
// constant and its uncertainty.
#include <nlsq/nlsq.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  // The measurements: a voltage that falls from 5 V above an offset of 0.3 V, with a noise of 20 mV. The seed
  // makes every run of this example print the same numbers.
  std::vector<double> t, volt;
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    const double noise = 0.02 * (static_cast<double>(random()) / 0x1p31 - 1) * std::sqrt(3.0);
    t.push_back(0.1 * i);
    volt.push_back(5.0 * std::exp(-t.back() / 2.2) + 0.3 + noise);
  }

  // The model: any callable f(x, p). Write it with `auto`, because nlsq also calls it with its own number
  // type to obtain exact derivatives. For the same reason, write `using std::exp` and call exp.
  const auto discharge = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-x / p[1]) + p[2];
  };

  // The fit, from a rough guess. The data can be anything contiguous: vectors, arrays, or spans of double,
  // float or integers. They are not copied.
  const nlsq::FitResult fit = nlsq::curve_fit(discharge, t, volt, {1.0, 1.0, 0.0});

  // `success()` means: certified as a minimum in double, whatever precision the iterations used.
  if (!fit.success()) {
    std::printf("no fit: %s\n", fit.summary.message.c_str());
    return 1;
  }
  const char* meaning[] = {"height (V)", "time constant (s)", "offset (V)"};
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    std::printf("%-18s %8.4f +- %.4f\n", meaning[j], fit.parameters[j], fit.standard_errors[j]);
  }
  std::printf("R^2 %.6f, scatter about the curve %.4f V\n", fit.r_squared, std::sqrt(fit.chi2_reduced));
  std::printf("%s\n", fit.summary.brief_report().c_str());
  return 0;
}
