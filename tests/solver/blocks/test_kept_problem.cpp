// Tests problems that are solved again, unchanged and after blocks were added and removed. The data that are
// kept from solve to solve must change nothing but the time.
#include <sliding_window.hpp>

#include <nlsq/covariance.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace nlsq;

namespace {

using sliding_window::Motion;
using sliding_window::Sight;

SolverOptions usual(int threads = 1) {
  SolverOptions options;
  options.threads = threads;
  options.ftol = 1e-8;
  return options;
}

// Solves by one problem that it keeps, and by one that is made anew from the same start each time. Both must
// give the same bits.
struct Twice {
  Problem kept;
  int threads;
  std::vector<std::tuple<Sight, double*, double*>> sights;
  std::vector<std::tuple<Motion, double*, double*>> motions;
  std::vector<std::pair<double*, int>> blocks;
  double* held = nullptr;
  int different = 0;

  explicit Twice(int count) : threads(count) {}
  void add_pose(double* pose) { enter(pose, 6); }
  void add_point(double* point) { enter(point, 3); }
  void enter(double* block, int size) {
    kept.add_parameter_block(block, size);
    blocks.emplace_back(block, size);
  }
  void add(const Sight& sight, double* pose, double* point) {
    kept.add_residual_block(sight, Loss::huber(2), {pose, point});
    sights.emplace_back(sight, pose, point);
  }
  void add(const Motion& motion, double* a, double* b) {
    kept.add_residual_block(motion, nullptr, {a, b});
    motions.emplace_back(motion, a, b);
  }
  void remove(double* block) {
    kept.remove_parameter_block(block);
    const auto uses = [block](const auto& entry) {
      return std::get<1>(entry) == block || std::get<2>(entry) == block;
    };
    std::erase_if(sights, uses);
    std::erase_if(motions, uses);
    std::erase_if(blocks, [block](const auto& b) { return b.first == block; });
  }
  void hold(double* pose) { kept.set_constant(held = pose); }
  std::vector<double> numbers() const {
    std::vector<double> out;
    for (const auto& [block, size] : blocks) out.insert(out.end(), block, block + size);
    return out;
  }
  double solve() {
    const std::vector<double> start = numbers();
    const Summary summary = nlsq::solve(kept, usual(threads));
    const std::vector<double> end = numbers();
    const double* from = start.data();
    for (const auto& [block, size] : blocks) {
      std::copy_n(from, size, block);
      from += size;
    }
    Problem fresh;
    for (const auto& [block, size] : blocks) fresh.add_parameter_block(block, size);
    fresh.set_constant(held);
    // Adds blocks in their order, as far as two lists keep it. The order of residual blocks matters here only
    // through the order of elimination, which follows that of parameter blocks.
    for (const auto& [motion, a, b] : motions) fresh.add_residual_block(motion, nullptr, {a, b});
    for (const auto& [sight, pose, point] : sights)
      fresh.add_residual_block(sight, Loss::huber(2), {pose, point});
    const Summary again = nlsq::solve(fresh, usual(1));
    CHECK(summary.evaluator == "graph");
    if (numbers() != end || again.final_cost != summary.final_cost) ++different;
    return summary.final_cost;
  }
};

// Counts the calls that record or replay.
struct Counting {
  static constexpr int residuals = 1;
  double x, y;
  std::shared_ptr<int> recorded;
  template <class T>
  bool operator()(const T* p, T* r) const {
    if constexpr (std::is_same_v<T, Traced>) ++*recorded;
    r[0] = p[0] + p[1] * x - y;
    return true;
  }
};

struct Pull {
  static constexpr int residuals = 1;
  const double* weight;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = *weight * (p[0] - p[1]);
    return true;
  }
};

struct At {
  static constexpr int residuals = 1;
  const double* place;
  int which;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[which] - *place;
    return true;
  }
};

}  // namespace

TEST_CASE("A window that slides has the bits of one made anew at every frame, on one thread and on three") {
  const sliding_window::Drive drive = sliding_window::drive(24, 3);
  std::vector<double> costs;
  for (const int threads : {1, 3}) {
    Twice estimator(threads);
    const std::vector<double> mine = sliding_window::slide(drive, estimator);
    CHECK(mine.size() == 15);
    CHECK(estimator.different == 0);
    for (const double cost : mine) CHECK(cost < 1000);
    if (!costs.empty()) CHECK(mine == costs);
    costs = mine;
  }
}

