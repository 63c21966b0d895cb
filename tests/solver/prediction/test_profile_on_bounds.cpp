// Tests intervals by profile of quantities that depend on a parameter on a bound, and derived quantities
// without a slope.
#include <nlsq/derived.hpp>
#include <nlsq/nlsq.hpp>
#include <nlsq/statistics.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

using Values = std::vector<double>;

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Returns what least squares with the columns u and v leaves of w.
Values rest_of(Values w, const Values& u, const Values& v) {
  const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), uw = dot(u, w), vw = dot(v, w);
  const double determinant = uu * vv - uv * uv;
  const double a = (vv * uw - uv * vw) / determinant, b = (uu * vw - uv * uw) / determinant;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] -= a * u[i] + b * v[i];
  return w;
}

template <class F>
Values values_of(const Values& x, F f) {
  Values out;
  for (const double v : x) out.push_back(f(v));
  return out;
}

// Fits y by u and v, and returns the factor of w at which rss has risen by t² s². This is the upper end of
// its profile at 95 % if 0 is the best factor allowed.
double end_of_profile(const Values& y, const Values& u, const Values& v, const Values& w) {
  const Values r = rest_of(y, u, v), q = rest_of(w, u, v);
  const double dof = static_cast<double>(y.size()) - 2, t = student_t_quantile(0.95, dof);
  const double a = dot(q, q), b = -2 * dot(r, q), c = -t * t * dot(r, r) / dof;
  REQUIRE(b > 0);  // the best factor is below 0
  return (-b + std::sqrt(b * b - 4 * a * c)) / (2 * a);
}

const Values kX = {0, 1, 2, 3, 4, 5};
const double kInf = std::numeric_limits<double>::infinity();

FitOptions with_positive_c() {
  FitOptions options;
  options.bounds = Bounds({-kInf, -kInf, 0}, {kInf, kInf, kInf});
  return options;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("by profile, a quantity of a parameter on a bound reaches as far as the data allow") {
  const Values y = {1.02, 1.99, 3.04, 3.95, 5.06, 5.93};
  const char* model = "a + b*x + c*x^2";
  const FitResult fit = curve_fit(model, kX, y, {{"a", 1}, {"b", 1}, {"c", 0.1}}, with_positive_c());
  REQUIRE(fit.success());
  REQUIRE(fit.parameters[2] == 0);
  const Values ones(kX.size(), 1), squares = values_of(kX, [](double x) { return x * x; });
  const double end = 3 * end_of_profile(y, ones, kX, squares);
  for (const char* text : {"k = 3*c", "k = 3*c + 1e-9*b"}) {
    CAPTURE(text);
    const DerivedQuantity q = derive_by_profile(model, kX, y, fit, {text}, with_positive_c())[0];
    CHECK(std::fabs(q.ci_low - q.value) < 1e-8);
    CHECK(q.ci_high == doctest::Approx(end).epsilon(1e-4));
  }
}

TEST_CASE("by profile, the band of a curve that is a parameter on a bound reaches as far, too") {
  const Values y = {-0.03, 0.98, 2.05, 2.96, 4.02, 4.97};
  const char* model = "a*x + b*x^2 + c*(1-x)";  // at x = 0 it is c
  const FitResult fit = curve_fit(model, kX, y, {{"a", 1}, {"b", 0.1}, {"c", 0.1}}, with_positive_c());
  REQUIRE(fit.success());
  REQUIRE(fit.parameters[2] == 0);
  const Values squares = values_of(kX, [](double x) { return x * x; }),
               rest = values_of(kX, [](double x) { return 1 - x; });
  const Prediction band = predict_by_profile(model, kX, y, Values{0}, fit, with_positive_c());
  CHECK(band.confidence_low[0] == doctest::Approx(0));
  CHECK(band.confidence_high[0] == doctest::Approx(end_of_profile(y, kX, squares, rest)).epsilon(1e-4));
}

TEST_CASE("a quantity of fitted parameters without a slope says so, and has no profile") {
  const Values y = {1.02, 1.99, 3.04, 3.95, 5.06, 5.93};
  const FitResult fit = curve_fit("a + b*x", kX, y, {{"a", 1}, {"b", 1}});
  REQUIRE(fit.success());
  const std::vector<std::string> texts = {"n = floor(10*b)", "k = 3"};
  const std::vector<DerivedQuantity> q = derive(fit, texts);
  CHECK(q[0].standard_error == 0);
  CHECK(contains(q[0].note, "derivative is 0"));
  CHECK(q[1].note.empty());
  const std::vector<DerivedQuantity> by_profile = derive_by_profile("a + b*x", kX, y, fit, texts);
  CHECK(std::isnan(by_profile[0].ci_low));
  CHECK(std::isnan(by_profile[0].ci_high));
  CHECK(contains(by_profile[0].note, "derivative is 0"));
  CHECK(by_profile[1].ci_low == 3);
  CHECK(by_profile[1].ci_high == 3);
}
