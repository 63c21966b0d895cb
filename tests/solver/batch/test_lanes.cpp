// Tests fits in lanes. They must have the certified answers of fits alone, whatever is in the other lanes.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>
#include <spots.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace nlsq;

namespace {

BatchOptions alone(BatchOptions options = {}) {
  options.in_lanes = false;
  return options;
}

// Returns the rows of a matrix in another order.
Matrix rows_of(const Matrix& all, const std::vector<std::size_t>& rows) {
  Matrix out(rows.size(), all.columns());
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(all.data() + rows[i] * all.columns(), all.columns(), &out(i, 0));
  return out;
}

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_same_fit(const BatchResult& a, std::size_t fa, const BatchResult& b, std::size_t fb) {
  CAPTURE(fa);
  CHECK(a.verdict[fa] == b.verdict[fb]);
  CHECK(a.iterations[fa] == b.iterations[fb]);
  CHECK(same_bits(a.cost[fa], b.cost[fb]));
  CHECK(same_bits(a.decrement_sigma[fa], b.decrement_sigma[fb]));
  for (std::size_t j = 0; j < a.parameters.columns(); ++j) {
    CHECK(same_bits(a.parameters(fa, j), b.parameters(fb, j)));
    CHECK(same_bits(a.standard_errors(fa, j), b.standard_errors(fb, j)));
  }
}

// Checks that both differ by no more than their certificates say. These give the distance to the minimum in
// standard errors (to first order: twice that) and bound the step. Errors must agree to the ten digits of the
// normal equations.
void check_agree(const BatchResult& lanes, const BatchResult& one) {
  REQUIRE(lanes.size() == one.size());
  CHECK(lanes.verdict == one.verdict);
  for (std::size_t f = 0; f < lanes.size(); ++f) {
    CAPTURE(f);
    CHECK(std::fabs(lanes.cost[f] - one.cost[f]) <= 1e-12 * one.cost[f]);
    const double distance = 2 * (lanes.decrement_sigma[f] + one.decrement_sigma[f]);
    CHECK(distance <= 1e-6);
    for (std::size_t j = 0; j < lanes.parameters.columns(); ++j) {
      const double difference = std::fabs(lanes.parameters(f, j) - one.parameters(f, j));
      CHECK(difference <= distance * one.standard_errors(f, j) + 1e-14 * std::fabs(one.parameters(f, j)));
      if (one.standard_errors(f, j) > 0)
        CHECK(lanes.standard_errors(f, j) / one.standard_errors(f, j) == doctest::Approx(1).epsilon(1e-8));
    }
  }
}

Matrix one_start(std::initializer_list<double> values) {
  Matrix p0(1, values.size());
  std::copy(values.begin(), values.end(), p0.data());
  return p0;
}

}  // namespace

TEST_CASE("spots in lanes have the answers, errors and verdicts of spots alone; f32 leads, f64 finishes") {
  const Spots spots(400);
  const PreparedModel model(kSpot, 2);
  const BatchResult lanes = curve_fit_batch(model, spots.predictors(), spots.image, spots.start);
  const BatchResult one = curve_fit_batch(model, spots.predictors(), spots.image, spots.start, alone());
  CHECK(lanes.success());
  CHECK(lanes.in_lanes == 400);
  CHECK(one.in_lanes == 0);
  check_agree(lanes, one);
  CHECK(lanes.counters.rows_f32 >= 400 * 225);
  CHECK(lanes.counters.rows_f64 < one.counters.rows_f64 / 3);
  for (std::size_t f = 0; f < 400; ++f) CHECK(lanes.iterations[f] > 0);
}

TEST_CASE("under policy f64 nothing runs in f32, and the answers are the same; strict goes alone") {
  const Spots spots(100);
  const PreparedModel model(kSpot, 2);
  BatchOptions options;
  options.precision = PrecisionPolicy::all_f64();
  const BatchResult lanes = curve_fit_batch(model, spots.predictors(), spots.image, spots.start, options);
  CHECK(lanes.in_lanes == 100);
  CHECK(lanes.counters.rows_f32 == 0);
  CHECK(lanes.counters.gram_flops_f32 == 0);
  check_agree(lanes, curve_fit_batch(model, spots.predictors(), spots.image, spots.start, alone(options)));
  options.strict = true;
  CHECK(curve_fit_batch(model, spots.predictors(), spots.image, spots.start, options).in_lanes == 0);
}

