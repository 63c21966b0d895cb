// Tests that blocks scanned by tasks give the groups and all numbers of blocks scanned one after the other.
#include "blocks/block_evaluator.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace nlsq;

namespace {

struct Branches {  // has three paths
  double c;
  template <class T>
  bool operator()(const T* a, T* r) const {
    using std::exp, std::sin;
    if (a[0] > 0.6) r[0] = exp(a[0]) - c;
    else if (a[1] > 0.5) r[0] = sin(a[1]) * c;
    else r[0] = a[0] * a[1] - c;
    return true;
  }
};

struct Positive {
  double c;
  template <class T>
  bool operator()(const T* a, T* r) const {
    using std::sqrt;
    if (a[0] < 0.1) return false;
    r[0] = sqrt(a[0]) * c;
    r[1] = a[0] - c;
    return true;
  }
};

struct LooksInside {
  double c;
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = a[0] * nlsq::value_of(a[1]) - c;
    return true;
  }
};

struct ThrowsAt {
  double c, at;
  template <class T>
  bool operator()(const T* a, T* r) const {
    if (c == at) throw std::runtime_error("no data");
    r[0] = a[0] - c;
    return true;
  }
};

struct Blocks {
  BlockList list;
  std::unique_ptr<BlockUses> problem = std::make_unique<BlockUses>();  // stays where it is when this moves
  std::vector<double> x;
  std::size_t residuals = 0, numbers = 0;
  std::mt19937 random{7};

  Blocks() {
    list.problem = problem.get();
    list.first.push_back(0);
  }
  template <class F>
  void add(F functor, int rows, int size) {
    problem->functions.push_back(make_block_function<1>(std::move(functor), rows));
    list.residual_block.push_back(static_cast<std::uint32_t>(problem->functions.size() - 1));
    list.row.push_back(static_cast<std::uint32_t>(residuals));
    list.record.push_back(numbers);
    problem->uses.push_back(static_cast<std::uint32_t>(list.sizes.size()));
    list.column.push_back(0);
    list.offsets.push_back(static_cast<std::uint32_t>(x.size()));
    list.sizes.push_back(size);
    for (int i = 0; i < size; ++i) x.push_back(static_cast<double>(random() % 1000) / 1000);
    list.stride.push_back(static_cast<std::uint32_t>(size));
    list.first.push_back(static_cast<std::uint32_t>(problem->uses.size()));
    problem->first = list.first;
    residuals += static_cast<std::size_t>(rows);
    numbers += static_cast<std::size_t>(rows * size);
  }
};

// Makes blocks of several kinds in turn. One kind comes only late.
Blocks mixed(int count) {
  Blocks blocks;
  for (int b = 0; b < count; ++b) {
    const double c = 0.01 * static_cast<double>(b % 97);
    if (b > count / 2 && b % 7 == 0)
      blocks.add([c](const auto* a, auto* r) { r[0] = a[0] * a[0] * a[0] - c; }, 1, 1);
    else if (b % 3 == 0) blocks.add(Branches{c}, 1, 2);
    else if (b % 3 == 1) blocks.add(Positive{c}, 2, 1);
    else if (b % 11 == 0) blocks.add(LooksInside{c}, 1, 2);
    else blocks.add(Branches{c}, 1, 3);
  }
  return blocks;
}

// Runs tasks from the last to the first, on three threads.
void on_threads(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> left{count};
  std::vector<std::exception_ptr> thrown(count);
  const auto work = [&] {
    for (std::size_t k = left.fetch_sub(1); k > 0 && k <= count; k = left.fetch_sub(1)) {
      try {
        task(k - 1);
      } catch (...) {
        thrown[k - 1] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& e : thrown) {
    if (e) std::rethrow_exception(e);
  }
}

std::vector<double> numbers_of(const Blocks& blocks, const BlockEvaluator& evaluator,
                               std::span<const double> x) {
  std::vector<double> r(blocks.residuals), J(blocks.numbers);
  const auto pass = evaluator.begin();
  for (std::size_t t = 0; t < evaluator.tiles(); ++t) {
    pass->residuals(t, x, r.data());
    pass->jacobian(t, x, J.data());
  }
  r.insert(r.end(), J.begin(), J.end());
  for (double& v : r) v = std::isnan(v) ? -12345.0 : v;
  return r;
}

void check_same(const Blocks& blocks, const BlockEvaluator& a, const BlockEvaluator& b,
                std::span<const double> x) {
  CHECK(a.counts().traced == b.counts().traced);
  CHECK(a.counts().dual == b.counts().dual);
  CHECK(a.programs() == b.programs());
  CHECK(a.note() == b.note());
  CHECK(a.tiles() == b.tiles());
  CHECK(numbers_of(blocks, a, x) == numbers_of(blocks, b, x));
}

}  // namespace

TEST_CASE(
    "Many blocks asked by tasks make the groups that they make one by one, at the start and sorted anew") {
  for (const int count : {100, 3000, 20000}) {
    CAPTURE(count);
    const Blocks blocks = mixed(count);
    BlockEvaluator one(blocks.list, blocks.x), many(blocks.list, blocks.x, on_threads);
    CHECK(one.counts().traced > static_cast<std::size_t>(count) * 2 / 3);
    CHECK(one.programs() >= 4);
    check_same(blocks, one, many, blocks.x);
    std::vector<double> moved = blocks.x;
    for (double& v : moved) v = 1 - v;
    one.classify(moved);
    many.classify(moved, on_threads);
    check_same(blocks, one, many, moved);
  }
}

TEST_CASE("Exceptions of a function pass through, from the first block or one far behind") {
  for (const double at : {0.0, 4000.0}) {
    Blocks blocks;
    for (int b = 0; b < 5000; ++b) blocks.add(ThrowsAt{static_cast<double>(b), at}, 1, 1);
    CHECK_THROWS_WITH_AS(BlockEvaluator(blocks.list, blocks.x, on_threads), "no data", std::runtime_error);
  }
}
