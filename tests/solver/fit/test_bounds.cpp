// Tests bounds of curve fits: where they are active and where not, and what is said of a parameter on a
// bound.
#include "bounded_fits.hpp"
#include "messages.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace nlsq;
using namespace bounded_fits;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

}  // namespace

TEST_CASE("bounds that hold at the end: the fit is that with the parameter fixed there") {
  const Data d = decay_data();
  check_like_fixed(fit(d, within({-kInfinity, {kInfinity, 1.1, kInfinity}})), fixed_at(d, "b", 1.1));
  check_like_fixed(fit(d, within({{-kInfinity, 1.5, -kInfinity}, kInfinity}), {{"a", 1}, {"b", 2}, {"c", 0}}),
                   fixed_at(d, "b", 1.5));
  check_like_fixed(fit(d, within({0, {2, 10, 10}})), fixed_at(d, "a", 2));
  const FitResult by_callable = curve_fit(decay, d.x, d.y, {1.0, 1.0, 0.0}, within({0, {2, 10, 10}}));
  CHECK(by_callable.parameters[0] == 2);
  CHECK(by_callable.at_bound == std::vector<bool>{true, false, false});
  CHECK(contains(by_callable.warnings.at(0), "p0 (2) at a bound"));
  CHECK(contains(by_callable.summary.message, "1 parameter at a bound"));
}

TEST_CASE("bounds met on the way that do not hold at the end leave no trace") {
  const Data d = decay_data();
  const FitResult free = fit(d, {});
  // From b = 8 the first steps go far to the left.
  const FitResult bounded = fit(d, within({{0, 0.9, 0.3}, {4, 9, 0.9}}), {{"a", 0.2}, {"b", 8}, {"c", 0.9}});
  CHECK(bounded.success());
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(bounded.parameters[j] == doctest::Approx(free.parameters[j]).epsilon(1e-10));
    CHECK(bounded.standard_errors[j] == doctest::Approx(free.standard_errors[j]).epsilon(1e-8));
    CHECK_FALSE(bounded.at_bound[j]);
  }
  CHECK(bounded.dof == free.dof);
}

TEST_CASE("a start on a bound leaves it where the cost falls inwards") {
  const Data d = decay_data();
  const FitResult free = fit(d, {});
  for (const double b : {0.2, 5.0}) {
    FitOptions options = within({{0, 0.2, 0}, {5, 5, 5}});
    for (const bool linear : {true, false}) {
      options.solve_linear_start = linear;
      const FitResult bounded = fit(d, options, {{"a", 5}, {"b", b}, {"c", 0}});
      CHECK(bounded.success());
      for (std::size_t j = 0; j < 3; ++j)
        CHECK(bounded.parameters[j] == doctest::Approx(free.parameters[j]).epsilon(1e-9));
      CHECK(bounded.at_bound == std::vector<bool>(3, false));
    }
  }
}

TEST_CASE("a start at a bound that is not the minimum is never certified") {
  const Data d = decay_data();
  FitOptions options = within({{-kInfinity, 0.2, -kInfinity}, kInfinity});
  options.max_iterations = 0;
  options.solve_linear_start = false;
  const FitResult wrong_side = fit(d, options, {{"a", 2.5}, {"b", 0.2}, {"c", 0.5}});
  CHECK_FALSE(wrong_side.success());
  CHECK(wrong_side.summary.verdict == Verdict::budget);
}

TEST_CASE("infinite bounds, and finite ones that nothing comes near, give the bits of none") {
  const Data d = decay_data(300);
  for (const char* policy : {"auto", "f32", "f64"}) {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    const FitResult free = fit(d, options);
    for (const Bounds& bounds :
         {Bounds{-kInfinity, kInfinity}, Bounds{-1e6, 1e6}, Bounds{-kInfinity, {1e5, 1e5, 1e5}}}) {
      options.bounds = bounds;
      const FitResult bounded = fit(d, options);
      CHECK(bounded.parameters == free.parameters);
      CHECK(bounded.standard_errors == free.standard_errors);
      CHECK(bounded.summary.iterations.size() == free.summary.iterations.size());
      CHECK(bounded.summary.final_cost == free.summary.final_cost);
    }
  }
}

TEST_CASE("equal bounds hold a parameter: it counts as fixed") {
  const Data d = decay_data();
  const FitResult bounded =
      fit(d, within({{-kInfinity, 1.1, -kInfinity}, {kInfinity, 1.1, kInfinity}}), {{"a", 1}, {"c", 0}});
  FitOptions options;
  options.fixed = {"b"};
  const FitResult fixed = fit(d, options, {{"a", 1}, {"b", 1.1}, {"c", 0}});
  CHECK(bounded.parameters == fixed.parameters);
  CHECK(bounded.standard_errors == fixed.standard_errors);
  CHECK(bounded.fixed == std::vector<bool>{false, true, false});
  CHECK(bounded.at_bound == std::vector<bool>(3, false));
}

