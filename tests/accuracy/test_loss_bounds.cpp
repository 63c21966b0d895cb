// Compares fits with every loss within every kind of bounds with those of SciPy (loss_bounds_scipy.json, by
// the script of that name).
#include <nlohmann/json.hpp>

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Set {
  std::string formula;
  std::vector<std::string> parameters;
  std::vector<double> x, y;
};
struct Minimum {
  std::vector<double> parameters;
  std::vector<int> active;
  double cost = 0;
};
struct Bounded {
  std::string set, loss, kind;
  double scale = 1;
  std::vector<double> start, lower, upper;
  std::vector<Minimum> minima;  // the lowest first
  bool convex() const { return loss == "linear" || loss == "soft_l1" || loss == "huber"; }
};

std::vector<double> side(const nlohmann::json& values, double none) {
  std::vector<double> out;
  for (const auto& v : values) out.push_back(v.is_null() ? none : v.get<double>());
  return out;
}

struct Recorded {
  std::map<std::string, Set> sets;
  std::vector<Bounded> problems;
};
Recorded load() {
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/tests/accuracy/loss_bounds_scipy.json");
  REQUIRE(stream);
  const nlohmann::json all = nlohmann::json::parse(stream);
  Recorded out;
  for (const auto& s : all.at("sets"))
    out.sets[s.at("name")] = {s.at("formula"), s.at("parameters"), s.at("x"), s.at("y")};
  for (const auto& e : all.at("problems")) {
    out.problems.push_back({e.at("set"),
                            e.at("loss"),
                            e.at("kind"),
                            e.at("scale"),
                            e.at("start"),
                            side(e.at("lower"), -kInfinity),
                            side(e.at("upper"), kInfinity),
                            {}});
    for (const auto& m : e.at("minima"))
      out.problems.back().minima.push_back({m.at("parameters"), m.at("active"), m.at("cost")});
  }
  return out;
}

Loss loss_of(const Bounded& problem) {
  return problem.loss == "linear" ? Loss() : Loss::named(problem.loss, problem.scale);
}

// The parameters of a formula are in the order of their first appearance, those of a problem in its own
// order.
FitResult by_formula(const Set& set, const Bounded& problem, const char* policy) {
  FitOptions options;
  options.threads = 1;
  options.precision = PrecisionPolicy::parse(policy);
  options.loss = loss_of(problem);
  NamedValues start;
  for (std::size_t j = 0; j < set.parameters.size(); ++j)
    start.emplace_back(set.parameters[j], problem.start[j]);
  const Formula formula = parse_formula(set.formula);
  REQUIRE(formula.parameters == set.parameters);
  options.bounds.lower = problem.lower;
  options.bounds.upper = problem.upper;
  return curve_fit(formula, set.x, set.y, start, options);
}

// Returns the value of the model in double. Fits of its residuals take derivatives by differences.
double value(const std::string& set, double x, std::span<const double> p) {
  if (set == "decay") return p[0] * std::exp(-p[1] * x) + p[2];
  if (set == "saturation") return p[0] * x / (p[1] + x);
  if (set == "peak") return p[0] * std::exp(-std::pow((x - p[1]) / p[2], 2)) + p[3];
  if (set == "logistic") return p[0] / (1 + std::exp(-(x - p[1]) / p[2]));
  if (set == "wave") return p[0] * std::sin(p[1] * x + p[2]) + p[3];
  if (set == "growth") return p[0] * (1 - std::exp(-p[1] * x));
  if (set == "ratio") return (p[0] + p[1] * x) / (1 + p[2] * x);
  REQUIRE(set == "two");
  return p[0] * std::exp(-p[1] * x) + p[2] * std::exp(-p[3] * x);
}
LeastSquaresResult by_residuals(const Set& set, const Bounded& problem, std::vector<double> start) {
  LeastSquaresOptions options;
  options.loss = loss_of(problem);
  options.bounds.lower = problem.lower;
  options.bounds.upper = problem.upper;
  for (std::size_t j = 0; j < start.size(); ++j)
    start[j] = std::clamp(start[j], problem.lower[j], problem.upper[j]);
  return least_squares(
      [&](std::span<const double> p) {
        std::vector<double> r;
        for (std::size_t i = 0; i < set.x.size(); ++i)
          r.push_back(value(problem.set, set.x[i], p) - set.y[i]);
        return r;
      },
      start, options);
}

bool at(const Minimum& minimum, const Bounded& problem, const std::vector<double>& p) {
  for (std::size_t j = 0; j < p.size(); ++j) {
    if (!(std::fabs(p[j] - minimum.parameters[j]) <= 1e-7 * std::fabs(minimum.parameters[j]))) return false;
    if (!(p[j] >= problem.lower[j] && p[j] <= problem.upper[j])) return false;
    if (problem.lower[j] == problem.upper[j]) continue;
    if ((p[j] == problem.upper[j] ? 1 : p[j] == problem.lower[j] ? -1 : 0) != minimum.active[j]) return false;
  }
  return true;
}

