// Tests that programs of residual blocks are made once for all evaluators that need the same.
#include "blocks/block_program_cache.hpp"

#include "blocks/block_evaluator.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace nlsq;

namespace {

struct Line {
  static constexpr int residuals = 1;
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] * x + p[1] - y;
    return true;
  }
};

struct Evaluated {
  std::size_t programs;
  std::vector<double> r, J;
};

// Makes blocks on one parameter block of two numbers.
template <class F>
Evaluated evaluate(const std::vector<F>& functors) {
  BlockList list;
  BlockUses problem;
  list.problem = &problem;
  list.first.push_back(0);
  list.offsets = {0};
  list.sizes = {2};
  for (const F& f : functors) {
    problem.functions.push_back(make_block_function<1>(f, 1));
    const auto b = static_cast<std::uint32_t>(list.blocks());
    list.residual_block.push_back(b);
    problem.uses.push_back(0);
    problem.first.push_back(b + 1);
    list.first.push_back(b + 1);
    list.row.push_back(b);
    list.record.push_back(2 * b);
    list.stride.push_back(2);
    list.column.push_back(0);
  }
  const std::vector<double> x{1.5, -2};
  const BlockEvaluator evaluator(list, x);
  Evaluated out{evaluator.programs(), std::vector<double>(functors.size()),
                std::vector<double>(2 * functors.size())};
  const auto pass = evaluator.begin();
  for (std::size_t tile = 0; tile < evaluator.tiles(); ++tile) {
    pass->residuals(tile, x, out.r.data());
    pass->jacobian(tile, x, out.J.data());
  }
  return out;
}

BlockRecording recording_of(std::size_t length) {
  BlockRecording made;
  made.steps.resize(length + 2);
  made.steps[1] = {.op = Op::column, .a = 0};
  for (std::size_t i = 2; i < made.steps.size(); ++i)
    made.steps[i] = {.op = Op::neg, .a = static_cast<std::uint32_t>(i - 1)};
  made.outputs = {static_cast<std::uint32_t>(length + 1)};
  return made;
}

}  // namespace

TEST_CASE(
    "Blocks that differ in constants alone share a program from evaluator to evaluator; the numbers are "
    "their own") {
  const Evaluated first = evaluate(std::vector<Line>{{1, 2}, {3, 4}});
  const std::size_t programs = BlockProgramCache::shared().programs();
  const Evaluated second = evaluate(std::vector<Line>{{5, 7}, {2, 1}, {8, 0}});
  CHECK(BlockProgramCache::shared().programs() == programs);
  CHECK(first.r == std::vector<double>{1.5 * 1 - 2 - 2, 1.5 * 3 - 2 - 4});
  CHECK(second.r == std::vector<double>{1.5 * 5 - 2 - 7, 1.5 * 2 - 2 - 1, 1.5 * 8 - 2 - 0});
  CHECK(second.J == std::vector<double>{5, 1, 2, 1, 8, 1});
}

TEST_CASE(
    "A constant that all blocks share belongs to their program, so another constant needs another program") {
  evaluate(std::vector<Line>{{1, 2}, {1, 4}});
  const std::size_t programs = BlockProgramCache::shared().programs();
  const Evaluated other = evaluate(std::vector<Line>{{6, 2}, {6, 4}});
  CHECK(BlockProgramCache::shared().programs() == programs + 1);
  CHECK(other.J == std::vector<double>{6, 1, 6, 1});
}

TEST_CASE("Functors of two types are compared with dual numbers each for itself") {
  const auto minus = [](const auto* p, auto* r) {
    r[0] = p[0] - p[1];
    return true;
  };
  const auto also_minus = [](const auto* p, auto* r) {
    r[0] = p[0] - p[1];
    return true;
  };
  evaluate(std::vector{minus});
  const std::size_t programs = BlockProgramCache::shared().programs();
  evaluate(std::vector{also_minus});
  CHECK(BlockProgramCache::shared().programs() == programs + 1);
}

TEST_CASE("The cache is bounded, and drops the programs that were used longest ago") {
  const std::vector<int> wanted{0};
  const auto key = [&](std::size_t length) {
    return BlockProgramKey(nullptr, recording_of(length), ConstantPlan(), 1, wanted);
  };
  BlockProgramCache cache(3 * key(10).words.size());
  const auto program = [](int inputs) {
    auto made = std::make_shared<BlockProgram>();
    made->inputs = inputs;
    return made;
  };
  for (int i = 8; i <= 10; ++i) cache.keep(key(static_cast<std::size_t>(i)), program(i));
  CHECK(cache.programs() == 3);
  REQUIRE(cache.find(key(8)));
  CHECK(cache.find(key(8))->inputs == 8);
  cache.keep(key(7), program(7));  // the ninth was not used for the longest time
  CHECK(cache.find(key(8)));
  CHECK(cache.find(key(10)));
  CHECK(cache.find(key(7)));
  CHECK_FALSE(cache.find(key(9)));
  cache.keep(key(1000), program(1));
  CHECK_FALSE(cache.find(key(1000)));
  CHECK(cache.programs() == 3);
}
