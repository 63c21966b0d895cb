// Bounds: where they hold and where they do not, in every way of fitting, and what is said of a parameter on one.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "corpora/noise.hpp"

using namespace nlsq;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::string kDecay = "a*exp(-b*x)+c";

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Data {
  std::vector<double> x, y;
};
Data decay_data(std::size_t m = 60, double noise = 0.02) {
  Data d;
  problems::Noise random(3);
  for (std::size_t i = 0; i < m; ++i) {
    d.x.push_back(4 * static_cast<double>(i) / static_cast<double>(m));
    d.y.push_back(2.5 * std::exp(-1.3 * d.x.back()) + 0.5 + noise * random.normal());
  }
  return d;
}

FitResult fit(const Data& d, const FitOptions& options, NamedValues p0 = {{"a", 1}, {"b", 1}, {"c", 0.4}}) {
  return curve_fit(kDecay, d.x, d.y, p0, options);
}
FitOptions within(Bounds bounds) {
  FitOptions options;
  options.bounds = std::move(bounds);
  return options;
}
LeastSquaresOptions bounded(Bounds bounds) {
  LeastSquaresOptions options;
  options.bounds = std::move(bounds);
  return options;
}

// What a bound holds is as if it were fixed there: all that is said of the others is the same.
void check_like_fixed(const FitResult& bounded, const FitResult& fixed) {
  CHECK(bounded.success());
  CHECK(fixed.success());
  CHECK(bounded.summary.final_cost == doctest::Approx(fixed.summary.final_cost).epsilon(1e-13));
  CHECK(bounded.dof == fixed.dof);
  CHECK(bounded.summary.certificate.rank == fixed.summary.certificate.rank);
  CHECK(bounded.summary.certificate.condition == doctest::Approx(fixed.summary.certificate.condition).epsilon(1e-6));
  for (std::size_t j = 0; j < bounded.parameters.size(); ++j) {
    CHECK(bounded.parameters[j] == doctest::Approx(fixed.parameters[j]).epsilon(1e-10));
    CHECK(bounded.at_bound[j] == fixed.fixed[j]);
    if (fixed.fixed[j]) {
      CHECK(std::isnan(bounded.standard_errors[j]));
      CHECK(std::isnan(bounded.covariance(j, j)));
    } else {
      CHECK(bounded.standard_errors[j] == doctest::Approx(fixed.standard_errors[j]).epsilon(1e-7));
    }
  }
}
FitResult fixed_at(const Data& d, const std::string& name, double value) {
  FitOptions options;
  options.fixed = {name};
  NamedValues p0{{"a", 1}, {"b", 1}, {"c", 0.4}};
  for (auto& [parameter, start] : p0) start = parameter == name ? value : start;
  return fit(d, options, p0);
}

}  // namespace

