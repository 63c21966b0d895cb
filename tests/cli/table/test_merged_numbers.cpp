// Tests the warning about whole numbers that float64 rounds, such as times in nanoseconds.
#include "cli/program.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>

using namespace program;

namespace {

// A line through 40 rows, whose times are `step` nanoseconds apart.
std::string nanoseconds(long long step) {
  std::string text = "t,y\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("{},{}\n", 1760000000000000000LL + step * i, 1 + 0.5 * i + 0.01 * ((7 * i) % 5));
  }
  return text;
}

}  // namespace

TEST_CASE("nanoseconds since 1970 have a warning if float64 loses the steps between them") {
  const Scratch files;
  const std::string fine = files.write("fine.csv", nanoseconds(500)),
                    coarse = files.write("coarse.csv", nanoseconds(1000000000));
  for (const char* const options : {" --x t --y y", " --x 't - 1.76e18' --y y", " --x y --y t"}) {
    CAPTURE(options);
    const Outcome outcome = run(fine + " --model linear" + options);
    CHECK(contains(outcome.out,
                   "column 1 (t) has numbers near 1760000000000000000, which float64 rounds to "
                   "multiples of 256, and its rows are 512 apart"));
    CHECK_FALSE(contains(run(coarse + " --model linear" + options).out, "float64 rounds"));
  }
  CHECK_FALSE(contains(run(fine + " --model linear --x y --y y --where 't > 0'").out, "multiples of 256"));
}

TEST_CASE("a pause in nanoseconds does not hide that steps are lost") {
  const Scratch files;
  std::string text = "t,y\n";
  for (int i = 0; i < 40; ++i)
    text += fmt::format("{},{}\n", 1760000000000000000LL + 50 * i + (i < 20 ? 0 : 1000000000), 1 + 0.5 * i);
  CHECK(contains(run(files.write("pause.csv", text) + " --model linear").out, "multiples of 256"));
}

TEST_CASE("large measurements with a wide range have no warning") {
  const Scratch files;
  const std::string data = files.write("d.csv", "x,y\n1,1e19\n2,2.1e19\n3,2.9e19\n4,4.05e19\n");
  CHECK_FALSE(contains(run(data + " --model linear").out, "float64 rounds"));
}
