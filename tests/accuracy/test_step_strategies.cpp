// Checks that dogleg and nonmonotonic steps end where damped steps do, on NIST's sets from both starts and on
// Moré, Garbow and Hillstrom's problems within bounds. Also checks the errors where these steps are not
// available.
#include "mgh.hpp"
#include "nist.hpp"

#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

using namespace nlsq;

namespace {

struct Way {
  const char* name;
  Algorithm algorithm;
  int nonmonotonic;
};
constexpr Way kWays[] = {{"dogleg", Algorithm::dogleg, 0},
                         {"nonmonotonic", Algorithm::levenberg_marquardt, 5},
                         {"nonmonotonic dogleg", Algorithm::dogleg, 5}};

// Returns true if the fit is known to end in another minimum than NIST's, or in none.
bool known_miss(const Way& way, const std::string& set, int start) {
  return way.algorithm == Algorithm::dogleg && start == 1 && (set == "MGH09" || set == "MGH17");
}

}  // namespace

TEST_CASE(
    "NIST's sets from both starts: the certified answers, by dogleg but for MGH09 and MGH17 from the far "
    "start") {
  for (const Way& way : kWays) {
    int solved = 0;
    for (const nist::Set& set : nist::load()) {
      for (int start = 1; start <= 2; ++start) {
        FitOptions options;
        options.algorithm = way.algorithm;
        options.nonmonotonic_steps = way.nonmonotonic;
        options.threads = 1;
        FormulaOptions names;
        names.predictors = set.predictors;
        NamedValues p0;
        for (std::size_t j = 0; j < set.parameters.size(); ++j)
          p0.emplace_back(set.parameters[j], (start == 1 ? set.start1 : set.start2)[j]);
        const FitResult fit = curve_fit(parse_formula(set.equation(), names),
                                        std::vector<Column>(set.x.begin(), set.x.end()), set.y, p0, options);
        double worst = 0;
        for (std::size_t j = 0; j < set.parameters.size(); ++j) {
          const auto k = static_cast<std::size_t>(std::ranges::find(fit.parameter_names, set.parameters[j]) -
                                                  fit.parameter_names.begin());
          worst = std::max(worst, std::fabs(fit.parameters[k] / set.certified[j] - 1));
        }
        CAPTURE(way.name);
        CAPTURE(set.name);
        CAPTURE(start);
        CAPTURE(fit.summary.message);
        CHECK(fit.summary.final_cost <= fit.summary.initial_cost);
        const bool right = fit.success() && worst <= 1e-7;
        if (!known_miss(way, set.name, start)) CHECK(right);
        solved += right;
      }
    }
    CHECK(solved >= (way.algorithm == Algorithm::dogleg ? 52 : 54));
  }
}

TEST_CASE("Moré, Garbow and Hillstrom's bounded problems by each way: the minima that are published") {
  for (const Way& way : kWays) {
    int reached = 0;
    problems::mgh::for_each_bounded([&]<class F>(const problems::mgh::Bounded<F>& problem) {
      LeastSquaresOptions options;
      options.algorithm = way.algorithm;
      options.nonmonotonic_steps = way.nonmonotonic;
      options.threads = 1;
      options.bounds.lower.assign(problem.lower.begin(), problem.lower.end());
      options.bounds.upper.assign(problem.upper.begin(), problem.upper.end());
      std::vector<double> start;
      for (std::size_t j = 0; j < F::start.size(); ++j)
        start.push_back(std::clamp(F::start[j], problem.lower[j], problem.upper[j]));
      const LeastSquaresResult result = least_squares(problems::mgh::vector_function<F>, start, options);
      CAPTURE(way.name);
      CAPTURE(F::name);
      for (std::size_t j = 0; j < start.size(); ++j)
        CHECK((result.x[j] >= problem.lower[j] && result.x[j] <= problem.upper[j]));
      CHECK(result.cost <= result.summary.initial_cost);
      const bool right =
          problems::mgh::reached(problem.minimum, 2 * result.cost, 2 * result.summary.initial_cost);
      if (!right)
        MESSAGE(way.name << ", " << F::name << ": " << 2 * result.cost << " instead of " << problem.minimum
                         << ", " << name(result.summary.verdict));
      reached += right;
    });
    CHECK(reached == 10);
  }
}

TEST_CASE("nonmonotonic steps do raise the cost on the way, and the answer is the best point") {
  // This is Rosenbrock's valley from far away.
  const auto valley = [](const auto& p) { return std::vector{10 * (p[1] - p[0] * p[0]), 1 - p[0]}; };
  LeastSquaresOptions options;
  const LeastSquaresResult down = least_squares(valley, {-120.0, 100.0}, options);
  options.nonmonotonic_steps = 5;
  const LeastSquaresResult free = least_squares(valley, {-120.0, 100.0}, options);
  int rises = 0;
  for (std::size_t k = 1; k < free.summary.iterations.size(); ++k)
    rises += free.summary.iterations[k].cost > free.summary.iterations[k - 1].cost;
  CHECK(rises > 0);
  for (std::size_t k = 1; k < down.summary.iterations.size(); ++k) {
    CHECK(down.summary.iterations[k].cost <= down.summary.iterations[k - 1].cost);
  }
  CHECK(free.success());
  CHECK(free.cost < 1e-20);
  CHECK(free.summary.iterations.size() < down.summary.iterations.size());
  // If it is stopped while the cost is rising, it returns the lowest point that it has seen.
  for (int most = 1; most < 20; ++most) {
    options.max_iterations = most;
    const LeastSquaresResult part = least_squares(valley, {-120.0, 100.0}, options);
    double least = part.summary.initial_cost;
    for (const IterationSummary& it : part.summary.iterations) least = std::min(least, it.cost);
    CHECK(part.cost <= least * (1 + 1e-12));
  }
}

TEST_CASE(
    "dogleg and nonmonotonic steps are refused where they are not served, and wrong numbers of them "
    "everywhere") {
  double x[1] = {3};
  Problem problem;
  problem.add_residual_block([](const auto* p) { return p[0] - 1.0; }, Loss(), {x});
  SolverOptions options;
  options.algorithm = Algorithm::dogleg;
  CHECK(contains(message_of<ValidationError>([&] { solve(problem, options); }), "dogleg"));
  options.algorithm = Algorithm::levenberg_marquardt;
  options.nonmonotonic_steps = 5;
  CHECK(contains(message_of<ValidationError>([&] { solve(problem, options); }), "nonmonotonic_steps"));
  FitOptions fit;
  fit.nonmonotonic_steps = -1;
  const std::vector<double> t{1, 2, 3}, y{1, 2, 4};
  CHECK(contains(message_of<ValidationError>([&] { curve_fit("a+b*x", t, y, {}, fit); }),
                 "nonmonotonic_steps = -1"));
}