TEST_CASE("bounds that hold at the end: the fit is that with the parameter fixed there") {
  const Data d = decay_data();
  check_like_fixed(fit(d, within({-kInfinity, {kInfinity, 1.1, kInfinity}})), fixed_at(d, "b", 1.1));
  check_like_fixed(fit(d, within({{-kInfinity, 1.5, -kInfinity}, kInfinity}), {{"a", 1}, {"b", 2}, {"c", 0}}), fixed_at(d, "b", 1.5));
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
      for (std::size_t j = 0; j < 3; ++j) CHECK(bounded.parameters[j] == doctest::Approx(free.parameters[j]).epsilon(1e-9));
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
    for (const Bounds& bounds : {Bounds{-kInfinity, kInfinity}, Bounds{-1e6, 1e6}, Bounds{-kInfinity, {1e5, 1e5, 1e5}}}) {
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
  const FitResult bounded = fit(d, within({{-kInfinity, 1.1, -kInfinity}, {kInfinity, 1.1, kInfinity}}), {{"a", 1}, {"c", 0}});
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
  // Not fixed, but each at a bound that the cost pushes it against.
  FitOptions corner = within({{0, 1, 0}, {2, 5, 0.3}});
  const FitResult cornered = fit(d, corner, {{"a", 2}, {"b", 1}, {"c", 0.3}});
  CHECK(cornered.success());
  CHECK(cornered.summary.verdict == Verdict::converged);
  CHECK(cornered.summary.certificate.governed_by == "bounds");
  CHECK(cornered.at_bound == std::vector<bool>(3, true));
  CHECK(cornered.parameters == std::vector<double>{2, 1, 0.3});
  CHECK(cornered.dof == 60);
  CHECK(cornered.summary.final_cost == doctest::Approx(0.5 * cornered.rss));
  const LeastSquaresResult point = least_squares([](const auto& p) { return std::vector{p[0] - 3, p[1] + 2, p[0] * p[1]}; }, {1, -1},
                                                 bounded({{1, -1}, {1, -1}}));
  CHECK(point.success());
  CHECK(point.x == std::vector<double>{1, -1});
  CHECK(point.active_mask == std::vector<int>{-1, -1});
}

TEST_CASE("a bound exactly at the minimum without bounds: found, and the others' errors conditional on it") {
  // r = (p0 - 1, p1 - 2, (p0 - 1) + (p1 - 2)): the minimum is at (1, 2) with a gradient of exactly 0.
  const auto residuals = [](const auto& p) { return std::vector{p[0] - 1, p[1] - 2, (p[0] - 1) + (p[1] - 2)}; };
  for (const std::vector<double>& start : {std::vector{1.0, 0.0}, std::vector{0.0, 0.0}, std::vector{1.0, 2.0}, std::vector{-3.0, 7.0}}) {
    const LeastSquaresResult r = least_squares(residuals, start, bounded({-kInfinity, {1, kInfinity}}));
    CHECK(r.success());
    CHECK(r.x[0] == doctest::Approx(1).epsilon(1e-12));
    CHECK(r.x[1] == doctest::Approx(2).epsilon(1e-12));
    CHECK(r.x[0] <= 1);
  }
  // With data: bounds at the parameters found without any.
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
      for (std::size_t k = 0; k < 3; ++k) CHECK(bounded.parameters[k] == doctest::Approx(free.parameters[k]).epsilon(1e-8));
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
  // √p1 at p1 = 0: its derivative there is not finite, and p1 = 0 is not the start.
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
  CHECK(r.parameters[1] == doctest::Approx(0).epsilon(1e-6));
}

TEST_CASE("precision policies, samples of many rows, sigma and threads agree on bounded fits") {
  const Data d = decay_data(1 << 18, 0.1);
  const std::vector<double> sigma(d.x.size(), 0.1);
  FitOptions options = within({{0, 0.1, 0}, {2.3, 3.3, 3.3}});  // 2.3 and 3.3 are no floats
  options.precision = PrecisionPolicy::parse("f64");
  options.sampling = Sampling::never;
  options.sigma = sigma;
  options.absolute_sigma = true;
  const FitResult reference = fit(d, options);
  CHECK(reference.success());
  CHECK(reference.parameters[0] == 2.3);
  CHECK(reference.at_bound == std::vector<bool>{true, false, false});
  options.sampling = Sampling::automatic;
  bool below = false;
  for (const char* policy : {"auto", "f32", "bf16", "strict", "f64"}) {
    options.precision = PrecisionPolicy::parse(policy);
    options.threads = 1;
    const FitResult one = fit(d, options);
    CAPTURE(policy);
    CAPTURE(one.summary.trace_report());
    CHECK(one.success());
    CHECK(one.at_bound == reference.at_bound);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(std::fabs(one.parameters[j] - reference.parameters[j]) <= 1e-8);
      if (j > 0) CHECK(one.standard_errors[j] == doctest::Approx(reference.standard_errors[j]).epsilon(1e-6));
    }
    CHECK(one.parameters[0] == 2.3);
    options.threads = 2;
    const FitResult two = fit(d, options);
    CHECK(two.parameters == one.parameters);
    CHECK(two.summary.final_cost == one.summary.final_cost);
    below = below || one.summary.precision.counters.rows_f32 > 0;
  }
  CHECK(below);
}

TEST_CASE("linear starting values respect bounds") {
  const Data d = decay_data();
  FitOptions options = within({{0, 0, 0}, {1.5, 5, 0.2}});
  options.max_iterations = 0;
  const FitResult start = fit(d, options, {{"a", 0.5}, {"b", 1.3}, {"c", 0.1}});
  CHECK(start.parameters[0] == 1.5);  // both would be larger
  CHECK(start.parameters[2] == 0.2);
  CHECK(start.summary.final_cost < start.summary.initial_cost);
}

TEST_CASE("what is not given starts inside: at 1, or where SciPy starts") {
  const Data d = decay_data();
  FitOptions options = within({{2, -kInfinity, 0}, {kInfinity, 0.5, 10}});
  options.max_iterations = 0;
  options.solve_linear_start = false;
  CHECK(curve_fit(kDecay, d.x, d.y, {}, options).guess == std::vector<double>{3, -0.5, 1});
  // A built-in model's guess is moved to the nearest point of the box.
  options.bounds = {{-10, 0, -10}, {10, 0.7, 10}};
  CHECK(curve_fit(model("exp"), d.x, d.y, {}, options).guess[1] == 0.7);
}

