// Tests robust losses of curve fits and residual functions. Minima are compared with SciPy's, and the answer
// must not depend on the form of the model or on the policy.
#include "dense/loss_curvature.hpp"

#include "outliers.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

using namespace nlsq;
using namespace outliers;

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
      const FitResult fit =
          curve_fit(problem.formula, problem.x, problem.y, start_of(problem), options_of(problem, expected));
      CAPTURE(fit.summary.message);
      CHECK(fit.success());
      CHECK(fit.summary.final_cost == doctest::Approx(expected.cost).epsilon(1e-9));
      for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
        CAPTURE(j);
        CHECK(std::fabs(fit.parameters[j] - expected.parameters[j]) <=
              1e-7 * std::fabs(expected.parameters[j]));
      }
      combinations += expected.loss != "linear" ? 1 : 0;
      if (expected.loss != "linear")
        iterations += static_cast<int>(fit.summary.iterations.size()), evaluations += expected.evaluations;
    }
  }
  CHECK(combinations >= 40);
  // 696 iterations to steps of 1e-10, with J̃ᵀJ̃ alone 968. SciPy takes 532 evaluations to its default
  // tolerances of 1e-8.
  CAPTURE(iterations);
  CAPTURE(evaluations);
  CHECK(iterations < 800);
}

TEST_CASE("A loss is the same however the model is given") {
  const Data d = contaminated(300);
  const std::vector<double> p0 = {2.0, 1.0, 0.0};
  for (const Loss& loss : kLosses) {
    CAPTURE(std::string(loss.name()));
    FitOptions o;
    o.loss = loss;
    const FitResult formula = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 2}, {"b", 1}, {"c", 0}}, o);
    const FitResult callable = curve_fit(decay, d.x, d.y, p0, o);
    const FitResult dual = curve_fit(untraced(decay), d.x, d.y, p0, o);
    const FitResult differences =
        curve_fit([](double x, const std::vector<double>& p) { return decay(x, p); }, d.x, d.y, p0, o);
    const FitResult prepared = curve_fit(PreparedModel("a*exp(-b*x)+c"), d.x, d.y, p0, o);
    const auto source = std::make_shared<MemoryRows>(std::vector<Column>{d.x, d.y});
    const FitResult of_source = curve_fit(make_model_function(decay), source, p0, o);
    CHECK(formula.summary.evaluator == "graph");
    CHECK(callable.summary.evaluator == "graph");
    CHECK(dual.summary.evaluator == "dual");
    CHECK(differences.summary.evaluator == "finite differences");
    CHECK(formula.parameters == callable.parameters);  // both are the same program
    CHECK(of_source.parameters == callable.parameters);
    check_close(prepared, formula, 1e-12);
    check_close(dual, formula, 1e-8);
    check_close(differences, formula, 1e-7);
    CHECK(formula.beyond == dual.beyond);
    CHECK(formula.rss == doctest::Approx(differences.rss).epsilon(1e-8));
    CHECK(formula.summary.certificate.rechecked_rows > 0);
  }
}

TEST_CASE("Residual functions take losses: recorded, by dual numbers, with a Jacobian, by differences") {
  const Data d = contaminated(120);
  const auto residuals = [&](const auto& p) {
    std::vector<std::remove_cvref_t<decltype(p[0])>> r;
    for (std::size_t i = 0; i < d.x.size(); ++i) r.push_back(decay(d.x[i], p) - d.y[i]);
    return r;
  };
  const auto jacobian = [&](std::span<const double> p, std::span<double> J) {
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const double e = std::exp(-p[1] * d.x[i]);
      J[3 * i] = e;
      J[3 * i + 1] = -p[0] * d.x[i] * e;
      J[3 * i + 2] = 1;
    }
  };
  for (const Loss& loss : kLosses) {
    CAPTURE(std::string(loss.name()));
    FitOptions o;
    o.loss = loss;
    const FitResult curve = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.3}, o);
    LeastSquaresOptions ls;
    ls.loss = loss;
    const LeastSquaresResult recorded = least_squares(residuals, {2.0, 1.0, 0.3}, ls);
    const LeastSquaresResult dual = least_squares(untraced(residuals), {2.0, 1.0, 0.3}, ls);
    const LeastSquaresResult differences =
        least_squares([&](std::span<const double> p) { return residuals(p); }, {2.0, 1.0, 0.3}, ls);
    ls.jacobian = jacobian;
    const LeastSquaresResult given = least_squares(residuals, {2.0, 1.0, 0.3}, ls);
    CHECK(recorded.summary.evaluator == "graph");
    CHECK(dual.summary.evaluator == "dual");
    CHECK(differences.summary.evaluator == "finite differences");
    CHECK(given.summary.evaluator == "derivatives");
    for (const LeastSquaresResult* result : {&recorded, &dual, &differences, &given}) {
      CAPTURE(result->summary.evaluator);
      CAPTURE(result->summary.message);
      CHECK(result->success());
      CHECK(result->cost == doctest::Approx(curve.summary.final_cost).epsilon(1e-9));
      for (std::size_t j = 0; j < 3; ++j) {
        CHECK(result->x[j] == doctest::Approx(curve.parameters[j]).epsilon(1e-7));
        CHECK(result->standard_errors[j] == doctest::Approx(curve.standard_errors[j]).epsilon(1e-5));
      }
      CHECK(result->residuals[5] == doctest::Approx(decay(d.x[5], result->x) - d.y[5]).epsilon(1e-9));
    }
  }
}

