// Tests runs of plain numbers at the start of a record. The numbers must be those of parse_decimal, and
// nothing after the end of a run may be written.
#include "table/numbers/decimal_number.hpp"
#include "table/numbers/number_run.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq::cli;

namespace {

constexpr double kUntouched = -12345.678;

struct Read {
  std::size_t columns = 0, length = 0;
  std::vector<double> values;
};

// Reads all columns in their order, or those that have a slot.
Read run(std::string text, std::size_t columns, NumberRun layout = {}, std::vector<int> slot_of = {}) {
  const std::size_t size = text.size();
  text.append(64, '\0');
  if (slot_of.empty()) {
    for (std::size_t k = 0; k < columns; ++k) slot_of.push_back(static_cast<int>(k));
  }
  Read read;
  read.values.assign(columns, kUntouched);
  layout.slot_of = slot_of.data();
  layout.columns = columns;
  layout.out = read.values.data();
  layout.stride = 1;
  const char* p = text.data();
  read.columns = number_run_reader()(p, layout, 0);
  read.length = static_cast<std::size_t>(p - text.data());
  REQUIRE(read.length <= size);
  return read;
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool absent() {
  if (number_run_reader() != nullptr) return false;
  MESSAGE("this CPU has no instructions for it");
  return true;
}

}  // namespace

TEST_CASE("a record of plain numbers is read to its end") {
  if (absent()) return;
  const Read read = run("1,-2.5,.25,7.,-0,123456789012345,-0.000000000000\nrest", 7);
  CHECK(read.columns == 7);
  CHECK(read.length == std::string("1,-2.5,.25,7.,-0,123456789012345,-0.000000000000\n").size());
  const double expected[] = {1, -2.5, 0.25, 7, -0.0, 123456789012345, -0.0};
  for (std::size_t k = 0; k < 7; ++k) CHECK(same(read.values[k], expected[k]));
}

TEST_CASE("a run ends before what is no plain number, and leaves its place alone") {
  if (absent()) return;
  for (const char* field : {"", "-", ".", "-.", "--1", "+1", "1.2.3", "1e", "nan", "x", " 1", "1 ", "\"1\"",
                            "0x10", "1-2", "1234567890123456789012345", "1;", "1\r", "\xc3\xa4"}) {
    CAPTURE(field);
    const Read first = run(std::string(field) + ",2\n", 2);
    CHECK(first.columns == 0);
    CHECK(first.length == 0);
    CHECK(same(first.values[0], kUntouched));
    const Read second = run("5," + std::string(field) + "\n", 2);
    CHECK(second.columns == 1);
    CHECK(second.length == 2);
    CHECK(same(second.values[0], 5));
    CHECK(same(second.values[1], kUntouched));
  }
}

TEST_CASE("the last column ends with a line feed, the others with the delimiter, and nothing else does") {
  if (absent()) return;
  CHECK(run("1,2,3\n", 2).columns == 1);   // there is one field too many
  CHECK(run("1\n2,3\n", 2).columns == 0);  // there is one too few
  CHECK(run("1,2", 2).columns == 1);       // the text ends here
  CHECK(run("1,2\r\n", 2).columns == 1);
  CHECK(run("1;2\n", 2).columns == 0);
  CHECK(run("1;2\n", 2, {.delimiter = ';'}).columns == 2);
  CHECK(run("1\t2\n", 2, {.delimiter = '\t'}).columns == 2);
}

TEST_CASE("the decimal sign is the one asked for") {
  if (absent()) return;
  const Read read = run("1,5;-2,25\n", 2, {.delimiter = ';', .decimal = ','});
  CHECK(read.columns == 2);
  CHECK(same(read.values[0], 1.5));
  CHECK(same(read.values[1], -2.25));
  CHECK(run("1.5;2\n", 2, {.delimiter = ';', .decimal = ','}).columns == 0);
}

TEST_CASE("columns that were not chosen end a run; chosen ones go to their places") {
  if (absent()) return;
  const Read swapped = run("1,2\n", 2, {}, {1, 0});
  CHECK(swapped.columns == 2);
  CHECK(same(swapped.values[0], 2));
  CHECK(same(swapped.values[1], 1));
  const Read left_out = run("1,2,3\n", 3, {}, {0, -1, 1});
  CHECK(left_out.columns == 1);
  CHECK(left_out.length == 2);
}

TEST_CASE(
    "runs of every length, sign, exponent and place of the decimal sign have the bits of parse_decimal") {
  if (absent()) return;
  std::mt19937_64 random(20260301);
  std::size_t read_here = 0;
  for (int length = 1; length <= 21; ++length) {
    for (int place = -1; place < length; ++place) {
      for (int repeat = 0; repeat < 60; ++repeat) {
        std::string text(repeat % 2 == 0 ? "" : "-");
        for (int i = 0; i < length; ++i) text += i == place ? '.' : static_cast<char>('0' + random() % 10);
        if (repeat % 5 == 0) text += fmt::format("e{}", static_cast<int>(random() % 30) - 15);
        const int digits = length - (place >= 0 ? 1 : 0);
        CAPTURE(text);
        const Read read = run(text + ",1\n", 2);
        const std::string padded = text + std::string(64, '\0');
        double expected = 0;
        const bool decimal = parse_decimal(padded.data(), '.', expected) == padded.data() + text.size();
        const bool plain = repeat % 5 != 0 && digits >= 1 && digits <= 15 && text.size() <= 16;
        if (decimal || plain) REQUIRE(read.columns == 2);
        if (read.columns == 0) continue;
        REQUIRE(same(read.values[0], std::strtod(text.c_str(), nullptr)));
        if (decimal) REQUIRE(same(read.values[0], expected));
        ++read_here;
      }
    }
  }
  CHECK(read_here > 8000);
}

TEST_CASE("a run of random bytes has an end and values that come only from the text") {
  if (absent()) return;
  std::mt19937_64 random(7);
  const std::string signs = "0123456789012345678901234567890123456789..-,,,\n;e+ \"x";
  std::size_t whole = 0;
  for (int repeat = 0; repeat < 200000; ++repeat) {
    std::string text;
    for (std::size_t i = random() % 30; i-- > 0;) text += signs[random() % signs.size()];
    const Read read = run(text, 3);
    std::size_t at = 0;
    for (std::size_t k = 0; k < read.columns; ++k) {
      const std::size_t end = text.find(k == 2 ? '\n' : ',', at);
      REQUIRE(end != std::string::npos);
      const std::string field = text.substr(at, end - at);
      REQUIRE(field.find_first_not_of("0123456789.-e+") == std::string::npos);
      char* stopped = nullptr;
      REQUIRE(same(read.values[k], std::strtod(field.c_str(), &stopped)));
      REQUIRE(*stopped == '\0');
      at = end + 1;
    }
    REQUIRE(read.length == at);
    whole += read.columns == 3 ? 1 : 0;
  }
  CHECK(whole > 100);
}
