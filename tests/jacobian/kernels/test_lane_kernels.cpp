// Tests kernels and passes whose lanes are problems. Every problem must have the bits of a run alone, in
// every set.
#include "kernels/kernel_table.hpp"
#include "rows/graph_rows.hpp"
#include "rows/lane_pass.hpp"
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>
#include <kernel_harness.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

template <class T>
struct Set {
  const KernelTable& table;
  std::size_t lanes() const {
    return static_cast<std::size_t>(sizeof(T) == 8 ? table.lanes_f64 : table.lanes_f32);
  }
  void run_lanes(const Instruction& in, T* const* vectors, const T* uniforms, std::size_t rows,
                 KernelCounters& counters) const {
    KernelStep step;
    if constexpr (sizeof(T) == 8)
      table.f64.run_lanes(&step, table.f64.decode(&in, 1, &step), vectors, uniforms, rows, &counters);
    else table.f32.run_lanes(&step, table.f32.decode(&in, 1, &step), vectors, uniforms, rows, &counters);
  }
};

template <class T>
bool same(T a, T b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Returns arguments of all sizes, for which functions use other methods, too.
template <class T>
T argument(std::mt19937_64& random) {
  constexpr double kSpecial[] = {0,    -0.0,  1,   -1,   0.5,  1e4,  -3e5, 1e7, -1e12,
                                 88.5, -88.5, 700, -745, 1e-5, 1e30, -20,  37.5};
  const auto k = random() % 60;
  if (k < std::size(kSpecial)) return static_cast<T>(kSpecial[k]);
  if (k == 17) return std::numeric_limits<T>::infinity();
  if (k == 18) return std::numeric_limits<T>::quiet_NaN();
  return static_cast<T>(std::normal_distribution<>(0, k < 40 ? 1 : 30)(random));
}

// Tests one operation on rows of problems, with vectors and uniforms as arguments, against each number alone.
template <class T>
void check_operation(const KernelTable& table, Op op, std::mt19937_64& random) {
  const Set<T> set{table};
  const std::size_t lanes = set.lanes(), rows = 5;
  std::vector<T> vectors[4], uniforms(3 * lanes);
  T* bases[4];
  for (int v = 0; v < 4; ++v) {
    vectors[v].assign(64 * 16, T(1));
    for (std::size_t i = 0; i < rows * lanes; ++i) vectors[v][i] = argument<T>(random);
    bases[v] = vectors[v].data();
  }
  for (T& u : uniforms) u = argument<T>(random);
  for (unsigned kinds = 0; kinds < (1u << arity(op)); ++kinds) {
    const auto operand = [&](int k) { return (kinds >> k & 1) != 0 ? ~k : k; };
    KernelCounters counters;
    set.run_lanes({op, 3, operand(0), operand(1), operand(2)}, bases, uniforms.data(), rows, counters);
    CHECK((sizeof(T) == 8 ? counters.rows_f64 : counters.rows_f32) == rows * lanes);
    for (std::size_t i = 0; i < rows * lanes; ++i) {
      const auto value = [&](int k) {
        return (kinds >> k & 1) != 0 ? uniforms[static_cast<std::size_t>(k) * lanes + i % lanes]
                                     : vectors[k][i];
      };
      const T alone =
          harness::apply<T>(table, op, {value(0), value(0)}, {value(1), value(1)}, {value(2), value(2)})[0];
      CAPTURE(std::string(name(op)));
      CAPTURE(vectors[3][i]);
      CAPTURE(alone);
      CAPTURE(value(0));
      CAPTURE(value(1));
      REQUIRE(same(vectors[3][i], alone));
    }
  }
}

std::size_t packed_size(std::size_t n1) { return n1 * (n1 + 1) / 2; }

// Calls the kernel of one format, and widens the sums.
template <class T>
std::vector<double> lane_gram(const KernelTable& table, const std::vector<std::vector<T>>& columns,
                              std::size_t rows, int ones) {
  const std::size_t n1 = columns.size(), lanes = Set<T>{table}.lanes();
  std::vector<const T*> bases;
  for (const auto& column : columns) bases.push_back(column.data());
  std::vector<T> sums(packed_size(n1) * lanes, T(0.5));
  KernelCounters counters;
  if constexpr (sizeof(T) == 8)
    table.f64.lane_gram(bases.data(), static_cast<int>(n1), ones, rows, sums.data(), &counters);
  else table.f32.lane_gram(bases.data(), static_cast<int>(n1), ones, rows, sums.data(), &counters);
  const auto flops = sizeof(T) == 8 ? counters.gram_flops_f64 : counters.gram_flops_f32;
  CHECK(flops == n1 * (n1 + 1) * rows * lanes);
  return {sums.begin(), sums.end()};
}

template <class T>
void check_gram(const KernelTable& table) {
  const std::size_t lanes = Set<T>{table}.lanes();
  std::mt19937_64 random(4);
  std::normal_distribution<> normal;
  for (std::size_t n1 = 1; n1 <= 17; ++n1) {
    for (const std::size_t rows : {1u, 3u, 16u, 50u, 51u}) {
      std::vector<std::vector<T>> columns(n1, std::vector<T>(rows * lanes));
      for (auto& column : columns) {
        for (T& v : column) v = static_cast<T>(normal(random));
      }
      const int ones = rows % 2 == 0 ? -1 : static_cast<int>(random() % n1);
      if (ones >= 0) columns[static_cast<std::size_t>(ones)].assign(rows * lanes, T(1));
      const auto sums = lane_gram<T>(table, columns, rows, ones);
      std::size_t k = 0;
      for (std::size_t i = 0; i < n1; ++i) {
        for (std::size_t j = i; j < n1; ++j, ++k) {
          for (std::size_t l = 0; l < lanes; ++l) {
            long double sum = 0.5L, size = 1;
            for (std::size_t r = 0; r < rows; ++r) {
              const long double product =
                  static_cast<long double>(columns[i][r * lanes + l]) * columns[j][r * lanes + l];
              sum += product;
              size += std::fabs(product);
            }
            REQUIRE(std::fabs(static_cast<double>(sums[k * lanes + l] - sum)) <=
                    std::numeric_limits<T>::epsilon() * static_cast<double>(size) * 8);
          }
        }
      }
      // NaN in one lane must not reach the others.
      for (auto& column : columns) {
        if (column[0] != 1) column[0] = std::numeric_limits<T>::quiet_NaN();
      }
      const auto spoilt = lane_gram<T>(table, columns, rows, ones);
      for (std::size_t e = 0; e < sums.size(); ++e) REQUIRE((e % lanes == 0 || spoilt[e] == sums[e]));
      CHECK((std::isnan(spoilt[0]) || ones == 0));
    }
  }
}

}  // namespace

