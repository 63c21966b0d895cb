// Tests rounding to formats of 16 bits: every number of them and every boundary between two, against the
// definition of the formats, and against Eigen's own types.
#include "convert.hpp"

#include <doctest/doctest.h>
#include <Eigen/Core>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Fields of a format of 16 bits.
struct Fields {
  Format format;
  int fraction_bits, bias;
};
constexpr Fields half_formats[] = {{Format::bf16, 7, 127}, {Format::f16, 10, 15}};

unsigned fraction_of(const Fields& f, unsigned bits) { return bits & ((1u << f.fraction_bits) - 1); }
bool special(const Fields& f, unsigned bits) {
  return (bits & 0x7fff) >> f.fraction_bits == (0x7fffu >> f.fraction_bits);
}

// Decodes by the definition: (-1)^s 2^(e - bias) 1.f, or 2^(1 - bias) 0.f, infinity and NaN.
double decoded(const Fields& f, unsigned bits) {
  const int exponent = static_cast<int>((bits & 0x7fff) >> f.fraction_bits);
  const double fraction = std::ldexp(static_cast<double>(fraction_of(f, bits)), -f.fraction_bits);
  double size =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, exponent - f.bias);
  if (special(f, bits)) size = fraction_of(f, bits) == 0 ? inf : not_a_number;
  return bits & 0x8000 ? -size : size;
}

// Returns the bits of a value whose size lies between that of `low` and that of the next pattern. The nearer
// one is taken, and the even one in the middle.
unsigned nearest(const Fields& f, unsigned low, long double size) {
  const long double below = decoded(f, low);
  const long double above = special(f, low + 1) ? below + (below - decoded(f, low - 1)) : decoded(f, low + 1);
  if (size - below != above - size) return size - below < above - size ? low : low + 1;
  return low % 2 == 0 ? low : low + 1;
}

// Lists each finite pattern and values between it and the next: just above it, just below the middle, the
// middle, just above that, and just below the next. T is the type in which the values are stored. Also lists
// the expected values.
template <class T>
void boundaries(const Fields& f, std::vector<double>& values, std::vector<double>& expected) {
  for (unsigned low = 0; !special(f, low); ++low) {
    const double below = decoded(f, low);
    const double above = special(f, low + 1) ? 2 * below - decoded(f, low - 1) : decoded(f, low + 1);
    const auto a = static_cast<T>(below), b = static_cast<T>(above),
               middle = static_cast<T>(below / 2 + above / 2);
    for (const T v : {a, std::nextafter(a, b), std::nextafter(middle, a), middle, std::nextafter(middle, b),
                      std::nextafter(b, a)}) {
      const double rounded = decoded(f, nearest(f, low, v));
      values.insert(values.end(), {static_cast<double>(v), -static_cast<double>(v)});
      expected.insert(expected.end(), {rounded, -rounded});
    }
  }
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::vector<double> rounded_to(Format to, std::vector<double> values) {
  round_to(to, values);
  return values;
}

template <class T>
std::vector<T> scaled_to(Format to, std::vector<T> values) {
  round_scaled_to(to, std::span<T>(values));
  return values;
}

std::vector<double> normal_numbers(std::size_t count, unsigned seed, double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& v : values) v = scale * normal(random);
  return values;
}

}  // namespace

TEST_CASE("Every number of bf16 and f16 stays as it was") {
  for (const Fields& f : half_formats) {
    CAPTURE(std::string(name(f.format)));
    std::vector<double> values(65536);
    for (unsigned k = 0; k < 65536; ++k) values[k] = decoded(f, k);
    const std::vector<double> rounded = rounded_to(f.format, values);
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < values.size(); ++k)
      wrong += std::isnan(values[k]) ? !std::isnan(rounded[k]) : !same_bits(values[k], rounded[k]);
    CHECK(wrong == 0);
  }
}

TEST_CASE("Between any two neighbours a number goes to the nearer, from the middle to the even one") {
  for (const Fields& f : half_formats) {
    CAPTURE(std::string(name(f.format)));
    std::vector<double> values, expected;
    boundaries<double>(f, values, expected);
    boundaries<float>(f, values, expected);
    CHECK(values.size() > 600000);
    const std::vector<double> rounded = rounded_to(f.format, values);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += !same_bits(rounded[i], expected[i]);
    CHECK(wrong == 0);
  }
}

