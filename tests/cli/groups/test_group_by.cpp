// Tests nlsq-fit --group-by as a user runs it: the table, the JSON lines, the CSV file, and failures.
#include "cli/groups/sites.hpp"
#include "cli/program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

using namespace program;
using namespace sites_of_groups;
using nlohmann::json;

TEST_CASE("Each group has the answer of its rows alone, in the order of the file") {
  const Scratch files;
  const std::string quoted = files.write("q.csv", [] {
    std::string text = sites({"south", "@", "east"}, 30);
    for (std::size_t at = 0; (at = text.find('@')) != std::string::npos;)
      text.replace(at, 1, "\"north, high\"");
    return text;
  }());
  const Outcome run_all = run(quoted + kFit + "--quiet --json -");
  CHECK(run_all.status == 0);
  const std::vector<json> lines = lines_of(run_all.out);
  REQUIRE(lines.size() == 4);
  const std::vector<std::string> names = {"south", "north, high", "east"};
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(lines[k]["group"] == names[k]);
    const json alone = fit_json(quoted + " --x t --y v --model exp --where 'site == \"" + names[k] + "\"'");
    CHECK(lines[k]["verdict"] == alone["verdict"]);
    CHECK(lines[k]["rows"] == alone["rows"]);
    CHECK(lines[k]["dof"] == alone["dof"]);
    for (std::size_t j = 0; j < 3; ++j) {
      for (const char* key : {"value", "std_error", "ci_low", "ci_high"}) {
        CAPTURE(key);
        const double here = lines[k]["parameters"][j][key], there = alone["parameters"][j][key];
        CHECK(here == doctest::Approx(there).epsilon(1e-9));
      }
    }
    CHECK(lines[k]["r_squared"].get<double>() ==
          doctest::Approx(alone["r_squared"].get<double>()).epsilon(1e-9));
  }
  CHECK(lines[3]["groups"] == 3);
  CHECK(lines[3]["succeeded"] == 3);
  CHECK(lines[3]["failed"] == 0);
  CHECK(lines[3]["rows"] == 90);
  CHECK(lines[3]["group_by"] == "site");
}

TEST_CASE("Without --x and --y, x and y are the first two columns that are not the group") {
  const Scratch files;
  std::string first = "id,t,v\n", second = "t,id,v\n", third = "t,v,id\n";
  for (int id = 1; id <= 2; ++id) {
    for (int i = 0; i < 12; ++i) {
      const std::string t = std::to_string(i), g = std::to_string(id);
      const std::string v = std::to_string(3 * std::exp(-0.3 * i) + id + 0.01 * std::sin(9.0 * i));
      first += g + "," + t + "," + v + "\n";
      second += t + "," + g + "," + v + "\n";
      third += t + "," + v + "," + g + "\n";
    }
  }
  const std::string with = " --model exp --group-by id --quiet --json -";
  const Outcome wanted = run(files.write("3.csv", third) + with);
  CHECK(wanted.status == 0);
  for (const std::string& text : {first, second}) {
    const Outcome got = run(files.write("o.csv", text) + with);
    CHECK(got.status == 0);
    for (std::size_t k = 0; k < 2; ++k)
      CHECK(lines_of(got.out)[k]["parameters"] == lines_of(wanted.out)[k]["parameters"]);
  }
}

TEST_CASE("The report has a table of the groups, and the CSV file all of their numbers") {
  const Scratch files;
  const std::string table = files.write("d.csv", sites({"a", "b"}, 30));
  const Outcome report = run(table + kFit + "--csv " + files.path("out.csv"));
  CHECK(report.status == 0);
  CHECK(contains(report.out, "groups by site"));
  CHECK(contains(report.out, "Groups 2, of which 2 succeeded"));
  CHECK(contains(report.out, " ± "));
  const std::string csv = files.read("out.csv");
  CHECK(csv.starts_with(
      "group,rows,a,a_std_error,b,b_std_error,c,c_std_error,cost,r_squared,verdict\na,30,4."));
  CHECK(contains(csv, ",CONVERGED\nb,30,4."));
  const Outcome to_stdout = run(table + kFit + "--csv -");
  CHECK(to_stdout.out == csv);
}

