// Conversion between formats: every number of 16 bits and every boundary between two of them, against
// the definition of the formats, and against Eigen's own types.
#include <nlsq/error.hpp>
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

// By the definition: (-1)^s 2^(e - bias) 1.f, or 2^(1 - bias) 0.f, infinity and NaN.
double decoded(const Fields& f, unsigned bits) {
  const int exponent = static_cast<int>((bits & 0x7fff) >> f.fraction_bits);
  const double fraction = std::ldexp(static_cast<double>(fraction_of(f, bits)), -f.fraction_bits);
  double size =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, exponent - f.bias);
  if (special(f, bits)) size = fraction_of(f, bits) == 0 ? inf : not_a_number;
  return bits & 0x8000 ? -size : size;
}

std::vector<std::uint16_t> all_patterns() {
  std::vector<std::uint16_t> patterns(65536);
  for (unsigned k = 0; k < 65536; ++k) patterns[k] = static_cast<std::uint16_t>(k);
  return patterns;
}

// The bits a value has when its size lies between those of `low` and the pattern after it: by distance
// alone, the even one in the middle.
unsigned nearest(const Fields& f, unsigned low, long double size) {
  const long double below = decoded(f, low);
  const long double above = special(f, low + 1) ? below + (below - decoded(f, low - 1)) : decoded(f, low + 1);
  if (size - below != above - size) return size - below < above - size ? low : low + 1;
  return low % 2 == 0 ? low : low + 1;
}

// Each finite pattern, and what lies between it and the next: just above, just below the middle, the
// middle, just above, just below the next. With the bits expected.
template <class T>
void boundaries(const Fields& f, std::vector<T>& values, std::vector<std::uint16_t>& expected) {
  for (unsigned low = 0; !special(f, low); ++low) {
    const double below = decoded(f, low);
    const double above = special(f, low + 1) ? 2 * below - decoded(f, low - 1) : decoded(f, low + 1);
    const auto a = static_cast<T>(below), b = static_cast<T>(above),
               middle = static_cast<T>(below / 2 + above / 2);
    for (const T v : {a, std::nextafter(a, b), std::nextafter(middle, a), middle, std::nextafter(middle, b),
                      std::nextafter(b, a)}) {
      const unsigned bits = nearest(f, low, v);
      values.push_back(v);
      expected.push_back(static_cast<std::uint16_t>(bits));
      values.push_back(-v);
      expected.push_back(static_cast<std::uint16_t>(bits | 0x8000));
    }
  }
}

template <class T>
std::size_t wrong(const std::vector<T>& values, Format to, const std::vector<std::uint16_t>& expected) {
  const Converted c = convert(std::span<const T>(values), to, Rounding::direct);
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) count += c.halves[i] != expected[i] ? 1 : 0;
  return count;
}

std::vector<double> normal_numbers(std::size_t count, unsigned seed, double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& v : values) v = scale * normal(random);
  return values;
}

}  // namespace

TEST_CASE("Every pattern of bf16 and f16 widens to its number, and comes back as it was") {
  const auto patterns = all_patterns();
  for (const Fields& f : half_formats) {
    CAPTURE(std::string(name(f.format)));
    std::vector<double> wide(65536);
    std::vector<float> narrow(65536);
    widen(patterns, f.format, std::span<double>(wide));
    widen(patterns, f.format, std::span<float>(narrow));
    const Converted from_double = convert(std::span<const double>(wide), f.format, Rounding::direct);
    const Converted from_float = convert(std::span<const float>(narrow), f.format, Rounding::direct);
    const unsigned quiet = 1u << (f.fraction_bits - 1);
    for (unsigned k = 0; k < 65536; ++k) {
      const double want = decoded(f, k);
      const unsigned back = std::isnan(want) ? k | quiet : k;  // the rest of a payload stays
      if (std::isnan(want)) REQUIRE(std::isnan(wide[k]));
      else REQUIRE(std::bit_cast<std::uint64_t>(wide[k]) == std::bit_cast<std::uint64_t>(want));
      if (std::isnan(want)) REQUIRE(std::isnan(narrow[k]));
      else REQUIRE(static_cast<double>(narrow[k]) == want);
      REQUIRE(from_double.halves[k] == back);
      REQUIRE(from_float.halves[k] == back);
    }
    const std::size_t nans = 2 * ((1u << f.fraction_bits) - 1);
    CHECK(from_double.conversion.nans == nans);
    CHECK(from_float.conversion.nans == nans);
    CHECK(from_double.conversion.largest_absolute_error == 0);
    CHECK(from_double.conversion.overflows + from_double.conversion.underflows == 0);
  }
}

