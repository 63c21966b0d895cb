// Tests that several files are one table. The results must have the bits of one file with the same rows, and
// every error and every count must name the file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/gzip_support.hpp"
#include "cli/program.hpp"
#include "cli/zip_support.hpp"

using namespace program;

namespace {

// Returns row i of a table with columns x, y, s and the group g, in the given order.
std::string row(int i, const std::string& order) {
  std::string out;
  for (const char column : order) {
    char cell[40] = "";
    const double x = 0.05 * i;
    if (column == 'x') std::snprintf(cell, sizeof cell, "%.17g", x);
    if (column == 'y') std::snprintf(cell, sizeof cell, "%.6f", 3 * std::exp(-0.8 * x) + 0.01 * (i * 7 % 11));
    if (column == 's') std::snprintf(cell, sizeof cell, "%g", 0.1 + 0.01 * (i % 5));
    if (column == 'g') std::snprintf(cell, sizeof cell, "%s", i % 3 == 0 ? "north" : "south");
    if (!out.empty()) out += ',';
    out += cell;
  }
  out += '\n';
  return out;
}

std::string table(int from, int to, const std::string& order = "xysg") {
  std::string out;
  for (const char column : order) {
    if (!out.empty()) out += ',';
    out += column;
  }
  out += '\n';
  for (int i = from; i < to; ++i) out += row(i, order);
  return out;
}

// Returns a .npy file of doubles with two columns.
std::string npy(int from, int to) {
  std::vector<double> values;
  for (int i = from; i < to; ++i) {
    const double x = 0.05 * i;
    values.insert(values.end(), {x, 3 * std::exp(-0.8 * x) + 0.01 * (i * 7 % 11)});
  }
  return zip_support::npy(values, fmt::format("({}, 2)", to - from));
}

// Returns everything except names of files, options and times. It must not depend on the files.
nlohmann::json essence(nlohmann::json fit) {
  for (const char* key : {"files", "options", "time", "source", "data"}) fit.erase(key);
  return fit;
}

struct Tables : Scratch {
  // These are three files with 30, 1 and 49 rows. The third has its columns in another order; the second is
  // compressed.
  std::string one = write("one.csv", table(0, 80));
  std::string parts = write("a.csv", table(0, 30)) + " " +
                      write("b.csv.gz", csv_support::gzip(table(30, 31))) + " " +
                      write("c.csv", table(31, 80, "gsyx"));
};

void check_same(const Tables& tables, const std::string& options) {
  const nlohmann::json whole = fit_json(tables.one + " " + options);
  const nlohmann::json joined = fit_json(tables.parts + " " + options);
  REQUIRE(whole.is_object());
  REQUIRE(joined.is_object());
  CHECK(essence(joined) == essence(whole));
}

}  // namespace

TEST_CASE("Rows of units of the files of one table, and of points, must agree") {
  const Scratch files;
  const std::string seconds = files.write("s.csv", "t,y\ns,V\n1,3.1\n2,4.9\n3,7.05\n4,9\n");
  const std::string more = files.write("m.csv", "t,y\ns,V\n5,11\n6,13.1\n7,14.9\n");
  const std::string other = files.write("o.csv", "t,y\nms,V\n5000,11\n6000,13.1\n7000,14.9\n");
  const std::string points = files.write("p.csv", "t\nms\n5000\n6000\n");
  CHECK(run(seconds + " " + more + " --model linear --quiet").status == 0);
  const Outcome joined = run(seconds + " " + other + " --model linear --quiet");
  CHECK(joined.status == 3);
  CHECK(contains(joined.out, "column 1 (t) is in ms here, and in s in "));
  const Outcome predicted = run(seconds + " --model linear --quiet --csv - --predict " + points);
  CHECK(predicted.status == 3);
  CHECK(contains(predicted.out, "column 1 (t) is in ms here, and in s in the data"));

  // The unit of a column that has the name of an expression is not that of the expression's first column.
  const std::string two = files.write("t.csv", "a,b,y\ns,V,m\n1,1,1\n2,2,4.1\n3,3,8.9\n4,5,20\n");
  const std::string product = files.write("ab.csv", "a*b\nVs\n3\n4\n");
  CHECK(run(two + " --x 'a*b' --y y --model linear --quiet --csv - --predict " + product).status == 0);
}

TEST_CASE("several files give the bits of one file with the same rows") {
  const Tables tables;
  check_same(tables, "--x x --y y --model exp");
  check_same(tables, "--x x --y y --sigma s --model 'a*exp(-b*x)+c' --certify --p0 a=3,b=0.8,c=0.05");
  check_same(tables, "--x x --y y --model exp --where 'x > 1 && g == \"south\"' --where '$0 < 70'");
  check_same(tables, "--x x --y y --model exp --range 0.5:3 --predict 0:4:5 --bootstrap 20");
  check_same(tables, "--x x --y y --compare exp,linear,constant");
}