TEST_CASE("a fit has the same bits in any order, in any batch of enough fits, on any number of threads") {
  const Spots spots(300);
  const PreparedModel model(kSpot, 2);
  BatchOptions options;
  options.threads = 1;
  const BatchResult all = curve_fit_batch(model, spots.predictors(), spots.image, spots.start, options);
  std::vector<std::size_t> order(300);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (const std::size_t count : {300u, 299u, 77u, 32u}) {
    CAPTURE(count);
    order.resize(count);
    options.threads = count % 2 == 0 ? 2 : 3;
    const BatchResult some = curve_fit_batch(model, spots.predictors(), rows_of(spots.image, order),
                                             rows_of(spots.start, order), options);
    CHECK(some.in_lanes == count);
    for (std::size_t f = 0; f < count; ++f) check_same_fit(some, f, all, order[f]);
  }
}

TEST_CASE("x and sigma by fit, other types of numbers, fixed parameters and absolute sigma: as alone") {
  constexpr std::size_t kFits = 50, kRows = 21;
  std::mt19937_64 random(11);
  std::normal_distribution<> noise;
  Matrix x(kFits, kRows), y(kFits, kRows), sigma(kFits, kRows), p0(kFits, 3);
  std::vector<float> y_f32;
  std::vector<std::int16_t> y_i16;
  for (std::size_t f = 0; f < kFits; ++f) {
    for (std::size_t i = 0; i < kRows; ++i) {
      x(f, i) = 0.3 * static_cast<double>(i) + 0.01 * static_cast<double>(f);
      sigma(f, i) = 5 + 0.5 * static_cast<double>(i % 3);
      y(f, i) = std::round(1000 * std::exp(-(0.4 + 0.01 * static_cast<double>(f)) * x(f, i)) + 100 +
                           sigma(f, i) * noise(random));
      y_f32.push_back(static_cast<float>(y(f, i)));
      y_i16.push_back(static_cast<std::int16_t>(y(f, i)));
    }
    p0(f, 0) = 900;
    p0(f, 1) = 0.5;
    p0(f, 2) = 95 + static_cast<double>(f % 7);
  }
  const PreparedModel model("a*exp(-b*x)+c");
  for (int k = 0; k < 8; ++k) {
    CAPTURE(k);
    BatchOptions options;
    options.absolute_sigma = k % 2 == 1;
    if (k % 4 > 0) options.sigma_per_fit = sigma;
    if (k >= 4) options.fixed = {"c"};
    const BatchResult one = curve_fit_batch(model, ColumnPerFit(x), y, p0, alone(options));
    const BatchResult lanes = curve_fit_batch(model, ColumnPerFit(x), y, p0, options);
    CHECK(lanes.in_lanes == kFits);
    check_agree(lanes, one);
    for (const auto& typed :
         {ColumnPerFit::of(y_f32.data(), kFits, kRows), ColumnPerFit::of(y_i16.data(), kFits, kRows)}) {
      const BatchResult same = curve_fit_batch(model, ColumnPerFit(x), typed, p0, options);
      for (std::size_t f = 0; f < kFits; ++f) check_same_fit(same, f, lanes, f);
    }
    if (k >= 4) {
      for (std::size_t f = 0; f < kFits; ++f)
        CHECK((lanes.parameters(f, 2) == p0(f, 2) && lanes.standard_errors(f, 2) == 0));
    }
  }
}

