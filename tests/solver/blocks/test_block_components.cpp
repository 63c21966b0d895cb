// Tests named parts of a Problem. Each has its own formats, and only the program whose f32 derivatives are
// inaccurate is raised.
#include "blocks/problem_impl.hpp"

#include <nlsq/nlsq.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Computes the residual a exp(-b t) + c - y.
struct Decay {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * exp(-p[1] * t) + p[2] - y;
    return true;
  }
};

// The phase is far from zero. In sin(f + w), f32 represents w beside f only in steps of 0.06.
struct Phase {
  double turns, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::sin;
    r[0] = sin(turns + p[0]) + 0.2 * p[1] - y;
    return true;
  }
};

// Computes the residual e^(p0 + huge) e^(p1 - huge) - y. Its factors overflow in f32.
struct Tall {
  double height, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = exp(p[0] + height) * exp(p[1] - height) - y;
    return true;
  }
};

struct Scene {
  double p[3] = {1.7, 0.8, 0.3};
  Problem problem;
  std::vector<ResidualBlockId> decays, phases;

  explicit Scene(bool named = true, double turns = 1e6) {
    for (int i = 0; i < 300; ++i) {
      const double t = 0.02 * i;
      decays.push_back(problem.add_residual_block<1>(Decay{t, 2 * std::exp(-0.7 * t) + 0.4}, nullptr, {p}));
    }
    for (int i = 0; i < 200; ++i) {
      const double f = turns + 0.01 * i;
      phases.push_back(problem.add_residual_block<1>(
          Phase{f, std::sin(f + 2) + 0.2 * 0.7 + 0.01 * std::cos(11.0 * i)}, nullptr, {p}));
    }
    if (!named) return;
    for (const ResidualBlockId id : decays) problem.set_component(id, "cam");
    for (const ResidualBlockId id : phases) problem.set_component(id, "imu");
  }
  Summary solve(const char* policy, int threads = 1) {
    SolverOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    options.threads = threads;
    return nlsq::solve(problem, options);
  }
};

const ComponentSummary& part(const Summary& summary, const std::string& name) {
  for (const ComponentSummary& c : summary.precision.components) {
    if (c.name == name) return c;
  }
  FAIL("no component " << name);
  return summary.precision.components.front();
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const ValidationError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "only the program whose f32 derivatives are spoilt is evaluated in f64, and the trace names its "
    "component") {
  Scene scene;
  const Summary summary = scene.solve("f32");
  CHECK(summary.termination == Termination::converged);
  Scene reference;
  const Summary f64 = reference.solve("f64");
  for (int j = 0; j < 3; ++j) CHECK(scene.p[j] == doctest::Approx(reference.p[j]).epsilon(1e-9));
  CHECK(summary.final_cost == doctest::Approx(f64.final_cost).epsilon(1e-9));

  const auto raised = std::ranges::find(summary.iterations, Event::jacobian_error, &IterationSummary::event);
  REQUIRE(raised != summary.iterations.end());
  CHECK(raised->components == std::vector<std::string>{"imu"});
  CHECK(raised->reason.find("200 blocks") != std::string::npos);
  CHECK(part(summary, "imu").escalations == 1);
  CHECK(part(summary, "cam").escalations == 0);
  CHECK(part(summary, "cam").rows == 300);
  CHECK(part(summary, "imu").rows == 200);
  // The part is evaluated in f32 only once, the others until the finish.
  CHECK(part(summary, "imu").counters.rows_f32 <= 256);
  CHECK(part(summary, "cam").counters.rows_f32 >= 600);
}

TEST_CASE("a program whose f32 derivatives are good stays in f32") {
  Scene scene(true, 3);
  const Summary summary = scene.solve("f32");
  CHECK(summary.termination == Termination::converged);
  CHECK(std::ranges::find(summary.iterations, Event::jacobian_error, &IterationSummary::event) ==
        summary.iterations.end());
  CHECK(part(summary, "imu").counters.rows_f32 >= 400);
}