TEST_CASE("outputs of rows and groups are those of one file; groups span files") {
  const Tables tables;
  for (const char* options : {"--x x --y y --model exp --residuals - --quiet",
                              "--x x --y y --model linear --group-by g --csv - --quiet",
                              "--x x --y y,s --model linear --csv - --quiet",
                              "--x x --y y --model exp --predict 0:4:9 --csv - --quiet"}) {
    const Outcome whole = run(tables.one + " " + options), joined = run(tables.parts + " " + options);
    CHECK(joined.status == whole.status);
    CHECK(joined.out == whole.out);
    CHECK(joined.out.size() > 50);
  }
}

TEST_CASE("arrays are parts, too, and standard input is one once") {
  const Scratch scratch;
  const std::string one = scratch.write("one.npy", npy(0, 60)), a = scratch.write("a.npy", npy(0, 20)),
                    b = scratch.write("b.npy", npy(20, 60));
  const nlohmann::json whole = fit_json(one + " --model exp");
  REQUIRE(whole.is_object());
  CHECK(essence(fit_json(a + " " + b + " --model exp")) == essence(whole));
  const Outcome piped = run(a + " - --model exp --quiet --json -", "cat " + b + " |");
  CHECK(essence(nlohmann::json::parse(piped.out, nullptr, false)) == essence(whole));
  const Outcome twice = run("- - --model exp", "cat " + b + " |");
  CHECK(twice.status == 2);
  CHECK(contains(twice.out, "standard input (-) is given twice"));
}

TEST_CASE("text and an archive with the same names are one table, and their groups are the same groups") {
  const Scratch scratch;
  const std::string first = "7,1,2\n7,2,4.5\n8,1,3\n", second = "7,3,6\n8,2,5.5\n8,4,9\n";
  const std::string one = scratch.write("one.csv", "k,x,y\n" + first + second),
                    a = scratch.write("a.csv", "k,x,y\n" + first),
                    b = scratch.write("b.npz", zip_support::zip({{"x.npy", zip_support::npy({3, 2, 4})},
                                                                 {"k.npy", zip_support::npy({7, 8, 8})},
                                                                 {"y.npy", zip_support::npy({6, 5.5, 9})}},
                                                                true));
  const std::string options = " --x x --y y --model linear --group-by k --csv - --quiet";
  const Outcome whole = run(one + options), joined = run(a + " " + b + options),
                numbers_first = run(b + " " + a + options);
  CHECK(whole.status == 0);
  CHECK(joined.out == whole.out);
  CHECK(numbers_first.status == 0);
  CHECK(contains(numbers_first.out, "\n7,3,"));
  CHECK(essence(fit_json(a + " " + b + " --x x --y y --model linear")) ==
        essence(fit_json(one + " --x x --y y --model linear")));
}

TEST_CASE("a number of an array is the group that a text of the same value names, however it is written") {
  const Scratch scratch;
  const auto archive = [&](const std::string& name, double group) {
    return scratch.write(name, zip_support::zip({{"x.npy", zip_support::npy({3, 4})},
                                                 {"k.npy", zip_support::npy({group, group})},
                                                 {"y.npy", zip_support::npy({6, 7.5})}},
                                                true));
  };
  const std::string options = " --x x --y y --model linear --group-by k --csv - --quiet";
  const std::string text = scratch.write("a.csv", "k,x,y\n1.0,1,2\n1.0,2,4.5\n");
  for (const std::string& files : {text + " " + archive("b.npz", 1), archive("b.npz", 1) + " " + text}) {
    const Outcome joined = run(files + options);
    CHECK(joined.status == 0);
    CHECK(contains(joined.out, "\n1.0,4,"));
    CHECK(std::ranges::count(joined.out, '\n') == 2);
  }
  const std::string both = scratch.write("c.csv", "k,x,y\n1.0,1,2\n1.0,2,4.5\n01,1,3\n01,2,3\n");
  const Outcome unclear = run(both + " " + archive("b.npz", 1) + options);
  CHECK(unclear.status == 3);
  CHECK(contains(unclear.out, "'1.0' of " + both + " or '01'"));
  CHECK(run(both + " " + archive("b.npz", 2) + options).status == 0);
  const std::string large = scratch.write("d.csv", "k,x,y\n9007199254740993,1,2\n9007199254740993,2,4.5\n");
  const Outcome rounded = run(large + " " + archive("b.npz", 0x1p53) + options);
  CHECK(rounded.status == 3);
  CHECK(contains(rounded.out, "may be '9007199254740993' of " + large + " or another"));
}