TEST_CASE("a left side, many parameters, one parameter, and as many rows as vectors hold or not") {
  std::mt19937_64 random(5);
  std::normal_distribution<> noise;
  for (const std::size_t rows : {3u, 15u, 16u, 17u, 100u, 1000u, 2048u}) {
    CAPTURE(rows);
    std::vector<double> x;
    Matrix y(40, rows), rising(40, rows);
    for (std::size_t i = 0; i < rows; ++i)
      x.push_back(0.1 + 3 * static_cast<double>(i) / static_cast<double>(rows));
    for (std::size_t f = 0; f < 40; ++f) {
      for (std::size_t i = 0; i < rows; ++i) {
        rising(f, i) = std::exp(0.3 * x[i] + 0.5 + 0.01 * noise(random));
        y(f, i) = 3 * std::sin(2 * x[i] + 0.3) + 0.5 * x[i] * x[i] - x[i] + 2 + 0.05 * noise(random);
      }
    }
    const BatchResult left =
        curve_fit_batch("log(y) = b*x + c^2", ColumnPerFit(x), rising, one_start({1, 1}));
    CHECK(left.in_lanes == 40);
    check_agree(left,
                curve_fit_batch("log(y) = b*x + c^2", ColumnPerFit(x), rising, one_start({1, 1}), alone()));
    const BatchResult one = curve_fit_batch("exp(-k*x)", ColumnPerFit(x), rising, one_start({0.1}));
    CHECK(one.in_lanes == 40);
    check_agree(one, curve_fit_batch("exp(-k*x)", ColumnPerFit(x), rising, one_start({0.1}), alone()));
    if (rows < 15) continue;
    const char* const sum = "a*sin(w*x+phi) + q*x^2 + l*x + k + a2*cos(3*w*x)";
    const Matrix start = one_start({2.5, 2.05, 0.2, 0.4, -0.8, 1.8, 0.1});
    const BatchResult many = curve_fit_batch(sum, ColumnPerFit(x), y, start);
    check_agree(many, curve_fit_batch(sum, ColumnPerFit(x), y, start, alone()));
  }
}

TEST_CASE("fits that lanes cannot certify are fitted alone, with the bits of a fit alone") {
  Spots spots(128);
  for (const std::size_t f : {3u, 40u, 41u, 90u}) {
    for (std::size_t i = 0; i < 225; ++i)
      spots.image(f, i) = i % 2 == 0 ? 10 : 12;  // in these numbers no spot is visible
  }
  for (std::size_t i = 0; i < 225; ++i) {  // with exact data, the cost is a rounding error
    const double square = std::pow(spots.x[i] - 7, 2) + std::pow(spots.y[i] - 7, 2);
    spots.image(64, i) = 100 * std::exp(-square / 8) + 10;
  }
  spots.image(17, 3) = std::numeric_limits<double>::quiet_NaN();
  spots.start(18, 3) = 0;  // this is a division by zero at the start
  const PreparedModel model(kSpot, 2);
  const BatchResult lanes = curve_fit_batch(model, spots.predictors(), spots.image, spots.start);
  const BatchResult one = curve_fit_batch(model, spots.predictors(), spots.image, spots.start, alone());
  CHECK(lanes.in_lanes <= 128 - 7);
  CHECK(lanes.in_lanes >= 115);
  for (const std::size_t f : {3u, 40u, 41u, 90u, 64u, 17u, 18u}) check_same_fit(lanes, f, one, f);
  CHECK(lanes.verdict == one.verdict);
  CHECK(lanes.verdict[17] == Verdict::failed);
  CHECK(lanes.parameters(17, 0) == spots.start(17, 0));
  CHECK(lanes.verdict[18] == Verdict::failed);
}

TEST_CASE("ill-conditioned fits are left to the means that bear them") {
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back(0.1 * i);
  Matrix y(40, 60);
  std::mt19937_64 random(2);
  std::normal_distribution<> noise;
  for (std::size_t f = 0; f < 40; ++f) {
    for (std::size_t i = 0; i < 60; ++i)
      y(f, i) = 3 * std::exp(-x[i]) + 2 * std::exp(-0.8 * x[i]) + 1e-4 * noise(random);
  }
  const Matrix p0 = one_start({2.5, 1.2, 2.5, 0.7});
  const char* const model = "a*exp(-k*x) + b*exp(-l*x)";
  const BatchResult lanes = curve_fit_batch(model, ColumnPerFit(x), y, p0),
                    one = curve_fit_batch(model, ColumnPerFit(x), y, p0, alone());
  CHECK(lanes.in_lanes == 0);  // the condition number is 10⁹
  CHECK(lanes.success());
  for (std::size_t f = 0; f < 40; ++f) check_same_fit(lanes, f, one, f);
}

