// Tests bounds in every way of fitting: policies, batches, vector functions, losses, ties. Also tests bounds
// that cannot be satisfied.
#include "bounded_fits.hpp"
#include "messages.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;
using namespace bounded_fits;

TEST_CASE("precision policies, samples of many rows, sigma and threads agree on bounded fits") {
  const Data d = decay_data(1 << 18, 0.1);
  const std::vector<double> sigma(d.x.size(), 0.1);
  FitOptions options = within({{0, 0.1, 0}, {2.3, 3.3, 3.3}});  // 2.3 and 3.3 are not floats
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
  CHECK(start.parameters[0] == 1.5);  // without bounds, both would be larger
  CHECK(start.parameters[2] == 0.2);
  CHECK(start.summary.final_cost < start.summary.initial_cost);
}

TEST_CASE("parameters without a start begin within the bounds: at 1, or where SciPy starts") {
  const Data d = decay_data();
  FitOptions options = within({{2, -kInfinity, 0}, {kInfinity, 0.5, 10}});
  options.max_iterations = 0;
  options.solve_linear_start = false;
  // A formula that no built-in model matches has no guess.
  CHECK(curve_fit("a*exp(-b*x^1.5)+c", d.x, d.y, {}, options).guess == std::vector<double>{3, -0.5, 1});
  // A built-in model's guess is moved to the nearest point of the box.
  options.bounds = {{-10, 0, -10}, {10, 0.7, 10}};
  CHECK(curve_fit(model("exp"), d.x, d.y, {}, options).guess[1] == 0.7);
}

TEST_CASE("if a bound holds one of two dependent columns, the other is determined") {
  const Data d = decay_data();
  // a and c enter as a sum if b is fixed at 0.
  FitOptions options = within({{-5, -5, 0}, {5, 5, 1e-3}});
  const FitResult r =
      curve_fit("(a+c)*exp(-b*x)/(1+x)", d.x, d.y, {{"a", 1}, {"b", 5e-4}, {"c", 5}}, options);
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
    const FitResult one =
        curve_fit(kDecay, d.x, Column(&Y(f, 0), d.y.size()), {{"a", 1}, {"b", 1}, {"c", 0.4}}, options);
    for (std::size_t j = 0; j < 3; ++j) CHECK(many.parameters(f, j) == one.parameters[j]);
    CHECK(std::isnan(many.standard_errors(f, 0)) == one.at_bound[0]);
    held += one.at_bound[0];
  }
  CHECK((held > 5 && held < 35));
  P0(0, 1) = 11;
  CHECK(contains(message_of([&] { curve_fit_batch(kDecay, d.x, Y, P0, options); }),
                 "b = 11 is above its upper bound 10"));
}

TEST_CASE("least_squares keeps bounds, recorded and called, and says which hold") {
  // This is Rosenbrock's valley, cut off left of its minimum.
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
  CHECK(contains(error({{0, 3, 0}, {5, 2, -5}}), "c"));  // everything that is wrong is listed
  const auto valley = [](const auto& p) { return std::vector{p[0] - 1, p[1]}; };
  CHECK(contains(message_of([&] {
                   least_squares(valley, {0.0, 9.0}, bounded({-1.0, 1.0}));
                 }),
                 "x[1] = 9 is above its upper bound 1"));
  CHECK(contains(message_of([&] {
                   least_squares(valley, {0.0, 0.0}, bounded({{1, 2, 3}, 4.0}));
                 }),
                 "3 lower ones for 2 parameters"));
}

TEST_CASE("losses, counts and ties keep bounds, and what holds is as if it were fixed") {
  Data d = decay_data();
  for (std::size_t i = 0; i < d.y.size(); i += 9) d.y[i] += 1.5;  // these are outliers
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
      {1, 1, 0.4},
      [&] {
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
  CHECK(contains(message_of([&] {
                   fit(decay_data(), options, {{"a", 1}, {"b", 1}});
                 }),
                 "c is tied (c = 0.2*a)"));
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
