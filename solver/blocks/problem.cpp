// Implements Problem: adding, changing and removing parameter and residual blocks.
#include "blocks/problem_impl.hpp"
#include "support/constants.hpp"

#include <nlsq/error.hpp>
#include <nlsq/precision_policy.hpp>
#include <nlsq/problem_control.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

std::uint32_t known(const Problem::Impl& impl, const double* block, const char* what) {
  const std::uint32_t number = impl.parameter_at(block);
  if (number == BlockAddresses::kNone) {
    throw ValidationError(std::string(what) + ": this pointer is no parameter block of the problem");
  }
  return number;
}

// Returns the index of a parameter block, and adds the block if it is new.
std::uint32_t enter(Problem::Impl& impl, double* data, int size) {
  if (data == nullptr) throw ValidationError("a parameter block is a null pointer");
  if (const std::uint32_t known = impl.parameter_at(data); known != BlockAddresses::kNone) {
    const int before = impl.parameters[known].size;
    if (size != 0 && size != before) {
      throw ValidationError("a parameter block has " + std::to_string(before) +
                            " numbers, and is now given with " + std::to_string(size));
    }
    return known;
  }
  if (size <= 0) {
    throw ValidationError(
        "a parameter block is given as a plain pointer before its size is known: call "
        "add_parameter_block(pointer, size) first, or pass an array or a vector");
  }
  const auto number = static_cast<std::uint32_t>(impl.parameters.size());
  impl.parameters.push_back({.data = data, .size = size});
  impl.addresses.add(std::span<const ParameterBlock>(impl.parameters), number);
  ++impl.shape;
  return number;
}

// Adds a residual block whose parameter blocks are the last ones in impl.uses.
ResidualBlockId append(Problem::Impl& impl, std::shared_ptr<const BlockFunction> function, const Loss& loss) {
  const std::size_t block = impl.functions.size();
  impl.functions.push_back(std::move(function));
  impl.losses.set(block, loss, block + 1);
  impl.first.push_back(static_cast<std::uint32_t>(impl.uses.size()));
  if (impl.renumbered) impl.serial.push_back(impl.added);
  impl.component.set(block, 0, block + 1);
  impl.traced.set(block, {}, block + 1);
  ++impl.shape;
  return {impl.added++};
}

std::size_t place_of(const Problem::Impl& impl, ResidualBlockId id, const char* what) {
  std::size_t block = id.index;
  bool exists = block < impl.functions.size();
  if (impl.renumbered) {
    const auto place = std::ranges::lower_bound(impl.serial, id.index);
    block = static_cast<std::size_t>(place - impl.serial.begin());
    exists = place != impl.serial.end() && *place == id.index;
  }
  if (!exists || !impl.alive(block)) {
    throw ValidationError(std::string(what) + ": there is no residual block " + std::to_string(id.index));
  }
  return block;
}

void check_manifold(const ParameterBlock& block, const ManifoldPtr& manifold) {
  if (manifold && manifold->ambient() != block.size) {
    throw ValidationError("a manifold of " + std::to_string(manifold->ambient()) +
                          " numbers on a parameter block of " + std::to_string(block.size));
  }
}

void check_bound(const ParameterBlock& block, int index, double bound) {
  if (index < 0 || index >= block.size) {
    throw ValidationError("a bound for number " + std::to_string(index) + " of a parameter block of " +
                          std::to_string(block.size));
  }
  if (std::isnan(bound)) throw ValidationError("a bound is NaN");
}

}  // namespace

Problem::Problem() : impl_(std::make_unique<Impl>()) {}
Problem::~Problem() = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(Problem&&) noexcept = default;

void Problem::add_parameter_block(double* block, int size, ManifoldPtr manifold) {
  if (size <= 0)
    throw ValidationError("a parameter block has at least one number, not " + std::to_string(size));
  ParameterBlock& entered = impl_->parameters[enter(*impl_, block, size)];
  check_manifold(entered, manifold);
  if (!manifold) return;
  entered.manifold = std::move(manifold);
  ++impl_->shape;
}

void Problem::add_parameter_block(BlockRef block, ManifoldPtr manifold) {
  add_parameter_block(block.data, block.size, std::move(manifold));
}

void Problem::set_manifold(double* block, ManifoldPtr manifold) {
  ParameterBlock& entered = impl_->parameters[known(*impl_, block, "set_manifold")];
  check_manifold(entered, manifold);
  entered.manifold = std::move(manifold);
  ++impl_->shape;
}

