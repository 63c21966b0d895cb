// Tests --optimize and --profile. The chosen policy can be replayed, and measurements are in the table and
// the JSON.
#include "program.hpp"

#include "arguments/precision_options.hpp"
#include "errors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using program::contains;

namespace {

const std::string kDecay = NLSQ_SOURCE_DIR "/data/decay.csv";

// Returns some hundred thousand rows, so that f32 pays.
std::string table() {
  std::string text = "x,y\n";
  for (int i = 0; i < 150000; ++i) {
    const double x = 3e-5 * i;
    text += std::to_string(x) + "," + std::to_string(2 * std::exp(-0.5 * x) + 1 + 0.01 * std::sin(37.0 * i)) +
            "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("the policy that --optimize prints gives the same bits again") {
  const program::Scratch scratch;
  const std::string fit = scratch.write("table.csv", table()) + " --model exp";
  const nlohmann::json chosen = program::fit_json(fit + " --optimize speed");
  REQUIRE(chosen.is_object());
  CHECK(chosen["optimize"]["objective"] == "speed");
  CHECK(chosen["optimize"]["met"] == true);
  const std::string policy = chosen["optimize"]["policy"];
  CHECK(contains(chosen["optimize"]["message"], "'" + policy + "' has "));
  const nlohmann::json again = program::fit_json(fit + " --precision '" + policy + "'");
  CHECK(again["parameters"] == chosen["parameters"]);
  CHECK(again["covariance"] == chosen["covariance"]);
  CHECK(again["precision"]["trace"] == chosen["precision"]["trace"]);
  CHECK(again["precision"]["counters"] == chosen["precision"]["counters"]);
  CHECK_FALSE(again.contains("optimize"));
  CHECK_FALSE(again.contains("profile"));
  const program::Outcome text = program::run(fit + " --optimize accuracy:16");
  CHECK(contains(text.out, "the same fit again: --precision '"));
}

TEST_CASE("a target that no policy meets is reported as a warning; the fit is good all the same") {
  const program::Outcome text = program::run(kDecay + " --model exp --optimize speed:900");
  CHECK(text.status == 0);
  CHECK(contains(text.out, "Warning: --optimize speed:900: no policy meets the target here"));
  CHECK(contains(text.out, "the target of 900 is not met by any policy (on all 52 rows)"));
  const nlohmann::json json = program::fit_json(kDecay + " --model exp --optimize speed:900 2>/dev/null");
  CHECK(json["optimize"]["met"] == false);
  CHECK(json["warnings"].size() == 1);
}

TEST_CASE("--profile measures every policy, and the one asked for, beside the fit") {
  const std::string fit =
      kDecay + " --model exp --precision 'jacobian=bf16,gate=off,threshold.epsilon_j=0.05'";
  const nlohmann::json json = program::fit_json(fit + " --profile");
  const nlohmann::json& profile = json["profile"];
  CHECK(profile["rows"] == 52);
  CHECK(profile["sampled"] == 52);
  CHECK(profile["stopped"] == false);
  REQUIRE(profile["policies"].size() == 12);
  bool own = false;
  for (const auto& policy : profile["policies"]) {
    for (const char* key : {"policy", "seconds", "speed", "peak_bytes", "issues", "escalations", "digits",
                            "below_f64", "certified", "status"}) {
      CHECK(policy.contains(key));
    }
    CHECK(policy["certified"] == true);
    CHECK(policy["digits"] > 8);
    own = own || policy["policy"] == json["precision"]["policy"];
    if (policy["policy"] == "f64") CHECK(policy["speed"] == 1);
  }
  CHECK(own);
  const nlohmann::json plain = program::fit_json(fit);
  CHECK(plain["parameters"] == json["parameters"]);  // measuring changes nothing
  const program::Outcome text = program::run(kDecay + " --model exp --profile");
  CHECK(text.status == 0);
  CHECK(contains(text.out, "Policies, on all 52 rows\n"));
  for (const char* part :
       {"peak memory", "escalations", "digits", "always_f16", "auto_conservative", "CONVERGED"})
    CHECK(contains(text.out, part));
  CHECK_FALSE(contains(text.out, "Optimize"));
  const nlohmann::json both = program::fit_json(kDecay + " --model exp --profile --optimize memory");
  CHECK(both["profile"]["policies"].size() == 11);
  CHECK(both["optimize"]["policy"].is_string());
}

TEST_CASE("a formula with starts, sigma and a left side is measured as it is fitted") {
  const std::string fit = NLSQ_SOURCE_DIR
      "/data/mercury_pressure.csv --x 'celsius+273.15' --y mmhg --model 'log(y) = a - b/x' --p0 a=10,b=5000 "
      "--optimize balanced:1,0,1";
  const nlohmann::json json = program::fit_json(fit);
  REQUIRE(json.is_object());
  CHECK(json["verdict"] == "CONVERGED");
  CHECK(json["optimize"]["objective"] == "balanced:0.5,0,0.5");
}

TEST_CASE("wrong objectives, and a policy beside one, are refused before data are read") {
  for (const char* wrong : {"fast", "speed:x", "accuracy:20", "balanced:1,2"}) {
    CAPTURE(wrong);
    const program::Outcome outcome =
        program::run(std::string("/nowhere/table.csv --model exp --optimize ") + wrong);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, "--optimize: objective '"));
  }
  program::Outcome outcome = program::run("/nowhere/table.csv --model exp --optimize speed --precision auto");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "--optimize chooses the policy itself: leave --precision out"));
  outcome = program::run("/nowhere/table.csv --model exp --optimize speed --rule 'n > 3 -> gram=f64'");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "leave --rule out"));
}

TEST_CASE("mistakes in the data are told as they are without --optimize") {
  const program::Scratch scratch;
  const std::string file = scratch.write("table.csv", "x,y\n1,2\n2,3\n");
  const program::Outcome outcome = program::run(file + " --model exp --optimize speed");
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "2 rows cannot determine 3 parameters"));
}
