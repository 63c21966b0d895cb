// Tests that messages name the place in the file, and that formulas are read character by character.
#include <doctest/doctest.h>

#include "cli/program.hpp"

using namespace program;

TEST_CASE("a row at which the model is not defined is named by file and line") {
  const Scratch scratch;
  const std::string table = scratch.write("log.csv", "# a comment\nx,y\n1,2\n2,0\n3,5\n4,4\n");
  const Outcome outcome = run(table + " --model 'log(y) = a+b*x'");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "the residual of " + table + ":4 is not finite"));
  CHECK_FALSE(contains(outcome.out, "row 1 is"));
}

TEST_CASE("a built-in model inside a formula is refused, and a sign that is no operator is reported first") {
  const Scratch scratch;
  const std::string table = scratch.write("line.csv", "x,y\n1,2\n2,4\n3,5\n4,9\n5,10\n");
  const Outcome inside = run(table + " --model 'a*gaussian*b'");
  CHECK(inside.status == 2);
  CHECK(contains(inside.out, "'gaussian' is a built-in model"));
  const Outcome sign = run(table + " --model '2×gaussian + linear'");
  CHECK(sign.status == 2);
  CHECK(contains(sign.out, "this is a multiplication sign (U+00D7): type *"));
}

TEST_CASE("Greek names are parameters in every option") {
  const Outcome outcome = run(NLSQ_SOURCE_DIR
                              "/data/decay.csv --model 'α*exp(-β*x)+γ' --p0 α=100,β=0.01 --fix γ=80 "
                              "--bounds β=0:1");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "γ                  80          fixed"));
}

TEST_CASE("rows of counts and of compared models are named by file and line, as others are") {
  const Scratch scratch;
  const std::string counts = scratch.write("counts.csv", "x,y\n1,3\n2,-4\n3,2\n4,1\n5,1\n");
  const std::string negative =
      counts + ":3: y has 1 value(s) that are negative or not finite; the first is -4 here: correct";
  const Outcome one = run(counts + " --model exp --loss poisson");
  CHECK(one.status == 3);
  CHECK(contains(one.out, "nlsq-fit: " + negative));
  const Outcome several = run(counts + " --compare exp,linear --loss poisson");
  CHECK(several.status == 3);
  CHECK(contains(several.out, "exp: " + negative));
  CHECK_FALSE(contains(several.out, "row 1"));

  const std::string table = scratch.write("log.csv", "x,y\n1,2\n2,3\n3,5\n4,4\n5,5\n");
  const Outcome compared = run(table + " --compare 'a*log(x-1)+b*x,linear'");
  CHECK(contains(compared.out, "the residual of " + table + ":2 is not finite"));
  CHECK_FALSE(contains(compared.out, "row 0"));

  const std::string zeros = scratch.write("zeros.csv", "x,y\n0,5\n1,4\n2,0\n3,6\n4,5\n");
  const std::string poisson = zeros + " --model 'a*(x-2)^2*exp(-c*x)' --loss poisson";
  CHECK_FALSE(contains(run(poisson).out, "row 2"));
}
