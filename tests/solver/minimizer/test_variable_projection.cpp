// Variable projection in fits: beside those of the whole problem; what is not eliminated; starts for
// nonlinear parameters alone.
#include <nlsq/nlsq.hpp>

#include "corpora/noise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Sample {
  std::string formula;
  NamedValues start;  // of all parameters, far enough for some steps
  NamedValues truth;
  double low, high, noise;
  int linear;  // parameters that enter so
};

const Sample kSamples[] = {
    {"a*exp(-b*x)+c", {{"a", 1}, {"b", 0.3}, {"c", 0}}, {{"a", 2.5}, {"b", 1.3}, {"c", 0.5}}, 0, 4, 0.02, 2},
    {"b1*(1-exp(-b2*x))", {{"b1", 1}, {"b2", 1}}, {{"b1", 240}, {"b2", 0.05}}, 0, 30, 0.5, 1},
    {"a1*exp(-b1*x)+a2*exp(-b2*x)+c",
     {{"a1", 1}, {"b1", 4}, {"a2", 1}, {"b2", 0.2}, {"c", 0}},
     {{"a1", 3}, {"b1", 2.5}, {"a2", 2}, {"b2", 0.4}, {"c", 0.5}},
     0,
     8,
     0.002,
     3},
    {"a1*exp(-b1*x)+a2*exp(-b2*x)+a3*exp(-b3*x)",
     {{"a1", 1}, {"b1", 7}, {"a2", 1}, {"b2", 1.5}, {"a3", 1}, {"b3", 0.15}},
     {{"a1", 3}, {"b1", 5}, {"a2", 2}, {"b2", 1.1}, {"a3", 1}, {"b3", 0.2}},
     0,
     10,
     0.001,
     3},
    {"a*x^b+c", {{"a", 1}, {"b", 0.6}, {"c", 0}}, {{"a", 2}, {"b", 1.4}, {"c", 1}}, 0.1, 5, 0.02, 2},
    {"a*x/(k+x)", {{"a", 1}, {"k", 1}}, {{"a", 212}, {"k", 6}}, 0.1, 30, 1, 1},
    {"a/(1+exp(-b*(x-c)))+d",
     {{"a", 1}, {"b", 0.7}, {"c", -1}, {"d", 0}},
     {{"a", 3}, {"b", 1.5}, {"c", 0.7}, {"d", 0.2}},
     -5,
     5,
     0.05,
     2},
    {"s*sin(w*x)+c*cos(w*x)+d",
     {{"s", 1}, {"w", 2}, {"c", 1}, {"d", 0}},
     {{"s", 2}, {"w", 2.1}, {"c", -1}, {"d", 1}},
     0,
     10,
     0.1,
     3},
    {"h1*exp(-((x-c1)/w1)^2)+h2*exp(-((x-c2)/w2)^2)+d",
     {{"h1", 1}, {"c1", -1.6}, {"w1", 1}, {"h2", 1}, {"c2", 1.5}, {"w2", 1}, {"d", 0}},
     {{"h1", 2}, {"c1", -1.2}, {"w1", 0.7}, {"h2", 3}, {"c2", 1.1}, {"w2", 0.9}, {"d", 0.4}},
     -5,
     5,
     0.03,
     3},
    {"exp(-b*x)*(a+c*x)+2*x",
     {{"b", 0.3}, {"a", 1}, {"c", 1}},
     {{"b", 0.9}, {"a", 1.5}, {"c", 4}},
     0,
     6,
     0.02,
     2},
};

struct Data {
  std::vector<double> x, y;
};

Data drawn(const Sample& s, std::size_t rows, std::uint64_t seed = 5) {
  const Formula formula = parse_formula(s.formula);
  std::vector<double> p(formula.parameters.size());
  for (const auto& [name, value] : s.truth) {
    p[static_cast<std::size_t>(std::ranges::find(formula.parameters, name) - formula.parameters.begin())] =
        value;
  }
  Data d;
  problems::Noise random(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    d.x.push_back(s.low + (s.high - s.low) * static_cast<double>(i) / static_cast<double>(rows - 1));
    d.y.push_back(formula.evaluate({&d.x.back(), 1}, p) + s.noise * random.normal());
  }
  return d;
}

FitOptions options_of(VariableProjection wish, int threads = 1) {
  FitOptions o;
  o.variable_projection = wish;
  o.threads = threads;
  return o;
}