TEST_CASE("dependent columns of which a bound holds one: what is left is determined") {
  const Data d = decay_data();
  // a and c enter as a sum where b is held at 0.
  FitOptions options = within({{-5, -5, 0}, {5, 5, 1e-3}});
  const FitResult r = curve_fit("(a+c)*exp(-b*x)", d.x, d.y, {{"a", 1}, {"b", 5e-4}, {"c", 5}}, options);
  CHECK(r.summary.certificate.rank <= 2);
  CHECK(is_success(r.summary.verdict));
}

TEST_CASE("batches keep bounds, fit by fit the bits of curve_fit") {
  const Data d = decay_data();
  constexpr std::size_t kFits = 40;
  Matrix Y(kFits, d.y.size()), P0(1, 3);
  for (std::size_t f = 0; f < kFits; ++f) {
    for (std::size_t i = 0; i < d.y.size(); ++i) Y(f, i) = d.y[i] * (1 + 0.01 * static_cast<double>(f));
  }
  P0(0, 0) = P0(0, 1) = 1;
  P0(0, 2) = 0.4;
  FitOptions options = within({0, {2.7, 10, 10}});
  options.threads = 1;
  const BatchResult many = curve_fit_batch(kDecay, d.x, Y, P0, options);
  CHECK(many.in_lanes == 0);
  CHECK(many.success());
  int held = 0;
  for (std::size_t f = 0; f < kFits; ++f) {
    const FitResult one = curve_fit(kDecay, d.x, Column(&Y(f, 0), d.y.size()), {{"a", 1}, {"b", 1}, {"c", 0.4}}, options);
    for (std::size_t j = 0; j < 3; ++j) CHECK(many.parameters(f, j) == one.parameters[j]);
    CHECK(std::isnan(many.standard_errors(f, 0)) == one.at_bound[0]);
    held += one.at_bound[0];
  }
  CHECK((held > 5 && held < 35));
  P0(0, 1) = 11;
  CHECK(contains(message_of([&] { curve_fit_batch(kDecay, d.x, Y, P0, options); }), "b = 11 is above its upper bound 10"));
}

TEST_CASE("least_squares keeps bounds, recorded and called, and says which hold") {
  // Rosenbrock's valley, cut off left of its minimum.
  const auto valley = [](const auto& p) { return std::vector{10 * (p[1] - p[0] * p[0]), 1 - p[0]}; };
  for (const double limit : {0.5, -0.5}) {
    const LeastSquaresResult r = least_squares(valley, {-1.2, 1.0}, bounded({{-2, -2}, {limit, 2}}));
    CHECK(r.success());
    CHECK(r.x[0] == limit);
    CHECK(r.x[1] == doctest::Approx(limit * limit).epsilon(1e-10));
    CHECK(r.active_mask == std::vector<int>{1, 0});
    CHECK(std::isnan(r.standard_errors[0]));
    CHECK(r.standard_errors[1] > 0);
  }
  const LeastSquaresResult inside = least_squares(valley, {-1.2, 1.0}, bounded({-2.0, 2.0}));
  CHECK(inside.x[0] == doctest::Approx(1).epsilon(1e-10));
  CHECK(inside.active_mask == std::vector<int>{0, 0});
}

TEST_CASE("bounds that cannot be kept are errors that say which") {
  const Data d = decay_data();
  const auto error = [&](Bounds bounds) { return message_of([&] { fit(d, within(bounds)); }); };
  CHECK(contains(error({0, {1, 2}}), "2 upper ones for 3 parameters (a, b, c)"));
  CHECK(contains(error({{0, 3, 0}, {5, 2, 5}}), "the lower one of b, 3, is above the upper one, 2"));
  CHECK(contains(error({{0, kNaN, 0}, 5}), "the lower one of b is NaN"));
  CHECK(contains(error({kInfinity, kInfinity}), "no number lies between"));
  CHECK(contains(error({1.5, 5}), "a = 1 is below its lower bound 1.5"));
  CHECK(contains(error({-5, {5, 5, 0.25}}), "c = 0.4 is above its upper bound 0.25"));
  CHECK(contains(error({{0, 3, 0}, {5, 2, -5}}), "c"));  // all that is wrong is listed
  const auto valley = [](const auto& p) { return std::vector{p[0] - 1, p[1]}; };
  CHECK(contains(message_of([&] { least_squares(valley, {0.0, 9.0}, bounded({-1.0, 1.0})); }), "x[1] = 9 is above its upper bound 1"));
  CHECK(contains(message_of([&] { least_squares(valley, {0.0, 0.0}, bounded({{1, 2, 3}, 4.0})); }), "3 lower ones for 2 parameters"));
}