TEST_CASE(
    "Doubles are rounded once, because rounding to float first would lose on which side of the middle they "
    "are") {
  const std::vector<double> values{1 + 0x1p-8 + 0x1p-40, 1 + 0x3p-8 - 0x1p-40, -1 - 0x1p-8 - 0x1p-52};
  const std::vector<double> once = rounded_to(Format::bf16, values);
  CHECK(once == std::vector<double>{1 + 0x1p-7, 1 + 0x1p-7, -1 - 0x1p-7});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto twice = static_cast<double>(static_cast<float>(values[i]));
    CHECK(rounded_to(Format::bf16, {twice})[0] != once[i]);
  }
  CHECK(rounded_to(Format::f16, {1 + 0x1p-11 + 0x1p-40})[0] == 1 + 0x1p-10);
}

TEST_CASE("Floats of any bits round as Eigen's types round them") {
  std::mt19937_64 random(3);
  std::vector<double> values(200000);
  for (double& v : values)
    v = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  const std::vector<double> b = rounded_to(Format::bf16, values), h = rounded_to(Format::f16, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const auto v = static_cast<float>(values[i]);
    REQUIRE(same_bits(b[i], static_cast<double>(static_cast<float>(Eigen::bfloat16(v)))));
    REQUIRE(same_bits(h[i], static_cast<double>(static_cast<float>(Eigen::half(v)))));
  }
}

TEST_CASE("Values beyond the range become infinite, those below vanish, infinities and NaN stay") {
  const std::vector<double> values{65504,     65519.999, 65520, -1e300, inf,    -inf,        0x1p-24,
                                   0x1.8p-24, 1e-30,     0.0,   -0.0,   5e-324, not_a_number};
  const std::vector<double> expected{65504,   65504,   inf, -inf, inf,  -inf,
                                     0x1p-24, 0x1p-23, 0.0, 0.0,  -0.0, 0.0};
  const std::vector<double> rounded = rounded_to(Format::f16, values);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same_bits(rounded[i], expected[i]));
  CHECK(std::isnan(rounded.back()));
}

TEST_CASE("Scaling by a power of two rescues numbers that the format cannot hold") {
  for (const double size : {1e-25, 1e25, 1e-306, 1e300}) {
    CAPTURE(size);
    auto values = normal_numbers(2003, 5, size);  // this is not a multiple of the lanes
    for (double& v : values) v = std::copysign(std::max(std::fabs(v), size * 1e-3), v);
    for (const double v : rounded_to(Format::f16, values)) REQUIRE((v == 0 || std::isinf(v)));
    const std::vector<double> scaled = scaled_to(Format::f16, values);
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      largest = std::max(largest, std::fabs(scaled[i] - values[i]) / std::fabs(values[i]));
    CHECK(largest <= 0x1p-11);
    CHECK(largest > 0x1p-12);
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
    if (size > 1e-30 && size < 1e30) {  // floats are rounded like doubles
      const std::vector<float> floats =
          scaled_to(Format::f16, std::vector<float>(values.begin(), values.end()));
      const std::vector<double> doubles = scaled_to(Format::f16, values);
      CHECK(std::equal(floats.begin(), floats.end(), doubles.begin(),
                       [](float a, double b) { return a == static_cast<float>(b); }));
    }
  }
}

TEST_CASE("The scale brings the root mean square into [1, 2), and minds neither zeros, infinities nor NaN") {
  for (const double size : {3.0, 1e-9, 1e200}) {
    auto values = normal_numbers(777, 6, size);
    long double squares = 0;
    for (const double v : values) squares += static_cast<long double>(v) * v;
    const double scale = std::exp2(-std::floor(std::log2(static_cast<double>(std::sqrt(squares / 777)))));
    std::vector<double> by_hand = values;
    for (double& v : by_hand) v *= scale;
    by_hand = rounded_to(Format::f16, by_hand);
    for (double& v : by_hand) v /= scale;
    CHECK(scaled_to(Format::f16, values) == by_hand);
    values.insert(values.end(), {inf, not_a_number, -inf});
    std::vector<double> rounded = scaled_to(Format::f16, values);
    CHECK(std::isnan(rounded[778]));
    rounded.resize(777);
    CHECK(rounded == by_hand);
  }
  // These are squares of values above 65504 / 2 with a root mean square near 1. The largest decides.
  std::vector<double> uneven(1 << 20, 0.0);
  uneven[5] = 1e-3;
  uneven[7] = 1024;
  CHECK(scaled_to(Format::f16, uneven)[7] == 1024);
  std::vector<double> nothing{0, -0.0, not_a_number};
  CHECK(same_bits(scaled_to(Format::f16, nothing)[1], -0.0));
  CHECK(scaled_to(Format::f16, std::vector<double>{}).empty());
  // Scaled and direct sums agree if nothing leaves the range.
  const auto values = normal_numbers(500, 7, 100);
  CHECK(scaled_to(Format::bf16, values) == rounded_to(Format::bf16, values));
}
