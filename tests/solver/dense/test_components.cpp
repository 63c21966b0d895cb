// Tests named components of a problem. Each has its own formats, and only a component that they do not suit
// is raised.
#include "dense/dense_evaluator.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/grouped_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Two sensors see one decay. One sees it as it is, the other on an offset, of which f32 has few digits left.
struct Sensors {
  std::size_t cam = 12000, imu = 3000;
  double offset = 0, scale = 1;
  std::vector<double> t, y;

  Sensors(double imu_offset, double imu_scale = 1) : offset(imu_offset), scale(imu_scale) {
    for (std::size_t i = 0; i < cam + imu; ++i) {
      const bool second = i >= cam;
      t.push_back(6.0 * static_cast<double>(second ? i - cam : i) / static_cast<double>(second ? imu : cam));
      const double f = 2 * std::exp(-0.7 * t.back()) + 0.4 + 0.01 * std::sin(57.0 * static_cast<double>(i));
      y.push_back(second ? f + offset : f);
    }
  }
  auto residuals() const {
    return [this](const auto& p) {
      using std::exp;
      using T = std::decay_t<decltype(p[0])>;
      std::vector<T> r;
      for (std::size_t i = 0; i < cam; ++i) r.push_back(p[0] * exp(-p[1] * t[i]) + p[2] - y[i]);
      for (std::size_t i = cam; i < cam + imu; ++i)
        r.push_back((p[0] * exp(-p[1] * t[i]) + (p[2] + offset) - y[i]) * scale);
      return r;
    };
  }
  LeastSquaresResult fit(const char* policy, int threads = 1) const {
    LeastSquaresOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    options.components = {{"cam", cam}, {"imu", imu}};
    options.threads = threads;
    return least_squares(residuals(), {1.0, 1.0, 0.0}, options);
  }
};

const ComponentSummary& part(const LeastSquaresResult& fit, const std::string& name) {
  for (const ComponentSummary& c : fit.summary.precision.components) {
    if (c.name == name) return c;
  }
  FAIL("no component " << name);
  return fit.summary.precision.components.front();
}

void check_same_answer(const LeastSquaresResult& fit, const LeastSquaresResult& f64) {
  REQUIRE(f64.success());
  CHECK(fit.success());
  for (std::size_t j = 0; j < fit.x.size(); ++j)
    CHECK(std::fabs(fit.x[j] - f64.x[j]) <= 1e-3 * f64.standard_errors[j]);
}

