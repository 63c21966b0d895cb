// Tests fits whose time goes to the Gram matrix. A fit of 36 parameters begins with J in bf16 if the CPU
// multiplies it, keeps the cheap products with f64 rows, and ends where the all-f64 fit does.
#include <nlsq/nlsq.hpp>
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Peaks {
  std::vector<double> x, y;
  std::string formula;
  NamedValues start;

  Peaks(std::size_t rows, int peaks) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double at = peaks * static_cast<double>(i) / static_cast<double>(rows);
      double sum = 0.02 * std::sin(1e4 * static_cast<double>(i) * static_cast<double>(i));
      for (int k = 0; k < peaks; ++k) sum += (1 + 0.1 * k) * std::exp(-std::pow((at - k - 0.5) / 0.45, 2));
      x.push_back(at);
      y.push_back(sum);
    }
    for (int k = 0; k < peaks; ++k) {
      const std::string n = std::to_string(k);
      formula += (k > 0 ? "+h" : "h") + n + "*exp(-((x-c" + n + ")/w" + n + ")^2)";
      start.emplace_back("h" + n, 1);
      start.emplace_back("c" + n, k + 0.45);
      start.emplace_back("w" + n, 0.4);
    }
  }

  FitResult fit(const char* policy) const { return fit(policy, start); }
  FitResult fit(const char* policy, const NamedValues& from) const {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    return curve_fit(formula, x, y, from, options);
  }
};

// Computes two layers of eight tanh units on two inputs. The path to the minimum is a long curved valley.
struct Network {
  static constexpr int width = 8;

  auto operator()(const auto& x, const auto& p) const {
    using std::tanh;
    using Value = decltype(p[0] + p[0] * x[0]);
    std::vector<Value> first;
    for (int i = 0; i < width; ++i)
      first.push_back(tanh(p[3 * i] + p[3 * i + 1] * x[0] + p[3 * i + 2] * x[1]));
    const int output = 3 * width + width * (width + 1);
    Value out = p[output] + 0.0 * p[0];
    for (int i = 0; i < width; ++i) {
      const int at = 3 * width + i * (width + 1);
      Value sum = p[at] + p[at + 1] * first[0];
      for (int j = 1; j < width; ++j) sum = sum + p[at + 1 + j] * first[static_cast<std::size_t>(j)];
      out = out + p[output + 1 + i] * tanh(sum);
    }
    return out;
  }
};

// Holds the network's data, and a start near the true parameters.
struct Valley {
  static constexpr int rows = 4000;
  std::vector<double> u, v, y, start;

  explicit Valley(double away = 0.04) {
    constexpr int width = Network::width;
    std::vector<double> truth;
    for (std::size_t j = 0; j < 3 * width + width * (width + 1) + width + 1; ++j) {
      const double wild = std::sin(12.9898 * static_cast<double>(j * j + 1));
      truth.push_back(1.5 * wild);
      start.push_back(truth.back() * (1 + away * std::sin(78.233 * static_cast<double>(j + 1))));
    }
    for (int i = 0; i < rows; ++i) {
      u.push_back(2 * std::sin(0.37 * i * i));
      v.push_back(2 * std::sin(0.73 * i * i + 1));
      const std::vector<double> x{u.back(), v.back()};
      y.push_back(Network{}(x, truth) + 0.01 * std::sin(1e4 * i * static_cast<double>(i)));
    }
  }

  Summary fit(const char* policy, VariableProjection projection = VariableProjection::automatic) const {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    options.max_iterations = 40;
    options.variable_projection = projection;
    const std::vector<Column> x{u, v};
    return curve_fit(make_model_function(Network{}, 2), Columns(x), y, start, options).summary;
  }
};

}  // namespace

TEST_CASE("36 parameters end alike whatever J is rounded to, and the kernels' counters show what it was") {
  const Peaks data(40000, 12);
  const FitResult f64 = data.fit("f64");
  REQUIRE(f64.success());
  CHECK(f64.summary.precision.counters.gram_flops_bf16 == 0);
  for (const char* policy : {"auto", "f32", "bf16", "always_f16", "residual=f64,jacobian=bf16,gate=off"}) {
    CAPTURE(policy);
    const FitResult fit = data.fit(policy);
    const KernelCounters& k = fit.summary.precision.counters;
    CHECK(fit.summary.verdict == Verdict::converged);
    for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
      CHECK(std::fabs(fit.parameters[j] - f64.parameters[j]) <= 1e-3 * f64.standard_errors[j]);
      CHECK(fit.standard_errors[j] == doctest::Approx(f64.standard_errors[j]).epsilon(1e-6));
    }
    const std::string_view name = policy;
    const bool half =
        name == "bf16" || name.starts_with("residual") || (name == "auto" && kernels().multiplies_bf16());
    CHECK((k.gram_flops_bf16 > 0) == half);
    CHECK((k.gram_flops_f16 > 0) == (name == "always_f16"));
    CHECK((k.rows_f32 > 0) == !name.starts_with("residual"));
    CHECK(k.gram_flops_f64 < f64.summary.precision.counters.gram_flops_f64);
  }
}

