// Tests precision policies as text: what parses, what is printed, and the message about every violation.
#include <nlsq/error.hpp>
#include <nlsq/precision_policy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

std::vector<std::string> violations_of(const std::string& text) {
  try {
    PrecisionPolicy::parse(text);
  } catch (const ValidationError& error) {
    return error.violations();
  }
  return {};
}

bool mentions(const std::vector<std::string>& violations, const std::string& words) {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const std::string& v) { return v.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("auto, f32 and f64 mean what the header says") {
  CHECK(PrecisionPolicy::parse("auto") == PrecisionPolicy{});
  CHECK(PrecisionPolicy::parse("f64") == PrecisionPolicy::all_f64());
  CHECK_FALSE(PrecisionPolicy::all_f64().adaptive);
  const PrecisionPolicy f32 = PrecisionPolicy::parse("f32");
  CHECK(f32.residual == Format::f32);
  CHECK(f32.gram == Format::f64);
  CHECK(f32.adaptive);
  CHECK_FALSE(f32.entry_gate);
}

TEST_CASE("components start from auto and change what they name") {
  CHECK(PrecisionPolicy::parse("gate=off") == PrecisionPolicy::parse("f32"));
  CHECK(PrecisionPolicy::parse("residual=double") == PrecisionPolicy::all_f64());
  const PrecisionPolicy tiles = PrecisionPolicy::parse("residual=float,gram=float32");
  CHECK(tiles.gram == Format::f32);
  CHECK(tiles.entry_gate);
  CHECK(tiles.adaptive);
}

TEST_CASE("whatever parses is printed as the shortest text that parses back") {
  for (const char* residual : {"", "residual=f32", "residual=f64"}) {
    for (const char* gram : {"", "gram=f32", "gram=f64"}) {
      for (const char* gate : {"", "gate=on", "gate=off"}) {
        std::string text;
        for (const std::string part : {residual, gram, gate}) {
          if (!part.empty()) text += (text.empty() ? "" : ",") + part;
        }
        if (text.empty() || (text.find("residual=f64") != text.npos && text.find("gram=f32") != text.npos))
          continue;
        CAPTURE(text);
        const PrecisionPolicy policy = PrecisionPolicy::parse(text);
        const std::string printed = policy.to_string();
        CAPTURE(printed);
        CHECK(PrecisionPolicy::parse(printed) == policy);
        CHECK(printed.size() <= text.size());
      }
    }
  }
  CHECK(PrecisionPolicy{}.to_string() == "auto");
  CHECK(PrecisionPolicy::all_f64().to_string() == "f64");
  CHECK(PrecisionPolicy::parse("f32").to_string() == "f32");
  CHECK(PrecisionPolicy::parse("residual=f32,gram=f32,gate=on").to_string() == "gram=f32");
}

TEST_CASE("all violations are listed at once, each with what to write instead") {
  const auto found = violations_of("residual=bf16,gram=f17,solve=f32,gate=maybe,fast");
  CHECK(found.size() == 5);
  CHECK(mentions(found, "residual=bf16"));
  CHECK(mentions(found, "'f17'"));
  CHECK(mentions(found, "solve=f32"));
  CHECK(mentions(found, "gate='maybe': use on or off"));
  CHECK(mentions(found, "'fast' is not component=format"));
}

TEST_CASE("formats that sums cannot bear, and f64 rows with f32 sums, are refused") {
  CHECK(mentions(violations_of("residual=f16"), "below what sums can bear"));
  CHECK(mentions(violations_of("gram=bf16"), "below what sums can bear"));
  CHECK(mentions(violations_of("residual=f64,gram=f32"), "thrown away"));
  PrecisionPolicy by_hand;
  by_hand.residual = by_hand.gram = Format::f16;
  CHECK(by_hand.violations().size() == 2);
  CHECK(PrecisionPolicy{}.violations().empty());
}

TEST_CASE("texts that are no policy are refused with the choices named") {
  for (const char* text : {"", " ", "AUTO", "f16", "fast", "f 64", "gram=f32,f64", "=", ",", "residual=f32,",
                           "residual=", "=f32"}) {
    CAPTURE(text);
    const auto found = violations_of(text);
    REQUIRE_FALSE(found.empty());
    CHECK(found.front().find("use") != std::string::npos);
  }
}
