// Tests the evaluator against sums in long double: every plan, its counters, its tiles and its probe.
#include "dense/dense_evaluator.hpp"

#include <nlsq/nlsq.hpp>
#include "kernels/kernel_table.hpp"
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tables.hpp"

#include "dense_rows.hpp"

using namespace nlsq;
using tables::Table;
using tables::TableRows;
using namespace dense_rows;

namespace {

// Returns the largest |computed - exact| / Σ|products| over the Gram matrix, the gradient and the cost.
double worst_error(const Linearization& at, const Table& exact) {
  double worst = 0;
  const auto compare = [&](double value, std::size_t i, std::size_t j) {
    worst = std::max(worst, static_cast<double>(std::fabs(value - exact.product(i, j))) / exact.size(i, j));
  };
  for (std::size_t i = 0; i < exact.n; ++i) {
    for (std::size_t j = 0; j < exact.n; ++j) compare(at.normal(i, j), i, j);
    compare(at.gradient[i], i, exact.n);
  }
  compare(2 * at.cost, exact.n, exact.n);
  return worst;
}

double decay(double x) { return 3 * std::exp(-2 * x) + 0.5 + 0.01 * std::sin(1e4 * x); }

}  // namespace

TEST_CASE("sums of every plan are those of its own numbers, whatever the number of rows") {
  for (const std::size_t m : {5u, 63u, 64u, 65u, 256u, 1000u, 20000u, 70000u}) {
    for (const std::size_t n : {1u, 3u, 4u, 8u}) {
      if (m < n || m * n > 300000) continue;
      CAPTURE(m);
      CAPTURE(n);
      const Table high = Table::random(m, n, static_cast<unsigned>(m + n)), low = high.rounded();
      CHECK(worst_error(linearize(high, high, f64), high) < 1e-14);
      CHECK(worst_error(linearize(high, high, qr), high) < 1e-12);
      CHECK(worst_error(linearize(high, low, wide), low) < 1e-14);
      CHECK(worst_error(linearize(high, low, tile), low) < 2e-6);
    }
  }
}

TEST_CASE("a plan is carried out in its format: each leaves its own rounding errors") {
  const Table high = Table::random(5000, 4, 3), low = high.rounded();
  // f32 rows contain other numbers than f64 rows.
  CHECK(worst_error(linearize(high, low, wide), high) > 1e-11);
  CHECK(worst_error(linearize(high, low, f64), low) > 1e-11);
  // Sums of f32 tiles are less exact than sums in f64.
  CHECK(worst_error(linearize(high, low, tile), low) > 1e-9);
  // The cost alone has the requested format.
  TableRows rows(high, low, 256);
  DenseEvaluator evaluator(rows);
  const double in_f64 = evaluator.cost({}, Format::f64), in_f32 = evaluator.cost({}, Format::f32);
  CHECK(in_f64 == doctest::Approx(static_cast<double>(high.product(4, 4) / 2)).epsilon(1e-14));
  CHECK(in_f32 == doctest::Approx(static_cast<double>(low.product(4, 4) / 2)).epsilon(1e-14));
  CHECK(in_f32 != in_f64);
}

TEST_CASE(
    "J rounded to 16 bits spoils the Gram matrix by so many digits, the gradient and the cost by none") {
  const Table high = Table::random(5000, 6, 9), low = high.rounded();
  for (const Gram gram : {Gram::bf16, Gram::f16, Gram::f32_tile, Gram::f32_wide}) {
    for (const Format rows : {Format::f32, Format::f64}) {
      CAPTURE(name(gram));
      CAPTURE(name(rows));
      const Table& truth = rows == Format::f64 ? high : low;
      const Linearization at = linearize(high, low, {rows, gram});
      double worst = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j < 6; ++j) {
          const double error = at.normal(i, j) - static_cast<double>(truth.product(i, j));
          worst = std::max(worst, std::fabs(error) / truth.size(i, j));
        }
        const double bound = rows == Format::f32 && gram == Gram::f32_tile ? 2e-6 : 1e-14;
        CHECK(std::fabs(at.gradient[i] - static_cast<double>(truth.product(i, 6))) <=
              bound * truth.size(i, 6));
      }
      CHECK(std::fabs(at.cost - static_cast<double>(truth.product(6, 6)) / 2) <= 2e-6 * truth.size(6, 6));
      if (gram == Gram::bf16) CHECK((worst > 1e-6 && worst < 4e-3));
      if (gram == Gram::f16) CHECK((worst > 1e-7 && worst < 5e-4));
      if (gram == Gram::f32_tile) CHECK((worst > 1e-9 && worst < 2e-6));
      if (gram == Gram::f32_wide) CHECK((worst > (rows == Format::f64 ? 1e-11 : 0) && worst < 1e-7));
    }
  }
}

