// Compares NIST's problems within bounds with the answers of SciPy (bounded_scipy.json, by bounded_scipy.py).
#include "nist.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

using namespace nlsq;

namespace {

struct Bounded {
  std::string name, kind;
  std::vector<double> lower, upper, parameters;
  std::vector<int> active;
  double cost = 0;
};

std::vector<double> side(const nlohmann::json& values, double none) {
  std::vector<double> out;
  for (const auto& v : values) out.push_back(v.is_null() ? none : v.get<double>());
  return out;
}

std::vector<Bounded> load() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/tests/accuracy/bounded_scipy.json");
  REQUIRE(stream);
  std::vector<Bounded> out;
  for (const auto& e : nlohmann::json::parse(stream)) {
    out.push_back({e.at("name"), e.at("kind"), side(e.at("lower"), -kInfinity),
                   side(e.at("upper"), kInfinity), e.at("parameters").get<std::vector<double>>(),
                   e.at("active").get<std::vector<int>>(), e.at("cost")});
  }
  return out;
}

std::size_t position(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

FitResult fit_bounded(const nist::Set& set, const Bounded& problem, const char* policy) {
  std::vector<Column> columns(set.x.begin(), set.x.end());
  FormulaOptions names;
  names.predictors = set.predictors;
  FitOptions options;
  options.threads = 1;
  options.precision = PrecisionPolicy::parse(policy);
  NamedValues start;
  for (std::size_t j = 0; j < set.parameters.size(); ++j)
    start.emplace_back(set.parameters[j], set.start2[j]);
  const Formula formula = parse_formula(set.equation(), names);
  for (const std::string& name : formula.parameters) {  // in the order in which they appear
    const std::size_t j = position(set.parameters, name);
    options.bounds.lower.push_back(problem.lower[j]);
    options.bounds.upper.push_back(problem.upper[j]);
  }
  return curve_fit(formula, columns, set.y, start, options);
}

}  // namespace

TEST_CASE("SciPy's bounded problems: the same parameters to 1e-7, the same bounds hold") {
  const std::vector<nist::Set> sets = nist::load();
  const std::vector<Bounded> problems = load();
  int held = 0;
  for (const char* policy : {"auto", "f32", "f64"}) {
    for (const Bounded& problem : problems) {
      const nist::Set& set = nist::find(sets, problem.name);
      const FitResult fit = fit_bounded(set, problem, policy);
      CAPTURE(policy);
      CAPTURE(problem.name);
      CAPTURE(problem.kind);
      CAPTURE(fit.summary.message);
      CAPTURE(fit.summary.final_cost - problem.cost);
      CHECK(fit.success());
      for (std::size_t j = 0; j < problem.parameters.size(); ++j) {
        CAPTURE(set.parameters[j]);
        const std::size_t k = position(fit.parameter_names, set.parameters[j]);
        const double p = fit.parameters[k];
        CHECK(std::fabs(p - problem.parameters[j]) <= 1e-7 * std::fabs(problem.parameters[j]));
        CHECK((p >= problem.lower[j] && p <= problem.upper[j]));
        CHECK((p == problem.upper[j] ? 1 : p == problem.lower[j] ? -1 : 0) == problem.active[j]);
        CHECK(fit.at_bound[k] == (problem.active[j] != 0));
        CHECK(std::isnan(fit.standard_errors[k]) == (problem.active[j] != 0));
        held += fit.at_bound[k];
      }
    }
  }
  CHECK(problems.size() >= 60);
  CHECK(held >= 120);
}
