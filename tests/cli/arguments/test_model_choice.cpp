// Tests --model with sums of built-in models, with formulas that are equivalent to built-in models, and with
// names of models in wrong places.
#include "cli/program.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>

#include "cli/program_data.hpp"

using namespace program;

namespace {

// Returns a table of two peaks on a slope, whose columns have the names of models.
std::string two_peaks() {
  std::string text = "x,y,power\n";
  for (int i = 0; i < 200; ++i) {
    const double x = 0.05 * i;
    const double y = 5 * std::exp(-0.5 * std::pow((x - 3) / 0.4, 2)) +
                     3 * std::exp(-0.5 * std::pow((x - 6.5) / 0.6, 2)) + 0.7 * x + 1 +
                     0.01 * std::sin(37.0 * i);
    text += std::to_string(x) + "," + std::to_string(y) + ",2\n";
  }
  return text;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a sum of models needs no starting values") {
  Scratch scratch;
  const std::string file = scratch.write("peaks.csv", two_peaks());
  const nlohmann::json fit = fit_json(file + " --model '2*gaussian + linear'");
  REQUIRE(fit.is_object());
  CHECK(fit["verdict"] == "CONVERGED");
  CHECK(parameter(fit, "g1_mu")["value"].get<double>() == doctest::Approx(3).epsilon(1e-3));
  CHECK(parameter(fit, "g2_mu")["value"].get<double>() == doctest::Approx(6.5).epsilon(1e-3));
  CHECK(parameter(fit, "l1_a")["value"].get<double>() == doctest::Approx(0.7).epsilon(1e-2));
  CHECK(parameter(fit, "c")["value"].get<double>() == doctest::Approx(1).epsilon(1e-2));
  // Values may be given, fixed and bounded as with any model.
  const nlohmann::json held =
      fit_json(file + " --model '2*gaussian+linear' --fix g1_mu=3 --bounds g2_mu=6:7 --p0 l1_a=1");
  CHECK(held["verdict"] == "CONVERGED");
  CHECK(parameter(held, "g1_mu")["value"] == 3);
}

TEST_CASE("a name of a model inside a formula is never silently a parameter") {
  Scratch scratch;
  const std::string file = scratch.write("peaks.csv", two_peaks());
  const Outcome mixed = run(file + " --model 'gaussian + a*x'");
  CHECK(mixed.status == 2);
  CHECK(contains(mixed.out, "'gaussian' is a built-in model"));
  CHECK(contains(mixed.out, "gaussian + 2*lorentzian + linear"));
  const Outcome unknown = run(file + " --model 'gaussian + foo'");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.out, "'foo'"));
  // Such a name is a parameter if the command gives it a value, and a predictor if it is the name of a
  // column.
  CHECK(run(file + " --model 'linear*x+b' --p0 linear=1 --quiet").status == 0);
  CHECK(run(file + " --x x,power --model 'a*x+b*power' --quiet").status == 0);
  CHECK(run(file + " --model 'a*exp(-b*x)+c' --max-iterations 0").status == 1);  // a call is not a model
}

TEST_CASE("a formula that is a built-in model in other words gets its guess") {
  const nlohmann::json built_in = fit_json(kDecay + " --model exp");
  const nlohmann::json formula = fit_json(kDecay + " --model 'A*exp(-x/tau)+y0'");
  CHECK(formula["verdict"] == "CONVERGED");
  CHECK(formula["rss"].get<double>() == doctest::Approx(built_in["rss"].get<double>()).epsilon(1e-12));
  CHECK(parameter(formula, "tau")["guess"].get<double>() ==
        doctest::Approx(1 / parameter(built_in, "b")["guess"].get<double>()).epsilon(1e-9));
}

