// Tests fits whose cost has its minimum at a kink: broken lines, and tables that are interpolated linearly.
#include <nlsq/curve_fit.hpp>
#include <nlsq/least_squares.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Rows {
  std::vector<double> x, y;

  template <class Curve>
  Rows(std::size_t count, unsigned seed, double noise, Curve curve) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> place(0, 4);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < count; ++i) x.push_back(place(random));
    std::ranges::sort(x);
    for (const double at : x) y.push_back(curve(at) + noise * normal(random));
  }

  // Returns the least cost of a + b * bent(x, c) for this c, by a straight line through (bent, y).
  template <class Bent>
  double cost(Bent bent, double c) const {
    const auto n = static_cast<double>(x.size());
    double u = 0, v = 0, uu = 0, uv = 0, vv = 0;
    for (const double at : x) u += bent(at, c) / n;
    for (const double at : y) v += at / n;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double du = bent(x[i], c) - u, dv = y[i] - v;
      uu += du * du;
      uv += du * dv;
      vv += dv * dv;
    }
    return 0.5 * (vv - uv * uv / uu);
  }
};

// Returns true if no c within a tenth of its standard error lowers the cost by more than 0.005 σ², which is
// the effect of a tenth of a standard error.
template <class Bent>
bool is_minimum(const Rows& rows, const FitResult& fit, Bent bent) {
  constexpr int kPlaces = 200;
  const double sigma2 = 2 * fit.summary.final_cost / static_cast<double>(rows.x.size() - 3);
  for (int k = -kPlaces; k <= kPlaces; ++k) {
    const double c = fit.parameters[2] + 0.1 * fit.standard_errors[2] * k / kPlaces;
    if (rows.cost(bent, c) < fit.summary.final_cost - 0.005 * sigma2) return false;
  }
  return true;
}

// Interpolates linearly in a table of e^-u at 0, 0.06, 0.12 ... Its derivatives can only be differences.
double interpolated(double u) {
  static const std::vector<double> table = [] {
    std::vector<double> values;
    for (int i = 0; i < 400; ++i) values.push_back(std::exp(-0.06 * i));
    return values;
  }();
  const double place = std::clamp(u / 0.06, 0.0, 398.0);
  const auto i = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(i);
  return (1 - share) * table[i] + share * table[i + 1];
}

}  // namespace

TEST_CASE("a broken line is certified where the minimum lies on one of the rows") {
  const auto ramp = [](double x, double c) { return std::max(x - c, 0.0); };
  const auto edge = [](double x, double c) { return std::fabs(x - c); };
  const auto roof = [](double x, double c) { return std::min(x, c); };
  std::size_t at_kinks = 0;
  const auto check = [&](const std::string& formula, auto bent) {
    for (const std::size_t count : {std::size_t{30}, std::size_t{200}, std::size_t{2000}}) {
      for (unsigned seed = 0; seed < 30; ++seed) {
        const Rows rows(count, seed, 0.1, [&](double x) { return 0.5 + 1.7 * bent(x, 1.53); });
        const FitResult fit = curve_fit(formula, rows.x, rows.y, {{"a", 1}, {"b", 1}, {"c", 1}});
        CAPTURE(formula);
        CAPTURE(count);
        CAPTURE(seed);
        CAPTURE(fit.summary.message);
        CHECK(fit.success());
        // Between two rows the cost is smooth, and may have a minimum of its own.
        if (fit.summary.certificate.governed_by != "both sides of a kink") continue;
        CHECK(is_minimum(rows, fit, bent));
        ++at_kinks;
        FitOptions judge;
        judge.max_iterations = 0;
        const std::vector<double>& p = fit.parameters;
        CHECK(curve_fit(formula, rows.x, rows.y, {{"a", p[0]}, {"b", p[1]}, {"c", p[2]}}, judge).success());
      }
    }
  };
  check("a+b*max(x-c,0)", ramp);
  check("a+b*abs(x-c)", edge);
  check("a+b*min(x,c)", roof);
  CHECK(at_kinks >= 6);
}

TEST_CASE("a table that is interpolated needs few calls, and its minimum is certified") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Rows rows(2000, seed, 0.02, [](double x) { return 2.5 * interpolated(1.3 * x) + 0.5; });
    int calls = 0;
    const VectorFunction residuals{[&](std::span<const double> p) {
      ++calls;
      std::vector<double> r;
      for (std::size_t i = 0; i < rows.x.size(); ++i)
        r.push_back(p[0] * interpolated(p[1] * rows.x[i]) + p[2] - rows.y[i]);
      return r;
    }};
    const LeastSquaresResult fit = least_squares(residuals, {1, 1, 1});
    CAPTURE(seed);
    CAPTURE(fit.summary.message);
    CHECK(fit.success());
    CHECK(calls <= 250);
    // The table is fine, so the minimum of the smooth curve is near.
    const FitResult smooth = curve_fit("a*exp(-b*x)+c", rows.x, rows.y, {{"a", 1}, {"b", 1}, {"c", 1}});
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(std::fabs(fit.x[j] - smooth.parameters[j]) < 0.5 * fit.standard_errors[j]);
  }
}