TEST_CASE("Functions are called to be recorded when they are new, and not again") {
  double p[2] = {0, 0};
  const auto recorded = std::make_shared<int>(0);
  Problem problem;
  for (int i = 0; i < 50; ++i)
    problem.add_residual_block(Counting{0.1 * i, 3 - 0.2 * i, recorded}, nullptr, {p});
  const Summary first = solve(problem);
  CHECK(*recorded >= 50);
  *recorded = 0;
  p[0] = p[1] = 0;
  const Summary second = solve(problem);
  CHECK(*recorded == 0);
  CHECK(second.final_cost == first.final_cost);
  CHECK(second.accepted == first.accepted);
  CHECK(second.precision.counters.rows_f64 ==
        first.precision.counters.rows_f64 +
            100);  // beside the start: for branches, and to compare the functions
  const ResidualBlockId extra = problem.add_residual_block(Counting{9, 9, recorded}, nullptr, {p});
  solve(problem);
  CHECK(*recorded >= 1);
  CHECK(*recorded <= 3);
  *recorded = 0;
  problem.remove_residual_block(extra);
  p[0] = p[1] = 0;
  CHECK(solve(problem).final_cost == first.final_cost);
  CHECK(*recorded == 0);
}

TEST_CASE("Data that functions refer to may change from solve to solve") {
  double p[2] = {0, 0}, weight = 1, one = 1, three = 3;
  Problem problem;
  problem.add_residual_block(Pull{&weight}, nullptr, {p});
  problem.add_residual_block(At{&one, 0}, nullptr, {p});
  problem.add_residual_block(At{&three, 1}, nullptr, {p});
  const auto solved = [&](double w, double a, double b) {  // w²(p - q) + p - a = 0, w²(q - p) + q - b = 0
    CHECK(solve(problem).certificate.passed);
    CHECK(p[0] + p[1] == doctest::Approx(a + b));
    CHECK(p[0] - p[1] == doctest::Approx((a - b) / (1 + 2 * w * w)));
  };
  solved(1, 1, 3);
  weight = 2;
  solved(2, 1, 3);
  three = 1;
  solved(2, 1, 1);  // with p = q, the residuals do not show the weight
  weight = 5;
  one = 7;
  solved(5, 7, 1);
  three = 7;
  solved(5, 7, 7);
  weight = 0.1;
  const double five = 5;
  problem.add_residual_block(At{&five, 0}, nullptr, {p});  // nothing that shows at the start has changed
  const Summary summary = solve(problem);
  CHECK(summary.certificate.recheck_passed);
  // The solution satisfies 0.01 (p - q) + 2p - 12 = 0, 0.01 (q - p) + q - 7 = 0.
  CHECK(0.01 * (p[0] - p[1]) + 2 * p[0] == doctest::Approx(12));
  CHECK(0.01 * (p[1] - p[0]) + p[1] == doctest::Approx(7));
}

namespace {

// The lens bends the line more towards its ends. It begins without that term, and then has it.
struct Lens {
  double u, y;
  const double* bends;
  template <class T>
  bool operator()(const T* line, const T* k, T* r) const {
    r[0] = line[0] * u * (1.0 + k[0] * T(*bends * u * u)) + line[1] - y;
    return true;
  }
};

}  // namespace

TEST_CASE("A number that multiplies a zero at the start and at the end may change, too") {
  for (const bool bounded : {false, true}) {
    double line[2] = {1, 0}, k[1] = {0}, bends = 0;
    Problem problem;
    for (int i = 0; i < 60; ++i) {
      const double u = -1 + i / 30.0;
      problem.add_residual_block<1>(
          Lens{u, 2 * u * (1 + 0.3 * u * u) + 0.5 + 0.001 * std::cos(9.0 * i), &bends}, nullptr, {line, k});
    }
    if (bounded) problem.set_lower_bound(k, 0, 0);
    for (int round = 0; round < 3; ++round) solve(problem);
    CHECK(k[0] == 0);
    bends = 1;
    solve(problem);
    CHECK(k[0] == doctest::Approx(0.3).epsilon(0.01));
    CHECK(line[0] == doctest::Approx(2).epsilon(0.01));

    bends = 0;
    k[0] = 0;
    solve(problem);
    bends = 2;
    CHECK(covariance(problem, {line, k}).block(k, k)(0, 0) > 0);
  }
}

TEST_CASE("A function that can be called at the start, and not beside it") {
  double p[1] = {3};
  bool strict = false;
  Problem problem;
  problem.add_residual_block<1>(
      [&strict](const auto* q, auto* r) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*q)>, double>) {
          if (strict && q[0] != 2) throw std::runtime_error("not here");
        }
        r[0] = q[0] - 2.0;
        return true;
      },
      nullptr, {p});
  solve(problem);
  CHECK(p[0] == 2);
  strict = true;
  CHECK(solve(problem).certificate.passed);
  CHECK(p[0] == 2);
}

TEST_CASE("A branch that is first taken at the next start is recorded there") {
  double p[1] = {4};
  Problem problem;
  for (int i = 1; i <= 40; ++i) {
    const double y = 0.01 * i;
    problem.add_residual_block([y](const auto* q) { return q[0] > 0.0 ? q[0] - 2.0 - y : q[0] + 5.0 + y; },
                               nullptr, {p});
  }
  solve(problem);
  CHECK(p[0] == doctest::Approx(2.205));
  p[0] = -1;
  const Summary summary = solve(problem);
  CHECK(p[0] == doctest::Approx(-5.205));
  CHECK(summary.evaluator == "graph");
  CHECK(summary.certificate.passed);
}