TEST_CASE("a component with formats of its own starts in them") {
  Scene scene(true, 3);
  const Summary summary = scene.solve("f32,imu.residual=f64");
  CHECK(summary.termination == Termination::converged);
  CHECK(part(summary, "imu").counters.rows_f32 == 0);
  CHECK(part(summary, "imu").counters.rows_f64 > 0);
  CHECK(part(summary, "cam").counters.rows_f32 >= 600);
  CHECK(part(summary, "imu").escalations == 0);
}

TEST_CASE("components' counters add up to those of the whole") {
  Scene scene;
  const Summary summary = scene.solve("f32");
  const KernelCounters &cam = part(summary, "cam").counters, &imu = part(summary, "imu").counters;
  CHECK(cam.rows_f32 + imu.rows_f32 == summary.precision.counters.rows_f32);
  CHECK(cam.rows_f64 + imu.rows_f64 == summary.precision.counters.rows_f64);
}

TEST_CASE("blocks without a name are a part by themselves, and programs are raised without names, too") {
  Scene unnamed(false);
  const Summary summary = unnamed.solve("f32");
  CHECK(summary.termination == Termination::converged);
  CHECK(summary.precision.components.empty());
  const auto raised = std::ranges::find(summary.iterations, Event::jacobian_error, &IterationSummary::event);
  REQUIRE(raised != summary.iterations.end());
  CHECK(raised->components.empty());

  Scene half(false);
  for (const ResidualBlockId id : half.phases) half.problem.set_component(id, "imu");
  const Summary other = half.solve("f32");
  CHECK(part(other, "").rows == 300);
  CHECK(part(other, "imu").rows == 200);
  CHECK(part(other, "").escalations == 0);
  CHECK(part(other, "imu").escalations == 1);

  Scene rest(false);
  for (const ResidualBlockId id : rest.decays) rest.problem.set_component(id, "cam");
  const Summary raised_rest = rest.solve("f32");
  CHECK(part(raised_rest, "").escalations == 1);
  CHECK(part(raised_rest, "cam").escalations == 0);
}

TEST_CASE("names make no difference to the numbers") {
  Scene named, unnamed(false);
  named.solve("f32");
  unnamed.solve("f32");
  for (int j = 0; j < 3; ++j) CHECK(named.p[j] == doctest::Approx(unnamed.p[j]).epsilon(1e-12));
}

TEST_CASE("the same bits on any number of threads, and when a kept problem is solved again") {
  Scene one, two;
  one.solve("f32", 1);
  two.solve("f32", 2);
  for (int j = 0; j < 3; ++j) CHECK(one.p[j] == two.p[j]);
  const double first[] = {one.p[0], one.p[1], one.p[2]};
  one.p[0] = 1.7;
  one.p[1] = 0.8;
  one.p[2] = 0.3;
  const Summary again = one.solve("f32", 1);
  for (int j = 0; j < 3; ++j) CHECK(one.p[j] == doctest::Approx(first[j]).epsilon(1e-12));
  CHECK(part(again, "imu").escalations == 1);  // this solve raises it; the one before is forgotten
}

TEST_CASE("overflow in f32 raises the program that overflows, not the rest") {
  double p[3] = {1, 1, 0.1};
  Problem problem;
  for (int i = 0; i < 300; ++i) {
    const double t = 0.02 * i;
    problem.set_component(problem.add_residual_block<1>(Decay{t, 2 * std::exp(-0.7 * t) + 0.4}, nullptr, {p}),
                          "decay");
  }
  for (int i = 0; i < 100; ++i) {
    problem.set_component(problem.add_residual_block<1>(Tall{95.0 + 0.01 * i, std::exp(2.7)}, nullptr, {p}),
                          "tall");
  }
  SolverOptions options;
  options.precision = PrecisionPolicy::parse("f32");
  const Summary summary = solve(problem, options);
  CHECK(summary.termination == Termination::converged);
  CHECK(p[0] == doctest::Approx(2).epsilon(1e-9));
  CHECK(p[1] == doctest::Approx(0.7).epsilon(1e-9));
  const auto raised = std::ranges::find(summary.iterations, Event::overflow, &IterationSummary::event);
  REQUIRE(raised != summary.iterations.end());
  CHECK(raised->components == std::vector<std::string>{"tall"});
  CHECK(raised->plan.gram < Gram::f64);  // the rest goes on below f64
  CHECK(part(summary, "decay").counters.rows_f32 >= 600);
}

