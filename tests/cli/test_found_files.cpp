// Tests tables as users find them, from the command line to the report, which must state what was assumed.
#include "program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "program_data.hpp"
#include "zip_support.hpp"

using namespace program;

TEST_CASE("the report says what was assumed about the first lines") {
  Scratch scratch;
  const auto report = [&](const char* content) {
    return run(scratch.write("t.dat", content) + " --model linear").out;
  };
  CHECK(contains(
      report("# t  n\n0 1\n1 3\n2 5.1\n3 7\n"),
      "4 rows, 2 columns, delimiter blanks, header, names from the comment in line 1\n       x = t, y = n"));
  CHECK(contains(report("t,n\ns,\n0,1\n1,3\n2,5.1\n3,7\n"), "header, units in line 2 skipped\n"));
  CHECK(contains(report("sep=;\nt;n\n0;1\n1;3\n2;5.1\n3;7\n"), "delimiter semicolon, header, line sep=\n"));
}

TEST_CASE("dates are fitted as seconds, and report and JSON say since when") {
  Scratch scratch;
  const std::string file = scratch.write("t.csv",
                                         "when,y\n2024-03-01 12:00,1\n2024-03-01 12:01,121.5\n"
                                         "2024-03-01 12:02,241\n2024-03-01 12:03,361\n");
  const Outcome outcome = run(file + " --model linear");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "x = when (seconds since 2024-03-01 12:00), y = y"));
  const nlohmann::json fit = fit_json(file + " --model linear --x when/60");
  CHECK(parameter(fit, "a")["value"].get<double>() == doctest::Approx(120).epsilon(1e-2));
  CHECK(fit["columns"][0] == nlohmann::json({{"role", "x"},
                                             {"name", nullptr},
                                             {"expression", "when/60"},
                                             {"seconds_since", "2024-03-01 12:00"}}));
  CHECK(fit["columns"][1]["name"] == "y");  // chosen by its place
  CHECK(fit["columns"][1]["seconds_since"] == nullptr);
}

TEST_CASE("--where compares texts, and $0 counts the rows of the file") {
  Scratch scratch;
  const std::string file = scratch.write(
      "t.csv",
      "site,t,y\nnorth,0,1\nsouth,0,50\nnorth,1,NA\nnorth,2,5\n\"north, old\",3,9\nnorth,4,9\nnorth,6,13\n");
  const std::string fit = file + " --x t --y y --model linear --missing drop --where ";
  const nlohmann::json north = fit_json(fit + "'site == \"north\"'");
  CHECK(north["rows"] == 4);
  CHECK(parameter(north, "a")["value"].get<double>() == doctest::Approx(2));
  CHECK(fit_json(fit + "'site != \"south\" && $0 > 1'")["rows"] == 4);
  CHECK(fit_json(fit + "'$0 > 3'")["rows"] == 4);  // row 3 is missing, but is counted
  CHECK(fit_json(fit + "'\"north, old\" == $1 || site == \"south\" || t == 0'")["rows"] == 3);
  const Outcome numbers = run(file + " --x site --y y --model linear");
  CHECK(numbers.status == 3);
  CHECK(contains(numbers.out, "'north' in column 1 (site) is not a number"));
}

TEST_CASE("an .npz archive gives its arrays as columns by name, from a file or a pipe") {
  Scratch scratch;
  const std::string file =
      scratch.write("t.npz", zip_support::zip({{"t.npy", zip_support::npy({0, 1, 2, 3})},
                                               {"counts.npy", zip_support::npy({1, 3, 5, 7.1})}},
                                              true));
  const std::string arguments = " --x t --y counts --model 'a*t+b' --quiet --json -";
  const std::string from_file = run(file + arguments).out,
                    from_pipe = run("-" + arguments, "cat " + file + " |").out;
  CHECK(parameter(nlohmann::json::parse(from_file), "a")["value"] ==
        parameter(nlohmann::json::parse(from_pipe), "a")["value"]);
  const Outcome unknown = run(file + " --x t --y count --model linear");
  CHECK(unknown.status == 3);
  CHECK(contains(unknown.out, "did you mean 'counts'?"));
}

TEST_CASE("--thousands . implies a decimal comma") {
  Scratch scratch;
  const std::string file = scratch.write("t.csv", "a;b\n1.000;2.000,5\n2.000;4.000,5\n3.000;6.001,5\n");
  CHECK(parameter(fit_json(file + " --model linear --thousands ."), "a")["value"].get<double>() ==
        doctest::Approx(2).epsilon(1e-2));
  CHECK(run(file + " --model linear --thousands . --decimal .").status == 2);
}