TEST_CASE("losses, counts and ties keep bounds, and what holds is as if it were fixed") {
  Data d = decay_data();
  for (std::size_t i = 0; i < d.y.size(); i += 9) d.y[i] += 1.5;  // outliers
  FitOptions options = within({-kInfinity, {kInfinity, 1.1, kInfinity}});
  options.loss = Loss::huber(0.05);
  FitOptions fixed = options;
  fixed.bounds = {};
  fixed.fixed = {"b"};
  for (const bool linear : {true, false}) {
    options.solve_linear_start = linear;
    check_like_fixed(fit(d, options), fit(d, fixed, {{"a", 1}, {"b", 1.1}, {"c", 0.4}}));
  }
  const LeastSquaresResult robust = least_squares(
      [&](const auto& p) {
        using std::exp;
        using Scalar = std::decay_t<decltype(p[0] + 0.0)>;
        std::vector<Scalar> r;
        for (std::size_t i = 0; i < d.x.size(); ++i) r.push_back(p[0] * exp(-p[1] * d.x[i]) + p[2] - d.y[i]);
        return r;
      },
      {1, 1, 0.4}, [&] {
        LeastSquaresOptions o = bounded({-kInfinity, {kInfinity, 1.1, kInfinity}});
        o.loss = options.loss;
        return o;
      }());
  const FitResult same = fit(d, options);
  CHECK(robust.success());
  CHECK(robust.active_mask == std::vector<int>{0, 1, 0});
  for (std::size_t j = 0; j < 3; ++j) CHECK(robust.x[j] == doctest::Approx(same.parameters[j]).epsilon(1e-7));
  CHECK(std::isnan(robust.standard_errors[1]));
  CHECK(robust.standard_errors[0] == doctest::Approx(same.standard_errors[0]).epsilon(1e-5));

  Data counts;
  problems::Noise random(5);
  for (int i = 0; i < 60; ++i) {
    counts.x.push_back(0.1 * i);
    counts.y.push_back(std::floor(20 * std::exp(-0.8 * counts.x.back()) + 3 + 2 * random.uniform()));
  }
  options = within({0, {15, 10, 10}});
  options.loss = Loss::poisson();
  fixed = {};
  fixed.loss = options.loss;
  fixed.fixed = {"a"};
  check_like_fixed(fit(counts, options), fit(counts, fixed, {{"a", 15}, {"b", 1}, {"c", 0.4}}));

  options = within({{-kInfinity, -kInfinity, -kInfinity}, {kInfinity, 1.1, kInfinity}});
  options.ties = {"c=0.2*a"};
  const FitResult tied = fit(decay_data(), options, {{"a", 1}, {"b", 1}});
  CHECK(tied.success());
  CHECK(tied.at_bound == std::vector<bool>{false, true, false});
  CHECK(tied.parameters[2] == 0.2 * tied.parameters[0]);
  CHECK(tied.standard_errors[2] == doctest::Approx(0.2 * tied.standard_errors[0]));
  options.bounds = {0, 10};
  CHECK(contains(message_of([&] { fit(decay_data(), options, {{"a", 1}, {"b", 1}}); }), "c is tied (c = 0.2*a)"));
}

TEST_CASE("bounded Gulf (Moré, Garbow, Hillstrom 11, the formula corrected) ends on two bounds") {
  const auto gulf = [](const auto& p) {
    using std::abs;
    using std::exp;
    using std::pow;
    std::vector<std::decay_t<decltype(p[0] * 1.0)>> r;
    for (int i = 1; i <= 100; ++i) {
      const double t = 0.01 * i, y = 25 + std::pow(-50 * std::log(t), 2.0 / 3);
      r.push_back(exp(-pow(abs(y - p[1]), p[2]) / p[0]) - t);
    }
    return r;
  };
  const LeastSquaresResult r = least_squares(gulf, {5.0, 2.5, 0.15}, bounded({{1e-16, 0, 0}, 10}));
  CHECK(r.summary.verdict == Verdict::converged);
  CHECK(2 * r.cost == doctest::Approx(5.2908624).epsilon(1e-8));
  CHECK(r.active_mask == std::vector<int>{1, 1, 0});
}
