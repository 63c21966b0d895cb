// Numbers the nodes of straight-line code, and orders them.
#include "machine_code/vector_code.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

namespace {

std::size_t hash(const VectorNode& node) {
  std::uint64_t h = node.number + (static_cast<std::uint64_t>(node.op) << 1 | node.f64);
  for (const std::uint32_t operand : node.operands) h = (h ^ operand) * 0x9e3779b97f4a7c15;
  return h ^ h >> 32;
}

}  // namespace

std::uint32_t VectorCode::add(const VectorNode& node) {
  if (2 * (nodes_.size() + 1) > places_.size()) {
    places_.assign(std::max<std::size_t>(256, 2 * places_.size()), 0);
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
      std::size_t place = hash(nodes_[id]) & (places_.size() - 1);
      while (places_[place] != 0) place = (place + 1) & (places_.size() - 1);
      places_[place] = id + 1;
    }
  }
  std::size_t place = hash(node) & (places_.size() - 1);
  for (; places_[place] != 0; place = (place + 1) & (places_.size() - 1)) {
    if (nodes_[places_[place] - 1] == node) return places_[place] - 1;
  }
  if (is_load(node.op) || node.op == VectorOp::store)
    vectors_ = std::max(vectors_, static_cast<std::size_t>(node.number) + 1);
  nodes_.push_back(node);
  places_[place] = static_cast<std::uint32_t>(nodes_.size());
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::vector<std::uint32_t> VectorCode::order() const {
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  std::vector<bool> needed(count, false);
  // For each vector, the last node that uses its earlier value.
  std::vector<std::uint32_t> last_use(vectors_, 0);
  std::uint32_t last_requirement = 0;
  for (std::uint32_t id = count; id-- > 0;) {
    const VectorNode& node = nodes_[id];
    if (has_effect(node.op)) needed[id] = true;
    if (!needed[id]) continue;
    if (node.op == VectorOp::require) last_requirement = std::max(last_requirement, id);
    for (int k = 0; k < arity(node.op); ++k) {
      needed[node.operands[k]] = true;
      const VectorNode& operand = nodes_[node.operands[k]];
      if (is_load(operand.op)) last_use[operand.number] = std::max(last_use[operand.number], id);
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stores;  // after which node, and the store
  for (std::uint32_t id = 0; id < count; ++id) {
    const VectorNode& node = nodes_[id];
    if (node.op != VectorOp::store) continue;
    stores.emplace_back(std::max({node.operands[0], last_requirement, last_use[node.number]}), id);
  }
  std::ranges::stable_sort(stores, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
  std::vector<std::uint32_t> order;
  auto next = stores.begin();
  for (std::uint32_t id = 0; id < count; ++id) {
    if (needed[id] && nodes_[id].op != VectorOp::store) order.push_back(id);
    for (; next != stores.end() && next->first == id; ++next) order.push_back(next->second);
  }
  return order;
}

}  // namespace nlsq::inline v0
