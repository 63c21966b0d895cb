// Tests variable projection in fits. They are compared with fits of the whole problem. Also tests parameters
// that are not eliminated, and starts for only the nonlinear parameters.
#include <nlsq/nlsq.hpp>

#include "corpora/noise.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "projected_fits.hpp"

using namespace nlsq;
using namespace projected_fits;

namespace {

int steps(const FitResult& fit) { return fit.summary.accepted + fit.summary.rejected; }

}  // namespace

TEST_CASE("answers, covariances and verdicts are those of the whole problem") {
  for (const Sample& s : kSamples) {
    CAPTURE(s.formula);
    const Data d = drawn(s, 120);
    const FitResult off = curve_fit(s.formula, d.x, d.y, s.start, options_of(VariableProjection::off));
    const FitResult on = curve_fit(s.formula, d.x, d.y, s.start, options_of(VariableProjection::on));
    const FitResult automatic =
        curve_fit(s.formula, d.x, d.y, s.start, options_of(VariableProjection::automatic));
    REQUIRE(off.success());
    REQUIRE(on.success());
    REQUIRE(automatic.success());
    CHECK(eliminated(off).empty());
    CHECK(static_cast<int>(eliminated(on).size()) == s.linear);
    CHECK(on.warnings == off.warnings);
    check_same(on, off);
    check_same(automatic, off);
  }
}

TEST_CASE("weights, absolute sigma, fixed parameters and every policy keep the answer") {
  const Sample& s = kSamples[2];
  const Data d = drawn(s, 150);
  std::vector<double> sigma;
  for (const double x : d.x) sigma.push_back(0.001 + 0.0005 * x);
  for (const char* policy : {"auto", "f64", "f32", "bf16", "strict"}) {
    for (const bool absolute : {false, true}) {
      CAPTURE(policy);
      FitOptions off = options_of(VariableProjection::off), on = options_of(VariableProjection::on);
      for (FitOptions* o : {&off, &on}) {
        o->sigma = sigma;
        o->absolute_sigma = absolute;
        o->fixed = {"c"};
        o->precision = PrecisionPolicy::parse(policy);
      }
      NamedValues start = s.start;
      start.back().second = 0.5;  // c, fixed at its true value
      const FitResult a = curve_fit(s.formula, d.x, d.y, start, on),
                      b = curve_fit(s.formula, d.x, d.y, start, off);
      CHECK(eliminated(a) == Names{"a1", "a2"});
      check_same(a, b);
    }
  }
}

TEST_CASE("BoxBOD's first start, where plain steps end in another basin, and nonlinear starts alone") {
  const std::vector<double> x{1, 2, 3, 5, 7, 10}, y{109, 149, 149, 191, 213, 224};
  for (const VariableProjection wish : {VariableProjection::automatic, VariableProjection::on}) {
    for (const NamedValues& start : {NamedValues{{"b1", 1}, {"b2", 1}}, NamedValues{{"b2", 1}}}) {
      FitOptions options = options_of(wish);
      options.geodesic = Geodesic::never;
      const FitResult fit = curve_fit("b1*(1-exp(-b2*x))", x, y, start, options);
      CHECK(fit.success());
      CHECK(fit.parameters[0] == doctest::Approx(2.1380940889e+02).epsilon(1e-9));
      CHECK(fit.parameters[1] == doctest::Approx(5.4723748542e-01).epsilon(1e-9));
    }
  }
}

