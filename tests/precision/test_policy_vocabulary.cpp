// Tests the vocabulary of policies: aliases and presets, operations, floors, ceilings, thresholds,
// components, rules.
#include <nlsq/error.hpp>
#include <nlsq/precision_policy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace nlsq;
using enum Format;

namespace {

PrecisionPolicy policy(const std::string& text) { return PrecisionPolicy::parse(text); }

std::vector<Violation> violations(const std::string& text) {
  try {
    policy(text);
  } catch (const ValidationError& error) {
    CHECK(error.details().size() == error.violations().size());
    return error.details();
  }
  return {};
}

std::string only_violation(const std::string& text) {
  CAPTURE(text);
  const auto found = violations(text);
  REQUIRE(found.size() == 1);
  return found[0].message();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

PartFormats start(const std::string& text) { return policy(text); }

constexpr PartFormats p1{f32, bf16, f32, f64}, p1h{f32, f16, f32, f64}, p2a{f32, f32, f32, f64},
    p2b{f32, f32, f64, f64}, p4{f64, f64, f64, f64};

}  // namespace

TEST_CASE("every alias is sound, printed by a name, and begins where it says") {
  std::set<std::string> names;
  for (const PolicyAlias& alias : policy_aliases()) {
    CAPTURE(alias.name);
    names.insert(alias.name);
    const PrecisionPolicy p = policy(alias.name);
    CHECK(p == alias.make());
    CHECK(p.validate().empty());
    CHECK(policy(p.to_string()) == p);
    CHECK(p.to_string().size() <= std::string(alias.name).size());
  }
  CHECK(names == std::set<std::string>{"auto", "f64", "f32", "bf16", "strict", "always_f64", "always_f32",
                                       "always_f16", "auto_conservative", "auto_bf16", "conservative",
                                       "balanced", "aggressive"});
  CHECK(start("auto") == p2b);
  CHECK(start("f32") == p2b);
  CHECK(start("bf16") == p1);
  CHECK(start("strict") == p2b);
  CHECK(start("always_f64") == p4);
  CHECK(start("always_f32") == p2a);
  CHECK(start("always_f16") == p1h);
  CHECK(start("auto_conservative") == p2b);
  CHECK(start("auto_bf16") == p1);
  CHECK(start("conservative") == p2b);
  CHECK(start("aggressive") == p1);
}

TEST_CASE("aliases differ in what the scheduler may do") {
  CHECK(policy("strict").strict);
  CHECK_FALSE(policy("auto").strict);
  CHECK(policy("auto_bf16").entry_gate);
  CHECK_FALSE(policy("bf16").entry_gate);
  CHECK(policy("always_f32").ceiling == p2a);
  CHECK(policy("always_f32").jacobian_floor == f32);
  CHECK(policy("always_f16").ceiling == p1h);
  CHECK(policy("always_f16").jacobian_floor == f16);
  CHECK(policy("auto").ceiling == p4);
  CHECK(policy("auto").jacobian_floor == bf16);
  CHECK(policy("auto_conservative").gram_floor == f64);
  CHECK(policy("auto_conservative").jacobian_floor == f32);
  CHECK_FALSE(policy("f64").adaptive);
  CHECK(policy("f64").gram_floor == f64);
}

TEST_CASE(
    "presets set thresholds: conservative is nowhere looser than balanced, aggressive nowhere tighter") {
  CHECK(policy("conservative").thresholds == Thresholds::conservative());
  CHECK(policy("balanced").thresholds == Thresholds{});
  CHECK(policy("aggressive").thresholds == Thresholds::aggressive());
  const Thresholds c = Thresholds::conservative(), b, a = Thresholds::aggressive();
  for (const char* looser_when_larger :
       {"gram_contraction", "wide_condition", "f64_condition", "nonfinite_tiles", "epsilon_j",
        "gradient_noise", "cost_noise", "undecided_steps", "rejected_contraction", "descents",
        "checkpoint_steps", "wasted_work"}) {
    CAPTURE(looser_when_larger);
    bool known = false;
    for (const ThresholdInfo& t : threshold_table()) {
      if (std::string(t.name) != looser_when_larger) continue;
      known = true;
      CHECK(value_of(c, t) <= value_of(b, t));
      CHECK(value_of(b, t) <= value_of(a, t));
    }
    CHECK(known);
  }
  for (const char* tighter_when_larger : {"entry_work", "sixteen_bit_parameters", "gain_ratio"})
    for (const ThresholdInfo& t : threshold_table())
      if (std::string(t.name) == tighter_when_larger) {
        CHECK(value_of(c, t) >= value_of(b, t));
        CHECK(value_of(b, t) >= value_of(a, t));
      }
}

TEST_CASE("the forms of one policy are one policy") {
  CHECK(policy("residual=f32,jacobian=bf16,gram=f32,solve=f64") == policy("auto_bf16"));
  CHECK(policy("residual=f32,jacobian=bf16,gram=f32,solve=f64,gate=off") == policy("bf16"));
  CHECK(policy("jacobian=bf16") == policy("auto_bf16"));
  CHECK(policy("auto,jacobian=bf16") == policy("auto_bf16"));
  CHECK(policy(" residual = float , jacobian = bfloat16 ") == policy("auto_bf16"));
  CHECK(policy("bf16,gate=on,jacobian=f32") == policy("auto"));
  CHECK(policy("auto,strict=on") == policy("strict"));
  CHECK(policy("auto,floor.gram=f64") == policy("auto_conservative"));
  CHECK(start("residual=f64,jacobian=f32,gram=f32") ==
        PartFormats{f64, f32, f32, f64});  // f64 gradients, f32 Gram
  CHECK(policy("residual=f64,jacobian=bf16").adaptive);
}

TEST_CASE("the JMP form: parameters, compute, output") {
  CHECK(policy("p=f64,c=bf16,o=f64") == policy("auto_bf16"));
  CHECK(policy("params=float64,compute=bfloat16,output=float64") == policy("auto_bf16"));
  CHECK(policy("p=f64,c=f32,o=f64") == policy("auto"));
  CHECK(policy("p=f64,c=f64,o=f64") == policy("f64"));
  CHECK(start("c=f16") == p1h);
  CHECK(contains(only_violation("p=f32,c=bf16,o=f64"),
                 "p=f32: parameters are stored in f64: rounding them limits the answer"));
  CHECK(contains(only_violation("p=f64,c=bf16,o=bf16"),
                 "o=bf16: results are given as they were certified, in f64"));
  CHECK(contains(only_violation("c=f8"), "unknown number format 'f8'"));
  CHECK(contains(only_violation("jacobian=f32,c=bf16"), "stands for residual and jacobian"));
}

TEST_CASE("custom policies by operation and by kind") {
  CHECK(policy("custom{compute=bf16,reduction=f32}") == policy("auto_bf16"));
  CHECK(policy("custom{ compute -> bf16 , reduction -> f32 },gate=off") == policy("bf16"));
  CHECK(policy("custom{evaluate=f64,data_movement=bf16}") == policy("residual=f64,jacobian=bf16"));
  CHECK(policy("custom{gram_product=f16,jacobian_storage=f16,boundary=f64,solve=f64,elementwise=f32}") ==
        policy("jacobian=f16"));
  CHECK(policy("custom{parameters=f64,results=f64,gram_sum=f32}") == policy("gram=f32"));
  CHECK(contains(only_violation("custom{reduction=bf16}"), "gram=bf16: sums of a Gram matrix in bf16 lose"));
  CHECK(contains(only_violation("custom{boundary=f32}"), "parameters are stored in f64"));
  CHECK(contains(only_violation("custom{results=f32}"), "results are given as they were certified"));
  CHECK(contains(only_violation("custom{gram_product=bf16,jacobian_storage=f32}"), "the two are one"));
  CHECK(contains(only_violation("custom{cost_sum=f64}"), "follows from evaluate and gram_sum"));
  CHECK(contains(only_violation("custom{multiply=f32}"),
                 "there are compute, reduction, elementwise, data_movement, boundary, evaluate"));
  CHECK(contains(only_violation("custom{compute=bf16"), "closing brace is missing"));
  CHECK(contains(only_violation("custom{compute}"), "'compute' is not operation=format"));
  CHECK(contains(only_violation("custom{}"), "'' is not operation=format"));
}

TEST_CASE("the format of every operation, and of a kind the narrowest of its own") {
  const auto formats = [](const std::string& text) {
    std::vector<Format> all;
    for (const Operation o : kOperations) all.push_back(policy(text).precision_for(o));
    return all;
  };
  // The order is evaluate, gram_product, solve, cost_sum, gradient_sum, gram_sum, elementwise,
  // jacobian_storage, parameters, results.
  CHECK(formats("f64") == std::vector<Format>(10, f64));
  CHECK(formats("auto") == std::vector<Format>{f32, f32, f64, f64, f64, f64, f32, f32, f64, f64});
  CHECK(formats("always_f32") == std::vector<Format>{f32, f32, f64, f32, f32, f32, f32, f32, f64, f64});
  CHECK(formats("bf16") == std::vector<Format>{f32, bf16, f64, f64, f64, f32, f32, bf16, f64, f64});
  CHECK(formats("residual=f64,jacobian=f32,gram=f32") ==
        std::vector<Format>{f64, f32, f64, f64, f64, f32, f64, f32, f64, f64});
  for (const PolicyAlias& alias : policy_aliases()) {
    const PrecisionPolicy p = alias.make();
    for (const OperationKind kind : kOperationKinds) {
      Format narrowest = f64;
      int operations = 0;
      for (const Operation o : kOperations) {
        if (kind_of(o) != kind) continue;
        ++operations;
        narrowest = std::min(narrowest, p.precision_for(o));
      }
      CHECK(operations > 0);
      CHECK(p.precision_for(kind) == narrowest);
    }
    CHECK(p.precision_for(OperationKind::boundary) == f64);
    CHECK(p.precision_for(OperationKind::reduction) >= f32);
  }
  CHECK(policy("always_f16").precision_for(OperationKind::compute) == f16);
  CHECK(policy("always_f16").precision_for(OperationKind::reduction) == f32);
  CHECK(policy("auto_conservative").precision_for(OperationKind::reduction) == f64);
  std::set<std::string> names;
  for (const Operation o : kOperations) names.insert(name(o));
  CHECK(names.size() == kOperations.size());
}

TEST_CASE("floors and ceilings hold the start between them") {
  const PrecisionPolicy p = policy("floor.jacobian=f32,ceiling.residual=f32");
  CHECK(p.jacobian_floor == f32);
  CHECK(p.gram_floor == f32);
  CHECK(p.ceiling == p2b);
  CHECK(policy("jacobian=f16").jacobian_floor == f16);
  CHECK(policy("conservative,jacobian=bf16").jacobian_floor == bf16);  // a start below the floor moves it
  CHECK(contains(only_violation("jacobian=bf16,floor.jacobian=f32"),
                 "floor.jacobian=f32: above jacobian=bf16"));
  CHECK(contains(only_violation("gram=f32,floor.gram=f64,floor.jacobian=f32"),
                 "floor.gram=f64: above gram=f32"));
  CHECK(contains(violations("always_f32,gram=f64")[0].message(),
                 "ceiling.gram=f32: below gram=f64, which the fit starts in"));
  CHECK(contains(only_violation("floor.residual=f32"), "only jacobian and gram ever go down"));
  CHECK(contains(only_violation("floor.gram=bf16,floor.jacobian=bf16"), "floor.gram=bf16"));
  CHECK(contains(only_violation("ceiling.solve=f64"), "always f64"));
  CHECK(contains(only_violation("ceiling.gate=f64"), "there are the parts"));
  CHECK(policy("f64,floor.gram=f32").adaptive);
}

TEST_CASE("every threshold can be set, printed and read back, and is checked against its range") {
  for (const ThresholdInfo& t : threshold_table()) {
    CAPTURE(t.name);
    PrecisionPolicy p;
    const double usual = value_of(p.thresholds, t);
    CHECK(usual >= t.least);
    CHECK(usual <= t.most);
    const double other = usual == t.least ? t.most : t.least;
    set_value(p.thresholds, t, other);
    CHECK(value_of(p.thresholds, t) == other);
    CHECK(p != PrecisionPolicy{});
    CHECK(p.validate().empty());
    CHECK(policy(p.to_string()) == p);
    CHECK(contains(p.to_string(), std::string("threshold.") + t.name + "="));
    for (const double outside : {t.least - 1, t.most * 2 + 1}) {
      set_value(p.thresholds, t, outside);
      REQUIRE(p.validate().size() == 1);
      CHECK(p.validate()[0].field == std::string("threshold.") + t.name);
    }
    set_value(p.thresholds, t, std::numeric_limits<double>::quiet_NaN());
    CHECK(p.validate().size() == 1);
  }
  CHECK(contains(only_violation("threshold.epsilon_k=1"), "there are the thresholds entry_work, "));
  CHECK(contains(only_violation("threshold.epsilon_j=x"), "use a number from 1e-06 to 1"));
  CHECK(contains(only_violation("threshold.descents=1.5"), "use a whole number from 0 to 1000"));
  CHECK(contains(only_violation("threshold.descents=1e300"), "use a whole number"));
}

TEST_CASE("components have formats of their own, and others those of the policy") {
  const PrecisionPolicy p = policy("imu.residual=f64,camera.jacobian=bf16,gram=f32,imu.gram=f64");
  CHECK(p.formats_of("imu") == p4);
  CHECK(p.formats_of("camera") == p1);
  CHECK(p.formats_of("wheel") == p2a);
  CHECK(p.components.size() == 2);
  CHECK(policy(p.to_string()) == p);
  CHECK(p.unknown_components(std::vector<std::string>{"camera", "imu"}).empty());
  const auto unknown = p.unknown_components(std::vector<std::string>{"camera"});
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].field == "imu");
  CHECK(contains(unknown[0].reason, "it has camera"));
  CHECK(p.unknown_components({}).size() == 2);
  CHECK(policy("f64,imu.residual=f32").adaptive);
  CHECK(contains(only_violation("imu.residual=bf16,imu.jacobian=bf16"),
                 "imu.residual=bf16: rows are evaluated"));
  CHECK(contains(only_violation("imu.jacobian=bf16,imu.gram=f64"),
                 "imu.gram=f64: wider than its jacobian=bf16"));
  CHECK(contains(only_violation("imu.speed=f32"), "imu.speed=f32: there are the parts"));
  CHECK(contains(only_violation("imu.gram=f32,imu.gram=f64"), "imu.gram=f64: named twice"));
  CHECK(contains(only_violation("1mu.gram=f32"), "no name of a component"));
  CHECK(contains(only_violation(".gram=f32"), "no name of a component"));
  PrecisionPolicy twice = policy("imu.gram=f32");
  twice.components.push_back(twice.components[0]);
  CHECK(twice.validate().size() == 1);
  twice.components[1].name = "floor";
  CHECK(twice.validate().size() == 1);
}

