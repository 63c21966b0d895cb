// Arguments that cannot be meant are refused, with words that say what was found and what would do.
#include "cli/program_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace program;

namespace {

// Runs the program and checks that it refuses the arguments with status 2 and these words.
void refuses(const std::string& arguments, const std::string& words) {
  CAPTURE(arguments);
  const Outcome outcome = run(arguments);
  CAPTURE(outcome.out);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, words));
}

}  // namespace

TEST_CASE("an option that takes one value and is given twice is named so") {
  refuses(kDecay + " --model exp --model linear", "--model is given twice: exp and linear; give it once");
  refuses(kDecay + " --model exp --json a --json b --json c", "--json is given 3 times: a and b and c");
  refuses(kDecay + " --model exp --strategy dogleg --algorithm dogleg", "is given twice: dogleg and dogleg");
  refuses(kDecay + " --model", "--model needs a value: --model NAME|SUM|FORMULA");
}

TEST_CASE("--skip concerns the data alone, and says how many lines a file has that has fewer") {
  const Scratch files;
  std::string text = "a preamble\nof two lines\nt,v\n", points = "t\n";
  for (int t = 0; t < 8; ++t) {
    text += std::to_string(t) + "," + std::to_string(2 * t + t % 2) + "\n";
    points += std::to_string(t) + "\n";
  }
  const std::string data = files.write("d.csv", text), at = files.write("p.csv", points);
  const Outcome outcome = run(data + " --skip 2 --x t --y v --model linear --quiet --csv - --predict " + at);
  CHECK(outcome.status == 0);
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 9);
  for (const char* const skip : {"11", "12", "300"}) {
    const Outcome none = run(data + " --model linear --skip " + skip);
    CHECK(none.status == 3);
    CHECK(contains(none.out, data + ": --skip " + skip + " leaves nothing: the file has only 11 lines"));
  }
  const std::string open_end = files.write("e.csv", "t,v\n1,2");
  CHECK(contains(run(open_end + " --model linear --skip 5").out, "the file has only 2 lines"));
}

TEST_CASE("--thousands that is given already is no advice") {
  const Scratch files;
  const std::string points = files.write("p.csv", "t;v\n1;1.234\n2;1.5\n3;2.345\n");
  const Outcome outcome = run(points + " --model linear --thousands .");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out,
                 "'1.5' in column 2 (v) is not a number; --thousands '.' separates groups of "
                 "exactly three digits; if '.' means something else here, leave --thousands out"));
  const std::string commas = files.write("c.csv", "t;v\n1;1,234\n2;1,5\n3;2,345\n");
  CHECK(contains(run(commas + " --model linear --thousands ,").out, "give --decimal , instead"));
  // Without the option it is the advice, as before.
  CHECK(contains(run(commas + " --model linear").out, "for a thousands separator give --thousands ,"));
}

TEST_CASE("lists where one column is expected say how many are expected for what") {
  const Scratch files;
  const std::string table = files.write("d.csv", "t,v,s,\"u,w\"\n1,2,1,1\n2,3,1,1\n3,4.1,1,1\n4,5,1,1\n");
  const std::string fit = table + " --model linear --x t --y v ";
  refuses(fit + "--sigma s,s",
          "--sigma s,s: 2 columns are given, and one is expected: the standard deviations");
  refuses(fit + "--sigma s --sigma-x 1,2",
          "--sigma-x 1,2: 2 parts are given, and --x chose 1 column: give one for each");
  refuses(table + " --model 'a*x1+b*x2' --x t,s --y v --sigma s --sigma-x s",
          "--sigma-x s: 1 part is given, and --x chose 2 columns");
  refuses(fit + "--group-by s,t", "--group-by s,t: give one column");
  CHECK(run(fit + "--sigma u,w --quiet").status == 0);  // the name of one column
  CHECK(run(fit + "--sigma 'max(s,1)' --quiet").status == 0);
}