TEST_CASE("on offsets and over Unix times f32 does not lead, and fits in lanes end where those in f64 do") {
  constexpr std::size_t kFits = 64, kRows = 400;
  for (const bool unix_times : {false, true}) {
    CAPTURE(unix_times);
    const double origin = unix_times ? 1.7e9 : 0, offset = unix_times ? 0 : 1e8;
    std::mt19937 random(5);
    std::normal_distribution<double> noise(0, 0.1);
    std::vector<double> x;
    for (std::size_t i = 0; i < kRows; ++i) x.push_back(origin + 10 * static_cast<double>(i) / (kRows - 1));
    Matrix Y(kFits, kRows), P0(kFits, 4);
    for (std::size_t f = 0; f < kFits; ++f) {
      const double w = 2 + 0.03 * static_cast<double>(f);
      for (std::size_t i = 0; i < kRows; ++i)
        Y(f, i) = offset + 2 * std::sin(w * (x[i] - origin) + 0.3) + noise(random);
      const double start[] = {1, w + 0.1 * std::sin(static_cast<double>(f)), 0, offset};
      std::copy_n(start, 4, &P0(f, 0));
    }
    const PreparedModel model(unix_times ? "a*sin(w*(x-1700000000)+p)+c" : "a*sin(w*x+p)+c");
    BatchOptions f64;
    f64.precision = PrecisionPolicy::all_f64();
    const BatchResult lanes = curve_fit_batch(model, x, Y, P0),
                      reference = curve_fit_batch(model, x, Y, P0, f64);
    CHECK(lanes.in_lanes > kFits / 2);
    CHECK(lanes.counters.rows_f32 == 0);
    CHECK(lanes.certified == reference.certified);
    for (std::size_t f = 0; f < kFits; ++f) {
      CAPTURE(f);
      CHECK(lanes.cost[f] <= reference.cost[f] * (1 + 1e-6));
    }
  }
}

TEST_CASE("fits of a batch that lose a parameter are no successes, in lanes or alone") {
  constexpr std::size_t kFits = 64, kRows = 50;
  std::vector<double> x;
  for (std::size_t i = 0; i < kRows; ++i) x.push_back(0.2 * static_cast<double>(i));
  Matrix Y(kFits, kRows);
  for (std::size_t f = 0; f < kFits; ++f) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const double decay = 2 * std::exp(-0.5 * x[i]) + 1 + 0.01 * std::sin(static_cast<double>(37 * i + f));
      Y(f, i) = f % 2 == 0 ? decay : 3.1;  // a constant does not determine the rate
    }
  }
  const PreparedModel model("a*exp(-b*x)+c");
  for (const bool in_lanes : {true, false}) {
    BatchOptions options;
    options.in_lanes = in_lanes;
    const BatchResult fits = curve_fit_batch(model, x, Y, one_start({1, 1, 0}), options);
    CHECK(fits.certified == kFits / 2);
    for (std::size_t f = 0; f < kFits; ++f) CHECK(is_success(fits.verdict[f]) == (f % 2 == 0));
  }
}

