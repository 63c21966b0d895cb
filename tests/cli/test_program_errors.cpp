// Tests nlsq-fit when something is wrong: exit status, message, and outputs, which are complete or do not
// exist.

#include "program.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "program_data.hpp"

using namespace program;

TEST_CASE("exit status 2: usage and model errors come with a remedy") {
  Scratch scratch;
  const std::string bad_json = scratch.write("bad.json", "[1,2]");
  const auto usage = [&](const std::string& arguments, const char* part) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments);
    CAPTURE(outcome.out);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, part));
  };
  usage("", "which file");
  usage(kDecay, "--list-models");
  usage(kDecay + " --model exp --loss hubber", "there is no loss 'hubber'");
  usage(kDecay + " --model exp --loss huber --f-scale 0", "positive");
  usage(kDecay + " --model exp --f-scale 2", "--loss");
  usage(kDecay + " --model exp --loss poisson --sigma 1", "--sigma");
  usage(kDecay + " --model exp --sigma-x '0.1*day'", "--sigma");
  usage(kDecay + " --model exp --tie 'q=2*a'", "no parameter 'q'");
  usage(kDecay + " --model exp --tie 'a=2*q'", "no parameter 'q'");
  usage(kDecay + " --model exp --tie 'a=a+1'", "depends on itself");
  usage(kDecay + " --model exp --tie 'a=2*b' --fix a=1", "fixed");
  usage(kDecay + " --model exp --tie 'a=2*b' --p0 a=1", "is tied");
  usage(kDecay + " --model exp --frobnicate", "--frobnicate");
  usage(kDecay + " expo", "there is no file expo; if it is the model, write --model 'expo'");
  usage(kDecay + " " + kDecay + " --model exp", "its rows would count twice");
  usage(kDecay + " --model expp", "exp");
  usage(kDecay + " --model 'a*exp(-b*x'", "^");
  usage(kDecay + " --model 'a*frob(x)'", "frob");
  usage(kDecay + " --model exp --p0 q=1", "no parameter 'q'; its parameters are a, b, c");
  usage(kDecay + " --model exp --fix q", "no parameter 'q'");
  usage(kDecay + " --model exp --p0 a=1,a=2", "given twice");
  usage(kDecay + " --model exp --p0 a=1 --fix a=2", "--p0 gives it a value too");
  usage(kDecay + " --model exp --fix b=9 --bounds b=0:5",
        "--fix b=9 is above its upper bound 5: a fixed parameter needs no --bounds");
  usage(kDecay + " --model exp --p0 b=9 --bounds b=0:5", "p0: b = 9 is above its upper bound 5");
  usage(kDecay + " --model exp --p0 'a=1 b=2'", "separate values with commas, as in a=1,b=2");
  usage(kDecay + " --model exp --p0 a", "name=value");
  usage(kDecay + " --model exp --p0 a=x", "not a number");
  usage(kDecay + " --model exp --p0 @/nowhere/fit.json", "cannot open");
  usage(kDecay + " --model exp --p0 @" + bad_json, "JSON object");
  usage(kDecay + " exp --p0 @" + scratch.write("none.json", "{}"), "none.json: the object has no values");
  usage(kDecay + " exp --p0 a=1 b=2", "b=2 is a value: write starting values with commas, --p0 a=1,b=2");
  usage(kDecay + " --model exp --precision f8", "--precision");
  usage(kDecay + " --model exp --xtol abc", "not a number");
  usage(kDecay + " --model exp --ftol -1", "at least 0");
  usage(kDecay + " --model exp --time-limit 0", "positive");
  usage(kDecay + " --model exp --max-iterations 2.5", "whole number");
  usage(kDecay + " --model exp --strategy newton", "dogleg");
  usage(kDecay + " --model exp --nonmonotonic -1", "--nonmonotonic");
  usage(kDecay + " --model exp --confidence 95", "between 0 and 1");
  usage(kDecay + " --model exp --absolute-sigma", "needs --sigma");
  usage(kDecay + " --model exp --range 5:1", "above the second");
  usage(kDecay + " --model exp --range 5", "A:B");
  usage(kDecay + " --model exp --missing ignore", "one of error, drop");
  usage(kDecay + " --model exp --delimiter ab", "one character");
  usage(kDecay + " --model exp --decimal ,  --delimiter ,", "different");
  usage(kDecay + " --model exp --where 'day <'", "--where");
  usage(kDecay + " --model exp --x 'log(day'", "^");
  usage(kDecay + " --model exp --x day,weight --y 2", "1 predictor");
  usage(kDecay + " --model exp --x 2", "--y");
  usage("--describe nothing", "--describe");
}