std::string message(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const IterationSummary* event_of(const LeastSquaresResult& fit, Event event) {
  for (const IterationSummary& it : fit.summary.iterations) {
    if (it.event == event) return &it;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a component's formats drive the kernels that evaluate its rows") {
  const Sensors sensors(0);
  const LeastSquaresResult f64 = sensors.fit("f64");
  CHECK(part(f64, "cam").counters.rows_f32 + part(f64, "imu").counters.rows_f32 == 0);
  CHECK(part(f64, "imu").counters.rows_f64 > 0);
  const LeastSquaresResult one = sensors.fit("f32,imu.residual=f64");
  CHECK(part(one, "cam").counters.rows_f32 >= sensors.cam);
  CHECK(part(one, "imu").counters.rows_f32 == 0);
  check_same_answer(one, f64);
  const LeastSquaresResult other = sensors.fit("f64,cam.residual=f32,gate=off");
  CHECK(part(other, "cam").counters.rows_f32 >= sensors.cam);
  CHECK(part(other, "imu").counters.rows_f32 == 0);
  check_same_answer(other, f64);
  const LeastSquaresResult both = sensors.fit("f32");
  CHECK(part(both, "imu").counters.rows_f32 >= sensors.imu);
  check_same_answer(both, f64);
  const LeastSquaresResult half = sensors.fit("f32,cam.jacobian=bf16");
  CHECK(part(half, "cam").counters.gram_flops_bf16 > 0);
  CHECK(part(half, "imu").counters.gram_flops_bf16 == 0);
  CHECK(part(half, "imu").counters.gram_flops_f32_wide > 0);
  check_same_answer(half, f64);
  CHECK(contains(half.summary.full_report(), "component imu: 3000 rows, evaluated f64 "));
}

TEST_CASE("noise of one component raises that one, the trace names it, and the other goes on in f32") {
  const Sensors sensors(3e5);
  const LeastSquaresResult f64 = sensors.fit("f64"), fit = sensors.fit("f32");
  check_same_answer(fit, f64);
  const IterationSummary* noise = event_of(fit, Event::gradient_noise);
  if (noise == nullptr) noise = event_of(fit, Event::cost_noise);
  REQUIRE(noise != nullptr);
  CHECK(noise->components == std::vector<std::string>{"imu"});
  CHECK(noise->reason.starts_with("imu: "));
  CHECK(contains(fit.summary.trace_report(), "(imu: "));
  // Afterwards, rows of the other component are still evaluated in f32, and none of the raised one.
  CHECK(part(fit, "imu").escalations == 1);
  CHECK(part(fit, "cam").escalations == 0);
  KernelCounters after;
  for (const IterationSummary& it : fit.summary.iterations) {
    if (it.iteration > noise->iteration) after.add(it.counters);
  }
  CHECK(after.rows_f32 >= sensors.cam);
  CHECK(part(fit, "cam").counters.rows_f32 > sensors.cam);
  CHECK(part(fit, "imu").counters.rows_f32 < part(fit, "cam").counters.rows_f32 / 2);
}

TEST_CASE("a component that overflows f32 is raised by itself, however few its rows") {
  // 60 of 12,060 rows grow beyond f32's range. They are less than 1 % of all, but all of their component.
  std::vector<double> t;
  for (int i = 0; i < 12060; ++i) t.push_back(i < 12000 ? 1e-4 * i : 100.0 + 0.01 * (i - 12000));
  const auto residuals = [&](const auto& p) {
    using std::exp;
    using T = std::decay_t<decltype(p[0])>;
    std::vector<T> r;
    for (std::size_t i = 0; i < 12000; ++i)
      r.push_back(p[0] * exp(p[1] * t[i]) -
                  (2 * std::exp(0.9 * t[i]) + 0.01 * std::sin(1e3 * static_cast<double>(i))));
    for (std::size_t i = 12000; i < t.size(); ++i)
      r.push_back(p[0] * exp(p[1] * t[i]) * 1e-40 -
                  (2e-40 * std::exp(0.9 * t[i]) + 0.01 * std::cos(static_cast<double>(i))));
    return r;
  };
  LeastSquaresOptions options;
  options.components = {{"slow", 12000}, {"fast", 60}};
  const auto fit = [&](const char* policy) {
    options.precision = PrecisionPolicy::parse(policy);
    return least_squares(residuals, {1.9, 0.9}, options);
  };
  const LeastSquaresResult f64 = fit("f64"), low = fit("f32");
  check_same_answer(low, f64);
  const IterationSummary* overflow = event_of(low, Event::overflow);
  REQUIRE(overflow != nullptr);
  CHECK(overflow->components == std::vector<std::string>{"fast"});
  CHECK(part(low, "slow").counters.rows_f32 >= 2 * 12000);
  REQUIRE_FALSE(low.summary.precision.issues.empty());
  for (const PrecisionIssue& issue : low.summary.precision.issues) CHECK(issue.component == "fast");
}

TEST_CASE("sums of a pass are those of each component's own format, and so are its counters") {
  const Sensors sensors(0);
  const VectorFunction function = make_vector_function(sensors.residuals());
  const std::vector<RowComponent> components{{"cam", sensors.cam}, {"imu", sensors.imu}};
  const std::vector<double> x{1.5, 0.8, 0.3};
  const GroupedRows rows(roll(function, x), function, x, components);
  REQUIRE(rows.components().size() == 2);
  for (std::size_t t = 0, seen = 0; t < rows.tile_count(); ++t) {
    CHECK(rows.component(t) >= seen);
    seen = rows.component(t);
    for (const std::size_t i : {rows.tile(t).first, rows.tile(t).first + rows.tile(t).count - 1}) {
      CHECK((rows.original(i) >= sensors.cam) == (rows.component(t) == 1));
    }
  }
  GroupedRows own(roll(function, x), function, x, components);
  DenseEvaluator evaluator(own);
  const PrecisionPlan low{Format::f32, Gram::f32_wide}, f64{Format::f64, Gram::f64};
  evaluator.raise({kNarrowestPlan, f64});
  const Linearization mixed = evaluator.linearize(x, low);
  CHECK(evaluator.counters().rows_f32 == sensors.cam);
  CHECK(evaluator.counters().rows_f64 == sensors.imu);
  CHECK(evaluator.component_counters()[0].rows_f32 == sensors.cam);
  CHECK(evaluator.component_counters()[1].rows_f64 == sensors.imu);
  CHECK(evaluator.component_counters()[1].gram_flops_f64 == 20 * sensors.imu);
  const double work = evaluator.counted_work();
  CHECK(work > 0);
  CHECK(work == doctest::Approx(evaluator.pass_work(low)));
  // A probe uses only the differences of the low component.
  const Probe probe = evaluator.probe(x, low);
  REQUIRE(probe.components.size() == 2);
  CHECK(probe.components[1].cost_noise == 0);
  CHECK(probe.components[0].cost_noise > 0);
  CHECK(probe.cost_noise == doctest::Approx(probe.components[0].cost_noise));
  for (std::size_t j = 0; j < 3; ++j) CHECK(probe.components[1].gradient_bias[j] == 0);
  evaluator.raise({kNarrowestPlan, kNarrowestPlan});
  const Linearization all_low = evaluator.linearize(x, low);
  evaluator.raise({f64, f64});
  const Linearization all_f64 = evaluator.linearize(x, low);
  CHECK(all_low.cost != mixed.cost);
  CHECK(all_f64.cost != mixed.cost);
  CHECK(std::fabs(mixed.cost - all_f64.cost) < 1e-6 * all_f64.cost);
  CHECK(evaluator.cost(x, Format::f32) == doctest::Approx(all_f64.cost).epsilon(1e-13));  // both are raised
}

TEST_CASE("the same bits on any number of threads, with components as without") {
  const Sensors sensors(3e5);
  const LeastSquaresResult one = sensors.fit("f32", 1), two = sensors.fit("f32", 2);
  CHECK(one.x == two.x);
  CHECK(one.cost == two.cost);
  CHECK(one.summary.iterations.size() == two.summary.iterations.size());
}

TEST_CASE("a function that is not recorded has components, too: all in f64") {
  const Sensors sensors(0);
  LeastSquaresOptions options;
  options.components = {{"cam", sensors.cam}, {"imu", sensors.imu}};
  options.precision = PrecisionPolicy::parse("f32,imu.residual=f64");
  const auto plain = [&](const std::vector<double>& p) { return sensors.residuals()(p); };
  const LeastSquaresResult fit = least_squares(plain, {1.0, 1.0, 0.0}, options);
  check_same_answer(fit, sensors.fit("f64"));
  CHECK(fit.summary.evaluator == "finite differences");
  CHECK(part(fit, "cam").counters.rows_f64 > 0);
  CHECK(part(fit, "imu").counters.rows_f64 > 0);
  CHECK(fit.summary.precision.counters.rows_f32 == 0);
}

TEST_CASE("names that do not fit the problem are refused, with those that do") {
  const Sensors sensors(0);
  const auto complaint = [&](std::vector<RowComponent> components, const char* policy) {
    LeastSquaresOptions options;
    options.components = std::move(components);
    options.precision = PrecisionPolicy::parse(policy);
    return message([&] { least_squares(sensors.residuals(), {1.0, 1.0, 0.0}, options); });
  };
  const std::vector<RowComponent> both{{"cam", sensors.cam}, {"imu", sensors.imu}};
  CHECK(contains(complaint(both, "gps.residual=f64"),
                 "gps: this problem has no such component; it has cam, imu"));
  CHECK(contains(complaint({}, "imu.residual=f64"),
                 "imu: this problem has no named components: name the part alone, as in residual=f64"));
  CHECK(contains(complaint({{"cam", 5}, {"imu", 7}}, "auto"),
                 "the components have 12 residuals together, the function gives 15000"));
  CHECK(contains(complaint({{"cam", sensors.cam}, {"cam", sensors.imu}}, "auto"), "given twice"));
  CHECK(
      contains(complaint({{"floor", sensors.cam}, {"imu", sensors.imu}}, "auto"), "no name of a component"));
  CHECK(contains(complaint({{"", sensors.cam}, {"imu", sensors.imu}}, "auto"), "no name of a component"));
  CHECK(contains(complaint({{"cam", sensors.cam + sensors.imu}, {"imu", 0}}, "auto"),
                 "component 'imu' has no residuals"));
}
