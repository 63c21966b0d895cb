// What a summary says about numbers out of range: which, how large, and what to do about it.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace nlsq;

namespace {

bool says(const FitResult& fit, const std::string& part) {
  CAPTURE(fit.summary.message);
  const bool found = fit.summary.message.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

struct Growth {
  std::vector<double> x, y;
  explicit Growth(double scale = 1) {
    for (int i = 0; i < 50; ++i) {
      x.push_back(i / 49.0);
      y.push_back(scale * (std::exp(1.3 * x.back()) + 0.05 * std::sin(37 * i)));
    }
  }
};

}  // namespace

TEST_CASE(
    "residuals whose squares overflow are said to be too large, with their size and row, not to be "
    "infinite") {
  const Growth data(1e160);
  const FitResult fit = curve_fit("a*exp(b*x)", data.x, data.y, {{"a", 1}, {"b", 1}}, [] {
    FitOptions options;
    options.solve_linear_start = false;
    return options;
  }());
  CHECK(fit.summary.termination == Termination::failure);
  CHECK(fit.summary.message.find("not finite") == std::string::npos);
  says(fit, "e+160");
  says(fit, "row 49");
  says(fit, "squares");
  says(fit, "sigma");
}

TEST_CASE("a residual that is not finite is named by its row") {
  const Growth data;
  const FitResult fit = curve_fit("a*log(x-b)", data.x, data.y, {{"a", 1}, {"b", 0.5}});
  CHECK(fit.summary.termination == Termination::failure);
  says(fit, "row 0 is not finite");
}

TEST_CASE("residuals or derivatives whose squares underflow are said to be too small, with their size") {
  const Growth tiny(1e-200), data;
  says(curve_fit("a*exp(b*x)", tiny.x, tiny.y, {{"a", 3e-200}, {"b", 0.1}}), "underflow");
  says(curve_fit("a*exp(b*x)", tiny.x, tiny.y, {{"a", 3e-200}, {"b", 0.1}}), "e-200");
  const FitResult flat = curve_fit("exp(p*1e-170*x)", data.x, data.y, {{"p", 0.1}});
  CHECK_FALSE(flat.success());
  says(flat, "underflow");
  says(flat, "e-170");
  says(flat, "units");
}

TEST_CASE("where cancellation spoils residuals the callable is not accused of changing") {
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(1e-6 * (1 + i / 200.0));
    y.push_back(1.7 * 1.7 * 1.7 / 6 + 1e-5 * std::sin(7 * i));
  }
  const FitResult fit = curve_fit("(sinh(b*x)-b*x)/x^3", x, y, {{"b", 1.5}});
  if (!fit.summary.certificate.recheck_passed) {
    says(fit, "cancel");
    CHECK(fit.summary.message.find("does the callable change") == std::string::npos);
  }
  REQUIRE_FALSE(fit.summary.certificate.recheck_passed);
}

TEST_CASE("a callable that changes between calls is accused of it") {
  const Growth data;
  int calls = 0;
  const auto model = [&calls](double x, const std::vector<double>& p) mutable {
    return p[0] * x + 1e-3 * (++calls % 7);
  };
  const FitResult fit = curve_fit(model, data.x, data.y, {1.0});
  CHECK_FALSE(fit.success());
  says(fit, "does the callable change");
}
