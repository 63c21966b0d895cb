// Tests what nlsq-fit --maps refuses, and that it writes either all or nothing.
#include "cli/images/image_support.hpp"

#include <doctest/doctest.h>

using namespace image_support;
using namespace program;
using zip_support::npy;

TEST_CASE("Shapes that do not agree are refused with both shapes") {
  const Scratch files;
  const Cube cube;
  const std::string file = files.write("cube.npy", cube.file()),
                    maps = " --model exp --maps " + files.path("m.npz");
  const auto refused = [&](const std::string& arguments, int status,
                           std::initializer_list<const char*> parts) {
    const Outcome outcome = run(arguments + maps);
    CAPTURE(outcome.out);
    CHECK(outcome.status == status);
    for (const char* part : parts) CHECK(contains(outcome.out, part));
    CHECK(!std::filesystem::exists(files.path("m.npz")));
  };
  std::string percents = "x\n10%\n";
  for (int i = 2; i <= 30; ++i) percents += fmt::format("{}\n", 10 * i);
  refused(file + " --x " + files.write("percents.csv", percents), 3,
          {"percents.csv:2", "has a number with a percent sign here", "percents.csv:3"});
  const std::string short_x = files.write("short.npy", npy(std::vector<double>(29, 1)));
  refused(file + " --x " + short_x, 3, {"20 × 24 × 30", "29 values", "no axis"});
  refused(file + " --axis 2 --x " + short_x, 3, {"axis 2 has 30 points", "29 values"});
  refused(file + " --axis 3", 2, {"--axis 3", "3 axes", "-3 to 2"});
  refused(file + " --mask " + files.write("m.npy", npy(std::vector<double>(480, 1), "(24, 20)")), 3,
          {"--mask has the shape 24 × 20", "needs 20 × 24"});
  refused(file + " --mask " + files.write("m.npy", npy(std::vector<double>(480, 0), "(20, 24)")), 3,
          {"--mask is 0 everywhere"});
  refused(file + " --mask " + files.write("m.npy", npy(std::vector<double>(480, 0.5), "(20, 24)")), 3,
          {"m.npy[0, 0]", "0.5", "true or 1"});
  refused(file + " --sigma " + files.write("s.npy", npy(std::vector<double>(480, 1), "(20, 24)")), 3,
          {"--sigma has the shape 20 × 24", "needs 20 × 24 × 30"});
  refused(file + " --sigma -1", 2, {"--sigma -1", "positive"});
  refused(files.write("square.npy", npy(std::vector<double>(900, 1), "(30, 30)")) + " --x 1:30:30", 2,
          {"30 × 30", "--axis 0 or --axis 1"});
  refused(files.write("column.npy", npy(cube.x)), 3, {"1 dimension"});
  refused(files.write("text.csv", "1,2\n"), 3, {"text.csv", ".npy"});
  refused(file + " " + files.write("more.npy", cube.file()), 2, {"2 files are given"});
  refused(file + " --y 2", 2, {"--y is of tables"});
  refused(file + " --confidence 0.9", 2, {"--confidence is of intervals, and maps have none"});
  for (const char* const option : {"--delimiter ,", "--header no", "--skip 2", "--comment %", "--decimal ,"})
    refused(file + " --x 1:30:30 " + option, 2, {"is of texts, and --maps fits an array"});
  refused(file + " --memory 300M", 2, {"--memory is of the columns of a table", "leave it out"});
  refused(file + " --scratch /tmp", 2, {"--scratch is of the columns of a table", "leave it out"});
  refused(file + " --header no --x " + files.write("t.npy", npy(cube.x)), 2,
          {"--header is of texts", "t.npy"});
  refused(file + " --trace", 2, {"--trace is of one fit"});
  const Outcome table = run(file + " --model exp");
  CHECK(table.status == 3);
  CHECK(contains(table.out, "--maps FILE.npz"));
  const Outcome alone = run(file + " --model exp --mask x.npy");
  CHECK(alone.status == 2);
  CHECK(contains(alone.out, "need --maps"));
  const Outcome name = run(file + " --model 'cost*exp(-b*x)' --maps " + files.path("m.npz"));
  CHECK(name.status == 2);
  CHECK(contains(name.out, "cost is the name of another map"));
  const Outcome bound = run(file + " --model 'a*exp(-b*x)+a_at_bound' --maps " + files.path("m.npz"));
  CHECK(bound.status == 2);
  CHECK(contains(bound.out, "a_at_bound is the name of another map"));
}

TEST_CASE("Commands that are refused or interrupted write no maps") {
  const Scratch files;
  const Cube cube;
  const std::string file = files.write("cube.npy", cube.file());
  const Outcome nowhere = run(file + " --model exp --maps " + files.path("no/such/maps.npz"));
  CHECK(nowhere.status == 3);
  CHECK(contains(nowhere.out, "cannot write"));
  const Outcome over = run(file + " --model exp --maps " + file);
  CHECK(over.status == 2);
  CHECK(contains(over.out, "overwrite the input"));
  CHECK(files.read("cube.npy") == cube.file());
  const std::string start = files.write("start.json", R"({"a": 3, "b": 0.5, "c": 1})");
  const Outcome start_over = run(file + " --model exp --p0 @" + start + " --maps " + start);
  CHECK(start_over.status == 2);
  CHECK(contains(start_over.out, "would overwrite"));
  files.write("old.npz", "as before");
  // Each pixel is fitted from a thousand starts, so that the signal comes before the end.
  const Outcome stopped = run(file + " --model exp --starts 1000 --maps " + files.path("old.npz"),
                              "timeout --preserve-status --signal=INT 0.5");
  CHECK(stopped.status == 130);
  CHECK(files.read("old.npz") == "as before");
  CHECK(files.files() == 3);
}
