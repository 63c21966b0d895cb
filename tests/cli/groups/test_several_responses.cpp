// Tests nlsq-fit --y a,b,c if rows lack some of the responses.
#include "cli/program.hpp"
#include "cli/zip_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

using namespace program;
using nlohmann::json;

namespace {

// Returns decays p and q. Most rows have both. Cells that lack a number hold `missing`.
std::string decays(const std::string& missing) {
  std::string text = "t,p,q\n";
  for (int i = 0; i < 30; ++i) {
    const double t = 0.2 * i, wave = 0.02 * std::sin(7.0 * i);
    const std::string p = std::to_string(4 * std::exp(-0.8 * t) + 1 + wave),
                      q = std::to_string(6 * std::exp(-0.5 * t) + 2 - wave);
    text += std::to_string(t) + "," + (i % 7 == 3 ? missing : p) + "," + (i % 10 == 4 ? missing : q) + "\n";
  }
  return text;
}

json line_of(const std::string& text, std::size_t which) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t k = 0; k <= which; ++k) std::getline(lines, line);
  return json::parse(line, nullptr, false);
}

}  // namespace

TEST_CASE("A row that lacks one of several responses is left out only from the fit of that response") {
  const Scratch files;
  const std::string fit = " --x t --model exp --missing drop --quiet --json - ";
  for (const char* const missing : {"", "NA"}) {
    CAPTURE(missing);
    const std::string table = files.write("d.csv", decays(missing));
    const std::string both = run(table + fit + "--y p,q").out;
    CHECK(line_of(both, 0)["rows"] == 26);
    CHECK(line_of(both, 1)["rows"] == 27);
    CHECK(line_of(both, 2)["excluded"] == 0);
    CHECK(line_of(both, 2)["missing_y"] == 7);
    const char* const names[] = {"p", "q"};
    for (std::size_t k = 0; k < 2; ++k) {
      const json alone = json::parse(run(table + fit + "--y " + names[k]).out);
      CHECK(line_of(both, k)["parameters"][1]["value"].get<double>() ==
            doctest::Approx(alone["parameters"][1]["value"].get<double>()).epsilon(1e-9));
    }
    // An expression is missing if one of its columns is. A value that it cannot compute is an error, as
    // before.
    CHECK(line_of(run(table + fit + "--y p,q/2").out, 1)["rows"] == 27);
    const Outcome computed = run(table + fit + "--y 'p,log(q-3)'");
    CHECK(computed.status == 3);
    CHECK(contains(computed.out, "y = log(q-3) is not a number here"));
    CHECK(line_of(run(table + fit + "--y p,q --range 0.5:").out, 2)["rows"] == 27 * 2 - 4 - 3);
  }
}

TEST_CASE("The report of several responses says how many values of y are missing") {
  const Scratch files;
  const std::string table = files.write("d.csv", decays("NA"));
  const Outcome report = run(table + " --x t --y p,q --model exp --missing drop");
  CHECK(contains(report.out, "7 missing values of y left out, each from its own group alone"));
  CHECK(run(table + " --x t --y p,q --model exp").status == 3);
  const Outcome all = run(files.write("n.csv", "t,p,q\n1,2,\n2,3,\n3,4,\n4,6,\n") +
                          " --x t --y p,q --model linear --missing drop");
  CHECK(all.status == 3);
  CHECK(contains(all.out, "y = q is missing in all 4 rows; leave it out of --y"));
}

TEST_CASE("Rows that x lacks are left out of all responses, and places are those of the file") {
  const Scratch files;
  const std::string table =
      files.write("d.csv", "x,y,z\n1,1,2\n,2,3\n2,,3\n0,3,1\n3,4,2\n4,5,2\n5,6,\n6,7,3\n");
  const Outcome outcome = run(table + " --model 'a*log(x)+b*x' --y y,z --missing drop");
  CHECK(contains(outcome.out, "y: the residual of " + table + ":5 is not finite"));
  CHECK(contains(outcome.out, "z: the residual of " + table + ":5 is not finite"));
  CHECK(contains(outcome.out, "1 left out (1 by --missing drop)"));
}

TEST_CASE("Several files and arrays lack responses as one text does") {
  const Scratch files;
  const std::string a = files.write("a.csv", "t,p,q\n1,2.1,\n2,2.9,1\n3,,2.1\n4,5,2.9\n"),
                    b = files.write("b.csv", "q,t,p\n4.1,5,\n5,6,7.1\n,7,8\n");
  const std::string fit = " --x t --y p,q --model linear --missing drop --quiet --csv -";
  const Outcome joined = run(a + " " + b + fit);
  CHECK(contains(joined.out, "\np,5,"));
  CHECK(contains(joined.out, "\nq,5,"));

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string columns = " --x 1 --y 2,3 --model linear --missing drop --quiet --csv -";
  const std::string array =
      zip_support::npy({1, 2.1, nan, 2, 2.9, 1, 3, nan, 2.1, 4, 5, 2.9, 5, 6, 4}, "(5, 3)");
  const std::string archive = zip_support::zip({{"A.npy", array}}, false);
  for (const std::string& file : {files.write("a.npy", array), files.write("a.npz", archive)}) {
    const std::string out = run(file + columns).out;
    CHECK(std::count(out.begin(), out.end(), '\n') == 3);
    CHECK(contains(out, ",4,"));
    CHECK(!contains(out, ",3,"));
  }
}