TEST_CASE("products below f64 of f64 rows are counted as what they are") {
  FormulaRows data("a*exp(-b*x)+c", 3000, decay);
  DenseEvaluator evaluator(*data.rows);
  const Vector x{3, 2, 0.5};
  const std::uint64_t m = 3000;
  const auto counted = [&](const PrecisionPlan& plan) {
    DenseEvaluator fresh(*data.rows);
    fresh.linearize(x, plan);
    return fresh.counters();
  };
  KernelCounters k = counted({Format::f64, Gram::bf16});
  CHECK(k.rows_f64 == m);
  CHECK(k.rows_f32 == 0);
  CHECK(k.gram_flops_bf16 == 12 * m);
  CHECK(k.gram_flops_f64 == 8 * m);  // Jᵀr and rᵀr
  k = counted({Format::f32, Gram::bf16});
  CHECK(k.rows_f32 == m);
  CHECK(k.rows_f64 == 0);
  CHECK(k.gram_flops_bf16 == 12 * m);
  CHECK(k.gram_flops_f64 == 0);
  k = counted({Format::f32, Gram::f16});
  CHECK(k.gram_flops_f16 == 20 * m);
  CHECK(k.gram_flops_f32 == 0);
  k = counted({Format::f64, Gram::f32_tile});
  CHECK(k.gram_flops_f32 == 20 * m);
  CHECK(k.gram_flops_f64 == 8 * m);
}

TEST_CASE("f32 tiles are flushed to f64, so that errors do not grow with the number of rows") {
  Table t = Table::random(400000, 1, 5);
  for (auto& column : t.columns) {
    for (double& v : column)
      v = std::fabs(v);  // all of one sign: what an f32 sum of everything would drown in
  }
  const Table low = t.rounded();
  CHECK(worst_error(linearize(t, low, tile), low) < 1e-6);
}

TEST_CASE("the triangle of a QR pass is that of the rows") {
  const Table t = Table::random(3000, 5, 8);
  const Linearization at = linearize(t, t, qr);
  REQUIRE(at.triangle.rows() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k < 6; ++k)
        sum += static_cast<long double>(at.triangle(k, i)) * at.triangle(k, j);
      CHECK(std::fabs(static_cast<double>(sum - t.product(i, j))) <= 1e-12 * t.size(i, j));
      if (j < i) CHECK(at.triangle(i, j) == 0);
    }
  }
}

TEST_CASE("QR finds the small singular value that normal equations cannot see") {
  Table t = Table::random(500, 2, 4);
  for (std::size_t i = 0; i < t.m; ++i) t.columns[1][i] = t.columns[0][i] + 1e-9 * t.columns[1][i];
  const Linearization at = linearize(t, t, qr);
  // det R = ‖a‖ · (distance of b from a), about 1e-9 · m. JᵀJ contains nothing of it.
  const double distance = std::fabs(at.triangle(1, 1)) / std::sqrt(500.0);
  CHECK(distance == doctest::Approx(1e-9).epsilon(0.2));
}

TEST_CASE("the same question gives the same bits") {
  const Table high = Table::random(40000, 3, 2), low = high.rounded();
  TableRows rows(high, low, 512);
  for (const PrecisionPlan& plan : {tile, wide, f64, qr}) {
    DenseEvaluator first(rows), second(rows);
    const Linearization a = first.linearize(Vector(3, 1.0), plan), b = second.linearize(Vector(3, 1.0), plan);
    CHECK(a.normal == b.normal);
    CHECK(a.gradient == b.gradient);
    CHECK(a.cost == b.cost);
    CHECK(a.triangle == b.triangle);
  }
}

