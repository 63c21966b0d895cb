// The reader's own way with short numbers against fast_float: the same end, the same bits, or no answer.
#include "short_number.hpp"

#include <doctest/doctest.h>
#include <fast_float/fast_float.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>

using nlsq::cli::parse_short_number;

namespace {

struct Parsed {
  std::ptrdiff_t length = -1;  // -1: no answer
  double value = 0;
};

Parsed short_number(std::string text, char decimal = '.') {
  const std::size_t size = text.size();
  text.append(32, '\0');
  Parsed parsed;
  const char* const end = parse_short_number(text.data(), decimal, parsed.value);
  if (end != nullptr) parsed.length = end - text.data();
  CHECK(parsed.length <= static_cast<std::ptrdiff_t>(size));
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

TEST_CASE("numbers of every length up to 15 characters have an answer, and fast_float's") {
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
                           "12345678901234."}) {
    for (const char* after : {"", ",", "\n", "\r\n", ";x", " ", "\t"}) {
      CAPTURE(text);
      const std::string whole = std::string(text) + after;
      CHECK(short_number(whole).length == static_cast<std::ptrdiff_t>(std::strlen(text)));
      CHECK(same(short_number(whole), reference(whole)));
    }
  }
}

TEST_CASE("what is long, has an exponent, or is no number has no answer") {
  for (const char* text : {"",
                           "-",
                           ".",
                           "-.",
                           "+1",
                           "--1",
                           "1e5",
                           "1E5",
                           "1.5e-3",
                           "1.2.3",
                           "1..2",
                           "123.456.789",
                           "1234567890123456",
                           "0.12345678901234567",
                           "x",
                           ",",
                           "\n",
                           "nan",
                           "inf",
                           " 1",
                           "12345678.9.1",
                           "123456789012.e1"}) {
    CAPTURE(text);
    CHECK(short_number(text).length == -1);
  }
}

TEST_CASE("a decimal comma is a decimal sign, and a point is then none") {
  CHECK(same(short_number("3,5;", ','), reference("3,5;", ',')));
  CHECK(same(short_number("12345,678901;", ','), reference("12345,678901;", ',')));
  CHECK(short_number("3.5;", ',').length == 1);
}

TEST_CASE("random texts of the characters of numbers: fast_float's answer, or none") {
  std::mt19937_64 random(5);
  constexpr char kCharacters[] = "0123456789012345678901234567890123456789..--e,\n ";
  int answers = 0;
  for (int trial = 0; trial < 1000000; ++trial) {
    std::string text;
    for (std::size_t n = random() % 20; n-- > 0;) text += kCharacters[random() % (sizeof kCharacters - 1)];
    const Parsed parsed = short_number(text);
    if (parsed.length < 0) continue;
    ++answers;
    if (!same(parsed, reference(text))) FAIL(text);
  }
  CHECK(answers > 100000);
}
