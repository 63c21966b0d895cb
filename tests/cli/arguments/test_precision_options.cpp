// Tests --precision and --rule with every name of a policy, and the messages about unknown names.
#include "cli/program.hpp"

#include "arguments/arguments.hpp"
#include "arguments/precision_options.hpp"
#include "errors.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

using namespace nlsq;
using namespace nlsq::cli;

namespace {

const std::string kDecay = NLSQ_SOURCE_DIR "/data/decay.csv";

std::string complaint(const std::string& precision, const std::vector<std::string>& rules) {
  try {
    precision_policy(precision, rules);
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every alias is taken, and rules follow those of the policy's own text") {
  for (const PolicyAlias& alias : policy_aliases()) CHECK(precision_policy(alias.name, {}) == alias.make());
  const PrecisionPolicy policy = precision_policy(
      "gram=f32; n > 8 -> jacobian=bf16", {"condition > 1e6 -> gram=f64", "nonfinite>0->residual=f64"});
  CHECK(policy.to_string() ==
        "gram=f32; n > 8 -> jacobian=bf16; condition > 1000000 -> gram=f64; nonfinite > 0 -> residual=f64");
}

TEST_CASE("everything wrong is told at once, each line with its option") {
  const std::string text =
      complaint("residual=bf16,p=f32", {"cond > 1 -> gram=f64", "n > 3 -> gram=f64", "rho < x -> gram=f64"});
  CHECK(contains(text, "--precision: residual=bf16: "));
  CHECK(contains(text, "--precision: p=f32: parameters are stored in f64"));
  CHECK(contains(text, "--rule: rule 'cond > 1 -> gram=f64': unknown variable 'cond': use one of condition"));
  CHECK(contains(text, "--rule: rule 'rho < x -> gram=f64': 'x' is not a number"));
  CHECK_FALSE(contains(text, "n > 3"));
  CHECK(contains(complaint("always_f32", {"n > 3 -> gram=f64"}), "above ceiling.gram=f32"));
  CHECK(contains(complaint("f64", {"n > 3 -> gram=f32"}), "never leaves"));
}

TEST_CASE("the program takes both options, repeats rules, and refuses with status 2 before it reads data") {
  const std::string model = kDecay + " --model exp";
  CHECK(program::run(model + " --precision always_f16 --quiet").status == 0);
  CHECK(program::run(model + " --precision 'p=f64,c=bf16,o=f64' --quiet").status == 0);
  CHECK(program::run(model +
                     " --rule 'condition > 1e6 -> gram=f64' --rule 'iteration>=2->residual=f64' --quiet")
            .status == 0);
  for (const std::string wrong :
       {"--precision f8", "--precision p=bf16", "--rule 'condition > 1e6'", "--rule 'n > 1 -> residual=f32'",
        "--precision custom{boundary=f32}", "--rule ''"}) {
    CAPTURE(wrong);
    const program::Outcome outcome = program::run("/nowhere/table.csv --model exp " + wrong);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, wrong.substr(0, wrong.find(' ')) + ": "));
  }
  const nlohmann::json fit = program::fit_json(model + " --precision gram=f32 --rule 'n>99->gram=f64'");
  CHECK(fit["precision"]["policy"] == "gram=f32; n > 99 -> gram=f64");
  const program::Outcome components = program::run(model + " --precision imu.residual=f64");
  CHECK(components.status == 2);
  CHECK(contains(components.out, "imu: this problem has no named components"));
}

TEST_CASE("help shows the four names that most need, and no others") {
  const std::string help = program::run("--help").out;
  CHECK(contains(help, "auto, f64, f32, strict"));
  CHECK(contains(help, "--rule"));
  for (const char* other : {"bf16", "aggressive", "always_"}) CHECK_FALSE(contains(help, other));
}
