// Tests nlsq-fit --predict, --band, --csv, --derive and --bootstrap as a user runs them.
#include "cli/program_data.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

using namespace program;

namespace {

// These are rows of a straight line with known scatter.
const std::string kLine = "t,v,s\n1,2.1,0.1\n2,3.9,0.1\n3,6.2,0.1\n4,7.8,0.2\n6,12.3,0.2\n";

// Returns the numbers of a CSV file, without its header.
std::vector<std::vector<double>> numbers(const std::string& csv) {
  std::vector<std::vector<double>> rows;
  std::istringstream lines(csv);
  std::string line, cell;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    rows.emplace_back();
    while (std::getline(cells, cell, ',')) rows.back().push_back(std::strtod(cell.c_str(), nullptr));
  }
  return rows;
}

std::string said(const std::string& arguments, int status = 2) {
  const Outcome outcome = run(kDecay + " --model exp " + arguments);
  CHECK(outcome.status == status);
  return outcome.out;
}

}  // namespace

TEST_CASE("--predict A:B:N --csv - writes the curve and its bands") {
  const Scratch scratch;
  const std::string table = scratch.write("line.csv", kLine);
  const Outcome outcome = run(table + " --model 'a+b*t' --predict 0:10:3 --csv - --quiet");
  CHECK(outcome.status == 0);
  CHECK(outcome.out.substr(0, outcome.out.find('\n')) == "t,fit,conf_low,conf_high,pred_low,pred_high");
  const auto rows = numbers(outcome.out);
  REQUIRE(rows.size() == 3);
  // Computed by hand: mean t = 3.2, Sxx = 14.8; the 97.5 % point of t with 3 degrees of freedom is 3.18245.
  const double mean = 6.46, slope = 30.14 / 14.8;
  double rss = 0;
  const double t[] = {1, 2, 3, 4, 6}, v[] = {2.1, 3.9, 6.2, 7.8, 12.3};
  for (int i = 0; i < 5; ++i) rss += std::pow(v[i] - mean - slope * (t[i] - 3.2), 2);
  for (int i = 0; i < 3; ++i) {
    const double x = 5.0 * i, f = mean + slope * (x - 3.2), h = 0.2 + std::pow(x - 3.2, 2) / 14.8;
    const auto& row = rows[static_cast<std::size_t>(i)];
    CHECK(row[0] == x);
    CHECK(row[1] == doctest::Approx(f).epsilon(1e-10));
    CHECK(row[2] == doctest::Approx(f - 3.182446305 * std::sqrt(rss / 3 * h)).epsilon(1e-8));
    CHECK(row[5] == doctest::Approx(f + 3.182446305 * std::sqrt(rss / 3 * (1 + h))).epsilon(1e-8));
  }
}

TEST_CASE("--predict takes values of x between commas") {
  const auto grid = fit_json(kDecay + " --model exp --predict 0:400:3")["prediction"];
  CHECK(fit_json(kDecay + " --model exp --predict 0,200,400")["prediction"] == grid);
  CHECK(numbers(run(kDecay + " --model exp --predict 350 --csv - --quiet").out).size() == 1);
  std::string many = "1";  // this is longer than the name of a file may be
  for (int i = 2; i <= 300; ++i) many += "," + std::to_string(i);
  CHECK(numbers(run(kDecay + " --model exp --predict " + many + " --csv - --quiet").out).size() == 300);
  CHECK(contains(said("--predict 350,x", 3), "350,x: cannot open"));
  CHECK(contains(said("--predict 10,inf,nan"), "--predict 10,inf,nan: inf is not a finite number"));
  CHECK(contains(said("--predict nan"), "nan is not a finite number"));
  CHECK(contains(said("--predict 2024-03-01"), "is not a column of dates: give numbers"));
  const Scratch scratch;
  const std::string table = scratch.write("line.csv", kLine);
  CHECK(contains(run(table + " --x t,s --y v --model 'a*t+b*s' --predict 3,0.1").out,
                 "--x chose 2 predictors, and a list gives points of one"));
}

