// Tests that kernels which ignore the format in their name are detected. A suite of checks, of counters and
// of rounding, runs on the evaluator with every set of kernels, which must pass, and with mutants of each
// kernel, none of which may.
#include "dense/dense_evaluator.hpp"
#include "kernels/kernel_sets.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mutants.hpp"

using namespace nlsq;
using namespace mutants;

namespace {

constexpr std::size_t kRows = 5000;
constexpr std::size_t n = 3;

struct Rows {
  std::vector<double> x, y;
  std::unique_ptr<GraphRows> model;

  Rows() {
    for (std::size_t i = 0; i < kRows; ++i) {
      x.push_back(static_cast<double>(i) / kRows);
      y.push_back(3 * std::exp(-2 * x.back()) + 0.5 + 0.3 * std::sin(1e4 * x.back()));
    }
    const Formula formula = parse_formula("a*exp(-b*x)+c*x");
    model = std::make_unique<GraphRows>(std::make_shared<FormulaResidual>(formula, false),
                                        std::make_shared<MemoryRows>(std::vector<Column>{x, y}),
                                        Vector(n, 1.0), std::vector<int>{0, 1, 2});
  }

  // Returns [J | r] as a pass computes them.
  template <class T>
  std::vector<std::vector<double>> filled(const Vector& at) const {
    constexpr bool single = std::is_same_v<T, float>;
    std::vector<std::vector<double>> columns(n + 1);
    KernelCounters unused;
    const auto pass = model->begin(at, Fill::jacobian_and_residual, single);
    for (std::size_t t = 0; t < model->tile_count(); ++t) {
      const TileRange range = model->tile(t);
      const auto add = [&](auto* const* tile) {
        for (std::size_t j = 0; j <= n; ++j)
          columns[j].insert(columns[j].end(), tile[j], tile[j] + range.count);
      };
      if constexpr (single) add(pass->fill_f32(range.first, range.count, unused));
      else add(pass->fill_f64(range.first, range.count, unused));
    }
    return columns;
  }
  // Returns the exact [J | r] of data and parameters of type T.
  template <class T>
  std::vector<std::vector<double>> exact(const Vector& p) const {
    std::vector<std::vector<double>> columns(n + 1);
    const auto given = [](double v) { return static_cast<long double>(static_cast<T>(v)); };
    for (std::size_t i = 0; i < kRows; ++i) {
      const long double at = given(x[i]), e = std::exp(-given(p[1]) * at),
                        f = given(p[0]) * e + given(p[2]) * at;
      columns[0].push_back(static_cast<double>(e));
      columns[1].push_back(static_cast<double>(-given(p[0]) * at * e));
      columns[2].push_back(static_cast<double>(at));
      columns[3].push_back(static_cast<double>(f - given(y[i])));
    }
    return columns;
  }
};

double relative(const std::vector<double>& a, const std::vector<double>& truth) {
  double largest = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a[i] - truth[i]));
    size = std::max(size, std::fabs(truth[i]));
  }
  return largest / size;
}

// Holds Σ a b in long double, and Σ |a b|.
struct Product {
  long double sum = 0, size = 0;
  Product(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += static_cast<long double>(a[i]) * b[i];
      size += std::fabs(static_cast<long double>(a[i]) * b[i]);
    }
  }
  double error(double value) const { return static_cast<double>(std::fabs(value - sum) / size); }
};

// Holds the counts that a plan's pass must have, and the range of errors that its sums must have.
struct Expected {
  const char* name;
  PrecisionPlan plan;
  std::uint64_t KernelCounters::*gram;  // counts the J'J products
  double least, most;                   // range of the error of J'J
  double gradient;                      // largest error of J'r and r'r
  std::uint64_t beside = 0;             // how often J'r and r'r are formed apart from J'J
};

constexpr double kF64 = 1e-14;
const Expected kPlans[] = {
    {"f64", {Format::f64, Gram::f64}, &KernelCounters::gram_flops_f64, 0, kF64, kF64},
    {"qr", {Format::f64, Gram::qr}, &KernelCounters::qr_flops_f64, 0, 1e-13, 1e-13},
    {"f32 wide", {Format::f32, Gram::f32_wide}, &KernelCounters::gram_flops_f32_wide, 0, kF64, kF64},
    {"f32 tile", {Format::f32, Gram::f32_tile}, &KernelCounters::gram_flops_f32, 1e-10, 2e-6, 2e-6},
    {"bf16", {Format::f32, Gram::bf16}, &KernelCounters::gram_flops_bf16, 1e-5, 4e-3, kF64, 1},
    {"f16", {Format::f32, Gram::f16}, &KernelCounters::gram_flops_f16, 1e-6, 5e-4, kF64, 1},
    {"f64 rows, bf16", {Format::f64, Gram::bf16}, &KernelCounters::gram_flops_bf16, 1e-5, 4e-3, kF64, 2},
    {"f64 rows, f32 tile",
     {Format::f64, Gram::f32_tile},
     &KernelCounters::gram_flops_f32,
     1e-10,
     2e-6,
     kF64,
     1},
};

