// Steps beside rows of heavy weight: the elimination's factor with corrections gives the steps that QR of the
// rows gives, or says that it does not.
#include "blocks/certificate/block_distance.hpp"
#include "blocks/heavy_rows.hpp"
#include "blocks/prepared_problem.hpp"
#include "blocks/record_rows.hpp"

#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

struct Place {
  std::array<double, 3> at;
  template <class T>
  void operator()(const T* p, T* r) const {
    for (int i = 0; i < 3; ++i) r[i] = p[i] - at[static_cast<std::size_t>(i)];
  }
};

struct Rod {
  double length, weight;
  template <class T>
  T operator()(const T* a, const T* b) const {
    using std::sqrt;
    const T x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return weight * (sqrt(x * x + y * y + z * z) - length);
  }
};

// A chain of measured points with rods between neighbours. `weight(i)` is that of rod i.
struct Chain {
  static constexpr std::size_t kPoints = 24;
  std::vector<std::array<double, 3>> points{kPoints};
  Problem problem;
  std::unique_ptr<PreparedProblem> prepared;
  std::vector<double> x, residuals, scale;
  double cost = 0;

  explicit Chain(const auto& weight, bool twice = false) {
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 0.1);
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double t = static_cast<double>(i);
      const std::array<double, 3> at{t + noise(random), std::sin(t) + noise(random), noise(random)};
      points[i] = {at[0] + noise(random), at[1] + noise(random), at[2] + noise(random)};
      problem.add_residual_block<3>(Place{at}, nullptr, {points[i]});
    }
    for (std::size_t i = 0; i + 1 < kPoints; ++i) {
      problem.add_residual_block(Rod{1.1, weight(i)}, nullptr, {points[i], points[i + 1]});
      if (twice) problem.add_residual_block(Rod{1.2, 2 * weight(i)}, nullptr, {points[i], points[i + 1]});
      if (i + 2 < kPoints) problem.add_residual_block(Rod{2, 1}, nullptr, {points[i], points[i + 2]});
    }
    problem.impl().close_gaps();
    x = numbers_of(problem.impl());
    static const Parallelism one{1, {}};
    prepared =
        std::make_unique<PreparedProblem>(problem.impl(), x, one, StepSolver::automatic, nullptr, nullptr);
    cost = prepared->model.cost(x, residuals);
    prepared->model.linearize<double>(x, residuals);
    prepared->solver.gather<double, double>(prepared->model.records<double>());
    for (const double square : prepared->solver.squares()) scale.push_back(std::sqrt(square));
  }
  BlockPoint point() {
    return {prepared->model, prepared->structure, problem.impl(), prepared->solver, x, cost, {}, 0};
  }
  // Returns ‖v‖ as the rows of norm up to `most` see it.
  double seen(const std::vector<double>& v, double most) {
    double squares = 0;
    for_each_record_row(prepared->structure, prepared->model.records<double>(), [&](const JacobianRow& row) {
      double norm = 0;
      row.for_each([&](std::size_t, double entry) { norm = std::hypot(norm, entry); });
      if (norm <= most) squares += std::pow(row.times(v.data()), 2);
    });
    return std::sqrt(squares);
  }
};

// Compares the step with that of QR, in the light rows and in all rows. Returns false if there is none.
bool agrees(Chain& chain, double lambda) {
  const std::vector<double> gradient = chain.prepared->solver.gradient();
  BlockStep step, by_rows;
  const bool found = solve_beside_heavy_rows(chain.point(), lambda, chain.scale, step);
  CHECK(chain.prepared->solver.gradient() == gradient);
  if (!found) return false;
  solve_by_rows(chain.point(), lambda, chain.scale, by_rows);
  std::vector<double> off = step.step;
  for (std::size_t j = 0; j < off.size(); ++j) off[j] -= by_rows.step[j];
  for (const double most : {300.0, 1e30}) {
    CAPTURE(most);
    CHECK(chain.seen(off, most) <= 1e-5 * chain.seen(by_rows.step, most));
  }
  CHECK(step.factored);
  CHECK(step.decrement == doctest::Approx(by_rows.decrement).epsilon(1e-6));
  CHECK(step.predicted == doctest::Approx(by_rows.predicted).epsilon(1e-6));
  CHECK(step.scaled_norm == doctest::Approx(by_rows.scaled_norm).epsilon(1e-6));
  return true;
}

}  // namespace

TEST_CASE("Steps beside heavy rows are those of QR of the rows") {
  for (const double weight : {1e4, 1e5, 1e6, 1e7, 1e8, 1e10, 1e12}) {
    for (const double lambda : {1e-2, 1e-4, 1e-6, 1e-9, 0.0}) {
      CAPTURE(weight);
      CAPTURE(lambda);
      Chain chain([&](std::size_t) { return weight; });
      const bool found = agrees(chain, lambda);
      if (weight <= 1e8) CHECK(found);
    }
  }
}

TEST_CASE("Steps beside heavy rows that contradict each other are those of QR, or none") {
  for (const double weight : {1e4, 1e5, 1e7, 1e9, 1e12}) {
    CAPTURE(weight);
    for (const double lambda : {1e-1, 1e-2, 1e-3}) {
      Chain damped([&](std::size_t) { return weight; }, true);
      agrees(damped, lambda);
    }
    Chain chain([&](std::size_t) { return weight; }, true);
    const bool found = agrees(chain, 1e-4);
    if (weight <= 1e9) CHECK(found);
    // Without damping, QR itself loses the light rows beside heavier ones.
    if (weight <= 1e5) CHECK(agrees(chain, 0));
  }
}

TEST_CASE("Steps beside heavy rows of many different weights are those of QR, or none") {
  for (const double most : {1e6, 1e9, 1e13}) {
    for (const double lambda : {1e-4, 0.0}) {
      CAPTURE(most);
      CAPTURE(lambda);
      Chain chain([&](std::size_t i) { return std::pow(most, static_cast<double>(i % 7) / 6); });
      agrees(chain, lambda);
    }
  }
}
