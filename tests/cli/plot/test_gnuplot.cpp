// Tests that --plot FILE.svg, .png and .pdf runs gnuplot, that this draws what it should, and that no text is
// run.
#include <doctest/doctest.h>

#include "plot/gnuplot.hpp"

#include <filesystem>

#include "cli/markup.hpp"
#include "errors.hpp"
#include "script.hpp"

using namespace program;

namespace {

// Returns a PATH with a folder that has a shell script named gnuplot.
std::string path_with_gnuplot(const Scratch& scratch, const std::string& commands) {
  scratch.write("gnuplot", "#!/bin/sh\n" + commands);
  std::filesystem::permissions(scratch.path("gnuplot"), std::filesystem::perms::owner_all);
  return "PATH='" + scratch.path("") + "':$PATH";
}

}  // namespace

TEST_CASE("pictures have the format of their ending") {
  Scratch scratch;
  const Outcome outcome = run(kDecay + " --model exp --quiet --plot " + scratch.path("p.svg") + " --plot " +
                              scratch.path("p.png") + " --plot " + scratch.path("p.pdf"));
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK(scratch.read("p.png").starts_with("\x89PNG"));
  CHECK(scratch.read("p.pdf").starts_with("%PDF"));
  const std::string svg = scratch.read("p.svg");
  CHECK(markup::fault_of(svg) == "");
  for (const char* const text : {">day<", ">weight<", ">residual<", ">a = 102.684 ± 2.08<", ">fit<",
                                 ">95 % confidence band<", ">normal quantile<"}) {
    CAPTURE(text);
    CHECK(contains(svg, text));
  }
  CHECK(scratch.files() == 3);
}

TEST_CASE("the script that --plot FILE.gp keeps draws the same picture") {
  Scratch scratch;
  CHECK(
      run(kDecay + " --model exp --quiet --plot " + scratch.path("p.gp") + " --plot " + scratch.path("p.svg"))
          .status == 0);
  CHECK(nlsq::cli::run_gnuplot(scratch.read("p.gp"), "p.svg") == scratch.read("p.svg"));
}

TEST_CASE("names of columns, parameters and files run no commands and are shown as they are") {
  Scratch scratch;
  const std::string mark = scratch.path("mark");
  // Each of these would make the file `mark` if gnuplot or a shell ran it.
  const std::vector<std::string> names = {"`touch " + mark + "`",
                                          "'; system('touch " + mark + "'); print '",
                                          "\"\"; system(\"\"touch " + mark + "\"\") #",
                                          "'",
                                          "it's `touch " + mark + "`",
                                          "''`touch " + mark + "`''",
                                          "$(touch " + mark + ")",
                                          "@touch_" + mark,
                                          "a\\",
                                          "{/Bold b}_c^d &lt;<i>"};
  for (const std::string& name : names) {
    CAPTURE(name);
    std::string table = "x,\"" + name + "\"\n";
    for (int i = 0; i < 8; ++i) table += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
    scratch.write("t.csv", table);
    const Outcome outcome = run("'" + scratch.path("t.csv") + "' --model 'a+b*x' --quiet --plot \"" +
                                scratch.path("p.svg") + "\"");
    CAPTURE(outcome.out);
    CHECK(outcome.status == 0);
    CHECK_FALSE(std::filesystem::exists(mark));
    CHECK(markup::fault_of(scratch.read("p.svg")) == "");
  }
  CHECK(contains(scratch.read("p.svg"), "{/Bold b}_c^d &amp;lt;&lt;i>"));
}

TEST_CASE("the name of the picture reaches no shell") {
  Scratch scratch;
  const std::string name = scratch.path("p'; touch mark; '.svg");
  CHECK(run(kDecay + " --model exp --quiet --plot \"" + name + "\"").status == 0);
  CHECK(std::filesystem::exists(name));
  CHECK(scratch.files() == 1);
}