TEST_CASE("rules stand behind the formats and are checked against them") {
  const PrecisionPolicy p = policy("gram=f32; condition > 1e6 -> gram=f64; nonfinite > 0 -> residual=f64");
  CHECK(p.rules.size() == 2);
  CHECK(static_cast<const PartFormats&>(p) == p2a);
  CHECK(p.to_string() == "gram=f32; condition > 1000000 -> gram=f64; nonfinite > 0 -> residual=f64");
  CHECK(policy(p.to_string()) == p);
  CHECK(policy("f64; n > 3 -> gram=f64").rules.size() == 1);
  CHECK(
      contains(only_violation("f64; n > 3 -> jacobian=bf16"), "below the f64 that this policy never leaves"));
  CHECK(contains(only_violation("always_f32; n > 3 -> residual=f64"), "above ceiling.residual=f32"));
  CHECK(violations("residual=bf16; n > 3; x > 1 -> gram=f64").size() == 3);
  CHECK(contains(only_violation("auto;"), "no '->'"));
}

TEST_CASE("the refusals come all at once, from text and from a policy made by hand") {
  CHECK(violations("residual=bf16,gram=f17,solve=f32,p=f32,o=f16,gate=maybe,threshold.descents=-1,imu.solve="
                   "f32,fast; n > 1")
            .size() >= 9);
  PrecisionPolicy p;
  p.gram = f16;
  p.solve = bf16;
  p.thresholds.epsilon_j = -1;
  p.thresholds.descents = -1;
  p.rules.emplace_back();
  CHECK(p.validate().size() == 6);
  CHECK(p.violations().size() == 6);
  CHECK(contains(only_violation("f32,f64"), "'f64' is not component=format"));
  CHECK(contains(only_violation("gram=f32,gram=f32"), "named twice"));
}

