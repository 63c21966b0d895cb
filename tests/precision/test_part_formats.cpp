// Tests the formats of the parts: which are compatible, and how unnamed formats follow from named ones.
#include <nlsq/part_formats.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <tuple>

using namespace nlsq;
using enum Format;

namespace {

constexpr Format kAll[] = {bf16, f16, f32, f64};

std::string reason(const PartFormats& formats) {
  const auto found = validate(formats);
  return found.empty() ? "" : found.front().message();
}

}  // namespace

TEST_CASE("the sound formats are the scheduler's states and no others") {
  std::set<std::tuple<Format, Format, Format>> sound;
  for (const Format r : kAll)
    for (const Format j : kAll)
      for (const Format g : kAll)
        for (const Format s : kAll)
          if (validate({r, j, g, s}).empty()) {
            CHECK(s == f64);
            sound.insert({r, j, g});
          }
  const std::set<std::tuple<Format, Format, Format>> states{
      {f32, bf16, f32}, {f32, f16, f32}, {f32, f32, f32}, {f32, f32, f64}, {f64, bf16, f32},
      {f64, f16, f32},  {f64, f32, f32}, {f64, f32, f64}, {f64, f64, f64}};
  CHECK(sound == states);
}

TEST_CASE("each refusal says why and what to give instead, and names its part with the prefix") {
  CHECK(reason({bf16, bf16, f32, f64}).find("residual=bf16: rows are evaluated and summed in f32 or f64") ==
        0);
  CHECK(reason({f32, f32, f16, f64}).find("gram=f16: sums of a Gram matrix in f16") == 0);
  CHECK(reason({f32, f64, f64, f64}).find("jacobian=f64: wider than residual=f32") == 0);
  CHECK(reason({f32, bf16, f64, f64}).find("gram=f64: wider than its jacobian=bf16") == 0);
  CHECK(reason({f64, f64, f32, f64}).find("gram=f32: f64 derivatives would be thrown away") == 0);
  CHECK(reason({f32, f32, f64, f32}).find("solve=f32: the factorisation is always f64") == 0);
  const auto found = validate({bf16, bf16, bf16, bf16}, "imu.");
  REQUIRE(found.size() == 3);
  CHECK(found[0].field == "imu.residual");
  CHECK(found[1].field == "imu.gram");
  CHECK(found[2].field == "imu.solve");
  CHECK(found[2].value == "bf16");
  CHECK(found[2].message() == "imu.solve=bf16: " + found[2].reason);
}

TEST_CASE("parts that are not named follow those that are") {
  const PartFormats automatic, p1{f32, bf16, f32, f64}, p2a{f32, f32, f32, f64}, p4{f64, f64, f64, f64};
  FormatChange c;
  CHECK(changed(p1, c) == p1);
  c.residual = f64;
  CHECK(changed(automatic, c) == p4);
  CHECK(changed(p1, c) == p4);
  CHECK(changed({f64, f32, f32, f64}, c) ==
        PartFormats{f64, f32, f32, f64});  // this is f64 already, so nothing follows
  c = {};
  c.jacobian = bf16;
  CHECK(changed(automatic, c) == p1);
  CHECK(changed(p4, c) == PartFormats{f64, bf16, f32, f64});
  c.jacobian = f64;
  CHECK(changed(p1, c) == p4);
  c = {};
  c.gram = f32;
  CHECK(changed(automatic, c) == p2a);
  CHECK(changed(p1, c) == p1);
  CHECK(changed(p4, c) == PartFormats{f64, f32, f32, f64});
  c.gram = f64;
  CHECK(changed(p1, c) == automatic);
  CHECK(changed(p4, c) == p4);
}

TEST_CASE("a sound change of one part leaves sound formats sound") {
  for (const Format r : kAll)
    for (const Format j : kAll)
      for (const Format g : kAll) {
        const PartFormats from{r, j, g, f64};
        if (!validate(from).empty()) continue;
        for (const Format to : {f32, f64}) {
          CHECK(validate(changed(from, {.residual = to, .jacobian = {}, .gram = {}, .solve = {}})).empty());
          CHECK(validate(changed(from, {.residual = {}, .jacobian = {}, .gram = to, .solve = {}})).empty());
        }
        for (const Format to : kAll)
          CHECK(validate(changed(from, {.residual = {}, .jacobian = to, .gram = {}, .solve = {}})).empty());
      }
}
