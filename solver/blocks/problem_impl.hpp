// What a Problem holds.
#pragma once

#include <nlsq/problem.hpp>
#include "blocks/block_evaluator.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace nlsq::inline v0 {

struct ParameterBlock {
  double* data = nullptr;
  int size = 0;
  ManifoldPtr manifold = nullptr;  // null: a plain vector
  bool constant = false;
  bool removed = false;
  int group = -1;                              // of elimination; -1: none given
  std::vector<double> lower = {}, upper = {};  // by number; empty: no bounds

  bool bounded() const { return !lower.empty(); }
  void make_bounds() {
    lower.resize(static_cast<std::size_t>(size), -std::numeric_limits<double>::infinity());
    upper.resize(static_cast<std::size_t>(size), std::numeric_limits<double>::infinity());
  }
  int tangent() const { return constant ? 0 : manifold ? manifold->tangent() : size; }
};

struct PreparedProblem;

// What is removed leaves a gap, which the next solve closes: removing costs nothing by itself.
struct Problem::Impl {
  std::vector<ParameterBlock> parameters;
  std::unordered_map<const double*, std::uint32_t> by_address;

  // Residual blocks; a removed one has no function, one of a removed parameter block is none any more either.
  // Block b has parameters [first[b], first[b] + count[b]) of `uses`.
  std::vector<std::shared_ptr<const BlockFunction>> functions;
  std::vector<Loss> losses;
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> uses;
  std::vector<std::uint64_t> serial;     // which each is of all that were ever added
  std::vector<std::uint32_t> component;  // of each: 0, or its name's place in `component_names` and 1
  std::vector<std::string> component_names;
  std::uint64_t added = 0;

  bool gaps = false;
  std::uint64_t shape = 0;  // another one after each change of what BlockStructure depends on
  // Of the last solve. `traced`: where its evaluator has each residual block.
  std::shared_ptr<PreparedProblem> prepared;
  std::vector<BlockPlace> traced;

  bool alive(std::size_t block) const {
    return functions[block] && (!gaps || std::ranges::none_of(parameters_of(block), [this](std::uint32_t p) {
             return parameters[p].removed;
           }));
  }
  void close_gaps();
  void move_up();
  void forget_names();
  bool has_components() const {
    return std::ranges::any_of(component, [](std::uint32_t c) { return c > 0; });
  }

  std::span<const std::uint32_t> parameters_of(std::size_t block) const {
    return std::span(uses).subspan(first[block], count[block]);
  }
};

}  // namespace nlsq::inline v0