TEST_CASE("a jump or noise of the function is no kink") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Rows rows(200, seed, 0.1, [](double x) { return x < 1.53 ? 0.5 : 2.2; });
    for (const char* formula : {"a+b*(x>c)+0*abs(x-c)", "if(x<c,a,a+b)+0*abs(x-c)"}) {
      const FitResult fit = curve_fit(formula, rows.x, rows.y, {{"c", 1.5}});
      CHECK(fit.summary.certificate.governed_by != "both sides of a kink");
    }
    const VectorFunction noisy{[&](std::span<const double> p) {
      std::vector<double> r;
      for (std::size_t i = 0; i < rows.x.size(); ++i)
        r.push_back(p[0] + p[1] * rows.x[i] + 1e-3 * std::sin(1e9 * p[0] * (rows.x[i] + 1)) - rows.y[i]);
      return r;
    }};
    const LeastSquaresResult fit = least_squares(noisy, {1, 1});
    CHECK(fit.summary.certificate.governed_by != "both sides of a kink");
  }
}

TEST_CASE("bounds hold at the points beside a kink") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Rows rows(2000, seed, 0.02, [](double x) { return 2.5 * interpolated(1.3 * x) + 0.5; });
    double least = 1e300;
    const VectorFunction residuals{[&](std::span<const double> p) {
      least = std::min(least, p[1]);
      std::vector<double> r;
      for (std::size_t i = 0; i < rows.x.size(); ++i)
        r.push_back(p[0] * interpolated(p[1] * rows.x[i]) + p[2] - rows.y[i]);
      return r;
    }};
    const LeastSquaresResult free = least_squares(residuals, {1, 1, 1});
    const double bound = free.x[1] - 1e-4 * free.standard_errors[1];
    LeastSquaresOptions options;
    options.bounds = Bounds({-HUGE_VAL, bound, -HUGE_VAL}, HUGE_VAL);
    least = 1e300;
    const LeastSquaresResult fit = least_squares(residuals, {2, 2, 1}, options);
    CAPTURE(seed);
    CHECK(least >= bound);
    CHECK(fit.x[1] >= bound);
  }
}

// These models have a parameter that cancels. Its derivatives are rounding errors, whose changes look like a
// kink. Fits were CONVERGED, and the standard errors of the other parameters up to 2.4 times too large.
TEST_CASE("rounding errors of derivatives are not taken for a kink") {
  struct Cancelling {
    const char* model;
    double (*curve)(double);
  };
  const Cancelling models[] = {
      {"V*x*k/(k*K+k*x)", [](double t) { return 2 * t / (1 + t); }},
      {"a*exp(-b*x)*k/k+c", [](double t) { return 2 * std::exp(-t) + 1; }},
      {"a*sin(w*x+p)*k/k+c", [](double t) { return std::sin(1.5 * t) + 1; }},
      {"h*exp(-(x-m)^2/(2*s^2))*k/k+c", [](double t) { return 2 * std::exp(-(t - 2) * (t - 2)) + 1; }},
      {"a*(exp(-b*x)-exp(-k*x))/(k-b)", [](double t) { return 1.6 * t * std::exp(-0.8 * t); }},  // k = b
  };
  for (const Cancelling& of : models) {
    CAPTURE(of.model);
    for (int seed = 1; seed <= 5; ++seed) {
      std::vector<double> x, y;
      for (int i = 0; i < 40; ++i) {
        x.push_back(0.1 + 0.12 * i);
        y.push_back(of.curve(x.back()) + 0.03 * std::sin(1e4 * (i + 1) * seed));
      }
      const FitResult fit = curve_fit(of.model, x, y);
      CAPTURE(fit.summary.message);
      CHECK(fit.summary.certificate.governed_by != "both sides of a kink");
      if (of.model == models[4].model) continue;
      CHECK_FALSE(fit.success());
      const auto says = [&](const char* text) { return fit.summary.message.find(text) != std::string::npos; };
      CHECK((says("derivatives by k are rounding errors") || says("the data determine only")));
    }
  }
}