TEST_CASE("Groups have the same bits on any number of threads, and for any order of the file's groups") {
  const Scratch files;
  std::vector<std::string> names;
  for (int k = 0; k < 1200; ++k) names.push_back("g" + std::to_string(k));
  const std::string table = files.write("d.csv", sites(names, 25));
  const std::string one = run(table + kFit + "--csv - --threads 1").out;
  CHECK(one == run(table + kFit + "--csv - --threads 3").out);
  CHECK(std::count(one.begin(), one.end(), '\n') == 1201);

  // These are the rows sorted by group in descending order.
  std::istringstream rows(files.read("d.csv"));
  std::vector<std::string> list;
  std::string header;
  std::getline(rows, header);
  for (std::string row; std::getline(rows, row);) list.push_back(row);
  std::stable_sort(list.begin(), list.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find(',')) > b.substr(0, b.find(','));
  });
  std::string sorted = header + "\n";
  for (const std::string& row : list) sorted += row + "\n";
  const std::string other = run(files.write("s.csv", sorted) + kFit + "--csv -").out;
  std::vector<std::string> a, b;
  for (const auto& [text, to] : {std::pair{&one, &a}, std::pair{&other, &b}}) {
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) to->push_back(line);
    std::sort(to->begin(), to->end());
  }
  CHECK(a == b);
  CHECK(one != other);
}

TEST_CASE("A group that cannot be fitted is named with its reason, and the others are fitted") {
  const Scratch files;
  const std::string table = files.write("d.csv", sites({"good", "fine"}, 30) + "few,1,2\nfew,2,3\n");
  const Outcome outcome = run(table + kFit + "--json -");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "1 of 3 groups did not succeed"));
  CHECK(contains(outcome.out, "few: 2 rows cannot determine 3 parameters"));
  const std::vector<json> lines = lines_of(run(table + kFit + "--quiet --json -").out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["verdict"] == "CONVERGED");
  CHECK(lines[2]["verdict"] == "FAILED");
  CHECK(lines[2]["parameters"][0]["std_error"].is_null());
  CHECK(lines[3]["failed"] == 1);
  CHECK(lines[3]["failed_groups"] == json::array({"few"}));
}

TEST_CASE("A group of constant y does not stop the others") {
  const Scratch files;
  std::string text = sites({"good"}, 30);
  for (int i = 0; i < 30; ++i) text += "flat," + std::to_string(i) + ",2\n";
  const std::vector<json> lines = lines_of(run(files.write("d.csv", text) + kFit + "--quiet --json -").out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["verdict"] == "CONVERGED");
  const json alone = fit_json(files.path("d.csv") + " --x t --y v --model exp --where 'site == \"flat\"'");
  CHECK(lines[1]["verdict"] == alone["verdict"]);
}

TEST_CASE("Groups may be numbers, and equal numbers are one group") {
  const Scratch files;
  std::string text = sites({"7", "-1.5"}, 30);
  const std::size_t at = text.find("\n7,") + 1;
  text.replace(text.find("\n7,", at + 1) + 1, 1, "7.0");
  const std::string table = files.write("d.csv", text);
  const std::vector<json> lines = lines_of(run(table + kFit + "--quiet --json -").out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["group"] == "7");
  CHECK(lines[0]["rows"] == 30);
  CHECK(lines[1]["group"] == "-1.5");
  CHECK(run(table + " --x t --y v --model exp --group-by 1 --csv -").out ==
        run(table + kFit + "--csv -").out);
}

TEST_CASE("Rows that --where, --range and --missing leave out form no group") {
  const Scratch files;
  const std::string table =
      files.write("d.csv", sites({"a", "b", "c"}, 30) + "NA,1,2\nonly_missing,NA,3\nfar,100,3\n");
  const std::vector<json> lines =
      lines_of(run(table + kFit + "--missing drop --range :50 --where 'site != \"b\"' --quiet --json -").out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["group"] == "a");
  CHECK(lines[1]["group"] == "c");
  CHECK(lines[2]["rows"] == 60);
  const Outcome missing = run(table + kFit);
  CHECK(missing.status == 3);
  CHECK(contains(missing.out, "d.csv:92:1: a value ('NA') is missing in column 1 (site)"));
}

TEST_CASE("Options that --group-by does not support are errors") {
  const Scratch files;
  const std::string table = files.write("d.csv", sites({"a", "b"}, 10));
  const std::string plain = table + " --x t --y v --model exp --group-by ";
  Outcome outcome = run(plain + "place");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "place"));
  outcome = run(plain + "t+1");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "--group-by t+1: give one column, by its name or number"));
  for (const std::string option :
       {"--predict 0:1:3", "--derive q=a", "--bootstrap 10", "--intervals profile", "--residuals r.csv",
        "--compare linear,poly2", "--certify --p0 a=1,b=1,c=1", "--plot p.gp", "--report r.html",
        "--optimize speed", "--profile", "--trace"}) {
    CAPTURE(option);
    outcome = run(plain + "site " + option);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, "is not available with --group-by"));
  }
  outcome = run(plain + "site --confidence 0.9");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "groups have in --json alone"));
  CHECK(contains(run(plain + "site --confidence 0.9 --quiet --json -").out, "\"confidence\":0.9"));
  outcome = run(plain + "site --csv " + table);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "would overwrite the input"));
  outcome = run(plain + "site --p0 q=1");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "no parameter 'q'"));
}