TEST_CASE("all parameters held: the cost is evaluated, certified, and no step is made") {
  const Data d = decay_data();
  const FitResult fixed = fit(d, within({{2, 1, 0.5}, {2, 1, 0.5}}), {});
  CHECK(fixed.success());
  CHECK(fixed.parameters == std::vector<double>{2, 1, 0.5});
  CHECK(fixed.summary.iterations.empty());
  // The parameters are not fixed, but the cost pushes each against a bound.
  FitOptions corner = within({{0, 1, 0}, {2, 5, 0.3}});
  const FitResult cornered = fit(d, corner, {{"a", 2}, {"b", 1}, {"c", 0.3}});
  CHECK(cornered.success());
  CHECK(cornered.summary.verdict == Verdict::converged);
  CHECK(cornered.summary.certificate.governed_by == "bounds");
  CHECK(cornered.at_bound == std::vector<bool>(3, true));
  CHECK(cornered.parameters == std::vector<double>{2, 1, 0.3});
  CHECK(cornered.dof == 60);
  CHECK(cornered.summary.final_cost == doctest::Approx(0.5 * cornered.rss));
  const LeastSquaresResult point = least_squares(
      [](const auto& p) {
        return std::vector{p[0] - 3, p[1] + 2, p[0] * p[1]};
      },
      {1, -1}, bounded({{1, -1}, {1, -1}}));
  CHECK(point.success());
  CHECK(point.x == std::vector<double>{1, -1});
  CHECK(point.active_mask == std::vector<int>{-1, -1});
}

TEST_CASE("a bound exactly at the minimum without bounds: found, and the others' errors conditional on it") {
  // With r = (p0 - 1, p1 - 2, (p0 - 1) + (p1 - 2)), the minimum is at (1, 2) with a gradient of exactly 0.
  const auto residuals = [](const auto& p) {
    return std::vector{p[0] - 1, p[1] - 2, (p[0] - 1) + (p[1] - 2)};
  };
  for (const std::vector<double>& start :
       {std::vector{1.0, 0.0}, std::vector{0.0, 0.0}, std::vector{1.0, 2.0}, std::vector{-3.0, 7.0}}) {
    const LeastSquaresResult r = least_squares(residuals, start, bounded({-kInfinity, {1, kInfinity}}));
    CHECK(r.success());
    CHECK(r.x[0] == doctest::Approx(1).epsilon(1e-12));
    CHECK(r.x[1] == doctest::Approx(2).epsilon(1e-12));
    CHECK(r.x[0] <= 1);
  }
  // With data, the bounds are at the parameters that were found without bounds.
  const Data d = decay_data();
  const FitResult free = fit(d, {});
  for (std::size_t j = 0; j < 3; ++j) {
    for (const bool upper : {false, true}) {
      Bounds bounds{std::vector<double>(3, -kInfinity), std::vector<double>(3, kInfinity)};
      (upper ? bounds.upper : bounds.lower)[j] = free.parameters[j];
      NamedValues p0{{"a", 1}, {"b", 1}, {"c", 0.4}};
      p0[j].second = free.parameters[j] + (upper ? -0.2 : 0.2);
      const FitResult bounded = fit(d, within(bounds), p0);
      CHECK(bounded.success());
      for (std::size_t k = 0; k < 3; ++k)
        CHECK(bounded.parameters[k] == doctest::Approx(free.parameters[k]).epsilon(1e-8));
      CHECK(bounded.at_bound[j] == std::isnan(bounded.standard_errors[j]));
      CHECK(bounded.at_bound[j] == (bounded.parameters[j] == free.parameters[j]));
    }
  }
}

TEST_CASE("every point that the model is called at lies within the bounds") {
  const Data d = decay_data();
  const std::vector<double> lower{0.5, 0.1, 0}, upper{3, 1.1, 1};
  int calls = 0, outside = 0;
  const auto watched = [&](double x, std::span<const double> p) {
    ++calls;
    for (std::size_t j = 0; j < 3; ++j) outside += !(p[j] >= lower[j] && p[j] <= upper[j]);
    return p[0] * std::exp(-p[1] * x) + p[2];
  };
  const FitResult r = curve_fit(watched, d.x, d.y, {0.5, 1.1, 1.0}, within({lower, upper}));
  CHECK(r.success());
  CHECK(r.summary.evaluator == "finite differences");
  CHECK(calls > 0);
  CHECK(outside == 0);
  CHECK(r.parameters[1] == 1.1);

  calls = outside = 0;
  LeastSquaresOptions options;
  options.bounds = {lower, upper};
  const auto residuals = [&](std::span<const double> p) {
    std::vector<double> out;
    for (std::size_t i = 0; i < d.x.size(); ++i) out.push_back(watched(d.x[i], p) - d.y[i]);
    return out;
  };
  const LeastSquaresResult v = least_squares(residuals, {0.5, 1.1, 1.0}, options);
  CHECK(v.success());
  CHECK(outside == 0);
  CHECK(v.active_mask == std::vector<int>{0, 1, 0});
  options.jacobian = [&](std::span<const double> p, std::span<double> J) {
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const double e = std::exp(-p[1] * d.x[i]);
      J[3 * i] = e;
      J[3 * i + 1] = -p[0] * d.x[i] * e;
      J[3 * i + 2] = 1;
    }
  };
  const LeastSquaresResult w = least_squares(residuals, {0.5, 1.1, 1.0}, options);
  CHECK(w.success());
  CHECK(outside == 0);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(v.x[j] == doctest::Approx(r.parameters[j]).epsilon(1e-7));
    CHECK(w.x[j] == doctest::Approx(r.parameters[j]).epsilon(1e-7));
  }
}

TEST_CASE("a model that is undefined beyond its bounds is fitted on them") {
  // The derivative of √p1 at p1 = 0 is not finite, and p1 = 0 is not the start.
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(i);
    y.push_back(2 + 0.1 * i);
  }
  const auto root = [](const auto& t, const auto& p) {
    using std::sqrt;
    return p[0] + 0.1 * t * sqrt(1 + p[1]);
  };
  const FitResult r = curve_fit(root, x, y, {1.0, 3.0}, within({{-10, -1}, {10, 5}}));
  CHECK(r.success());
  CHECK(std::fabs(r.parameters[1]) < 1e-6);
}
