// Tests many fits of one model. Each must be curve_fit's, on any thread, and none may allocate memory.
#include "batch/batch.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>
#include <spots.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <stdexcept>

namespace {
std::atomic<long> allocations{0};
}

// These count allocations. If GCC inlines them, it takes the pair for one that does not match.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace nlsq;

namespace {

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_same(const BatchResult& a, const BatchResult& b) {
  REQUIRE(a.size() == b.size());
  CHECK(a.verdict == b.verdict);
  CHECK(a.termination == b.termination);
  CHECK(a.iterations == b.iterations);
  for (std::size_t f = 0; f < a.size(); ++f) {
    CHECK(same_bits(a.cost[f], b.cost[f]));
    for (std::size_t j = 0; j < a.parameters.columns(); ++j) {
      CHECK(same_bits(a.parameters(f, j), b.parameters(f, j)));
      CHECK(same_bits(a.standard_errors(f, j), b.standard_errors(f, j)));
    }
  }
}

// Compares fit f of the batch with curve_fit's.
void check_as_curve_fit(const BatchResult& batch, std::size_t f, const FitResult& fit) {
  CAPTURE(f);
  CHECK(batch.verdict[f] == fit.summary.verdict);
  CHECK(batch.termination[f] == fit.summary.termination);
  CHECK(batch.iterations[f] == static_cast<int>(fit.summary.iterations.size()));
  CHECK(batch.cost[f] == fit.summary.final_cost);
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    CHECK(same_bits(batch.parameters(f, j), fit.parameters[j]));
    CHECK(same_bits(batch.standard_errors(f, j), fit.standard_errors[j]));
  }
}

}  // namespace

TEST_CASE("every fit of a batch that is done alone is certified and has the bits of curve_fit") {
  const Spots spots(80);
  BatchOptions options;
  options.in_lanes = false;
  const BatchResult many = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start, options);
  CHECK(many.in_lanes == 0);
  CHECK(many.success());
  CHECK(many.certified == 80);
  CHECK(many.parameter_names == std::vector<std::string>{"a", "cx", "cy", "s", "b"});
  for (std::size_t f = 0; f < 80; f += 7) {
    NamedValues p0;
    for (std::size_t j = 0; j < 5; ++j) p0.emplace_back(many.parameter_names[j], spots.start(f, j));
    FitOptions one;
    one.threads = 1;
    check_as_curve_fit(many, f, curve_fit(kSpot, {spots.x, spots.y}, spots.image_of(f), p0, one));
  }
}

TEST_CASE("any number of threads, any executor and any order give the same bits") {
  const Spots spots(200);
  const PreparedModel model(kSpot, 2);
  BatchOptions options;
  options.threads = 1;
  const BatchResult one = curve_fit_batch(model, spots.predictors(), spots.image, spots.start, options);
  CHECK(one.threads == 1);
  options.threads = 4;
  check_same(one, curve_fit_batch(model, spots.predictors(), spots.image, spots.start, options));
  options.executor = [](std::size_t count, const std::function<void(std::size_t)>& task) {
    for (std::size_t i = count; i-- > 0;) task(i);
  };
  check_same(one, curve_fit_batch(model, spots.predictors(), spots.image, spots.start, options));
}

TEST_CASE("a fit allocates nothing of its own") {
  const Spots few(1280), many(1920);  // both are so many that the model becomes machine code
  const PreparedModel model(kSpot, 2);
  BatchOptions options;
  options.threads = 1;
  const auto count = [&](const Spots& spots) {
    const auto x = spots.predictors();
    const ColumnPerFit y(spots.image);
    const long before = allocations;
    const BatchResult result = curve_fit_batch(model, x, y, spots.start, options);
    const long used = allocations - before;
    CHECK(result.success());
    return used;
  };
  count(many);
  const long small = count(few), large = count(many);
  // Some allocations are made for every 32 fits, which share a task.
  CHECK(large - small <= 20 * 10);
}

