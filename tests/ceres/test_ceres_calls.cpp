// Tests how programs call nlsq::Solve and own the objects that they pass to it: names, null pointers, and
// cost functions that are moved.
#include "ceres_problems.hpp"

#include <nlsq/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using ceres_problems::cost, ceres_problems::tight;

namespace {

struct MinusNumber {
  double number;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[0] - number;
    return true;
  }
};
using Square = nlsq::AutoDiffCostFunction<MinusNumber, 1, 1>;

struct Counted {
  int* alive;
  explicit Counted(int* count) : alive(count) { ++*alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] - 2.0;
    return true;
  }
  template <class T>
  bool operator()(T const* const* x, T* r) const {
    r[0] = x[0][0] - 2.0;
    r[1] = x[1][0] * x[1][1] - 2.0;
    return true;
  }
};

// Computes the residual of a point on a curve. It counts its calls in double.
struct CountedPoint {
  double t, y;
  int* calls;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    if constexpr (std::is_same_v<T, double>) ++*calls;
    r[0] = p[0] * (1.0 - exp(-p[1] * t)) - y;
    return true;
  }
};

ceres::Problem::Options keep_ownership() {
  ceres::Problem::Options options;
  options.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  options.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  return options;
}

// This is a problem that starts at 1. Its minimum is at 2.
struct Root {
  double x = 1;
  ceres::Problem problem;
  Root() { problem.AddResidualBlock(cost<true, MinusNumber, 1, 1>({2}), nullptr, &x); }
};

namespace uses_the_name {

void by_declaration(Root& root, ceres::Solver::Summary& summary) {
  using nlsq::Solve;
  Solve(tight(), &root.problem, &summary);
}
void by_directive(Root& root, nlsq::Summary& summary) {
  using namespace nlsq;
  Solve(tight(), &root.problem, &summary);
}

}  // namespace uses_the_name

}  // namespace

TEST_CASE(
    "using nlsq::Solve selects nlsq's function, although argument-dependent lookup would find ceres::Solve") {
  Root first, second;
  ceres::Solver::Summary theirs;
  nlsq::Summary ours;
  uses_the_name::by_declaration(first, theirs);
  uses_the_name::by_directive(second, ours);
  CHECK(theirs.message.find("the parameters are the optimum found") != std::string::npos);  // nlsq's words
  CHECK(ours.certificate.passed);
  CHECK(first.x == doctest::Approx(std::sqrt(2.0)).epsilon(1e-14));
  CHECK(second.x == first.x);
}

TEST_CASE("A summary may be null, of either kind, and the solve is the same") {
  Root literal, theirs, ours, reference;
  nlsq::Summary summary;
  nlsq::Solve(tight(), &reference.problem, &summary);
  nlsq::Solve(tight(), &literal.problem, nullptr);
  nlsq::Solve(tight(), &theirs.problem, static_cast<ceres::Solver::Summary*>(nullptr));
  nlsq::Solve(tight(), &ours.problem, static_cast<nlsq::Summary*>(nullptr));
  CHECK(literal.x == reference.x);
  CHECK(theirs.x == reference.x);
  CHECK(ours.x == reference.x);
  ceres::Solver::Options wrong;
  wrong.max_num_iterations = -1;
  Root untouched;
  nlsq::Solve(wrong, &untouched.problem, nullptr);
  CHECK(untouched.x == 1);
}

