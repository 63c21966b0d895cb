// Robust losses of curve fits and residual functions: minima beside SciPy's, one answer however the model is given,
// standard errors, refusals.
#include <nlsq/nlsq.hpp>

#include "dense_evaluator.hpp"
#include "row_statistics.hpp"

#include <nlsq/graph_rows.hpp>
#include <nlsq/loss_rows.hpp>
#include <nlsq/residual_sources.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

using namespace nlsq;

namespace {

struct ReferenceFit {
  std::string loss;
  double scale = 1, cost = 0;
  int evaluations = 0;
  std::vector<double> parameters;
};
struct ReferenceProblem {
  std::string name, formula;
  bool weighted = false;
  std::vector<double> p0, x, y, sigma;
  std::vector<ReferenceFit> fits;
};

std::vector<double> numbers(std::istream& in) {
  std::vector<double> out;
  for (double v = 0; in >> v;) out.push_back(v);
  return out;
}

// tests/solver/reference/scipy_losses.py wrote it.
std::vector<ReferenceProblem> reference_problems() {
  std::ifstream file(NLSQ_SOURCE_DIR "/tests/solver/reference/scipy_losses.txt");
  REQUIRE(file);
  std::vector<ReferenceProblem> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "#") continue;
    if (word == "problem") {
      ReferenceProblem& p = out.emplace_back();
      std::size_t rows = 0;
      in >> p.name >> rows >> p.weighted >> p.formula;
    } else if (word == "p0") {
      out.back().p0 = numbers(in);
    } else if (word == "fit") {
      ReferenceFit& fit = out.back().fits.emplace_back();
      in >> fit.loss >> fit.scale >> fit.cost >> fit.evaluations;
      fit.parameters = numbers(in);
    } else {
      ReferenceProblem& p = out.back();
      p.x.push_back(std::stod(word));
      double y = 0, sigma = 0;
      in >> y >> sigma;
      p.y.push_back(y);
      p.sigma.push_back(sigma);
    }
  }
  return out;
}

FitOptions options_of(const ReferenceProblem& problem, const ReferenceFit& fit) {
  FitOptions o;
  if (problem.weighted) o.sigma = problem.sigma;
  o.loss = Loss::named(fit.loss, fit.scale);
  return o;
}

NamedValues start_of(const ReferenceProblem& problem) {
  const Formula formula = parse_formula(problem.formula);
  NamedValues p0;
  for (std::size_t j = 0; j < problem.p0.size(); ++j) p0.emplace_back(formula.parameters[j], problem.p0[j]);
  return p0;
}

}  // namespace

TEST_CASE("Minima under every loss are SciPy's") {
  int combinations = 0, iterations = 0, evaluations = 0;
  for (const ReferenceProblem& problem : reference_problems()) {
    for (const ReferenceFit& expected : problem.fits) {
      CAPTURE(problem.name);
      CAPTURE(expected.loss);
      CAPTURE(expected.scale);
      const FitResult fit = curve_fit(problem.formula, problem.x, problem.y, start_of(problem), options_of(problem, expected));
      CAPTURE(fit.summary.message);
      CHECK(fit.success());
      CHECK(fit.summary.final_cost == doctest::Approx(expected.cost).epsilon(1e-9));
      for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
        CAPTURE(j);
        CHECK(std::fabs(fit.parameters[j] - expected.parameters[j]) <= 1e-7 * std::fabs(expected.parameters[j]));
      }
      combinations += expected.loss != "linear" ? 1 : 0;
      if (expected.loss != "linear") iterations += static_cast<int>(fit.summary.iterations.size()), evaluations += expected.evaluations;
      MESSAGE(problem.name << " " << expected.loss << " " << fit.summary.iterations.size() << " iterations, SciPy " << expected.evaluations);
    }
  }
  CHECK(combinations >= 40);
  MESSAGE(iterations << " iterations, SciPy " << evaluations);
}
