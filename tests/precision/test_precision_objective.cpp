// Tests objectives: their texts, and the choice among policies by numbers alone.
#include <nlsq/error.hpp>
#include <nlsq/precision_objective.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace nlsq;

namespace {

PolicyMeasurement measured(const char* policy, double seconds, std::size_t bytes, double digits,
                           bool certified = true) {
  PolicyMeasurement m;
  m.policy = policy;
  m.seconds = seconds;
  m.peak_bytes = bytes;
  m.digits = digits;
  m.certified = certified;
  return m;
}

// auto is 1.5 times as fast as f64, f32 twice, and always_f16 three times but without a certificate;
// conservative takes least memory.
const std::vector<PolicyMeasurement> kMeasured{
    measured("auto", 2, 1000, 13), measured("f64", 3, 900, 16), measured("f32", 1.5, 1200, 10.5),
    measured("always_f16", 1, 500, 9, false), measured("conservative", 2.5, 600, 14)};

PolicyChoice choose(const char* objective, const std::vector<PolicyMeasurement>& among = kMeasured) {
  return choose_policy(among, PrecisionObjective::parse(objective));
}
std::string chosen(const char* objective, const std::vector<PolicyMeasurement>& among = kMeasured) {
  return among[choose(objective, among).index].policy;
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string complaint(const char* text) {
  try {
    PrecisionObjective::parse(text);
  } catch (const ValidationError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("objectives are read as they are printed, with and without targets") {
  for (const char* text : {"speed", "speed:2", "memory", "memory:0.5", "accuracy", "accuracy:12",
                           "balanced:0.4,0.3,0.3", "balanced:1,0,0"}) {
    CAPTURE(text);
    CHECK(PrecisionObjective::parse(text).to_string() == text);
  }
  CHECK(PrecisionObjective::parse("balanced").to_string() == "balanced:0.4,0.3,0.3");
  CHECK(PrecisionObjective::parse(" balanced : 2, 1 ,1 ").to_string() == "balanced:0.5,0.25,0.25");
  CHECK(PrecisionObjective::parse("balanced:.4,.3,.3").to_string() == "balanced:0.4,0.3,0.3");
  CHECK_FALSE(PrecisionObjective::parse("speed").target.has_value());
  CHECK(PrecisionObjective::parse("memory:.25").target == 0.25);
}

TEST_CASE("an unknown objective is refused with a list of those that exist") {
  CHECK(contains(complaint("fast"),
                 "objective 'fast': use speed[:2], memory[:0.5], accuracy[:12] or balanced"));
  CHECK(contains(complaint(""), "use speed"));
  CHECK(contains(complaint("speed:"), "'' is no target: how many times as fast as f64"));
  CHECK(contains(complaint("speed:-1"), "'-1' is no target"));
  CHECK(contains(complaint("speed:2x"), "'2x' is no target"));
  CHECK(contains(complaint("memory:0"), "the share of f64's memory is a number above 0"));
  CHECK(contains(complaint("accuracy:17"), "how many digits agree with f64 is a number above 0, at most 16"));
  CHECK(contains(complaint("balanced:1,2"), "2 weight(s); give three"));
  CHECK(contains(complaint("balanced:1,2,x"), "'x' is no weight"));
  CHECK(contains(complaint("balanced:1,-2,1"), "'-2' is no weight"));
  CHECK(contains(complaint("balanced:0,0,0"), "nothing is asked for"));
  CHECK(complaint("speed:2").empty());
}

TEST_CASE("speed chooses the fastest that is certified, and says whether the target is met") {
  CHECK(chosen("speed") == "f32");
  CHECK(choose("speed").met);
  CHECK(choose("speed:2").met);
  CHECK(contains(choose("speed:2").message,
                 "speed:2: 'f32' has 2.00 times the speed of f64; the target of 2 is met"));
  CHECK_FALSE(choose("speed:2.5").met);
  CHECK(chosen("speed:2.5") == "f32");
  CHECK(contains(choose("speed:2.5").message, "the target of 2.5 is not met by any policy"));
}

TEST_CASE("memory chooses the least, of equals the fastest") {
  CHECK(chosen("memory") == "conservative");
  CHECK(choose("memory:0.7").met);
  CHECK_FALSE(choose("memory:0.5").met);
  std::vector<PolicyMeasurement> equal = kMeasured;
  for (PolicyMeasurement& m : equal) m.peak_bytes = 64;
  CHECK(chosen("memory", equal) == "f32");
}

TEST_CASE("accuracy chooses the fastest of those that have the digits; f64 always has") {
  CHECK(chosen("accuracy:10") == "f32");
  CHECK(chosen("accuracy") == "auto");  // 12 digits
  CHECK(chosen("accuracy:13.5") == "conservative");
  CHECK(chosen("accuracy:15") == "f64");
  CHECK(choose("accuracy:16").met);
}

TEST_CASE("balanced weighs the three") {
  CHECK(chosen("balanced:1,0,0") == "f32");
  CHECK(chosen("balanced:0,1,0") == "conservative");
  CHECK(chosen("balanced:0,0,1") == "f64");
  // With speed relative to the fastest, memory relative to the least and digits relative to 16, these are .75
  // .6 .81 | .5 .67 1 | 1 .5 .66 | .6 1 .875.
  CHECK(chosen("balanced:1,1,1") == "conservative");
  CHECK(chosen("balanced:8,1,1") == "f32");
}

TEST_CASE("times within 3 % are one time: the first counts, so that noise does not choose") {
  const std::vector<PolicyMeasurement> close{measured("auto", 1.02, 10, 16), measured("f64", 1.0, 10, 16),
                                             measured("f32", 1.01, 10, 16)};
  CHECK(chosen("speed", close) == "auto");
  CHECK(chosen("accuracy", close) == "auto");
  CHECK(chosen("memory", close) == "auto");
  CHECK(chosen("balanced", close) == "auto");
}

TEST_CASE("if f64 is not certified, no policy need be, and the message says so") {
  std::vector<PolicyMeasurement> none = kMeasured;
  for (PolicyMeasurement& m : none) m.certified = false;
  CHECK(chosen("speed", none) == "always_f16");
  CHECK(contains(choose("speed", none).message, "f64 itself ended without a certificate"));
}

TEST_CASE("without f64 there is nothing to compare with") {
  CHECK_THROWS_AS(choose("speed", {measured("auto", 1, 1, 1)}), ValidationError);
  CHECK_THROWS_AS(choose("speed", {}), ValidationError);
}