TEST_CASE("A problem that is null is refused, a callback that is null is an option that is not valid") {
  ceres::Solver::Summary summary;
  nlsq::Summary ours;
  CHECK_THROWS_AS(nlsq::Solve({}, nullptr, &summary), nlsq::ValidationError);
  CHECK_THROWS_AS(nlsq::Solve({}, nullptr, &ours), nlsq::ValidationError);
  CHECK_THROWS_AS(nlsq::Solve({}, nullptr, nullptr), nlsq::ValidationError);
  Root root;
  ceres::Solver::Options options = tight();
  options.callbacks.push_back(nullptr);
  nlsq::Solve(options, &root.problem, &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(summary.message.find("callbacks[0]") != std::string::npos);
  CHECK(root.x == 1);
  CHECK_THROWS_AS(nlsq::Solve(options, &root.problem, &ours), nlsq::ValidationError);
}

TEST_CASE("A cost function without a functor fails, and nothing is changed") {
  double x = 1;
  ceres::Problem problem;
  problem.AddResidualBlock(new Square(static_cast<MinusNumber*>(nullptr)), nullptr, &x);
  ceres::Solver::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(summary.message.find("residual block 0") != std::string::npos);
  CHECK(x == 1);
}

TEST_CASE("Cost functions in a vector are moved as it grows") {
  static_assert(!std::is_copy_constructible_v<Square> && !std::is_move_assignable_v<Square>);  // as in Ceres
  std::vector<Square> functions;
  for (int i = 0; i < 40; ++i) functions.emplace_back(new MinusNumber{1.0 + i});
  std::vector<double> x(functions.size(), 3.0);
  ceres::Problem problem(keep_ownership());
  for (std::size_t i = 0; i < functions.size(); ++i) problem.AddResidualBlock(&functions[i], nullptr, &x[i]);
  nlsq::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  CHECK(summary.evaluator == "graph");
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(x[i] == doctest::Approx(std::sqrt(1.0 + static_cast<double>(i))).epsilon(1e-12));
}

TEST_CASE(
    "A moved cost function keeps its functor, ownership and shape, and the one it was moved from fails") {
  int alive = 0;
  {
    using Owner = nlsq::AutoDiffCostFunction<Counted, ceres::DYNAMIC, 1>;
    Owner first(new Counted(&alive), 1);
    Owner second(std::move(first));
    CHECK(alive == 1);
    CHECK(second.num_residuals() == 1);
    const double x = 5;
    const double* blocks[] = {&x};
    double r = 0;
    CHECK(second.Evaluate(blocks, &r, nullptr));
    CHECK(r == 3);
    CHECK_FALSE(first.Evaluate(blocks, &r, nullptr));
  }
  CHECK(alive == 0);
  {
    using Shaped = nlsq::DynamicAutoDiffCostFunction<Counted>;
    Shaped first(new Counted(&alive));
    first.AddParameterBlock(1);
    first.AddParameterBlock(2);
    first.SetNumResiduals(2);
    std::vector<Shaped> all;
    all.push_back(std::move(first));
    all.emplace_back(new Counted(&alive));
    CHECK(alive == 2);
    CHECK(all[0].num_residuals() == 2);
    CHECK(all[0].parameter_block_sizes() == std::vector<int>{1, 2});
    const double a = 5, b[] = {3, 4};
    const double* blocks[] = {&a, b};
    double r[2], ja[2], jb[4];
    double* J[] = {ja, jb};
    REQUIRE(all[0].Evaluate(blocks, r, J));
    CHECK(std::vector<double>(r, r + 2) == std::vector<double>{3, 10});
    CHECK(std::vector<double>(jb, jb + 4) == std::vector<double>{0, 0, 4, 3});
  }
  CHECK(alive == 0);
  Counted borrowed(&alive);
  {
    nlsq::AutoDiffCostFunction<Counted, 1, 1> first(&borrowed, ceres::DO_NOT_TAKE_OWNERSHIP);
    const auto second = std::move(first);
    CHECK(&second.functor() == &borrowed);
    nlsq::DynamicAutoDiffCostFunction<Counted> third(&borrowed, ceres::DO_NOT_TAKE_OWNERSHIP);
    const auto fourth = std::move(third);
  }
  CHECK(alive == 1);
}

TEST_CASE("Functors are made from arguments, as Ceres 2.2 makes them") {
  int alive = 0;
  {
    const nlsq::AutoDiffCostFunction<Counted, 1, 1> made(&alive);
    nlsq::DynamicAutoDiffCostFunction<Counted> dynamic(&alive);
    CHECK(alive == 2);
    const Square square(7.0);
    CHECK(square.functor().number == 7);
  }
  CHECK(alive == 0);
}

TEST_CASE("Functions that the problem does not own are left alone, and may be gone before the next solve") {
  for (int round = 0; round < 3; ++round) {
    int alive = 0;
    double x = 5;
    auto function =
        std::make_unique<nlsq::AutoDiffCostFunction<Counted, 1, 1>>(std::make_unique<Counted>(&alive));
    auto loss = std::make_unique<ceres::HuberLoss>(1.0);
    {
      ceres::Problem problem(keep_ownership());
      problem.AddResidualBlock(function.get(), loss.get(), &x);
      nlsq::Solve(tight(), &problem, nullptr);
    }
    CHECK(x == doctest::Approx(2));
    CHECK(alive == 1);
    function.reset();
    CHECK(alive == 0);
  }
}

TEST_CASE("A function that leaves a number unwritten fails, as in Ceres") {
  struct Forgets final : ceres::SizedCostFunction<2, 1> {
    bool residual;
    explicit Forgets(bool forgets_residual) : residual(forgets_residual) {}
    bool Evaluate(double const* const* x, double* r, double** J) const override {
      r[0] = x[0][0] - 1;
      if (!residual) r[1] = x[0][0] - 2;
      if (J != nullptr && J[0] != nullptr) {
        J[0][0] = 1;
        if (residual) J[0][1] = 1;
      }
      return true;
    }
  };
  for (const bool residual : {true, false}) {
    double x = 4;
    ceres::Problem problem;
    problem.AddResidualBlock(new Forgets(residual), nullptr, &x);
    ceres::Solver::Summary summary;
    nlsq::Solve(tight(), &problem, &summary);
    CHECK(summary.termination_type == ceres::FAILURE);
    CHECK(summary.initial_cost == -1);  // as in Ceres, this means that it is not known
    CHECK(summary.num_successful_steps == 0);
    CHECK(x == 4);
  }
}

// Many programs test only the outer pointer, because ceres::Solve always gives memory for the derivatives of
// free blocks.
struct OuterPointerOnly final : ceres::SizedCostFunction<2, 2, 1> {
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    r[0] = x[0][0] * x[0][1] - x[1][0];
    r[1] = x[0][0] - x[0][1];
    if (J == nullptr) return true;
    J[0][0] = x[0][1], J[0][1] = x[0][0];
    J[0][2] = 1, J[0][3] = -1;
    if (J[1] != nullptr) J[1][0] = -1, J[1][1] = 0;
    return true;
  }
};

