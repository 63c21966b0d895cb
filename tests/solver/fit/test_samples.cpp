// Tests first steps on samples of the rows. They save work, and the answer is that of all rows.
#include "rows/sample_rows.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "corpora/noise.hpp"

using namespace nlsq;

namespace {

struct Data {
  std::vector<double> x, y;
};
template <class Model>
Data data_of(std::size_t rows, double noise, Model model) {
  Data d;
  problems::Noise random(3);
  for (std::size_t i = 0; i < rows; ++i) {
    d.x.push_back(4 * static_cast<double>(i) / static_cast<double>(rows));
    d.y.push_back(model(d.x.back()) + noise * random.normal());
  }
  return d;
}

FitResult fit(const char* formula, const Data& d, const NamedValues& p0, Sampling sampling) {
  FitOptions options;
  options.sampling = sampling;
  return curve_fit(formula, d.x, d.y, p0, options);
}

// Returns true if some line of the trace is about fewer rows than all.
bool on_samples(const FitResult& fit) {
  for (const IterationSummary& it : fit.summary.iterations) {
    if (it.outcome == StepOutcome::accepted && it.rows < fit.rows) return true;
  }
  return false;
}

void check_same_end(const FitResult& a, const FitResult& b) {
  REQUIRE(a.success());
  REQUIRE(b.success());
  for (std::size_t j = 0; j < a.parameters.size(); ++j)
    CHECK(std::fabs(a.parameters[j] - b.parameters[j]) <= 2e-3 * b.standard_errors[j]);
}

// Numbers its rows 0, 1, 2, ... in tiles of the given size.
class CountedRows final : public RowModel {
 public:
  CountedRows(std::size_t rows, std::size_t tile) : rows_(rows), tile_(tile) {}
  int parameters() const override { return 1; }
  std::size_t rows() const override { return rows_; }
  std::size_t tile_rows() const override { return tile_; }
  bool has_f32() const override { return false; }
  const char* kind() const override { return "counted"; }
  double row_cost(Fill) const override { return 1; }
  std::unique_ptr<TilePass> begin(std::span<const double>, Fill, bool) const override { return nullptr; }
  void reference_residuals(std::span<const double>, std::size_t, std::size_t, double*,
                           double*) const override {}

 private:
  std::size_t rows_, tile_;
};

}  // namespace

TEST_CASE(
    "50,000 rows are fitted on samples first, for three quarters of the work or less, to the same end") {
  const Data d =
      data_of(50'000, 0.05, [](double x) { return 3 * std::exp(-0.5 * std::pow((x - 2) / 0.8, 2)) + 0.5; });
  const char* formula = "a*exp(-0.5*((x-m)/s)^2)+c";
  const NamedValues p0 = {{"a", 2}, {"m", 1.7}, {"s", 1}, {"c", 0}};
  const FitResult sampled = fit(formula, d, p0, Sampling::automatic),
                  all = fit(formula, d, p0, Sampling::never);
  CHECK(on_samples(sampled));
  CHECK_FALSE(on_samples(all));
  check_same_end(sampled, all);
  CHECK(sampled.summary.counted_work < 0.75 * all.summary.counted_work);
}

TEST_CASE("rows that cost little are not sampled, and rows that cost more are, from fewer rows on") {
  const Data cheap = data_of(20'000, 0.05, [](double x) { return 2.5 * std::exp(-1.3 * x) + 0.5; });
  CHECK_FALSE(on_samples(fit("a*exp(-b*x)+c", cheap, {{"a", 1}, {"b", 1}, {"c", 0}}, Sampling::automatic)));
  const Data costly = data_of(20'000, 0.05, [](double x) { return 2 * std::pow(x + 0.1, 1.4); });
  CHECK(on_samples(fit("a*(x+0.1)^b", costly, {{"a", 1}, {"b", 1}}, Sampling::automatic)));
}

TEST_CASE("a peak in so few rows that half of a sample misses it is fitted on all rows from the start") {
  const auto peak = [](double x) { return 3 * std::exp(-0.5 * std::pow((x - 2) / 0.004, 2)) + 0.5; };
  const Data d = data_of(50'000, 0.05, peak);
  const char* formula = "a*exp(-0.5*((x-m)/s)^2)+c";
  const NamedValues p0 = {{"a", 2}, {"m", 2.001}, {"s", 0.005}, {"c", 0}};
  const FitResult f = fit(formula, d, p0, Sampling::automatic), all = fit(formula, d, p0, Sampling::never);
  CHECK_FALSE(on_samples(f));
  CHECK(f.summary.iterations.front().event == Event::sample_abandoned);
  check_same_end(f, all);
  CHECK(f.summary.counted_work < 1.1 * all.summary.counted_work);
}

TEST_CASE("a function that returns all residuals at once is not sampled: each call would evaluate all rows") {
  const Data d = data_of(50'000, 0.05, [](double x) { return 2.5 * std::exp(-1.3 * x) + 0.5; });
  const auto calls_with = [&](Sampling sampling) {
    int calls = 0;
    const auto residuals = [&](const std::vector<double>& p) {
      ++calls;
      std::vector<double> r(d.x.size());
      for (std::size_t i = 0; i < r.size(); ++i) r[i] = p[0] * std::exp(-p[1] * d.x[i]) + p[2] - d.y[i];
      return r;
    };
    LeastSquaresOptions options;
    options.sampling = sampling;
    CHECK(least_squares(residuals, {1, 1, 0}, options).success());
    return calls;
  };
  CHECK(calls_with(Sampling::automatic) == calls_with(Sampling::never));
}

TEST_CASE("a sample is made of windows spread evenly, and a sample of a sample of half of them") {
  for (const std::size_t tile : {64, 192, 512, 4096}) {
    for (const std::size_t rows : {100, 5'000, 50'000, 1'000'000}) {
      CountedRows all(rows, tile);
      for (const std::size_t share : {1, 2, 16, 256}) {
        CAPTURE(tile);
        CAPTURE(rows);
        CAPTURE(share);
        SampleRows sample(all, rows / share);
        std::size_t counted = 0, end = 0, longest_gap = 0;
        for (std::size_t k = 0; k < sample.tile_count(); ++k) {
          const TileRange window = sample.tile(k);
          REQUIRE(window.count > 0);
          CHECK(window.count <= sample.tile_rows());
          REQUIRE(window.first >= end);
          longest_gap = std::max(longest_gap, window.first - end);
          end = window.first + window.count;
          counted += window.count;
        }
        CHECK(end <= rows);
        CHECK(sample.rows() == counted);
        CHECK(sample.tile_rows() % 64 == 0);
        if (rows / share < 128) continue;
        // There are no more than the requested rows and a window, and gaps have about the same length.
        CHECK(counted <= rows / share + sample.tile_rows());
        CHECK(2 * counted >= rows / share);
        CHECK(std::max(longest_gap, rows - end) <= 2 * rows / sample.tile_count() + 2 * tile);
        SampleRows half(sample, sample.rows() / 2);
        CHECK(half.rows() <= sample.rows());
        CHECK(3 * half.rows() >= sample.rows());
      }
    }
  }
}
