// Tests cost functions whose shape is known only at run time, and the check of gradients.
#include "ceres_problems.hpp"

#include <ceres/dynamic_autodiff_cost_function.h>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

using ceres_problems::tight;

namespace {

// This is a cost function of any number of blocks. Residual i is a function of the blocks' numbers, minus
// y[i].
struct Sums {
  std::vector<int> sizes;
  std::vector<double> y;
  template <class T>
  bool operator()(T const* const* blocks, T* r) const {
    using std::sin;
    for (std::size_t i = 0; i < y.size(); ++i) {
      T sum = T(-y[i]);
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        for (int j = 0; j < sizes[k]; ++j)
          sum += sin(blocks[k][j] * (0.3 + static_cast<double>(i * (static_cast<std::size_t>(j) + 1)))) +
                 0.1 * blocks[k][j] * static_cast<double>(j + 1);
      }
      r[i] = sum;
    }
    return true;
  }
};

template <class Cost>
std::unique_ptr<Cost> make(const std::vector<int>& sizes, int residuals, double y) {
  // Chooses y near the sums where every number is 0.3, at a distance of `y`.
  Sums sums{sizes, std::vector<double>(static_cast<std::size_t>(residuals), 0.0)};
  const std::vector<double> truth(16, 0.3);
  const std::vector<const double*> at(sizes.size(), truth.data());
  std::vector<double> r(sums.y.size());
  sums(at.data(), r.data());
  for (std::size_t i = 0; i < r.size(); ++i) sums.y[i] = r[i] + y * (i % 2 ? 1 : -1);
  auto cost = std::make_unique<Cost>(new Sums(sums));
  for (const int size : sizes) cost->AddParameterBlock(size);
  cost->SetNumResiduals(residuals);
  return cost;
}

using Ours = nlsq::DynamicAutoDiffCostFunction<Sums>;
using Theirs = ceres::DynamicAutoDiffCostFunction<Sums>;

struct Wrong final : ceres::SizedCostFunction<1, 1> {
  double factor = 1;
  explicit Wrong(double f) : factor(f) {}
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    r[0] = x[0][0] * x[0][0] - 2;
    if (J && J[0]) J[0][0] = factor * 2 * x[0][0];
    return std::isfinite(factor);
  }
};

}  // namespace

TEST_CASE("Values and derivatives of any shape are Ceres's, to the bit, whichever blocks are asked for") {
  std::mt19937 random(5);
  for (const std::vector<int>& sizes :
       {std::vector{1}, std::vector{3, 2}, std::vector{5, 1, 4, 2}, std::vector{9}}) {
    for (const int residuals : {1, 3}) {
      const auto ours = make<Ours>(sizes, residuals, 0.5);
      const auto theirs = make<Theirs>(sizes, residuals, 0.5);
      std::vector<std::vector<double>> x;
      for (const int size : sizes) {
        x.emplace_back();
        for (int i = 0; i < size; ++i) x.back().push_back(ceres_problems::uniform(random, -1, 1));
      }
      for (unsigned asked = 0; asked < (1u << sizes.size()); ++asked) {
        std::vector<double> results[2];
        for (const bool mine : {false, true}) {
          std::vector<const double*> at;
          std::vector<std::vector<double>> parts;
          std::vector<double*> J;
          for (std::size_t k = 0; k < sizes.size(); ++k) {
            at.push_back(x[k].data());
            parts.emplace_back(static_cast<std::size_t>(residuals * sizes[k]), 7.0);
          }
          for (std::size_t k = 0; k < sizes.size(); ++k)
            J.push_back((asked >> k & 1u) ? parts[k].data() : nullptr);
          std::vector<double>& out = results[mine];
          out.resize(static_cast<std::size_t>(residuals));
          const ceres::CostFunction& cost = mine ? static_cast<const ceres::CostFunction&>(*ours) : *theirs;
          REQUIRE(cost.Evaluate(at.data(), out.data(), J.data()));
          for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
        }
        CHECK(results[0] == results[1]);
      }
    }
  }
}

TEST_CASE(
    "Dynamic cost functions are recorded, one program for each shape, and solved as Ceres solves them") {
  double costs[2];
  for (const bool mine : {false, true}) {
    std::vector<std::array<double, 3>> a(120, {0.1, 0.2, -0.1});
    std::array<double, 2> shared{0.3, 0.1};
    ceres::Problem problem;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double y = 0.01 * static_cast<double>(i % 5);
      const std::vector<int> sizes = i % 2 == 0 ? std::vector{3} : std::vector{3, 2};
      std::vector<double*> blocks{a[i].data()};
      if (i % 2) blocks.push_back(shared.data());
      ceres::CostFunction* cost = mine ? static_cast<ceres::CostFunction*>(make<Ours>(sizes, 4, y).release())
                                       : make<Theirs>(sizes, 4, y).release();
      problem.AddResidualBlock(cost, nullptr, blocks);
    }
    if (mine) {
      nlsq::Summary summary;
      nlsq::Solve(tight(), &problem, &summary);
      CAPTURE(summary.message);
      CAPTURE(summary.evaluator_note);
      CHECK(summary.evaluator == "graph");
      CHECK(summary.evaluator_note == "graph: 120 blocks; 2 programs");
      CHECK((summary.termination == nlsq::Termination::converged ||
             summary.termination == nlsq::Termination::tolerance));
      costs[mine] = summary.final_cost;
    } else {
      ceres::Solver::Summary summary;
      ceres::Solve(tight(), &problem, &summary);
      costs[mine] = summary.final_cost;
    }
  }
  CHECK(costs[1] <= costs[0] * (1 + 1e-9));
}

TEST_CASE("check_gradients ends a solve whose derivatives are wrong, and says which; right ones are solved") {
  for (const double factor : {1.0, 1.001, -1.0, std::nan("")}) {
    double x = 1;
    ceres::Problem problem;
    problem.AddResidualBlock(new Wrong(factor), nullptr, &x);
    ceres::Solver::Options options = tight();
    options.check_gradients = true;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    CAPTURE(factor);
    CAPTURE(summary.message);
    if (factor == 1) {
      CHECK(summary.termination_type == ceres::CONVERGENCE);
      CHECK(x == doctest::Approx(std::sqrt(2.0)));
      CHECK(summary.message.find("check_gradients") == std::string::npos);
    } else {
      CHECK(summary.termination_type == ceres::FAILURE);
      CHECK(x == 1);
      CHECK(summary.message.find("residual block 0") != std::string::npos);
    }
  }
}