TEST_CASE("--share fits all groups at once: parameters, errors and statistics are those of one formula") {
  const Scratch files;
  std::string numbered = sites({"0", "1"}, 30);
  const std::string table = files.write("s.csv", sites({"north", "south"}, 30)),
                    same = files.write("n.csv", numbered);
  const Outcome out = run(table + kFit + "--share b,c --quiet --json -");
  CHECK(out.status == 0);
  const std::vector<json> lines = lines_of(out.out);
  REQUIRE(lines.size() == 3);
  const json one = fit_json(same +
                            " --x t,site --y v --model 'if(site==0,a0,a1)*exp(-b*t)+c' --p0 "
                            "a0=3,a1=4,b=0.5,c=0.5");
  const auto check = [&](const json& here, const std::string& there) {
    const json expected = parameter(one, there);
    for (const char* key : {"value", "std_error", "ci_low", "ci_high"})
      CHECK(here[key].get<double>() == doctest::Approx(expected[key].get<double>()).epsilon(1e-6));
  };
  CHECK(lines[0]["parameters"][0]["name"] == "a[north]");
  CHECK(lines[0]["parameters"][1]["name"] == "b");
  CHECK(lines[0]["parameters"][1]["shared"] == true);
  check(lines[0]["parameters"][0], "a0");
  check(lines[1]["parameters"][0], "a1");
  check(lines[1]["parameters"][2], "c");
  const json& all = lines[2];
  REQUIRE(all["shared"].size() == 2);
  check(all["shared"][0], "b");
  CHECK(all["dof"] == one["dof"]);
  CHECK(all["rss"].get<double>() == doctest::Approx(one["rss"].get<double>()).epsilon(1e-9));
  CHECK(all["shared_covariance"][0][0].get<double>() ==
        doctest::Approx(std::pow(parameter(one, "b")["std_error"].get<double>(), 2)).epsilon(1e-6));
  CHECK(all["verdict"] == "CONVERGED");
  const Outcome text = run(table + kFit + "--share b,c");
  CHECK(text.status == 0);
  CHECK(contains(text.out, "CONVERGED of one fit of 2 groups"));
  CHECK(run(table + kFit + "--share b,c --threads 1 --quiet --csv -").out ==
        run(table + kFit + "--share b,c --threads 3 --quiet --csv -").out);
}

TEST_CASE("a text without quotes in --where gets the advice to quote it") {
  const Scratch files;
  const Outcome out =
      run(files.write("s.csv", sites({"north", "south"}, 30)) + kFit + "--where 'site == north'");
  CHECK(out.status == 3);
  CHECK(contains(out.out, "no column 'north' (--where)"));
  CHECK(contains(out.out, "if it is a text, quote it: \"north\""));
}

TEST_CASE("--share is refused with a reason where it cannot be done") {
  const Scratch files;
  const std::string table = files.write("s.csv", sites({"north", "south"}, 30));
  const auto bad = [&](const std::string& options, const std::string& message) {
    const Outcome out = run(table + options);
    CHECK(out.status == 2);
    CAPTURE(out.out);
    CHECK(contains(out.out, message));
  };
  bad(kFit + "--share q", "the model has no parameter 'q'; its parameters are a, b, c");
  bad(kFit + "--share b,b", "b is named twice");
  bad(kFit + "--share b,", "give names, as in tau,c");
  bad(kFit + "--share a,b,c", "no free parameter is left");
  bad(kFit + "--share b --loss huber", "takes no loss other than linear");
  bad(kFit + "--share b --variable-projection on", "takes no variable projection");
  bad(" --x t --y v,v --model exp --share b", "--y v,v: v is named twice, and its rows would count twice");
  bad(" --x t --y v --model exp --share b", "it needs --group-by COL, or several columns in --y");
}

