// Tests functions that are called only in double. If their usual differences are not accurate enough to
// certify a minimum, extrapolated ones are.
#include <dense/dense_evaluator.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/evaluate.hpp>
#include <nlsq/least_squares.hpp>
#include <rows/calls/fallback_rows.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Holds a wave with noise. Its phase or its offset may be small, and so may the steps of differences.
struct Wave {
  std::vector<double> x, y, start;

  explicit Wave(unsigned seed) {
    std::mt19937 random(seed);
    const auto share = [&] { return static_cast<double>(random()) / 0x1p32; };
    const double a = 1 + 4 * share(), w = 1.5 + 1.5 * share(), f = 1.5 * share(), c = 4 * share() - 2;
    const double truth[] = {a, w, f, c}, noise = 0.03 * a * std::pow(10, -1 + 2 * share());
    for (int i = 0; i < 40; ++i) {
      x.push_back(0.15 * i);
      const double sum = share() + share() + share();
      y.push_back(value(x.back(), truth) + noise * (sum - 1.5));
    }
    for (const double t : truth) start.push_back(t * (0.8 + 0.4 * share()));
  }
  static double value(double at, std::span<const double> p) {
    return p[0] * std::sin(p[1] * at + p[2]) + p[3];
  }
  VectorFunction residuals() const {
    return {[this](std::span<const double> p) {
      std::vector<double> r;
      for (std::size_t i = 0; i < x.size(); ++i) r.push_back(value(x[i], p) - y[i]);
      return r;
    }};
  }
};

}  // namespace

TEST_CASE("a minimum that usual differences only come near to is certified by extrapolated ones") {
  for (const unsigned seed : {40u, 125u, 180u, 433u, 513u, 534u, 563u, 638u}) {
    CAPTURE(seed);
    const Wave wave(seed);
    LeastSquaresOptions by_ridders;
    by_ridders.differences = Differences::ridders;
    const LeastSquaresResult fit = least_squares(wave.residuals(), wave.start),
                             wanted = least_squares(wave.residuals(), wave.start, by_ridders);
    CAPTURE(fit.summary.message);
    CHECK(fit.success());
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(std::fabs(fit.x[j] - wanted.x[j]) < 1e-6 * wanted.standard_errors[j]);
      CHECK(fit.standard_errors[j] == doctest::Approx(wanted.standard_errors[j]).epsilon(1e-6));
    }
  }
}

TEST_CASE(
    "parameters of which the data determine a product or a sum are found to be, as in a recorded function") {
  std::mt19937 random(7);
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    const double noise = 0.05 * (static_cast<double>(random()) / 0x1p32 - 0.5);
    x.push_back(0.1 * i);
    y.push_back(2 * std::exp(-0.8 * x.back()) + 0.5 + noise);
  }
  const auto check = [&](auto called, const auto& recorded, const std::vector<double>& start) {
    const FitResult fit = curve_fit(called, x, y, start), wanted = curve_fit(recorded, x, y, start);
    CAPTURE(fit.summary.message);
    CHECK(fit.summary.verdict == Verdict::rank_deficient);
    CHECK(wanted.summary.verdict == Verdict::rank_deficient);
    CHECK(fit.rss == doctest::Approx(wanted.rss).epsilon(1e-9));
    CHECK(fit.summary.certificate.rank == static_cast<int>(start.size()) - 1);
    CHECK(std::isnan(fit.standard_errors[0]) == std::isnan(wanted.standard_errors[0]));
    CHECK(std::isnan(fit.standard_errors[1]));
  };
  const auto product = [](const auto& t, const auto& p) { return p[0] * p[1] * t + p[2]; };
  const auto sum = [](const auto& t, const auto& p) {
    using std::exp;
    return p[3] * exp(-(p[0] + p[1]) * t) + p[2];
  };
  check([&](double t, const double* p) { return product(t, p); }, product, {1.2, 1.3, 0.3});
  check([&](double t, const double* p) { return sum(t, p); }, sum, {0.5, 0.4, 0.3, 1.5});
}

