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