TEST_CASE("many kinds of fits are drawn without a message from gnuplot") {
  Scratch scratch;
  const std::string constant = scratch.write("c.csv", "x,y\n1,5\n2,5\n3,5\n4,5\n");
  const std::string huge = scratch.write("h.csv", "x,y\n1e-300,1e300\n2e-300,3e300\n3e-300,2e300\n");
  const std::string one = scratch.write("o.csv", "x,y\n2,3\n2,4\n2,5\n");
  const std::string two = scratch.write("t.csv", "u,v,w\n1,1,3\n2,1,5\n1,3,5\n4,2,9.9\n");
  const std::string greek = scratch.write("g.csv", "χρόνος,ταχύτητα\n1,2\n2,3.9\n3,6.1\n4,8\n");
  const std::string large = long_table(scratch, 40000);
  for (const std::string& arguments :
       {constant + " --model 'a+b*x'", huge + " --model 'a+b*x'", one + " --model 'a+0*x' --p0 a=1",
        two + " --x u,v --y w --model 'a*u+b*v'", greek + " --x 1 --y 2 --model 'α+β*x'",
        large + " --model exp", kDecay + " --model exp --plot-scale log-log",
        kDecay + " --model exp --sigma 0.5+0*weight --absolute-sigma",
        kDecay + " --model 'a*exp(-b*x)+c' --p0 a=1,b=-50,c=3 --max-iterations 2",
        kDecay + " --model 'a*exp(-b*x)+log(x-50)' --range 60:"}) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments + " --quiet --plot " + scratch.path("p.svg"));
    CAPTURE(outcome.out);
    CHECK(outcome.status <= 1);
    CHECK_FALSE(contains(outcome.out, "gnuplot"));
    CHECK(markup::fault_of(scratch.read("p.svg")) == "");
    std::filesystem::remove(scratch.path("p.svg"));
  }
}

TEST_CASE("without gnuplot the message names the package, before anything is read") {
  Scratch scratch;
  const Outcome outcome = run("/nowhere/data.csv --model exp --plot " + scratch.path("p.svg"),
                              "PATH=/nowhere:" + scratch.path(""));
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "gnuplot is not installed; install the package gnuplot-nox"));
  CHECK(contains(outcome.out, "--plot FILE.gp"));
  CHECK(scratch.files() == 0);
  CHECK(run(kDecay + " --model exp --quiet --plot " + scratch.path("p.gp"), "PATH=/nowhere").status == 0);
}

TEST_CASE("the message of a gnuplot that fails is passed on, and the old file stays") {
  Scratch scratch;
  scratch.write("p.svg", "old");
  const auto fails = [&](const std::string& commands, const std::string& part) {
    CAPTURE(commands);
    const Outcome outcome = run(kDecay + " --model exp --quiet --plot " + scratch.path("p.svg"),
                                path_with_gnuplot(scratch, commands));
    CAPTURE(outcome.out);
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.out, part));
    CHECK(scratch.read("p.svg") == "old");
    CHECK(scratch.files() == 2);
  };
  fails("echo '<svg'; echo ' line 7: out of ink' >&2; exit 1\n",
        "p.svg: gnuplot ended with status 1: line 7: out of ink");
  fails("exit 0\n", "p.svg: gnuplot wrote nothing");
  fails("kill -9 $$\n", "p.svg: gnuplot was ended by signal 9");
  fails("exit 300\n", "gnuplot ended with status");
  scratch.write("gnuplot", "no program");
  CHECK(
      run(kDecay + " --model exp --quiet --plot " + scratch.path("p.svg"), "PATH='" + scratch.path("") + "'")
          .status == 3);
  CHECK(scratch.read("p.svg") == "old");
}

TEST_CASE("a picture that cannot be written leaves nothing behind") {
  Scratch scratch;
  const Outcome outcome = run(kDecay + " --model exp --quiet --plot " + scratch.path("no/folder/p.svg"));
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "no/folder/p.svg"));
  CHECK(scratch.files() == 0);
}

TEST_CASE("an error of the script is an error with gnuplot's own words") {
  CHECK_THROWS_WITH_AS(nlsq::cli::run_gnuplot("set terminal svg\nplot undefined_name\n", "p.svg"),
                       doctest::Contains("undefined variable: undefined_name"), nlsq::cli::OutputError);
}

TEST_CASE("settings of the user do not change the picture") {
  Scratch scratch;
  scratch.write(".gnuplot", "set terminal dumb\nset label 'from the settings' at screen 0.5,0.5\n");
  const std::string fit = kDecay + " --model exp --quiet --plot " + scratch.path("p.svg");
  CHECK(run(fit, "HOME='" + scratch.path("") + "'").status == 0);
  const std::string with = scratch.read("p.svg");
  CHECK(run(fit).status == 0);
  CHECK(with == scratch.read("p.svg"));
}
