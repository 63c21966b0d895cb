// Compares the JSON of the C interface with that of nlsq-fit for the same fit. Keys and values must be the
// same.
#include <doctest/doctest.h>

#include "program.hpp"

#include <nlsq/nlsq.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace {

using Json = nlohmann::json;

struct Table {
  std::vector<double> x, y;
  explicit Table(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      double a = 0, b = 0;
      char comma = 0;
      if (std::istringstream(line) >> a >> comma >> b) {
        x.push_back(a);
        y.push_back(b);
      }
    }
  }
};

Json c_json(const std::string& model, const std::vector<std::pair<const char*, const char*>>& set) {
  const Table table(NLSQ_SOURCE_DIR "/data/decay.csv");
  const nlsq_column x = nlsq_column_of(table.x.data(), table.x.size());
  const nlsq_column y = nlsq_column_of(table.y.data(), table.y.size());
  nlsq_options* options = nullptr;
  nlsq_result* result = nullptr;
  nlsq_model* handle = nullptr;
  REQUIRE(nlsq_options_new(&options) == NLSQ_OK);
  for (const auto& [name, value] : set) REQUIRE(nlsq_options_set(options, name, value) == NLSQ_OK);
  REQUIRE(nlsq_model_text(model.c_str(), nullptr, 1, &handle) == NLSQ_OK);
  REQUIRE(nlsq_model_fit(handle, &x, 1, &y, nullptr, options, &result) == NLSQ_OK);
  const Json json = Json::parse(nlsq_result_json(result), nullptr, false);
  nlsq_result_free(result);
  nlsq_model_free(handle);
  nlsq_options_free(options);
  return json;
}

// Compares everything except times, memory and members that concern the table or the command. Counts of
// operations may differ, because a handle has prepared programs.
void compare(const Json& theirs, const Json& ours, const std::string& path) {
  static const std::set<std::string> others = {"/time",     "/peak_bytes", "/columns", "/threads",
                                               "/excluded", "/files",      "/options", "/version"};
  if (others.contains(path)) return;
  CAPTURE(path);
  if (theirs.is_object()) {
    REQUIRE(ours.is_object());
    for (const auto& [key, value] : theirs.items()) {
      if (others.contains(path + "/" + key)) continue;
      CAPTURE(key);
      REQUIRE(ours.contains(key));
      compare(value, ours[key], path + "/" + key);
    }
    for (const auto& [key, value] : ours.items()) {
      CAPTURE(key);
      CHECK(theirs.contains(key));
    }
  } else if (theirs.is_array()) {
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) compare(theirs[i], ours[i], path);
  } else if (theirs.is_number_float()) {
    REQUIRE(ours.is_number());
    CHECK(ours.get<double>() == doctest::Approx(theirs.get<double>()).epsilon(1e-9));
  } else {
    CHECK(ours == theirs);
  }
}

}  // namespace

TEST_CASE("nlsq_result_json has the keys and values of nlsq-fit --json") {
  const std::string file = NLSQ_SOURCE_DIR "/data/decay.csv ";
  compare(program::fit_json(file + "--model exp"), c_json("exp", {}), "");
  compare(program::fit_json(
              file + "--model exp --loss huber --f-scale 2 --bounds b=0:1 --tie 'c=0.8*a' --precision f64"),
          c_json("exp", {{"loss", "huber"},
                         {"f-scale", "2"},
                         {"bounds", "b=0:1"},
                         {"tie", "c=0.8*a"},
                         {"precision", "f64"}}),
          "");
  compare(program::fit_json(file + "--model exp --starts 4 --fix c=80 --confidence 0.9"),
          c_json("exp", {{"starts", "4"}, {"fix", "c=80"}, {"confidence", "0.9"}}), "");
}

TEST_CASE("nlsq_builtin_models_json is the list of nlsq-fit") {
  const program::Outcome outcome = program::run("--list-models --json -");
  CHECK(Json::parse(outcome.out) == Json::parse(nlsq_builtin_models_json()));
}