TEST_CASE("Between any two neighbours a number goes to the nearer, from the middle to the even one") {
  for (const Fields& f : half_formats) {
    CAPTURE(std::string(name(f.format)));
    std::vector<double> doubles;
    std::vector<float> floats;
    std::vector<std::uint16_t> from_doubles, from_floats;
    boundaries(f, doubles, from_doubles);
    boundaries(f, floats, from_floats);
    CHECK(doubles.size() > 300000);
    CHECK(wrong(doubles, f.format, from_doubles) == 0);
    CHECK(wrong(floats, f.format, from_floats) == 0);
  }
}

TEST_CASE("Doubles are rounded once: by way of float the middle would hide which side they are on") {
  const std::vector<double> values{1 + 0x1p-8 + 0x1p-40, 1 + 0x3p-8 - 0x1p-40, -1 - 0x1p-8 - 0x1p-52};
  const Converted c = convert(values, Format::bf16, Rounding::direct);
  CHECK(c.values() == std::vector<double>{1 + 0x1p-7, 1 + 0x1p-7, -1 - 0x1p-7});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto twice = static_cast<float>(values[i]);
    CHECK(convert(std::span(&twice, 1), Format::bf16, Rounding::direct).values()[0] != c.values()[i]);
  }
  const std::vector<double> half{1 + 0x1p-11 + 0x1p-40};
  CHECK(convert(half, Format::f16, Rounding::direct).values()[0] == 1 + 0x1p-10);
}

TEST_CASE("Floats of any bits round as Eigen's types round them, doubles to float as the compiler does") {
  std::mt19937_64 random(3);
  std::vector<float> floats(200000);
  std::vector<double> doubles(200000);
  for (float& v : floats) v = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  for (double& v : doubles) {
    const std::uint64_t bits = random();  // exponents around those of float
    v = std::bit_cast<double>((bits & 0x800fffffffffffffu) | (860 + (bits >> 52) % 320) << 52);
  }
  const Converted b = convert(floats, Format::bf16, Rounding::direct),
                  h = convert(floats, Format::f16, Rounding::direct);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    if (std::isnan(floats[i])) continue;
    REQUIRE(b.halves[i] == std::bit_cast<std::uint16_t>(Eigen::bfloat16(floats[i])));
    REQUIRE(h.halves[i] == std::bit_cast<std::uint16_t>(Eigen::half(floats[i])));
  }
  const Converted f = convert(doubles, Format::f32, Rounding::direct);
  for (std::size_t i = 0; i < doubles.size(); ++i)
    REQUIRE(std::bit_cast<std::uint32_t>(f.floats[i]) ==
            std::bit_cast<std::uint32_t>(static_cast<float>(doubles[i])));
}

TEST_CASE("Overflow, underflow and NaN are counted, and infinities are none of them") {
  const std::vector<double> values{65504,   65519.999, 65520, -1e300, inf,  -inf,  not_a_number,
                                   0x1p-24, 0x1.8p-24, 1e-30, 0.0,    -0.0, 5e-324};
  const Converted c = convert(values, Format::f16, Rounding::direct);
  CHECK(c.conversion.overflows == 2);
  CHECK(c.conversion.underflows == 3);  // 1.5 steps, and the two that vanish; one step is exact
  CHECK(c.conversion.nans == 1);
  CHECK(c.conversion.largest_relative_error == 1);
  CHECK(c.conversion.largest_absolute_error == doctest::Approx(65519.999 - 65504));
  CHECK(c.halves == std::vector<std::uint16_t>{0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x7c00, 0xfc00, 0x7e00, 1, 2,
                                               0, 0, 0x8000, 0});
  const Converted wide =
      convert(std::vector<double>{1e39, -1e-60, 3.4028235677973366e38, 1.0}, Format::f32, Rounding::direct);
  CHECK(wide.conversion.overflows == 2);
  CHECK(wide.conversion.underflows == 1);
}