std::vector<std::string> eliminated(const FitResult& fit) {
  std::vector<std::string> names;
  for (std::size_t j = 0; j < fit.eliminated.size(); ++j) {
    if (fit.eliminated[j]) names.push_back(fit.parameter_names[j]);
  }
  return names;
}

using Names = std::vector<std::string>;

bool warns(const FitResult& fit, const std::string& what) {
  return std::ranges::any_of(fit.warnings,
                             [&](const std::string& w) { return w.find(what) != std::string::npos; });
}

int steps(const FitResult& fit) { return fit.summary.accepted + fit.summary.rejected; }

// Equal to `digits` of a standard error, and errors and correlations as far as the condition of J lets them
// be.
void check_same(const FitResult& a, const FitResult& b) {
  REQUIRE(a.parameters.size() == b.parameters.size());
  CHECK(a.summary.verdict == b.summary.verdict);
  for (std::size_t j = 0; j < a.parameters.size(); ++j) {
    CAPTURE(a.parameter_names[j]);
    CHECK(a.parameters[j] == doctest::Approx(b.parameters[j]).epsilon(1e-9));
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      const double size = a.standard_errors[i] * a.standard_errors[j];
      CHECK(std::fabs(a.covariance(i, j) - b.covariance(i, j)) <= 1e-7 * size);
    }
  }
  CHECK(a.rss == doctest::Approx(b.rss).epsilon(1e-12));
  CHECK(a.dof == b.dof);
}

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
      start.back().second = 0.5;  // c, held where it belongs
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
      // The scatter that was put in, and no more.
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
  // Starts that are to be taken as given tell nothing about it.
  const Sample& sum = kSamples[2];
  const Data e = drawn(sum, 150);
  FitOptions given = options_of(VariableProjection::automatic);
  given.solve_linear_start = false;
  CHECK(eliminated(curve_fit(sum.formula, e.x, e.y, sum.start, given)).empty());
  given.variable_projection = VariableProjection::on;
  CHECK(eliminated(curve_fit(sum.formula, e.x, e.y, sum.start, given)).size() == 3);
}

