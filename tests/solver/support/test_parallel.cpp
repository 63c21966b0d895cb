// Tests work that is divided by executors that do what they promise and by others that do not, and by
// callables with threads of their own.
#include <nlsq/nlsq.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include "rows/calls/fallback_rows.hpp"
#include "rows/sample_rows.hpp"

#include "dense/dense_evaluator.hpp"
#include "dense/row_groups.hpp"
#include "support/parallel.hpp"

#include <atomic>
#include <cmath>
#include <set>
#include <stdexcept>
#include <thread>

using namespace nlsq;

namespace {

using Task = std::function<void(std::size_t)>;

constexpr std::size_t kRows = 1 << 17;

// It has enough rows for several tasks.
struct Line {
  std::vector<double> x = std::vector<double>(kRows), y = std::vector<double>(kRows);
  Line() {
    for (std::size_t i = 0; i < kRows; ++i) {
      x[i] = static_cast<double>(i) / kRows;
      y[i] = 2 * std::exp(-x[i]) + 1e-3 * std::sin(static_cast<double>(i));
    }
  }
};

}  // namespace

TEST_CASE("an executor that leaves tasks out, or runs one twice, is an error that says so") {
  const Line line;
  const auto fit = [&](const std::function<void(std::size_t, const Task&)>& executor) {
    FitOptions options;
    options.executor = executor;
    return curve_fit("a*exp(-b*x)", line.x, line.y, {{"a", 1}, {"b", 2}}, options);
  };
  CHECK(fit([](std::size_t count, const Task& task) {
          for (std::size_t i = count; i-- > 0;) task(i);
        }).success());
  CHECK_THROWS_AS(fit([](std::size_t, const Task&) {}), ValidationError);
  CHECK_THROWS_AS(fit([](std::size_t count, const Task& task) {
                    for (std::size_t i = 1; i < count; ++i) task(i);
                  }),
                  ValidationError);
  CHECK_THROWS_AS(fit([](std::size_t count, const Task& task) {
                    for (std::size_t i = 0; i <= count; ++i) task(i % count);
                  }),
                  ValidationError);
  CHECK_THROWS_AS(fit([](std::size_t count, const Task& task) {
                    for (std::size_t i = 0; i <= count; ++i) task(i);
                  }),
                  ValidationError);
  try {
    run_tasks(8, {0, [](std::size_t, const Task& task) { task(3); }}, [](std::size_t) {});
    CHECK(false);
  } catch (const ValidationError& error) {
    CHECK(std::string(error.what()).find("1 of 8") != std::string::npos);
  }
}

TEST_CASE(
    "if tasks of an executor throw, the exception of the lowest-numbered task is rethrown, not a count") {
  const auto half = [](std::size_t count, const Task& task) {
    for (std::size_t i = 0; i < count / 2; ++i) task(i);
  };
  CHECK_THROWS_AS(run_tasks(8, {0, half},
                            [](std::size_t i) {
                              if (i == 2) throw std::out_of_range("row");
                            }),
                  std::out_of_range);
}

TEST_CASE("threads that took part are counted") {
  const auto on_three = [](std::size_t count, const Task& task) {
    for (std::size_t first = 0; first < 3; ++first) {
      std::thread([&] {
        for (std::size_t i = first; i < count; i += 3) task(i);
      }).join();
    }
  };
  // A thread that has ended may leave its number to the next.
  const int counted = run_tasks(9, {0, on_three}, [](std::size_t) {});
  CHECK((counted >= 1 && counted <= 3));
  CHECK(run_tasks(9, {1, {}}, [](std::size_t) {}) == 1);

  const Line line;
  FitOptions options;
  options.threads = 1;
  CHECK(curve_fit("a*exp(-b*x)", line.x, line.y, {{"a", 1}, {"b", 2}}, options).summary.threads == 1);
  options.threads = 0;
  const std::vector<double> few{0, 1, 2, 3, 4}, values{2, 1, 0.5, 0.2, 0.1};
  CHECK(curve_fit("a*exp(-b*x)", few, values, {{"a", 1}, {"b", 2}}, options).summary.threads ==
        1);  // it is not worth a second thread
}

