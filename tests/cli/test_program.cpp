// Tests nlsq-fit from end to end: its output, the files that it writes, and its exit status.
#include "program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>

#include "program_data.hpp"

using namespace program;

namespace {

const std::string kExact = "x,y,s\n0,1,0.1\n1,3.1,0.2\n2,4.9,0.1\n3,7.2,0.2\n4,8.8,0.1\n";

}  // namespace

TEST_CASE("the first example converges and reports what was read, fitted and certified") {
  const Outcome outcome = run(kDecay + " --model exp");
  CHECK(outcome.status == 0);
  for (const char* part :
       {"decay.csv: 52 rows, 2 columns, delimiter comma, header", "x = day, y = weight", "exp: a*exp(-b*x)+c",
        "CONVERGED", "102.684", "81.3738", "95 % interval", "R² 0.998", "Reduced χ²", "AIC", "BIC",
        "a~c -0.989", "Sigma: none given", "certified", "kernels"}) {
    CAPTURE(part);
    CHECK(contains(outcome.out, part));
  }
}

TEST_CASE("JSON carries every promised key") {
  const nlohmann::json fit = fit_json(kDecay + " --model exp");
  REQUIRE(fit.is_object());
  for (const char* key : {"model",     "formula", "parameters", "covariance",   "correlation", "rows",
                          "excluded",  "dof",     "rss",        "chi2_reduced", "r_squared",   "aic",
                          "bic",       "status",  "verdict",    "message",      "certificate", "precision",
                          "evaluator", "kernel",  "threads",    "time"}) {
    CAPTURE(key);
    CHECK(fit.contains(key));
  }
  for (const char* key : {"passed", "verdict", "governed_by", "gradient_norm", "decrement_sigma", "condition",
                          "rank", "confounded", "covariance_error", "rechecked_rows"}) {
    CAPTURE(key);
    CHECK(fit["certificate"].contains(key));
  }
  for (const char* key : {"policy", "escalations", "issues", "trace", "counters"})
    CHECK(fit["precision"].contains(key));
  for (const char* key : {"iteration", "cost", "gradient_norm", "lambda", "rho", "residual", "jacobian",
                          "gram", "solve", "condition", "event", "reason"}) {
    CAPTURE(key);
    CHECK(fit["precision"]["trace"][0].contains(key));
  }
  for (const char* key : {"read", "setup", "evaluate", "solve", "certify", "total"})
    CHECK(fit["time"].contains(key));
  for (const char* key : {"name", "value", "std_error", "ci_low", "ci_high", "fixed", "at_bound", "guess"}) {
    CHECK(fit["parameters"][0].contains(key));
  }
  CHECK(fit["model"] == "exp");
  CHECK(fit["verdict"] == "CONVERGED");
  CHECK(fit["certificate"]["passed"] == true);
  CHECK(parameter(fit, "c")["value"].get<double>() == doctest::Approx(81.3738).epsilon(1e-5));
}

