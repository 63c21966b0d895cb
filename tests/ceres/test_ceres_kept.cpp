// Tests nlsq::Solve again on the same ceres::Problem. It uses the recordings again, which must make no
// difference to the numbers.
#include <nlsq/ceres.hpp>
#include <nlsq/ceres_dynamic_autodiff.hpp>

#include <ceres/ceres.h>
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace {

int recorded = 0;  // calls of functors that record

// Computes the residual a exp(-b t) - y.
struct Decay {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    if constexpr (std::is_same_v<T, ceres::Jet<double, 0>>) ++recorded;
    using std::exp;
    r[0] = p[0] * exp(-p[1] * t) - y;
    return true;
  }
};

double observed(int i, double rate) { return 3 * std::exp(-rate * 0.1 * i) + 0.01 * std::cos(7.0 * i); }

struct Fit {
  std::array<double, 2> p{1, 1};
  ceres::Problem problem;
  std::vector<ceres::ResidualBlockId> ids;
  std::vector<Decay*> functors;

  void add(int first, int last, double rate = 0.5) {
    for (int i = first; i < last; ++i) {
      functors.push_back(new Decay{0.1 * i, observed(i, rate)});
      ids.push_back(problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Decay, 1, 2>(functors.back()),
                                             nullptr, p.data()));
    }
  }
  // Solves from the same start each time.
  nlsq::Summary solve() {
    p = {1, 1};
    nlsq::Summary summary;
    nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
    return summary;
  }
};

}  // namespace

TEST_CASE("A problem solved again records nothing, and gives the same bits") {
  Fit fit;
  fit.add(0, 60);
  const nlsq::Summary first = fit.solve();
  CHECK(first.evaluator == "graph");
  const auto found = fit.p;
  recorded = 0;
  const nlsq::Summary second = fit.solve();
  CHECK(recorded == 0);
  CHECK(second.evaluator == "graph");
  CHECK(fit.p == found);
  CHECK(second.final_cost == first.final_cost);
}

TEST_CASE(
    "Blocks that come are recorded, those that stay are not; the bits are those of a problem made anew") {
  Fit fit;
  fit.add(0, 60);
  fit.solve();
  for (int i = 0; i < 20; ++i) fit.problem.RemoveResidualBlock(fit.ids[static_cast<std::size_t>(i)]);
  fit.add(60, 75);
  recorded = 0;
  fit.solve();
  CHECK(recorded >= 15);
  CHECK(recorded < 40);
  Fit fresh;
  fresh.add(20, 75);
  fresh.solve();
  CHECK(fit.p[0] == doctest::Approx(fresh.p[0]).epsilon(1e-14));
  CHECK(fit.p[1] == doctest::Approx(fresh.p[1]).epsilon(1e-14));
}

TEST_CASE("Another problem in the same place is another problem") {
  alignas(Fit) std::byte place[sizeof(Fit)];
  for (const double rate : {0.5, 1.5, 0.2}) {
    Fit* fit = new (place) Fit;
    fit->add(0, 60, rate);
    recorded = 0;
    fit->solve();
    CHECK(recorded >= 60);
    CHECK(fit->p[1] == doctest::Approx(rate).epsilon(0.02));
    fit->~Fit();
  }
}

TEST_CASE("Data of a functor that changed since the last solve are noticed") {
  Fit fit;
  fit.add(0, 60, 0.5);
  fit.solve();
  for (int i = 0; i < 60; ++i) fit.functors[static_cast<std::size_t>(i)]->y = observed(i, 1.5);
  const nlsq::Summary summary = fit.solve();
  CHECK(summary.certificate.recheck_passed);
  CHECK(fit.p[1] == doctest::Approx(1.5).epsilon(0.02));
  Fit fresh;
  fresh.add(0, 60, 1.5);
  fresh.solve();
  CHECK(fit.p == fresh.p);
}

TEST_CASE("Problems solved in turn do not get in each other's way, few or many") {
  std::vector<std::unique_ptr<Fit>> fits;
  for (int k = 0; k < 7; ++k) {
    fits.push_back(std::make_unique<Fit>());
    fits.back()->add(0, 60, 0.3 + 0.1 * k);
  }
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 7; ++k) {
      fits[static_cast<std::size_t>(k)]->solve();
      CHECK(fits[static_cast<std::size_t>(k)]->p[1] == doctest::Approx(0.3 + 0.1 * k).epsilon(0.05));
    }
  }
}