TEST_CASE("--predict FILE finds the columns by name and reads expressions and sigma") {
  const Scratch scratch;
  const std::string table = scratch.write("line.csv", kLine);
  // The columns are in another order, with other ones between them, and s is the sigma of the new
  // observations.
  const std::string points = scratch.write("points.csv", "s;other;t\n0.5;9;10\n0.1;9;0\n");
  const std::string fit =
      table + " --x t --y v --sigma s --model 'a+b*t' --predict " + points + " --csv - --quiet --delimiter ";
  const Outcome semicolon =
      run(table + " --x t --y v --sigma s --model 'a+b*t' --predict " + points + " --quiet --json -");
  CHECK(semicolon.status == 0);
  const auto json = nlohmann::json::parse(semicolon.out)["prediction"];
  CHECK(json["x"]["t"] == nlohmann::json({10, 0}));
  const double half0 = json["pred_high"][0].get<double>() - json["fit"][0].get<double>();
  const double half1 = json["pred_high"][1].get<double>() - json["fit"][1].get<double>();
  CHECK(half0 > 2 * half1);

  const std::string other = scratch.write("other.csv", "t\n1\n4\n");
  const Outcome expression =
      run(table + " --x 't^2' --y v --model 'a+b*x' --predict " + other + " --csv - --quiet");
  CHECK(expression.status == 0);
  const auto rows = numbers(expression.out);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1][0] == 16);
}

TEST_CASE("points in another unit than the data are refused") {
  const Scratch scratch;
  const std::string kelvin = scratch.write("kelvin.csv", "T [K],v\n300,2\n310,4.1\n320,5.9\n330,8\n");
  const std::string plain = scratch.write("plain.csv", "T,v\n300,2\n310,4.1\n320,5.9\n330,8\n");
  const std::string celsius = scratch.write("celsius.csv", "T [C],u\n20,1\n");
  const std::string alone = scratch.write("alone.csv", "\"T [C]\"\n20\n");
  const std::string same = scratch.write("same.csv", "u,T [K]\n1,320\n");
  const auto with = [](const std::string& table, const std::string& x, const std::string& points) {
    return run(table + " --x '" + x + "' --model 'a+b*x' --predict " + points + " --csv - --quiet");
  };
  for (const char* const x : {"1/T", "1/$1"}) {
    for (const std::string& points : {celsius, alone}) {
      const Outcome outcome = with(kelvin, x, points);
      CHECK(outcome.status == 3);
      CHECK(contains(outcome.out, "the column is T [C] here and T [K] in the data"));
    }
  }
  CHECK(with(kelvin, "1/T", same).status == 0);
  CHECK(with(kelvin, "T", alone).status == 3);
  CHECK(with(kelvin, "1", alone).status == 3);
  CHECK(with(plain, "1/T", celsius).status == 3);
  CHECK(with(plain, "T", alone).status == 0);  // like a single column of any other name
}

TEST_CASE("sigma that differs by row leaves the prediction band out, and says so") {
  const Scratch scratch;
  const std::string table = scratch.write("line.csv", kLine);
  const Outcome outcome = run(table + " --x t --y v --sigma s --model 'a+b*t' --predict 0:10:3");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "95 % confidence"));
  CHECK(contains(outcome.out, "undefined"));
  CHECK(
      contains(outcome.out, "Warning: prediction band: not defined without the sigma of a new observation"));
}

TEST_CASE("the report shows a table, which ends after 25 points") {
  CHECK(contains(said("--predict 0:400:5", 0),
                 "x        fit  std. error     95 % confidence     95 % prediction"));
  const std::string many = said("--predict 0:400:41", 0);
  CHECK(contains(many, "and 16 more points (--csv FILE writes all)"));
  CHECK_FALSE(contains(said("--predict 0:400:41 --csv /dev/null", 0), "more points"));
}