TEST_CASE("a straight line gives the textbook's numbers, intervals and p-value included") {
  Scratch scratch;
  const std::string file = scratch.write("line.csv", kExact);
  // Computed by hand: x mean 2, Sxx 10, Sxy 19.7, y mean 5.
  const nlohmann::json fit = fit_json(file + " --model linear");
  CHECK(parameter(fit, "a")["value"].get<double>() == doctest::Approx(1.97).epsilon(1e-13));
  CHECK(parameter(fit, "b")["value"].get<double>() == doctest::Approx(1.06).epsilon(1e-12));
  const double rss = 0.091, s2 = rss / 3;
  CHECK(fit["rss"].get<double>() == doctest::Approx(rss).epsilon(1e-11));
  CHECK(parameter(fit, "a")["std_error"].get<double>() == doctest::Approx(std::sqrt(s2 / 10)).epsilon(1e-11));
  const double t3 = 3.182446305284263;  // the quantile of Student's t at 97.5 % with 3 degrees of freedom
  CHECK(parameter(fit, "a")["ci_high"].get<double>() ==
        doctest::Approx(1.97 + t3 * std::sqrt(s2 / 10)).epsilon(1e-11));
  // With absolute sigmas there are normal intervals, and a p-value in the report.
  const nlohmann::json weighted = fit_json(file + " --model linear --sigma s --absolute-sigma");
  const nlohmann::json a = parameter(weighted, "a");
  CHECK((a["ci_high"].get<double>() - a["value"].get<double>()) / a["std_error"].get<double>() ==
        doctest::Approx(1.959963984540054).epsilon(1e-12));
  CHECK(contains(run(file + " --model linear --sigma s --absolute-sigma").out, "p-value"));
  const double chi2 = weighted["rss"];  // the survival function of χ² with 3 degrees of freedom
  CHECK(weighted["p_value"].get<double>() ==
        doctest::Approx(std::erfc(std::sqrt(chi2 / 2)) + std::sqrt(2 * chi2 / M_PI) * std::exp(-chi2 / 2)));
  CHECK(fit["p_value"].is_null());
  CHECK(contains(run(file + " --model linear --sigma s").out, "Sigma: relative weights"));
}

TEST_CASE("standard input, column numbers and gzip reach the same fit as the file") {
  Scratch scratch;
  const std::string expected = fit_json(kDecay + " --model exp")["parameters"].dump();
  CHECK(
      nlohmann::json::parse(run("- --model exp --json -", "cat " + kDecay + " |").out)["parameters"].dump() ==
      expected);
  CHECK(nlohmann::json::parse(
            run("- --model exp --json - --x 1 --y '$2'", "gzip -c " + kDecay + " |").out)["parameters"]
            .dump() == expected);
}

TEST_CASE("a fit started from its own JSON starts at the same bits, and ends there") {
  Scratch scratch;
  const std::string file = scratch.path("fit.json");
  CHECK(run(kDecay + " --model 'a*exp(-b*x)+c' --p0 a=100,b=0.004,c=80 --quiet --json " + file).status == 0);
  const nlohmann::json first = nlohmann::json::parse(scratch.read("fit.json"));
  const nlohmann::json again = fit_json(kDecay + " --model 'a*exp(-b*x)+c' --p0 @" + file);
  for (const char* name : {"a", "b", "c"}) {
    const double value = parameter(first, name)["value"], guess = parameter(again, name)["guess"];
    CHECK(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(guess));
    CHECK(parameter(again, name)["value"].get<double>() == doctest::Approx(value).epsilon(1e-10));
  }
  // The command line overrides the file.
  CHECK(parameter(fit_json(kDecay + " --model 'a*exp(-b*x)+c' --fix c=80 --p0 @" + file), "c")["value"] ==
        80.0);
}

TEST_CASE("parameters can be fixed at a value or at their start") {
  const nlohmann::json fit = fit_json(kDecay + " --model exp --fix c=80");
  CHECK(parameter(fit, "c")["value"] == 80.0);
  CHECK(parameter(fit, "c")["fixed"] == true);
  CHECK(parameter(fit, "c")["std_error"] == 0.0);
  CHECK(fit["dof"] == 50);
  CHECK(parameter(fit_json(kDecay + " --model 'a*exp(-b*x)+c' --p0 a=100,b=0.004,c=81 --fix c"),
                  "c")["value"] == 81.0);
}

TEST_CASE("a formula without --model may be longer than the name of a file") {
  std::string formula = "a*exp(-b*day)+c";
  for (int i = 0; i < 60; ++i) formula += "+0*day";
  CHECK(run(kDecay + " '" + formula + "' --p0 b=0.01 --quiet").status == 0);
}