// The iteration used to follow the jumps, with 120 calls for each step: up to 38,000 calls.
TEST_CASE("A function that jumps is given up when its extrapolated differences are seen to disagree") {
  std::mt19937 random(3);
  for (int fit = 0; fit < 12; ++fit) {
    CAPTURE(fit);
    std::vector<double> x, y;
    for (int i = 0; i < 25; ++i) {
      const double noise = 0.17 * (static_cast<double>(random()) / 0x1p32 - 0.5);
      x.push_back(10.0 * i / 24);
      y.push_back(3 * std::exp(-0.8 * x.back()) + 1 + noise);
    }
    int calls = 0;
    const VectorFunction rounded{[&](std::span<const double> p) {
      ++calls;
      std::vector<double> r;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double value = p[0] * std::exp(-p[1] * x[i]) + p[2];
        r.push_back(std::round(value * 1e4) / 1e4 - y[i]);
      }
      return r;
    }};
    const LeastSquaresResult end = least_squares(rounded, {2.0, 1.0, 0.5});
    const FitResult smooth = curve_fit("a*exp(-b*x)+c", x, y, {{"a", 3}, {"b", 0.8}, {"c", 1}});
    CHECK(calls < 2500);
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(std::fabs(end.x[j] - smooth.parameters[j]) < 0.05 * smooth.standard_errors[j]);
  }
}

TEST_CASE("Derivatives that are renewed at a point are differences to both sides, with few rows, too") {
  const VectorFunction cubes{[](std::span<const double> p) {
    return std::vector<double>{p[0] * p[0] * p[0], p[1] * p[1] * p[1], p[0] - p[1]};
  }};
  VectorRows rows(cubes, {2.0, 3.0}, {0, 1});
  DenseEvaluator evaluator(rows);
  const std::vector<double> x{2, 3};
  const auto error = [&] { return std::fabs(evaluator.linearize(x, kF64Plan).normal(0, 0) / 145 - 1); };
  CHECK(error() > 1e-6);
  CHECK(rows.rough(x));
  evaluator.renew(x);
  CHECK(error() < 1e-9);
  CHECK_FALSE(rows.rough(x));
}

// Where a bound holds a parameter, Gauss-Newton needs many steps, and each step calls the function five
// times.
TEST_CASE("Waves whose amplitude is held below its best value take few calls") {
  int calls = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    const Wave wave(seed);
    const VectorFunction residuals = wave.residuals();
    const VectorFunction counted{[&](std::span<const double> p) {
      ++calls;
      return residuals.value(p);
    }};
    LeastSquaresOptions options;
    constexpr double kFree = std::numeric_limits<double>::infinity();
    options.bounds.upper = {0.5 * wave.start[0], kFree, kFree, kFree};
    options.bounds.lower.assign(4, -kFree);
    std::vector<double> start = wave.start;
    start[0] = options.bounds.upper[0];
    const LeastSquaresResult fit = least_squares(counted, start, options);
    CHECK(fit.success());
    CHECK(fit.active_mask[0] == 1);
  }
  MESSAGE(calls << " calls for 24 waves");
  CHECK(calls < 8000);
}

TEST_CASE("Derivatives that are asked for at a point are central ones, with few rows, too") {
  for (const std::size_t rows : {20, 256, 257}) {
    CAPTURE(rows);
    ModelFunction decay;
    decay.value = [](const double* x, std::span<const double> p) { return p[0] * std::exp(-p[1] * *x); };
    std::vector<double> x;
    for (std::size_t i = 0; i < rows; ++i) x.push_back(6.0 * static_cast<double>(i) / 256);
    const std::vector<double> p{3, 1.2};
    EvaluateOptions options;
    options.jacobian = true;
    const Evaluation at = evaluate(decay, Columns(Column(x)), p, current_policy(), options);
    for (std::size_t i = 0; i < rows; ++i)
      CHECK(std::fabs(at.jacobian(i, 1) + 3 * x[i] * std::exp(-1.2 * x[i])) < 1e-9);
  }
}