TEST_CASE("--band profile gives another band, that of the library") {
  const auto standard = fit_json(kDecay + " --model exp --predict 0:400:3")["prediction"];
  const auto profile = fit_json(kDecay + " --model exp --predict 0:400:3 --band profile")["prediction"];
  CHECK(standard["band"] == "standard");
  CHECK(profile["band"] == "profile");
  CHECK(standard["fit"] == profile["fit"]);
  const double a = standard["conf_low"][2], b = profile["conf_low"][2];
  CHECK(a != b);
  CHECK(a == doctest::Approx(b).epsilon(0.01));
  CHECK(contains(said("--predict 0:400:3 --band profile", 0), "95 % confidence (profile)"));
}

TEST_CASE("--derive is in the report and in JSON, and follows --intervals profile") {
  const std::string options = " --derive 'half_life=log(2)/b' --derive 'whole = 2*half_life'";
  const auto fit = fit_json(kDecay + " --model exp" + options);
  const double b = parameter(fit, "b")["value"], error = parameter(fit, "b")["std_error"];
  const auto& half = fit["derived"][0];
  CHECK(half["name"] == "half_life");
  CHECK(half["value"].get<double>() == doctest::Approx(std::log(2) / b).epsilon(1e-13));
  CHECK(half["std_error"].get<double>() == doctest::Approx(std::log(2) / b / b * error).epsilon(1e-10));
  CHECK(half["intervals"] == "standard");
  CHECK(fit["derived"][1]["value"].get<double>() == doctest::Approx(2 * std::log(2) / b).epsilon(1e-13));
  const auto profile = fit_json(kDecay + " --model exp --intervals profile" + options);
  CHECK(profile["derived"][0]["intervals"] == "profile");
  CHECK(profile["derived"][0]["ci_low"].get<double>() ==
        doctest::Approx(std::log(2) / parameter(profile, "b")["ci_high"].get<double>()).epsilon(1e-6));
  const std::string report = said(options, 0);
  CHECK(contains(report, "half_life = log(2)/b   141.91  ±        5.29  [131.271, 152.55]"));
}

TEST_CASE("--derive by profile says which quantities are by the delta method instead") {
  const Scratch scratch;
  std::string table = "x,y\n";
  for (int i = 0; i < 20; ++i)
    table += std::to_string(i) + "," + std::to_string(std::lround(80 * std::exp(-0.2 * i) + 5)) + "\n";
  const Outcome outcome = run(scratch.write("counts.csv", table) +
                              " --model exp --loss poisson --intervals profile --derive 'h=log(2)/b'");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out,
                 "--derive: intervals are from standard errors, not by profile: it is not "
                 "available for counts"));
  CHECK(contains(outcome.out, "Reduced deviance"));
  CHECK_FALSE(contains(outcome.out, "p-value"));  // a deviance of small counts has no χ² distribution
}

TEST_CASE("--bootstrap is in the report and in JSON, with the same bits on any number of threads") {
  const std::string options = kDecay + " --model exp --bootstrap 200 --seed 3 --derive 'h=log(2)/b'";
  const auto one = fit_json(options + " --threads 1")["bootstrap"];
  const auto four = fit_json(options + " --threads 4")["bootstrap"];
  CHECK(one == four);
  CHECK(one["method"] == "residual");
  CHECK(one["samples"] == 200);
  CHECK(one["failures"] == 0);
  CHECK(one["seed"] == 3);
  REQUIRE(one["parameters"].size() == 3);
  CHECK(one["parameters"][1]["name"] == "b");
  CHECK(one["parameters"][1]["std_error"].get<double>() / 1.82e-4 == doctest::Approx(1).epsilon(0.1));
  CHECK(one["derived"][0]["ci_low"].get<double>() < 141.91);
  CHECK(one["derived"][0]["ci_high"].get<double>() > 141.91);
  CHECK(fit_json(kDecay + " --model exp --bootstrap 200 --seed 4")["bootstrap"] != one);
  const auto rows = fit_json(options + " --bootstrap-method case")["bootstrap"];
  CHECK(rows["method"] == "case");
  const std::string report = said("--bootstrap 50", 0);
  CHECK(contains(report, "50 samples by residual resampling, seed 1, 0 failed"));
  CHECK(contains(report, "Warning: bootstrap: only about 1.25 samples lie beyond each end"));
}