TEST_CASE("many files need no more open files than a few, with checksums, too") {
  const Tables tables;
  std::string many;
  for (int k = 0; k < 60; ++k) many += tables.write(fmt::format("m{}.csv", k), table(5 * k, 5 * k + 5)) + " ";
  const Outcome outcome = run(many + "--x x --y y --model exp --quiet --json -", "ulimit -n 30;");
  CHECK(outcome.status == 0);
  const nlohmann::json fit = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE(fit.is_object());
  CHECK(fit["files"].size() == 60);
  CHECK(fit["rows"] == 300);
  CHECK(fit["files"][59]["checksum"].get<std::string>().starts_with("crc32:"));
}

TEST_CASE("dates of all files count from the first one") {
  const Scratch scratch;
  const std::string first = "2024-03-01,1\n2024-03-02,3.1\n2024-03-03,5\n",
                    second = "2024-03-05,9.2\n2024-03-06,11\n";
  const std::string one = scratch.write("one.csv", "t,y\n" + first + second),
                    a = scratch.write("a.csv", "t,y\n" + first), b = scratch.write("b.csv", "t,y\n" + second);
  CHECK(essence(fit_json(a + " " + b + " --model linear")) == essence(fit_json(one + " --model linear")));
}

TEST_CASE("the report counts rows by file, and --json has every file with its rows and checksum") {
  const Tables tables;
  const Outcome few = run(tables.parts + " --x x --y y --model exp");
  CHECK(contains(few.out, "a.csv and 2 more: 3 files ("));
  CHECK(contains(few.out, "b.csv.gz: 1, "));
  CHECK(contains(few.out, "80 rows, 4 columns"));
  const nlohmann::json files = fit_json(tables.parts + " --x x --y y --model exp")["files"];
  REQUIRE(files.size() == 3);
  CHECK(files[0]["rows"] == 30);
  CHECK(files[1]["rows"] == 1);
  CHECK(files[2]["rows"] == 49);
  for (const nlohmann::json& file : files) {
    const std::string name = file["name"];
    CHECK(fit_json(name + " --x x --y y --fix a=1,b=1,c=1 --model 'a*exp(-b*x)+c'")["files"][0] == file);
  }
  std::string many;
  for (int k = 0; k < 6; ++k)
    many += tables.write(fmt::format("m{}.csv", k), table(9 * k, 9 * k + 8 + k % 2)) + " ";
  CHECK(contains(run(many + "--x x --y y --model exp").out, "6 files (8 to 9 rows each), 51 rows"));
}

TEST_CASE("a bad cell in the third file is named by that file, its line and its column") {
  const Tables tables;
  const std::string bad = tables.write("bad.csv", "x,y,s,g\n1,2,0.1,a\n2,oops,0.1,a\n");
  const Outcome outcome = run(tables.parts + " " + bad + " --x x --y y --model exp");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, bad + ":3:3"));
  CHECK(contains(outcome.out, "oops"));
  const std::string zero = tables.write("zero.csv", "x,y,s,g\n1,2,0.1,a\n2,1,0,a\n");
  const Outcome sigma = run(tables.parts + " " + zero + " --x x --y y --sigma s --model exp");
  CHECK(sigma.status == 3);
  CHECK(contains(sigma.out, zero + ":3: sigma is 0"));
}

TEST_CASE("a file with other columns is refused before anything is read, with what it has") {
  const Tables tables;
  const std::string other = tables.write("other.csv", "x,z,s,g\n1,2,3,a\n"),
                    none = tables.write("none.csv", "1,2,3,4\n2,3,4,5\n"),
                    empty = tables.write("empty.csv", "");
  Outcome outcome = run(tables.parts + " " + other + " --x x --y y --model exp");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, other + ":1:1: this file has the columns x, z, s, g"));
  CHECK(contains(outcome.out, "a.csv has the columns x, y, s, g; y is missing here; z is only here"));
  outcome = run(tables.parts + " " + none + " --x x --y y --model exp");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, none + ":1:1: this file has 4 columns without names"));
  outcome = run(tables.parts + " " + empty + " --x x --y y --model exp");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, empty + ":1:1: the input is empty"));
  outcome = run(tables.parts + " missing.csv --x x --y y --model exp");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "missing.csv: cannot open"));
}

TEST_CASE("a file given twice, and an output over any of the files, are refused") {
  const Tables tables;
  Outcome outcome = run(tables.parts + " " + tables.path("./a.csv") + " --x x --y y --model exp");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "its rows would count twice"));
  outcome = run(tables.parts + " --x x --y y --model exp --json " + tables.path("c.csv"));
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "would overwrite the input"));
}