TEST_CASE("Weights of curvature are those of the loss, from the finished residual alone") {
  for (const Loss& loss : kLosses) {
    for (const double u : {0.0, 1e-8, 0.01, 0.3, 0.9, 1.1, 2.0, 6.0}) {
      const double r = u * loss.scale(), s = r * r;
      CAPTURE(std::string(loss.name()));
      CAPTURE(u);
      const CurvatureWeights w = curvature_weights(std::sqrt(loss(s).rho), loss);
      const double slope = loss(s).slope, exact = slope + 2 * s * loss.curvature(s);
      CHECK(w.exact == doctest::Approx(exact).epsilon(1e-6).scale(1e-3));
      CHECK(w.taken ==
            doctest::Approx(s > 0 ? slope * slope * s / loss(s).rho : 1).epsilon(1e-6).scale(1e-3));
      CHECK(w.exact <= w.taken + 1e-12);
    }
  }
}

TEST_CASE("A wrong Jacobian is found under a loss, too") {
  const Data d = contaminated(80);
  LeastSquaresOptions o;
  o.loss = Loss::huber(0.1);
  o.jacobian = [&](std::span<const double> p, std::span<double> J) {
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const double e = std::exp(-p[1] * d.x[i]);
      J[3 * i] = e;
      J[3 * i + 1] = -1.3 * p[0] * d.x[i] * e;
      J[3 * i + 2] = 1;
    }
  };
  const auto residuals = [&](std::span<const double> p) {
    std::vector<double> r;
    for (std::size_t i = 0; i < d.x.size(); ++i) r.push_back(decay(d.x[i], p) - d.y[i]);
    return r;
  };
  const LeastSquaresResult result = least_squares(residuals, {2.0, 1.0, 0.3}, o);
  CHECK_FALSE(result.success());
  CHECK(result.summary.certificate.wrong_column == 1);
}

TEST_CASE("Every policy ends at f64's minimum, on rows enough for samples and low precision") {
  const Data d = contaminated(std::size_t{1} << 18, 5);
  for (const Loss& loss : kLosses) {
    CAPTURE(std::string(loss.name()));
    FitOptions o;
    o.loss = loss;
    o.precision = PrecisionPolicy::all_f64();
    o.sampling = Sampling::never;
    const NamedValues p0 = {{"a", 2}, {"b", 1}, {"c", 0}};
    const FitResult f64 = curve_fit("a*exp(-b*x)+c", d.x, d.y, p0, o);
    CHECK(f64.success());
    CHECK(f64.parameters[1] == doctest::Approx(0.8).epsilon(0.01));
    o.sampling = Sampling::automatic;
    for (const char* policy : {"auto", "f32", "bf16", "strict"}) {
      CAPTURE(policy);
      o.precision = PrecisionPolicy::parse(policy);
      const FitResult fit = curve_fit("a*exp(-b*x)+c", d.x, d.y, p0, o);
      CAPTURE(fit.summary.message);
      CHECK(fit.success());
      for (std::size_t j = 0; j < 3; ++j) {
        CHECK(std::fabs(fit.parameters[j] - f64.parameters[j]) < 1e-3 * f64.standard_errors[j]);
        CHECK(fit.standard_errors[j] == doctest::Approx(f64.standard_errors[j]).epsilon(1e-4));
      }
      if (std::string(policy) == "auto") CHECK(fit.summary.precision.counters.rows_f32 > 0);
    }
  }
}

TEST_CASE("Any number of threads gives the same bits") {
  const Data d = contaminated(std::size_t{1} << 17, 9);
  for (const Loss& loss : {Loss::huber(0.07), Loss::cauchy(0.1)}) {
    FitOptions o;
    o.loss = loss;
    o.threads = 1;
    const FitResult one = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    o.threads = 2;
    const FitResult two = curve_fit(decay, d.x, d.y, {2.0, 1.0, 0.0}, o);
    CHECK(one.parameters == two.parameters);
    CHECK(one.standard_errors == two.standard_errors);
    CHECK(one.rss == two.rss);
  }
}

TEST_CASE("if the better start leads to no minimum, the given start is used") {
  // If two peaks begin as one, the best heights are large and of opposite sign.
  for (const int rows : {40, 50, 60, 70}) {
    Vector x, y;
    for (int i = 0; i < rows; ++i) {
      x.push_back(0.1 + 3.9 * i / (rows - 1));
      const double u = (x.back() - 1.2) / 0.3, v = (x.back() - 2.8) / 0.4;
      y.push_back(2 * std::exp(-0.5 * u * u) + std::exp(-0.5 * v * v) + 0.01 * std::sin(37.0 * i * i));
    }
    FitOptions o;
    o.loss = Loss::soft_l1(0.1);
    const FitResult fit = curve_fit("a*exp(-0.5*((x-m)/s)^2) + b*exp(-0.5*((x-n)/t)^2)", x, y,
                                    {{"a", 1}, {"m", 1}, {"s", 1}, {"b", 1}, {"n", 1}, {"t", 1}}, o);
    CAPTURE(fit.summary.message);
    CHECK(fit.success());
    CHECK(fit.summary.final_cost < 0.01);
  }
}