TEST_CASE("One cost function in many residual blocks") {
  std::array<double, 2> p{1, 1}, q{2, 0.7};
  ceres::Problem::Options options;
  options.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(options);
  std::vector<std::unique_ptr<ceres::CostFunction>> functions;
  for (int i = 0; i < 40; ++i) {
    functions.push_back(
        std::make_unique<nlsq::AutoDiffCostFunction<Decay, 1, 2>>(new Decay{0.1 * i, observed(i, 0.5)}));
    problem.AddResidualBlock(functions.back().get(), nullptr, p.data());
    problem.AddResidualBlock(functions.back().get(), nullptr, q.data());
  }
  nlsq::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  const auto found = p;
  p = {1, 1};
  q = {2, 0.7};
  recorded = 0;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  CHECK(recorded == 0);
  CHECK(p == found);
  CHECK(q[0] == doctest::Approx(p[0]).epsilon(1e-6));
}

TEST_CASE("The final cost is the problem's own evaluation, also where it is solved again") {
  Fit fit;
  fit.add(0, 60);
  fit.solve();
  const nlsq::Summary summary = fit.solve();
  double cost = 0;
  REQUIRE(fit.problem.Evaluate({}, &cost, nullptr, nullptr, nullptr));
  CHECK(summary.final_cost == cost);
}

namespace {

// Computes a polynomial with as many coefficients as the parameter blocks have numbers.
struct Polynomial {
  double t, y;
  std::vector<int> sizes;
  template <class T>
  bool operator()(T const* const* blocks, T* r) const {
    T sum(-y);
    double power = 1;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      for (int i = 0; i < sizes[k]; ++i, power *= t) sum += blocks[k][i] * power;
    }
    r[0] = sum;
    return true;
  }
};

}  // namespace

TEST_CASE("A cost function may have another shape in the next problem, in the same place") {
  using Function = nlsq::DynamicAutoDiffCostFunction<Polynomial>;
  std::vector<double> p(3, 0.1), q(4, 0.1);
  std::vector<Polynomial> functors;
  std::vector<std::unique_ptr<Function>> functions;
  for (int i = 0; i < 60; ++i) functors.push_back({i / 30.0 - 1, std::exp(i / 30.0 - 1), {3}});
  ceres::Problem::Options options;
  options.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  alignas(ceres::Problem) std::byte place[sizeof(ceres::Problem)];
  nlsq::Summary summary;
  for (const bool more : {false, true}) {
    auto* const problem = new (place) ceres::Problem(options);
    for (std::size_t i = 0; i < functors.size(); ++i) {
      if (!more) functions.push_back(std::make_unique<Function>(&functors[i], ceres::DO_NOT_TAKE_OWNERSHIP));
      functions[i]->AddParameterBlock(more ? 4 : 3);
      if (!more) functions[i]->SetNumResiduals(1);
      else functors[i].sizes.push_back(4);
      problem->AddResidualBlock(
          functions[i].get(), nullptr,
          more ? std::vector<double*>{p.data(), q.data()} : std::vector<double*>{p.data()});
    }
    nlsq::Solve(ceres::Solver::Options(), problem, &summary);
    CHECK(summary.certificate.recheck_passed);
    problem->~Problem();
  }
  CHECK(p[2] == doctest::Approx(0.5).epsilon(1e-3));
  CHECK(q[0] == doctest::Approx(1.0 / 6).epsilon(1e-3));
}

namespace {

// Has a term that a later solve switches on.
struct Bent {
  double u, y, bends;
  template <class T>
  bool operator()(const T* line, const T* k, T* r) const {
    if constexpr (std::is_same_v<T, ceres::Jet<double, 0>>) ++recorded;
    r[0] = line[0] * u * (T(1.0) + k[0] * T(bends * u * u)) + line[1] - y;
    return true;
  }
};

}  // namespace

TEST_CASE("Data that do not show in the residuals of the start or of the old optimum may change") {
  std::array<double, 2> line{1, 0};
  double k = 0;
  std::vector<Bent*> functors;
  ceres::Problem problem;
  for (int i = 0; i < 60; ++i) {
    const double u = -1 + i / 30.0;
    functors.push_back(new Bent{u, 2 * u * (1 + 0.3 * u * u) + 0.5 + 0.001 * std::cos(9.0 * i), 0});
    problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Bent, 1, 2, 1>(functors.back()), nullptr,
                             line.data(), &k);
  }
  nlsq::Summary summary;
  for (int round = 0; round < 4; ++round) {
    recorded = 0;
    nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  }
  CHECK(recorded == 0);
  CHECK(k == 0);
  for (Bent* functor : functors) functor->bends = 1;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  CHECK(k == doctest::Approx(0.3).epsilon(0.01));
  CHECK(line[0] == doctest::Approx(2).epsilon(0.01));
}