TEST_CASE("a rule and a strict policy act on such a fit") {
  const Peaks data(40000, 12);
  const FitResult ruled = data.fit("bf16; iteration >= 1 -> gram=f64");
  CHECK(ruled.success());
  bool by_rule = false;
  for (const IterationSummary& it : ruled.summary.iterations) by_rule = by_rule || it.event == Event::rule;
  CHECK(by_rule);
  CHECK(data.fit("strict").success());
}

TEST_CASE(
    "near the end of a wide fit the Gram matrix is kept, gradients are of float64, and one of float64 "
    "certifies") {
  const Peaks data(20000, 50);
  const double n1 = 151, pass = n1 * (n1 + 1) * 20000;
  const FitResult f64 = data.fit("f64"), fit = data.fit("auto");
  REQUIRE(f64.success());
  CHECK(fit.summary.verdict == f64.summary.verdict);
  const KernelCounters& k = fit.summary.precision.counters;
  CHECK(static_cast<double>(f64.summary.precision.counters.gram_flops_f64) > 2.9 * pass);
  CHECK(static_cast<double>(k.gram_flops_f64) > pass);
  CHECK(static_cast<double>(k.gram_flops_f64) < 1.3 * pass);
  CHECK(k.rows_f64 > 2 * 20000);
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    REQUIRE(std::fabs(fit.parameters[j] - f64.parameters[j]) <= 1e-3 * f64.standard_errors[j]);
    REQUIRE(fit.standard_errors[j] == doctest::Approx(f64.standard_errors[j]).epsilon(1e-6));
  }
  // The certificate is that of a pass in f64 at the end of the fit.
  CHECK(fit.summary.certificate.step <= 1e-10);
  CHECK(fit.summary.certificate.decrement_sigma <= 1e-3);
  CHECK(fit.summary.certificate.covariance_error ==
        doctest::Approx(f64.summary.certificate.covariance_error).epsilon(1e-2));
  bool finishing = false, kept = false;
  for (const IterationSummary& it : fit.summary.iterations) {
    finishing = finishing || it.event == Event::finishing;
    kept = kept || (finishing && it.plan.residual == Format::f64 && it.plan.gram < Gram::f64 &&
                    it.reason.find("by the normal matrix of iteration") != std::string::npos);
  }
  CHECK(finishing);
  CHECK(kept);
}

TEST_CASE(
    "a wide fit that keeps its Gram matrix has the same bits on any number of threads, and stops when it is "
    "told to") {
  const Peaks data(20000, 50);
  FitOptions options;
  options.threads = 1;
  const FitResult one = curve_fit(data.formula, data.x, data.y, data.start, options);
  for (const int threads : {2, 3, 5}) {
    options.threads = threads;
    const FitResult many = curve_fit(data.formula, data.x, data.y, data.start, options);
    CHECK(many.parameters == one.parameters);
    CHECK(many.standard_errors == one.standard_errors);
    CHECK(many.summary.final_cost == one.summary.final_cost);
    CHECK(many.summary.iterations.size() == one.summary.iterations.size());
  }
  for (std::size_t stop = 0; stop + 1 < one.summary.iterations.size(); ++stop) {
    CAPTURE(stop);
    options.callback = [&](const IterationSummary& it) {
      return it.iteration == static_cast<int>(stop) ? Stop : Continue;
    };
    const FitResult stopped = curve_fit(data.formula, data.x, data.y, data.start, options);
    CHECK(stopped.summary.iterations.size() == stop + 1);
    const bool may_pass =
        stop + 2 >= one.summary.iterations.size();  // the last steps may leave less than the tolerances
    CHECK((may_pass || !stopped.success()));
  }
}

