// Tests times of day that run over midnight, and dates of points, wherever an expression reads them.
#include "cli/program.hpp"

#include <doctest/doctest.h>

using namespace program;

TEST_CASE("times of day over midnight are refused wherever they are read") {
  const Scratch files;
  const std::string data =
      files.write("d.csv", "t,y,g\n23:59:00,1,a\n23:59:30,2,a\n00:00:10,3.1,a\n00:00:40,5,a\n");
  for (const char* const options :
       {"--x t --y y", "--x t/60 --y y", "--x -t --y y", "--x y --y t", "--x t/60 --y y --where 't > -100'",
        "--x t/60 --y y --group-by g", "--x y --y y --sigma '1+t*t'"}) {
    CAPTURE(options);
    const Outcome outcome = run(data + " --model linear --quiet " + options);
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.out, data + ":4: column 1 (t) goes back by more than half a day"));
  }
  CHECK(run(data + " --model linear --quiet --x y --y 'y^2'").status == 0);
  CHECK(run(data + " --model constant --quiet --x y --y 'y^2' --where 't > -100'").status ==
        0);  // only compared
}

TEST_CASE("points of one day need no order") {
  const Scratch files;
  const std::string data = files.write("d.csv", "t,y\n00:00,1\n08:00,2\n16:00,2.9\n23:00,4\n");
  const std::string points = files.write("p.csv", "t\n18:00\n04:00\n");
  CHECK(run(data + " --model linear --quiet --csv - --predict " + points).status == 0);
}

TEST_CASE("times of one day in several groups do not run over midnight") {
  const Scratch files;
  const std::string data =
      files.write("g.csv", "t,y,g\n08:00,1,a\n14:00,2,a\n22:00,3.1,a\n08:00,2,b\n14:00,4,b\n22:00,6.3,b\n");
  CHECK(run(data + " --model linear --x t --y y --group-by g --quiet").status == 0);
}

TEST_CASE("points over midnight are refused, and dates in their sigma count from those of the data") {
  const Scratch files;
  const std::string day = files.write("d.csv", "t,y\n23:50:00,1\n23:53:00,2\n23:56:00,2.9\n23:59:00,4\n");
  const std::string over = files.write("o.csv", "t\n23:59:30\n00:00:30\n");
  const Outcome outcome = run(day + " --model linear --quiet --csv - --predict " + over);
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, over + ":3: --predict: column 1 (t) is more than half a day before the data"));

  const std::string data = files.write("s.csv",
                                       "x,y,t\n1,2.1,2024-03-01\n2,3.9,2024-03-02\n3,6.2,2024-03-03\n"
                                       "4,7.9,2024-03-04\n5,10.1,2024-03-05\n");
  const std::string some = files.write("p.csv", "x,t\n3,2024-03-03\n"),
                    all = files.write("q.csv", "x,t\n3,2024-03-03\n1,2024-03-01\n");
  const std::string fit = data +
                          " --model linear --x x --y y --sigma '0.1+t/86400' --absolute-sigma --quiet "
                          "--csv - --predict ";
  const std::string first = run(fit + some).out, both = run(fit + all).out;
  CHECK(contains(first, "\n3,"));
  CHECK(both.starts_with(first));
}

TEST_CASE("no two columns of a table of results have one name") {
  const Scratch files;
  const std::string data = files.write("d.csv", "fit,v,g\n1,2.1,a\n2,3.9,a\n3,6.2,a\n4,8.1,a\n");
  const std::string fit = data + " --x fit --y v --quiet ";
  CHECK(contains(run(fit + "--model 'a*fit+b' --residuals -").out, "x_fit,y,fit,residual\n"));
  CHECK(contains(run(fit + "--model 'a*fit+b' --predict 1,2 --csv -").out, "x_fit,fit,conf_low"));
  CHECK(contains(run(files.write("e.csv", "fit,x_fit,v\n1,2,2.1\n2,1,3.9\n3,5,6.2\n4,3,8.1\n") +
                     " --x fit,x_fit --y v --quiet --model 'a*fit+b*x_fit' --residuals -")
                     .out,
                 "x_x_fit,x_fit,y,fit,residual\n"));
  const Outcome outcome = run(fit + "--model 'cost*fit+rows' --group-by g --csv -");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "cost is the name of another column of the table of groups"));
}

TEST_CASE("the JSON of groups names the date from which seconds count") {
  const Scratch files;
  const std::string data =
      files.write("d.csv", "t,y,g\n2024-03-01,1,a\n2024-03-02,2.1,a\n2024-03-03,2.9,a\n2024-03-04,4.2,a\n");
  const std::string json = run(data + " --model linear --group-by g --quiet --json -").out;
  CHECK(contains(json, "\"seconds_since\": \"2024-03-01\""));
  CHECK(contains(json, "\"role\": \"group\""));
}