TEST_CASE("Several columns in --y are groups named by their columns") {
  const Scratch files;
  std::string wide = "t,p,q\n", tall = "t,v,name\n";
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 0.02);
  for (const char* name : {"p", "q"}) {
    for (int i = 0; i < 30; ++i) {
      const double t = 0.2 * i, v = (name[0] == 'p' ? 4 : 6) * std::exp(-0.8 * t) + 1 + noise(random);
      tall += std::to_string(t) + "," + std::to_string(v) + "," + name + "\n";
    }
  }
  const std::vector<std::string> rows = [&] {
    std::vector<std::string> out;
    std::istringstream lines(tall);
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }();
  for (std::size_t i = 1; i <= 30; ++i) {
    const std::string left = rows[i].substr(0, rows[i].rfind(','));
    const std::string& right = rows[i + 30];
    wide += left + right.substr(right.find(','), right.rfind(',') - right.find(',')) + "\n";
  }
  const std::string w = files.write("w.csv", wide), g = files.write("g.csv", tall);
  for (const std::string more : {"", " --share b"}) {
    CAPTURE(more);
    const Outcome columns = run(w + " --x t --y p,q --model exp --quiet --csv -" + more);
    CHECK(columns.status == 0);
    CHECK(columns.out == run(g + " --x t --y v --model exp --group-by name --quiet --csv -" + more).out);
    CHECK(contains(columns.out, "\np,30,"));
  }
  const std::vector<json> lines = lines_of(run(w + " --x t --y p,q --model exp --quiet --json -").out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1]["group"] == "q");
  CHECK(lines[2]["group_by"] == "y");
  const std::string text = run(w + " --x t --y p,q --model exp --where 't > 0.5'").out;
  CHECK(contains(text, "CONVERGED"));
  CHECK(contains(text, "y = p and q"));
  CHECK(contains(text, "27 rows fitted, 3 left out"));
  const auto bad = [&](const std::string& options, const std::string& message) {
    const Outcome out = run(w + options);
    CHECK(out.status != 0);
    CAPTURE(out.out);
    CHECK(contains(out.out, message));
  };
  bad(" --x t --y p,z --model exp", "there is no column 'z'");
  bad(" --x t --y p,q --model exp --plot -", "--plot is not available with several columns in --y");
  bad(" --x t --y p,q --model exp --group-by t", "exclude each other");
}

TEST_CASE("A group column anywhere, quoted or not, is read as the same groups") {
  const Scratch files;
  const std::string plain = sites({"a", "b", "c"}, 40);
  std::string last = "t,v,site\n", quoted = "t,site,v\n";
  std::istringstream lines(plain);
  std::string line;
  std::getline(lines, line);
  for (int i = 0; std::getline(lines, line); ++i) {
    const std::size_t first = line.find(','), second = line.rfind(',');
    const std::string site = line.substr(0, first), t = line.substr(first + 1, second - first - 1),
                      v = line.substr(second + 1);
    last += t + "," + v + "," + site + (i % 3 == 0 ? "  # a note\n" : i % 2 == 0 ? " \n" : "\n");
    quoted += t + "," + (i % 4 == 0 ? "\"" + site + "\"" : i % 5 == 0 ? " " + site : site) + "," + v + "\n";
  }
  const std::string expected = run(files.write("p.csv", plain) + kFit + "--quiet --csv -").out;
  CHECK(contains(expected, "\nc,40,"));
  CHECK(run(files.write("l.csv", last) + kFit + "--quiet --csv -").out == expected);
  CHECK(run(files.write("q.csv", quoted) + kFit + "--quiet --csv -").out == expected);
}

TEST_CASE("Whole numbers that a double cannot tell apart are groups of their own") {
  const Scratch files;
  std::string text = "t,v,id\n";
  for (const char* id : {"9007199254740992", "9007199254740993"}) {
    for (int i = 0; i < 12; ++i) {
      const double t = 0.4 * i, v = (id[15] == '2' ? 3 : 6) * std::exp(-0.8 * t) + 1 + 0.01 * (i % 3);
      text += std::to_string(t) + "," + std::to_string(v) + "," + id + "\n";
    }
  }
  const Outcome out =
      run(files.write("ids.csv", text) + " --x t --y v --group-by id --model exp --quiet --csv -");
  CHECK(out.status == 0);
  CHECK(contains(out.out, "9007199254740992,12,2.99"));
  CHECK(contains(out.out, "9007199254740993,12,5.99"));
}

TEST_CASE("A group in doubt is no success, as a fit of its rows alone is none") {
  const Scratch files;
  const std::string data = files.write("d.csv", sites({"north", "south"}, 40));
  const std::string model = " --x t --y v --model 'a*d*exp(-b*t)+c' --quiet";
  CHECK(run(data + model).status == 1);
  const Outcome groups = run(data + model + " --group-by site --json -");
  CHECK(groups.status == 1);
  CHECK(contains(groups.out, "had no starting value"));
  CHECK(run(data + model + " --group-by site --share b").status == 1);
}
