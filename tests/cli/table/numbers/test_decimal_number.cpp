// Tests the reader's own parser of decimal numbers against fast_float: the same end and bits, or no answer.
#include "table/numbers/decimal_number.hpp"

#include <doctest/doctest.h>
#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

using nlsq::cli::parse_decimal;

namespace {

using Random = std::mt19937_64;

struct Parsed {
  std::ptrdiff_t length = -1;  // -1: no answer
  double value = 0;
};

Parsed ours(std::string text, char decimal = '.') {
  text.append(64, '\0');
  Parsed parsed;
  const char* const end = parse_decimal(text.data(), decimal, parsed.value);
  if (end != nullptr) parsed.length = end - text.data();
  return parsed;
}

Parsed reference(const std::string& text, char decimal = '.') {
  Parsed parsed;
  const auto [end, error] =
      fast_float::from_chars_advanced(text.data(), text.data() + text.size(), parsed.value,
                                      fast_float::parse_options{fast_float::general, decimal});
  if (error == std::errc{}) parsed.length = end - text.data();
  return parsed;
}

bool same(const Parsed& a, const Parsed& b) {
  return a.length == b.length &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

}  // namespace

TEST_CASE("the usual numbers have an answer, and fast_float's") {
  for (const char* text : {"0",
                           "7",
                           "-7",
                           "12",
                           "3.5",
                           "-0.25",
                           ".5",
                           "5.",
                           "-.5",
                           "0.0",
                           "-0",
                           "00012",
                           "1234567",
                           "12345678",
                           "123456789",
                           "1234.5678",
                           "-123456.789012",
                           "999999999999999",
                           "0.0000000000001",
                           "00000000.000001",
                           "1234567.",
                           "12345678.",
                           ".1234567",
                           ".12345678",
                           "12345678901234.",
                           "1e5",
                           "1E5",
                           "1.5e-3",
                           "-2.5e+04",
                           "6.02214076e23",
                           "1.602176634e-17",
                           "0.12345678901234567",
                           "-12.345678901234567",
                           "0.00012345678901234567",
                           "1.7976931348623157e+30",
                           "0.00000000000000000",
                           "0.1000000000000000055",
                           "1.2345678901234567e-05"}) {
    for (const char* after : {"", ",", "\n", "\r\n", ";x", " ", "\t"}) {
      CAPTURE(text);
      const std::string whole = std::string(text) + after;
      CHECK(ours(whole).length == static_cast<std::ptrdiff_t>(std::strlen(text)));
      CHECK(same(ours(whole), reference(whole)));
    }
  }
}

TEST_CASE("texts that are no numbers have no answer, nor have numbers that may be out of range") {
  for (const char* text : {"",
                           "-",
                           ".",
                           "-.",
                           "+1",
                           "--1",
                           "1.2.3",
                           "1..2",
                           "123.456.789",
                           "x",
                           ",",
                           "\n",
                           "nan",
                           "inf",
                           " 1",
                           "12345678.9.1",
                           "1e",
                           "1e+",
                           "1e-x",
                           "1e400",
                           "1e-400",
                           "1e5000",
                           "1.5e308",
                           "12345678901234567890123456789",
                           "0.123456789012345678901234567890"}) {
    CAPTURE(text);
    CHECK(ours(text).length == -1);
  }
}

TEST_CASE("a decimal comma is a decimal sign, and a point is then none") {
  CHECK(same(ours("3,5;", ','), reference("3,5;", ',')));
  CHECK(same(ours("12345,678901;", ','), reference("12345,678901;", ',')));
  CHECK(same(ours("0,12345678901234567;", ','), reference("0,12345678901234567;", ',')));
  CHECK(ours("3.5;", ',').length == 1);
}

TEST_CASE("random texts of the characters of numbers: fast_float's answer, or none") {
  Random random(5);
  constexpr char kCharacters[] = "0123456789012345678901234567890123456789..--e,\n ";
  int answers = 0;
  for (int trial = 0; trial < 1000000; ++trial) {
    std::string text;
    for (std::size_t n = random() % 28; n-- > 0;) text += kCharacters[random() % (sizeof kCharacters - 1)];
    const Parsed parsed = ours(text);
    if (parsed.length < 0) continue;
    ++answers;
    if (!same(parsed, reference(text))) FAIL(text);
  }
  CHECK(answers > 100000);
}

TEST_CASE("numbers written in many ways are the nearest doubles") {
  Random random(6);
  int answers = 0;
  for (int trial = 0; trial < 400000; ++trial) {
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = std::ldexp(uniform, static_cast<int>(random() % 120) - 60);
    for (const std::string& text : {fmt::format("{:.17g},", value), fmt::format("{:.15f},", uniform),
                                    fmt::format("{:.9e},", value), fmt::format("{},", value)}) {
      const Parsed parsed = ours(text);
      if (parsed.length < 0) continue;
      ++answers;
      if (!same(parsed, reference(text))) FAIL(text);
    }
  }
  CHECK(answers > 1000000);
}

// Rounding is hardest half way between two doubles, and next to that.
TEST_CASE("numbers half way between doubles go to the even one") {
  Random random(7);
  for (int trial = 0; trial < 300000; ++trial) {
    const std::uint64_t half = (std::uint64_t{1} << 53) | (random() >> 11) << 1 | 1;  // 54 bits: a tie
    for (const std::uint64_t mantissa :
         {half - 1, half, half + 1, 2 * half, 5 * half, 10 * half, 100 * half}) {
      const int exponent = static_cast<int>(random() % 90) - 30;
      for (const std::string& text :
           {fmt::format("{}.0e0,", mantissa), fmt::format("{}e{},", mantissa, exponent),
            fmt::format("{}.{:0>4},", mantissa / 10000, mantissa % 10000)}) {
        const Parsed parsed = ours(text);
        if (parsed.length >= 0 && !same(parsed, reference(text))) FAIL(text);
      }
      const double scaled =
          nlsq::cli::scale_by_ten(mantissa, std::max(exponent, -27) > 55 ? 55 : std::max(exponent, -27));
      const Parsed told = reference(
          fmt::format("{}e{}", mantissa, std::max(exponent, -27) > 55 ? 55 : std::max(exponent, -27)));
      if (scaled != told.value) FAIL(mantissa << " e" << exponent);
    }
  }
}

TEST_CASE("any mantissa and any exponent in the range give the nearest double") {
  Random random(8);
  for (int trial = 0; trial < 2000000; ++trial) {
    const std::uint64_t mantissa = std::max<std::uint64_t>(random() >> (random() % 64), 1);
    const int exponent =
        nlsq::cli::kLeastScale +
        static_cast<int>(random() % (nlsq::cli::kGreatestScale - nlsq::cli::kLeastScale + 1));
    const std::string text = fmt::format("{}e{}", mantissa, exponent);
    if (nlsq::cli::scale_by_ten(mantissa, exponent) != reference(text).value) FAIL(text);
  }
}