TEST_CASE("wide fits whose columns are nearly dependent are certified by no less than float64 alone would") {
  // Two peaks replace one, apart by a fraction of their width: exactly alike, hardly, and a little. At 0.01
  // the condition number is 1e17. There the last bits decide whether float64 itself can certify its end: of
  // six starts between h = 0.49 and 0.52 it certifies three, with AVX2 or without. So only the end is tested.
  for (const std::string apart : {"", "-0.00001", "-0.01", "-0.1"}) {
    CAPTURE(apart);
    Peaks data(8000, 40);
    data.formula += "+h*exp(-((x-c3" + apart + ")/w3)^2)";
    data.start.emplace_back("h", 0.5);
    const FitResult f64 = data.fit("f64"), fit = data.fit("auto");
    if (apart != "-0.01") REQUIRE(fit.success());
    if (apart == "-0.1") CHECK(fit.summary.verdict == Verdict::converged);
    CHECK(fit.summary.certificate.rank <= f64.summary.certificate.rank);
    if (apart.empty()) CHECK(fit.summary.verdict == Verdict::rank_deficient);
    // There is a second minimum, 0.2 σ² higher. With AVX-512 `auto` reaches it at 0.1, and `f64` at 0.01. A
    // float64 fit that starts at the higher one finds nothing lower.
    const bool same = fit.summary.final_cost == doctest::Approx(f64.summary.final_cost).epsilon(1e-9);
    if (fit.summary.verdict == Verdict::converged && same) {
      CHECK(fit.summary.certificate.covariance_error ==
            doctest::Approx(f64.summary.certificate.covariance_error).epsilon(0.5));
    }
    const bool higher = !same && fit.summary.final_cost > f64.summary.final_cost;
    if (fit.summary.verdict == Verdict::converged && higher) {
      CHECK(apart == "-0.1");
      NamedValues end;
      for (std::size_t j = 0; j < fit.parameters.size(); ++j)
        end.emplace_back(fit.parameter_names[j], fit.parameters[j]);
      const FitResult from_there = data.fit("f64", end);
      CHECK(from_there.summary.verdict == Verdict::converged);
      CHECK(from_there.summary.final_cost == doctest::Approx(fit.summary.final_cost).epsilon(1e-9));
    }
    // If it is certified in fewer directions, it is within a standard error of the lowest.
    CHECK(fit.summary.final_cost <=
          f64.summary.final_cost * (1 + 1.0 / static_cast<double>(data.x.size() - data.start.size())));
  }
}

TEST_CASE("hard fits of many parameters below float64 follow the curvature as those in float64 do") {
  const Valley valley;
  // `auto` alone would use float64 at once, because sums in float64 take most of a pass here.
  const Summary f64 = valley.fit("f64"), low = valley.fit("auto,floor.gram=f64");
  CHECK(low.precision.counters.rows_f32 > 20 * Valley::rows);
  // These are the f64 rows of acceleration, besides probes and the end.
  std::uint64_t below = 0;
  for (const IterationSummary& it : low.iterations) {
    if (it.iteration >= 12 && it.plan.residual == Format::f32) below = std::max(below, it.counters.rows_f64);
  }
  CHECK(below >= 2 * Valley::rows);
  CHECK(low.final_cost <= 1.02 * f64.final_cost);
}

TEST_CASE("if steps are often rejected, those of many parameters are judged before a Gram matrix is made") {
  const Summary fit = Valley(0.3).fit("f64", VariableProjection::off);
  const std::uint64_t n = Network::width * (Network::width + 5) + 1, pass = (n + 1) * (n + 2) * Valley::rows;
  int rejected = 0, in_vain = 0;
  for (const IterationSummary& it : fit.iterations) {
    if (it.outcome != StepOutcome::rejected) continue;
    ++rejected;
    if (it.counters.gram_flops_f64 >= pass) ++in_vain;
  }
  CHECK(rejected >= 10);
  CHECK(in_vain <= rejected / 4);
}

// The re-check uses 4,096 rows in groups of neighbours. Between the groups lie peaks so narrow that these
// rows see only squares of their tails, which underflow. All rows together see far more.
TEST_CASE("peaks that a part of the rows sees nothing of but tails too small to be squared are certified") {
  constexpr std::size_t rows = 20000, groups = 64;
  std::vector<double> x, y;
  std::string formula;
  NamedValues start;
  for (std::size_t i = 0; i < rows; ++i) x.push_back(static_cast<double>(i));
  y.assign(rows, 0.0);
  for (int k = 0; k < 3; ++k) {
    const double centre = static_cast<double>(rows / groups * (20 + 10 * static_cast<std::size_t>(k))),
                 width = 6;
    for (std::size_t i = 0; i < rows; ++i) {
      y[i] += std::exp(-std::pow((x[i] - centre) / width, 2)) +
              0.003 * std::sin(1e4 * static_cast<double>(i * i + static_cast<std::size_t>(k)));
    }
    const std::string n = std::to_string(k);
    formula += (k > 0 ? "+h" : "h") + n + "*exp(-((x-c" + n + ")/w" + n + ")^2)";
    start.emplace_back("h" + n, 0.9);
    start.emplace_back("c" + n, centre + 1);
    start.emplace_back("w" + n, width + 1);
  }
  for (const char* policy : {"f64", "auto"}) {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    const FitResult fit = curve_fit(formula, x, y, start, options);
    CAPTURE(fit.summary.message);
    CHECK(fit.summary.verdict == Verdict::converged);
    CHECK(fit.summary.iterations.size() < 20);
  }
}
