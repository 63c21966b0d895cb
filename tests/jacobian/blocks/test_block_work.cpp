// Tests which programs of residual blocks are worth making, and how well their numbers are known.
#include "blocks/block_reference.hpp"
#include "blocks_side_by_side.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace nlsq;
using blocks_side_by_side::Blocks, blocks_side_by_side::evaluate, blocks_side_by_side::Values;

namespace {

constexpr double kSolve = 20;  // so many evaluations of J

// Computes a curve whose data are inside one functor. It counts how often it was recorded.
struct Curve {
  int rows;
  double shift;
  static inline int recorded = 0;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    if constexpr (std::is_same_v<T, Traced>) ++recorded;
    for (int i = 0; i < rows; ++i) r[i] = p[0] * exp(-p[1] * (0.01 * i)) + p[2] - (shift + 0.001 * i);
    return true;
  }
};

Blocks curves(int count, int rows, int more_rows_each = 0) {
  Blocks blocks;
  for (int b = 0; b < count; ++b) {
    const int own = rows + b * more_rows_each;
    blocks.add(make_block_function<1>(Curve{own, 0.1 * b}, own), {{1 + 0.01 * b, 0.5, 0.2}});
  }
  return blocks;
}

// Computes a state that develops from residual to residual, so that each depends on all before it.
struct Trajectory {
  int rows;
  double y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::sin;
    T state = p[0];
    for (int i = 0; i < rows; ++i) {
      state = state + 0.05 * (p[1] * sin(state) - p[2] * state);
      r[i] = state - y;
    }
    return true;
  }
};

// Inverts a small matrix that is nearly singular, by cofactors.
struct Inverse {
  double b;
  template <class T>
  bool operator()(const T* m, T* r) const {
    const T c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6];
    const T determinant = m[0] * c0 + m[1] * c1 + m[2] * c2;
    r[0] = (c0 + b * (m[2] * m[7] - m[1] * m[8]) + (m[1] * m[5] - m[2] * m[4])) / determinant;
    r[1] = (c1 + b * (m[0] * m[8] - m[2] * m[6]) + (m[2] * m[3] - m[0] * m[5])) / determinant;
    r[2] = (c2 + b * (m[1] * m[6] - m[0] * m[7]) + (m[0] * m[4] - m[1] * m[3])) / determinant;
    return true;
  }
};

// Returns a matrix with rows u, v and a combination of them that is off by `gap`.
std::vector<double> nearly_singular(std::mt19937& random, double gap) {
  const auto number = [&] { return static_cast<double>(random()) / 4294967296.0 * 2 - 1; };
  std::vector<double> m(9);
  for (int k = 0; k < 6; ++k) m[static_cast<std::size_t>(k)] = number();
  const double s = number(), t = number();
  for (std::size_t k = 0; k < 3; ++k) m[6 + k] = s * m[k] + t * m[3 + k] + gap * number();
  return m;
}

Blocks inverses(double gap, unsigned seed) {
  std::mt19937 random(seed);
  Blocks blocks;
  for (int b = 0; b < 40; ++b)
    blocks.add(make_block_function<1>(Inverse{0.3 + 0.01 * b}, 3), {nearly_singular(random, gap)});
  return blocks;
}

// Returns the largest difference of J from dual numbers, relative to the largest derivative of the block.
double worst_slope(const Blocks& blocks, const Values& v) {
  double worst = 0;
  for (std::size_t b = 0; b < blocks.list.blocks(); ++b) {
    const std::uint32_t p = blocks.list.of(b)[0];
    const auto rows = static_cast<std::size_t>(blocks.list.function(b).residuals()),
               n = static_cast<std::size_t>(blocks.list.sizes[p]);
    BlockCaller caller(std::vector<int>{blocks.list.sizes[p]});
    std::vector<double> r(rows), J(rows * n);
    REQUIRE(caller.derivatives(blocks.list.function(b), blocks.x.data() + blocks.list.offsets[p], r.data(),
                               J.data()));
    double size = 0;
    for (const double slope : J) size = std::max(size, std::fabs(slope));
    for (std::size_t k = 0; k < J.size(); ++k)
      worst = std::max(worst, std::fabs(v.J[blocks.list.record[b] + k] - J[k]) / size);
  }
  return worst;
}

}  // namespace

TEST_CASE("A long block alone is not recorded; dual numbers give its derivatives") {
  Blocks blocks = curves(1, 1000);
  blocks.list.evaluations = kSolve;
  Curve::recorded = 0;
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(Curve::recorded == 0);
  CHECK(evaluator.programs() == 0);
  CHECK(evaluator.counts().dual == 1);
  CHECK(evaluator.counts().left_to_dual_numbers == 1);
  CHECK(evaluator.note() == "a program would cost more than it saves");
  CHECK(worst_slope(blocks, evaluate(blocks, evaluator, blocks.x)) == 0);
}