TEST_CASE("every operation gives a problem the bits it has alone, in any lane and beside any others") {
  for (const KernelTable* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    std::mt19937_64 random(1);
    for (int op = static_cast<int>(Op::add); op <= static_cast<int>(Op::copy); ++op) {
      for (int trial = 0; trial < 3; ++trial) {
        check_operation<double>(*table, static_cast<Op>(op), random);
        check_operation<float>(*table, static_cast<Op>(op), random);
      }
    }
  }
}

TEST_CASE("Gram sums by lanes are those of every problem by itself") {
  for (const KernelTable* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    check_gram<double>(*table);
    check_gram<float>(*table);
  }
}

TEST_CASE(
    "steps by lanes solve the damped normal equations; a matrix that is not definite is NaN for its lane "
    "alone") {
  for (const KernelTable* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    std::mt19937_64 random(9);
    std::normal_distribution<> normal;
    const std::size_t lanes = static_cast<std::size_t>(table->lanes_f32);  // a multiple of lanes_f64
    for (std::size_t n = 1; n <= most_lane_parameters; ++n) {
      const std::size_t n1 = n + 1, rows = n + 5;
      const auto entry = [n1](std::size_t i, std::size_t j) { return i * n1 - i * (i + 1) / 2 + j; };
      std::vector<double> sums(packed_size(n1) * lanes), scale(n * lanes), lambda(lanes), step(n * lanes),
          nu(lanes);
      for (std::size_t l = 0; l < lanes; ++l) {
        std::vector<double> A(rows * n1);
        for (double& a : A) a = normal(random);
        for (std::size_t i = 0; i < n1; ++i) {
          for (std::size_t j = i; j < n1; ++j) {
            for (std::size_t r = 0; r < rows; ++r)
              sums[entry(i, j) * lanes + l] += A[r * n1 + i] * A[r * n1 + j];
          }
        }
        for (std::size_t j = 0; j < n; ++j) scale[j * lanes + l] = 1 + std::fabs(normal(random));
        lambda[l] = l % 3 == 0 ? 0 : 0.1 * static_cast<double>(l);
      }
      table->lane_solve(sums.data(), static_cast<int>(n), lanes, scale.data(), lambda.data(), 1e-12,
                        step.data(), nu.data());
      for (std::size_t l = 0; l < lanes; ++l) {
        double decrement = 0;
        for (std::size_t i = 0; i < n; ++i) {
          double left = sums[entry(i, n) * lanes + l], size = std::fabs(left);
          decrement -= left * step[i * lanes + l];
          for (std::size_t j = 0; j < n; ++j) {
            double a = sums[entry(std::min(i, j), std::max(i, j)) * lanes + l];
            if (i == j) a += lambda[l] * scale[i * lanes + l] * scale[i * lanes + l];
            left += a * step[j * lanes + l];
            size += std::fabs(a * step[j * lanes + l]);
          }
          CHECK(std::fabs(left) <= 1e-12 * size);
        }
        CHECK(nu[l] == doctest::Approx(decrement).epsilon(1e-10));
      }
      const std::vector<double> before = step;
      sums[entry(n - 1, n - 1) * lanes + 1] = -1;
      lambda[1] = 0;
      table->lane_solve(sums.data(), static_cast<int>(n), lanes, scale.data(), lambda.data(), 1e-12,
                        step.data(), nu.data());
      CHECK(std::isnan(nu[1]));
      for (std::size_t e = 0; e < step.size(); ++e) REQUIRE((e % lanes == 1 || step[e] == before[e]));
    }
  }
}

