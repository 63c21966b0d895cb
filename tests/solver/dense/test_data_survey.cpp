// Tests that data are examined once: small ones before the fit, large ones within its first pass.
#include <doctest/doctest.h>

#include "dense/data_survey.hpp"

#include <nlsq/nlsq.hpp>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kLarge = 300'000;  // sampled, and examined in the first pass over all rows

struct Data {
  std::vector<double> x, y, sigma;
};

Data decay(std::size_t rows) {
  Data d{std::vector<double>(rows), std::vector<double>(rows), std::vector<double>(rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(rows);
    d.x[i] = 4 * t;
    d.y[i] = 2.5 * std::exp(-1.3 * d.x[i]) + 0.5 + 0.05 * std::sin(1e5 * t);
    d.sigma[i] = 0.05 * (1 + t);
  }
  return d;
}

const auto model = [](auto x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

template <class Fit>
std::size_t refused_row_of(Fit fit) {
  try {
    fit();
  } catch (const nlsq::DataError& error) {
    CHECK(std::string(error.what()).find(std::to_string(error.row())) != std::string::npos);
    return error.row();
  }
  return std::numeric_limits<std::size_t>::max();
}

std::size_t refused_row(const Data& d, const nlsq::FitOptions& options = {}) {
  return refused_row_of([&] { (void)nlsq::curve_fit(model, d.x, d.y, {1.0, 1.0, 0.0}, options); });
}

}  // namespace

TEST_CASE("NaN and infinity are refused with their row, wherever they are in large data") {
  for (const std::size_t row : {std::size_t{0}, std::size_t{131'077}, kLarge - 1}) {
    for (const char* policy : {"auto", "f64"}) {
      nlsq::FitOptions options;
      options.precision = nlsq::PrecisionPolicy::parse(policy);
      Data d = decay(kLarge);
      d.y[row] = std::numeric_limits<double>::quiet_NaN();
      CHECK(refused_row(d, options) == row);
      d = decay(kLarge);
      d.x[row] = std::numeric_limits<double>::infinity();  // exp(-inf) is finite, so the fit would not notice
      CHECK(refused_row(d, options) == row);
      d = decay(kLarge);
      d.sigma[row] = -1;
      options.sigma = d.sigma;
      CHECK(refused_row(d, options) == row);
    }
  }
}

TEST_CASE("NaN and infinity in x are refused although a first guess leaves such rows out") {
  for (const std::size_t row : {std::size_t{0}, std::size_t{131'077}, kLarge - 1}) {
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      Data d = decay(kLarge);
      d.x[row] = value;
      CHECK(refused_row_of([&] { (void)nlsq::curve_fit(nlsq::model("exp"), d.x, d.y); }) == row);
      CHECK(refused_row_of([&] { (void)nlsq::curve_fit("a*exp(-b*x)+c", d.x, d.y); }) == row);
    }
  }
}

TEST_CASE("NaN is refused before a callable that cannot be recorded is called") {
  Data d = decay(kLarge);
  d.x[200'000] = std::numeric_limits<double>::quiet_NaN();
  bool called = false;
  const auto plain = [&](double x, const std::vector<double>& p) {
    called = called || std::isnan(x);
    return p[0] * std::exp(-p[1] * x) + p[2];
  };
  CHECK_THROWS_AS((void)nlsq::curve_fit(plain, d.x, d.y, {1.0, 1.0, 0.0}), nlsq::DataError);
  CHECK_FALSE(called);
}

TEST_CASE("the scatter about the mean is that of two passes, however far the mean is from zero") {
  for (const std::size_t rows : {std::size_t{1000}, kLarge}) {
    for (const bool weighted : {false, true}) {
      Data d = decay(rows);
      for (double& y : d.y) y += 1e6;
      long double weights = 0, mean = 0, squares = 0;
      const auto weight = [&](std::size_t i) {
        return weighted ? 1.0L / (static_cast<long double>(d.sigma[i]) * d.sigma[i]) : 1.0L;
      };
      for (std::size_t i = 0; i < rows; ++i) {
        weights += weight(i);
        mean += weight(i) * d.y[i];
      }
      mean /= weights;
      for (std::size_t i = 0; i < rows; ++i) squares += weight(i) * (d.y[i] - mean) * (d.y[i] - mean);
      nlsq::FitOptions options;
      if (weighted) options.sigma = d.sigma;
      const nlsq::FitResult fit = nlsq::curve_fit(model, d.x, d.y, {1.0, 1.0, 1e6}, options);
      CHECK(fit.r_squared == doctest::Approx(static_cast<double>(1 - fit.rss / squares)).epsilon(1e-9));
    }
  }
}

TEST_CASE("the scatter about the mean is that of two passes in many blocks beside an offset of 1e15") {
  std::vector<double> y(3000);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1e15 + 3 * std::sin(1.7 * static_cast<double>(i));
  long double sum = 0, squares = 0;
  for (const double v : y) sum += v - 1e15;
  for (const double v : y) squares += std::pow(v - 1e15 - sum / static_cast<long double>(y.size()), 2.0L);
  CHECK(nlsq::total_squares(y.data(), nullptr, y.size()) ==
        doctest::Approx(static_cast<double>(squares)).epsilon(1e-12));
}

// A tiny sigma pins the curve to one row. A huge one leaves the first row out.
TEST_CASE("the scatter about the mean is that of two passes, however much sigmas differ") {
  for (const std::size_t rows : {std::size_t{12}, std::size_t{3000}}) {
    for (const std::size_t odd : {std::size_t{0}, rows / 2, rows - 1}) {
      for (const double of_odd : {1e-12, 1e-9, 1e-6, 1.0, 1e12}) {
        CAPTURE(rows);
        CAPTURE(odd);
        CAPTURE(of_odd);
        std::vector<double> y(rows), sigma(rows, 0.1);
        for (std::size_t i = 0; i < rows; ++i) y[i] = 3 + 0.1 * std::sin(1.7 * static_cast<double>(i));
        sigma[odd] *= of_odd;
        if (of_odd > 1) y[odd] = 1e6;
        long double weights = 0, sum = 0, squares = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          const long double w = 1 / (static_cast<long double>(sigma[i]) * sigma[i]);
          weights += w;
          sum += w * y[i];
        }
        for (std::size_t i = 0; i < rows; ++i) {
          const long double apart = y[i] - sum / weights;
          squares += apart * apart / (static_cast<long double>(sigma[i]) * sigma[i]);
        }
        CHECK(nlsq::total_squares(y.data(), sigma.data(), rows) ==
              doctest::Approx(static_cast<double>(squares)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("the first pass of a large fit is all that reads the data to look at them") {
  // This is a source that counts how often its y column is read.
  struct Counting final : nlsq::RowSource {
    mutable std::atomic<std::size_t> read_y{0};
    std::size_t rows() const override { return kLarge; }
    int columns() const override { return 2; }
    void read(std::size_t first, std::size_t count, int column, double* out) const override {
      if (column == 1) read_y += count;
      for (std::size_t i = 0; i < count; ++i) {
        const double x = 4.0 * static_cast<double>(first + i) / kLarge;
        out[i] = column == 0 ? x : 2.5 * std::exp(-1.3 * x) + 0.5;
      }
    }
  };
  const auto source = std::make_shared<Counting>();
  nlsq::DataSurvey survey(source, {"x", "y"}, false);
  CHECK_FALSE(survey.complete());
  CHECK(source->read_y == 0);
  survey.run();
  CHECK(source->read_y == kLarge + 1);  // also the first value, relative to which distances count
}