TEST_CASE("a fit without a certified minimum keeps its report, without a bootstrap") {
  const Outcome outcome = run(kDecay +
                              " --model 'a*exp(-b*x)+c' --p0 b=0.02 --max-iterations 1 --bootstrap 50"
                              " --predict 0:10:2 --derive 'h=1/b'");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "--bootstrap: left out"));
  CHECK(contains(outcome.out, "bands: the fit ended without a certified minimum"));
}

TEST_CASE("mistakes in the options are named") {
  CHECK(contains(said("--derive 'h=log(2)/k'"),
                 "--derive 'h=log(2)/k': there is no parameter 'k'; the parameters are a, b, c"));
  CHECK(contains(said("--derive 'log(2)/b'"), "write name = expression"));
  CHECK(contains(
      said("--csv out.csv"),
      "--csv writes predictions, or a table of groups: it needs --predict, --group-by or several --y"));
  CHECK(contains(said("--band profile"), "--band needs --predict"));
  CHECK(contains(said("--predict 0:1:3 --band wide"), "--band wide: must be one of standard, profile"));
  CHECK(contains(said("--predict 0:1:1"), "number of points must be a whole number from 2"));
  CHECK(contains(said("--predict 3:1:5"), "the first x must be below the second"));
  CHECK(contains(said("--predict 0:1:3 --band profile --loss huber"), "a robust loss is no likelihood"));
  CHECK(contains(said("--predict 0:1:3 --csv - --json -"), "--json - and --csv - cannot share"));
  CHECK(contains(said("--bootstrap 1"), "--bootstrap 1: must be a whole number of samples, from 2"));
  CHECK(contains(said("--bootstrap-method case"), "--bootstrap-method needs --bootstrap"));
  CHECK(contains(said("--bootstrap 9 --bootstrap-method rows"), "must be one of residual, case, parametric"));
  CHECK(contains(said("--bootstrap 9 --loss poisson --bootstrap-method residual"), "use parametric or case"));
  CHECK(contains(said("--seed 3"), "--seed needs --starts or --bootstrap"));
  CHECK(contains(said("--predict nowhere.csv", 3), "nowhere.csv: cannot open"));
  const Scratch scratch;
  const std::string bad = scratch.write("bad.csv", "day\n1\n2\ninf\n");
  CHECK(
      contains(said("--predict " + bad, 3),
               "bad.csv:4:1: 'inf' in column 1 (day) is not a finite number; correct it, or remove the row"));
  const std::string zero = scratch.write("zero.csv", "day\n1\n2\n0\n");
  CHECK(contains(said("--where 'day>0' --x 'log(day)' --predict " + zero, 3),
                 "zero.csv:4: --predict: x = log(day) is -inf here"));
  const std::string other = scratch.write("one.csv", "a,b\n1,2\n");
  const Outcome missing = run(kDecay + " --x day --y weight --model exp --predict " + other);
  CHECK(missing.status == 3);
  CHECK(contains(missing.out, "one.csv"));
  CHECK(contains(missing.out, "the columns are a, b"));
  const std::string two = scratch.write("two.csv", "x,z,y\n1,2,3\n2,1,4\n3,5,9\n4,4,8\n");
  const Outcome grid = run(two + " --x x,z --y y --model 'a*x+b*z' --predict 0:1:3");
  CHECK(grid.status == 2);
  CHECK(contains(grid.out, "--x chose 2 predictors"));
}