TEST_CASE("rows left out are counted and reported") {
  Scratch scratch;
  const std::string file = scratch.write("t.csv", kExact + "5,NA,1\n6,99,1\n");
  const Outcome outcome = run(file + " --model linear --missing drop --where 'y<90' --range :3");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "4 rows fitted, 3 left out (1 by --missing drop, 1 by --where, 1 by --range)"));
  CHECK(fit_json(file + " --model linear --missing drop --where 'y<90' --range :3")["excluded"] == 3);
  CHECK(fit_json(file + " --model linear --missing drop --where 'y<90' --where 'x>0'")["rows"] == 4);
}

TEST_CASE("columns may be expressions, and a formula may have a left side") {
  Scratch scratch;
  const std::string file = scratch.write("t.csv", "t,my count\n0,1\n1,2.7\n2,7.4\n3,20.1\n4,54.6\n");
  const nlohmann::json direct = fit_json(file + " --model 'a+b*x' --y 'log(`my count`)' --p0 a=0,b=1");
  const nlohmann::json left = fit_json(file + " --model 'log(y) = a+b*x' --p0 a=0,b=1");
  CHECK(direct["verdict"] == "CONVERGED");
  CHECK(left["verdict"] == "CONVERGED");
  CHECK(parameter(direct, "b")["value"].get<double>() ==
        doctest::Approx(parameter(left, "b")["value"].get<double>()).epsilon(1e-12));
  CHECK(parameter(fit_json(file + " --x '2*t' --y 'log($2)' --model linear"), "a")["value"].get<double>() ==
        doctest::Approx(parameter(left, "b")["value"].get<double>() / 2).epsilon(1e-12));
}

TEST_CASE("names in a formula are what --x chose; the header's name and x both work") {
  const Outcome by_x = run(kDecay + " --model 'a*exp(-b*x)+c' --p0 a=100,b=0.005,c=80");
  const Outcome by_name = run(kDecay + " --model 'a*exp(-b*day)+c' --p0 a=100,b=0.005,c=80");
  CHECK(by_x.status == 0);
  CHECK(by_name.status == 0);
  CHECK(contains(by_x.out, "x is day"));
  // A column that was not chosen becomes a parameter, with a warning. If it is the only x, that is a mistake.
  Scratch scratch;
  const std::string file = scratch.write("t.csv", "x,y,z\n0,1,5\n1,3.1,6\n2,4.9,7\n3,7.2,8\n");
  CHECK(contains(run(file + " --model 'a*x+z' --p0 a=1,z=1").out, "'z' is fitted as a parameter"));
  const Outcome mistake = run(file + " --x z --model 'a*x+b' --p0 a=1,b=1");
  CHECK(mistake.status == 2);
  CHECK(contains(mistake.out, "a column that --x did not choose"));
}

TEST_CASE("a rank-deficient model is a success that names the parameters") {
  const nlohmann::json fit = fit_json(kDecay + " --model '(a+b)*x+c' --p0 a=1,b=1,c=1");
  CHECK(fit["verdict"] == "RANK_DEFICIENT");
  CHECK(fit["certificate"]["confounded"] == nlohmann::json({"a", "b"}));
  CHECK(parameter(fit, "a")["std_error"].is_null());
  const Outcome outcome = run(kDecay + " --model '(a+b)*x+c' --p0 a=1,b=1,c=1");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "undetermined"));
  const Scratch scratch;
  const Outcome exact = run(scratch.write("exact.csv", "x,y\n0,1\n1,3\n2,5\n") + " linear");
  CHECK(contains(exact.out, "undefined"));
  CHECK_FALSE(contains(exact.out, "undetermined"));
}

TEST_CASE("residuals add up to the sum of squares") {
  Scratch scratch;
  const std::string file = scratch.path("r.csv");
  const nlohmann::json fit = fit_json(kDecay + " --model exp --residuals " + file);
  const nlohmann::json mean = fit_json(file + " --x fit --y 'residual^2' --model constant");
  CHECK(parameter(mean, "c")["value"].get<double>() * 52 ==
        doctest::Approx(fit["rss"].get<double>()).epsilon(1e-9));
  CHECK(scratch.read("r.csv").rfind("x,y,fit,residual\n", 0) == 0);
}