TEST_CASE("the terms of a sum are columns of the residual file and lines of the picture") {
  Scratch scratch;
  const std::string file = scratch.write("peaks.csv", two_peaks());
  const std::string residuals = scratch.path("residuals.csv"), script = scratch.path("picture.gp"),
                    page = scratch.path("page.html");
  const Outcome outcome = run(file + " --model '2*gaussian+linear' --quiet --json - --residuals " +
                              residuals + " --plot " + script + " --report " + page);
  REQUIRE(outcome.status == 0);
  const double c = parameter(nlohmann::json::parse(outcome.out), "c")["value"].get<double>();
  std::ifstream rows(residuals);
  std::string line;
  std::getline(rows, line);
  CHECK(line == "x,y,fit,residual,g1,g2,l1");
  int count = 0;
  for (double x = 0, y = 0, fit = 0, residual = 0, g1 = 0, g2 = 0, l1 = 0; std::getline(rows, line);
       ++count) {
    REQUIRE(std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &x, &y, &fit, &residual, &g1, &g2,
                        &l1) == 7);
    CHECK(g1 + g2 + l1 + c == doctest::Approx(fit).epsilon(1e-12));
  }
  CHECK(count == 200);
  const std::string picture = read(script), html = read(page);
  for (const char* part : {"$component1 <<", "$component3 <<", "'g2: gaussian'", "'l1: linear'"})
    CHECK(contains(picture, part));
  CHECK(contains(html, "component c3"));
  CHECK(contains(html, "l1: linear"));
  // A single model has no terms.
  run(kDecay + " --model exp --quiet --residuals " + residuals);
  std::ifstream alone(residuals);
  std::getline(alone, line);
  CHECK(line == "x,y,fit,residual");
}

TEST_CASE("a formula that does not use a chosen column says so, and which names are parameters") {
  Scratch scratch;
  const std::string file = scratch.write("d.csv", "x,y,z\n1,2,3\n2,3,1\n3,4.1,2\n4,5,5\n5,6,1\n");
  CHECK(contains(run(file + " --x x,z --y y --model 'a*x+b'").out,
                 "the formula does not use z (as x2 or z); a, b are its parameters"));
  CHECK(contains(run(file + " --x '2*x' --y y --model '2*a'").out,
                 "the formula does not use 2*x (as x); a is its parameter"));
  CHECK(contains(run(file + " --model 2").out, "the formula does not use x (as x); it has no parameters"));
  CHECK(!contains(run(file + " --x x,z --y y --model 'a*x+b*z'").out, "does not use"));
  CHECK(!contains(run(file + " --model 'log(y) = a+b*x'").out, "does not use"));
  CHECK(!contains(run(file + " --model 'y/x = a'").out, "does not use"));
}

TEST_CASE("a formula of several parameters that uses no column is refused") {
  Scratch scratch;
  const std::string file = scratch.write("d.csv", "x,y,z\n1,2,3\n2,3,1\n3,4.1,2\n4,5,5\n5,6,1\n");
  const Outcome result = run(file + " --model 'a*t+b'");
  CHECK(result.status == 2);
  CHECK(contains(result.out,
                 "the formula does not use x (as x), so a, t, b are its parameters and cannot be told "
                 "apart; write x where the formula means the column"));
  CHECK(contains(run(kDecay + " --model 'a*t+b'").out, "write x or day where the formula means the column"));
  CHECK(contains(run(file + " --x x,z --y y --model 'a+b'").out, "write x1 or x, x2 or z where"));
  CHECK(run(file + " --model 'a*1'").status == 0);  // this is the mean
}