TEST_CASE("--range and --predict take dates where x is a column of dates") {
  const Scratch scratch;
  const std::string days =
      scratch.write("days.csv", "day,v\n2025-01-01,5\n2025-01-02,6\n2025-01-03,7.1\n2025-01-04,8\n");
  const std::string times = scratch.write(
      "times.csv",
      "when,v\n2025-01-01T10:00,5\n2025-01-02T10:00,6\n2025-01-03T10:00,7.1\n2025-01-04T10:00,8\n");
  const Outcome predicted = run(days + " --model line --predict 2025-01-05:2025-01-07:3 --csv - --quiet");
  CHECK(predicted.status == 0);
  const auto rows = numbers(predicted.out);
  REQUIRE(rows.size() == 3);
  CHECK(contains(predicted.out, "\n2025-01-05,"));
  CHECK(contains(predicted.out, "\n2025-01-07,"));
  CHECK(contains(run(times + " --model line --predict 2025-01-05T12:30:00").out, "\n  2025-01-05T12:30:00"));
  CHECK(contains(run(times + " --model line --quiet --residuals -").out, "\n2025-01-03T10:00:00,7.1,"));
  const std::string offsets = scratch.write(
      "offsets.csv",
      "when,v\n2024-02-28T23:00:00.25-02:00,1\n2024-02-29T23:00-02:00,2\n2024-03-01T23:00-02:00,3\n");
  const std::string fine = scratch.write(
      "fine.csv",
      "when,v\n2024-01-01T00:00:00,1\n2024-01-01T00:00:00.00002,2\n2024-01-01T00:00:00.0000201,3\n");
  const std::string of_fine = run(fine + " --model line --quiet --residuals -").out;
  CHECK(contains(of_fine, "\n2024-01-01T00:00:00.00002,2,"));
  CHECK(contains(of_fine, "\n2024-01-01T00:00:00.0000201,3,"));
  const std::string of_day = scratch.write("of_day.csv", "when,v\n09:30,1\n10:30,2\n11:30,3.1\n");
  CHECK(contains(run(offsets + " --model line --quiet --residuals -").out, "\n2024-02-29T01:00:00.25Z,1,"));
  const std::string late = run(of_day + " --model line --predict 09:30:23:30:2 --csv - --quiet").out;
  CHECK(contains(late, "\n09:30:00,"));
  CHECK(contains(run(of_day + " --model line --predict 0,90000 --csv - --quiet").out, "\n90000,"));
  // A single time is no grid where x has times, and is one where x has numbers.
  const std::string clock = run(of_day + " --model line --predict 10:20:30 --csv - --quiet").out;
  CHECK(contains(clock, "\n10:20:30,"));
  CHECK(numbers(clock).size() == 1);
  CHECK(contains(run(of_day + " --model line --predict 10:20 --csv - --quiet").out, "\n10:20:00,"));
  CHECK(contains(run(of_day + " --model line --predict 0:3600:3 --csv - --quiet").out, "\n10:00:00,"));
  CHECK(numbers(run(kDecay + " --model exp --predict 10:20:30 --csv - --quiet").out).size() == 30);
  CHECK(rows[2][1] == doctest::Approx(6.525 + 4.5 * 1.01));
  const Outcome by_time = run(times + " --model line --range 2025-01-02T09:30:2025-01-04T10:00");
  CHECK(by_time.status == 0);
  CHECK(by_time.out.find("3 rows fitted, 1 left out (1 by --range)") != std::string::npos);
  CHECK(run(days + " --model line --range :2025-01-03").out.find("1 by --range") != std::string::npos);
  // Bounds are refused if they are not written as the dates of the column are, and if the column has no
  // dates.
  const auto refused = [&](const std::string& arguments, const char* why) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.find(why) != std::string::npos);
  };
  refused(days + " --model line --range 09:00:10:00", "as in 2025-01-01");
  refused(days + " --model line --range 2025-01-03:2025-01-02", "the first bound is above the second");
  refused(days + " --model line --predict 2025-01-09:2025-01-07:3", "the first x must be below the second");
  refused(days + " --model line --x 'day/86400' --range 2025-01-02:", "is not a column of dates");
  refused(kDecay + " --model exp --range 2025-01-02:", "x = day is not a column of dates");
  refused(kDecay + " --model exp --range 10:2025-01-02", "with numbers, or with dates");
}

