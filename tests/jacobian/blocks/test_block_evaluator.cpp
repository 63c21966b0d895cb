// Tests residual blocks in shared programs. The numbers must be those of the user's own code on dual numbers.
#include "block_functors.hpp"
#include "blocks/block_reference.hpp"
#include "blocks_side_by_side.hpp"

#include "blocks/block_evaluator.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace nlsq;
using blocks_side_by_side::Blocks, blocks_side_by_side::evaluate, blocks_side_by_side::Values;

namespace {

// Compares with dual numbers. Differences are relative to the largest derivative of the residual.
void check_against_dual(const Blocks& blocks, const Values& v, std::span<const double> x, double f64,
                        double f32) {
  double worst = 0, worst_f32 = 0;
  for (std::size_t b = 0; b < blocks.list.blocks(); ++b) {
    std::vector<int> sizes;
    std::vector<double> own;
    for (const std::uint32_t p : blocks.list.of(b)) {
      sizes.push_back(blocks.list.sizes[p]);
      own.insert(own.end(), x.begin() + blocks.list.offsets[p],
                 x.begin() + blocks.list.offsets[p] + sizes.back());
    }
    BlockCaller caller(sizes);
    const auto rows = static_cast<std::size_t>(blocks.list.function(b).residuals()), n = own.size();
    std::vector<double> r(rows), J(rows * n), plain(rows);
    REQUIRE(caller.derivatives(blocks.list.function(b), own.data(), r.data(), J.data()));
    REQUIRE(caller.value(blocks.list.function(b), own.data(), plain.data()));
    for (std::size_t i = 0; i < rows; ++i) {
      double size = 0, terms = std::fabs(plain[i]);
      for (std::size_t j = 0; j < n; ++j) {
        size = std::max(size, std::fabs(J[i * n + j]));
        terms += std::fabs(J[i * n + j] * own[j]);
      }
      CHECK(std::fabs(v.r[blocks.list.row[b] + i] - plain[i]) <= 1e-13 * terms);
      for (std::size_t j = 0; j < n && size > 0; ++j) {
        const std::size_t at = blocks.list.record[b] + i * n + j;
        worst = std::max(worst, std::fabs(v.J[at] - J[i * n + j]) / size);
        worst_f32 = std::max(worst_f32, std::fabs(static_cast<double>(v.J_f32[at]) - J[i * n + j]) / size);
      }
    }
  }
  CHECK(worst <= f64);
  CHECK(worst_f32 <= f32);
}

template <class F, std::size_t k = F::sizes.size()>
Blocks many(int count, unsigned seed) {
  std::mt19937 random(seed);
  Blocks blocks;
  for (int b = 0; b < count; ++b) {
    std::vector<std::vector<double>> parameters;
    for (const int size : F::sizes) {
      auto& values = parameters.emplace_back();
      for (int i = 0; i < size; ++i) values.push_back(0.2 + static_cast<double>(random() % 1000) / 1000);
    }
    blocks.add(make_block_function<k>(F(b), F::residuals), parameters);
  }
  return blocks;
}

struct Camera {
  double u, v;
  template <class T>
  bool operator()(const T* camera, const T* point, T* r) const {
    return block_functors::reproject(camera, point, u, v, r);
  }
};

std::vector<double> camera_at(double angle) {
  return {angle, -2 * angle, angle / 2, 0.1, 0.2, -0.3, 500, 0.01, -0.002};
}

}  // namespace

TEST_CASE_TEMPLATE("Derivatives of recorded blocks are those of dual numbers, in f64 and f32", F,
                   NLSQ_BLOCK_FUNCTORS) {
  INFO(F::name());
  const Blocks blocks = many<F>(150, 7);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  INFO(evaluator.note());
  CHECK(evaluator.counts().traced == 150);
  CHECK(evaluator.programs() <= 2);
  const Values v = evaluate(blocks, evaluator, blocks.x);
  CHECK(v.left == 0);
  check_against_dual(blocks, v, blocks.x, 1e-12, 1e-5);
}

