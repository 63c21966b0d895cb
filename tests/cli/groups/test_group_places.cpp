// Tests that the reasons of groups that did not succeed name places in the file.
#include "cli/program.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace program;
using nlohmann::json;

namespace {

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line));
  return out;
}

}  // namespace

TEST_CASE("The message of a group names the line of the file, not the row within the group") {
  const Scratch files;
  const std::string table = files.write("log.csv",
                                        "# a comment\nx,y,g\n1,1,a\n-1,3,b\n2,2,a\n1,2,b\n3,3,a\n2,4,b\n"
                                        "4,4.1,a\n0,4,c\n3,5,b\n1,2,c\n2,3,c\n3,4.2,c\n");
  const std::string fit = " --model 'a*log(x)+b*x' --group-by g ";
  const auto message = [&](const std::string& line) {
    return "the residual of " + table + ":" + line + " is not finite";
  };
  for (const std::string share : {"", "--share b "}) {
    const Outcome outcome = run(table + fit + share);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "b: " + message("4")));
    CHECK(contains(outcome.out, "c: " + message("10")));
  }
  const std::vector<json> lines = lines_of(run(table + fit + "--where 'x != 1' --quiet --json -").out);
  REQUIRE(lines.size() == 4);
  CHECK(contains(lines[0]["message"], message("4")));  // without its rows of x = 1, group a begins after b
  CHECK(lines[1]["message"] == "");
  CHECK(contains(lines[2]["message"], message("10")));

  const Outcome none = run(table + fit + "--share b --where 'g != \"a\"'");
  CHECK(none.status == 3);
  CHECK(contains(none.out, "the first: " + message("4")));
}

TEST_CASE("The message of one of several responses names the line of the file") {
  const Scratch files;
  const std::string table = files.write("log.csv", "x,y,z\n1,1,2\n2,2,3\n0,3,1\n3,4,2\n4,5,2\n");
  const Outcome outcome = run(table + " --model 'a*log(x)+b*x' --y y,z");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "y: the residual of " + table + ":4 is not finite"));
  CHECK(contains(outcome.out, "z: the residual of " + table + ":4 is not finite"));
}