TEST_CASE("if y does not vary, the message does not advise other starts") {
  const Scratch scratch;
  const Outcome outcome =
      run(scratch.write("constant.csv", "x,y\n1,5\n2,5\n3,5\n4,5\n5,5\n6,5\n") + " --model exp");
  CHECK(outcome.status == 1);
  CHECK(outcome.out.find("no more than a constant") != std::string::npos);
  CHECK(outcome.out.find("--starts 32") == std::string::npos);
}

TEST_CASE("dates of the points count from the first date of the data") {
  const Scratch scratch;
  const std::string data = scratch.write("data.csv",
                                         "day,v\n2024-01-01,10\n2024-02-01,8.1\n2024-03-01,6.4\n2024-04-01,5."
                                         "3\n2024-05-01,4.1\n2024-06-01,3.4\n");
  const std::string points = scratch.write("points.csv", "day\n2024-07-01\n2024-08-01\n");
  const Outcome of_file = run(data + " --model exp0 --predict " + points + " --csv - --quiet");
  const Outcome of_grid = run(data + " --model exp0 --predict 2024-07-01:2024-08-01:2 --csv - --quiet");
  CHECK(of_file.status == 0);
  CHECK(of_file.out == of_grid.out);
  const std::string seconds = scratch.write("seconds.csv", "day\n15724800\n18403200\n");
  CHECK(run(data + " --model exp0 --predict " + seconds + " --csv - --quiet").out == of_grid.out);
  const std::string numbers = scratch.write("numbers.csv", "day,v\n0,10\n1,8.1\n2,6.4\n3,5.3\n4,4.1\n");
  const Outcome mixed = run(numbers + " --model exp0 --predict " + points);
  CHECK(mixed.status == 3);
  CHECK(mixed.out.find("day has dates here and numbers in") != std::string::npos);
}

TEST_CASE("a date in an expression is refused, because it would be a subtraction") {
  const Scratch scratch;
  const std::string data =
      scratch.write("data.csv", "day,v\n2024-01-01,10\n2024-02-01,8.1\n2024-03-01,6.4\n");
  const Outcome outcome = run(data + " --model exp0 --where 'day >= 2024-02-01'");
  CHECK(outcome.status == 2);
  CHECK(outcome.out.find("2024-02-01 would be a subtraction") != std::string::npos);
  CHECK(outcome.out.find("--range") != std::string::npos);
  const std::string named = scratch.write(
      "named.csv",
      "day,v,batch\n2024-01-01,10,2024-03-01\n2024-02-01,8.1,2024-03-01\n2024-03-01,6.4,\"x\"\n");
  CHECK(run(named + " --model 'a' --where 'day >= 0 && batch == \"2024-03-01\"' --quiet")
            .out.find("subtraction") == std::string::npos);
  const std::string two = scratch.write(
      "two.csv",
      "start,end,v\n2024-01-01,2024-01-03,10\n2024-02-01,2024-02-02,8.1\n2024-03-01,2024-03-09,6.4\n");
  const Outcome difference = run(two + " --model exp0 --x end-start --y v");
  CHECK(difference.status == 2);
  CHECK(difference.out.find("start since 2024-01-01") != std::string::npos);
}

TEST_CASE("the profile interval of a tied parameter is said to be from its standard error") {
  const Outcome outcome = run(kDecay + " --model exp --tie c=a/5 --intervals profile");
  CHECK(outcome.out.find("the interval of c is from the standard error") != std::string::npos);
}

TEST_CASE("points have no row numbers, and two names of one file are not two outputs") {
  const Scratch scratch;
  const Outcome outcome = run(kDecay + " --x '$0' --y weight --model exp --predict " + kDecay);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.find("takes row numbers") != std::string::npos);
  const Outcome same = run(kDecay + " --model exp --json ./same.json --residuals same.json");
  CHECK(same.status == 2);
  CHECK(same.out.find("writes that file too") != std::string::npos);
}
