// Tests number formats: the names that parse, and the properties in the table, against the limits of the
// types.
#include <nlsq/error.hpp>
#include <nlsq/format.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

using namespace nlsq;

namespace {

constexpr Format all[] = {Format::bf16, Format::f16, Format::f32, Format::f64};

// Checks a format of `digits` binary digits, whose normal numbers have exponents from `low` to `high`.
void check_table(Format format, int digits, int low, int high, int bytes) {
  const FormatInfo& i = info(format);
  CAPTURE(i.name);
  CHECK(i.unit_roundoff == std::ldexp(1.0, -digits));
  CHECK(i.min_normal == std::ldexp(1.0, low));
  CHECK(i.max == std::ldexp(2 - std::ldexp(1.0, 1 - digits), high));
  CHECK(i.bytes == bytes);
}

}  // namespace

TEST_CASE("f32 and f64 are what the compiler says of float and double") {
  CHECK(info(Format::f32).unit_roundoff == std::numeric_limits<float>::epsilon() / 2.0);
  CHECK(info(Format::f32).max == std::numeric_limits<float>::max());
  CHECK(info(Format::f32).min_normal == std::numeric_limits<float>::min());
  CHECK(info(Format::f64).unit_roundoff == std::numeric_limits<double>::epsilon() / 2);
  CHECK(info(Format::f64).max == std::numeric_limits<double>::max());
  CHECK(info(Format::f64).min_normal == std::numeric_limits<double>::min());
}

TEST_CASE("every format follows from its digits and exponent range") {
  check_table(Format::bf16, 8, -126, 127, 2);
  check_table(Format::f16, 11, -14, 15, 2);
  check_table(Format::f32, 24, -126, 127, 4);
  check_table(Format::f64, 53, -1022, 1023, 8);
}

TEST_CASE("a later format never has fewer digits") {
  for (int k = 1; k < 4; ++k) CHECK(info(all[k]).unit_roundoff < info(all[k - 1]).unit_roundoff);
}

TEST_CASE("every name parses back to its format, and aliases to the same") {
  for (const Format format : all) CHECK(parse_format(name(format)) == format);
  CHECK(parse_format("bfloat16") == Format::bf16);
  CHECK(parse_format("half") == Format::f16);
  CHECK(parse_format("float16") == Format::f16);
  CHECK(parse_format("float") == Format::f32);
  CHECK(parse_format("float32") == Format::f32);
  CHECK(parse_format("double") == Format::f64);
  CHECK(parse_format("float64") == Format::f64);
}

TEST_CASE("an unknown name is an error that quotes it and lists what is allowed") {
  for (const char* text : {"", "f128", "F64", " f64", "f6", "quad"}) {
    CAPTURE(text);
    try {
      parse_format(text);
      FAIL("accepted");
    } catch (const ValidationError& error) {
      const std::string message = error.what();
      CHECK(message.find("'" + std::string(text) + "'") != std::string::npos);
      for (const Format format : all) CHECK(message.find(name(format)) != std::string::npos);
    }
  }
}
