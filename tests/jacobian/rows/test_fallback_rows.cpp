// Tests rows by calls of the user's code: dual numbers, given derivatives, and finite differences.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace nlsq;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};
struct Data {
  std::vector<double> x, y, sigma;
  std::shared_ptr<const RowSource> rows(bool weighted) const {
    std::vector<Column> columns{Column(x), Column(y)};
    if (weighted) columns.emplace_back(sigma);
    return std::make_shared<MemoryRows>(columns);
  }
};

Data make_data(std::size_t m) {
  Data data;
  for (std::size_t i = 0; i < m; ++i) {
    const double t = static_cast<double>(i);
    data.x.push_back(0.01 * t), data.y.push_back(std::sin(t)), data.sigma.push_back(1 + 0.5 * std::cos(t));
  }
  return data;
}

// Returns all rows of a pass: n columns of J (none for residuals only), then r.
std::vector<std::vector<double>> collect(const RowModel& model, const std::vector<double>& x, Fill fill) {
  const auto n = static_cast<std::size_t>(model.parameters());
  std::vector<std::vector<double>> columns(n + 1);
  KernelCounters counters;
  const auto pass = model.begin(x, fill, false);
  for (std::size_t first = 0; first < model.rows(); first += model.tile_rows()) {
    const std::size_t count = std::min(model.tile_rows(), model.rows() - first);
    double* const* tile = pass->fill_f64(first, count, counters);
    for (std::size_t c = 0; c <= n; ++c) {
      if (tile[c] == nullptr) continue;
      columns[c].insert(columns[c].end(), tile[c], tile[c] + count);
      std::fill_n(tile[c], (count + 63) / 64 * 64, -1e300);  // callers may overwrite a tile
    }
  }
  CHECK(counters.rows_f64 == model.rows());
  return columns;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("Dual numbers and differences fill the same tiles") {
  const Data data = make_data(700);  // two tiles and a part of one
  const ModelFunction function = make_model_function(decay);
  const std::vector<double> start{1.5, 0.4, 0.1}, x{2.0, 0.7};
  const std::vector<int> free{0, 1};  // the third stays at 0.1
  for (const bool weighted : {false, true}) {
    const auto rows = data.rows(weighted);
    const DualRows dual({function, rows, weighted, start, free});
    const DifferenceRows differences({function, rows, weighted, start, free});
    std::vector<double> r, j0, j1, magnitudes;
    for (std::size_t i = 0; i < data.x.size(); ++i) {
      const double w = weighted ? 1 / data.sigma[i] : 1, e = std::exp(-0.7 * data.x[i]);
      r.push_back((2.0 * e + 0.1 - data.y[i]) * w), j0.push_back(e * w),
          j1.push_back(-2.0 * data.x[i] * e * w);
      magnitudes.push_back((2.0 * e + 0.1 + std::fabs(data.y[i])) * w);
    }
    const std::pair<const RowModel*, double> models[] = {{&dual, 1e-14}, {&differences, 1e-9}};
    for (const auto& [model, tolerance] : models) {
      CAPTURE(std::string(model->kind()));
      const auto all = collect(*model, x, Fill::jacobian_and_residual);
      CHECK(largest_difference(all[0], j0) < tolerance);
      CHECK(largest_difference(all[1], j1) < tolerance);
      CHECK(largest_difference(all[2], r) < 1e-14);
      const auto alone = collect(*model, x, Fill::residual);
      CHECK(alone[0].empty());
      CHECK(alone[2] == all[2]);
      std::vector<double> reference(300), sizes(300);
      model->reference_residuals(x, 100, 300, reference.data(), sizes.data());
      for (std::size_t i = 0; i < 300; ++i) {
        CHECK(reference[i] == all[2][100 + i]);
        CHECK(sizes[i] == doctest::Approx(magnitudes[100 + i]).epsilon(1e-13));
      }
      CHECK_FALSE(model->has_f32());
      CHECK(model->tile_rows() % 64 == 0);
      CHECK(model->row_cost(Fill::jacobian_and_residual) > model->row_cost(Fill::residual));
      CHECK_THROWS_AS(model->begin(x, Fill::residual, true), ValidationError);
    }
    CHECK(std::string(dual.kind()) == "dual");
    CHECK(std::string(differences.kind()) == "finite differences");
  }
}

TEST_CASE("More parameters than one call carries take more calls") {
  constexpr std::size_t kTerms = 20;
  const auto polynomial = [](const auto& x, const auto& p) {
    auto sum = p[kTerms - 1] + 0 * x;
    for (std::size_t j = kTerms - 1; j-- > 0;) sum = sum * x + p[j] * p[j];
    return sum;
  };
  const Data data = make_data(50);
  std::vector<double> p;
  std::vector<int> free;
  for (std::size_t j = 0; j < kTerms; ++j) {
    p.push_back(0.3 + 0.1 * static_cast<double>(j));
    if (j != 7) free.push_back(static_cast<int>(j));  // 19 are free, so there are three calls
  }
  std::vector<double> x;
  for (const int j : free) x.push_back(p[static_cast<std::size_t>(j)]);
  const DualRows dual({make_model_function(polynomial), data.rows(false), false, p, free});
  const auto all = collect(dual, x, Fill::jacobian_and_residual);
  for (std::size_t k = 0; k < free.size(); ++k) {
    const auto j = static_cast<std::size_t>(free[k]);
    for (std::size_t i = 0; i < data.x.size(); ++i) {
      const double slope = j == kTerms - 1 ? 1 : 2 * p[j];
      CHECK(all[k][i] == doctest::Approx(slope * std::pow(data.x[i], static_cast<double>(j))).epsilon(1e-13));
    }
  }
}

TEST_CASE("Several predictors and a callable generic in p alone reach dual numbers") {
  const std::vector<double> u{1, 2, 3}, v{4, 5, 6}, y{0, 0, 0};
  const auto rows = std::make_shared<MemoryRows>(std::vector<Column>{Column(u), Column(v), Column(y)});
  const auto plane = [](const auto& x, const auto& p) { return p[0] * x[0] + p[1] * x[1] * p[1]; };
  const DualRows dual({make_model_function(plane, 2), rows, false, {1, 1}, {0, 1}});
  const auto all = collect(dual, {2, 3}, Fill::jacobian_and_residual);
  CHECK(all[0] == u);
  CHECK(all[1] == std::vector<double>{24, 30, 36});
  CHECK(all[2] == std::vector<double>{38, 49, 60});
}

TEST_CASE("The error of central differences is as stated, and a side that is not finite is left out") {
  const std::vector<double> x{1, 2, 3}, y{0, 0, 0};
  const auto rows = std::make_shared<MemoryRows>(std::vector<Column>{Column(x), Column(y)});
  const auto f = [](double t, const std::vector<double>& p) { return std::exp(p[0] * t) + std::sqrt(p[1]); };
  const DifferenceRows smooth({make_model_function(f), rows, false, {1.0, 4.0}, {0, 1}});
  const auto all = collect(smooth, {1.0, 4.0}, Fill::jacobian_and_residual);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all[0][i] == doctest::Approx(x[i] * std::exp(x[i])).epsilon(2e-10 * x[i] * x[i]));
    CHECK(all[1][i] == doctest::Approx(0.25).epsilon(1e-9 + 1e-10 * std::exp(x[i])));
  }
  // At sqrt(1e-9) with steps of 6e-6, the value below is NaN, and the one above is used. Only the order is
  // checked.
  const DifferenceRows edge({make_model_function(f), rows, false, {1.0, 1.0}, {1}});
  const auto one_sided = collect(edge, {1e-9}, Fill::jacobian_and_residual);
  CHECK(std::isfinite(one_sided[0][0]));
  CHECK(one_sided[0][0] > 0);
  CHECK_THROWS_AS(DifferenceRows({make_model_function(f), rows, false, {1.0, 1.0}, {1}}, {1.0}),
                  ValidationError);
}

