// Tests the progress of a batch, which is reported between parts, and which can stop the batch.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace nlsq;

TEST_CASE("a batch asks at the start and between its parts, and leaves the rest when told to stop") {
  constexpr std::size_t kFits = 9000, kRows = 70;
  std::vector<double> x(kRows), y;
  for (std::size_t i = 0; i < kRows; ++i) x[i] = 0.05 * static_cast<double>(i);
  for (std::size_t f = 0; f < kFits; ++f) {
    for (const double t : x)
      y.push_back(3 * std::exp(-(1 + 1e-4 * static_cast<double>(f)) * t) + 0.01 * std::sin(50 * t));
  }
  const ColumnPerFit Y = ColumnPerFit::of(y.data(), kFits, kRows);
  Matrix start(1, 2);
  start(0, 0) = 2;
  start(0, 1) = 1;
  const BatchResult whole = curve_fit_batch("a*exp(-b*x)", x, Y, start);
  REQUIRE(whole.certified == kFits);

  std::vector<std::size_t> seen;
  BatchOptions options;
  options.progress = [&](std::size_t done, std::size_t all) {
    CHECK(all == kFits);
    seen.push_back(done);
    return done == 0;
  };
  const BatchResult some = curve_fit_batch("a*exp(-b*x)", x, Y, start, options);
  CHECK(seen == std::vector<std::size_t>{0, kFits / 2});
  CHECK(some.certified == kFits / 2);
  for (std::size_t f = 0; f < kFits; ++f) {
    const bool done = f < kFits / 2;
    REQUIRE(some.termination[f] == (done ? whole.termination[f] : Termination::user_stop));
    for (std::size_t j = 0; j < 2; ++j) {
      if (done) REQUIRE(some.parameters(f, j) == whole.parameters(f, j));
      else REQUIRE(std::isnan(some.parameters(f, j)));
    }
  }

  seen.clear();
  options.progress = [&](std::size_t done, std::size_t) {
    seen.push_back(done);
    return true;
  };
  const BatchResult all = curve_fit_batch("a*exp(-b*x)", x, Y, start, options);
  CHECK(all.certified == kFits);
  CHECK(seen == std::vector<std::size_t>{0, kFits / 2, kFits});
}