TEST_CASE("exit status 3: bad data, with the place") {
  Scratch scratch;
  const auto bad = [&](const std::string& arguments, const char* part) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments);
    CAPTURE(outcome.out);
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.out, part));
  };
  bad(scratch.path("none.csv") + " --model exp", "cannot open");
  bad(scratch.path("") + " --model exp", "directory");
  bad(scratch.write("text.csv", "x,y\n1,2\n3,four\n") + " --model linear", "text.csv:3:3: 'four'");
  bad(scratch.write("empty.csv", "") + " --model linear", "empty.csv:1:1: the input is empty");
  bad(kDecay + " --model exp --y heavy",
      "decay.csv:1:1: there is no column 'heavy' (--y); the columns are day, weight");
  bad(kDecay + " --model exp --y 3", "there is no column 3");
  bad(kDecay + " --model exp --y 'log(heavy)'", "there is no column 'heavy'");
  bad(kDecay + " --model exp --y 'log(day)'", "decay.csv:2: y = log(day) is infinite here");
  bad(kDecay + " --model exp --y 'sqrt(day-10)'", "is not a number here and in");
  bad(kDecay + " --model exp --where 'day>1000'", "--where leaves no rows");
  bad(kDecay + " --model exp --range 1000:", "--range leaves no rows");
  bad(kDecay + " --model exp --sigma 'weight-179.91'", "decay.csv:5: sigma is 0");
  bad(kDecay + " --model exp --y '$0-5' --sigma 'abs($0-5)'",
      "if y are counts, --loss poisson needs no sigma");
  bad(scratch.write("few.csv", "x,y\n1,2\n3,4\n") + " --model exp", "few.csv");
  bad(scratch.write("one.csv", "1\n2\n3\n") + " --model linear", "there is no column 2");
}

TEST_CASE("exit status 1: ended without a certificate, the best parameters are printed all the same") {
  const Outcome outcome = run(kDecay + " --model 'a*exp(-b*x)+c' --p0 a=1,b=1,c=0 --max-iterations 1");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "BUDGET"));
  CHECK(contains(outcome.out, "std. error"));
  CHECK(fit_json(kDecay + " --model 'a*exp(-b*x)+c' --p0 a=1,b=1,c=0 --max-iterations 1")["status"] ==
        "max_iterations");
  // No built-in model has this form, so there is no guess.
  CHECK(contains(run(kDecay + " --model 'a*exp(-b*x^1.5)+c' --max-iterations 1").out,
                 "a, b, c had no starting value"));
}

TEST_CASE("times of day over midnight, thousands, and tables of points without x are refused with a remedy") {
  Scratch scratch;
  const auto refused = [&](const std::string& arguments, const char* part) {
    const Outcome outcome = run(arguments);
    CAPTURE(outcome.out);
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.out, part));
  };
  const std::string midnight =
      scratch.write("midnight.csv", "time,y\n23:58:00,1\n23:59:00,2\n00:00:00,3.1\n00:01:00,4\n");
  refused(midnight + " --model linear", "midnight.csv:4: column 1 (time) goes back by more than half a day");
  const std::string thousands = scratch.write("thousands.csv", "x,y\n1,\"1,500\"\n2,\"2,500\"\n3,\"999\"\n");
  refused(thousands + " --model linear", "for a thousands separator give --thousands ,");
  const std::string european = scratch.write("european.csv", "t;V\n0,5;1.234,5\n1,5;1.010,2\n2,5;830,1\n");
  refused(european + " --model linear --decimal ,", "for a thousands separator give --thousands .");
  const std::string points = scratch.write("points.csv", "weight,tag\n100,0\n50,100\n");
  refused(kDecay + " --model exp --predict " + points, "there is no column day; the columns are weight, tag");
}

TEST_CASE("a parameter that the fit takes to 0 is named, since other starts would lead there again") {
  Scratch scratch;
  std::string table = "x,y\n";  // this peak is sharper than a Lorentzian, so no Gaussian part fits it
  for (int i = -60; i <= 60; ++i)
    table += fmt::format("{},{}\n", 0.1 * i,
                         5 / (1 + std::pow(std::fabs(0.1 * i), 1.9)) + 0.1 * std::sin(7.0 * i));
  const Outcome outcome = run(scratch.write("sharp.csv", table) + " --model voigt");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "sigma cannot be told from 0"));
  CHECK(contains(outcome.out, "a simpler model, without it, may be enough"));
}

