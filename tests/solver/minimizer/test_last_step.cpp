// Tests a last step after which no pass over all rows is made. The statements about its end must be true.
#include <doctest/doctest.h>

#include <nlsq/nlsq.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "corpora/noise.hpp"

using namespace nlsq;

namespace {

struct Data {
  std::vector<double> x, y;
};

const auto decay = [](auto x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

// Returns y = 2.5 exp(-1.3 x) + 0.5 + noise + misfit(x).
template <class Misfit>
Data decay_data(std::size_t rows, double noise, Misfit misfit) {
  Data d;
  problems::Noise random(7);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = 4 * static_cast<double>(i) / static_cast<double>(rows);
    d.x.push_back(x);
    d.y.push_back(2.5 * std::exp(-1.3 * x) + 0.5 + noise * random.normal() + misfit(x));
  }
  return d;
}

// Holds the cost at p, and the gradient's norm in the metric of the covariance in standard errors, in long
// double. `rounding` is the error of the cost that a pass in double may make if each residual is known to a
// rounding of its terms.
struct Truth {
  long double cost = 0, distance = 0, rounding = 0;
};
Truth truth(const Data& d, const FitResult& fit) {
  const auto& p = fit.parameters;
  long double g[3] = {0, 0, 0}, cost = 0, products = 0, squares_of_errors = 0;
  for (std::size_t i = 0; i < d.x.size(); ++i) {
    const long double e = std::exp(-static_cast<long double>(p[1]) * d.x[i]);
    const long double r = p[0] * e + p[2] - d.y[i], J[3] = {e, -p[0] * d.x[i] * e, 1};
    for (int j = 0; j < 3; ++j) g[j] += J[j] * r;
    cost += r * r / 2;
    const long double terms =
        std::fabs(p[0] * e) * (2 + std::fabs(p[1] * d.x[i])) + std::fabs(p[2]) + std::fabs(d.y[i]);
    const long double error = 0x1p-53L * terms;
    products += r * r * error * error;
    squares_of_errors += error * error;
  }
  // The covariance is sigma² H⁻¹, so the distance is √(gᵀH⁻¹g)/sigma.
  const long double sigma2 = 2 * cost / static_cast<long double>(d.x.size() - 3);
  long double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) squares += g[i] * fit.covariance(i, j) * g[j];
  }
  return {cost, std::sqrt(squares) / sigma2, std::sqrt(products) + squares_of_errors};
}

FitResult fit(const Data& d, bool strict = false, const char* policy = "auto") {
  FitOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  options.strict = strict;
  return curve_fit(decay, d.x, d.y, {1.0, 1.0, 0.0}, options);
}

const auto none = [](double) { return 0.0; };

}  // namespace