TEST_CASE("x, sigma and the number of rows may differ from fit to fit") {
  const std::vector<std::vector<double>> x{{0, 1, 2, 3, 4}, {0, 0.5, 1, 2, 3, 5, 7}, {1, 2, 3, 4}};
  std::vector<std::vector<double>> y, sigma;
  for (std::size_t f = 0; f < 3; ++f) {
    y.emplace_back();
    sigma.emplace_back();
    for (std::size_t i = 0; i < x[f].size(); ++i) {
      y[f].push_back(2 * std::exp(-0.4 * x[f][i]) + 0.01 * std::sin(7.0 * static_cast<double>(i + f)));
      sigma[f].push_back(0.01 * (1 + static_cast<double>(i)));
    }
  }
  const auto per_fit = [](const std::vector<std::vector<double>>& all) {
    return ColumnPerFit(std::vector<Column>(all.begin(), all.end()));
  };
  Matrix p0(1, 2);
  p0(0, 0) = 1;
  p0(0, 1) = 1;
  BatchOptions options;
  options.absolute_sigma = true;
  options.sigma_per_fit = per_fit(sigma);
  const BatchResult many = curve_fit_batch("a*exp(-b*x)", per_fit(x), per_fit(y), p0, options);
  CHECK(many.success());
  for (std::size_t f = 0; f < 3; ++f) {
    FitOptions one;
    one.threads = 1;
    one.absolute_sigma = true;
    one.sigma = sigma[f];
    check_as_curve_fit(many, f, curve_fit("a*exp(-b*x)", x[f], y[f], {{"a", 1}, {"b", 1}}, one));
  }
}

TEST_CASE("a shared sigma and fixed parameters are those of curve_fit; a fixed one starts by fit") {
  const Spots spots(5);
  const std::vector<double> sigma(225, 3.0);
  BatchOptions options;
  options.sigma = sigma;
  options.fixed = {"b"};
  const BatchResult many = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start, options);
  FitOptions one = options;
  one.threads = 1;
  const PreparedModel model(kSpot, 2);
  for (std::size_t f = 0; f < 5; ++f) {
    CHECK(many.parameters(f, 4) == spots.start(f, 4));
    CHECK(many.standard_errors(f, 4) == 0);
    check_as_curve_fit(many, f,
                       curve_fit(model, {spots.x, spots.y}, spots.image_of(f), spots.start_of(f), one));
  }
}

TEST_CASE("with as many rows as parameters, errors of the determined parameters are those of curve_fit") {
  Matrix y(2, 3);
  std::ranges::copy(std::vector<double>{1, 3.1, 4.9, 1, 2.9, 5.2}, y.data());
  const std::vector<double> x = {0, 1, 2};
  BatchOptions bounded;
  bounded.bounds = {{-HUGE_VAL, 2.5, -HUGE_VAL}, HUGE_VAL};  // fixes b, so that one degree of freedom is left
  Matrix start(1, 3);
  std::ranges::copy(std::vector<double>{1, 3, 0.1}, start.data());
  for (const char* formula : {"a+b*x+c*x^2", "a+(b+c)*x"}) {  // the second has rank 2
    CAPTURE(formula);
    const bool alike = formula == std::string("a+(b+c)*x");
    const BatchOptions options = alike ? BatchOptions() : bounded;
    const BatchResult batch = curve_fit_batch(formula, x, y, start, options);
    for (std::size_t f = 0; f < 2; ++f) {
      const FitResult fit =
          curve_fit(formula, x, Column(&y(f, 0), 3), {{"a", 1}, {"b", 3}, {"c", 0.1}}, options);
      CHECK(std::isfinite(fit.standard_errors[0]));
      check_as_curve_fit(batch, f, fit);
    }
  }
}

TEST_CASE("callables are recorded once; branches that later fits take give the bits of a fit alone") {
  const auto kinked = [](const auto& x, const auto& p) {
    return x < p[0] ? p[1] * x : p[1] * p[0] + p[2] * (x - p[0]);
  };
  std::vector<double> x;
  for (int i = 0; i < 30; ++i) x.push_back(0.1 * i);
  Matrix y(40, 30), p0(40, 3);
  for (std::size_t f = 0; f < 40; ++f) {
    const double at =
        f < 5 ? 10 : 1.03 + 0.01 * static_cast<double>(f);  // the first fits have only one branch
    for (std::size_t i = 0; i < 30; ++i) {
      y(f, i) = (x[i] < at ? 2 * x[i] : 2 * at + 0.5 * (x[i] - at)) +
                0.01 * std::sin(5.0 * static_cast<double>(i * (f + 1)));
    }
    p0(f, 0) = at;
    p0(f, 1) = 1;
    p0(f, 2) = 1;
  }
  BatchOptions options;
  options.threads = 1;
  const PreparedModel model(make_model_function(kinked), x, {10, 1, 1});
  const BatchResult many = curve_fit_batch(model, ColumnPerFit(x), y, p0, options);
  for (std::size_t f = 0; f < 40; ++f) {
    const FitResult fit =
        curve_fit(model, x, Column(y.data() + f * 30, 30), {p0(f, 0), p0(f, 1), p0(f, 2)}, options);
    check_as_curve_fit(many, f, fit);
  }
  for (std::size_t f = 5; f < 40; ++f) CHECK(many.parameters(f, 2) == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("callables in double alone run, one thread at a time where they must") {
  int calls = 0;  // this is not safe for threads
  const auto counting = [&calls](double x, const std::vector<double>& p) mutable {
    ++calls;
    return p[0] * std::exp(-p[1] * x);
  };
  std::vector<double> x{0, 1, 2, 3, 4, 5};
  Matrix y(3, 6), p0(1, 2, 1.0);
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t i = 0; i < 6; ++i)
      y(f, i) = (1 + static_cast<double>(f)) * std::exp(-0.5 * x[i]) + (i % 2 == 0 ? 1e-3 : -1e-3);
  }
  const BatchResult many = curve_fit_batch(counting, ColumnPerFit(x), y, p0);
  CHECK(many.success());
  CHECK(many.threads == 1);
  CHECK(calls > 0);
  CHECK(many.parameters(2, 0) == doctest::Approx(3).epsilon(0.01));
}

