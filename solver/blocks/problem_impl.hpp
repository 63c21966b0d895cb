// The data of a Problem, which the solver's other files read.
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
  int group = -1;                              // elimination group; -1: none
  std::vector<double> lower = {}, upper = {};  // by number; empty: no bounds

  bool bounded() const { return !lower.empty(); }
  void make_bounds() {
    lower.resize(static_cast<std::size_t>(size), -std::numeric_limits<double>::infinity());
    upper.resize(static_cast<std::size_t>(size), std::numeric_limits<double>::infinity());
  }
  int tangent() const { return constant ? 0 : manifold ? manifold->tangent() : size; }
};

struct PreparedProblem;

// A removed block leaves a gap, and the next solve closes all gaps. Removal itself is therefore cheap.
struct Problem::Impl {
  std::vector<ParameterBlock> parameters;
  std::unordered_map<const double*, std::uint32_t> by_address;

  // Residual block b uses parameters `uses`[first[b], first[b] + count[b]). A removed residual block has a
  // null function. A residual block of a removed parameter block counts as removed.
  std::vector<std::shared_ptr<const BlockFunction>> functions;
  std::vector<Loss> losses;
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> uses;
  std::vector<std::uint64_t> serial;  // of each residual block: its number in the order of all additions
  // By residual block: 0 without a name, else 1 + index in `component_names`.
  std::vector<std::uint32_t> component;
  std::vector<std::string> component_names;
  std::uint64_t added = 0;

  bool gaps = false;
  std::uint64_t shape = 0;  // changes with everything that BlockStructure depends on
  // From the last solve. `traced`: the place of each residual block in its evaluator.
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
