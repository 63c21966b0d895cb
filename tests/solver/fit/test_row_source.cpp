// What a fit of many rows reads from a row source: samples with a hint, and few passes over all rows.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>

#include <atomic>
#include <cstddef>

using namespace nlsq;

namespace {

// Rows that are computed when they are read, and counted.
class CountedRows final : public RowSource {
 public:
  explicit CountedRows(std::size_t rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_; }
  int columns() const override { return 2; }
  using RowSource::read;
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    if (column == 1) (gaps > 0 ? with_gaps : in_order) += count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i;
      const double x = 4 * static_cast<double>(row) / static_cast<double>(rows_);
      const auto noise = static_cast<double>(row * 2654435761U % 1024) / 1024 - 0.5;
      out[i] = column == 0 ? x : 2 / (1 + 0.7 * x) + 0.1 * noise;
    }
  }
  void expect_gaps(bool expected) const override {
    gaps += expected ? 1 : -1;
    if (expected) ++hints;
    CHECK(gaps >= 0);
  }
  mutable std::atomic<std::size_t> with_gaps = 0, in_order = 0;
  mutable int gaps = 0, hints = 0;

 private:
  std::size_t rows_;
};

}  // namespace

TEST_CASE("samples of very many rows are read with gaps, and all rows a few times") {
  const CountedRows rows(std::size_t{17} << 22);
  const Column x(rows, 0), y(rows, 1);
  const FitResult fit = curve_fit("a/(1+b*x)", x, y, {{"a", 1}, {"b", 0.1}});
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(2).epsilon(1e-3));
  CHECK(rows.hints > 0);
  CHECK(rows.gaps == 0);
  CHECK(rows.with_gaps > 0);
  CHECK(rows.with_gaps < rows.rows() / 8);
  // Three passes over all rows and what goes with them: f32 at two points, f64, the cost at the end, and the
  // survey of the data.
  const std::size_t read = rows.in_order;
  CHECK(read < 7 * rows.rows());
}

TEST_CASE("fits of fewer rows read them without hints") {
  const CountedRows rows(200'000);
  CHECK(curve_fit("a/(1+b*x)", Column(rows, 0), Column(rows, 1), {{"a", 1}, {"b", 0.1}}).success());
  CHECK(rows.hints == 0);
}