TEST_CASE("with any number of threads the same bits, samples and f32 included") {
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

TEST_CASE("what has bounds is not eliminated, the others are, and the answer keeps the bounds") {
  const Sample& s = kSamples[2];
  const Data d = drawn(s, 150);
  const Formula formula = parse_formula(s.formula);
  for (const double most : {10.0, 1.9}) {  // of a2, whose best value is 2
    FitOptions off = options_of(VariableProjection::off), on = options_of(VariableProjection::on);
    for (FitOptions* o : {&off, &on}) {
      o->bounds = {std::vector<double>(5, -kInf), std::vector<double>(5, kInf)};
      o->bounds.upper[static_cast<std::size_t>(std::ranges::find(formula.parameters, "a2") -
                                               formula.parameters.begin())] = most;
    }
    const FitResult a = curve_fit(s.formula, d.x, d.y, s.start, on),
                    b = curve_fit(s.formula, d.x, d.y, s.start, off);
    CHECK(eliminated(a) == Names{"a1", "c"});
    CHECK(a.success());
    CHECK(a.at_bound == b.at_bound);
    CHECK(std::ranges::count(a.at_bound, true) == (most < 2 ? 1 : 0));
    for (std::size_t j = 0; j < 5; ++j)
      CHECK(a.parameters[j] == doctest::Approx(b.parameters[j]).epsilon(1e-8));
  }
  FitOptions all = options_of(VariableProjection::on);
  all.bounds = {{-100}, {100}};
  const FitResult none = curve_fit(s.formula, d.x, d.y, s.start, all);
  CHECK(none.success());
  CHECK(eliminated(none).empty());
  CHECK(warns(none, "bounds"));
}

TEST_CASE(
    "nothing is eliminated under a loss, of counts, with errors in x, of a model that is not linear or all "
    "linear") {
  const Sample& s = kSamples[0];
  const Data d = drawn(s, 100);
  const auto none = [&](const std::string& formula, const FitOptions& options, const char* why,
                        std::vector<double> y) {
    CAPTURE(why);
    const FitResult fit = curve_fit(formula, d.x, y, {}, options);
    CHECK(fit.success());
    CHECK(eliminated(fit).empty());
    CHECK(warns(fit, why));
  };
  FitOptions on = options_of(VariableProjection::on);
  on.loss = Loss::huber(0.1);
  none(s.formula, on, "under a loss", d.y);
  std::vector<double> counts;
  for (const double x : d.x) counts.push_back(std::round(40 * std::exp(-x) + 5));
  on.loss = Loss::poisson();
  none("a*exp(-b*x)+c", on, "under a loss", counts);
  on.loss = {};
  const std::vector<double> errors(d.x.size(), 0.02);
  on.sigma = errors;
  on.sigma_x = {Column(errors)};
  none(s.formula, on, "errors in x", d.y);
  FitOptions dogleg = options_of(VariableProjection::on);
  dogleg.algorithm = Algorithm::dogleg;
  none(s.formula, dogleg, "Levenberg-Marquardt", d.y);
  none("a^2*exp(-b*x)+c^2", options_of(VariableProjection::on), "linear in no", d.y);
  none("a+b*x+c*x^2", options_of(VariableProjection::on), "linear in all", d.y);
  // Where it is not asked for, nothing is said.
  FitOptions automatic = options_of(VariableProjection::automatic);
  automatic.loss = Loss::huber(0.1);
  CHECK(curve_fit(s.formula, d.x, d.y, {}, automatic).warnings.empty());
}

TEST_CASE("ties: what is linear in the model they make of it is eliminated") {
  const Sample& s = kSamples[2];
  const Data d = drawn(s, 150);
  const auto start = [](std::initializer_list<const char*> names) {
    NamedValues out;
    for (const auto& [name, value] : kSamples[2].start) {
      if (std::ranges::find(names, name) != names.end()) out.emplace_back(name, value);
    }
    return out;
  };
  FitOptions on = options_of(VariableProjection::on), off = options_of(VariableProjection::off);
  on.ties = off.ties = {"a2 = a1/1.5"};
  const FitResult linear = curve_fit(s.formula, d.x, d.y, start({"b1", "b2"}), on);
  CHECK(eliminated(linear) == Names{"a1", "c"});
  check_same(linear, curve_fit(s.formula, d.x, d.y, start({"b1", "b2"}), off));
  on.ties = off.ties = {"a2 = 6/a1"};
  const FitResult not_linear = curve_fit(s.formula, d.x, d.y, start({"a1", "b1", "b2"}), on);
  CHECK(eliminated(not_linear) == Names{"c"});
  check_same(not_linear, curve_fit(s.formula, d.x, d.y, start({"a1", "b1", "b2"}), off));
}

TEST_CASE("confounded linear parameters: the rank is reported, and what the data determine is the same") {
  const Sample& s = kSamples[0];
  const Data d = drawn(s, 100);
  const FitResult on =
      curve_fit("(a+b)*exp(-k*x)+c", d.x, d.y, {{"k", 0.3}}, options_of(VariableProjection::on));
  const FitResult off =
      curve_fit("(a+b)*exp(-k*x)+c", d.x, d.y, {{"k", 0.3}}, options_of(VariableProjection::off));
  CHECK(on.summary.verdict == Verdict::rank_deficient);
  CHECK(off.summary.verdict == Verdict::rank_deficient);
  CHECK(on.summary.certificate.rank == 3);
  CHECK(eliminated(on) == Names{"a", "c"});
  CHECK(on.parameters[0] + on.parameters[1] ==
        doctest::Approx(off.parameters[0] + off.parameters[1]).epsilon(1e-8));
  CHECK(on.parameters[2] == doctest::Approx(off.parameters[2]).epsilon(1e-8));
  CHECK(on.rss == doctest::Approx(off.rss).epsilon(1e-10));
}

TEST_CASE(
    "callables that are recorded, prepared models and batches do the same; calls by dual numbers eliminate "
    "nothing") {
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
  const FitResult none = curve_fit([&](double x, std::span<const double> p) { return by_calls(x, p.data()); },
                                   d.x, d.y, {1.0, 1.0}, on);
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
    "a first point that is noise in f32 is seen again in f64: what may be eliminated is decided there") {
  problems::Noise random(4);
  std::vector<double> x, y;
  for (int i = 0; i < 3000; ++i) {  // times of a clock that has run for a day: f32 sees no phase
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
        6);  // by the whole problem, or with an elimination that f32 had ruled out, hundreds
}