TEST_CASE("If the number of evaluations of J is not given, programs are made") {
  const Blocks blocks = curves(1, 1000);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.programs() == 1);
  CHECK(evaluator.counts().left_to_dual_numbers == 0);
  CHECK(worst_slope(blocks, evaluate(blocks, evaluator, blocks.x)) <= 1e-14);
}

TEST_CASE("Blocks each of a shape of its own share no program, and none is made") {
  Blocks blocks = curves(60, 20, 1);
  blocks.list.evaluations = kSolve;
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.programs() == 0);
  CHECK(evaluator.counts().left_to_dual_numbers == 60);
  CHECK(evaluator.jacobian_cost() > 0);
  CHECK(worst_slope(blocks, evaluate(blocks, evaluator, blocks.x)) == 0);
  // A second look must give the same. Earlier programs must decide nothing.
  blocks.list.evaluations = 0;
  CHECK(BlockEvaluator(blocks.list, blocks.x).programs() == 60);
  blocks.list.evaluations = kSolve;
  CHECK(BlockEvaluator(blocks.list, blocks.x).programs() == 0);
}

TEST_CASE("Many blocks of one shape share a program, and one small one has its own, too") {
  Blocks many = curves(2000, 5), one = curves(1, 2), few = curves(6, 2, 1);
  many.list.evaluations = one.list.evaluations = few.list.evaluations = kSolve;
  CHECK(BlockEvaluator(many.list, many.x).programs() == 1);
  CHECK(BlockEvaluator(one.list, one.x).programs() == 1);
  CHECK(BlockEvaluator(few.list, few.x).programs() == 0);
}

TEST_CASE("Residuals that are mostly one computation are derived together") {
  Blocks blocks;
  for (int b = 0; b < 12; ++b)
    blocks.add(make_block_function<1>(Trajectory{400, 0.1 * b}, 400), {{0.3 + 0.1 * b, 0.9, 0.4}});
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.programs() == 1);
  CHECK(worst_slope(blocks, evaluate(blocks, evaluator, blocks.x)) <= 1e-12);
}

TEST_CASE("A program is not distrusted for what rounding makes of a function that is badly conditioned") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    for (const double gap : {1e-3, 1e-5, 1e-7}) {
      const Blocks blocks = inverses(gap, seed);
      const BlockEvaluator evaluator(blocks.list, blocks.x);
      CAPTURE(seed);
      CAPTURE(gap);
      CHECK(evaluator.counts().traced == 40);
    }
  }
}

TEST_CASE(
    "Bounds of rounding hold what a program differs from its function by, and are no larger than they need "
    "be") {
  double most_used = 0;
  for (const double gap : {1.0, 1e-3, 1e-6}) {
    const Blocks blocks = inverses(gap, 3);
    const BlockEvaluator evaluator(blocks.list, blocks.x);
    const auto pass = evaluator.begin();
    std::vector<double> r(blocks.residuals), own(blocks.residuals), bounds(blocks.residuals, -1);
    for (std::size_t tile = 0; tile < evaluator.tiles(); ++tile) {
      pass->residuals(tile, blocks.x, r.data());
      pass->reference(tile, blocks.x, own.data());
      pass->rounding(tile, blocks.x, bounds.data(), INFINITY);
    }
    double largest = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      CHECK(bounds[i] > 0);
      CHECK(std::fabs(r[i] - own[i]) <= 2 * bounds[i]);
      most_used = std::max(most_used, std::fabs(r[i] - own[i]) / bounds[i]);
      largest = std::max(largest, bounds[i] / std::fabs(own[i]));
    }
    CHECK(largest <= 1e-11 / gap);
  }
  CHECK(most_used >= 1e-3);
}

TEST_CASE("Blocks without a program have the same bounds of rounding as with one") {
  Blocks with = curves(2, 1000), without = curves(2, 1000);
  without.list.evaluations = kSolve;
  const auto bounds_of = [](const Blocks& blocks, std::size_t programs) {
    const BlockEvaluator evaluator(blocks.list, blocks.x);
    CHECK(evaluator.programs() == programs);
    std::vector<double> bounds(blocks.residuals, -1);
    const auto pass = evaluator.begin();
    for (std::size_t tile = 0; tile < evaluator.tiles(); ++tile)
      pass->rounding(tile, blocks.x, bounds.data(), INFINITY);
    return bounds;
  };
  const std::vector<double> expected = bounds_of(with, 1), bounds = bounds_of(without, 0);
  for (const double bound : bounds) CHECK(bound > 0);
  CHECK(bounds == expected);
}
