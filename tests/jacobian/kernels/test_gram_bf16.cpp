// Tests the Gram kernels in bf16 of every set, to the last bit. If the set has an instruction, the reference
// is the arithmetic of VDPBF16PS or TDPBF16PS, done one operation at a time in long double. Otherwise it is
// gram_f32 of columns that are rounded here. Both are compared with sums in long double.
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>
#include <kernel_harness.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

using nlsq::KernelCounters;
using nlsq::KernelTable;

namespace {

constexpr std::size_t flush_rows = 512;

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Rounds x to `digits` binary digits, with ties to even and an unbounded exponent.
long double rounded(long double x, int digits) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const long double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

long double flushed(long double x) { return std::fabs(x) < 0x1p-126L ? std::copysign(0.0L, x) : x; }

// Rounds to bf16, and a float below 2^-126 to zero.
float bf16(float x) {
  const long double y = rounded(flushed(x), 8);
  return std::fabs(y) > 0x1.fep127L ? std::copysign(std::numeric_limits<float>::infinity(), x)
                                    : static_cast<float>(y);
}

// Returns one multiply-add in f32, with one rounding. Tiny results become zero, large ones infinity.
float multiply_add(float a, float b, float c) {
  const long double sum = static_cast<long double>(a) * b + c;
  const long double y = flushed(rounded(sum, 24));
  if (std::fabs(y) > 0x1.fffffep127L)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(y));
  return static_cast<float>(y);
}

using Columns = std::vector<std::vector<float>>;

// Returns n1 columns, padded with NaN.
template <class Draw>
Columns drawn(int n1, std::size_t rows, Draw draw) {
  Columns c(static_cast<std::size_t>(n1),
            std::vector<float>(harness::padded(rows), std::numeric_limits<float>::quiet_NaN()));
  for (auto& column : c) std::generate_n(column.begin(), rows, draw);
  return c;
}

auto normal_numbers(unsigned seed) {
  return [random = std::mt19937(seed), normal = std::normal_distribution<double>()]() mutable {
    return static_cast<float>(normal(random));
  };
}

std::vector<double> run(const KernelTable& set, const Columns& c, std::size_t rows,
                        KernelCounters* counters = nullptr, double start = -0.0) {
  const auto n1 = c.size();
  std::vector<const float*> pointers;
  for (const auto& column : c) pointers.push_back(column.data());
  std::vector<double> sums(n1 * (n1 + 1) / 2 + 1, start);  // -0 + x is x, whatever its sign
  KernelCounters own;
  set.gram_bf16(pointers.data(), static_cast<int>(n1), rows, sums.data(), counters ? counters : &own);
  CHECK(std::bit_cast<std::uint64_t>(sums.back()) == std::bit_cast<std::uint64_t>(start));  // no further
  sums.pop_back();
  return sums;
}

