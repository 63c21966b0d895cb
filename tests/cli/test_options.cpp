// Tests options of the fit and of the table whose effect no other test of the program shows. Also checks that
// every option of the help page is in a test.
#include "program.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "program_data.hpp"

using namespace program;

namespace {

const std::string kFar = kDecay + " --model 'a*exp(-b*x)+c' --p0 b=0.05";

std::size_t steps(const nlohmann::json& fit) { return fit["precision"]["trace"].size(); }

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream out;
  out << stream.rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("--ftol, --xtol and --gtol say when a fit ends") {
  const nlohmann::json usual = fit_json(kFar);
  CHECK(usual["verdict"] == "CONVERGED");
  const nlohmann::json by_cost = fit_json(kFar + " --ftol 0.5");
  CHECK(by_cost["verdict"] == "TOLERANCE");
  CHECK(steps(by_cost) < steps(usual));
  CHECK(steps(fit_json(kFar + " --xtol 0.1")) < steps(usual));
  const nlohmann::json by_gradient = fit_json(kFar + " --gtol 0.5 --xtol 0.5");
  CHECK(by_gradient["verdict"] == "TOLERANCE");  // this is several standard errors away
  CHECK(by_gradient["certificate"]["gradient_norm"].get<double>() <= 0.5);
  CHECK(steps(by_gradient) < steps(usual));
  for (const char* wrong : {"--gtol 2", "--gtol -1", "--gtol x"}) {
    CAPTURE(wrong);
    const Outcome outcome = run(kFar + " " + wrong);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, "gtol"));
  }
}

TEST_CASE("--strategy and --algorithm are one option: other steps to the same minimum") {
  const nlohmann::json usual = fit_json(kFar);
  for (const char* option : {"--strategy dogleg", "--algorithm dogleg", "--algorithm gauss_newton"}) {
    CAPTURE(option);
    const nlohmann::json other = fit_json(kFar + " " + option);
    CHECK(other["verdict"] == "CONVERGED");
    CHECK(steps(other) != steps(usual));
    CHECK(parameter(other, "b")["value"].get<double>() ==
          doctest::Approx(parameter(usual, "b")["value"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("--skip and --comment choose the rows of the table") {
  const Scratch files;
  const std::string file =
      files.write("log.txt", "device 7\nserial 1\nx,y\n0,1\n! 5,100\n1,3\n2,5 ! late\n3,7.5\n4,9\n");
  const nlohmann::json fit = fit_json(file + " --skip 2 --comment ! --model linear");
  CHECK(fit["rows"] == 5);
  CHECK(parameter(fit, "a")["value"].get<double>() == doctest::Approx(2.05).epsilon(1e-12));
}

TEST_CASE("every option of the help page is in a test of the program") {
  std::string tests;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(NLSQ_SOURCE_DIR) + "/tests/cli")) {
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp") tests += text_of(entry);
  }
  std::set<std::string> tested;
  const std::regex option("(^|[^a-z0-9-])(--[a-z][a-z0-9-]*)");
  for (std::sregex_iterator it(tests.begin(), tests.end(), option), end; it != end; ++it)
    tested.insert((*it)[2]);
  const std::string help = run("--help").out;
  std::istringstream lines(help);
  int options = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string left = line.substr(0, 32);
    for (std::sregex_iterator it(left.begin(), left.end(), option), end; it != end; ++it, ++options) {
      CAPTURE((*it)[2]);
      CHECK(tested.count((*it)[2]) == 1);
    }
  }
  CHECK(options > 60);
}