TEST_CASE("counters say which rows were evaluated and which products were summed, exactly") {
  FormulaRows data("a*exp(-b*x)+c", 10007, decay);
  DenseEvaluator evaluator(*data.rows);
  const Vector x{3, 2, 0.5};
  const std::uint64_t m = 10007,
                      gram = 4 * 5 * m;  // n1 (n1 + 1) / 2 products and as many sums, of two flops each
  KernelCounters k;
  const auto check = [&](std::uint64_t f64_rows, std::uint64_t f32_rows, std::uint64_t gram_f64,
                         std::uint64_t gram_f32, std::uint64_t gram_wide) {
    const KernelCounters& now = evaluator.counters();
    CHECK(now.rows_f64 - k.rows_f64 == f64_rows);
    CHECK(now.rows_f32 - k.rows_f32 == f32_rows);
    CHECK(now.gram_flops_f64 - k.gram_flops_f64 == gram_f64);
    CHECK(now.gram_flops_f32 - k.gram_flops_f32 == gram_f32);
    CHECK(now.gram_flops_f32_wide - k.gram_flops_f32_wide == gram_wide);
    k = now;
  };
  evaluator.linearize(x, f64);
  check(m, 0, gram, 0, 0);
  evaluator.linearize(x, wide);
  check(0, m, 0, 0, gram);
  evaluator.linearize(x, tile);
  check(0, m, 0, gram, 0);
  evaluator.cost(x, Format::f64);
  check(m, 0, 2 * m, 0, 0);
  evaluator.cost(x, Format::f32);
  check(0, m, 0, 0, 2 * m);
  const Probe probe = evaluator.probe(x, wide);
  check(probe.rows, probe.rows, 2 * 4 * probe.rows, 0, 2 * 4 * probe.rows);  // g and r'r in both formats
  CHECK(probe.rows >= 2048);
  CHECK(probe.rows <= 4096);
  const std::uint64_t qr_before = k.qr_flops_f64;
  evaluator.linearize(x, qr);
  check(m, 0, 0, 0, 0);
  CHECK(k.qr_flops_f64 - qr_before >= 2 * 4 * 4 * m);
  CHECK(k.qr_flops_f64 - qr_before <= 2 * 4 * 4 * (m + 4 * (m / 4096 + 1)));
}

TEST_CASE("counted work is rows times operations and products, each at the price of its format") {
  FormulaRows data("a*exp(-b*x)+c", 5000, decay);
  DenseEvaluator evaluator(*data.rows);
  const Vector x{3, 2, 0.5};
  evaluator.linearize(x, f64);
  const double full = evaluator.counted_work();
  CHECK(full == 5000 * (evaluator.row_cost() + 10));  // there are ten products of [J | r] a row
  CHECK(full == evaluator.pass_work(f64));
  evaluator.linearize(x, wide);
  const double price = kernels().lanes_f64 == 8 ? 1.15 : 1.25;  // price of a product, by instruction set
  CHECK(evaluator.counted_work() == doctest::Approx(full + 5000 * (0.5 * evaluator.row_cost() + price * 10)));
  // f64 rows are narrowed and rounded, for each entry of J.
  CHECK(evaluator.pass_work({Format::f64, Gram::bf16}) >= 5000 * (evaluator.row_cost() + 3 * 15.5));
  evaluator.cost(x, Format::f64);
  CHECK(evaluator.counted_work() < 2.7 * full);
}

TEST_CASE(
    "the probe of few rows is exact, that of many a fair estimate of what f32 does to cost and gradient") {
  for (const std::size_t m : {50u, 1000u, 60000u}) {
    CAPTURE(m);
    const Table high = Table::random(m, 2, static_cast<unsigned>(m));
    Table low = high.rounded();
    for (double& r : low.columns[2]) r += 0.01;  // a coherent error, such as a rounded parameter makes
    TableRows rows(high, low, 256);
    const Probe probe = DenseEvaluator(rows).probe(Vector(2, 1.0), wide);
    CHECK(probe.finite);
    const double error = std::fabs(static_cast<double>((low.product(2, 2) - high.product(2, 2)) / 2));
    CHECK(probe.cost_noise >= error * (m > 4096 ? 0.5 : 0.999));
    if (m <= 4096) {
      CHECK(probe.rows == m);
      CHECK(probe.cost_noise == doctest::Approx(error).epsilon(1e-4));
      for (std::size_t j = 0; j < 2; ++j) {
        const double bias = static_cast<double>(low.product(j, 2) - high.product(j, 2));
        CHECK(probe.gradient_bias[j] == doctest::Approx(bias).epsilon(1e-4));
      }
      for (std::size_t g = 0; g < probe.gradient_scatter.rows() * 2; ++g)
        CHECK(probe.gradient_scatter.data()[g] == 0);
    }
  }
}

TEST_CASE("a re-check sees a program that disagrees with the callable, and nothing where it agrees") {
  FormulaRows data("a*exp(-b*x)+c", 9000, decay);
  const Vector x{3, 2, 0.5};
  DenseEvaluator evaluator(*data.rows);
  const Recheck sample = evaluator.recheck(x, 4096), all = evaluator.recheck(x, 9000);
  CHECK(sample.rows == 4096);
  CHECK(all.rows == 9000);
  CHECK(all.largest < 1e-15);
  CHECK(sample.magnitude == doctest::Approx(all.magnitude).epsilon(0.02));

  class Lying final : public ResidualSource {  // the program computes 3x, and the callable 3x + 1e-6
   public:
    NodeId build(Graph& graph) const override {
      return graph.sub(graph.mul(graph.parameter(0), graph.column(0)), graph.column(1));
    }
    double reference(std::span<const double> row, std::span<const double> p,
                     double& magnitude) const override {
      magnitude = std::fabs(p[0] * row[0]) + std::fabs(row[1]);
      return p[0] * row[0] + 1e-6 - row[1];
    }
  };
  GraphRows rows(std::make_shared<Lying>(), std::make_shared<MemoryRows>(std::vector<Column>{data.x, data.y}),
                 {1.0}, {0});
  const Recheck found = DenseEvaluator(rows).recheck(Vector{3}, 4096);
  CHECK(found.largest > 1e-8);
  CHECK(found.discrepancy == doctest::Approx(1e-6 * std::sqrt(9000.0)).epsilon(0.01));
}

