// Assigns registers to the values of generated code.
#include "machine_code/vector_registers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace nlsq::inline v0 {

VectorRegisters::VectorRegisters(Encoder& encoder, const CodeToRun& code, int copies, std::size_t lag,
                                 int first_slot)
    : encoder_(encoder), code_(code), size_(static_cast<std::uint32_t>(code.nodes.size())),
      nodes_(code.nodes.begin(), code.nodes.end()),
      slot_(code.uniform_slots.begin(), code.uniform_slots.end()), slots_(first_slot),
      registers_(code.set.registers) {
  const auto& nodes = code.nodes;
  const auto& order = code.order;
  const auto total = static_cast<std::uint32_t>(copies) * size_;
  nodes_.reserve(total);
  // Values that are the same for all rows are shared by all copies.
  for (std::uint32_t id = size_; id < total; ++id) {
    VectorNode node = nodes[id % size_];
    for (std::uint32_t& operand : node.operands) {
      if (!is_fixed(nodes[operand].op)) operand += id / size_ * size_;
    }
    nodes_.push_back(node);
  }
  order_.reserve(order.size() * static_cast<std::size_t>(copies));
  const std::size_t turns = order.size() + lag * static_cast<std::size_t>(copies - 1);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    std::size_t at = turn;  // larger than the number of instructions if a copy waits or is done
    for (std::uint32_t copy = 0; copy < total; copy += size_, at -= lag) {
      if (at < order.size()) order_.push_back(order[at] + copy);
    }
  }
  register_.assign(total, none);
  slot_.resize(total, none);
  node_in_.fill(kNever);
  list_uses();
  if (code.set.avx512) keep_fixed_values();
}

void VectorRegisters::list_uses() {
  next_.assign(nodes_.size(), 0);
  for (const std::uint32_t id : order_) {
    for (int k = 0; k < arity(nodes_[id].op); ++k) ++next_[nodes_[id].operands[k]];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& n : next_) sum += std::exchange(n, sum);
  end_ = next_;
  uses_.resize(sum);
  for (std::uint32_t at = 0; at < order_.size(); ++at) {
    const VectorNode& node = nodes_[order_[at]];
    for (int k = 0; k < arity(node.op); ++k) uses_[end_[node.operands[k]]++] = at;
  }
}

// Returns the number of vectors that are needed at one time, without those that are the same for all rows.
int VectorRegisters::most_live() const {
  int live = 0, most = 0;
  const auto is_counted = [this](std::uint32_t id) {
    return !is_fixed(nodes_[id].op) && !is_mask(nodes_[id].op) && end_[id] != next_[id];
  };
  for (std::uint32_t at = 0; at < order_.size(); ++at) {
    const VectorNode& node = nodes_[order_[at]];
    if (is_counted(order_[at])) ++live;
    most = std::max(most, live);
    for (int k = 0; k < arity(node.op); ++k) {
      const std::uint32_t id = node.operands[k];
      const bool again = std::find(node.operands, node.operands + k, id) != node.operands + k;
      if (!again && is_counted(id) && uses_[end_[id] - 1] == at) --live;
    }
  }
  return most;
}

// Loads values that are used most into the registers that would otherwise be free all the time. Loads take
// as many cycles as arithmetic in a polynomial whose coefficients are all in memory.
void VectorRegisters::keep_fixed_values() {
  constexpr int kForInstructions = 4;  // copies of operands, and operands that must not be in memory
  const int spare = registers_ - most_live() - kForInstructions;
  std::vector<std::uint32_t> fixed;
  fixed.reserve(size_);
  for (std::uint32_t id = 0; id < size_; ++id) {
    if (is_fixed(nodes_[id].op) && end_[id] != next_[id]) fixed.push_back(id);
  }
  const auto uses = [this](std::uint32_t id) { return end_[id] - next_[id]; };
  std::ranges::stable_sort(fixed, std::greater(), uses);
  for (std::size_t k = 0; k < fixed.size() && static_cast<int>(k) < spare; ++k) {
    --registers_;
    encoder_.load(registers_, memory(fixed[k]));
    register_[fixed[k]] = registers_;
  }
}

std::uint32_t VectorRegisters::next_instruction(std::uint32_t at) {
  // Frees the places on the stack of values that the last instruction used for the last time.
  for (int k = 0; at > 0 && k < arity(nodes_[order_[now_]].op); ++k) {
    const std::uint32_t id = nodes_[order_[now_]].operands[k];
    if (is_fixed(nodes_[id].op) || slot_[id] == none || !is_last_use(id)) continue;
    free_slots_.push_back(std::exchange(slot_[id], none));
  }
  now_ = at;
  locked_ = 0;
  return order_[at];
}

// Returns the place of the first use after this instruction.
std::uint32_t VectorRegisters::next_use(std::uint32_t id) {
  while (next_[id] < end_[id] && uses_[next_[id]] <= now_) ++next_[id];
  return next_[id] < end_[id] ? uses_[next_[id]] : kNever;
}

bool VectorRegisters::is_operand(std::uint32_t id) const {
  const VectorNode& node = nodes_[order_[now_]];
  return std::find(node.operands, node.operands + arity(node.op), id) != node.operands + arity(node.op);
}

bool VectorRegisters::is_free(int r) {
  const std::uint32_t id = node_in_[static_cast<std::size_t>(r)];
  return id == kNever || (!is_operand(id) && is_last_use(id));
}