TEST_CASE(
    "Constants are told apart by place: observations that happen to be 0 or 1 fold nothing for others") {
  Blocks blocks;
  for (const double u : {0.0, 1.0, -3.5, 1.0, 0.0, 7.25})
    blocks.add(make_block_function<2>(Camera{u, 2 * u}, 2), {camera_at(0.1), {1, 2, 30}});
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.programs() == 1);
  CHECK(evaluator.counts().traced == 6);
  check_against_dual(blocks, evaluate(blocks, evaluator, blocks.x), blocks.x, 1e-12, 1e-5);
}

TEST_CASE(
    "A block that decides otherwise than its program is computed by its own code, and sorted anew on "
    "request") {
  Blocks blocks;
  for (int b = 0; b < 100; ++b)
    blocks.add(make_block_function<2>(Camera{1.0 * b, 2}, 2), {camera_at(0), {1, 2, 30.0 + b}});
  BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.programs() == 1);
  check_against_dual(blocks, evaluate(blocks, evaluator, blocks.x), blocks.x, 1e-12, 1e-5);

  std::vector<double> moved = blocks.x;  // 40 of the cameras are rotated
  for (std::size_t b = 0; b < 40; ++b) moved[12 * b] = 0.3;
  const Values v = evaluate(blocks, evaluator, moved);
  CHECK(v.left == 3 * 40);
  check_against_dual(blocks, v, moved, 1e-12, 1e-5);

  evaluator.classify(moved);
  CHECK(evaluator.programs() == 2);
  CHECK(evaluator.counts().traced == 100);
  const Values sorted = evaluate(blocks, evaluator, moved);
  CHECK(sorted.left == 0);
  check_against_dual(blocks, sorted, moved, 1e-12, 1e-5);
}

TEST_CASE("Each tile stands alone: any pass gives the same bits") {
  const Blocks blocks = many<block_functors::Reprojection>(700, 3);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  REQUIRE(evaluator.tiles() > 3);
  const Values whole = evaluate(blocks, evaluator, blocks.x);
  Values single{std::vector<double>(blocks.residuals), std::vector<double>(blocks.numbers),
                std::vector<float>(blocks.numbers)};
  for (std::size_t t = evaluator.tiles(); t-- > 0;) {
    const auto pass = evaluator.begin();
    pass->jacobian(t, blocks.x, single.J_f32.data());
    pass->jacobian(t, blocks.x, single.J.data());
    pass->residuals(t, blocks.x, single.r.data());
    CHECK(pass->counters().rows_f32 == evaluator.tile_blocks(t));
    const std::size_t sampled =
        pass->take_samples().size();  // this tile is sampled: 64 of its blocks in f64, too
    CHECK(sampled == (t == 0 ? 1 : 0));
    CHECK(pass->counters().rows_f64 == 2 * evaluator.tile_blocks(t) + 64 * sampled);
  }
  CHECK(single.r == whole.r);
  CHECK(single.J == whole.J);
  CHECK(single.J_f32 == whole.J_f32);
}

TEST_CASE("Derivatives by constant blocks are not written") {
  Blocks blocks;
  for (int b = 0; b < 10; ++b)
    blocks.add(make_block_function<2>(Camera{1.0 * b, 2}, 2), {camera_at(0.2), {1, 2, 30}});
  for (std::size_t b = 0; b < 10; ++b) blocks.list.column[2 * b] = -1;  // cameras
  blocks.list.column[1] = -1;                                           // and one point
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.programs() == 1);
  const Values v = evaluate(blocks, evaluator, blocks.x);
  for (std::size_t b = 0; b < 10; ++b) {
    for (std::size_t k = 0; k < 24; ++k) CHECK((v.J[24 * b + k] != 0) == (b > 0 && k % 12 >= 9));
  }
}

namespace {

struct Peeks {  // reads the value of its scalar
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = a[0] * nlsq::value_of(a[1]) + a[1];
    return true;
  }
};

struct Counts {  // counts, and so differs from call to call
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = a[0] * static_cast<double>(++*calls);
    return true;
  }
};

struct Plain {
  bool operator()(const double* a, double* r) const {
    r[0] = std::sin(a[0]) * a[1];
    return true;
  }
};