TEST_CASE(
    "sums of exponentials and of peaks on a baseline succeed from starts of the nonlinear parameters alone") {
  problems::Noise random(23);
  int elsewhere = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const int terms = 2 + trial % 2;
    const bool peaks = trial % 4 >= 2;
    CAPTURE(trial);
    Sample s{"", {}, {{"d", 0.5}}, 0, 8, 0.01, terms + 1};
    double rate = random.uniform(0.2, 0.5);
    for (int k = 0; k < terms; ++k) {
      const std::string i = std::to_string(k);
      const auto add = [&](const std::string& letter, double value, double start) {
        s.truth.emplace_back(letter + i, value);
        if (letter != "a") s.start.emplace_back(letter + i, start);
      };
      add("a", random.uniform(0.5, 2.5), 0);
      if (peaks) {
        s.formula += "a" + i + "*exp(-((x-b" + i + ")/w" + i + ")^2)+";
        const double centre = 1.5 + 2.3 * k + random.uniform(), width = random.uniform(0.5, 1);
        add("b", centre, centre + random.uniform(-0.5, 0.5));
        add("w", width, width * std::exp(random.uniform(-0.5, 0.5)));
      } else {
        s.formula += "a" + i + "*exp(-b" + i + "*x)+";
        add("b", rate, rate * std::exp(random.uniform(-0.7, 0.7)));
        rate *= random.uniform(3, 5);
      }
    }
    s.formula += "d";
    s.noise = peaks || terms == 2 ? 0.01 : 1e-3;
    const Data d = drawn(s, 300, static_cast<std::uint64_t>(trial) + 1);
    for (const VariableProjection wish : {VariableProjection::automatic, VariableProjection::on}) {
      const FitResult fit = curve_fit(s.formula, d.x, d.y, s.start, options_of(wish));
      CHECK(fit.success());
      // The scatter is that of the noise, and no more.
      const double rows = static_cast<double>(fit.dof),
                   most = (rows + 6 * std::sqrt(2 * rows)) * s.noise * s.noise;
      if (wish == VariableProjection::automatic) CHECK(fit.rss < most);
      else elsewhere += fit.rss < most ? 0 : 1;
    }
  }
  CHECK(elsewhere <= 1);  // peaks that are always projected may shrink to a few rows
}

TEST_CASE("sums of exponentials take fewer steps, and no more work") {
  const Sample& s = kSamples[2];
  for (const double fast : {4.0, 6.0, 8.0}) {
    CAPTURE(fast);
    const Data d = drawn(s, 200);
    const NamedValues start{{"b1", fast}, {"b2", 0.2}};
    const FitResult off = curve_fit(s.formula, d.x, d.y, start, options_of(VariableProjection::off));
    const FitResult on = curve_fit(s.formula, d.x, d.y, start, options_of(VariableProjection::automatic));
    CHECK(eliminated(on) == Names{"a1", "a2", "c"});
    check_same(on, off);
    CHECK(steps(on) < steps(off));
    CHECK(on.summary.counted_work < off.summary.counted_work);
  }
}

TEST_CASE("off, and automatic that declines, are the whole problem bit by bit") {
  const Sample& peak = kSamples[8];
  const Data d = drawn(peak, 150);
  const FitResult off = curve_fit(peak.formula, d.x, d.y, peak.start, options_of(VariableProjection::off));
  const FitResult automatic =
      curve_fit(peak.formula, d.x, d.y, peak.start, options_of(VariableProjection::automatic));
  CHECK(eliminated(automatic).empty());
  CHECK(automatic.parameters == off.parameters);
  CHECK(automatic.summary.counted_work == off.summary.counted_work);
  CHECK(automatic.summary.iterations.size() == off.summary.iterations.size());
  // Starts that must be used as given say nothing about it.
  const Sample& sum = kSamples[2];
  const Data e = drawn(sum, 150);
  FitOptions given = options_of(VariableProjection::automatic);
  given.solve_linear_start = false;
  CHECK(eliminated(curve_fit(sum.formula, e.x, e.y, sum.start, given)).empty());
  given.variable_projection = VariableProjection::on;
  CHECK(eliminated(curve_fit(sum.formula, e.x, e.y, sum.start, given)).size() == 3);
}

TEST_CASE("the bits are the same with any number of threads, also with samples and f32") {
  const Sample& s = kSamples[2];
  Data d = drawn(s, 300000);
  for (const VariableProjection wish : {VariableProjection::automatic, VariableProjection::on}) {
    const FitResult one = curve_fit(s.formula, d.x, d.y, s.start, options_of(wish, 1));
    const FitResult two = curve_fit(s.formula, d.x, d.y, s.start, options_of(wish, 2));
    CHECK(one.success());
    CHECK(eliminated(one) == Names{"a1", "a2", "c"});
    CHECK(one.summary.precision.counters.rows_f32 > 0);
    CHECK(one.parameters == two.parameters);
    CHECK(one.summary.counted_work == two.summary.counted_work);
    CHECK(eliminated(two) == eliminated(one));
  }
}

