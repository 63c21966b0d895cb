// Tests which functors nlsq::Solve records, and which are not worth it: few blocks of many residuals, and
// blocks that all have different shapes.
#include <ceres_problems.hpp>

#include <nlsq/ceres_dynamic_autodiff.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

using ceres_problems::tight;

namespace {

// Counts how often it is called to be recorded.
struct Decay {
  const std::vector<double>*x, *y;
  static inline int recorded = 0;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    if constexpr (std::is_same_v<T, ceres::Jet<double, 0>>) ++recorded;
    for (std::size_t i = 0; i < x->size(); ++i) r[i] = p[0] * exp(-p[1] * (*x)[i]) + p[2] - (*y)[i];
    return true;
  }
};

// A robot moves in a corridor, and each range to its end depends on all its earlier moves.
struct Range {
  double range;
  int count;
  template <class T>
  bool operator()(T const* const* way, T* r) const {
    T place = T(0.0);
    for (int i = 0; i < count; ++i) place += way[i][0];
    r[0] = (place + range - 30.0) / 0.5;
    return true;
  }
};

struct Way {
  double measured;
  template <class T>
  bool operator()(const T* way, T* r) const {
    r[0] = (way[0] - measured) / 0.1;
    return true;
  }
};

double robot(bool ours, std::string& note) {
  constexpr int kPlaces = 60;
  std::mt19937 random(7);
  std::vector<double> ways;
  ceres::Problem problem;
  for (int i = 0; i < kPlaces; ++i) ways.push_back(0.5 + 0.1 * ceres_problems::noise(random));
  for (int i = 0; i < kPlaces; ++i) {
    auto* functor = new Range{29.5 - 0.5 * i + 0.5 * ceres_problems::noise(random), i + 1};
    std::vector<double*> blocks;
    const auto add = [&](auto* cost) {
      for (int k = 0; k <= i; ++k) {
        cost->AddParameterBlock(1);
        blocks.push_back(&ways[static_cast<std::size_t>(k)]);
      }
      cost->SetNumResiduals(1);
      problem.AddResidualBlock(cost, nullptr, blocks);
    };
    if (ours) add(new nlsq::DynamicAutoDiffCostFunction<Range>(functor));
    else add(new ceres::DynamicAutoDiffCostFunction<Range>(functor));
    double& way = ways[static_cast<std::size_t>(i)];
    problem.AddResidualBlock(
        ours ? ceres_problems::cost<true, Way, 1, 1>({way}) : ceres_problems::cost<false, Way, 1, 1>({way}),
        nullptr, &way);
  }
  if (!ours) {
    ceres::Solver::Summary summary;
    ceres::Solve(tight(), &problem, &summary);
    return summary.final_cost;
  }
  nlsq::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  note = summary.evaluator_note;
  return summary.final_cost;
}

}  // namespace

TEST_CASE("A curve of 1,000 points in one residual block is not recorded, and ends where Ceres ends") {
  std::mt19937 random(1);
  std::vector<double> x, y;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(0.005 * i);
    y.push_back(2 * std::exp(-0.7 * x.back()) + 0.3 + 0.01 * ceres_problems::noise(random));
  }
  double costs[2];
  for (const bool ours : {false, true}) {
    double p[3] = {1, 1, 0};
    ceres::Problem problem;
    if (ours) problem.AddResidualBlock(ceres_problems::cost<true, Decay, 1000, 3>({&x, &y}), nullptr, p);
    else problem.AddResidualBlock(ceres_problems::cost<false, Decay, 1000, 3>({&x, &y}), nullptr, p);
    Decay::recorded = 0;
    if (ours) {
      nlsq::Summary summary;
      nlsq::Solve(tight(), &problem, &summary);
      CHECK(Decay::recorded == 0);
      CHECK(summary.evaluator == "dual");
      CHECK(summary.evaluator_note ==
            "dual: 1 blocks; 0 programs; not recorded: a program would cost more than it saves");
      costs[1] = summary.final_cost;
    } else {
      ceres::Solver::Summary summary;
      ceres::Solve(tight(), &problem, &summary);
      costs[0] = summary.final_cost;
    }
  }
  CHECK(costs[1] == doctest::Approx(costs[0]).epsilon(1e-12));
}

TEST_CASE(
    "In a problem of 60 equal blocks and 60 blocks of different shapes, the equal ones share a program and "
    "no other is made") {
  std::string note;
  const double theirs = robot(false, note), ours = robot(true, note);
  CHECK(ours == doctest::Approx(theirs).epsilon(1e-12));
  CHECK(
      note ==
      "graph: 60 blocks, dual: 60 blocks; 1 programs; not recorded: a program would cost more than it saves");
}
