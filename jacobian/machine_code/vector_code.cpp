// Numbers the nodes of straight-line code, and orders them.
#include "machine_code/vector_code.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

std::size_t VectorNodeHash::operator()(const VectorNode& node) const {
  std::uint64_t h = node.number + (static_cast<std::uint64_t>(node.op) << 1 | node.f64);
  for (const std::uint32_t operand : node.operands) h = (h ^ operand) * 0x9e3779b97f4a7c15;
  return h ^ h >> 32;
}

std::uint32_t VectorCode::add(const VectorNode& node) {
  const auto [place, is_new] = places_.try_emplace(node, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return place->second;
}

std::vector<std::uint32_t> VectorCode::order() const {
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  std::vector<bool> needed(count, false);
  std::size_t vectors = 0;  // number of vectors of the tile that nodes load or store
  for (const VectorNode& node : nodes_) {
    if (is_load(node.op) || node.op == VectorOp::store)
      vectors = std::max(vectors, static_cast<std::size_t>(node.number) + 1);
  }
  // For each vector, the last node that uses its earlier value.
  std::vector<std::uint32_t> last_use(vectors, 0);
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
