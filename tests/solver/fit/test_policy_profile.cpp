// Tests that policies are measured on a problem and one is chosen. The measurements must be true, and the
// choice must be repeatable.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};
const NamedValues kStart{{"a", 1}, {"b", 1}, {"c", 0}};

struct Data {
  std::vector<double> x, y, sigma;
  explicit Data(std::size_t m) {
    for (std::size_t i = 0; i < m; ++i) {
      x.push_back(4.0 * static_cast<double>(i) / static_cast<double>(m));
      y.push_back(2 * std::exp(-0.5 * x.back()) + 1 + 0.01 * std::sin(37.0 * static_cast<double>(i)));
      sigma.push_back(0.01);
    }
  }
};

const PolicyMeasurement& find(const PolicyProfile& profile, const std::string& policy) {
  for (const PolicyMeasurement& m : profile.policies) {
    if (m.policy == policy) return m;
  }
  FAIL("there is no " << policy);
  return profile.policies.front();
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("every policy with a name is measured once, with the counters of its own fits") {
  const Data d(60000);
  ProfileOptions once;
  once.repeats = 1;
  const PolicyProfile profile = profile_policies("a*exp(-b*x)+c", d.x, d.y, kStart, {}, once);
  CHECK(profile.rows == 60000);
  CHECK(profile.sampled == 60000);
  CHECK_FALSE(profile.stopped);
  std::set<std::string> names;
  for (const PolicyMeasurement& m : profile.policies) {
    CAPTURE(m.policy);
    CHECK(names.insert(m.policy).second);
    CHECK(PrecisionPolicy::parse(m.policy).validate().empty());
    CHECK(m.certified);
    CHECK(m.status == "CONVERGED");
    CHECK(m.seconds > 0);
    CHECK(m.peak_bytes > 0);
    CHECK(m.digits >= 8);
    CHECK(m.digits <= 16);
    CHECK(profile.table().find(m.policy) != std::string::npos);
  }
  for (const char* name : {"auto", "f64", "f32", "bf16", "strict", "always_f32", "always_f16",
                           "auto_conservative", "auto_bf16", "conservative", "aggressive"})
    CHECK(names.contains(name));
  CHECK(find(profile, "f64").digits == 16);
  CHECK(find(profile, "f64").below_f64 == 0);
  CHECK(find(profile, "f64").escalations == 0);
  CHECK(find(profile, "f32").below_f64 > 0);
  CHECK(find(profile, "f32").escalations > 0);
  // The numbers are those of a fit of the same rows.
  FitOptions f32;
  f32.precision = PrecisionPolicy::parse("f32");
  const FitResult fit = curve_fit("a*exp(-b*x)+c", d.x, d.y, kStart, f32);
  CHECK(find(profile, "f32").escalations == fit.summary.precision.escalations);
  CHECK(find(profile, "f32").peak_bytes == fit.summary.peak_bytes);
  CHECK(find(profile, "f32").issues == fit.summary.precision.issues.size());
}

TEST_CASE("a sample is spread over all rows, and the entry gate decides as for all of them") {
  const Data d(300000);  // under auto, 300,000 rows go below f64, but 2,000 alone would not
  ProfileOptions small;
  small.rows = 2000;
  small.repeats = 1;
  small.policies = {PrecisionPolicy::parse("auto")};
  const PolicyProfile profile = profile_policies(decay, d.x, d.y, {1.0, 1.0, 0.0}, {}, small);
  CHECK(profile.sampled == 2000);
  REQUIRE(profile.policies.size() == 2);  // f64 comes first, for comparison
  CHECK(profile.policies[0].policy == "f64");
  CHECK(profile.policies[1].policy == "auto");
  CHECK(find(profile, "auto").below_f64 > 0);
  const Data few(2000);
  CHECK(find(profile_policies(decay, few.x, few.y, {1.0, 1.0, 0.0}, {}, small), "auto").below_f64 == 0);
  // The rows come from everywhere, so a model that only the last quarter determines is determined.
  FitOptions seen;
  std::size_t rows = 0;
  double least = 1e9, most = -1e9;
  const FitFunction spy = [&](const Columns& x, const Column& y, const FitOptions& options) {
    rows = y.size();
    for (std::size_t i = 0; i < rows; ++i) {
      const double at = x.list()[0][i];
      least = std::min(least, at);
      most = std::max(most, at);
      CHECK(y[i] == doctest::Approx(2 * std::exp(-0.5 * at) + 1).epsilon(0.02));  // x and y belong to one row
      CHECK(options.sigma[i] == 0.01);
    }
    return curve_fit("a*exp(-b*x)+c", x, y, kStart, options);
  };
  seen.sigma = d.sigma;
  profile_policies(spy, d.x, d.y, seen, small);
  CHECK(rows == 2000);
  CHECK(least < 0.6);
  CHECK(most > 3.4);
}

TEST_CASE("a chosen policy can be repeated from its text, to the last bit") {
  const Data d(200000);
  ProfileOptions quick;
  quick.repeats = 1;
  for (const char* text : {"speed", "memory:0.9", "accuracy:9", "balanced"}) {
    CAPTURE(text);
    const OptimizedPolicy chosen =
        optimize_policy(PrecisionObjective::parse(text), model("exp"), d.x, d.y, {}, {}, quick);
    CHECK(PrecisionPolicy::parse(chosen.text) == chosen.policy);
    CHECK(chosen.message.find(chosen.text) != std::string::npos);
    FitOptions first, again;
    first.precision = chosen.policy;
    again.precision = PrecisionPolicy::parse(chosen.text);
    const FitResult a = curve_fit(model("exp"), d.x, d.y, {}, first),
                    b = curve_fit(model("exp"), d.x, d.y, {}, again);
    CHECK(a.parameters == b.parameters);
    CHECK(a.covariance == b.covariance);
    CHECK(a.summary.iterations.size() == b.summary.iterations.size());
    CHECK(a.summary.precision.counters.rows_f32 == b.summary.precision.counters.rows_f32);
    CHECK(PrecisionPolicy::parse(a.summary.precision.policy) == chosen.policy);
  }
}

TEST_CASE("a target out of reach is reported, and the best there is is chosen all the same") {
  const Data d(3000);
  ProfileOptions quick;
  quick.repeats = 1;
  const auto by_columns = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x[0]) + p[2];
  };
  const OptimizedPolicy chosen = optimize_policy(PrecisionObjective::parse("speed:1000"), by_columns,
                                                 std::vector<Column>{d.x}, d.y, {1.0, 1.0, 0.0}, {}, quick);
  CHECK_FALSE(chosen.met);
  CHECK(chosen.message.find("the target of 1000 is not met by any policy") != std::string::npos);
  CHECK(chosen.message.find("on all 3000 rows") != std::string::npos);
}

