// Orders the instructions of a tile program: depth first from the outputs, and at each value the operand that
// needs most registers first (Sethi and Ullman, J. ACM 17, 1970). This is optimal for trees, and good for
// graphs that are nearly trees.
#include "program/lowering.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

using Order = std::vector<std::uint32_t>;

bool is_computed(const LoweredValue& v) { return v.varies && v.op != Op::column; }

class Scheduler {
 public:
  explicit Scheduler(const Lowered& program) : values_(program.values), need_(values_.size(), 0) {
    for (std::uint32_t id = 0; id < values_.size(); ++id) {
      if (is_computed(values_[id])) need_[id] = registers_needed(id);
    }
    find_partners();
  }

  std::uint32_t need(std::uint32_t id) const { return need_[id]; }

  Order run(std::span<const std::uint32_t> outputs) const {
    Order order, stack;
    std::vector<std::uint8_t> done(values_.size(), 0);
    for (const std::uint32_t output : outputs) {
      if (is_computed(values_[output])) stack.push_back(output);
      while (!stack.empty()) {
        const std::uint32_t id = stack.back();
        const bool ready = done[id] || !push_operands(id, done, stack);
        if (!ready) continue;
        stack.pop_back();
        if (done[id]) continue;
        order.push_back(id);
        done[id] = 1;
        const std::uint32_t partner = partner_.empty() ? id : partner_[id];
        if (done[partner]) continue;
        order.push_back(partner);
        done[partner] = 1;
      }
    }
    return order;
  }

  // Returns the largest number of computed vectors that are live at once.
  std::size_t pressure(const Order& order) const {
    std::vector<std::uint32_t> left(values_.size(), 0);
    for (const std::uint32_t id : order) {
      for (int i = 0; i < arity(values_[id].op); ++i) ++left[values_[id].operands[i]];
    }
    std::size_t live = 0, peak = 0;
    for (const std::uint32_t id : order) {
      for (int i = 0; i < arity(values_[id].op); ++i) {
        const std::uint32_t operand = values_[id].operands[i];
        const LoweredValue& v = values_[operand];
        if (--left[operand] == 0 && is_computed(v) && !v.is_output) --live;
      }
      peak = std::max(peak, ++live);
    }
    return peak;
  }

 private:
  // Places sin and cos of one value next to each other, because kernels compute both at once. The same holds
  // for the logarithm of a value and its power to a parameter, whose operands are available as soon as the
  // value is.
  void find_partners() {
    std::unordered_map<std::uint32_t, std::uint32_t> sines, logarithms;  // by operand
    for (std::uint32_t id = 0; id < values_.size(); ++id) {
      const LoweredValue& v = values_[id];
      if (!is_computed(v) || !is_needed(v)) continue;
      if (v.op == Op::sin) sines.emplace(v.operands[0], id);
      if (v.op == Op::log) logarithms.emplace(v.operands[0], id);
    }
    if (sines.empty() && logarithms.empty()) return;
    partner_.resize(values_.size());
    std::iota(partner_.begin(), partner_.end(), 0u);
    for (std::uint32_t id = 0; id < values_.size(); ++id) {
      const LoweredValue& v = values_[id];
      if (!is_computed(v) || !is_needed(v)) continue;
      const bool cosine = v.op == Op::cos, power = v.op == Op::pow && !is_computed(values_[v.operands[1]]);
      if (!cosine && !power) continue;
      const auto& others = cosine ? sines : logarithms;
      const auto other = others.find(v.operands[0]);
      if (other == others.end() || partner_[other->second] != other->second)
        continue;  // already paired with another power
      partner_[id] = other->second;
      partner_[other->second] = id;
    }
  }
  static bool is_needed(const LoweredValue& v) { return v.uses > 0 || v.is_output; }

  // Returns the registers that a value needs. It sorts the needs of the operands in descending order. All but
  // the first operand occupy a register while they wait.
  std::uint32_t registers_needed(std::uint32_t id) const {
    const LoweredValue& v = values_[id];
    std::uint32_t needs[3] = {0, 0, 0};
    for (int i = 0; i < arity(v.op); ++i) needs[i] = need_[v.operands[i]];
    std::sort(needs, needs + 3, std::greater<>());
    std::uint32_t most = 1;
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (needs[i] > 0) most = std::max(most, needs[i] + i);
    }
    return most;
  }

  // Pushes operands that are not computed yet, the one that needs most registers last, because it is computed
  // first. Returns false if there are none.
  bool push_operands(std::uint32_t id, const std::vector<std::uint8_t>& done, Order& stack) const {
    const LoweredValue& v = values_[id];
    std::uint32_t waiting[3];
    int count = 0;
    for (int i = arity(v.op); i-- > 0;) {
      const std::uint32_t operand = v.operands[i];
      if (is_computed(values_[operand]) && !done[operand]) waiting[count++] = operand;
    }
    std::stable_sort(waiting, waiting + count,
                     [this](std::uint32_t l, std::uint32_t r) { return need_[l] < need_[r]; });
    stack.insert(stack.end(), waiting, waiting + count);
    return count > 0;
  }

  std::span<const LoweredValue> values_;
  std::vector<std::uint32_t> need_;
  std::vector<std::uint32_t> partner_;  // the value itself if it has no partner; empty if no value has one
};

}  // namespace

std::vector<std::uint32_t> schedule(const Lowered& program) {
  const Scheduler scheduler(program);
  std::vector<std::uint32_t> outputs = program.outputs;
  Order best = scheduler.run(outputs);
  std::size_t least = scheduler.pressure(best);
  const auto try_order = [&] {
    Order order = scheduler.run(outputs);
    if (const std::size_t registers = scheduler.pressure(order); registers < least) {
      best = std::move(order);
      least = registers;
    }
  };
  std::ranges::reverse(outputs);
  try_order();
  std::ranges::stable_sort(
      outputs, [&](std::uint32_t l, std::uint32_t r) { return scheduler.need(l) > scheduler.need(r); });
  try_order();
  return best;
}

}  // namespace nlsq::inline v0