// A difference to one side is h f''/2 there, and the step that follows from it is of the size 1/h.
TEST_CASE("A parameter whose derivative is 0 at the start does not leave for infinity") {
  std::vector<double> x, y;
  for (int i = 0; i < 37; ++i) {
    x.push_back(6.0 * i / 37);
    y.push_back(2 * std::cos(0.8 * x.back()) + 0.01 * std::sin(37.0 * i));
  }
  ModelFunction wave;
  wave.value = [](const double* at, std::span<const double> p) { return p[0] * std::cos(p[1] * *at); };
  const FitResult fit = curve_fit(wave, Columns(Column(x)), Column(y), {1.5, 0.0}, FitOptions{});
  CHECK(std::fabs(fit.parameters[1]) < 10);
}

TEST_CASE("Steps that lead to no certificate end after few calls") {
  // From this start, the peak becomes narrower than the distance of two rows, where only one row feels it.
  for (const unsigned seed : {5u, 16u, 55u, 58u, 130u, 150u}) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto share = [&] { return static_cast<double>(random()) / 0x1p32; };
    const auto peak = [](double x, std::span<const double> p) {
      return p[0] * std::exp(-std::pow((x - p[1]) / p[2], 2)) + p[3];
    };
    const double truth[] = {3.6, 2.7, 0.3, 1.13};
    std::vector<double> x, y;
    for (int i = 0; i < 57; ++i) {
      x.push_back(6 * (i + 0.5) / 57);
      const double sum = share() + share();
      y.push_back(peak(x.back(), truth) + 3e-4 * (sum - 1));
    }
    int calls = 0;
    LeastSquaresOptions options;
    options.loss = Loss::huber(1.3e-4);
    const auto residuals = [&](std::span<const double> p) {
      ++calls;
      std::vector<double> r;
      for (std::size_t i = 0; i < x.size(); ++i) r.push_back(peak(x[i], p) - y[i]);
      return r;
    };
    const LeastSquaresResult fit = least_squares(residuals, {7, 3.8, 0.35, 0.016}, options);
    CHECK_FALSE(fit.success());
    CHECK(calls < 30000);
  }
}

TEST_CASE("A parameter that starts at 0 may be of any size, also where most rows are straight") {
  // Nine rows are linear in u = p/scale. Beside their changes, those of the wave were not seen.
  const auto row = [](double u, int i) { return i < 9 ? u * (0.4 + 0.1 * i) : std::sin(4 * u); };
  for (const double scale : {1.0, 1e-7, 1e-8, 1e-9}) {
    CAPTURE(scale);
    std::vector<double> x, y;
    for (int i = 0; i < 10; ++i) {
      x.push_back(i);
      y.push_back(row(0.6, i) + 0.0002 * ((i * 7) % 5 - 2));
    }
    const LeastSquaresResult fit = least_squares(
        [&](std::span<const double> p) {
          std::vector<double> r;
          for (int i = 0; i < 10; ++i) r.push_back(row(p[0] / scale, i) - y[i]);
          return r;
        },
        {0.0});
    CHECK(fit.success());
    CHECK(fit.x[0] / scale == doctest::Approx(0.599957).epsilon(1e-6));
    CHECK(fit.standard_errors[0] / scale == doctest::Approx(7.547e-5).epsilon(1e-3));
    const auto curve = [&](double at, const std::vector<double>& p) {
      return row(p[0] / scale, static_cast<int>(at));
    };
    const FitResult by_rows = curve_fit(curve, x, y, {0.0});
    CHECK(by_rows.success());
    CHECK(by_rows.standard_errors[0] / scale == doctest::Approx(7.547e-5).epsilon(1e-3));
  }
}