TEST_CASE(
    "a vector function is called before the work is shared out, once for a point, by the caller's thread") {
  const Line line;
  std::atomic<bool> sharing{false};
  std::atomic<int> calls_in_tasks{0}, calls{0};
  const auto caller = std::this_thread::get_id();
  const auto residuals = [&](const std::vector<double>& p) {
    ++calls;
    if (sharing || std::this_thread::get_id() != caller) ++calls_in_tasks;
    std::vector<double> r(kRows);
    for (std::size_t i = 0; i < kRows; ++i) r[i] = p[0] * std::exp(-p[1] * line.x[i]) - line.y[i];
    return r;
  };
  LeastSquaresOptions options;
  options.executor = [&](std::size_t count, const Task& task) {
    sharing = true;
    for (std::size_t i = 0; i < count; ++i) task(i);
    sharing = false;
  };
  CHECK(least_squares(residuals, {1.0, 2.0}, options).success());
  CHECK(calls > 0);
  CHECK(calls_in_tasks == 0);
}

TEST_CASE(
    "a problem of a few residual blocks wakes no threads, one of many does, and so do functions that are not "
    "recorded") {
  for (const bool recorded : {true, false}) {
    for (const int blocks : {1, 50, 20000}) {
      double p[2] = {1, 1};
      Problem problem;
      for (int i = 0; i < blocks; ++i) {
        const double t = 2.0 * i / blocks, y = 3 * std::exp(-0.5 * t);
        if (recorded) {
          problem.add_residual_block(
              [t, y](const auto* q) {
                using std::exp;
                return q[0] * exp(-q[1] * t) - y;
              },
              nullptr, {p});
        } else {
          problem.add_residual_block([t, y](const double* q) { return q[0] * std::exp(-q[1] * t) - y; },
                                     nullptr, {p});
        }
        problem.add_residual_block([](const auto* q) { return 1e-3 * (q[0] - 3.0); }, nullptr,
                                   {p});  // this has a program of its own
      }
      int asked = 0;
      SolverOptions options;
      options.executor = [&](std::size_t count, const Task& task) {
        ++asked;
        for (std::size_t i = 0; i < count; ++i) task(i);
      };
      CHECK(solve(problem, options).certificate.passed);
      CAPTURE(blocks);
      CHECK((asked > 0) == (blocks > 1000 || !recorded));
    }
  }
}

TEST_CASE("a vector function that throws is called once, not once for every task") {
  const Line line;
  int thrown = 0;
  const auto residuals = [&](const std::vector<double>& p) {
    if (p[0] != 1.0) {
      ++thrown;
      throw std::runtime_error("no");
    }
    std::vector<double> r(kRows);
    for (std::size_t i = 0; i < kRows; ++i) r[i] = p[0] * std::exp(-p[1] * line.x[i]) - line.y[i];
    return r;
  };
  LeastSquaresOptions options;
  options.jacobian = [&](std::span<const double> p, std::span<double> J) {
    for (std::size_t i = 0; i < kRows; ++i) {
      J[2 * i] = std::exp(-p[1] * line.x[i]);
      J[2 * i + 1] = -p[0] * line.x[i] * J[2 * i];
    }
  };
  options.executor = [&](std::size_t count, const Task& task) {
    for (std::size_t i = 0; i < count; ++i) task(i);
  };
  CHECK_THROWS_AS(least_squares(residuals, {1.0, 2.0}, options), std::runtime_error);
  CHECK(thrown == 1);
}

TEST_CASE("groups of rows spread over a sample as they do over all rows") {
  std::vector<double> x(1 << 18), y(1 << 18, 1.0);
  const ModelFunction line =
      make_model_function([](double at, const std::vector<double>& p) { return p[0] * at; });
  DifferenceRows all({line, std::make_shared<MemoryRows>(std::vector<Column>{x, y}), false, {1.0}, {0}});
  SampleRows sample(all, all.rows() / 16);
  const auto tiles_met = [](const RowModel& rows) {
    std::set<std::size_t> met;
    for (const TileRange& group : row_groups(rows, 1024)) {
      bool inside = false;
      for (std::size_t t = 0; t < rows.tile_count(); ++t) {
        const TileRange tile = rows.tile(t);
        if (group.first >= tile.first && group.first + group.count <= tile.first + tile.count) {
          inside = true;
          met.insert(t);
        }
      }
      CHECK(inside);
    }
    return met;
  };
  const std::set<std::size_t> met = tiles_met(sample);
  CHECK(met.size() == 16);
  CHECK(*met.rbegin() >= sample.tile_count() * 7 / 8);  // the last sixteenth begins at 15/16
  CHECK(tiles_met(all).size() == 16);
}