// Returns everything that is wrong, in words. It is empty for kernels that do what they say.
std::vector<std::string> complaints() {
  std::vector<std::string> found;
  const auto require = [&](bool good, const std::string& what) {
    if (!good) found.push_back(what);
  };
  const Rows rows;
  const Vector at{2.5, 1.7, 0.6};
  const auto f64 = rows.filled<double>(at), f32 = rows.filled<float>(at), exact = rows.exact<double>(at),
             exact_f32 = rows.exact<float>(at);
  // Rows must have as many digits as their format, and no more. J_0 and J_1 take several operations each.
  for (const std::size_t j : {0u, 1u, 3u}) {
    require(relative(f64[j], exact[j]) < kF64, "f64 rows have fewer digits than f64");
    require(relative(f32[j], exact_f32[j]) < 1e-5, "f32 rows have fewer digits than f32");
    // A number that is computed in f64 and rounded once is the nearest float. Several operations in f32 often
    // give another.
    double off = 0;
    for (std::size_t i = 0; i < kRows; ++i)
      off += f32[j][i] != static_cast<double>(static_cast<float>(exact_f32[j][i])) ? 1 : 0;
    require(off > 0.02 * kRows, "f32 rows are f64 rows, rounded");
  }
  for (const Expected& plan : kPlans) {
    const auto wrong = [&](const char* what) { return std::string(plan.name) + ": " + what; };
    DenseEvaluator evaluator(*rows.model);
    const Linearization sums = evaluator.linearize(at, plan.plan);
    const KernelCounters& k = evaluator.counters();
    const bool low = plan.plan.residual == Format::f32;
    require(k.rows_f32 == (low ? kRows : 0) && k.rows_f64 == (low ? 0 : kRows),
            wrong("rows counted in another format"));
    require(k.*plan.gram > 0, wrong("no products counted in its format"));
    const std::uint64_t all = k.gram_flops_f64 + k.gram_flops_f32 + k.gram_flops_f32_wide + k.gram_flops_f16 +
                              k.gram_flops_bf16 + k.qr_flops_f64;
    require(all - k.*plan.gram == plan.beside * 2 * (n + 1) * kRows,
            wrong("products counted in another format"));
    const auto& truth = low ? f32 : f64;
    double worst = 0, gradient = Product(truth[n], truth[n]).error(2 * sums.cost);
    for (std::size_t i = 0; i < n; ++i) {
      gradient = std::max(gradient, Product(truth[i], truth[n]).error(sums.gradient[i]));
      for (std::size_t j = i; j < n; ++j)
        worst = std::max(worst, Product(truth[i], truth[j]).error(sums.normal(i, j)));
    }
    require(worst <= plan.most, wrong("J'J has fewer digits than it should"));
    require(worst >= plan.least, wrong("J'J has more digits than its format"));
    require(gradient <= plan.gradient, wrong("J'r has fewer digits than it should"));
  }
  DenseEvaluator evaluator(*rows.model);
  const double cost = evaluator.cost(at, Format::f64), low = evaluator.cost(at, Format::f32);
  require(Product(f64[n], f64[n]).error(2 * cost) <= kF64, "the cost in f64 has fewer digits");
  require(cost != low, "the cost in f32 is that in f64");
  require(evaluator.counters().rows_f64 == kRows && evaluator.counters().rows_f32 == kRows,
          "costs counted in another format");
  return found;
}

}  // namespace

TEST_CASE("every set of kernels does in each format what its counters say") {
  for (const KernelTable* table : available_kernels()) {
    CAPTURE(std::string(table->name));
    const InUse use(*table);
    for (const std::string& complaint : complaints()) FAIL_CHECK(complaint);
  }
}

TEST_CASE("no mutant of a kernel passes") {
  for (const Mutant& mutant : kMutants) {
    KernelTable table = real();
    mutant.spoil(table);
    const InUse use(table);
    const auto found = complaints();
    CAPTURE(std::string(mutant.name));
    CHECK_FALSE(found.empty());
  }
}
