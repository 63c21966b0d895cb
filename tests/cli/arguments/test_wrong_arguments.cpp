// Tests that arguments that make no sense are refused, with words that say what was found and what would be
// right.
#include "cli/program_data.hpp"
#include "cli/zip_support.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

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

TEST_CASE("an option that takes one value and is given twice is refused by name") {
  refuses(kDecay + " --model exp --model linear", "--model is given twice: exp and linear; give it once");
  refuses(kDecay + " --model exp --json a --json b --json c", "--json is given 3 times: a and b and c");
  refuses(kDecay + " --model exp --strategy dogleg --algorithm dogleg", "is given twice: dogleg and dogleg");
  refuses(kDecay + " --model", "--model needs a value: --model NAME|SUM|FORMULA");
}

TEST_CASE("a wrong number, option or folder gets a message that says what is expected") {
  refuses(kDecay + " --model exp --confidence 95", "must lie between 0 and 1; for 95 % write 0.95");
  refuses(kDecay + " --model exp --p0 b=abc", "--p0 b=abc: not a number");
  refuses(kDecay + " --model exp -x day", "-x; did you mean '--x'?");
  refuses(kDecay + " -model exp", "did you mean '--model'?");
  const Scratch files;
  const std::string folder = files.path("nowhere");
  for (const std::string option : {"--json", "--csv", "--residuals", "--report", "--plot"}) {
    const std::string name = option == "--report" ? "/a.html" : "/a.svg";
    const Outcome outcome = run(kDecay + " --model exp --predict 0:1:2 " + option + " " + folder + name);
    CAPTURE(outcome.out);
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.out, "cannot write: there is no folder " + folder));
    CHECK_FALSE(contains(outcome.out, "Result"));  // the error comes before the fit
  }
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

TEST_CASE("options of texts are refused where no text is read") {
  const Scratch files;
  const std::string numbers = zip_support::npy({0, 1, 1, 3, 2, 5.5, 3, 7}, "(4, 2)");
  const std::string array = files.write("a.npy", numbers), more = files.write("b.npy", numbers);
  const std::string archive = files.write(
      "c.npz",
      zip_support::zip({{"t.npy", zip_support::npy({0, 1, 2})}, {"v.npy", zip_support::npy({1, 3, 5.5})}},
                       false));
  const std::string text = files.write("t.csv", "0;1\n1;3\n2;5.5\n3;7\n");
  const std::pair<std::string, std::string> options[] = {{"--delimiter", ";"}, {"--decimal", ","},
                                                         {"--thousands", "."}, {"--header", "no"},
                                                         {"--comment", "%"},   {"--max-line", "65536"}};
  for (const auto& [option, value] : options) {
    const std::string given = fmt::format(" --model linear {} '{}'", option, value);
    const std::string words = option + " is of texts, and ";
    refuses(array + given, words + array + " is no text: leave it out");
    refuses(archive + given, words + archive + " is no text");
    refuses(array + " " + more + given, words + array + " and 1 more is no text");
    refuses(array + given + " --predict " + more, words + array + " is no text");
    refuses(array + given + " --predict 0:1:3", words + array + " is no text");
    refuses(array + given + " --x 1 --y 2 --group-by 1", words + array + " is no text");
  }
  // One text among the files is enough, because the option is for it.
  for (const std::string& read :
       {array + " " + text, text + " " + array, text + " --predict " + array, array + " --predict " + text}) {
    CAPTURE(read);
    const Outcome outcome = run(read + " --model linear --quiet --x 1 --y 2 '--delimiter=;' --header no");
    CAPTURE(outcome.out);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("the message does not advise --thousands if it is given already") {
  const Scratch files;
  const std::string points = files.write("p.csv", "t;v\n1;1.234\n2;1.5\n3;2.345\n");
  const Outcome outcome = run(points + " --model linear --thousands .");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out,
                 "'1.5' in column 2 (v) is not a number; --thousands '.' separates groups of "
                 "exactly three digits; if '.' means something else here, leave --thousands out"));
  const std::string commas = files.write("c.csv", "t;v\n1;1,234\n2;1,5\n3;2,345\n");
  CHECK(contains(run(commas + " --model linear --thousands ,").out, "give --decimal , instead"));
  // Without the option, the message advises to give it.
  CHECK(contains(run(commas + " --model linear").out, "for a thousands separator give --thousands ,"));
}

TEST_CASE("a list with the wrong number of columns is refused, and the message says how many are expected") {
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
  CHECK(run(fit + "--sigma u,w --quiet").status == 0);  // this is the name of one column
  CHECK(run(fit + "--sigma 'max(s,1)' --quiet").status == 0);
}

TEST_CASE("dates in other forms, half a grid, and text above a table are refused with a remedy") {
  const Scratch files;
  for (const char* const date :
       {"01/03/2024", "1.3.2024", "3-Mar-24", "2024/03/01", "March 3 2024", "9:05"}) {
    CAPTURE(date);
    const std::string table =
        files.write("d.csv", "t;v\n" + std::string(date) + ";2\n" + date + ";3\n" + date + ";4\n");
    const Outcome outcome = run(table + " --model linear");
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.out,
                   "is not a number; dates and times are read if they are written as 2024-03-01, "
                   "2024-03-01T12:00:00 or 12:00:00"));
  }
  refuses(kDecay + " --model exp --range 01/03/2024:", "or with dates as 2024-03-01");
  for (const char* const half : {"0:10", "0:", ":10", "0:10:", "0:10:many", "2024-03-01:2024-03-05"})
    refuses(kDecay + " --model exp --predict " + half,
            "for N points from A to B write A:B:N, as in 0:10:100");

  const std::string above = files.write("p.csv", "Measured by Joe\nt,v\n1,2\n2,3\n3,4.1\n");
  const Outcome outcome = run(above + " --model linear");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "if this is text above the table, skip its lines: --skip LINES"));
  CHECK(run(above + " --model linear --skip 1 --quiet").status == 0);
  const std::string words = files.write("w.csv", "name\nJoe\nt,v\n1,2\n2,3\n3,4.1\n");
  CHECK(contains(run(words + " --model linear --x 1 --y 1").out, "--skip"));
}

TEST_CASE("an empty value and a page of the help that does not exist are refused") {
  for (const char* const option :
       {"--x", "--y", "--sigma", "--where", "--group-by", "--range", "--json", "--plot", "--predict", "--p0",
        "--starts", "--delimiter", "--rule", "--optimize"})
    refuses(kDecay + " --model exp " + option + " ''", std::string(option) + ": the value is empty; give ");
  refuses(kDecay + " --model exp --x ' '", "--x: the value is empty; give EXPR,..., or leave it out");
  refuses("'' --model exp", "FILE: the value is empty; give a file");
  CHECK(run(kDecay + " --model exp --comment '' --quiet").status == 0);
  refuses("--help foo", "--help foo: there is no such page; --help has all options, --help formulas");
  CHECK(run("--help formulas").status == 0);
  CHECK(run("--help --quiet").status == 0);
  CHECK(run(kDecay + " --help").status == 0);
}