// As a registration that starts without a rotation, where functions take the branch of small angles.
TEST_CASE("A short solve that leaves the branch of its start records each function once") {
  int recordings = 0;
  double p[1] = {0};
  Problem problem;
  for (int i = 1; i <= 40; ++i) {
    const double y = 1 + 0.01 * i;
    problem.add_residual_block(
        [y, &recordings](const auto* q) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*q)>, Traced>) ++recordings;
          using std::exp;
          return q[0] > 0.0 ? exp(q[0]) - y : 1.0 + q[0] - y;
        },
        nullptr, {p});
  }
  const Summary summary = solve(problem);
  CHECK(summary.certificate.passed);
  CHECK(std::exp(p[0]) == doctest::Approx(1.205));
  CHECK(recordings <= 42);  // the first block is called twice, to compare its recording with a second one
}

TEST_CASE("Blocks are removed by numbers that stay theirs, and once") {
  std::vector<double> values(20, 1.0);
  Problem problem;
  std::vector<ResidualBlockId> ids;
  for (int i = 0; i + 1 < 20; ++i) {
    ids.push_back(problem.add_residual_block<1>(
        [](const auto* a, const auto* b, auto* r) {
          r[0] = a[0] - b[0];
          return true;
        },
        nullptr,
        {BlockRef(std::span(&values[static_cast<std::size_t>(i)], 1)),
         BlockRef(std::span(&values[static_cast<std::size_t>(i) + 1], 1))}));
  }
  problem.remove_parameter_block(&values[5]);
  CHECK(problem.residual_blocks() == 17);
  CHECK(problem.residuals() == 17);
  CHECK(problem.evaluate().residuals.size() == 17);
  CHECK_THROWS_AS(problem.remove_residual_block(ids[4]), ValidationError);
  solve(problem);
  problem.remove_residual_block(ids[18]);
  CHECK_THROWS_AS(problem.remove_residual_block(ids[18]), ValidationError);
  CHECK_THROWS_AS(problem.remove_residual_block(ids[5]), ValidationError);
  problem.remove_residual_block(ids[0]);
  CHECK(problem.residual_blocks() == 15);
  // The address may be used again.
  problem.add_parameter_block(&values[5], 1);
  const ResidualBlockId last = problem.add_residual_block([](const auto* a) { return a[0] - 6.0; }, nullptr,
                                                          {BlockRef(std::span(&values[5], 1))});
  CHECK(last.index == 19);
  solve(problem);
  CHECK(values[5] == doctest::Approx(6));
  CHECK(problem.residual_blocks() == 16);
}

TEST_CASE("A hundred thousand blocks that came and went leave no trace") {
  double p[1] = {0}, moving[3] = {0, 0, 0};
  Problem problem;
  problem.add_residual_block([](const auto* q) { return q[0] - 1.0; }, nullptr, {p});
  for (int round = 0; round < 100; ++round) {
    problem.add_parameter_block(moving, 3);
    for (int i = 0; i < 1000; ++i)
      problem.add_residual_block<1>(
          [](const auto* a, auto* r) {
            r[0] = a[0] + a[1] + a[2];
            return true;
          },
          nullptr, {moving});
    problem.remove_parameter_block(moving);
    if (round % 10 == 0) solve(problem);
  }
  const Summary summary = solve(problem);
  CHECK(problem.residual_blocks() == 1);
  CHECK(summary.evaluator_note == "graph: 1 blocks; 1 programs");
  CHECK(summary.peak_bytes < 10000);
}

TEST_CASE("A function that throws leaves a problem that can be solved again") {
  double p[1] = {3};
  bool broken = false;
  Problem problem;
  problem.add_residual_block<1>(
      [&broken](const double* q, double* r) {
        if (broken) throw std::runtime_error("sensor gone");
        r[0] = q[0] - 2;
        return true;
      },
      nullptr, {p});
  solve(problem);
  CHECK(p[0] == doctest::Approx(2));
  broken = true;
  p[0] = 7;
  CHECK_THROWS_WITH(solve(problem), "sensor gone");
  CHECK(p[0] == 7);
  broken = false;
  solve(problem);
  CHECK(p[0] == doctest::Approx(2));
}

TEST_CASE("Damping falls fast where the linear model predicts the cost exactly") {
  double p[2] = {0, 0};  // these are two nearly equal columns
  Problem problem;
  for (int i = 0; i < 30; ++i) {
    const double x = 0.001 * i;
    problem.add_residual_block([x](const auto* q) { return q[0] + q[1] * (1 + x) - 3 * x + 0.1; }, nullptr,
                               {p});
  }
  const Summary summary = solve(problem, usual());
  CHECK(p[1] == doctest::Approx(3).epsilon(1e-6));
  CHECK(summary.accepted <= 9);  // steps by thirds would be 12
}
