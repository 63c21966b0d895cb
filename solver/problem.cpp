#include "problem_impl.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace nlsq::inline v0 {

namespace {

std::uint32_t known(const Problem::Impl& impl, const double* block, const char* what) {
  const auto place = impl.by_address.find(block);
  if (place == impl.by_address.end()) {
    throw ValidationError(std::string(what) + ": this pointer is no parameter block of the problem");
  }
  return place->second;
}

// The block's number; entered where it is new.
std::uint32_t enter(Problem::Impl& impl, double* data, int size) {
  if (data == nullptr) throw ValidationError("a parameter block is a null pointer");
  const auto place = impl.by_address.find(data);
  if (place != impl.by_address.end()) {
    const int before = impl.parameters[place->second].size;
    if (size != 0 && size != before) {
      throw ValidationError("a parameter block has " + std::to_string(before) + " numbers, and is now given with " + std::to_string(size));
    }
    return place->second;
  }
  if (size <= 0) {
    throw ValidationError("a parameter block is given as a plain pointer before its size is known: call "
                          "add_parameter_block(pointer, size) first, or pass an array or a vector");
  }
  const auto number = static_cast<std::uint32_t>(impl.parameters.size());
  impl.parameters.push_back({.data = data, .size = size});
  impl.by_address.emplace(data, number);
  return number;
}

void check_manifold(const ParameterBlock& block, const ManifoldPtr& manifold) {
  if (manifold && manifold->ambient() != block.size) {
    throw ValidationError("a manifold of " + std::to_string(manifold->ambient()) + " numbers on a parameter block of " + std::to_string(block.size));
  }
}

void check_bound(const ParameterBlock& block, int index, double bound) {
  if (index < 0 || index >= block.size) {
    throw ValidationError("a bound for number " + std::to_string(index) + " of a parameter block of " + std::to_string(block.size));
  }
  if (std::isnan(bound)) throw ValidationError("a bound is NaN");
}

}  // namespace

Problem::Problem() : impl_(std::make_unique<Impl>()) {}
Problem::~Problem() = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(Problem&&) noexcept = default;

void Problem::add_parameter_block(double* block, int size, ManifoldPtr manifold) {
  if (size <= 0) throw ValidationError("a parameter block has at least one number, not " + std::to_string(size));
  ParameterBlock& entered = impl_->parameters[enter(*impl_, block, size)];
  check_manifold(entered, manifold);
  if (manifold) entered.manifold = std::move(manifold);
}

void Problem::add_parameter_block(BlockRef block, ManifoldPtr manifold) {
  add_parameter_block(block.data, block.size, std::move(manifold));
}

void Problem::set_manifold(double* block, ManifoldPtr manifold) {
  ParameterBlock& entered = impl_->parameters[known(*impl_, block, "set_manifold")];
  check_manifold(entered, manifold);
  entered.manifold = std::move(manifold);
}

void Problem::set_constant(double* block) { impl_->parameters[known(*impl_, block, "set_constant")].constant = true; }
void Problem::set_variable(double* block) { impl_->parameters[known(*impl_, block, "set_variable")].constant = false; }
bool Problem::is_constant(const double* block) const {
  return impl_->parameters[known(*impl_, block, "is_constant")].constant;
}

void Problem::set_lower_bound(double* block, int index, double bound) {
  ParameterBlock& entered = impl_->parameters[known(*impl_, block, "set_lower_bound")];
  check_bound(entered, index, bound);
  entered.make_bounds();
  entered.lower[static_cast<std::size_t>(index)] = bound;
}
void Problem::set_upper_bound(double* block, int index, double bound) {
  ParameterBlock& entered = impl_->parameters[known(*impl_, block, "set_upper_bound")];
  check_bound(entered, index, bound);
  entered.make_bounds();
  entered.upper[static_cast<std::size_t>(index)] = bound;
}
void Problem::set_elimination_group(double* block, int group) {
  if (group < 0) throw ValidationError("set_elimination_group: a group is 0 or more, not " + std::to_string(group));
  impl_->parameters[known(*impl_, block, "set_elimination_group")].group = group;
}

ResidualBlockId Problem::add(std::shared_ptr<const BlockFunction> function, const Loss& loss, std::span<const BlockRef> blocks) {
  if (!function) throw ValidationError("add_residual_block: the function is missing");
  if (function->residuals() <= 0) throw ValidationError("a residual block has at least one residual");
  if (loss.is_counts()) throw ValidationError("loss poisson: a residual block has no counts; it is of curve_fit, where y are counts");
  if (blocks.empty()) throw ValidationError("a residual block depends on at least one parameter block");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (blocks[i].data == blocks[j].data) {
        throw ValidationError("parameter blocks " + std::to_string(j) + " and " + std::to_string(i) + " of a residual block are the same");
      }
    }
  }
  Impl& impl = *impl_;
  const std::size_t first = impl.uses.size();
  try {
    for (const BlockRef& block : blocks) impl.uses.push_back(enter(impl, block.data, block.size));
  } catch (...) {
    impl.uses.resize(first);
    throw;
  }
  impl.functions.push_back(std::move(function));
  impl.losses.push_back(loss);
  impl.first.push_back(first);
  impl.count.push_back(static_cast<std::uint32_t>(blocks.size()));
  return {static_cast<std::uint32_t>(impl.functions.size() - 1)};
}

void Problem::remove_residual_block(ResidualBlockId id) {
  if (id.index >= impl_->functions.size() || !impl_->functions[id.index]) {
    throw ValidationError("remove_residual_block: there is no residual block " + std::to_string(id.index));
  }
  impl_->functions[id.index] = nullptr;
}

void Problem::remove_parameter_block(double* block) {
  const std::uint32_t number = known(*impl_, block, "remove_parameter_block");
  for (std::size_t b = 0; b < impl_->functions.size(); ++b) {
    const auto uses = impl_->parameters_of(b);
    if (std::ranges::find(uses, number) != uses.end()) impl_->functions[b] = nullptr;
  }
  impl_->parameters[number].removed = true;
  impl_->by_address.erase(block);
}

std::size_t Problem::parameter_blocks() const { return impl_->by_address.size(); }

std::size_t Problem::residual_blocks() const {
  return static_cast<std::size_t>(std::ranges::count_if(impl_->functions, [](const auto& f) { return f != nullptr; }));
}

std::size_t Problem::residuals() const {
  std::size_t count = 0;
  for (const auto& function : impl_->functions) count += function ? static_cast<std::size_t>(function->residuals()) : 0;
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
    if (!impl_->functions[b]) continue;
    const BlockFunction& function = *impl_->functions[b];
    pointers.clear();
    for (const std::uint32_t p : impl_->parameters_of(b)) pointers.push_back(impl_->parameters[p].data);
    const std::size_t first = out.residuals.size();
    out.residuals.resize(first + static_cast<std::size_t>(function.residuals()));
    const std::span r = std::span(out.residuals).subspan(first);
    if (!function.value(pointers.data(), r.data())) std::ranges::fill(r, std::numeric_limits<double>::quiet_NaN());
    double squares = 0;
    for (const double v : r) squares += v * v;
    out.cost += 0.5 * impl_->losses[b](squares).rho;
  }
  return out;
}

}  // namespace nlsq::inline v0