TEST_CASE("bad data fail the fit they belong to and no other") {
  Spots spots(40);
  const BatchResult good = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start);
  spots.image(17, 3) = std::numeric_limits<double>::quiet_NaN();
  const BatchResult many = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start);
  CHECK(many.certified == 39);
  CHECK(many.verdict[17] == Verdict::failed);
  CHECK(many.termination[17] == Termination::failure);
  CHECK(many.parameters(17, 0) == spots.start(17, 0));
  CHECK(std::isnan(many.standard_errors(17, 0)));
  for (std::size_t f = 0; f < 40; ++f) {
    if (f != 17) CHECK(many.cost[f] == good.cost[f]);
  }
  CHECK(many.message.size() == 1);
  CHECK(many.message.at(17).find("y has 1 value(s) that are not finite; the first is nan in row 3") == 0);
  std::vector<double> sigma(225, 1.0);
  sigma[5] = -1;
  BatchOptions options;
  options.sigma = sigma;
  const BatchResult none = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start, options);
  CHECK(none.certified == 0);
  CHECK(none.message.size() == 40);
  CHECK(none.message.at(3).find("sigma has 1 value(s) that are not positive and finite") == 0);
}

TEST_CASE("a fit without success has the message of curve_fit, in lanes, alone and called") {
  std::vector<double> x(20);
  Matrix y(40, 20), p0(1, 3);
  std::ranges::copy(std::vector<double>{1, 0.5, 0.1}, p0.data());
  for (std::size_t i = 0; i < 20; ++i) {
    x[i] = 0.1 + 0.2 * static_cast<double>(i);
    for (std::size_t f = 0; f < 40; ++f)
      y(f, i) = (1 + 0.1 * static_cast<double>(f)) * std::exp(-0.5 * x[i]) + 0.01 * std::cos(70 * x[i]);
    y(6, i) = 1e200;
    y(9, i) = 1;
  }
  const PreparedModel formula("a*exp(-b*x)+c");
  for (const bool in_lanes : {true, false}) {
    for (const Loss& loss : {Loss(), Loss::huber(1)}) {
      BatchOptions options;
      options.in_lanes = in_lanes;
      options.loss = loss;
      const BatchResult many = curve_fit_batch(formula, x, y, p0, options);
      CHECK(many.message.contains(6));
      CHECK(many.message.size() == 40 - many.certified);
      for (const auto& [f, message] : many.message) {
        CHECK(message == curve_fit(formula, x, Column(&y(f, 0), 20), {1, 0.5, 0.1}, options).summary.message);
      }
    }
  }
  const auto called = [](double at, std::span<const double> p) { return p[0] * std::exp(-p[1] * at) + p[2]; };
  CHECK(curve_fit_batch(called, ColumnPerFit(x), y, p0).message.at(6).find("squares overflow") !=
        std::string::npos);
}

TEST_CASE("a fit with a left side is judged by the left side, as in curve_fit, not by a tiny y") {
  const PreparedModel model("log(y) = log(a*b) - c*x");  // the data determine only the product of a and b
  std::vector<double> x(30);
  Matrix y(40, 30), p0(1, 3, 1.0);
  for (std::size_t i = 0; i < 30; ++i) {
    x[i] = 0.1 * static_cast<double>(i);
    for (std::size_t f = 0; f < 40; ++f)
      y(f, i) = 1e-3 * std::exp(-x[i] + 0.01 * std::cos(40 * x[i] + static_cast<double>(f)));
  }
  BatchOptions options;
  for (const bool in_lanes : {true, false}) {
    options.in_lanes = in_lanes;
    const BatchResult many = curve_fit_batch(model, x, y, p0, options);
    CHECK(many.certified == 40);
    for (std::size_t f = 0; f < 40; ++f)
      CHECK(many.verdict[f] == curve_fit(model, x, Column(&y(f, 0), 30), {1, 1, 1}, options).summary.verdict);
  }
}