struct Positive {  // has no residuals for a < 0
  template <class T>
  bool operator()(const T* a, T* r) const {
    using std::sqrt;
    if (a[0] < 0.0) return false;
    r[0] = sqrt(a[0]);
    return true;
  }
};

struct Untraceable {
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = a[0] * a[1] * a[1];
    return true;
  }
};

struct Throws {
  template <class T>
  bool operator()(const T*, T*) const {
    throw std::runtime_error("no data");
  }
};

}  // namespace

template <>
inline constexpr bool nlsq::no_trace<Untraceable> = true;

TEST_CASE("Functions that cannot be recorded run on dual numbers, and the note says why") {
  Blocks blocks;
  blocks.add(make_block_function<1>(Peeks(), 1), {{2, 3}});
  blocks.add(make_block_function<1>(Counts(), 1), {{2}});
  blocks.add(make_block_function<1>(Untraceable(), 1), {{2, 3}});
  blocks.add(make_block_function<1>(Plain(), 1), {{2, 3}});
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.counts().traced == 0);
  CHECK(evaluator.counts().dual == 3);
  CHECK(evaluator.counts().differences == 1);
  CHECK(evaluator.note().find("plain one") != std::string::npos);
  const Values v = evaluate(blocks, evaluator, blocks.x);
  CHECK(v.r[0] == 9);
  CHECK(v.J[0] == 3);
  CHECK(v.J[1] == 1);  // the derivative by Peeks, which hides a factor from dual numbers, too
  CHECK(v.J[3] == 9);
  CHECK(v.J[4] == 12);
  CHECK(v.J[5] == doctest::Approx(3 * std::cos(2.0)).epsilon(1e-9));
  CHECK(v.J[6] == doctest::Approx(std::sin(2.0)).epsilon(1e-9));
}

TEST_CASE("A function that says there are no residuals gives NaN, recorded or not") {
  Blocks blocks;
  for (const double a : {1.0, 4.0, -1.0}) blocks.add(make_block_function<1>(Positive(), 1), {{a}});
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.counts().traced == 2);
  Values v = evaluate(blocks, evaluator, blocks.x);
  CHECK(v.r[1] == 2);
  CHECK(std::isnan(v.r[2]));
  const std::vector<double> moved{-1, 9, 16};
  v = evaluate(blocks, evaluator, moved);
  CHECK(std::isnan(v.r[0]));
  CHECK(std::isnan(v.J[0]));
  CHECK(v.r[1] == 3);
  CHECK(v.r[2] == 4);
}

TEST_CASE("Exceptions of a user's function pass through") {
  Blocks blocks;
  blocks.add(make_block_function<1>(Throws(), 1), {{1}});
  CHECK_THROWS_WITH_AS(BlockEvaluator(blocks.list, blocks.x), "no data", std::runtime_error);
}

TEST_CASE("A program that is distrusted is replaced by the user's code") {
  const Blocks blocks = many<block_functors::Reprojection>(100, 5);
  BlockEvaluator evaluator(blocks.list, blocks.x);
  evaluator.distrust("seen to differ");
  CHECK(evaluator.counts().dual == 100);
  CHECK(evaluator.programs() == 0);
  CHECK(evaluator.note() == "seen to differ");
  check_against_dual(blocks, evaluate(blocks, evaluator, blocks.x), blocks.x, 0, 1e-7);
}

TEST_CASE("The number of residuals is counted where a functor returns them") {
  const double a[] = {2, 3}, b[] = {5};
  const double* at[] = {a, b};
  const auto line =
      make_block_function<2>([](const auto* p, const auto* q) { return p[0] * q[0] + p[1]; }, at);
  CHECK(line->residuals() == 1);
  CHECK(line->derivatives_by() == BlockFunction::Derivatives::traced);
  const auto both = make_block_function<2>(
      [](const auto* p, const auto* q) {
        return std::array{p[0] * q[0], p[1] - q[0], p[0] + 0.5};
      },
      at);
  CHECK(both->residuals() == 3);
  double r[3];
  CHECK(both->value(at, r));
  CHECK(r[0] == 10);
  CHECK(r[1] == -2);
  CHECK(r[2] == 2.5);
}