// Returns products with the residuals, as eight sums in f64 that are added in halves.
double dot(const std::vector<float>& a, const std::vector<float>& r, std::size_t first, std::size_t end) {
  double sums[8] = {};
  for (std::size_t row = first; row < end; ++row)
    sums[(row - first) % 8] += static_cast<double>(a[row]) * static_cast<double>(r[row]);
  for (std::size_t half = 4; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

// Returns c with its first `rows` rows rounded and zeros beyond them.
Columns rounded_columns(const Columns& c, std::size_t rows) {
  Columns low = c;
  for (auto& column : low)
    for (std::size_t row = 0; row < column.size(); ++row) column[row] = row < rows ? bf16(column[row]) : 0.0f;
  return low;
}

// Returns the sum over rows [first, end) as VDPBF16PS forms it: one chain, the second row of a pair first.
float by_pairs(const std::vector<float>& a, const std::vector<float>& b, std::size_t first, std::size_t end) {
  float chain = 0;
  for (std::size_t row = first; row < end; row += 2) {
    chain = multiply_add(a[row + 1], b[row + 1], chain);
    chain = multiply_add(a[row], b[row], chain);
  }
  return chain;
}

// Returns the same sum as TDPBF16PS forms it. For every 32 rows there is one chain over the even rows and one
// over the odd rows.
float by_tiles(const std::vector<float>& a, const std::vector<float>& b, std::size_t first, std::size_t end) {
  float sum = 0;
  for (; first < end; first += 32) {
    float even = 0, odd = 0;
    for (std::size_t row = first; row < std::min(end, first + 32); row += 2) {
      even = multiply_add(a[row], b[row], even);
      odd = multiply_add(a[row + 1], b[row + 1], odd);
    }
    sum = multiply_add(1, multiply_add(1, odd, even), sum);
  }
  return sum;
}

std::vector<double> by_instruction(nlsq::Bf16Unit unit, const Columns& c, std::size_t rows) {
  const Columns low = rounded_columns(c, rows);
  std::vector<double> sums;
  for (std::size_t i = 0; i < c.size(); ++i)
    for (std::size_t j = i; j < c.size(); ++j) {
      double sum = -0.0;
      for (std::size_t first = 0; first < rows; first += flush_rows) {
        const std::size_t end = std::min(rows, first + flush_rows);
        if (j + 1 == c.size()) sum += dot(c[i], c[j], first, end);
        else if (unit == nlsq::Bf16Unit::tiles)
          sum += static_cast<double>(by_tiles(low[i], low[j], first, end));
        else sum += static_cast<double>(by_pairs(low[i], low[j], first, end));
      }
      sums.push_back(sum);
    }
  return sums;
}

// Returns gram_f32 of rounded columns, with the last column of gradient_f32_wide of unrounded ones.
std::vector<double> by_f32(const KernelTable& set, const Columns& c, std::size_t rows) {
  Columns low = rounded_columns(c, rows);
  low.back() = c.back();
  const std::size_t n1 = c.size();
  std::vector<double> sums(n1 * (n1 + 1) / 2, -0.0), last(n1, -0.0);
  KernelCounters counters;
  for (std::size_t first = 0; first < rows; first += flush_rows) {
    std::vector<const float*> rounded, exact;
    for (const auto& column : low) rounded.push_back(column.data() + first);
    for (const auto& column : c) exact.push_back(column.data() + first);
    const std::size_t some = std::min(rows - first, flush_rows);
    set.gram_f32(rounded.data(), static_cast<int>(n1), some, sums.data(), &counters);
    set.gradient_f32_wide(exact.data(), static_cast<int>(n1), some, last.data(), &counters);
  }
  for (std::size_t i = 0, k = n1 - 1; i < n1; ++i, k += n1 - i) sums[k] = last[i];
  return sums;
}

std::vector<double> oracle(const KernelTable& set, const Columns& c, std::size_t rows) {
  return set.multiplies_bf16() ? by_instruction(set.bf16_unit, c, rows) : by_f32(set, c, rows);
}

// Counts the numbers whose bits differ. Two NaN are the same.
std::size_t differences(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  std::size_t count = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const bool same = std::bit_cast<std::uint64_t>(a[k]) == std::bit_cast<std::uint64_t>(b[k]);
    count += !same && !(std::isnan(a[k]) && std::isnan(b[k])) ? 1 : 0;
  }
  return count;
}

// Compares all sets with the oracle on `calls` tiles of four rows. These are two pairs, so a sum is added to
// a sum.
template <class Draw>
void check_random(int calls, Draw draw) {
  constexpr int n1 = 33;
  std::size_t cases = 0;
  for (int call = 0; call < calls; ++call) {
    const Columns c = drawn(n1, 4, draw);
    for (const KernelTable* set : nlsq::available_kernels()) {
      CAPTURE(std::string(set->name));
      const auto want = oracle(*set, c, 4);
      cases += want.size();
      REQUIRE(differences(run(*set, c, 4), want) == 0);
    }
  }
  MESSAGE(cases << " sums");
}

}  // namespace

TEST_CASE(
    "Every set has the bits of its reference on random numbers of every exponent, NaN and infinities too") {
  std::mt19937 random(1);
  check_random(1500, [&] { return from_bits(static_cast<std::uint32_t>(random())); });
}

TEST_CASE("Every set has the bits of its reference where sums cancel") {
  std::mt19937 random(2);
  check_random(1500, [&] {
    const auto bits = static_cast<std::uint32_t>(random());
    return from_bits((bits & 0x807fffffu) | (120 + (bits >> 24) % 14) << 23);
  });
}

TEST_CASE("Every set has the bits of its reference where products and sums are tiny, and flushes what is") {
  std::mt19937 random(3);
  check_random(1500, [&] {
    const auto bits = static_cast<std::uint32_t>(random());
    return from_bits((bits & 0x807fffffu) | (54 + (bits >> 24) % 16) << 23);
  });
}