TEST_CASE("a fit that loses a parameter exits with 1 and says what to try; nothing is printed as nan") {
  Scratch scratch;
  std::string constant = "x,y\n", times = "t,y\n";
  for (int i = 0; i < 50; ++i) {
    constant += fmt::format("{},8\n", 0.2 * i);
    times +=
        fmt::format("{},{}\n", 1700000000 + 200 * i, 2 * std::exp(-0.1 * i) + 1 + 0.05 * std::sin(37.0 * i));
  }
  const std::string flat = scratch.write("flat.csv", constant),
                    unix_times = scratch.write("times.csv", times);
  for (const std::string& command : {flat + " --model exp", flat + " --model sine",
                                     flat + " --model gompertz", flat + " --model 'a*exp(-b*x)+c'",
                                     unix_times + " --model 'a*exp(-b*x)+c'", unix_times + " --model exp"}) {
    CAPTURE(command);
    const Outcome outcome = run(command);
    CHECK(outcome.status == 1);
    const bool is_flat = command.starts_with(flat);  // other starts would not help there
    CHECK(contains(outcome.out, "no more than a constant") == is_flat);
    for (const char* start : {"Give other starting values", "start elsewhere"}) {
      CHECK_FALSE((is_flat && contains(outcome.out, start)));
    }
    CHECK(contains(outcome.out, "--starts") == !is_flat);
    CHECK(contains(outcome.out, "--p0") == !is_flat);
    CHECK_FALSE(contains(outcome.out, "nan"));
    CHECK_FALSE(contains(outcome.out, "±             0"));
  }
  CHECK(run(flat + " --model 'a*x+b'").status == 0);  // linear in all: the data determine both
}

TEST_CASE("outputs are written whole or not at all") {
  Scratch scratch;
  const std::string old = scratch.write("fit.json", "precious");
  const Outcome refused = run(kDecay + " --model exp --y heavy --json " + old);
  CHECK(refused.status == 3);
  CHECK(scratch.read("fit.json") == "precious");
  CHECK(run(kDecay + " --model exp --json " + scratch.path("no/such/dir/fit.json")).status == 3);
  CHECK(run(kDecay + " --model exp --json /dev/full").status == 3);
  CHECK(run(kDecay + " --model exp > /dev/full").status == 3);
  CHECK(run(kDecay + " --model exp --quiet --json " + old).out.empty());
  CHECK(nlohmann::json::parse(scratch.read("fit.json"), nullptr, false).is_object());
  CHECK(scratch.files() == 1);  // no temporary is left
}

TEST_CASE("a file-size limit, as a full disk, leaves the old file whole") {
  Scratch scratch;
  const std::string old = scratch.write("fit.json", "precious");
  const Outcome full = run(kDecay + " --model exp --quiet --json " + old, "trap '' XFSZ; ulimit -f 0;");
  CHECK(full.status == 3);
  CHECK(contains(full.out, "fit.json"));
  CHECK(scratch.read("fit.json") == "precious");
  CHECK(scratch.files() == 1);
}

TEST_CASE("a time limit ends a fit with the best so far") {
  Scratch scratch;
  const std::string file = long_table(scratch, 200000);
  const nlohmann::json fit =
      fit_json(file + " --model 'a*exp(-b*x)' --p0 a=1,b=0.001 --time-limit 0.0000001");
  CHECK(fit["status"] == "time_limit");
  CHECK(fit["verdict"] == "BUDGET");
}

// Sanitizers reserve more address space than any useful limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("out of memory is a message and exit 3, and no output is left half written") {
  Scratch scratch;
  const std::string file = long_table(scratch, 400000);
  const Outcome outcome = run(file + " --model exp0 --json " + scratch.path("fit.json"), "ulimit -v 18000;");
  CAPTURE(outcome.out);
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "out of memory"));
  CHECK(scratch.files() == 1);
}
#endif

TEST_CASE("impossible --bounds are refused with a remedy") {
  for (const auto& [bounds, words] : std::vector<std::pair<std::string, std::string>>{
           {"a=0", "write name=lower:upper"},
           {"a", "write name=lower:upper"},
           {"a=:", "neither side is given"},
           {"a=5:2", "the lower bound is above the upper one"},
           {"a=0:x", "not a number"},
           {"a=0:1,a=2:3", "a is given twice"},
           {"k=0:1", "the model has no parameter 'k'; its parameters are a, b, c"}}) {
    CAPTURE(bounds);
    const Outcome outcome = run(kDecay + " --model exp --bounds '" + bounds + "'");
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, words));
  }
  const Outcome outside = run(kDecay + " --model exp --p0 a=200 --bounds a=5:20");
  CHECK(outside.status == 2);
  CHECK(contains(outside.out, "a = 200 is above its upper bound 20"));
}

TEST_CASE("a parameter whose derivatives are too small to be squared is not said to be 0") {
  const Scratch files;
  std::string table;
  for (int i = 0; i < 60; ++i) {
    const double x = 0.17 * i, y = 5 * std::exp(-8 * std::exp(-0.9 * x)) + 0.02 * std::sin(13 * i * i);
    table += std::to_string(x + 400) + "," + std::to_string(y) + "\n";
  }
  const Outcome outcome = run(files.write("far.csv", table) + " --model gompertz");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "underflow"));
  CHECK(contains(outcome.out, "x is far from 0 beside its range"));
  CHECK(!contains(outcome.out, "cannot be told from 0"));
  CHECK(!contains(outcome.out, "other starting values may help"));
}
