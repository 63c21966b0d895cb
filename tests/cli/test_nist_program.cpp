// Runs NIST's 27 nonlinear regressions from both starts through the program, in every precision.
// Source: NIST Statistical Reference Datasets, https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml
#include "program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace program;

namespace {

// Returns the number of correct digits: the log relative error of StRD, at most the 11 certified digits.
double digits(double value, double certified) {
  if (value == certified) return 11;
  return std::clamp(-std::log10(std::fabs(value - certified) / std::fabs(certified)), 0.0, 11.0);
}

struct Score {
  int passed = 0;
  double values = 0, worst = 11, errors = 0;
  int fits = 0, error_fits = 0;
};

void score_fit(const nlohmann::json& set, const nlohmann::json& fit, Score& score) {
  double value_digits = 11, error_digits = 11;
  for (std::size_t j = 0; j < set["parameters"].size(); ++j) {
    const nlohmann::json p = parameter(fit, set["parameters"][j]);
    REQUIRE(p.is_object());
    value_digits = std::min(value_digits, digits(p["value"], set["certified"][j]));
    const double error = p["std_error"].is_null() ? 0.0 : p["std_error"].get<double>();
    error_digits = std::min(error_digits, digits(error, set["certified_std_error"][j]));
  }
  score.passed += value_digits >= 4;
  score.values += value_digits;
  score.worst = std::min(score.worst, value_digits);
  ++score.fits;
  if (set["name"] == "Lanczos1") return;  // its residuals are smaller than its eleven digits determine
  score.errors += error_digits;
  ++score.error_fits;
}

}  // namespace

TEST_CASE("all 54 runs reach the certified values through nlsq-fit") {
  const std::string folder = NLSQ_SOURCE_DIR "/data/nist/";
  std::ifstream file(folder + "certified.json");
  const nlohmann::json sets = nlohmann::json::parse(file);
  REQUIRE(sets.size() == 27);
  for (const char* precision : {"auto", "f64", "f32"}) {
    CAPTURE(precision);
    Score score;
    for (const auto& set : sets) {
      const std::string name = set["name"], response = set["response"], formula = set["formula"],
                        csv = set["file"];
      for (const char* start : {"start1", "start2"}) {
        CAPTURE(name);
        CAPTURE(start);
        std::string p0;
        for (std::size_t j = 0; j < set["parameters"].size(); ++j) {
          p0 += fmt::format("{}{}={}", j ? "," : "", set["parameters"][j].get<std::string>(),
                            set[start][j].get<double>());
        }
        const Outcome outcome =
            run(fmt::format("{} --model '{}{}' --p0 {} --precision {} --quiet --json - {}", folder + csv,
                            response == "y" ? "" : response + " = ", formula, p0, precision,
                            formula.find("x2") == std::string::npos ? "" : "--x x1,x2 --y y"));
        CAPTURE(outcome.out);
        REQUIRE(outcome.status == 0);
        score_fit(set, nlohmann::json::parse(outcome.out), score);
      }
    }
    CHECK(score.fits == 54);
    CHECK(score.passed == 54);
    CHECK(score.values / score.fits >= 10.4);
    CHECK(score.worst >= 8);
    CHECK(score.errors / score.error_fits >= 9.5);
  }
}
