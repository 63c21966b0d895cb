// Tests what a fit of many rows reads from a row source: samples with a hint, and few passes over all rows.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace nlsq;

namespace {

// This is a source whose rows are computed and counted when they are read.
class CountedRows final : public RowSource {
 public:
  explicit CountedRows(std::size_t rows, double noise = 0.1) : rows_(rows), noise_(noise) {}
  std::size_t rows() const override { return rows_; }
  int columns() const override { return 2; }
  using RowSource::read;
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    if (column == 1) (gaps > 0 ? with_gaps : in_order) += count;
    if (column == 1 && gaps == 0) note_pass(first, count);
    if (column == 1 && gaps > 0 && !told_[first]) unforeseen += count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i;
      const double x = 4 * static_cast<double>(row) / static_cast<double>(rows_);
      out[i] = column == 0 ? x : 2 * std::exp(-0.7 * x) + noise_ * random(row);
    }
  }
  void expect_gaps(bool expected) const override {
    gaps += expected ? 1 : -1;
    if (expected) ++hints;
    CHECK(gaps >= 0);
  }
  void will_read(std::size_t first, std::size_t count, int column) const override {
    for (std::size_t row = first; column == 1 && row < first + count; ++row) told_[row] = true;
  }
  void was_read(std::size_t, std::size_t count, int column) const override {
    if (column == 1 && gaps == 0) released += count;
  }
  mutable std::atomic<std::size_t> with_gaps = 0, in_order = 0, unforeseen = 0, released = 0;
  mutable int gaps = 0, hints = 0;
  // Returns how often one thread went through all rows, which is how often it came to the marked row that it
  // saw least. It may turn back at the first and the last of them.
  int passes() const { return *std::min_element(visits_.begin() + 1, visits_.end() - 1); }
  // Returns how often it went on to a marked row before the one that it had come from.
  int steps_back() const { return steps_back_; }

 private:
  std::size_t rows_;
  double noise_;
  // Returns a number between -0.5 and 0.5.
  static double random(std::size_t row) {
    auto bits = static_cast<std::uint32_t>(row);
    for (const std::uint32_t factor : {0x2c1b3c6dU, 0x297a2d39U}) bits = (bits ^ bits >> 15) * factor;
    return (bits >> 16) / 65536.0 - 0.5;
  }

  static constexpr std::size_t kMarks = 64;
  void note_pass(std::size_t first, std::size_t count) const {
    const std::size_t mark = (first * kMarks + rows_ - 1) / rows_;
    if (mark >= kMarks || mark * rows_ / kMarks >= first + count || mark == last_) return;
    if (last_ < kMarks && mark < last_) ++steps_back_;
    last_ = mark;
    ++visits_[mark];
  }

  mutable std::vector<bool> told_ = std::vector<bool>(rows_);
  mutable std::size_t last_ = kMarks;
  mutable std::array<int, kMarks> visits_{};
  mutable int steps_back_ = 0;
};

}  // namespace

TEST_CASE("samples of very many rows are read with gaps, and all rows a few times") {
  const CountedRows rows(std::size_t{17} << 22);
  const Column x(rows, 0), y(rows, 1);
  const FitResult fit = curve_fit("a*exp(-b*x)", x, y, {{"a", 1}, {"b", 0.1}});
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(2).epsilon(1e-3));
  CHECK(rows.hints > 0);
  CHECK(rows.gaps == 0);
  CHECK(rows.with_gaps > 0);
  CHECK(rows.with_gaps < rows.rows() / 8);
  CHECK(rows.unforeseen < rows.with_gaps / 20);  // these are probes of few rows
  // There are two passes over all rows: one in f32, with the cost at the start and the survey of the data,
  // and one in f64.
  const std::size_t read = rows.in_order;
  CHECK(read < 5 * rows.rows());
}

// With little noise the rounding errors of f32 residuals are too large for a pass of their own.
TEST_CASE("a built-in model is fitted to very many rows by two passes over all of them") {
  for (const double noise : {0.1, 0.001}) {
    CAPTURE(noise);
    const CountedRows rows(std::size_t{17} << 22, noise);
    FitOptions options;
    options.threads = 1;
    const FitResult fit = curve_fit(model("exp"), Column(rows, 0), Column(rows, 1), {}, options);
    CHECK(fit.success());
    CHECK(rows.passes() == 2);
    CHECK(std::size_t{rows.released} == 2 * rows.rows());
    CHECK(rows.steps_back() >= 60);  // the second pass begins where the first one ended
  }
}

TEST_CASE("fits of fewer rows read them without hints") {
  const CountedRows rows(200'000);
  CHECK(curve_fit("a*exp(-b*x)", Column(rows, 0), Column(rows, 1), {{"a", 1}, {"b", 0.1}}).success());
  CHECK(rows.hints == 0);
}