TEST_CASE("The largest errors are those of the values that come back, in every rounding") {
  for (const Format to : {Format::bf16, Format::f16, Format::f32})
    for (const Rounding rounding : {Rounding::direct, Rounding::scaled, Rounding::stochastic})
      for (const double size : {1.0, 300.0, 1e-3}) {
        CAPTURE(std::string(name(to)));
        CAPTURE(size);
        const auto values = normal_numbers(1003, 8, size);  // not a whole number of blocks
        const Converted c = convert(values, to, rounding, 11);
        const auto back = c.values();
        double absolute = 0, relative = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double error = std::fabs(back[i] - values[i]);
          absolute = std::max(absolute, error);
          relative = std::max(relative, error / std::fabs(values[i]));
        }
        CHECK(c.conversion.largest_absolute_error == absolute);
        CHECK(c.conversion.largest_relative_error == relative);
        CHECK(absolute > 0);
        if (c.conversion.underflows == 0)
          CHECK(relative <= (rounding == Rounding::stochastic ? 2 : 1) * info(to).unit_roundoff);
      }
}

TEST_CASE("Scaling by a power of two rescues numbers that the format cannot hold") {
  for (const double size : {1e-25, 1e25, 1e-306, 1e300}) {
    CAPTURE(size);
    auto values = normal_numbers(2000, 5, size);
    for (double& v : values) v = std::copysign(std::max(std::fabs(v), size * 1e-3), v);
    const Converted direct = convert(values, Format::f16, Rounding::direct);
    CHECK(direct.conversion.overflows + direct.conversion.underflows == values.size());
    const Converted scaled = convert(values, Format::f16);  // the default
    CHECK(scaled.conversion.overflows + scaled.conversion.underflows == 0);
    CHECK(scaled.conversion.largest_relative_error <= 0x1p-11);
    int exponent = 0;
    CHECK(std::frexp(scaled.conversion.scale, &exponent) == 0.5);
  }
  // Products of such numbers stay in the range of float, too.
  const std::vector<float> tiny(100, 1e-25f);
  const Converted c = convert(tiny, Format::bf16);
  std::vector<float> stored(tiny.size());
  widen(c.halves, Format::bf16, std::span<float>(stored));
  CHECK(stored[0] * stored[0] >= 1);
  CHECK(stored[0] * stored[0] < 4.1f);
  CHECK(c.values()[0] == doctest::Approx(1e-25).epsilon(0x1p-8));
}

TEST_CASE(
    "The scale brings the root mean square into [1, 2) and minds neither zeros' sign, infinities nor NaN") {
  for (const double size : {3.0, 1e-9, 1e200}) {
    auto values = normal_numbers(777, 6, size);
    const double scale = convert(values, Format::bf16).conversion.scale;
    long double squares = 0;
    for (const double v : values) squares += static_cast<long double>(v * scale) * (v * scale);
    const auto mean = static_cast<double>(std::sqrt(squares / 777));
    CHECK(mean >= 1);
    CHECK(mean < 2);
    values.insert(values.end(), {inf, not_a_number, -inf});
    CHECK(convert(values, Format::bf16).conversion.scale == scale);
  }
  CHECK(convert(std::vector<double>{0, -0.0, not_a_number}, Format::f16).conversion.scale == 1);
  CHECK(convert(std::vector<double>{}, Format::f16).conversion.scale == 1);
  // Scaled and direct agree where nothing leaves the range.
  const auto values = normal_numbers(500, 7, 100);
  CHECK(convert(values, Format::bf16).values() == convert(values, Format::bf16, Rounding::direct).values());
}

TEST_CASE("Stochastic rounding is right on average, and leaves alone what the format holds") {
  constexpr std::size_t count = 200000;
  struct Case {
    Format to;
    double value, step;
  };
  const Case cases[] = {{Format::bf16, 1 + 0.3 * 0x1p-7, 0x1p-7},
                        {Format::bf16, -3 - 0.9 * 0x1p-6, 0x1p-6},
                        {Format::f16, 1000.1, 0.5},
                        {Format::f16, 0.25 * 0x1p-24, 0x1p-24},
                        {Format::bf16, -0.01 * 0x1p-133, 0x1p-133},
                        {Format::f32, 0.1, 0x1p-27}};
  for (const auto& [to, value, step] : cases) {
    CAPTURE(value);
    const std::vector<double> values(count, value);
    const auto back = convert(values, to, Rounding::stochastic, 42).values();
    double mean = 0;
    for (const double v : back) {
      REQUIRE(std::fabs(v - value) < step);
      mean += (v - value) / step / count;
    }
    CHECK(std::fabs(mean) < 5 * 0.5 / std::sqrt(count));  // five standard errors at most
    CHECK(*std::min_element(back.begin(), back.end()) != *std::max_element(back.begin(), back.end()));
  }
  const auto patterns = all_patterns();
  for (const Fields& f : half_formats) {
    std::vector<double> wide(65536);
    widen(patterns, f.format, std::span<double>(wide));
    for (const std::uint64_t seed : {0u, 1u, 77u}) {
      const Converted c = convert(wide, f.format, Rounding::stochastic, seed);
      std::size_t changed = 0;
      for (unsigned k = 0; k < 65536; ++k) changed += !std::isnan(wide[k]) && c.halves[k] != k ? 1 : 0;
      CHECK(changed == 0);
    }
  }
}

