// Tests what a summary says about numbers out of range: which, how large, and what to do about it.
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

// The b of these curves is e^(c x₀). It is a pure number, so another unit of y does not bring it near 1.
TEST_CASE("if a parameter is far from 1, the message names it, and the zero of x, instead of y") {
  std::vector<double> x, above, below;
  for (int i = 0; i < 60; ++i) {
    x.push_back(0.17 * i);
    above.push_back(x.back() + 400);
    below.push_back(x.back() - 700);
  }
  std::vector<double> y;
  for (int i = 0; i < 60; ++i)
    y.push_back(5 * std::exp(-8 * std::exp(-0.9 * x[static_cast<std::size_t>(i)])) +
                0.02 * std::sin(13 * i * i));
  const Model& gompertz = model("gompertz");
  const FitResult large = curve_fit(gompertz, above, y);
  CHECK_FALSE(large.success());
  says(large, "derivatives by the parameter that is");
  says(large, "e+15");
  says(large, "underflow");
  says(large, "zero amid its values");
  CHECK(large.summary.message.find("sigma") == std::string::npos);
  const FitResult small = curve_fit(gompertz, below, y);
  CHECK(small.summary.termination == Termination::failure);
  says(small, "derivatives by the parameter that is");
  says(small, "overflow");
  says(small, "zero amid its values");
  CHECK(small.summary.message.find("sigma") == std::string::npos);
  std::vector<double> in_far_units = y;
  for (double& value : in_far_units) value *= 1e160;
  const FitResult far = curve_fit(gompertz, x, in_far_units);
  says(far, "y and sigma in units in which they are near 1");
}

TEST_CASE("guesses from numbers that are too large, or to numbers that would be, say so") {
  std::vector<double> x, far, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(0.17 * i);
    far.push_back(1e160 * x.back());
    y.push_back(5 * std::exp(-8 * std::exp(-0.9 * x.back())));
  }
  const Model& gompertz = model("gompertz");
  const auto warning = [&](const std::vector<double>& at) {
    const std::span<const double> columns[] = {at};
    return gompertz.guess(columns, y).warning;
  };
  CHECK(warning(x).empty());
  CHECK(warning(far).find("every x is 0, except where x or y is not below 1e+150") == 0);
  for (double& value : x) value += 2000;
  CHECK(warning(x).find("give x a zero amid its values") != std::string::npos);
}

TEST_CASE("if cancellation makes residuals inexact, the message does not say that the callable changes") {
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

TEST_CASE("if y is 0, a linear model ends at 0, and a nonlinear one says what is undetermined") {
  constexpr double kFinest = 1e-322;  // this is a few of the smallest numbers of all
  const auto line = [](const auto& x, const auto& p) { return p[0] * (x / 5.0) + p[1]; };
  const auto decay = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  };
  for (const int rows : {2, 3, 5, 10, 50, 1000}) {
    std::vector<double> x(static_cast<std::size_t>(rows));
    const std::vector<double> y(x.size(), 0.0);
    for (const double first : {-3.0, 0.0, 1.0}) {
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = first + 8 * static_cast<double>(i) / static_cast<double>(rows - 1);
      for (const std::vector<double>& start :
           {std::vector<double>{1, 1}, {1, 0.5}, {0, 0}, {0.3, 7}, {-2, 1e3}, {1e-5, 1}}) {
        CAPTURE(rows);
        CAPTURE(first);
        CAPTURE(start[0]);
        const FitResult fit = curve_fit(line, x, y, start);
        CAPTURE(fit.summary.message);
        CHECK(fit.success());
        CHECK(fit.summary.final_cost == 0);
        for (const double p : fit.parameters) CHECK(std::fabs(p) <= kFinest);
        CHECK(curve_fit("a*(x/5)+b", x, y, {{"a", start[0]}, {"b", start[1]}}).success());
      }
      if (rows < 5) continue;
      for (const std::vector<double>& start : {std::vector<double>{1, 1, 1}, {1, 1, 0}, {5, 2, 1}}) {
        const FitResult fit = curve_fit(decay, x, y, start);
        CHECK_FALSE(fit.success());  // with a = 0, every b is as good as any other
        says(fit, "the data determine only 2 of 3 parameters");
      }
    }
  }
}

TEST_CASE("data whose squares underflow are not taken for 0") {
  for (const double unit : {1e-200, 1e-310}) {
    const Growth tiny(unit);
    const FitResult fit = curve_fit("a*x+b", tiny.x, tiny.y, {{"a", 1}, {"b", 1}});
    CHECK_FALSE(fit.success());
    says(fit, "squares underflow");
    CHECK(fit.parameters[0] == doctest::Approx(unit * 2.63).epsilon(0.1));
  }
}

TEST_CASE("a parameter with the name of a constant is pointed out, unless it is meant as one") {
  const Growth data;
  const auto warnings = [&](const char* formula, const NamedValues& p0, std::vector<std::string> fixed = {}) {
    FitOptions options;
    options.fixed = std::move(fixed);
    std::string all;
    for (const std::string& one : curve_fit(formula, data.x, data.y, p0, options).warnings) all += one + "\n";
    return all;
  };
  const std::string euler = "'e' is fitted as a parameter", circle = "'PI' is fitted as a parameter";
  for (const char* const formula : {"a*e^(b*x)", "a*e ** (b*x)", "e^(b*x)*a + 0*x"})
    CHECK(warnings(formula, {}).find(euler) != std::string::npos);
  CHECK(warnings("a*e^(b*x)", {{"e", 2.7}}, {"e"}).find(euler) == std::string::npos);
  CHECK(warnings("a*e + b*x", {{"a", 1}}).find(euler) == std::string::npos);
  CHECK(warnings("a*case^(b*x)", {}).find(euler) == std::string::npos);
  CHECK(warnings("a*sin(2*PI*x) + b", {}).find(circle) != std::string::npos);
  CHECK(warnings("a*sin(2*pi*x) + b", {}).find("is fitted as a parameter") == std::string::npos);
}

TEST_CASE("a parameter's correlation with itself is 1, without rounding") {
  const Growth data;
  const FitResult fit = curve_fit("a*exp(b*x)+c", data.x, data.y, {{"b", 1}});
  for (std::size_t j = 0; j < 3; ++j) CHECK(fit.correlation(j, j) == 1);
}

TEST_CASE("a parameter that is fixed at a guess from the data is named, and one at a given value is not") {
  const Growth data;
  FitOptions options;
  options.fixed = {"b"};
  const auto warns = [&](const NamedValues& p0) {
    for (const std::string& warning : curve_fit("a*x+b", data.x, data.y, p0, options).warnings)
      if (warning.find("b is fixed at a first guess from the data") == 0) return true;
    return false;
  };
  CHECK(warns({}));
  CHECK(warns({{"a", 2}}));
  CHECK_FALSE(warns({{"b", 1}}));
  CHECK_FALSE(warns({{"a", 2}, {"b", 1}}));
  options.fixed = {};
  CHECK_FALSE(warns({}));
}
