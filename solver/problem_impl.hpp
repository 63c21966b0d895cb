// What a Problem holds.
#pragma once

#include <nlsq/problem.hpp>

#include <limits>
#include <unordered_map>

namespace nlsq::inline v0 {

struct ParameterBlock {
  double* data = nullptr;
  int size = 0;
  ManifoldPtr manifold = nullptr;  // null: a plain vector
  bool constant = false;
  bool removed = false;
  int group = -1;  // of elimination; -1: none given
  std::vector<double> lower = {}, upper = {};  // by number; empty: no bounds

  bool bounded() const { return !lower.empty(); }
  void make_bounds() {
    lower.resize(static_cast<std::size_t>(size), -std::numeric_limits<double>::infinity());
    upper.resize(static_cast<std::size_t>(size), std::numeric_limits<double>::infinity());
  }
  int tangent() const { return constant ? 0 : manifold ? manifold->tangent() : size; }
};

struct Problem::Impl {
  std::vector<ParameterBlock> parameters;
  std::unordered_map<const double*, std::uint32_t> by_address;

  // Residual blocks; a removed one has no function. Block b has parameters [first[b], first[b] + count[b]) of `uses`.
  std::vector<std::shared_ptr<const BlockFunction>> functions;
  std::vector<Loss> losses;
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> uses;

  std::span<const std::uint32_t> parameters_of(std::size_t block) const {
    return std::span(uses).subspan(first[block], count[block]);
  }
};

}  // namespace nlsq::inline v0