// Returns which of SciPy's minima p is, to 1e-7 and with the same bounds active, or -1.
int which(const Bounded& problem, const std::vector<double>& p) {
  for (std::size_t k = 0; k < problem.minima.size(); ++k) {
    if (at(problem.minima[k], problem, p)) return static_cast<int>(k);
  }
  return -1;
}

}  // namespace

TEST_CASE(
    "the recorded problems have every loss with every kind of bounds, and each kind holds what it says") {
  const Recorded all = load();
  std::map<std::string, std::set<std::string>> sets_of;
  for (const Bounded& p : all.problems) {
    sets_of[p.loss + "/" + p.kind].insert(p.set);
    int held = 0, on_bound = 0;  // counted over all minima, because the lowest may not be on a bound
    for (const Minimum& minimum : p.minima)
      held += std::ranges::any_of(minimum.active, [](int a) { return a != 0; });
    for (std::size_t j = 0; j < p.start.size(); ++j) {
      on_bound += p.start[j] == p.lower[j] || p.start[j] == p.upper[j];
    }
    CAPTURE(p.set);
    CAPTURE(p.loss);
    CAPTURE(p.kind);
    const bool holds = p.kind == "lower_active" || p.kind == "box_active" || p.kind == "start_stays";
    if (holds) CHECK(held > 0);
    else CHECK(std::ranges::all_of(p.minima[0].active, [](int a) { return a == 0; }));
    if (p.kind == "start_leaves") CHECK(on_bound == static_cast<int>(p.start.size()));
    if (p.kind == "start_stays") CHECK(on_bound == 2);
  }
  for (const char* loss : {"linear", "soft_l1", "huber", "cauchy", "arctan", "tukey"}) {
    for (const char* kind :
         {"none", "lower", "box", "lower_active", "box_active", "start_leaves", "start_stays", "equal"}) {
      CHECK(sets_of[std::string(loss) + "/" + kind].size() == all.sets.size());
    }
  }
}

// A loss that suppresses large residuals may have several minima. A fit may end in any of them, but not at a
// point that is no minimum. The test prints how often it is the lowest.
TEST_CASE("Every loss within every kind of bounds: a minimum of SciPy's to 1e-7, the same bounds hold") {
  const Recorded all = load();
  for (const char* policy : {"auto", "f32", "f64"}) {
    int lowest = 0;
    for (const Bounded& problem : all.problems) {
      CAPTURE(policy);
      CAPTURE(problem.set);
      CAPTURE(problem.loss);
      CAPTURE(problem.kind);
      const FitResult fit = by_formula(all.sets.at(problem.set), problem, policy);
      const int found = which(problem, fit.parameters);
      CAPTURE(fit.summary.message);
      CAPTURE(fit.summary.final_cost / problem.minima[0].cost - 1);
      CHECK(fit.success());
      CHECK(found >= 0);
      if (problem.convex()) CHECK(found == 0);
      lowest += found == 0;
      if (found < 0) continue;
      const Minimum& minimum = problem.minima[static_cast<std::size_t>(found)];
      CHECK(fit.summary.final_cost == doctest::Approx(minimum.cost).epsilon(1e-12));
      for (std::size_t j = 0; j < fit.parameters.size(); ++j)
        CHECK(fit.at_bound[j] == (minimum.active[j] != 0));
    }
    MESSAGE(std::string(policy) << ": the lowest of SciPy's minima in " << lowest << " of "
                                << all.problems.size());
    CHECK(lowest >= 369);
  }
}

TEST_CASE(
    "Residuals that are differenced in double end in the same minima; losses that suppress large residuals "
    "start from huber's") {
  const Recorded all = load();
  std::map<std::string, std::vector<double>> huber;  // by set and kind
  for (const Bounded& p : all.problems) {
    if (p.loss == "huber") huber[p.set + "/" + p.kind] = p.minima[0].parameters;
  }
  for (const Bounded& problem : all.problems) {
    CAPTURE(problem.set);
    CAPTURE(problem.loss);
    CAPTURE(problem.kind);
    const std::vector<double>& start =
        problem.convex() ? problem.start : huber.at(problem.set + "/" + problem.kind);
    const LeastSquaresResult fit = by_residuals(all.sets.at(problem.set), problem, start);
    const int found = which(problem, fit.x);
    CAPTURE(fit.summary.message);
    CAPTURE(fit.cost / problem.minima[0].cost - 1);
    CHECK(fit.success());
    CHECK(found >= 0);
    if (problem.convex()) CHECK(found == 0);
  }
}