TEST_CASE("the lists and descriptions of models agree with each other") {
  const nlohmann::json list = nlohmann::json::parse(run("--list-models --json -").out);
  REQUIRE(list.is_array());
  const std::string table = run("--list-models").out;
  for (const auto& model : list) {
    const std::string name = model["name"];
    CAPTURE(name);
    CHECK(contains(table, name));
    const Outcome description = run("--describe " + name);
    CHECK(description.status == 0);
    CHECK(contains(description.out, model["formula"]));
    for (const auto& parameter : model["parameters"])
      CHECK_FALSE(parameter["meaning"].get<std::string>().empty());
  }
}

TEST_CASE("version and help name what there is") {
  const Outcome version = run("--version");
  CHECK(version.status == 0);
  for (const char* part : {"nlsq-fit ", "kernels", "zlib", "CLI11"}) CHECK(contains(version.out, part));
  const Outcome help = run("--help");
  CHECK(help.status == 0);
  for (const char* part : {"--model", "auto, f64, f32", "Exit status"}) CHECK(contains(help.out, part));
}

TEST_CASE("any number of threads gives the same bits") {
  Scratch scratch;
  const std::string file = long_table(scratch, 100000);
  const nlohmann::json one = fit_json(file + " --model exp --threads 1"),
                       three = fit_json(file + " --model exp --threads 3");
  CHECK(one["parameters"].dump() == three["parameters"].dump());
  CHECK(one["threads"] == 1);
  CHECK(three["threads"] >= 1);
  CHECK(run(file + " --model exp --threads 0").status == 2);
}

TEST_CASE("columns with awkward names and chosen the other way round fit all the same") {
  Scratch scratch;
  const std::string file = scratch.write("t.csv", "y,x\n0,1\n1,3.1\n2,4.9\n3,7.2\n");
  const nlohmann::json fit = fit_json(file + " --x y --y x --model 'a*y+b'");
  CHECK(parameter(fit, "a")["value"].get<double>() == doctest::Approx(2.04).epsilon(1e-12));
  CHECK(fit_json(file + " --model 'a*y+b'")["verdict"] == "CONVERGED");
  CHECK(fit_json(file + " --model linear")["parameters"][0]["value"] == parameter(fit, "a")["value"]);
}

TEST_CASE("the locale is never consulted") {
  const std::string plain = fit_json(kDecay + " --model exp")["parameters"].dump();
  const Outcome german = run(kDecay + " --model exp --quiet --json -", "LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8");
  CHECK(nlohmann::json::parse(german.out)["parameters"].dump() == plain);
}

TEST_CASE("--bounds keeps parameters between them, and says which a bound holds") {
  const std::string command = kDecay + " --model exp --bounds a=0:100,c=80:";
  const Outcome outcome = run(command);
  CHECK(outcome.status == 0);
  for (const char* part :
       {"CONVERGED", "at bound", "a (100) at a bound", "1 parameter at a bound", "degrees of freedom 50"}) {
    CAPTURE(part);
    CHECK(contains(outcome.out, part));
  }
  const nlohmann::json fit = fit_json(command);
  CHECK(fit["parameters"][0]["value"] == 100);
  CHECK(fit["parameters"][0]["at_bound"] == true);
  CHECK(fit["parameters"][0]["std_error"].is_null());
  CHECK(fit["parameters"][0]["ci_low"].is_null());
  CHECK(fit["parameters"][1]["at_bound"] == false);
  CHECK(fit["parameters"][1]["std_error"] > 0);
  const nlohmann::json again = fit_json(kDecay + " --model exp --bounds a=0:100 --bounds 'c = 80 :'");
  CHECK(again["parameters"] == fit["parameters"]);
}