VectorOperand VectorRegisters::of_tile(std::uint32_t id, bool doubles, int half) {
  const std::uint64_t vector = nodes_[id].number;
  const auto kept =
      static_cast<std::size_t>(std::ranges::find(code_.pointers, vector) - code_.pointers.begin());
  Register base = CodeRegisters::scratch;
  if (kept < code_.pointers.size()) base = CodeRegisters::pointers[kept];
  else encoder_.load_pointer(base, CodeRegisters::vectors, 8 * static_cast<std::int32_t>(vector));
  const auto copy = static_cast<std::int32_t>(id / size_);
  return {.kind = VectorOperand::Kind::indexed,
          .base = base,
          .index = CodeRegisters::row,
          .scale = static_cast<std::uint8_t>(doubles ? 1 : 0),
          .displacement = code_.set.bytes * (doubles ? 2 * copy + half : copy)};
}

VectorOperand VectorRegisters::memory(std::uint32_t id) {
  const VectorNode& node = nodes_[id];
  const auto each = static_cast<std::uint8_t>(!code_.set.avx512 ? 0 : node.f64 ? 8 : 4);
  const auto number = static_cast<std::int32_t>(node.number);
  if (node.op == VectorOp::constant) {
    const std::uint64_t bits = node.f64 ? node.number : node.number | node.number << 32;
    return {.kind = VectorOperand::Kind::constant, .constant = encoder_.constant(bits), .each = each};
  }
  if (node.op == VectorOp::load) return of_tile(id);
  if (node.op == VectorOp::table) {
    encoder_.set_pointer(CodeRegisters::table, node.number);
    return VectorOperand::at(CodeRegisters::table, 0);
  }
  if (node.op == VectorOp::uniform && code_.lanes)
    return VectorOperand::at(CodeRegisters::uniforms, code_.set.bytes * number);
  if (node.op == VectorOp::uniform && each != 0) {
    VectorOperand one = VectorOperand::at(CodeRegisters::uniforms, each * number);
    one.each = each;
    return one;
  }
  return VectorOperand::at(Register::rsp, code_.set.bytes * slot_[id]);
}

void VectorRegisters::give_up(int r) {
  const std::uint32_t id = std::exchange(node_in_[static_cast<std::size_t>(r)], kNever);
  if (id == kNever) return;
  register_[id] = none;
  if (!is_operand(id) && is_last_use(id)) return;
  const bool elsewhere = is_fixed(nodes_[id].op) || nodes_[id].op == VectorOp::load;
  if (elsewhere || slot_[id] != none) return;
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  slot_[id] = free_slots_.back();
  free_slots_.pop_back();
  if (r < first_mask) encoder_.store(r, memory(id));
  else encoder_.store_mask(number_of(r), memory(id));
}

int VectorRegisters::take(bool mask) {
  const int begin = mask ? first_mask : 0, end = mask ? end_of_masks : registers_;
  int best = none;
  std::uint32_t farthest = 0;
  for (int r = begin; r < end && farthest != kNever; ++r) {
    if (locked_ >> r & 1) continue;
    const std::uint32_t id = node_in_[static_cast<std::size_t>(r)];
    std::uint32_t use = kNever;
    if (id != kNever) use = is_operand(id) ? now_ : next_use(id);
    if (best == none || use > farthest) best = r, farthest = use;
  }
  give_up(best);
  locked_ |= std::uint64_t(1) << best;
  return best;
}

void VectorRegisters::keep(std::uint32_t id, int r) {
  node_in_[static_cast<std::size_t>(r)] = id;
  register_[id] = r;
}

bool VectorRegisters::masked(std::uint32_t id) const { return code_.set.avx512 && is_mask(nodes_[id].op); }

int VectorRegisters::in_register(std::uint32_t id) {
  if (register_[id] == none) {
    const int r = take(masked(id));
    if (r < first_mask) encoder_.load(r, memory(id));
    else encoder_.load_mask(number_of(r), memory(id));
    keep(id, r);
  }
  locked_ |= std::uint64_t(1) << register_[id];
  return number_of(register_[id]);
}

bool VectorRegisters::can_load_freely() {
  for (int r = 0; r < registers_; ++r) {
    if (!(locked_ >> r & 1) && is_free(r)) return true;
  }
  return false;
}

// Loads a value that is used again, but only if a register is free.
VectorOperand VectorRegisters::anywhere(std::uint32_t id) {
  if (register_[id] == none) {
    const bool again = !is_fixed(nodes_[id].op) && !is_last_use(id);
    if (!again || !can_load_freely()) return memory(id);
  }
  return VectorOperand::in_vector(in_register(id));
}

// Frees the registers of operands that are not used again. Their values remain until the registers are taken.
void VectorRegisters::release_operands() {
  const VectorNode& node = nodes_[order_[now_]];
  for (int k = 0; k < arity(node.op); ++k) {
    const std::uint32_t id = node.operands[k];
    if (register_[id] == none || !is_last_use(id)) continue;
    locked_ &= ~(std::uint64_t(1) << register_[id]);
    node_in_[static_cast<std::size_t>(register_[id])] = kNever;
    register_[id] = none;
  }
}

int VectorRegisters::result(std::uint32_t id) {
  release_operands();
  keep(id, take(masked(id)));
  return number_of(register_[id]);
}

void VectorRegisters::set_result(std::uint32_t id, int r) {
  release_operands();
  keep(id, r);
}

}  // namespace nlsq::inline v0