TEST_CASE("Stochastic rounding depends on the seed and the position alone, and draws are not alike") {
  const auto values = normal_numbers(1000, 9, 1);
  const Converted a = convert(values, Format::bf16, Rounding::stochastic, 5);
  CHECK(convert(values, Format::bf16, Rounding::stochastic, 5).halves == a.halves);
  CHECK(convert(values, Format::bf16, Rounding::stochastic, 6).halves != a.halves);
  std::vector<double> changed = values;
  for (std::size_t i = 0; i < 300; ++i) changed[i] *= 1.5;
  const Converted b = convert(changed, Format::bf16, Rounding::stochastic, 5);
  CHECK(std::equal(a.halves.begin() + 300, a.halves.end(), b.halves.begin() + 300));
  // Ups and downs of the same value: neighbours are as often equal as not.
  const Converted same =
      convert(std::vector<double>(40000, 1 + 0x1p-8), Format::bf16, Rounding::stochastic, 1);
  std::size_t equal = 0;
  for (std::size_t i = 1; i < same.halves.size(); ++i) equal += same.halves[i] == same.halves[i - 1] ? 1 : 0;
  CHECK(equal > 19500);
  CHECK(equal < 20500);
}

TEST_CASE("f64 keeps the values as they came, and floats are exact in f32") {
  const auto values = normal_numbers(100, 2, 1e-200);
  for (const Rounding rounding : {Rounding::direct, Rounding::scaled, Rounding::stochastic}) {
    const Converted c = convert(values, Format::f64, rounding);
    CHECK(c.doubles == values);
    CHECK(c.values() == values);
    CHECK(c.conversion.scale == 1);
    CHECK(c.halves.empty());
    CHECK(c.floats.empty());
  }
  const std::vector<float> floats{1.1f, -2.2f, 3e-40f, 3e38f};
  const Converted c = convert(floats, Format::f32, Rounding::direct);
  CHECK(c.floats == floats);
  CHECK(c.conversion.largest_absolute_error == 0);
  CHECK(c.conversion.underflows == 0);
  CHECK(convert(std::vector<double>{not_a_number, 1.0}, Format::f64).conversion.nans == 1);
}

TEST_CASE("Into storage of one's own: the same numbers, and an error where it does not fit") {
  const auto values = normal_numbers(600, 3, 2);
  std::vector<std::uint16_t> halves(600);
  std::vector<float> floats(600);
  const Conversion c = convert_into(values, Format::f16, halves);
  CHECK(halves == convert(values, Format::f16).halves);
  CHECK(c.largest_absolute_error == convert(values, Format::f16).conversion.largest_absolute_error);
  convert_into(values, floats, Rounding::direct);
  CHECK(floats == convert(values, Format::f32, Rounding::direct).floats);
  convert_into(std::span<const float>(floats), Format::bf16, halves, Rounding::direct);
  CHECK(halves == convert(floats, Format::bf16, Rounding::direct).halves);
  halves.resize(599);
  CHECK_THROWS_AS(convert_into(values, Format::f16, halves), ConversionError);
  CHECK_THROWS_AS(widen(halves, Format::f16, std::span<float>(floats)), ConversionError);
  halves.resize(600);
  try {
    convert_into(values, Format::f32, halves);
    FAIL("f32 is no format of 16 bits");
  } catch (const ConversionError& error) {
    CHECK(error.to() == Format::f32);
    CHECK(error.index() == ConversionError::npos);
    CHECK(std::string(error.what()).find("f32") != std::string::npos);
  }
  CHECK_THROWS_AS(widen(halves, Format::f64, std::span<float>(floats)), ConversionError);
}
