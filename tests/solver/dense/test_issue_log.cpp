// Tests the issue log and the counters of each iteration: what numbers below f64 did, and what ran.
#include "dense/dense_evaluator.hpp"
#include "dense/tile_issues.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tables.hpp"

using namespace nlsq;
using tables::Table;
using tables::TableRows;

namespace {

constexpr PrecisionPlan wide{Format::f32, Gram::f32_wide}, tile{Format::f32, Gram::f32_tile},
    mixed{Format::f64, Gram::f32_wide}, f64{Format::f64, Gram::f64};
constexpr double kNear = 3e37;  // f32's largest is 3.4e38

std::vector<PrecisionIssue> issues(const Table& t, const PrecisionPlan& plan, std::size_t tile_rows = 256) {
  TableRows rows(t, t.rounded(), tile_rows);
  DenseEvaluator evaluator(rows);
  evaluator.linearize(Vector(t.n, 1.0), plan);
  return evaluator.take_issues();
}

PrecisionIssue issue(Operation operation, Format format, std::size_t nan, std::size_t inf, std::size_t near,
                     std::size_t rows) {
  return {0, operation, format, nan, inf, near, rows};
}

}  // namespace

TEST_CASE("numbers near the limit are counted on tiles that do not fail, exactly, wherever they are") {
  for (const std::size_t row : {0u, 255u, 256u, 4999u}) {
    CAPTURE(row);
    Table t = Table::random(5000, 3, 7);
    t.columns[1][row] = -kNear;
    t.columns[2][row] = 2.2e37;
    t.columns[3][(row + 700) % 5000] = kNear;  // this is a residual
    const auto found = issues(t, wide);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == issue(Operation::evaluate, Format::f32, 0, 0, 3, 2));
    // For f64 rows, only J is narrowed.
    const auto narrowed = issues(t, mixed);
    REQUIRE(narrowed.size() == 1);
    CHECK(narrowed[0] == issue(Operation::jacobian_storage, Format::f32, 0, 0, 2, 1));
    CHECK(issues(t, f64).empty());
  }
}

TEST_CASE("the count is the table's own, for many such numbers and none") {
  Table t = Table::random(3000, 4, 3);
  CHECK(issues(t, wide).empty());
  std::size_t near = 0, rows = 0;
  for (std::size_t i = 0; i < t.m; ++i) {
    bool row = false;
    for (std::size_t j = 0; j <= t.n; ++j) {
      t.columns[j][i] *= std::pow(10.0, 30 + static_cast<double>((i * 7 + j * 13) % 8));
      const double size = std::fabs(static_cast<double>(static_cast<float>(t.columns[j][i])));
      if (size > kNearLimit) ++near, row = true;
    }
    rows += row ? 1 : 0;
  }
  REQUIRE(near > 30);
  const auto found = issues(t, wide);
  REQUIRE(found.size() == 1);
  CHECK(found[0] == issue(Operation::evaluate, Format::f32, 0, 0, near, rows));
}

TEST_CASE("for tiles that are redone, the log tells values from sums") {
  Table t = Table::random(2000, 2, 5);
  t.columns[0][600] = 1e200;
  t.columns[2][601] = std::nan("");
  auto low = issues(t, wide);  // NaN stays NaN in f64, so the format is not its cause, but it is counted
  REQUIRE(low.size() == 1);
  CHECK(low[0] == issue(Operation::evaluate, Format::f32, 1, 1, 0, 2));
  t = Table::random(2000, 2, 5);
  t.columns[0][600] = 1e25;  // f32 has this number, but not its square
  low = issues(t, tile);
  REQUIRE(low.size() == 1);
  CHECK(low[0].operation == Operation::gram_sum);
  CHECK(low[0].format == Format::f32);
  CHECK(low[0].inf + low[0].nan >= 1);
  CHECK(low[0].rows == 256);
  CHECK(issues(t, wide).empty());
}

TEST_CASE("a cost has its log, and entries that were taken are not reported again") {
  Table t = Table::random(2000, 2, 5);
  t.columns[2][100] = kNear;
  TableRows rows(t, t.rounded(), 256);
  DenseEvaluator evaluator(rows);
  evaluator.cost({}, Format::f32);
  const auto found = evaluator.take_issues();
  REQUIRE(found.size() == 1);
  CHECK(found[0] == issue(Operation::evaluate, Format::f32, 0, 0, 1, 1));
  CHECK(evaluator.take_issues().empty());
  evaluator.cost({}, Format::f64);
  CHECK(evaluator.take_issues().empty());
}

TEST_CASE("a fit's log names the iterations, also of passes whose points were rejected") {
  // exp(b x) exceeds f32's range where the first steps overshoot.
  std::vector<double> x, y;
  for (int i = 0; i < 30000; ++i) {
    x.push_back(90.0 * i / 30000);
    y.push_back(std::exp(0.9 * x.back()) * (1 + 0.01 * std::sin(1e3 * i)));
  }
  FitOptions options;
  options.precision = PrecisionPolicy::parse("f32");
  options.sigma = y;
  const FitResult fit = curve_fit("exp(b*x)", x, y, {{"b", 1.0}}, options);
  CHECK(fit.success());
  const auto& log = fit.summary.precision.issues;
  REQUIRE_FALSE(log.empty());
  for (std::size_t k = 0; k < log.size(); ++k) {
    CHECK(log[k].rows > 0);
    CHECK(log[k].nan + log[k].inf + log[k].near_limit > 0);
    for (std::size_t l = 0; l < k; ++l) {
      const bool same = log[k].iteration == log[l].iteration && log[k].operation == log[l].operation &&
                        log[k].format == log[l].format;
      CHECK_FALSE(same);
    }
  }
  CHECK(fit.summary.trace_report().find("issue: iteration 0, evaluate in f32: ") != std::string::npos);
}

TEST_CASE("each iteration says what the kernels ran in it, and all of them no more than the fit") {
  std::vector<double> x, y;
  for (int i = 0; i < 400000; ++i) {
    x.push_back(1e-5 * i);
    y.push_back(2 * std::exp(-0.5 * x.back()) + 1 + 0.01 * std::sin(37.0 * i));
  }
  for (const char* policy : {"auto", "f64", "f32"}) {
    CAPTURE(policy);
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    const FitResult fit = curve_fit("a*exp(-b*x)+c", x, y, {{"a", 1}, {"b", 1}, {"c", 0}}, options);
    REQUIRE(fit.success());
    KernelCounters sum;
    for (const IterationSummary& it : fit.summary.iterations) sum.add(it.counters);
    const KernelCounters& all = fit.summary.precision.counters;
    CHECK(sum.rows_f32 <= all.rows_f32);
    CHECK(sum.rows_f64 <= all.rows_f64);
    CHECK(sum.gram_flops_f32_wide <= all.gram_flops_f32_wide);
    CHECK(sum.rows_f64 + sum.rows_f32 > 0);
    CHECK((sum.rows_f32 > 0) == (std::string(policy) != "f64"));
    const std::string trace = fit.summary.trace_report();
    CHECK(trace.find("kernels counted: rows f64 " + std::to_string(all.rows_f64) + ", f32 " +
                     std::to_string(all.rows_f32)) != std::string::npos);
  }
}