TEST_CASE("A sum that f32 would round up to 2^-126 is flushed only if it is tiny with f32's digits") {
  // c is 2^-126 after the first pair, then c - t for t around 2^-150 and 2^-151.
  std::size_t flushes = 0, kept = 0;
  for (int digits = 64; digits < 256; ++digits)
    for (int shift = -155; shift < -147; ++shift) {
      const float t = std::ldexp(static_cast<float>(digits), -7);  // from 0.5 to 2, with eight digits
      Columns c(3, std::vector<float>(64, 0.0f));
      c[0][0] = c[1][0] = 0x1p-63f;
      c[0][2] = -std::ldexp(t, shift / 2);
      c[1][2] = std::ldexp(1.0f, shift - shift / 2);
      const auto want = by_instruction(nlsq::Bf16Unit::pairs, c, 4);
      (want[1] == 0 ? flushes : kept) += 1;
      for (const KernelTable* set : nlsq::available_kernels()) {
        CAPTURE(std::string(set->name));
        REQUIRE(differences(run(*set, c, 4), oracle(*set, c, 4)) == 0);
      }
    }
  CHECK(flushes > 100);
  CHECK(kept > 100);
}

TEST_CASE("Every number of columns and every remainder of rows, to the last bit, whatever lies beyond") {
  for (int n1 : {1, 2, 3, 5, 8, 9, 10, 16, 17, 18, 25, 33, 34, 42, 50})
    for (std::size_t rows : {1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256, 257, 300, 511, 513, 800}) {
      const Columns c =
          drawn(n1, rows, normal_numbers(static_cast<unsigned>(n1) * 1000 + static_cast<unsigned>(rows)));
      for (const KernelTable* set : nlsq::available_kernels()) {
        CAPTURE(std::string(set->name));
        CAPTURE(n1);
        CAPTURE(rows);
        REQUIRE(differences(run(*set, c, rows), oracle(*set, c, rows)) == 0);
      }
    }
}

TEST_CASE("If all sums are exact, every set gives the products of a plain loop, for few columns or many") {
  // Rounded values are multiples of 1/16 below 16, so 200 products of 16 bits have a sum of less than 24
  // bits.
  std::mt19937 random(9);
  const auto draw = [&] {
    const float size = 8 + std::ldexp(static_cast<float>(random() >> 8), -22) * 1.9f;
    return random() % 2 ? size : -size;
  };
  constexpr std::size_t rows = 200;
  for (int n1 : {5, 33, 129, 170}) {
    const Columns c = drawn(n1, rows, draw), low = rounded_columns(c, rows);
    for (const KernelTable* set : nlsq::available_kernels()) {
      CAPTURE(std::string(set->name));
      CAPTURE(n1);
      const auto got = run(*set, c, rows);
      std::size_t k = 0, wrong = 0;
      for (std::size_t i = 0; i < c.size(); ++i)
        for (std::size_t j = i; j < c.size(); ++j, ++k) {
          double sum = 0;
          for (std::size_t row = 0; row < rows; ++row)
            sum += static_cast<double>(low[i][row]) * static_cast<double>(low[j][row]);
          wrong += j + 1 < c.size() && got[k] != sum ? 1 : 0;
        }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("J'J errs by the rounding of bf16, the sums by that of f32, J'r and r'r by that of f64") {
  constexpr int n1 = 12;
  constexpr std::size_t rows = 1000;
  const Columns c = drawn(n1, rows, normal_numbers(4));
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    const auto got = run(*set, c, rows);
    double rounding = 0, summing = 0, with_residuals = 0;
    std::size_t k = 0;
    for (std::size_t i = 0; i < n1; ++i)
      for (std::size_t j = i; j < n1; ++j, ++k) {
        long double exact = 0, low = 0, size = 0;
        for (std::size_t row = 0; row < rows; ++row) {
          exact += static_cast<long double>(c[i][row]) * c[j][row];
          low += static_cast<long double>(bf16(c[i][row])) * bf16(c[j][row]);
          size += std::fabs(static_cast<long double>(c[i][row]) * c[j][row]);
        }
        const auto error = static_cast<double>(std::fabs(got[k] - exact) / size);
        if (j + 1 == n1) with_residuals = std::max(with_residuals, error);
        else rounding = std::max(rounding, error);
        if (j + 1 < n1) summing = std::max(summing, static_cast<double>(std::fabs(got[k] - low) / size));
      }
    CHECK(rounding < 2.01 * 0x1p-8);
    CHECK(rounding > 0x1p-14);  // it does round
    CHECK(summing < std::sqrt(512.0) * 0x1p-24);
    CHECK(summing > 0x1p-34);  // it does sum in float
    CHECK(with_residuals < 16 * 0x1p-53);
  }
}

TEST_CASE("Rounding is to nearest, ties to even; residuals and the products with them are not rounded") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    const std::pair<float, float> cases[] = {
        {1 + 0x1p-8f, 1.0f},  // these are ties
        {1 + 0x3p-8f, 1 + 0x1p-6f}, {1 + 0x1p-8f + 0x1p-23f, 1 + 0x1p-7f}, {1 + 0x1p-8f - 0x1p-23f, 1.0f},
        {0x1.fffffep0f, 2.0f},      {-1 - 0x3p-8f, -1 - 0x1p-6f}};
    for (const auto& [x, nearest] : cases) {
      const Columns c{
          {x}, {1.0f}, {1 + 0x1p-23f}};  // the kernel reads one row alone: the rest is masked or padded
      Columns padded = c;
      for (auto& column : padded) column.resize(64, 7.0f);
      const auto sums = run(*set, padded, 1);
      CHECK(sums[1] == static_cast<double>(nearest));
      CHECK(sums[2] == static_cast<double>(x) * static_cast<double>(1 + 0x1p-23f));
      CHECK(sums[5] == static_cast<double>(1 + 0x1p-23f) * static_cast<double>(1 + 0x1p-23f));
    }
  }
}