TEST_CASE("callables go in lanes as they were recorded; branches not recorded yet go alone") {
  const auto decay = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  };
  std::vector<double> x;
  for (int i = 0; i < 30; ++i) x.push_back(0.1 * i);
  Matrix y(64, 30);
  for (std::size_t f = 0; f < 64; ++f) {
    for (std::size_t i = 0; i < 30; ++i) {
      y(f, i) = 2 * std::exp(-(1 + 0.01 * static_cast<double>(f)) * x[i]) + 1 +
                0.01 * std::sin(5.0 * static_cast<double>(i * (f + 1)));
    }
  }
  const PreparedModel smooth(make_model_function(decay), x, {1.5, 1.5, 0.5});
  const BatchResult lanes = curve_fit_batch(smooth, ColumnPerFit(x), y, one_start({1.5, 1.5, 0.5}));
  CHECK(lanes.in_lanes == 64);
  check_agree(lanes, curve_fit_batch(smooth, ColumnPerFit(x), y, one_start({1.5, 1.5, 0.5}), alone()));

  const auto kinked = [](const auto& x, const auto& p) {
    return x < p[0] ? p[1] * x : p[1] * p[0] + p[2] * (x - p[0]);
  };
  Matrix p0(40, 3), kinks(40, 30);
  for (std::size_t f = 0; f < 40; ++f) {
    const double at = 1.03 + 0.01 * static_cast<double>(f);
    for (std::size_t i = 0; i < 30; ++i) {
      kinks(f, i) = (x[i] < at ? 2 * x[i] : 2 * at + 0.5 * (x[i] - at)) +
                    0.01 * std::sin(5.0 * static_cast<double>(i * (f + 1)));
    }
    const double start[] = {at, 1, 1};
    std::copy(start, start + 3, &p0(f, 0));
  }
  const PreparedModel one_branch(make_model_function(kinked), x,
                                 {10, 1, 1});  // it is recorded where only one side is seen
  const BatchResult bent = curve_fit_batch(one_branch, ColumnPerFit(x), kinks, p0);
  const BatchResult bent_alone = curve_fit_batch(one_branch, ColumnPerFit(x), kinks, p0, alone());
  CHECK(bent.in_lanes == 0);
  for (std::size_t f = 0; f < 40; ++f) check_same_fit(bent, f, bent_alone, f);
}

TEST_CASE("a callable that is no longer what was recorded of it is noticed by every fit") {
  const auto factor = std::make_shared<double>(1);
  const auto changing = [factor](const auto& x, const auto& p) {
    using std::exp;
    return *factor * p[0] * exp(-p[1] * x);
  };
  std::vector<double> x;
  for (int i = 0; i < 30; ++i) x.push_back(0.1 * i);
  Matrix y(70, 30);
  for (std::size_t f = 0; f < 70; ++f) {
    for (std::size_t i = 0; i < 30; ++i)
      y(f, i) = 2 * std::exp(-x[i]) + 0.01 * std::sin(5.0 * static_cast<double>(i * (f + 1)));
  }
  const PreparedModel model(make_model_function(changing), x, {1.5, 1.5});
  CHECK(curve_fit_batch(model, ColumnPerFit(x), y, one_start({1.5, 1.5})).in_lanes == 70);
  *factor = 2;
  const BatchResult changed = curve_fit_batch(model, ColumnPerFit(x), y, one_start({1.5, 1.5}));
  CHECK(changed.in_lanes == 0);
  CHECK(changed.success());  // by dual numbers
  for (std::size_t f = 0; f < 70; ++f) CHECK(changed.parameters(f, 0) == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("limits and methods of one fit at a time keep fits out of lanes") {
  const Spots spots(40);
  const auto in_lanes = [&](auto change) {
    BatchOptions options;
    change(options);
    const BatchResult result = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start, options);
    return result.in_lanes;
  };
  CHECK(in_lanes([](BatchOptions&) {}) == 40);
  CHECK(in_lanes([](BatchOptions& o) { o.max_iterations = 3; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.max_seconds = 100; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.ftol = 1e-6; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.algorithm = Algorithm::gauss_newton; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.algorithm = Algorithm::dogleg; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.nonmonotonic_steps = 5; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.geodesic = Geodesic::always; }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.precision = PrecisionPolicy::parse("f32"); }) == 0);
  CHECK(in_lanes([](BatchOptions& o) { o.solve_linear_start = false; }) == 40);
  CHECK(in_lanes([](BatchOptions& o) { o.xtol = 1e-6; }) == 40);
}