TEST_CASE("parameters have Greek names in every option") {
  const std::string model = kDecay + " --model 'α*exp(-β*x)+γ' ";
  CHECK(fit_json(model + "--p0 β=0.01 --fix γ=80 --bounds 'α=0:1000'")["parameters"][2]["fixed"] == true);
  const nlohmann::json tied = fit_json(model + "--p0 β=0.01 --tie 'γ=0.8*α'");
  CHECK(parameter(tied, "γ")["value"].get<double>() ==
        doctest::Approx(0.8 * parameter(tied, "α")["value"].get<double>()));
}

TEST_CASE("an unknown name suggests the nearest, and the option that has it is blamed") {
  const auto says = [](const std::string& arguments, int status, const char* part) {
    const Outcome outcome = run(kDecay + arguments);
    CAPTURE(outcome.out);
    CHECK(outcome.status == status);
    CHECK(contains(outcome.out, part));
  };
  says(" --modle exp", 2, "did you mean '--model'?");
  says(" --model exp --json", 2,
       "--json needs a value: --json FILE (write the result as JSON to a file, or -");
  says(" --model exp --fix cc=1", 2, "--fix: the model has no parameter 'cc'");
  says(" --model exp --fix cc=1", 2, "did you mean 'c'?");
  says(" --model expp", 2, "nearest names are exp");
  says(" --model exp --y wieght", 3, "did you mean 'weight'?");
}

TEST_CASE(
    "--sigma with a bare number is a column; if that is x, y or no column, the advice is to write a "
    "constant") {
  const Outcome x = run(kDecay + " --model exp --sigma 1");
  CHECK(x.status == 2);
  CHECK(contains(x.out, "already x or y; for a constant standard deviation write --sigma 1.0"));
  const Outcome none = run(kDecay + " --model exp --sigma 3");
  CHECK(none.status == 2);
  CHECK(contains(none.out, "there are only 2 columns; for a constant standard deviation write --sigma 3.0"));
  CHECK(contains(run(kDecay + " --model exp --sigma 0.5").out, "sigma = 0.5"));
  CHECK(contains(run(kDecay + " --model exp --sigma 1.0").out, "sigma = 1.0"));
  CHECK(run(kDecay + " --model exp --sigma '$2'").status == 0);  // these are relative errors
}

TEST_CASE("an output may overwrite neither the input nor another output") {
  Scratch scratch;
  const std::string file = scratch.path("t.csv");
  std::filesystem::copy_file(kDecay, file);
  std::filesystem::create_symlink(file, scratch.path("link"));
  const std::string before = scratch.read("t.csv");
  for (const std::string& output : {file, scratch.path("./t.csv"), scratch.path("link")}) {
    const Outcome outcome = run(file + " --model exp --residuals " + output);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, "would overwrite the input"));
  }
  CHECK(scratch.read("t.csv") == before);
  const Outcome twice =
      run(file + " --model exp --json " + scratch.path("new") + " --residuals " + scratch.path("./new"));
  CHECK(twice.status == 2);
  CHECK(contains(twice.out, "--json writes that file too"));
  CHECK(run(file + " --model exp --quiet --json /dev/null --residuals /dev/null").status == 0);
  // Predictions, pictures and pages are outputs, too.
  CHECK(contains(run(file + " --model exp --predict 0:1:3 --csv " + file).out, "would overwrite the input"));
  const std::string points = scratch.write("points.csv", "x\n1\n2\n"),
                    start = scratch.write("start.json", R"({"a": 1, "b": 1, "c": 1})");
  CHECK(contains(run(file + " --model exp --predict " + points + " --csv " + points).out,
                 "would overwrite the input"));
  CHECK(contains(run(file + " --model exp --p0 @" + start + " --residuals " + start).out,
                 "would overwrite the input"));
  CHECK(scratch.read("points.csv") == "x\n1\n2\n");
  std::filesystem::create_symlink(file, scratch.path("link.gp"));
  std::filesystem::create_symlink(file, scratch.path("link.html"));
  CHECK(contains(run(file + " --model exp --plot " + scratch.path("link.gp")).out,
                 "would overwrite the input"));
  CHECK(contains(run(file + " --model exp --report " + scratch.path("link.html")).out,
                 "would overwrite the input"));
  CHECK(scratch.read("t.csv") == before);
}

TEST_CASE("the residuals of many rows have the same bytes with any number of threads") {
  Scratch scratch;
  const std::string file = long_table(scratch, 200000);
  const std::string fit = file + " --model linear --sigma 0.25 --quiet --residuals " + scratch.path("r");
  REQUIRE(run(fit + "1 --threads 1").status == 0);
  REQUIRE(run(fit + "2").status == 0);
  const std::string one = scratch.read("r1");
  CHECK(one == scratch.read("r2"));
  CHECK(one.starts_with("x,y,fit,residual,sigma\n"));
  CHECK(static_cast<std::size_t>(std::count(one.begin(), one.end(), '\n')) == 200001);
}