TEST_CASE("Exceptions of a callable pass through, and the next pass is clean") {
  const Data data = make_data(10);
  bool fail = true;
  const auto f = [&fail](double x, const std::vector<double>& p) {
    if (fail && p[0] > 1) throw std::runtime_error("beyond the table");
    return p[0] * x;
  };
  const DifferenceRows rows({make_model_function(f), data.rows(false), false, {1.0}, {0}});
  CHECK_THROWS_WITH_AS(collect(rows, {1.0}, Fill::jacobian_and_residual), "beyond the table",
                       std::runtime_error);
  const auto pass = rows.begin(std::vector<double>{1.0}, Fill::jacobian_and_residual, false);
  KernelCounters counters;
  CHECK_THROWS_AS(pass->fill_f64(0, 10, counters), std::runtime_error);
  fail = false;
  double* const* tile = pass->fill_f64(0, 10, counters);  // the pass that threw has its parameters again
  CHECK(tile[1][9] == doctest::Approx(data.x[9] - data.y[9]));
  CHECK(tile[0][9] == doctest::Approx(data.x[9]).epsilon(1e-10));
}

TEST_CASE("Columns, parameters and functions that do not fit together are errors") {
  const Data data = make_data(3);
  const ModelFunction function = make_model_function(decay);
  CHECK_THROWS_AS(DualRows({function, data.rows(false), true, {1, 1, 1}, {0}}), ValidationError);
  CHECK_THROWS_AS(DualRows({function, data.rows(false), false, {1, 1, 1}, {3}}), ValidationError);
  CHECK_THROWS_AS(DualRows({function, nullptr, false, {1, 1, 1}, {0}}), ValidationError);
  const auto doubles = make_model_function([](double x, const double* p) { return p[0] * x; });
  CHECK_THROWS_AS(DualRows({doubles, data.rows(false), false, {1}, {0}}), ValidationError);
}