TEST_CASE("--variable-projection: which parameters were eliminated, from starts of the others alone") {
  const std::string command =
      kData + "nist/lanczos3.csv --model 'a*exp(-b*x)+c*exp(-d*x)+f*exp(-g*x)' --p0 b=0.3,d=5.5,g=7.6";
  for (const std::string wish : {"auto", "on", "off"}) {
    CAPTURE(wish);
    const nlohmann::json fit = fit_json(command + " --variable-projection " + wish);
    CHECK(fit.at("verdict") == "CONVERGED");
    for (const auto& parameter : fit.at("parameters")) {
      const std::string name = parameter.at("name");
      CHECK(parameter.at("eliminated") == (wish != "off" && (name == "a" || name == "c" || name == "f")));
    }
    const Outcome report = run(command + " --variable-projection " + wish);
    CHECK(contains(report.out, " with a, c, f eliminated, certified") == (wish != "off"));
  }
  const Outcome wrong = run(kDecay + " --model exp --variable-projection maybe");
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.out, "--variable-projection maybe: must be one of auto, on, off"));
  const Outcome none = run(kDecay + " --model exp --loss huber --variable-projection on");
  CHECK(none.status == 0);
  CHECK(contains(none.out, "nothing is eliminated: under a loss"));
}

TEST_CASE("--starts fits from several starts and lists where they ended") {
  const Scratch scratch;
  std::string text = "x,y\n";
  for (int i = 0; i < 60; ++i)
    text += std::to_string(0.1 * i) + "," + std::to_string(1.5 * std::sin(0.37 * i) + 0.01 * (i % 3)) + "\n";
  const std::string command = scratch.write("wave.csv", text) +
                              " --model 'a*sin(w*x)' --p0 a=1,w=0.5 --bounds w=0.1:10 --starts 24 --seed 5";
  const Outcome outcome = run(command);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "Starts 24, of which"));
  const nlohmann::json fit = fit_json(command);
  CHECK(fit["parameters"][1]["value"].get<double>() == doctest::Approx(3.7).epsilon(0.01));
  REQUIRE(fit["minima"].size() > 1);
  CHECK(fit["minima"][0]["parameters"][1] == fit["parameters"][1]["value"]);
  CHECK(fit_json(command)["minima"] == fit["minima"]);
  CHECK(run(kDecay + " --model exp --seed 3").status == 2);
  CHECK(run(kDecay + " --model exp --starts 0").status == 2);
  CHECK_FALSE(fit_json(kDecay + " --model exp").contains("minima"));
}

TEST_CASE("--intervals profile gives those of the profile likelihood, open ends included") {
  const std::string fit_of =
      kData + "puromycin.csv --x concentration --y rate --where 'treated==1' --model michaelis_menten";
  const nlohmann::json standard = fit_json(fit_of), profile = fit_json(fit_of + " --intervals profile");
  CHECK(standard["intervals"] == "standard");
  CHECK(profile["intervals"] == "profile");
  CHECK(profile["parameters"][0]["value"] == standard["parameters"][0]["value"]);
  CHECK(profile["parameters"][0]["ci_low"].get<double>() == doctest::Approx(197.30193).epsilon(1e-6));
  CHECK(profile["parameters"][0]["ci_high"].get<double>() == doctest::Approx(229.28906).epsilon(1e-6));
  CHECK(contains(run(fit_of + " --intervals profile").out, "95 % profile interval"));
  const Scratch scratch;
  const std::string demand =
      scratch.write("bod.csv", "day,oxygen\n1,8.3\n2,10.3\n3,19.0\n4,16.0\n5,15.6\n7,19.8\n") +
      " --model 'a*(1-exp(-b*x))' --p0 a=20,b=0.5 --confidence 0.99 --intervals profile";
  CHECK(contains(run(demand).out, "inf]"));
  CHECK(fit_json(demand)["parameters"][1]["ci_high"].is_null());
  CHECK(run(kDecay + " --model exp --intervals likely").status == 2);
  CHECK(run(kDecay + " --model exp --loss huber --intervals profile").status == 2);
}
