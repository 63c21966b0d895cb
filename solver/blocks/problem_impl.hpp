// Holds the data of a Problem, which the solver's other files read.
#pragma once

#include <nlsq/problem.hpp>
#include "blocks/block_evaluator.hpp"
#include "support/block_addresses.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

struct BlockLimits {
  std::vector<double> lower, upper;  // by number
};

// A problem may have millions of these. Few of them have bounds, so the bounds are behind a pointer.
struct ParameterBlock {
  double* data = nullptr;
  int size = 0;
  int group = -1;                                 // elimination group, or -1
  ManifoldPtr manifold = nullptr;                 // null for a plain vector
  std::unique_ptr<BlockLimits> limits = nullptr;  // null without bounds
  bool constant = false;
  bool removed = false;

  bool bounded() const { return limits != nullptr; }
  BlockLimits& make_limits() {
    if (!limits) {
      const double infinity = std::numeric_limits<double>::infinity();
      const auto count = static_cast<std::size_t>(size);
      limits = std::make_unique<BlockLimits>(
          BlockLimits{std::vector<double>(count, -infinity), std::vector<double>(count, infinity)});
    }
    return *limits;
  }
  int tangent() const { return constant ? 0 : manifold ? manifold->tangent() : size; }
};

// Holds one value for each residual block. It takes memory only once some block has another value than T{}.
template <class T>
class OfBlocks {
 public:
  const T& operator[](std::size_t block) const {
    static const T usual{};
    return values_.empty() ? usual : values_[block];
  }
  const std::vector<T>& values() const { return values_; }  // empty if all are T{}
  // Sets the value of a block, old or new, in a problem of `count` blocks.
  void set(std::size_t block, const T& value, std::size_t count) {
    if (values_.empty() && value == T{}) return;
    values_.resize(count);
    values_[block] = value;
  }
  void move(std::size_t from, std::size_t to) {
    if (!values_.empty()) values_[to] = std::move(values_[from]);
  }
  void shorten(std::size_t count) {
    if (!values_.empty()) values_.resize(count);
  }
  void clear() { values_.clear(); }
  void replace(const std::invocable<T> auto& by) {
    for (T& value : values_) value = by(value);
  }

 private:
  std::vector<T> values_;
};

struct PreparedProblem;

// A removed block leaves a gap, and the next solve closes all gaps. Removal itself is therefore cheap.
// A residual block is removed when its function is null or when one of its parameter blocks is removed.
struct Problem::Impl : BlockUses {
  std::vector<ParameterBlock> parameters;
  BlockAddresses addresses;

  OfBlocks<Loss> losses;
  // serial[b] is the number that residual block b got when it was added: ResidualBlockId::index. Until gaps
  // are closed for the first time, that number is b itself, `renumbered` is false and `serial` is empty. The
  // numbers ascend.
  bool renumbered = false;
  std::vector<std::uint64_t> serial;
  // The component of each residual block: 0 without a name, else 1 + index in `component_names`.
  OfBlocks<std::uint32_t> component;
  std::vector<std::string> component_names;
  std::uint64_t added = 0;

  // Returns the number of the parameter block at this address, or BlockAddresses::kNone.
  std::uint32_t parameter_at(const double* address) const {
    return addresses.find(std::span<const ParameterBlock>(parameters), address);
  }

  bool gaps = false;
  std::uint64_t shape = 0;  // changes with everything that BlockStructure depends on
  // Data kept from the last solve. `traced` holds the place of each residual block in its evaluator.
  std::shared_ptr<PreparedProblem> prepared;
  OfBlocks<BlockPlace> traced;

  bool alive(std::size_t block) const {
    return functions[block] && (!gaps || std::ranges::none_of(parameters_of(block), [this](std::uint32_t p) {
             return parameters[p].removed;
           }));
  }
  void close_gaps();
  void move_up();
  void forget_names();
  bool has_components() const {
    return std::ranges::any_of(component.values(), [](std::uint32_t c) { return c > 0; });
  }
};

}  // namespace nlsq::inline v0