// Policies have random fields. Those that validate() accepts are printed as texts that parse to the same
// policy.
TEST_CASE("any sound policy is printed as a text that parses back to it") {
  std::mt19937 random(3);
  const auto pick = [&](int n) {
    return static_cast<std::size_t>(std::uniform_int_distribution<int>(0, n - 1)(random));
  };
  const auto format = [&] { return static_cast<Format>(pick(4)); };
  int sound = 0;
  for (int round = 0; round < 20000; ++round) {
    PrecisionPolicy p = policy_aliases()[pick(13)].make();
    if (pick(2) == 0) p.residual = format();
    if (pick(2) == 0) p.jacobian = format();
    if (pick(2) == 0) p.gram = format();
    if (pick(4) == 0) p.jacobian_floor = format();
    if (pick(4) == 0) p.gram_floor = format();
    if (pick(4) == 0) p.ceiling = {format(), format(), format(), f64};
    p.entry_gate = pick(2) == 0;
    p.strict = pick(2) == 0;
    const ThresholdInfo& t = threshold_table()[pick(static_cast<int>(threshold_table().size()))];
    if (pick(2) == 0)
      set_value(p.thresholds, t,
                std::clamp(std::uniform_real_distribution<double>(0, 3)(random), t.least, t.most));
    if (pick(3) == 0)
      p.components.push_back({"imu", {.residual = {}, .jacobian = format(), .gram = {}, .solve = {}}});
    if (pick(3) == 0) p.rules.push_back(PrecisionRule::parse("n > 3 -> gram=f64"));
    const bool low = p.precision_for(OperationKind::compute) < f64 || p.gram < f64 ||
                     p.jacobian_floor < f64 || p.gram_floor < f64;
    p.adaptive = low || (!p.components.empty() && p.formats_of("imu") != p4);
    if (!p.validate().empty()) continue;
    ++sound;
    const std::string text = p.to_string();
    CAPTURE(text);
    REQUIRE(policy(text) == p);
  }
  CHECK(sound > 1000);
}

TEST_CASE("no text is anything but a sound policy or a ValidationError") {
  const std::string letters = "=,;.{}->&<> fgram16stodejcbilu_3nax\n\xc3";
  std::mt19937 random(4);
  int sound = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text = round % 2 ? "residual=f32,jacobian=bf16,imu.gram=f32; n > 1 -> gram=f64"
                                 : "custom{compute=bf16},gate=off";
    for (int edits = 1 + round % 4; edits > 0; --edits) {
      const std::size_t at = std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random);
      const char c = letters[std::uniform_int_distribution<std::size_t>(0, letters.size() - 1)(random)];
      if (random() % 3 == 0) text.erase(at, 1);
      else if (random() % 2) text[at] = c;
      else text.insert(at, 1, c);
    }
    try {
      const PrecisionPolicy p = policy(text);
      ++sound;
      REQUIRE(p.validate().empty());
      REQUIRE(policy(p.to_string()) == p);
    } catch (const ValidationError& error) {
      REQUIRE_FALSE(error.violations().empty());
    }
  }
  CHECK(sound > 100);
}