TEST_CASE("functions that are called are fitted as by curve_fit, from starts far from the scale of y too") {
  const auto called = [](double at, const double* p) { return p[0] * std::exp(-p[1] * at) + p[2]; };
  const std::size_t fits = 20, rows = 60;
  std::vector<double> x(rows);
  for (std::size_t i = 0; i < rows; ++i) x[i] = 0.06 * static_cast<double>(i);
  Matrix y(fits, rows), p0(1, 3, 1.0);
  std::mt19937 random(3);
  for (const double scale : {1.0, 1e6}) {
    for (std::size_t f = 0; f < fits; ++f) {
      const double b = 0.5 + 0.1 * static_cast<double>(f);
      for (std::size_t i = 0; i < rows; ++i)
        y(f, i) = scale * (2 * std::exp(-b * x[i]) + 0.5 + 2e-4 * static_cast<double>(random() % 100));
    }
    const BatchResult many = curve_fit_batch(called, ColumnPerFit(x), ColumnPerFit(y), p0);
    CHECK(many.certified == fits);
    for (std::size_t f = 0; f < fits; ++f)
      check_as_curve_fit(many, f, curve_fit(called, x, Column(&y(f, 0), rows), {1, 1, 1}));
  }
}

TEST_CASE("messages go to other processes and into a journal with the fits") {
  Spots spots(4);
  spots.image(1, 3) = spots.image(3, 7) = std::numeric_limits<double>::quiet_NaN();
  const BatchResult many = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start);
  REQUIRE(many.message.size() == 2);
  BatchResult there = unfitted(6, many.parameter_names);
  take_bytes(to_bytes(many, 1, 4), 3, there);
  CHECK(there.message.size() == 2);
  CHECK(there.message.at(3) == many.message.at(1));
  CHECK(there.message.at(5) == many.message.at(3));
  CHECK(there.verdict[4] == many.verdict[2]);
}

TEST_CASE("without a free parameter the cost is evaluated, as in curve_fit") {
  const Spots spots(40);
  BatchOptions options;
  const PreparedModel model(kSpot, 2);
  options.fixed = model.parameter_names();
  const BatchResult many = curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start, options);
  CHECK(many.success());
  for (const std::size_t f : {std::size_t{0}, std::size_t{39}})
    check_as_curve_fit(many, f,
                       curve_fit(model, {spots.x, spots.y}, spots.image_of(f), spots.start_of(f), options));
}

TEST_CASE("sizes that disagree, callbacks and empty batches are errors that say so") {
  const Spots spots(3);
  CHECK_THROWS_WITH_AS(curve_fit_batch(kSpot, spots.predictors(), spots.image, Matrix(2, 5)),
                       doctest::Contains("P0 is 2 x 5"), ValidationError);
  CHECK_THROWS_AS(curve_fit_batch(kSpot, spots.predictors(), spots.image, Matrix(3, 4)), ValidationError);
  const std::vector<double> shorter(10, 0.0);
  CHECK_THROWS_WITH_AS(
      curve_fit_batch(PreparedModel(kSpot, 2), {ColumnPerFit(spots.x), ColumnPerFit(shorter)}, spots.image,
                      spots.start),
      doctest::Contains("x2 has 10 rows"), DataError);
  CHECK_THROWS_AS(curve_fit_batch(PreparedModel(kSpot, 2), ColumnPerFit(spots.x), spots.image, spots.start),
                  DataError);
  CHECK_THROWS_AS(curve_fit_batch(kSpot, spots.predictors(), ColumnPerFit(), spots.start), DataError);
  Matrix start = spots.start;
  start(2, 1) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(curve_fit_batch(kSpot, spots.predictors(), spots.image, start),
                       doctest::Contains("P0 of fit 2: "), ValidationError);
  BatchOptions options;
  options.callback = [](const IterationSummary&) { return Continue; };
  CHECK_THROWS_AS(curve_fit_batch(kSpot, spots.predictors(), spots.image, spots.start, options),
                  ValidationError);
}

TEST_CASE("if several callables throw, the exception of the lowest fit is rethrown") {
  std::vector<double> x{0, 1, 2, 3};
  Matrix y(200, 4), p0(200, 1);
  for (std::size_t f = 0; f < 200; ++f) p0(f, 0) = static_cast<double>(f);
  const auto thrower = [](double, std::span<const double> p) -> double {
    if (p[0] > 40.5) throw std::runtime_error(std::to_string(static_cast<int>(p[0])));
    return p[0] - p[0];
  };
  BatchOptions options;
  options.threads = 2;
  CHECK_THROWS_WITH(curve_fit_batch(thrower, ColumnPerFit(x), y, p0, options), "41");
}
