// A bound of the rank of J holds wherever singular values show that rank, and nowhere else.
#include "blocks/certificate/block_distance.hpp"
#include "blocks/certificate/rank_bound.hpp"
#include "blocks/prepared_problem.hpp"
#include "linear/determined_subspace.hpp"

#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

constexpr int kNumbers = 7;

struct Sum {
  std::vector<double> of;
  template <class T>
  T operator()(const T* p) const {
    T sum = 0.0 * p[0];
    for (int j = 0; j < kNumbers; ++j) sum += of[static_cast<std::size_t>(j)] * p[j];
    return sum;
  }
};

std::vector<double> direction(std::mt19937& random, std::size_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> v(n);
  for (double& number : v) number = normal(random);
  return v;
}

// Rows in a random subspace of this dimension, and one row of length `beside` out of it.
struct Rows {
  std::vector<double> p;
  Problem problem;

  Rows(std::mt19937& random, int dimension, double beside, double column) : p(kNumbers, 1.0) {
    std::vector<std::vector<double>> basis;
    for (int k = 0; k < dimension; ++k) basis.push_back(direction(random, kNumbers));
    const std::vector<double> other = direction(random, kNumbers);
    for (int i = 0; i < 20; ++i) {
      const std::vector<double> share = direction(random, basis.size());
      std::vector<double> row(kNumbers, 0.0);
      for (std::size_t k = 0; k < basis.size(); ++k) {
        for (std::size_t j = 0; j < row.size(); ++j) row[j] += share[k] * basis[k][j];
      }
      for (std::size_t j = 0; i == 0 && j < row.size(); ++j) row[j] += beside * other[j];
      row[3] *= column;
      problem.add_residual_block(Sum{row}, nullptr, {p});
    }
  }
};

}  // namespace

TEST_CASE("A bound of the rank holds where singular values show that rank") {
  std::mt19937 random(1);
  int held = 0, wanted = 0;
  for (const int dimension : {0, 1, 3, 5, 6}) {
    for (const double beside : {0.0, 1e-18, 1e-16, 1e-15, 1e-14, 1e-13, 1e-11, 1e-8, 1e-4, 1.0}) {
      for (const double column : {1.0, 1e-9, 1e9, 0.0}) {
        CAPTURE(dimension);
        CAPTURE(beside);
        CAPTURE(column);
        Rows rows(random, dimension, beside, column);
        Problem::Impl& impl = rows.problem.impl();
        impl.close_gaps();
        const std::vector<double> x = numbers_of(impl);
        const Parallelism one{1, {}};
        PreparedProblem prepared(impl, x, one, StepSolver::automatic, nullptr, nullptr);
        std::vector<double> residuals;
        const double cost = prepared.model.cost(x, residuals);
        prepared.model.linearize<double>(x, residuals);
        prepared.solver.gather<double, double>(prepared.model.records<double>());
        const BlockPoint point{prepared.model, prepared.structure, impl, prepared.solver, x, cost, {}, 0};
        const BlockTerms terms = measure_terms(point);
        BlockDistance distance = block_distance(point, terms);
        examine_weak_directions(point, terms, distance);
        const int rank = distance.rank;
        REQUIRE(rank >= 0);
        RankBound bound;
        for (int most = 0; most < kNumbers; ++most) {
          CAPTURE(most);
          const bool holds = bound.at_most(static_cast<std::size_t>(most), prepared.structure,
                                           prepared.model.records<double>());
          if (holds) CHECK(rank <= most);
          // Factors that differ little change no rank.
          std::vector<double> factors(prepared.structure.residuals);
          for (double& factor : factors) factor = std::uniform_real_distribution<double>(0.1, 1)(random);
          const bool scaled = bound.at_most(static_cast<std::size_t>(most), prepared.structure,
                                            prepared.model.records<double>(), factors);
          if (beside == 0) CHECK(scaled == holds);
          if (most == rank && beside == 0 && rank > 0) ++wanted, held += holds ? 1 : 0;
        }
      }
    }
  }
  CHECK(wanted > 10);
  CHECK(held == wanted);
}