TEST_CASE("after a last step cost and distance to the optimum are what a pass in long double finds there") {
  int last_steps = 0;
  for (const std::size_t rows : {200'000u, 450'000u, 500'000u}) {
    const Data d = decay_data(rows, 0.05, none);
    const FitResult f = fit(d);
    const Certificate& c = f.summary.certificate;
    REQUIRE(c.passed);
    last_steps += c.last_step > 0 ? 1 : 0;  // none if the pass before ended within the tolerances
    CHECK(c.step <= 1e-10);
    const Truth t = truth(d, f);
    constexpr double kRounding = 1e-12;  // error of the gradient, in standard errors
    CHECK(static_cast<double>(t.distance) <= c.decrement_sigma + kRounding);
    CHECK(f.summary.final_cost == doctest::Approx(static_cast<double>(t.cost)).epsilon(1e-13));
  }
  CHECK(last_steps > 0);
}

TEST_CASE("strict evaluates all rows at the end, and ends at the same place") {
  const Data d = decay_data(500'000, 0.05, none);
  const FitResult quick = fit(d), whole = fit(d, true);
  CHECK(whole.summary.certificate.last_step == 0);
  CHECK(quick.summary.certificate.last_step > 0);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(quick.parameters[j] == doctest::Approx(whole.parameters[j]).epsilon(2e-10));
    CHECK(quick.standard_errors[j] == doctest::Approx(whole.standard_errors[j]).epsilon(1e-7));
  }
  CHECK(quick.summary.precision.counters.rows_f64 + d.x.size() / 2 <
        whole.summary.precision.counters.rows_f64);
}

TEST_CASE("the covariance says how many digits it has") {
  const Data d = decay_data(500'000, 0.05, none);
  const FitResult quick = fit(d), whole = fit(d, true);
  REQUIRE(quick.summary.certificate.last_step > 0);
  for (std::size_t j = 0; j < 3; ++j) {
    const double error = std::fabs(quick.covariance(j, j) / whole.covariance(j, j) - 1);
    CHECK(error <= quick.summary.certificate.covariance_error + 1e-9);
  }
}

TEST_CASE("the end is as accurate if residuals are no noise and bend the path") {
  // Gauss-Newton contracts slowly here, because the misfit is a fifth of the signal, and of one sign where
  // the model bends.
  const auto misfit = [](double x) {
    return 0.5 * std::sin(3 * x) + 0.3 * std::exp(-std::pow((x - 1) / 0.1, 2));
  };
  const Data d = decay_data(400'000, 0.05, misfit);
  for (const char* policy : {"auto", "f32", "f64"}) {
    const FitResult f = fit(d, false, policy), whole = fit(d, true, "f64");
    REQUIRE(f.summary.certificate.passed);
    CHECK(static_cast<double>(truth(d, f).distance) <= f.summary.certificate.decrement_sigma + 1e-8);
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(f.parameters[j] == doctest::Approx(whole.parameters[j]).epsilon(1e-9));
  }
}

TEST_CASE("rows that no sample sees do not spoil it") {
  // All information about b is in 300 of 400,000 rows, between the tiles that samples take.
  Data d = decay_data(400'000, 0.05, none);
  problems::Noise random(8);
  for (std::size_t i = 0; i < d.x.size(); ++i) {
    const bool rare = i >= 100'000 && i < 100'300;
    d.x[i] = rare ? static_cast<double>(i - 100'000) / 75 : 200;
    d.y[i] = 2.5 * std::exp(-1.3 * d.x[i]) + 0.5 + 0.05 * random.normal();
  }
  const FitResult f = fit(d), whole = fit(d, true, "f64");
  REQUIRE(f.summary.certificate.passed);
  CHECK(static_cast<double>(truth(d, f).distance) <= f.summary.certificate.decrement_sigma + 1e-8);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(std::fabs(f.parameters[j] - whole.parameters[j]) <= 1e-3 * whole.standard_errors[j]);
  }
}

TEST_CASE("statements about the end are true if the model does not fit rows that no sample sees") {
  // A few hundred rows between the samples' tiles, which bend the path, have all information about a, or a
  // fifth of it.
  for (const double shared : {0.0, 0.05}) {
    const auto model = [shared](auto x, const auto& p) {
      using std::exp, std::sin;
      return x < 0 ? p[0] * exp(p[0] * x) : p[1] * exp(0.4 * p[1] * x) * x + p[0] * shared * sin(7.0 * x);
    };
    for (const double misfit : {0.03, 0.1, 0.3, 1.0, 3.0}) {
      for (const std::size_t rare : {100, 170, 270}) {
        Data d;
        problems::Noise random(rare);
        for (std::size_t i = 0; i < 200'000; ++i) {
          const bool unseen = i >= 100'000 && i < 100'000 + rare;
          const double x = unseen ? -2 * static_cast<double>(i - 100'000) / static_cast<double>(rare)
                                  : static_cast<double>(i % 1000) / 1000;
          d.x.push_back(x);
          d.y.push_back(unseen ? 1.5 * std::exp(1.5 * x) + misfit * std::sin(5 * x)
                               : 0.8 * std::exp(0.32 * x) * x + 1.5 * shared * std::sin(7 * x) +
                                     (shared > 0 ? 0.1 : 0.01) * random.normal());
        }
        const FitResult f = curve_fit(model, d.x, d.y, {1.5, 0.6});
        FitOptions here;  // makes a pass over all rows at f's end, and no step
        here.strict = true;
        here.precision = PrecisionPolicy::parse("f64");
        here.solve_linear_start = false;
        here.max_iterations = 0;
        const FitResult there = curve_fit(model, d.x, d.y, f.parameters, here);
        REQUIRE(there.parameters == f.parameters);
        const Certificate& c = f.summary.certificate;
        REQUIRE(c.passed);
        CAPTURE(shared);
        CAPTURE(misfit);
        CAPTURE(rare);
        CAPTURE(c.last_step);
        CHECK(there.summary.certificate.decrement_sigma <= c.decrement_sigma + 1e-12);
        CHECK(there.summary.certificate.step <= c.step + 1e-15);
        for (std::size_t j = 0; j < 2; ++j) {
          CHECK(std::fabs(f.covariance(j, j) / there.covariance(j, j) - 1) <= c.covariance_error + 1e-12);
        }
      }
    }
  }
}

TEST_CASE("rows that converge faster do not hide what a step leaves in rows that no sample sees") {
  // Between the tiles, 170 or 270 rows that are not fitted well have a fifth of the information about a,
  // which starts close by and converges slowly. b starts far away and converges fast.
  const auto model = [](auto x, const auto& p) {
    using std::exp, std::sin;
    return x < 0 ? p[0] * exp(p[0] * x) : p[1] * exp(0.4 * p[1] * x) * x + p[0] * 0.05 * sin(7.0 * x);
  };
  int taken = 0;
  for (const auto& [rare, misfit] : {std::pair<std::size_t, double>{170, 1}, {270, 1}, {270, 3}}) {
    Data d;
    problems::Noise random(rare);
    for (std::size_t i = 0; i < 200'000; ++i) {
      const bool unseen = i >= 100'000 && i < 100'000 + rare;
      const double x = unseen ? -2 * static_cast<double>(i - 100'000) / static_cast<double>(rare)
                              : static_cast<double>(i % 1000) / 1000;
      d.x.push_back(x);
      d.y.push_back(unseen ? 1.5 * std::exp(1.5 * x) + misfit * std::sin(5 * x)
                           : 0.8 * std::exp(0.32 * x) * x + 0.075 * std::sin(7 * x) + 0.1 * random.normal());
    }
    FitOptions here;
    here.strict = true;
    here.precision = PrecisionPolicy::parse("f64");
    here.solve_linear_start = false;
    const FitResult best = curve_fit(model, d.x, d.y, {1.5, 0.6}, here);
    here.max_iterations = 0;
    for (const double of_a : {1e-9, 1e-6}) {
      for (const double of_b : {1e-5, 1e-3, 1e-1}) {
        FitOptions options;
        options.precision = here.precision;
        options.solve_linear_start = false;
        const FitResult f = curve_fit(
            model, d.x, d.y, {best.parameters[0] * (1 + of_a), best.parameters[1] * (1 + of_b)}, options);
        const FitResult there = curve_fit(model, d.x, d.y, f.parameters, here);
        const Certificate& c = f.summary.certificate;
        REQUIRE(c.passed);
        taken += c.last_step > 0;
        CAPTURE(of_a);
        CAPTURE(of_b);
        CAPTURE(c.last_step);
        CHECK(there.summary.certificate.decrement_sigma <= c.decrement_sigma + 1e-12);
        CHECK(there.summary.certificate.step <= c.step + 1e-15);
      }
    }
  }
  CHECK(taken > 0);
}

TEST_CASE("exact data: cost and errors are no difference of numbers that the last step made equal") {
  for (const double noise : {0.0, 1e-12, 1e-8}) {
    const Data d = decay_data(140'000, noise, none);
    const std::vector<double> sigma(d.x.size(), 0.05);
    FitOptions options;
    options.sigma = sigma;
    options.absolute_sigma = true;
    options.xtol = 1e-6;
    options.sampling = Sampling::never;
    for (const double start : {1.2, 1.29, 1.2999}) {
      const FitResult f = curve_fit(decay, d.x, d.y, {2.0, start, 0.4}, options);
      REQUIRE(f.summary.certificate.passed);
      const Truth t = truth(d, f);
      const double cost = static_cast<double>(t.cost) / (0.05 * 0.05),
                   rounding = static_cast<double>(t.rounding) / (0.05 * 0.05);
      // Exact residuals are differences of numbers of size 1. Not even a pass over all rows computes nine
      // digits of a cost of 4e-12. A cost from which the last step's decrease was subtracted would be far
      // less accurate.
      CHECK(std::fabs(f.summary.final_cost - cost) <= 1e-9 * cost + 2 * rounding);
    }
  }
}

TEST_CASE("a last step is taken by fits of many rows alone") {
  const Data d = decay_data(100'000, 0.05, none);
  CHECK(fit(d).summary.certificate.last_step == 0);
}