TEST_CASE(
    "callables that are recorded, prepared models and batches do the same; called ones eliminate "
    "what moving a parameter shows to be linear") {
  const Sample& s = kSamples[1];
  const Data d = drawn(s, 100);
  const auto rise = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * (1 - exp(-p[1] * x));
  };
  const FitOptions on = options_of(VariableProjection::on);
  const FitResult formula = curve_fit(s.formula, d.x, d.y, s.start, on);
  const FitResult callable = curve_fit(rise, d.x, d.y, {1.0, 1.0}, on);
  CHECK(eliminated(callable) == Names{"p0"});
  CHECK(callable.parameters[1] == doctest::Approx(formula.parameters[1]).epsilon(1e-9));
  const PreparedModel prepared(s.formula);
  const FitResult again = curve_fit(prepared, d.x, d.y, s.start, on);
  CHECK(eliminated(again) == Names{"b1"});
  CHECK(again.parameters == formula.parameters);

  const auto by_calls = [](double x, const double* p) { return p[0] * (1 - std::exp(-p[1] * x)); };
  const FitResult called = curve_fit(by_calls, d.x, d.y, {1.0, 1.0}, on);
  CHECK(eliminated(called) == Names{"p0"});
  CHECK(called.parameters[1] == doctest::Approx(formula.parameters[1]).epsilon(1e-6));
  const auto bent = [](double x, const double* p) { return std::exp(p[0]) * (1 - std::exp(-p[1] * x)); };
  const FitResult none = curve_fit(bent, d.x, d.y, {1.0, 1.0}, on);
  CHECK(eliminated(none).empty());
  CHECK(warns(none, "linear in no free parameter, or is not known to be"));

  const std::size_t fits = 64;
  Matrix Y(fits, d.y.size()), P0(1, 2, 1.0);
  for (std::size_t f = 0; f < fits; ++f) {
    for (std::size_t i = 0; i < d.y.size(); ++i) Y(f, i) = d.y[i] * (1 + 0.01 * static_cast<double>(f));
  }
  BatchOptions options;
  options.variable_projection = VariableProjection::on;
  const BatchResult batch = curve_fit_batch(prepared, d.x, Y, P0, options);
  CHECK(batch.certified == fits);
  CHECK(batch.in_lanes == 0);
  CHECK(batch.parameters(0, 1) == formula.parameters[1]);
}

TEST_CASE(
    "a first point that is noise in f32 is evaluated again in f64, which decides what may be eliminated") {
  problems::Noise random(4);
  std::vector<double> x, y;
  for (int i = 0; i < 3000; ++i) {  // these are times of a clock after a day, from which f32 gets no phase
    x.push_back(1e5 + 8.0 * i / 2999);
    y.push_back(std::sin(2 * x.back()) + 0.5 * std::cos(2 * x.back()) + 0.01 * random.normal());
  }
  FitOptions options;
  options.precision = PrecisionPolicy::parse("gate=off");
  options.threads = 1;
  const FitResult fit =
      curve_fit("a*sin(w*x)+b*cos(w*x)", x, y, {{"w", 2.000002}, {"a", 1}, {"b", 1}}, options);
  CHECK(fit.success());
  CHECK(fit.summary.precision.escalations >= 1);
  CHECK(fit.summary.accepted <=
        6);  // the whole problem, or an elimination that f32 had ruled out, takes hundreds
}

TEST_CASE("automatic elimination wants an eighth of the parameters to be linear, as a network's are not") {
  for (const int rates : {7, 8}) {
    CAPTURE(rates);
    Data d;
    for (int i = 0; i < 60; ++i) {
      d.x.push_back(10 + i / 120.0);
      d.y.push_back(3 + std::exp(-0.1 * d.x.back()) + 0.01 * std::sin(i));
    }
    // c is the only linear parameter. Its column of J is nearly parallel to the columns of all rates.
    std::string formula = "c";
    NamedValues start = {{"c", 1}};
    for (int k = 1; k <= rates; ++k) {
      formula += " + exp(-b" + std::to_string(k) + "*x)";
      start.emplace_back("b" + std::to_string(k), 0.1 * k);
    }
    FitOptions options = options_of(VariableProjection::automatic);
    options.max_iterations = 3;
    const FitResult automatic = curve_fit(formula, d.x, d.y, start, options);
    CHECK(eliminated(automatic).size() == (rates == 7 ? 1u : 0u));
    options.variable_projection = VariableProjection::on;
    CHECK(eliminated(curve_fit(formula, d.x, d.y, start, options)).size() == 1);
  }
}