TEST_CASE("Subnormal entries count as zero in J'J but not in J'r; what overflows shows as infinity") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    const auto sums_of = [&](float a, float b, float r) {
      const Columns c{std::vector<float>(64, a), std::vector<float>(64, b), std::vector<float>(64, r)};
      return run(*set, c, 2);
    };
    const float subnormal = 0x1p-130f;
    auto sums = sums_of(subnormal, 1e30f, 2.0f);
    CHECK(sums[1] == 0);
    CHECK(sums[2] == 4 * static_cast<double>(subnormal));
    sums = sums_of(1e-25f, 1e-25f, 1e-25f);  // products below f32's range
    CHECK(sums[0] == 0);
    CHECK(sums[2] == 2 * (static_cast<double>(1e-25f) * static_cast<double>(1e-25f)));
    const float inf = std::numeric_limits<float>::infinity();
    sums = sums_of(std::numeric_limits<float>::max(), 1.0f, 1.0f);  // rounds beyond bf16's largest
    CHECK(sums[1] == inf);
    CHECK(sums[2] == 2 * static_cast<double>(std::numeric_limits<float>::max()));
    sums = sums_of(1e25f, -1e25f, 1e25f);
    CHECK(sums[0] == inf);
    CHECK(sums[1] == -inf);
    CHECK(std::isfinite(sums[2]));
    sums = sums_of(std::numeric_limits<float>::quiet_NaN(), 1.0f, 1.0f);
    CHECK(std::isnan(sums[1]));
    CHECK(sums[3] == 2);
    sums = sums_of(inf, 0.0f, 1.0f);
    CHECK(std::isnan(sums[1]));
    CHECK(sums[2] == inf);
  }
}

TEST_CASE("The kernel counts what it multiplied in bf16 and what it did not, and adds to what is there") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    KernelCounters counters, total;
    const Columns c = drawn(21, 300, normal_numbers(6));
    const auto sums = run(*set, c, 300, &counters);
    CHECK(counters.gram_flops_bf16 == 20 * 21 * 300);
    CHECK(counters.gram_flops_f32_wide == 2 * 21 * 300);
    CHECK(counters.gram_flops_f32 + counters.gram_flops_f64 + counters.rows_f32 == 0);
    total.add(counters);
    total.add(counters);
    CHECK(total.gram_flops_bf16 == 2 * counters.gram_flops_bf16);
    const auto more = run(*set, c, 300, &counters, 0.5);
    for (std::size_t k = 0; k < sums.size(); ++k)
      CHECK(more[k] == doctest::Approx(sums[k] + 0.5).epsilon(1e-12));
    const auto none = run(*set, c, 0, &counters, 0.5);
    CHECK(std::all_of(none.begin(), none.end(), [](double v) { return v == 0.5; }));
  }
}

TEST_CASE("Tiles of 512 rows one by one are one call over all rows") {
  const Columns c = drawn(10, 2048, normal_numbers(12));
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    const auto whole = run(*set, c, 2048);
    std::vector<double> parts(55, -0.0);
    KernelCounters counters;
    for (std::size_t first = 0; first < 2048; first += flush_rows) {
      std::vector<const float*> pointers;
      for (const auto& column : c) pointers.push_back(column.data() + first);
      set->gram_bf16(pointers.data(), 10, flush_rows, parts.data(), &counters);
    }
    CHECK(differences(whole, parts) == 0);
  }
}
