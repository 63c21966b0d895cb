// Tests that bad cells are no errors in rows that --where or --range leaves out, and that in rows that are
// fitted they are errors with their place.
#include "cli/program.hpp"

#include <doctest/doctest.h>

using namespace program;

namespace {

// Returns a table whose rows of site "a" lie about a line. Its only row of site "b" has `cell` as v.
std::string line_with(const std::string& cell) {
  std::string text = "site,t,v\n";
  for (int t = 0; t < 8; ++t)
    text += "a," + std::to_string(t) + "," + std::to_string(2 * t + t % 2) + (t == 3 ? "\nb,9," + cell : "") +
            "\n";
  return text;
}

}  // namespace

TEST_CASE("a bad cell in a row that --where leaves out is no error") {
  const Scratch files;
  for (const char* const cell : {"broken", "", "NA", "1e999", "inf", "0x1p3", "1;5", "oops # a comment"}) {
    CAPTURE(cell);
    const std::string table = files.write("d.csv", line_with(cell));
    const std::string fit = table + " --x t --y v --model linear --quiet --json - ";
    const Outcome left_out = run(fit + "--where 'site == \"a\"'");
    CHECK(left_out.status == 0);
    const nlohmann::json object = nlohmann::json::parse(left_out.out, nullptr, false);
    REQUIRE(object.is_object());
    CHECK(object["rows"] == 8);
    CHECK(object["excluded"] == 1);
    CHECK(run(fit + "--where 't < 9'").status == 0);

    const Outcome fitted = run(fit + "--where 't < 20'");
    CHECK(fitted.status == 3);
    CHECK(contains(fitted.out, table + ":6:5: "));
    const std::string whole = run(fit).out;
    if (!contains(cell, "#")) CHECK(fitted.out == whole);
    const Outcome by_cell = run(fit + "--where 'v < 100'");  // the condition needs the cell
    if (std::string_view(cell) == "inf") CHECK(by_cell.status == 0);
    else CHECK(by_cell.out == whole);
  }
}

TEST_CASE("conditions compare infinite cells, which are errors in rows that are fitted") {
  const Scratch files;
  const std::string rows = "1,1.1,0.1\n2,3.9,0.2\n3,9.2,0.1\n4,15.8,INF # masked\n5,25.3,0.2\n6,35.7,-inf\n";
  const std::string table = files.write("s.csv", std::string("x,y,s\n").append(rows)),
                    part = files.write("t.csv", "s,y,x\n0.3,49,7\n");
  const std::string fit = table + " --model 'a*x^b' --sigma s --quiet --json - --where ";
  for (const std::string& input : {fit, table + " " + part + fit.substr(table.size())}) {
    CAPTURE(input);
    const Outcome masked = run(input + "'s < 1e9 && s > 0'");
    REQUIRE(masked.status == 0);
    const nlohmann::json object = nlohmann::json::parse(masked.out, nullptr, false);
    CHECK(object["excluded"] == 2);
    CHECK(object["rows"] == (input == fit ? 4 : 5));
    CHECK(run(input + "'s > 0 && x > 0 && y > 0 && s < 1e9'").status == 0);  // all columns are compared
    const Outcome kept = run(input + "'s > 0'");
    CHECK(kept.status == 3);
    CHECK(contains(kept.out, table + ":5:8: 'INF' in column 3 (s) is not a finite number"));
  }
  CHECK(run(table + " --model 'a*x^b' --sigma s --quiet").status == 3);
}

TEST_CASE("comments, groups, dates and several files with bad cells that --where leaves out") {
  const Scratch files;
  const std::string commented =
      files.write("c.csv", "t,v\n1,2 # good\n2,bad # left out\n3,4.1 # good\n4,5\n5,6.2\n");
  const std::string fit = " --model linear --quiet --json - ";
  CHECK(run(commented + fit + "--where 't != 2'").status == 0);
  CHECK(run(commented + fit).status == 3);

  const std::string grouped =
      files.write("g.csv", "g,t,v\n,0,1\na,1,2\na,2,3\na,3,4.1\nb,1,2\nb,2,3\nb,3,4.2\nb,9,x\n");
  const std::string by_group = grouped + " --x t --y v --model linear --group-by g --quiet --csv - ";
  const Outcome groups = run(by_group + "--where 't > 0 && t < 9'");
  CHECK(groups.status == 0);
  CHECK(contains(groups.out, "\na,3,"));
  CHECK(contains(groups.out, "\nb,3,"));
  CHECK(run(by_group + "--where 't > 0'").status == 3);
  CHECK(
      contains(run(by_group + "--where 't < 9'").out, grouped + ":2:1: a value is missing in column 1 (g)"));

  const std::string dates =
      files.write("t.csv", "day,v\n2024-01-01,1\n2024-01-02,2.1\nlater,3\n2024-01-04,3.9\n2024-01-05,5\n");
  CHECK(run(dates + fit + "--where 'v != 3'").status == 0);

  const std::string a = files.write("a.csv", "t,v\n1,2\n2,3\n3,x\n"),
                    b = files.write("b.csv", "v,t\n4.8,4\ny,5\n7,6\n");
  CHECK(run(a + " " + b + " --x t --y v" + fit + "--where 't != 3 && t != 5'").status == 0);
  CHECK(contains(run(a + " " + b + " --x t --y v" + fit + "--where 't != 3'").out,
                 b + ":3:1: 'y' in column 1"));
}