TEST_CASE("Every free block gets memory for its derivatives, also while callbacks are told of a point") {
  double x[2] = {1, 3}, held = 4;
  ceres::Problem problem;
  problem.AddResidualBlock(new OuterPointerOnly, nullptr, x, &held);
  problem.SetParameterBlockConstant(&held);
  ceres::Solver::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(x[0] == doctest::Approx(2));
  CHECK(x[1] == doctest::Approx(2));
  nlsq::Certify(tight(), &problem, &summary);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
}

TEST_CASE("The final cost takes no calls beside those that compare the programs with the functions") {
  double p[2] = {1, 1};
  int of_first = 0, of_last = 0, others = 0;
  ceres::Problem problem;
  for (int i = 1; i <= 20; ++i) {
    const double t = 0.25 * i, y = 3 * (1 - std::exp(-0.7 * t)) + 0.01 * (i % 3);
    ceres::LossFunction* loss = i % 2 == 0 ? new ceres::HuberLoss(0.01) : nullptr;
    int* calls = i == 1 ? &of_first : i == 20 ? &of_last : &others;
    problem.AddResidualBlock(cost<true, CountedPoint, 1, 2>({t, y, calls}), loss, p);
  }
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  options.max_num_iterations = 0;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  CHECK(of_first > of_last);  // an evaluation callback would be called through the first
  CHECK(of_last == 4);        // an evaluation of the whole problem at the end would be the fifth call
  double true_cost = 0;
  problem.Evaluate({}, &true_cost, nullptr, nullptr, nullptr);
  CHECK(summary.final_cost == doctest::Approx(true_cost).epsilon(1e-14));
}