TEST_CASE("floats are sampled as floats, and integers as what they are") {
  const Data d(5000);
  const std::vector<float> x(d.x.begin(), d.x.end());
  std::vector<std::int16_t> y;
  for (const double v : d.y) y.push_back(static_cast<std::int16_t>(1000 * v));
  ProfileOptions small;
  small.rows = 1000;
  small.repeats = 1;
  small.policies = {PrecisionPolicy::parse("f64")};
  bool floats = true;
  const FitFunction spy = [&](const Columns& xs, const Column& ys, const FitOptions& options) {
    floats = floats && xs.list()[0].type() == ElementType::f32;
    return curve_fit("a*exp(-b*x)+c", xs, ys, {{"a", 2000}, {"b", 0.5}, {"c", 1000}}, options);
  };
  CHECK(find(profile_policies(spy, x, y, {}, small), "f64").certified);
  CHECK(floats);
}

TEST_CASE("a callback that says Stop stops the measuring, and a choice is made of what there is") {
  const Data d(3000);
  FitOptions options;
  int calls = 0;
  options.callback = [&](const IterationSummary&) { return ++calls > 25 ? Stop : Continue; };
  const PolicyProfile profile = profile_policies("a*exp(-b*x)+c", d.x, d.y, kStart, options);
  CHECK(profile.stopped);
  CHECK(profile.policies.size() < 11);
  calls = 100;
  const OptimizedPolicy none =
      optimize_policy(PrecisionObjective::parse("speed:2"), "a*exp(-b*x)+c", d.x, d.y, kStart, options);
  CHECK(none.profile.stopped);
  CHECK(none.text == "auto");
  CHECK_FALSE(none.met);
}

TEST_CASE("errors are those of the fit, and an unsound policy is refused before anything is fitted") {
  const Data d(100);
  const std::vector<double> y(50, 1.0);
  CHECK(message([&] { profile_policies("a*exp(-b*x)+c", d.x, y, kStart); }).find("rows") !=
        std::string::npos);
  ProfileOptions unsound;
  unsound.policies.emplace_back();
  unsound.policies.back().gram = Format::bf16;
  const FitFunction never = [](const Columns&, const Column&, const FitOptions&) -> FitResult {
    throw std::runtime_error("called");
  };
  CHECK(message([&] { profile_policies(never, d.x, d.y, {}, unsound); }).find("gram=bf16") !=
        std::string::npos);
}