namespace {

// With 600 residuals of three parameters, there are more than two tiles.
const auto many = [](const auto& p) {
  using std::exp;
  std::vector<std::remove_cvref_t<decltype(p[0])>> r;
  for (int i = 0; i < 600; ++i) r.push_back(p[0] * exp(-p[1] * (0.01 * i)) + p[2] * p[2] - 0.5);
  return r;
};
void many_slopes(std::span<const double> p, std::span<double> J) {
  REQUIRE(J.size() == 1800);
  for (std::size_t i = 0; i < 600; ++i) {
    const double x = 0.01 * static_cast<double>(i), e = std::exp(-p[1] * x);
    J[3 * i] = e, J[3 * i + 1] = -p[0] * x * e, J[3 * i + 2] = 2 * p[2];
  }
}

}  // namespace

TEST_CASE("A vector function's rows: dual numbers, the given Jacobian and differences agree") {
  const std::vector<double> start{1.0, 0.5, 2.0}, x{3.0, 1.5};
  const std::vector<int> free{2, 0};  // in any order
  const VectorFunction generic = make_vector_function(many);
  VectorFunction doubles = generic;
  doubles.trace = nullptr, doubles.dual = nullptr;
  const VectorRows dual(generic, start, free), given(generic, start, free, many_slopes),
      differences(doubles, start, free);
  CHECK(std::string(dual.kind()) == "dual");
  CHECK(std::string(given.kind()) == "derivatives");
  CHECK(std::string(differences.kind()) == "finite differences");
  const std::pair<const VectorRows*, double> models[] = {{&dual, 1e-14}, {&differences, 1e-8}};
  for (const auto& [model, tolerance] : models) {
    CHECK(model->rows() == 600);
    for (int k = 0; k < 2; ++k) model->prepare(x, Fill::jacobian_and_residual);  // differences to both sides
    const auto all = collect(*model, x, Fill::jacobian_and_residual);
    const auto again =
        collect(*model, x, Fill::jacobian_and_residual);  // the tiles of the first pass were overwritten
    CHECK(all == again);
    const auto alone = collect(*model, x, Fill::residual);
    CHECK(alone[2] == all[2]);
    std::vector<double> reference(600), sizes(600);
    model->reference_residuals(x, 0, 600, reference.data(), sizes.data());
    CHECK(reference == many(std::vector<double>{1.5, 0.5, 3.0}));
    CHECK(all[2] == reference);
    for (std::size_t i = 0; i < 600; ++i) {
      CHECK(all[0][i] == doctest::Approx(6.0).epsilon(tolerance));
      CHECK(all[1][i] == doctest::Approx(std::exp(-0.005 * static_cast<double>(i))).epsilon(tolerance));
      CHECK(sizes[i] >= std::fabs(reference[i]));
    }
    CHECK_THROWS_AS(model->begin(x, Fill::residual, true), ValidationError);
  }
}

TEST_CASE("A vector function is called once for each x, and again for the reference") {
  int calls = 0;
  const auto f = [&calls](const std::vector<double>& p) {
    ++calls;
    return std::vector<double>(1000, p[0]);
  };
  const VectorRows rows(make_vector_function(f), {1.0}, {0});
  CHECK(calls == 1);
  const std::vector<double> x{2.0};
  std::thread one([&] { rows.begin(x, Fill::residual, false); }),
      two([&] { rows.begin(x, Fill::residual, false); });
  one.join(), two.join();
  CHECK(calls == 2);
  rows.begin(x, Fill::jacobian_and_residual, false);
  CHECK(calls == 4);  // its residuals are known already
  std::vector<double> r(1000), sizes(1000);
  for (std::size_t first = 0; first < 1000; first += 250)
    rows.reference_residuals(x, first, 250, &r[first], &sizes[first]);
  CHECK(calls == 5);
  rows.reference_residuals(x, 0, 250, r.data(), sizes.data());
  CHECK(calls == 6);
}