TEST_CASE("a column with a unit in its name is found by the name before the unit") {
  Scratch scratch;
  std::ostringstream table;
  table << std::setprecision(17) << "T [K],k (1/s),n[ ]\n";
  for (int i = 0; i < 9; ++i) {
    const double t = 280 + 5 * i;
    table << t << "," << 3e10 * std::exp(-65000 / (8.314 * t)) << "," << i + 1 << "\n";
  }
  const std::string file = scratch.write("d.csv", table.str());
  for (const char* options :
       {" --model 'A*exp(-Ea/(8.314*T))'", " --x T --y k --model 'k = A*exp(-Ea/(8.314*T))'",
        " --y k --model 'log(k) = log(A)-Ea/(8.314*T)'",
        " --x '`T [K]`' --y '`k (1/s)`' --model 'A*exp(-Ea/(8.314*x))'"}) {
    CAPTURE(options);
    const Outcome result = run(file + options + " --p0 A=1e10,Ea=60000 --where 'n < 9'");
    CHECK(result.status == 0);
    CHECK(contains(result.out, "65000"));
  }
  // A parameter may have the name of y without its unit. If several columns share such a name, it means none
  // of them.
  CHECK(run(file + " --model 'k*exp(-T/b)' --p0 k=1e-2,b=-8").status == 0);
  const std::string two = scratch.write("two.csv", "t (s),t (h)\n1,2\n2,3\n3,5\n4,6\n5,8\n");
  CHECK(contains(run(two + " --model 'a*t+b'").out, "does not use t (s) (as x)"));
  CHECK(run(two + " --model 'a*x+b'").status == 0);
  const std::string whole = scratch.write("whole.csv", "t (s),y,t\n1,2,1\n2,3,1\n3,5,1\n4,6,1\n");
  CHECK(contains(run(whole + " --model 'a*t+b'").out, "does not use t (s) (as x)"));
}

TEST_CASE("a name that may be a parameter or a column with a unit is not guessed at") {
  Scratch scratch;
  const std::string both = scratch.write("both.csv", "a (m),y\n1,2\n2,3\n3,5\n4,6\n5,8\n");
  const Outcome outcome = run(both + " --model 'a*x+b'");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "--model uses both a and x, and either may be the column a (m)"));
  CHECK(run(both + " --model 'c*a+b'").status == 0);
  CHECK(run(both + " --model 'c*x+b'").status == 0);

  const std::string unchosen = scratch.write("unchosen.csv", "t (s),x (m)\n1,2\n2,3\n3,5\n4,6\n");
  CHECK(contains(run(unchosen + " --model 'a*x+b'").out, "write t where the formula means t (s)"));

  const std::string two = scratch.write("two.csv", "t (s),t (h)\n1,2\n2,3\n3,5\n4,6\n5,8\n");
  CHECK(contains(run(two + " --x t --model 'a*x+b'").out, "'t' (--x) may be any of `t (s)`, `t (h)`"));
}

TEST_CASE("the model may be typed without --model, as the last word that is no file") {
  const Outcome named = run(kDecay + " exp");
  CHECK(named.status == 0);
  CHECK(contains(named.out, "Model  exp: a*exp(-b*x)+c"));
  CHECK(run(kDecay + " line").status == 0);  // this is another name of linear
  const Outcome formula = run(kDecay + " 'weight = a*exp(-b*day)+c' --p0 b=0.01");
  CHECK(formula.status == 0);
  CHECK(contains(formula.out, "a        "));
  CHECK(contains(run(kDecay + " 'a*exp(-b*x'").out, "a*exp(-b*x"));

  // A missing file is not mistaken for a model, because its name has no operator of a formula.
  const Outcome missing = run(kDecay + " data/more-days.csv");
  CHECK(missing.status == 2);
  CHECK(contains(missing.out, "there is no file data/more-days.csv"));
  CHECK(contains(run(kDecay + " 'data/more*.csv'").out, "there is no file data/more*.csv"));
  CHECK(run(kDecay + " 'a*x+1.5'").status != 2);
  CHECK(contains(run(kDecay + " expp").out, "there is no file expp; if it is the model"));
  CHECK(contains(run(kDecay + " exp --model gaussian").out, "exp: cannot open"));
  CHECK(run("exp").status == 2);
}

TEST_CASE("a column that is fitted to itself gives a warning") {
  CHECK(contains(run(kDecay + " --model linear --x 1 --y day").out, "1 is both x and y"));
  CHECK(!contains(run(kDecay + " --model linear").out, "both x and y"));
}