void Problem::set_constant(double* block) {
  if (!std::exchange(impl_->parameters[known(*impl_, block, "set_constant")].constant, true)) ++impl_->shape;
}
void Problem::set_variable(double* block) {
  if (std::exchange(impl_->parameters[known(*impl_, block, "set_variable")].constant, false)) ++impl_->shape;
}
bool Problem::is_constant(const double* block) const {
  return impl_->parameters[known(*impl_, block, "is_constant")].constant;
}

void Problem::set_lower_bound(double* block, int index, double bound) {
  ParameterBlock& entered = impl_->parameters[known(*impl_, block, "set_lower_bound")];
  check_bound(entered, index, bound);
  entered.make_limits().lower[static_cast<std::size_t>(index)] = bound;
}
void Problem::set_upper_bound(double* block, int index, double bound) {
  ParameterBlock& entered = impl_->parameters[known(*impl_, block, "set_upper_bound")];
  check_bound(entered, index, bound);
  entered.make_limits().upper[static_cast<std::size_t>(index)] = bound;
}
void Problem::set_elimination_group(double* block, int group) {
  if (group < 0)
    throw ValidationError("set_elimination_group: a group is 0 or more, not " + std::to_string(group));
  if (std::exchange(impl_->parameters[known(*impl_, block, "set_elimination_group")].group, group) != group)
    ++impl_->shape;
}

ResidualBlockId Problem::add(std::shared_ptr<const BlockFunction> function, const Loss& loss,
                             std::span<const BlockRef> blocks) {
  if (!function) throw ValidationError("add_residual_block: the function is missing");
  if (function->residuals() <= 0) throw ValidationError("a residual block has at least one residual");
  if (loss.is_counts())
    throw ValidationError(
        "loss poisson: a residual block has no counts; it is of curve_fit, where y are counts");
  if (blocks.empty()) throw ValidationError("a residual block depends on at least one parameter block");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (blocks[i].data == blocks[j].data) {
        throw ValidationError("parameter blocks " + std::to_string(j) + " and " + std::to_string(i) +
                              " of a residual block are the same");
      }
    }
  }
  Impl& impl = *impl_;
  const std::size_t first = impl.uses.size();
  if (first + blocks.size() > std::numeric_limits<std::uint32_t>::max())
    throw ValidationError("the residual blocks name more than 2^32 parameter blocks in all");
  try {
    for (const BlockRef& ref : blocks) impl.uses.push_back(enter(impl, ref.data, ref.size));
  } catch (...) {
    impl.uses.resize(first);
    throw;
  }
  return append(impl, std::move(function), loss);
}

void add_residual_block(Problem& problem, std::shared_ptr<const BlockFunction> function, const Loss& loss,
                        std::span<const std::uint32_t> blocks) {
  Problem::Impl& impl = problem.impl();
  impl.uses.insert(impl.uses.end(), blocks.begin(), blocks.end());
  append(impl, std::move(function), loss);
}

void set_fetch(Problem& problem, void (*fetch)(const BlockFunction&)) { problem.impl().fetch = fetch; }

void Problem::set_component(ResidualBlockId id, const std::string& name) {
  Impl& impl = *impl_;
  const std::size_t block = place_of(impl, id, "set_component");
  const auto known_name = std::ranges::find(impl.component_names, name);
  std::uint32_t number = 0;
  if (!name.empty()) {
    if (known_name == impl.component_names.end()) {
      PrecisionPolicy named;
      named.components.push_back({name, {}});
      if (const std::vector<Violation> wrong = named.validate(); !wrong.empty()) {
        throw ValidationError("set_component: '" + name + "' is " + wrong.front().reason);
      }
    }
    number = static_cast<std::uint32_t>(known_name - impl.component_names.begin()) + 1;
    if (known_name == impl.component_names.end()) impl.component_names.push_back(name);
  }
  if (impl.component[block] == number) return;
  impl.component.set(block, number, impl.functions.size());
  ++impl.shape;
}

void Problem::remove_residual_block(ResidualBlockId id) {
  Impl& impl = *impl_;
  const std::size_t block = place_of(impl, id, "remove_residual_block");
  impl.functions[block] = nullptr;
  impl.gaps = true;
  ++impl.shape;
}

