// Tests columns in which some numbers have a percent sign and others have none.
#include "cli/program.hpp"

#include <doctest/doctest.h>

using namespace program;

TEST_CASE("numbers with and without a percent sign in one column are an error that names the first of each") {
  const Scratch files;
  const std::string fit = " --x t --y v --model linear ";
  const std::string mixed = files.write("m.csv", "t,v,u\n1,12%,p\n2,14.5%,p\n3,25,n\n4,17%,p\n5,30,n\n");
  const Outcome outcome = run(mixed + fit);
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, mixed +
                                  ":2: column 2 (v) has a number with a percent sign here, which is 0.12, "
                                  "and 25 without one at " +
                                  mixed + ":4: write all"));
  const std::string other = files.write("o.csv", "t,v\n1,25\n2,30\n3,12%\n4,31\n");
  CHECK(contains(run(other + fit).out, other + ":4: column 2 (v) has a number with a percent sign here"));
  CHECK(contains(run(other + fit).out, "and 25 without one at " + other + ":2"));

  CHECK(run(mixed + fit + "--where 'u == \"p\"' --quiet").status == 0);
  CHECK(run(mixed + " --x t --y 't^2' --model linear --quiet").status == 0);  // the column is not chosen
  const std::string all = files.write("a.csv", "t,v\n1,12%\n2,14.5 %\n3,0\n4,17%\n5,20% # last\n");
  CHECK(run(all + fit + "--quiet").status == 0);
  CHECK(contains(run(all + " " + other + fit).out, other + ":2"));
}

TEST_CASE("percent signs of points and of x of an image agree with each other and with the data") {
  const Scratch files;
  const std::string data = files.write("d.csv", "x,y\n10%,1\n20%,2.1\n30%,2.9\n40%,4.1\n");
  const std::string plain = files.write("p.csv", "x,y\n0.1,1\n0.2,2.1\n0.3,2.9\n0.4,4.1\n");
  const std::string fit = " --model linear --quiet --csv - --predict ";
  const std::string good = files.write("g.csv", "x\n15%\n0\n35%\n"),
                    mixed = files.write("m.csv", "x\n15%\n25\n35%\n"),
                    none = files.write("n.csv", "x\n0\n40\n50\n");
  CHECK(run(data + fit + good).status == 0);
  const Outcome of_mixed = run(data + fit + mixed);
  CHECK(of_mixed.status == 3);
  CHECK(contains(of_mixed.out, mixed + ":2: column 1 (x) has a number with a percent sign here"));
  const Outcome of_none = run(data + fit + none);
  CHECK(of_none.status == 3);
  CHECK(contains(of_none.out,
                 none + ":3: --predict: column 1 (x) has no percent sign here and one in the data"));
  CHECK(run(plain + fit + none).status == 0);
  const Outcome reversed = run(plain + fit + good);
  CHECK(reversed.status == 3);
  CHECK(contains(reversed.out, "has a percent sign here and none in the data"));

  // Points without signs are accepted if --where has left out all rows of the data that have one. They are
  // also accepted if their column has the name of the whole expression, which is a number of another kind.
  const std::string other = files.write("o.csv", "x,y,u\n10%,9,no\n20,2.1,yes\n30,2.9,yes\n40,4.1,yes\n");
  CHECK(run(other + " --where 'u == \"yes\"'" + fit + none).status == 0);
  const std::string two = files.write("t.csv", "a,b,y\n10%,1,1\n20%,2,2.1\n30%,3,2.9\n40%,5,4.1\n");
  const std::string product = files.write("ab.csv", "a*b\n0.3\n0.4\n");
  CHECK(run(two + " --x 'a*b' --y y" + fit + product).status == 0);
}

TEST_CASE("limits and points of x need a percent sign if the data have one, and none if they have none") {
  const Scratch files;
  const std::string data = files.write("d.csv", "x,y\n10%,1\n20%,2.1\n30%,2.9\n40%,4.1\n"),
                    plain = files.write("p.csv", "x,y\n10,1\n20,2.1\n30,2.9\n40,4.1\n");
  const std::string fit = " --model linear --quiet --csv - --predict ";
  for (const char* const points : {"15", "0.15", "15,25", "15:25:3"}) {
    CAPTURE(points);
    const Outcome outcome = run(data + fit + points);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, "column 1 (x) has percent signs in the data"));
    CHECK(contains(outcome.out, "has none here: write both in the same way"));
    CHECK(run(plain + fit + points).status == 0);
    CHECK(run(data + " --x x*100 --y y" + fit + points).status == 0);  // an expression may convert them
  }
  for (const char* const points : {"15%", "0", "15%,25%", "0:25%:3"}) {
    CAPTURE(points);
    CHECK(run(data + fit + points).status == 0);
  }
  CHECK(contains(run(plain + fit + "15%").out, "has no percent signs in the data, and 15% has one here"));
  const std::string range = " --model linear --quiet --json - --range ";
  CHECK(contains(run(data + range + "15:35").out,
                 "column 1 (x) has percent signs in the data, and 15 has none here"));
  const Outcome ranged = run(data + range + "15%:");
  CHECK(nlohmann::json::parse(ranged.out, nullptr, false).value("rows", 0) == 3);
  CHECK(contains(run(data + " --model linear").out, "x = x (percent, as a fraction), y = y\n"));
}

TEST_CASE("y and its absolute sigma, and x and its sigma, both have percent signs or neither has") {
  const Scratch files;
  const std::string rows = "x,y,s,t,u\n10%,1%,2,2%,1\n20%,2.1%,2,2%,1\n30%,2.9%,2,2%,1\n40%,4.1%,2,2%,1\n";
  const std::string fit = files.write("d.csv", rows) + " --x x --y y --model linear --quiet --sigma ";
  CHECK(run(fit + "t --absolute-sigma").status == 0);
  CHECK(run(fit + "s").status == 0);  // only its ratios count
  const Outcome outcome = run(fit + "s --absolute-sigma");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "column 2 (y) has percent signs and column 3 (s) has none"));
  CHECK(contains(outcome.out, "write y and --sigma in the same way"));
  CHECK(run(fit + "s/100 --absolute-sigma").status == 0);
  CHECK(contains(run(fit + "t --sigma-x u").out, "column 1 (x) has percent signs and column 5 (u) has none"));
  CHECK(run(fit + "t --sigma-x t").status == 0);
}

TEST_CASE("a condition that compares percentages with a number of 1 or more has a warning") {
  const Scratch files;
  const std::string data = files.write("d.csv", "x,y,p,q\n1,1,2%,3\n2,2.1,4%,1\n3,2.9,6%,7\n4,4.1,8%,9\n");
  const std::string fit = data + " --x x --y y --model linear --where ";
  const Outcome warned = run(fit + "'p < 5'");
  CHECK(warned.status == 0);
  CHECK(contains(warned.out,
                 "Warning: --where p < 5: column 3 (p) has percent signs, and its numbers are fractions, as "
                 "0.05 for 5%: for 5 % write 0.05"));
  CHECK(contains(run(fit + "'x < 4 && 7 > p'").out, "for 7 % write 0.07"));
  CHECK(contains(run(fit + "'p < q'").out, "column 4 (q) has none"));
  for (const char* const sound : {"'p < 0.07'", "'x < 4'", "'100*p < 7'", "'q < 8 && p < 0.07'"})
    CHECK_FALSE(contains(run(fit + sound).out, "Warning: --where"));
}
