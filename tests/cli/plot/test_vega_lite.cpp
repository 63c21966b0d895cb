// Tests --plot FILE.vl.json, a Vega-Lite specification whose panels must name existing data sets and fields.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <set>

#include "cli/program.hpp"

using namespace program;
using nlohmann::json;

namespace {

const std::string kLine =
    "time,\"len\"\"gth\"\n1,2.1\n2,3.9\n3,6.2\n4,7.8\n5,10.1\n6,12.2\n7,13.8\n8,16.1\n9,18.0\n10,19.9\n";

json picture(const Scratch& scratch, const std::string& arguments) {
  const Outcome outcome = run(arguments + " --quiet --plot " + scratch.path("fit.vl.json"));
  CAPTURE(outcome.out);
  REQUIRE(outcome.status == 0);
  json out = json::parse(scratch.read("fit.vl.json"), nullptr, false);
  REQUIRE(out.is_object());
  return out;
}

// Checks the rules of the schema that a mistake here would break: known marks and channels, fields that exist
// in the data set of their layer, and types and scales by name.
void check_layer(const json& spec, const json& layer) {
  CAPTURE(layer.dump());
  const std::set<std::string> marks = {"point", "line", "area", "rule"},
                              channels = {"x", "y", "x2", "y2", "tooltip"};
  CHECK(marks.contains(layer["mark"]["type"].get<std::string>()));
  if (layer["data"].contains("values")) return;
  const std::string name = layer["data"]["name"];
  REQUIRE(spec["datasets"].contains(name));
  const json& rows = spec["datasets"][name];
  REQUIRE(!rows.empty());
  const auto check_field = [&](const json& channel) {
    CHECK(rows[0].contains(channel["field"].get<std::string>()));
  };
  for (const auto& [channel, value] : layer["encoding"].items()) {
    CHECK(channels.contains(channel));
    if (channel == "tooltip") {
      for (const json& each : value) check_field(each);
      continue;
    }
    check_field(value);
    if (channel == "x2" || channel == "y2") continue;
    CHECK(value["type"] == "quantitative");
    CHECK(value["title"].is_string());
    const json& scale = value["scale"];
    CHECK((scale["type"] == "linear" || scale["type"] == "log"));
    CHECK(scale["domain"][0].get<double>() < scale["domain"][1].get<double>());
    if (scale["type"] == "log") CHECK(scale["domain"][0].get<double>() > 0);
  }
}

void check_schema(const json& spec) {
  CHECK(spec["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json");
  const std::set<std::string> top = {"$schema", "title", "datasets", "vconcat"};
  for (const auto& [key, value] : spec.items()) CHECK(top.contains(key));
  for (const auto& [name, rows] : spec["datasets"].items()) {
    for (const json& row : rows) {
      for (const auto& [field, value] : row.items()) CHECK((value.is_number() || value.is_null()));
    }
  }
  REQUIRE(!spec["vconcat"].empty());
  for (const json& panel : spec["vconcat"]) {
    CHECK(panel["width"].is_number());
    for (const json& layer : panel["layer"]) check_layer(spec, layer);
  }
}

}  // namespace

TEST_CASE("a picture of one predictor has three panels, with points, curve, band and residuals") {
  const Scratch scratch;
  const json spec = picture(scratch, scratch.write("line.csv", kLine) + " --model 'a+b*x' --p0 a=1,b=1");
  check_schema(spec);
  REQUIRE(spec["vconcat"].size() == 3);
  const json& points = spec["datasets"]["points"];
  REQUIRE(points.size() == 10);
  CHECK(points[0]["x"] == 1);
  CHECK(points[0]["y"] == 2.1);
  for (const json& p : points) {
    CHECK(p["residual"].get<double>() == doctest::Approx(p["y"].get<double>() - p["fit"].get<double>()));
    CHECK_FALSE(p.contains("y_low"));
  }
  const json& curve = spec["datasets"]["curve"];
  CHECK(curve.size() >= 200);
  CHECK(curve[0]["low"].get<double>() < curve[0]["fit"].get<double>());
  CHECK(curve[0]["high"].get<double>() > curve[0]["fit"].get<double>());
  CHECK(spec["vconcat"][0]["layer"][0]["encoding"]["y"]["title"] == "len\"gth");
  CHECK(spec["title"]["subtitle"][0].get<std::string>().starts_with("a = "));
}

TEST_CASE("error bars, terms of a sum and logarithmic axes are drawn") {
  const Scratch scratch;
  const json bars = picture(scratch, scratch.write("line.csv", kLine) +
                                         " --model 'a+b*x' --p0 a=1,b=1 --sigma 0.5 "
                                         "--sigma-x 0.25 --plot-scale log-y");
  check_schema(bars);
  CHECK(bars["datasets"]["points"][0]["y_low"] == doctest::Approx(1.6));
  CHECK(bars["datasets"]["points"][0]["x_high"] == doctest::Approx(1.25));
  CHECK(bars["vconcat"][0]["layer"].back()["encoding"]["y"]["scale"]["type"] == "log");
  const json sum =
      picture(scratch, NLSQ_SOURCE_DIR "/data/nottingham_temperature.csv --model 'sine + linear'");
  check_schema(sum);
  CHECK(sum["datasets"].contains("component2"));
}

TEST_CASE("with several predictors, observed values are drawn against fitted ones") {
  const Scratch scratch;
  const std::string table =
      scratch.write("plane.csv", "u,v,z\n1,2,3.1\n2,1,3.0\n3,5,8.2\n4,1,5.1\n5,2,6.9\n6,6,12.1\n");
  check_schema(picture(scratch, table + " --x u,v --y z --model 'a*u+b*v+c' --p0 a=1,b=1,c=0"));
}

TEST_CASE("the ending decides, and the picture of Vega-Lite overwrites no input") {
  const Scratch scratch;
  const std::string table = scratch.write("line.csv", kLine);
  const Outcome other = run(table + " --model 'a+b*x' --plot " + scratch.path("fit.json"));
  CHECK(other.status == 2);
  CHECK(contains(other.out, ".vl.json for Vega-Lite"));
  const std::string input = scratch.write("data.vl.json", kLine);
  const Outcome same = run(input + " --model 'a+b*x' --plot " + input);
  CHECK(same.status == 2);
  CHECK(scratch.read("data.vl.json") == kLine);
}
