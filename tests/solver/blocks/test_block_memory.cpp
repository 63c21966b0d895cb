// Tests how much memory a block problem keeps for each of its blocks, and that the small structures which
// save memory give the same as plain ones.
#include "blocks/block_structure.hpp"
#include "support/block_addresses.hpp"

#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

struct Offset {
  double x, y;
  template <class T>
  bool operator()(const T* camera, const T* point, T* r) const {
    r[0] = camera[0] * point[0] + camera[1] * point[2] - T(x);
    r[1] = camera[2] * point[1] + camera[3] * point[2] - T(y);
    return true;
  }
};

// 12 cameras, each of which sees most of 1,000 points.
struct Scene {
  std::vector<std::array<double, 4>> cameras{12, {1, 0.1, 1, 0.2}};
  std::vector<std::array<double, 3>> points;
  std::size_t observations = 0;
  Problem problem;

  Scene() {
    for (int p = 0; p < 1000; ++p)
      points.push_back({std::sin(1.0 * p), std::cos(2.0 * p), 2 + std::sin(0.3 * p)});
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t c = p % 3; c < cameras.size(); c += 1 + p % 2, ++observations) {
        const double off = 0.01 * std::sin(static_cast<double>(p + 31 * c));
        problem.add_residual_block<2>(Offset{points[p][0] + off, points[p][1] - off}, Loss(),
                                      {cameras[c], points[p]});
      }
    }
  }
  BlockStructure structure() {
    problem.impl().close_gaps();
    return {problem.impl(), block_kernels().lanes_f32, block_kernels().lanes_f64};
  }
};

struct BlockAt {
  const double* data;
  bool removed;
};

}  // namespace

// The record, rows and columns of a block would take 36 bytes, and its pairs of cameras 18.
TEST_CASE("Residual blocks of one kind take few bytes in the structure of a problem") {
  Scene scene;
  const BlockStructure structure = scene.structure();
  CHECK(structure.list.blocks() == scene.observations);
  CHECK(structure.bytes() < 24 * scene.observations);
}

TEST_CASE("The block of S of each pair of cameras is the same from the table and from the list") {
  Scene scene;
  const BlockStructure tabled = scene.structure();
  REQUIRE(!tabled.pair_table.empty());
  REQUIRE(tabled.pair_block.empty());
  std::vector<std::uint8_t> met(tabled.reduced_blocks.size(), 0);
  for (std::size_t p = 0; p < tabled.points; ++p) {
    for (std::uint32_t i = tabled.entry_first[p]; i < tabled.entry_first[p + 1]; ++i) {
      for (std::uint32_t j = i; j < tabled.entry_first[p + 1]; ++j) {
        const std::uint32_t a = tabled.entry_block[i], b = tabled.entry_block[j];
        const std::uint32_t block = tabled.pair_table[a * tabled.cameras() + b];
        REQUIRE(block < met.size());
        CHECK(tabled.reduced_blocks[block].a == a);
        CHECK(tabled.reduced_blocks[block].b == b);
        met[block] = 1;
      }
    }
  }
  CHECK(std::ranges::count(met, 1) == static_cast<std::ptrdiff_t>(met.size()));
}

TEST_CASE("A block is found by its address, also after others were removed, added again and renumbered") {
  std::mt19937 random(3);
  std::vector<double> numbers(3000);
  std::vector<BlockAt> blocks;
  BlockAddresses addresses;
  std::map<const double*, std::uint32_t> plain;
  const auto check_all = [&] {
    for (const double& number : numbers) {
      const auto known = plain.find(&number);
      const std::uint32_t expected = known == plain.end() ? BlockAddresses::kNone : known->second;
      CHECK(addresses.find(std::span<const BlockAt>(blocks), &number) == expected);
    }
  };
  check_all();
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 2000; ++k) {
      const double* at = &numbers[random() % numbers.size()];
      const auto known = plain.find(at);
      if (known != plain.end()) {
        blocks[known->second].removed = true;
        plain.erase(known);
      } else {
        const auto number = static_cast<std::uint32_t>(blocks.size());
        blocks.push_back({at, false});
        addresses.add(std::span<const BlockAt>(blocks), number);
        plain[at] = number;
      }
    }
    check_all();
    std::erase_if(blocks, [](const BlockAt& block) { return block.removed; });
    for (std::uint32_t b = 0; b < blocks.size(); ++b) plain[blocks[b].data] = b;
    addresses.renumber(std::span<const BlockAt>(blocks));
    check_all();
  }
}