TEST_CASE(
    "a pass by lanes makes every problem's sums and residuals, whether its columns are shared or its own") {
  FormulaOptions options;
  options.predictors = {"x1", "x2"};
  const Formula formula = parse_formula("a*exp(-k*x1)+b*sin(x2*k)+c", options);
  const FormulaResidual source(formula, true);
  const std::vector<int> free{0, 1, 2, 3};
  const ResidualPrograms programs = ResidualPrograms::build(source, free);
  std::mt19937_64 random(3);
  std::normal_distribution<> normal;
  for (const std::size_t rows : {1u, 7u, 16u, 33u, 600u}) {
    for (const bool single : {false, true}) {
      const auto pass = LanePass::make(programs.jacobian, *programs.steps, rows, 8, single, 1);
      const std::size_t lanes = pass->lanes(), n1 = 5;
      std::vector<double> x1(rows), parameters(4 * lanes), sums(packed_size(n1) * lanes);
      std::vector<std::vector<double>> x2(lanes), y(lanes), sigma(lanes);
      for (double& v : x1) v = std::fabs(normal(random));
      pass->share_column(0, x1);
      for (std::size_t l = 0; l < lanes; ++l) {
        for (auto* column : {&x2, &y, &sigma}) {
          for (std::size_t i = 0; i < rows; ++i)
            (*column)[l].push_back(column == &sigma ? 1 + std::fabs(normal(random)) : normal(random));
        }
        pass->set_column(1, l, x2[l]);
        pass->set_column(2, l, y[l]);
        pass->set_column(3, l, sigma[l]);
        for (std::size_t j = 0; j < 4; ++j) parameters[j * lanes + l] = 1 + 0.3 * normal(random);
      }
      KernelCounters counters;
      pass->run(parameters.data(), sums.data(), counters);
      CHECK((single ? counters.rows_f32 : counters.rows_f64) == rows * lanes);
      REQUIRE(pass->sampled_rows().size() == std::min<std::size_t>(8, rows));
      const double u = single ? 0x1p-23 : 0x1p-52;
      std::vector<double> at_sampled(pass->sampled_rows().size());
      for (std::size_t l = 0; l < lanes; ++l) {
        const auto data = std::make_shared<MemoryRows>(std::vector<Column>{x1, x2[l], y[l], sigma[l]});
        std::vector<double> p;
        for (std::size_t j = 0; j < 4; ++j) p.push_back(parameters[j * lanes + l]);
        const GraphRows model(std::make_shared<FormulaResidual>(formula, true), data, p, free);
        const auto all = model.begin(p, Fill::jacobian_and_residual, false);
        std::vector<long double> want(packed_size(n1)), size(packed_size(n1));
        for (std::size_t first = 0; first < rows; first += model.tile_rows()) {
          const std::size_t count = std::min(model.tile_rows(), rows - first);
          const double* const* tile = all->fill_f64(first, count, counters);
          std::size_t k = 0;
          for (std::size_t i = 0; i < n1; ++i) {
            for (std::size_t j = i; j < n1; ++j, ++k) {
              for (std::size_t r = 0; r < count; ++r) {
                want[k] += tile[i][r] * tile[j][r];
                size[k] += std::fabs(tile[i][r] * tile[j][r]) + 1;
              }
            }
          }
          pass->residuals(l, at_sampled.data());
          for (std::size_t k2 = 0; k2 < pass->sampled_rows().size(); ++k2) {
            const std::size_t row = pass->sampled_rows()[k2];
            if (row >= first && row < first + count)
              CHECK(at_sampled[k2] == doctest::Approx(tile[4][row - first]).epsilon(100 * u).scale(1));
          }
        }
        for (std::size_t k = 0; k < want.size(); ++k) {
          CHECK(std::fabs(sums[k * lanes + l] - static_cast<double>(want[k])) <=
                30 * u * static_cast<double>(size[k]));
        }
      }
    }
  }
}