void Problem::remove_parameter_block(double* block) {
  impl_->parameters[known(*impl_, block, "remove_parameter_block")].removed = true;
  impl_->gaps = true;
  ++impl_->shape;
}

// Moves the remaining blocks up in order. Indices are then those of a problem that never had the removed
// blocks.
void Problem::Impl::close_gaps() {
  if (gaps) move_up();
  forget_names();
}

void Problem::Impl::move_up() {
  std::vector<std::uint32_t> number(parameters.size(), 0);
  for (std::uint32_t p = 0, next = 0; p < parameters.size(); ++p) {
    number[p] = next;
    if (!parameters[p].removed) ++next;
  }
  if (!std::exchange(renumbered, true)) {
    serial.resize(functions.size());
    std::iota(serial.begin(), serial.end(), std::uint64_t{0});
  }
  std::size_t blocks = 0;
  std::uint32_t used = 0;
  EvenNumbers<std::uint32_t> moved;
  moved.push_back(0);
  for (std::size_t b = 0, begin = 0, end = 0; b < functions.size(); ++b, begin = end) {
    end = first[b + 1];
    if (!alive(b)) continue;
    functions[blocks] = std::move(functions[b]);
    losses.move(b, blocks);
    serial[blocks] = serial[b];
    component.move(b, blocks);
    traced.move(b, blocks);
    for (std::size_t k = begin; k < end; ++k) uses[used++] = number[uses[k]];
    moved.push_back(used);
    ++blocks;
  }
  functions.resize(blocks);
  losses.shorten(blocks);
  serial.resize(blocks);
  component.shorten(blocks);
  traced.shorten(blocks);
  first = std::move(moved);
  uses.resize(used);
  std::size_t kept = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (parameters[p].removed) continue;
    if (p != kept) parameters[kept] = std::move(parameters[p]);
    ++kept;
  }
  parameters.resize(kept);
  addresses.renumber(std::span<const ParameterBlock>(parameters));
  gaps = false;
}

// Removes names that no block uses. Otherwise they would accumulate in a sliding window that names its
// frames.
void Problem::Impl::forget_names() {
  std::vector<std::uint32_t> number(component_names.size() + 1, 0);
  for (const std::uint32_t c : component.values()) number[c] = 1;
  std::uint32_t kept = 0;
  for (std::size_t c = 1; c < number.size(); ++c) {
    if (number[c] == 0) continue;
    std::swap(component_names[kept], component_names[c - 1]);
    number[c] = ++kept;
  }
  if (kept == component_names.size()) return;
  component_names.resize(kept);
  number[0] = 0;
  component.replace([&](std::uint32_t c) { return number[c]; });
}

std::size_t Problem::parameter_blocks() const {
  return static_cast<std::size_t>(std::ranges::count(impl_->parameters, false, &ParameterBlock::removed));
}

std::size_t Problem::residual_blocks() const {
  std::size_t count = 0;
  for (std::size_t b = 0; b < impl_->functions.size(); ++b) count += impl_->alive(b) ? 1 : 0;
  return count;
}

std::size_t Problem::residuals() const {
  std::size_t count = 0;
  for (std::size_t b = 0; b < impl_->functions.size(); ++b) {
    if (impl_->alive(b)) count += static_cast<std::size_t>(impl_->functions[b]->residuals());
  }
  return count;
}

int Problem::parameters() const {
  int count = 0;
  for (const ParameterBlock& block : impl_->parameters) count += block.removed ? 0 : block.size;
  return count;
}

ProblemEvaluation Problem::evaluate() const {
  ProblemEvaluation out;
  std::vector<const double*> pointers;
  for (std::size_t b = 0; b < impl_->functions.size(); ++b) {
    if (!impl_->alive(b)) continue;
    const BlockFunction& function = *impl_->functions[b];
    pointers.clear();
    for (const std::uint32_t p : impl_->parameters_of(b)) pointers.push_back(impl_->parameters[p].data);
    const std::size_t first = out.residuals.size();
    out.residuals.resize(first + static_cast<std::size_t>(function.residuals()));
    const std::span r = std::span(out.residuals).subspan(first);
    if (!function.value(pointers.data(), r.data())) std::ranges::fill(r, kNaN);
    double squares = 0;
    for (const double v : r) squares += v * v;
    out.cost += 0.5 * impl_->losses[b](squares).rho;
  }
  return out;
}

}  // namespace nlsq::inline v0