TEST_CASE(
    "Far from all earlier points differences are to one side; near them and at a second look, to both") {
  int calls = 0;
  const auto f = [&calls](const std::vector<double>& p) {
    ++calls;
    return std::vector<double>{p[0] * p[0] * p[0], std::exp(p[1])};
  };
  const VectorRows rows(make_vector_function(f), {1.0, 1.0}, {0, 1});
  const auto calls_for = [&](std::vector<double> x) {
    const int before = calls;
    rows.prepare(x, Fill::jacobian_and_residual);
    return calls - before;
  };
  {
    const VectorRows elsewhere(make_vector_function(f), {1.0, 1.0}, {0, 1});
    elsewhere.prepare(std::vector<double>{5, 1}, Fill::jacobian_and_residual);  // no fit begins there
    CHECK_FALSE(elsewhere.rough(std::vector<double>{5, 1}));
  }
  CHECK(calls_for({1, 1}) == 2);  // this is the first point, whose residuals are known
  CHECK(rows.rough(std::vector<double>{1, 1}));
  CHECK(calls_for({2, 1}) == 3);
  const auto slope = [&] { return collect(rows, {2, 1}, Fill::jacobian_and_residual)[0][0]; };
  CHECK(std::fabs(slope() - 12) > 1e-6);
  CHECK(std::fabs(slope() - 12) < 1e-3);
  CHECK(rows.rough(std::vector<double>{2, 1}));
  CHECK(calls_for({2, 1}) == 4);  // the fit has come back, so both sides are used
  CHECK_FALSE(rows.rough(std::vector<double>{2, 1}));
  CHECK(std::fabs(slope() - 12) < 1e-8);
  CHECK(calls_for({2, 1}) == 0);  // they are known now
  CHECK(calls_for({1, 1}) == 4);  // it is back at the start, so both sides are used
  const std::vector<double> beside{2, 1.0000001};
  CHECK(calls_for(beside) == 3);  // what the other sides add is that of the point beside it
  CHECK_FALSE(rows.rough(beside));
  CHECK(std::fabs(collect(rows, beside, Fill::jacobian_and_residual)[1][1] - std::exp(beside[1])) < 1e-9);
  CHECK(calls_for({2, 1.000003}) == 5);  // this is too far for that, but near enough for both sides
  CHECK(calls_for({3, 2}) == 3);
  CHECK(calls_for({4, 3}) == 3);
  CHECK(calls_for({1, 1}) == 0);  // the start is kept
}

TEST_CASE("Far from earlier points, too, differences are to both sides where a step moves small residuals") {
  int calls = 0;
  const auto f = [&calls](const std::vector<double>& p) {
    ++calls;
    return std::vector<double>{p[0] - 2, std::exp(p[1]) - std::exp(3.0)};
  };
  const VectorRows rows(make_vector_function(f), {1.0, 1.0}, {0, 1});
  const auto calls_for = [&](std::vector<double> x) {
    const int before = calls;
    rows.prepare(x, Fill::jacobian_and_residual);
    return calls - before;
  };
  CHECK(calls_for({1, 1}) == 2);
  CHECK(calls_for({2.00000001, 3.00000001}) == 5);
  CHECK_FALSE(rows.rough(std::vector<double>{2.00000001, 3.00000001}));
  CHECK(calls_for({2, 3}) == 3);  // what the other sides add is that of the point beside it
  CHECK(std::fabs(collect(rows, {2, 3}, Fill::jacobian_and_residual)[1][1] - std::exp(3.0)) < 1e-8);
}

TEST_CASE("Derivatives stay right where residuals and derivatives fall to 0") {
  const auto f = [](const std::vector<double>& p) { return std::vector<double>{p[0] * p[0], p[0]}; };
  const VectorRows rows(make_vector_function(f), {1.0}, {0});
  for (const double x : {1e-6, 3e-8, 2e-8, 1e-8}) {
    rows.prepare(std::vector<double>{x}, Fill::jacobian_and_residual);
    CHECK(std::fabs(collect(rows, {x}, Fill::jacobian_and_residual)[0][0] - 2 * x) < 1e-9 * x);
  }
}

TEST_CASE("A vector function whose length changes is an error, and so is a wrong index") {
  const auto f = [](const std::vector<double>& p) { return std::vector<double>(p[0] > 1 ? 2 : 3, 1.0); };
  const VectorRows rows(make_vector_function(f), {0.0}, {0});
  CHECK_THROWS_AS(rows.begin(std::vector<double>{2.0}, Fill::residual, false), ValidationError);
  CHECK_THROWS_AS(VectorRows(make_vector_function(f), {0.0}, {1}), ValidationError);
}

TEST_CASE("A given Jacobian that leaves entries out shows NaN") {
  const auto partial = [](std::span<const double>, std::span<double> J) { J[0] = 1; };
  const VectorRows rows(make_vector_function(many), {1, 1, 1}, {0, 1}, partial);
  const auto all = collect(rows, {1, 1}, Fill::jacobian_and_residual);
  CHECK(all[0][0] == 1);
  CHECK(std::isnan(all[1][0]));
}
