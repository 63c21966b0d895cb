// This is a program as a user would write it, with the same curve as a callable, as a formula and as a
// built-in model. It prints every bit of the answers, so that builds of it can be compared.
#include <nlsq/nlsq.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

void print(const char* label, const nlsq::FitResult& fit) {
  std::printf("%s %s", label, fit.success() ? "converged" : "failed");
  for (double value : fit.parameters) std::printf(" %a", value);
  for (double error : fit.standard_errors) std::printf(" %a", error);
  std::printf(" %a\n", fit.rss);
}

}  // namespace

int main() {
  // These are only literals, because the data must not depend on how this file was compiled.
  const std::vector<double> x = {0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6};
  const std::vector<double> y = {3.52, 3.01, 2.55, 2.21, 1.96, 1.42, 1.13, 0.91, 0.78, 0.58, 0.55, 0.49};
  const auto decay = [](const auto& t, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * t) + p[2];
  };
  const nlsq::FitResult callable = nlsq::curve_fit(decay, x, y, {1.0, 1.0, 0.0});
  const nlsq::FitResult formula = nlsq::curve_fit("a*exp(-b*x)+c", x, y, {{"a", 1}, {"b", 1}, {"c", 0}});
  const nlsq::FitResult builtin = nlsq::curve_fit(nlsq::model("exp"), x, y);
  print("callable", callable);
  print("formula", formula);
  print("model", builtin);
  return callable.success() && formula.success() && builtin.success() ? 0 : 1;
}
