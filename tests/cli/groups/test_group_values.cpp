// Tests which values nlsq-fit --group-by takes as groups, and the messages about parameters on a bound.
#include "cli/groups/sites.hpp"
#include "cli/program.hpp"

#include <doctest/doctest.h>

using namespace program;
using namespace sites_of_groups;
using nlohmann::json;

TEST_CASE("A parameter on a bound says so in the table and in the JSON of groups") {
  const Scratch files;
  const std::string table = files.write("d.csv", sites({"a", "b"}, 30));
  for (const std::string more : {"", "--share b "}) {
    CAPTURE(more);
    const Outcome report = run(table + kFit + more + "--bounds b=1:2,c=:0.5");
    CHECK(contains(report.out, "at bound"));
    CHECK(contains(report.out, "0.5 at bound"));
    CHECK(!contains(report.out, "undefined"));
    const std::vector<json> lines =
        lines_of(run(table + kFit + more + "--bounds b=1:2,c=:0.5 --quiet --json -").out);
    REQUIRE(lines.size() == 3);
    const json& parameters = lines[0]["parameters"];
    CHECK(parameters[0]["at_bound"] == false);
    CHECK(parameters[1]["at_bound"] == (parameters[1]["value"] == 1 || parameters[1]["value"] == 2));
    CHECK(parameters[2]["at_bound"] == true);
  }
  const Outcome shared = run(table + kFit + "--share c --bounds c=:0.5");
  CHECK(contains(shared.out, "0.5    at bound"));
  const std::vector<json> lines =
      lines_of(run(table + kFit + "--share c --bounds c=:0.5 --quiet --json -").out);
  CHECK(lines.back()["shared"][0]["at_bound"] == true);
}

TEST_CASE("none and signs are names of groups; empty cells, NA, NaN and null are missing") {
  const Scratch files;
  const std::string table = files.write("d.csv", sites({"none", "-", "a"}, 30));
  const Outcome named = run(table + kFit + "--quiet --csv -");
  CHECK(named.status == 0);
  CHECK(contains(named.out, "\nnone,30,"));
  CHECK(contains(named.out, "\n-,30,"));
  for (const char* const missing : {"", "NA", "n/a", "NaN", "null"}) {
    CAPTURE(missing);
    const std::string lacking = files.write("m.csv", sites({"a", "b"}, 30) + missing + ",1,2\n");
    CHECK(contains(run(lacking + kFit).out, "is missing in column 1 (site)"));
    CHECK(run(lacking + kFit + "--quiet --missing drop").status == 0);
  }
}

TEST_CASE("Warnings of groups are in the report, once for each kind, and in the JSON") {
  const Scratch files;
  const std::string table = files.write("d.csv", sites({"a", "b"}, 30));
  const Outcome report = run(table + kFit + "--fix c");
  CHECK(contains(report.out, "Warning: 2 groups, the first is a: c is fixed at a first guess"));
  const std::vector<json> lines = lines_of(run(table + kFit + "--fix c --quiet --json -").out);
  REQUIRE(lines.size() == 3);
  for (std::size_t g = 0; g < 2; ++g) {
    REQUIRE(lines[g]["warnings"].size() == 1);
    CHECK(contains(lines[g]["warnings"][0].get<std::string>(), "c is fixed at a first guess"));
  }
  CHECK(lines_of(run(table + kFit + "--quiet --json -").out)[0]["warnings"].empty());
}
