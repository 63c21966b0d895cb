// Tests nlsq-fit --certify as a user runs it, and ends that are certified but no success.
#include "cli/program_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace program;

namespace {

std::string refused(const std::string& arguments) {
  const Outcome outcome = run(kDecay + " --model exp " + arguments);
  CHECK(outcome.status == 2);
  return outcome.out;
}

}  // namespace

TEST_CASE("--certify passes the result of a fit and moves nothing") {
  Scratch scratch;
  const std::string file = scratch.path("fit.json");
  REQUIRE(run(kDecay + " --model exp --quiet --json " + file).status == 0);
  const nlohmann::json fitted = nlohmann::json::parse(scratch.read("fit.json"));
  const Outcome outcome = run(kDecay + " --model exp --certify --p0 @" + file);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "certified by"));
  CHECK(contains(outcome.out, "standard errors away"));
  const nlohmann::json judged = fit_json(kDecay + " --model exp --certify --p0 @" + file);
  CHECK(judged["certify"]["passed"] == true);
  for (const char* name : {"a", "b", "c"})
    CHECK(parameter(judged, name)["value"] == parameter(fitted, name)["value"]);
}

TEST_CASE("--certify fails beside the minimum, and says which parameter would move how far") {
  const std::string p0 = " --model exp --certify --p0 a=102,b=0.011,c=81";
  const Outcome outcome = run(kDecay + p0);
  CHECK(outcome.status == 1);
  for (const char* part : {"not a certified minimum", "standard errors away", "A fit that starts there",
                           "moved by", "not certified: no minimum at these values"}) {
    CAPTURE(part);
    CHECK(contains(outcome.out, part));
  }
  const nlohmann::json judged = fit_json(kDecay + p0);
  CHECK(judged["certify"]["passed"] == false);
  CHECK(parameter(judged, "a")["value"] == 102);
  CHECK(judged["certificate"]["decrement_sigma"].get<double>() > 0.1);
  CHECK(judged["certify"]["fit"]["values"]["c"].get<double>() == doctest::Approx(81.3738).epsilon(1e-5));
}

TEST_CASE("--certify refuses options that do not apply to it") {
  CHECK(contains(refused("--certify"), "needs the parameters"));
  CHECK(contains(refused("--certify --p0 a=1,b=2"), "no value for c"));
  CHECK(contains(refused("--certify --p0 a=1,b=2,c=3 --starts 4"), "--starts"));
  CHECK(contains(refused("--certify --p0 a=1,b=2,c=3 --max-iterations 4"), "--max-iterations"));
  CHECK(contains(refused("--certify --p0 a=1,b=2,c=3 --precision f32"), "--precision"));
  CHECK(contains(refused("--certify --p0 a=1,b=2,c=3 --compare exp,linear"), "--compare"));
}

TEST_CASE("undetermined parameters without starting values are no success, with the advice to give some") {
  Scratch scratch;
  std::string text = "x,y\n";
  for (int i = 0; i < 30; ++i) text += std::to_string(i) + "," + std::to_string((i * 7919) % 13 - 6) + "\n";
  const std::string file = scratch.write("t.csv", text);
  // Only d has an effect on these rows.
  const std::string model = " --model 'a*exp(-(x-m)^2/w)*if(x>100,1,0)+d'";
  const Outcome outcome = run(file + model);
  CHECK(outcome.status == 1);  // once this was 0
  CHECK(contains(outcome.out, "the undetermined m, w had no starting value"));
  CHECK(contains(outcome.out, "--starts 32"));
  const nlohmann::json fit = fit_json(file + model);
  CHECK(fit["success"] == false);
  CHECK(fit["verdict"] == "BUDGET");
  // With starting values, the model still explains nothing.
  const Outcome started = run(file + model + " --p0 a=1,m=1,w=1,d=1");
  CHECK(started.status == 1);
  CHECK(contains(started.out, "explains nothing"));
  // If the rest of the model is determined, it is a success. Linear parameters need no start.
  CHECK(run(kDecay + " --model '(a+b)*x+c' --p0 a=1,b=1,c=1").status == 0);
  CHECK(run(kDecay + " --model '(a+b)*x+c'").status == 0);
}

TEST_CASE(
    "NOISE_FLOOR where the model explains nothing and two parameters balance each other is no success") {
  const Scratch scratch;
  std::string table = "g,x,y\n";
  for (int g = 0; g < 2; ++g)
    for (int i = 0; i < 20; ++i) table += fmt::format("{},{},5\n", g, i);
  const std::string fit = scratch.write("constant.csv", table) + " --x x --y y --model weibull_pdf ";
  const Outcome alone = run(fit + "--where 'g == 0'");
  CHECK(alone.status == 1);
  CHECK(contains(alone.out, "BUDGET: no usable minimum: the model explains nothing of y"));
  const Outcome groups = run(fit + "--group-by g --quiet --csv -");
  CHECK(groups.status == 1);
  CHECK_FALSE(contains(groups.out, "NOISE_FLOOR"));
  // If only one parameter is 0 to rounding, it is a success: y does not depend on x, and b says so.
  CHECK(run(scratch.path("constant.csv") + " --x 'x+1' --y y --where 'g == 0' --model power").status == 0);
}

TEST_CASE("a fit that could not start has no cost and no R²") {
  const std::string model = kDecay + " --model 'a*log(x-1000)'";
  const Outcome outcome = run(model);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "Cost undefined"));  // once this was 0, with R² 1
  CHECK_FALSE(contains(outcome.out, "every residual is zero"));
  CHECK(fit_json(model)["r_squared"].is_null());
}
