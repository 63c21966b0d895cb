// Tests nlsq-fit --compare as a user runs it.
#include "cli/program_data.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace program;

namespace {

const std::string kPoints = "x,y\n0,1\n1,3.1\n2,4.9\n3,7.2\n4,8.8\n";

nlohmann::json entry(const nlohmann::json& fit, const std::string& model) {
  for (const auto& m : fit["comparison"]) {
    if (m["model"] == model) return m;
  }
  return nullptr;
}

std::string refused(const std::string& arguments, int status = 2) {
  const Outcome outcome = run(kDecay + " " + arguments);
  CHECK(outcome.status == status);
  return outcome.out;
}

}  // namespace

TEST_CASE("--compare ranks by AICc, tests nested models and reports the best") {
  const std::string arguments = kDecay + " --compare biexp,exp,stretched_exp,linear";
  const nlohmann::json fit = fit_json(arguments);
  REQUIRE(fit["comparison"].size() == 4);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    sum += fit["comparison"][i]["weight"].get<double>();
    if (i > 0) CHECK(fit["comparison"][i]["aicc"] >= fit["comparison"][i - 1]["aicc"]);
  }
  CHECK(sum == doctest::Approx(1).epsilon(1e-12));
  const std::string best = fit["comparison"][0]["model"];
  CHECK(fit["model"] == best);
  // The best model is reported as if it had been fitted alone, with the same bits.
  const nlohmann::json alone = fit_json(kDecay + " --model " + best);
  CHECK(fit["parameters"] == alone["parameters"]);
  CHECK(fit["aicc"] == fit["comparison"][0]["aicc"]);
  CHECK(entry(fit, "linear")["free_parameters"] == 2);
  bool tested = false;
  for (const auto& t : fit["comparison_tests"])
    tested = tested || (t["smaller"] == "exp" && t["larger"] == "biexp");
  CHECK(tested);
  const Outcome text = run(arguments);
  CHECK(text.status == 0);
  for (const char* part :
       {"Comparison of 4 models", "AICc", "weight", "Tests of nested models", "exp in biexp", "(approximate)",
        "Not known to be nested", "The best model", "std. error"}) {
    CAPTURE(part);
    CHECK(contains(text.out, part));
  }
}

TEST_CASE("the same comparison has the same bits on one thread and several") {
  nlohmann::json one = fit_json(kDecay + " --compare exp,biexp --threads 1");
  nlohmann::json two = fit_json(kDecay + " --compare exp,biexp --threads 2");
  CHECK(one["comparison"] == two["comparison"]);
  CHECK(one["comparison_tests"] == two["comparison_tests"]);
}

TEST_CASE("models that fail are listed with their reasons and do not win") {
  Scratch scratch;
  const std::string file = scratch.write("t.csv", kPoints);
  const Outcome outcome = run(file + " --compare 'poly9, linear, a*log(x-100)'");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "no fit"));
  CHECK(contains(outcome.out, "poly9: "));
  CHECK(contains(outcome.out, "FAILED"));
  const nlohmann::json fit = fit_json(file + " --compare 'poly9, linear, a*log(x-100)'");
  CHECK(fit["model"] == "linear");
  CHECK(entry(fit, "poly9")["certified"] == false);
  CHECK(entry(fit, "a*log(x-100)")["rss"].is_null());
  // If no model is left, the message contains the reasons.
  const Outcome none = run(file + " --compare poly8,poly9");
  CHECK(none.status == 3);
  CHECK(contains(none.out, "no model could be fitted"));
  CHECK(contains(none.out, "poly8: "));
  // The models are fitted, but without a certificate.
  const Outcome uncertain = run(file + " --compare 'a*log(x-100),b*log(x-100)'");
  CHECK(uncertain.status == 1);
  CHECK(contains(uncertain.out, "No model reached a certified minimum"));
}

TEST_CASE("options apply to the models that have the parameter") {
  const nlohmann::json fit =
      fit_json(kDecay + " --compare exp,biexp,linear --bounds c=0:90 --p0 b=0.01 --fix b1=0.02");
  CHECK(fit["comparison"].size() == 3);
  CHECK(entry(fit, "biexp")["values"]["b1"] == 0.02);
  CHECK(entry(fit, "biexp")["free_parameters"] == 4);
  CHECK(contains(refused("--compare exp,linear --p0 zz=1"), "no model has a parameter 'zz'"));
}

TEST_CASE("sums, formulas with commas in parentheses, and --model beside --compare") {
  const nlohmann::json fit =
      fit_json(kDecay + " --model exp --compare 'exp0 + constant, max(a,0)*x+b' --p0 a=-1");
  REQUIRE(fit["comparison"].size() == 3);
  CHECK_FALSE(entry(fit, "exp").is_null());
  CHECK_FALSE(entry(fit, "exp0 + constant").is_null());
  CHECK_FALSE(entry(fit, "max(a,0)*x+b").is_null());
  CHECK(contains(fit["comparison_warnings"].dump(), "same curve"));
}

TEST_CASE("--compare refuses what it cannot do, with the reason") {
  CHECK(contains(refused("--compare exp"), "two models or more"));
  CHECK(contains(refused("--compare exp,exp"), "given twice"));
  CHECK(contains(refused("--compare exp,,linear"), "a model is empty"));
  CHECK(contains(refused("--compare exp,gausian"), "gaussian"));
  CHECK(contains(refused("--compare 'exp,log(y)=a*x'"), "left side"));
  CHECK(contains(refused("--compare exp,linear --loss huber"), "no likelihood"));
  CHECK(contains(refused("--compare exp,linear --profile"), "one model"));
  CHECK(contains(refused("--compare exp,linear --derive 'h=log(2)/b'", 0), "h"));
  CHECK(contains(refused("--compare exp,linear --derive 'h=log(2)/tau'"), "--derive"));
}

TEST_CASE("a model may be the last word, beside --compare, and the reason of an unfinished fit is told") {
  const nlohmann::json by_word = fit_json(kDecay + " exp --compare linear"),
                       by_option = fit_json(kDecay + " --model exp --compare linear");
  CHECK(by_word["comparison"] == by_option["comparison"]);
  const Outcome stopped = run(kDecay + " exp --max-iterations 0");
  CHECK(stopped.out.find("Result BUDGET: iteration limit reached: ") != std::string::npos);
}