TEST_CASE("rules of the policy hold for problems") {
  Scene scene(true, 3);
  const Summary summary = scene.solve("jacobian=f32,gram=f32,gate=off; iteration >= 1 -> gram=f64");
  CHECK(summary.termination == Termination::converged);
  const auto ruled = std::ranges::find(summary.iterations, Event::rule, &IterationSummary::event);
  REQUIRE(ruled != summary.iterations.end());
  CHECK(ruled->reason == "iteration >= 1 -> gram=f64");
  CHECK(std::next(ruled)->plan.gram == Gram::f32_wide);

  Scene wide(true, 3);
  const Summary evaluated = wide.solve("f32; iteration >= 1 -> residual=f64,jacobian=f32");
  CHECK(evaluated.termination == Termination::converged);
  CHECK(part(evaluated, "cam").counters.rows_f32 ==
        600);  // at the start, and at the second point before the rule is asked
}

TEST_CASE("a policy for a component that is not there is refused, and so is what cannot be a name") {
  Scene named, unnamed(false);
  CHECK(message_of([&] { named.solve("f32,gps.residual=f64"); }).find("it has cam, imu") !=
        std::string::npos);
  CHECK(message_of([&] { unnamed.solve("f32,imu.residual=f64"); }).find("set_component") !=
        std::string::npos);
  CHECK(message_of([&] { named.problem.set_component(named.decays[0], "a b"); }).find("letters, digits") !=
        std::string::npos);
  CHECK(message_of([&] { named.problem.set_component(named.decays[0], "floor"); }).find("floor") !=
        std::string::npos);
  CHECK(message_of([&] { named.problem.set_component({9999}, "cam"); }).find("no residual block 9999") !=
        std::string::npos);
  CHECK(message_of([&] {
          named.solve("jacobian=f32,gram=f32,imu.gram=f64");
        }).find("imu: of a Problem's component residual alone") != std::string::npos);
  CHECK(message_of([&] { named.solve("f32,cam.jacobian=f64"); }).find("jacobian=f64") != std::string::npos);
  for (const ResidualBlockId id : named.phases) named.problem.set_component(id, "");
  CHECK(message_of([&] { named.solve("f32,imu.residual=f64"); }).find("it has cam") != std::string::npos);
}

TEST_CASE("names that no block has any more are forgotten, the others stay with theirs") {
  double p[1] = {0};
  Problem problem;
  const auto pull = [&](double to) {
    return problem.add_residual_block([to](const auto* q) { return q[0] - to; }, nullptr, {p});
  };
  const ResidualBlockId first = pull(1), last = pull(2);
  problem.set_component(first, "first");
  problem.set_component(last, "last");
  for (int frame = 0; frame < 50; ++frame) {
    const ResidualBlockId id = pull(3);
    problem.set_component(id, "frame_" + std::to_string(frame));
    const Summary summary = solve(problem);
    CHECK(p[0] == doctest::Approx(2));
    CHECK(summary.precision.components.size() == 3);
    CHECK(part(summary, "first").rows == 1);
    CHECK(part(summary, "last").rows == 1);
    CHECK(part(summary, "frame_" + std::to_string(frame)).rows == 1);
    problem.remove_residual_block(id);
  }
  problem.set_component(first, "other");
  CHECK(part(solve(problem), "other").rows == 1);
  CHECK(part(solve(problem), "last").rows == 1);
  CHECK(problem.impl().component_names == std::vector<std::string>{"last", "other"});
}

TEST_CASE("components stay with their blocks where others are removed") {
  Scene scene;
  scene.solve("f32");
  for (int i = 0; i < 100; ++i)
    scene.problem.remove_residual_block(scene.decays[static_cast<std::size_t>(i)]);
  scene.p[0] = 1.5;
  const Summary summary = scene.solve("f32");
  CHECK(summary.termination == Termination::converged);
  CHECK(part(summary, "cam").rows == 200);
  CHECK(part(summary, "imu").rows == 200);
}