TEST_CASE("a bad cell in a row that --range leaves out is no error") {
  const Scratch files;
  for (const char* const cell : {"broken", "", "NA", "1e999", "inf", "0x1p3", "oops # a comment"}) {
    CAPTURE(cell);
    const std::string table = files.write("d.csv", line_with(cell));
    const std::string fit = table + " --x t --y v --model linear ";
    const Outcome left_out = run(fit + "--range :8");
    CHECK(left_out.status == 0);
    CHECK(contains(left_out.out, "8 rows fitted, 1 left out (1 by --range)"));
    CHECK(fit_json(fit + "--range :8")["excluded"] == 1);
    const Outcome fitted = run(fit + "--range :9");
    CHECK(fitted.status == 3);
    CHECK(contains(fitted.out, table + ":6:5: "));
    // --where decides about the bad row first, so that x is needed only in the rows that it leaves.
    CHECK(run(fit + "--where 't != 9' --range 0:20").status == 0);
    CHECK(run(fit + "--where 't != 7' --range 0:8").status == 0);
    CHECK(run(fit + "--where 't != 7' --range 0:20").status == 3);
    // If the bad cell is x itself, nobody can know whether its row is left out.
    const std::string turned = table + " --x v --y t --model linear ";
    const Outcome ranged = run(turned + "--range :8");  // it needs the cell, and infinity is beyond the limit
    if (std::string_view(cell) == "inf") CHECK(ranged.status == 0);
    else CHECK(contains(ranged.out, table + ":6:5: "));
    CHECK(contains(run(turned + "--range :8 --where 't < 20'").out, table + ":6:5: "));
    CHECK(contains(run(table + " --x 'max(v,100)' --y t --model linear --range :8 --where 't < 20'").out,
                   table + ":6:5: "));
    CHECK(run(turned + "--range :8 --where 't < 9'").status == 0);
  }
}

TEST_CASE("groups, several files, percent signs and sigmas that --range leaves out") {
  const Scratch files;
  const std::string grouped = files.write(
      "g.csv", "g,t,v,s\n,0,1,1\na,1,2,1\na,2,3,1\na,3,4.1,1\nb,1,2,1\nb,2,3,1\nb,3,4.2,1\nb,9,5%,0\n");
  const std::string by_group =
      grouped + " --x t --y v --sigma s --model linear --group-by g --quiet --csv - ";
  CHECK(run(by_group + "--range 1:8").status == 0);
  CHECK(contains(run(by_group + "--range 0:8").out, grouped + ":2:1: a value is missing in column 1 (g)"));
  CHECK(contains(run(by_group + "--range 1:9").out, "percent sign"));

  const std::string percents = files.write("p.csv", "t,v\n10%,1\n20%,2.1\n30%,2.9\n40%,4\n50,5\n");
  CHECK(contains(run(percents + " --model linear --range :1").out, "percent sign"));

  const std::string a = files.write("a.csv", "t,v\n1,2\n2,3\n3,x\n"),
                    b = files.write("b.csv", "v,t\n4.8,2.5\ny,5\n7,1.5\n");
  const std::string both = a + " " + b + " --x t --y v --model linear ";
  CHECK(run(both + "--range :2.9").status == 0);
  CHECK(contains(run(both + "--range :3").out, a + ":4:3: 'x' in column 2"));
}

TEST_CASE("conditions warn where whole numbers from 2^53 on count as equal that differ in the file") {
  const Scratch files;
  const std::string data = files.write("d.csv",
                                       "id,x,y,k\n9007199254740991,1,1,1\n9007199254740992,2,2.1,2\n"
                                       "9007199254740993,3,2.9,3\n9007199254740996,4,4.1,4\n5,5,5.2,5\n");
  const std::string fit = data + " --x x --y y --model linear --where ";
  const Outcome merged = run(fit + "'id != 9007199254740992'");
  CHECK(merged.status == 0);
  CHECK(contains(merged.out, "3 rows fitted, 2 left out"));
  CHECK(
      contains(merged.out,
               "Warning: --where id != 9007199254740992: float64 does not tell whole numbers from 2^53 on "
               "apart, so 9007199254740992 in column 1 (id) may count as equal to its neighbours: write the "
               "number in quotes"));
  const Outcome by_text = run(fit + "'id != \"9007199254740992\"'");
  CHECK(contains(by_text.out, "4 rows fitted, 1 left out"));
  CHECK_FALSE(contains(by_text.out, "Warning: --where"));
  CHECK(contains(run(fit + "'id <= 9007199254740992'").out, "compare a column with fewer digits"));
  for (const char* const sound : {"'id != 5'", "'id != 9007199254740991'", "'id < 1e17'", "'id != k'"})
    CHECK_FALSE(contains(run(fit + sound).out, "Warning: --where"));
}