TEST_CASE("a re-check sees a callable that changes from call to call; formulas have no state") {
  class Changing final : public ResidualSource {  // agrees with its program only in every second call
   public:
    NodeId build(Graph& graph) const override {
      return graph.sub(graph.mul(graph.parameter(0), graph.column(0)), graph.column(1));
    }
    double reference(std::span<const double> row, std::span<const double> p,
                     double& magnitude) const override {
      magnitude = 1;
      return p[0] * row[0] - row[1] + 1e-6 * (calls_++ % 2);
    }

   private:
    mutable int calls_ = 0;
  };
  FormulaRows data("a*exp(-b*x)+c", 100, decay);
  GraphRows rows(std::make_shared<Changing>(),
                 std::make_shared<MemoryRows>(std::vector<Column>{data.x, data.y}), {1.0}, {0});
  CHECK(rows.may_have_state());
  CHECK_FALSE(DenseEvaluator(rows).recheck(Vector{3}, 4096).repeats);
  CHECK_FALSE(data.rows->may_have_state());
  const auto callable = [](auto x, const auto& p) { return p[0] * x; };
  CHECK(RecordedResidual(make_model_function(callable), 1, false).may_have_state());
}

TEST_CASE("samples reach every tile, however uneven the tiles") {
  // There are 100 tiles of 64 rows where a tile may hold 1024. The callable differs only in the last ten
  // tiles.
  class Uneven final : public TableRows {
   public:
    using TableRows::TableRows;
    std::size_t tile_count() const override { return 100; }
    TileRange tile(std::size_t index) const override { return {index * 64, 64}; }
    void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* r,
                             double* size) const override {
      TableRows::reference_residuals(x, first, count, r, size);
      for (std::size_t i = 0; i < count; ++i) {
        r[i] += first >= 90 * 64 ? 1.0 : 0.0;
        size[i] = 1;
      }
    }
  };
  const Table high = Table::random(6400, 2, 31);
  Table low = high.rounded();
  for (std::size_t i = 90 * 64; i < 6400; ++i) low.columns[2][i] += 1;
  Uneven rows(high, low, 1024);
  DenseEvaluator evaluator(rows);
  const Recheck found = evaluator.recheck(Vector(2, 1.0), 4096);
  CHECK(found.rows == 4096);
  CHECK(found.largest > 0.1);
  CHECK(found.discrepancy == doctest::Approx(std::sqrt(640.0)).epsilon(0.1));
  CHECK(evaluator.probe(Vector(2, 1.0), wide).cost_noise > 0.5 * 640 * 0.5);
}

TEST_CASE("a pass at two points gives the bits of a pass at each") {
  FormulaRows data("a*exp(-b*x) + c", 100'000,
                   [](double x) { return 2 * std::exp(-3 * x) + 1 + 0.01 * std::sin(900 * x); });
  const Vector here{1.9, 2.8, 1.1}, there{1, 1, 0};
  const std::pair<PrecisionPlan, Format> formats[] = {
      {wide, Format::f32}, {wide, Format::f64}, {f64, Format::f64}};
  for (const auto& [plan, format] : formats) {
    for (const int threads : {1, 2}) {
      DenseEvaluator evaluator(*data.rows, {.threads = threads, .executor = {}});
      Linearization both;
      const double beside = evaluator.linearize_beside(here, plan, there, format, both);
      const Linearization alone = evaluator.linearize(here, plan);
      CHECK(beside == evaluator.cost(there, format));
      CHECK(both.cost == alone.cost);
      CHECK(both.gradient == alone.gradient);
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) CHECK(both.normal(i, j) == alone.normal(i, j));
      }
    }
  }
}

TEST_CASE("if rows are not finite at x, the cost at the other point is still that of all rows") {
  FormulaRows data("a*log(x + b)", 100'000, [](double x) { return std::log(x + 1); });
  const Vector here{1, -0.5}, there{0.9, 1.1};
  DenseEvaluator evaluator(*data.rows);
  Linearization both;
  const double beside = evaluator.linearize_beside(here, f64, there, Format::f64, both);
  CHECK_FALSE(both.finite);
  CHECK(beside == evaluator.cost(there, Format::f64));
}
