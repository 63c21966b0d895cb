// Writes the function: its frame, its loops, and the instructions of each node.
#include "machine_code/vector_code.hpp"

#include "machine_code/encoder.hpp"
#include "machine_code/vector_registers.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Instructions of two vectors alternate, so that the CPU can work on one while it waits for results of the
// other. Longer code has enough independent instructions in one vector, and two would need too many
// registers.
constexpr std::size_t kMostForTwo = 300;
// The lines of columns are fetched so many bytes before they are needed (measured on a Sapphire Rapids). The
// sums of [J | r] follow the code after some hundred rows, and memory would be idle meanwhile.
constexpr std::int32_t kAhead = 2048;
// Code beyond these limits is slower than the interpreter: it leaves the instruction cache, or touches more
// memory in each turn than the CPU keeps addresses of. The frame stays below a page, so that it needs no
// probe.
constexpr std::size_t kMostNodes = 3000;
constexpr std::ptrdiff_t kMostStores = 64;
constexpr std::int32_t kMostFrame = 3840;

class Assembly {
 public:
  Assembly(const VectorCode& code, const VectorSet& set, bool f64, bool lanes)
      : nodes_(code.nodes()), order_(code.order()), set_(set), f64_(f64), lanes_(lanes),
        uniform_slots_(nodes_.size(), VectorRegisters::none), encoder_(set) {}

  std::vector<std::uint8_t> assemble() {
    const auto is_store = [this](std::uint32_t id) { return nodes_[id].op == VectorOp::store; };
    if (order_.size() > kMostNodes || std::ranges::count_if(order_, is_store) > kMostStores) return {};
    const std::size_t frame = prologue();
    const int kept = slots_;
    const bool two = order_.size() <= kMostForTwo;
    if (two) loop(2, kept);
    if (!two || lanes_) loop(1, kept);
    for (const std::size_t exit : exits_) encoder_.bind(exit, encoder_.here());
    epilogue();
    if (set_.bytes * slots_ > kMostFrame) return {};
    encoder_.set_word(frame, static_cast<std::uint32_t>(set_.bytes * slots_));
    return encoder_.finish();
  }

 private:
  // Opens the frame, and keeps pointers in registers and uniforms on the stack. Returns the place in the code
  // where the size of the frame is written when it is known.
  std::size_t prologue() {
    encoder_.bytes({0x55, 0x48, 0x89, 0xe5});                                // push rbp; mov rbp, rsp
    encoder_.bytes({0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57});  // push rbx, r12 to r15
    encoder_.bytes({0x48, 0x83, 0xe4, 0xc0, 0x48, 0x81, 0xec});              // and rsp, -64; sub rsp, …
    const std::size_t frame = encoder_.here();
    encoder_.word(0);
    for (const std::uint32_t id : order_) {
      const VectorNode& node = nodes_[id];
      for (int k = 0; k < arity(node.op); ++k) {
        keep_pointer(nodes_[node.operands[k]]);
        keep_uniform(node.operands[k]);
      }
      keep_pointer(node);
    }
    return frame;
  }

  void keep_pointer(const VectorNode& node) {
    if ((!is_load(node.op) && node.op != VectorOp::store) ||
        pointers_.size() == std::size(CodeRegisters::pointers))
      return;
    if (std::ranges::find(pointers_, node.number) != pointers_.end()) return;
    encoder_.load_pointer(CodeRegisters::pointers[pointers_.size()], CodeRegisters::vectors,
                          8 * static_cast<std::int32_t>(node.number));
    pointers_.push_back(node.number);
  }

  // With AVX-512 an instruction takes a uniform from memory for all lanes. With AVX2 a vector has to hold it.
  void keep_uniform(std::uint32_t id) {
    if (set_.avx512 || lanes_ || nodes_[id].op != VectorOp::uniform) return;
    if (uniform_slots_[id] != VectorRegisters::none) return;
    uniform_slots_[id] = slots_++;
    const std::int32_t size = f64_ ? 8 : 4;
    const std::uint8_t broadcast = f64_ ? 0x19 : 0x18;
    const auto number = static_cast<std::int32_t>(nodes_[id].number);
    encoder_.vex({1, 2, broadcast}, 0, 0, VectorOperand::at(CodeRegisters::uniforms, size * number));
    encoder_.store(0, VectorOperand::at(Register::rsp, set_.bytes * uniform_slots_[id]));
  }

  void epilogue() {
    encoder_.bytes({0x48, 0x89, 0xd0});                                      // mov rax, rdx
    encoder_.bytes({0xc5, 0xf8, 0x77});                                      // vzeroupper
    encoder_.bytes({0x48, 0x8d, 0x65, 0xd8});                                // lea rsp, [rbp - 40]
    encoder_.bytes({0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b});  // pop r15 to r12, rbx
    encoder_.bytes({0x5d, 0xc3});                                            // pop rbp; ret
  }

  // Returns by how many instructions the second copy is behind the first, so that not both need many
  // registers at the same places. All requirements of the second copy must still come before the first store
  // of the first copy, because the interpreter starts again at the rows of the first.
  std::size_t lag_of_copies() const {
    constexpr std::size_t kLag = 24, kLong = 64;
    if (!f64_ || order_.size() <= kLong) return 0;
    std::size_t required = 0, stored = order_.size();
    for (std::size_t at = order_.size(); at-- > 0;) {
      if (nodes_[order_[at]].op == VectorOp::store) stored = at;
      if (nodes_[order_[at]].op == VectorOp::require) required = std::max(required, at + 1);
    }
    return required == 0 || required + kLag <= stored ? kLag : 0;
  }

  // Writes a loop that computes `copies` vectors of rows in each turn, as long as rows are left. Buffers of
  // rows have room for a whole last turn. Buffers of lanes have none, so there a turn needs that many
  // vectors.
  void loop(int copies, int first_slot) {
    const auto step = static_cast<std::uint32_t>(copies * set_.bytes);
    const auto rows_left = [&](std::uint8_t condition) {
      encoder_.bytes({0x48, 0x8d, 0x82});  // lea rax, [rdx + …]
      encoder_.word(lanes_ ? step : 1);
      encoder_.bytes({0x48, 0x39, 0xc8});  // cmp rax, rcx
      return encoder_.jump(condition);
    };
    const std::size_t skip = rows_left(0x87);  // ja
    const std::size_t lag = copies == 1 ? 0 : lag_of_copies();
    const CodeToRun code{set_, nodes_, order_, pointers_, lanes_, uniform_slots_};
    VectorRegisters registers(encoder_, code, copies, lag, first_slot);
    encoder_.align(32);
    const std::size_t start = encoder_.here();
    registers_ = &registers;
    for (std::uint32_t at = 0; at < registers.count(); ++at) emit(registers.next_instruction(at));
    encoder_.bytes({0x48, 0x81, 0xc2});  // add rdx, …
    encoder_.word(step);
    encoder_.bind(rows_left(0x86), start);  // jbe
    encoder_.bind(skip, encoder_.here());
    slots_ = std::max(slots_, registers.slots());
  }

  void emit(std::uint32_t id) {
    const VectorNode& node = registers_->node(id);
    const bool w = node.f64;
    const std::uint8_t p = w ? 1 : 0, rounding = w ? 9 : 8;
    switch (node.op) {
      case VectorOp::load: return fetch_ahead(registers_->of_tile(id));
      case VectorOp::uniform:
      case VectorOp::constant:
      case VectorOp::table: return;  // written where they are used
      case VectorOp::load_f64: return load_f64(id);
      case VectorOp::add: return commuting(id, {p, 1, 0x58, w});
      case VectorOp::mul: return commuting(id, {p, 1, 0x59, w});
      case VectorOp::sub: return binary(id, {p, 1, 0x5c, w});
      case VectorOp::min: return binary(id, {p, 1, 0x5d, w});
      case VectorOp::div: return binary(id, {p, 1, 0x5e, w});
      case VectorOp::max: return binary(id, {p, 1, 0x5f, w});
      case VectorOp::fma: return fused(id, 0x98);
      case VectorOp::fms: return fused(id, 0x9a);
      case VectorOp::fnma: return fused(id, 0x9c);
      case VectorOp::scale: return binary(id, {1, 2, 0x2c, w});
      case VectorOp::sqrt: return unary(id, {p, 1, 0x51, w});
      case VectorOp::floor: return unary(id, {1, 3, rounding, w}, 9);
      case VectorOp::ceil: return unary(id, {1, 3, rounding, w}, 10);
      case VectorOp::less: return binary(id, {p, 1, 0xc2, w}, 17);
      case VectorOp::less_equal: return binary(id, {p, 1, 0xc2, w}, 18);
      case VectorOp::equal: return binary(id, {p, 1, 0xc2, w}, 0);
      case VectorOp::choose: return choose(id);
      case VectorOp::negative: return negative(id);
      case VectorOp::mask_and: return of_masks(id, {0, 1, 0x41});
      case VectorOp::mask_or: return of_masks(id, {0, 1, 0x45});
      case VectorOp::mask_not: return of_masks(id, {0, 1, 0x44, false, true});
      case VectorOp::bit_and: return commuting(id, {p, 1, 0x54, w});
      case VectorOp::bit_or: return commuting(id, {p, 1, 0x56, w});
      case VectorOp::bit_xor: return commuting(id, {p, 1, 0x57, w});
      case VectorOp::add_bits: return commuting(id, {1, 1, static_cast<std::uint8_t>(w ? 0xd4 : 0xfe), w});
      case VectorOp::sub_bits: return binary(id, {1, 1, static_cast<std::uint8_t>(w ? 0xfb : 0xfa), w});
      case VectorOp::shift_left: return shift(id, 6);
      case VectorOp::shift_right: return shift(id, 2);
      case VectorOp::widen_first: return widen(id, false);
      case VectorOp::widen_second: return widen(id, true);
      case VectorOp::narrow: return narrow(id);
      case VectorOp::gather: return gather(id);
      case VectorOp::permute: return permute(id);
      case VectorOp::require: return require(node);
      case VectorOp::store: {
        const int from = registers_->in_register(node.operands[0]);
        return encoder_.store(from, registers_->of_tile(id));
      }
    }
  }

  static constexpr int kNoImmediate = -1;
  void write(VectorOpcode opcode, int dst, int first, const VectorOperand& last, int immediate) {
    encoder_.vector(opcode, dst, first, last);
    if (immediate != kNoImmediate) encoder_.immediate(static_cast<std::uint8_t>(immediate));
  }

  void unary(std::uint32_t id, VectorOpcode opcode, int immediate = kNoImmediate) {
    const VectorOperand from = registers_->anywhere(registers_->node(id).operands[0]);
    write(opcode, registers_->result(id), 0, from, immediate);
  }
  void binary_of(std::uint32_t id, VectorOpcode opcode, std::uint32_t a, std::uint32_t b, int immediate) {
    const int first = registers_->in_register(a);
    const VectorOperand last = registers_->anywhere(b);
    write(opcode, registers_->result(id), first, last, immediate);
  }
  void binary(std::uint32_t id, VectorOpcode opcode, int immediate = kNoImmediate) {
    const auto& x = registers_->node(id).operands;
    binary_of(id, opcode, x[0], x[1], immediate);
  }
  void commuting(std::uint32_t id, VectorOpcode opcode) {
    std::uint32_t a = registers_->node(id).operands[0], b = registers_->node(id).operands[1];
    if (!registers_->has_register(a) && registers_->has_register(b)) std::swap(a, b);
    binary_of(id, opcode, a, b, kNoImmediate);
  }

  // The result replaces one of the operands: one that is used last here, or a copy. One other operand may be
  // in memory. The forms are 132 (dst = dst·last + first), 213 (first·dst + last) and 231 (first·last + dst).
  void fused(std::uint32_t id, std::uint8_t opcode) {
    const VectorNode& node = registers_->node(id);
    const auto& x = node.operands;
    int replaced = VectorRegisters::none, copied = 2;
    for (int k = 2; k >= 0; --k) {
      if (!registers_->has_register(x[k])) {
        copied = k;
        continue;
      }
      registers_->in_register(x[k]);
      if (replaced == VectorRegisters::none && registers_->is_last_use(x[k])) replaced = k;
    }
    int dst;
    if (replaced != VectorRegisters::none) {
      dst = registers_->in_register(x[replaced]);
    } else {
      replaced = copied;
      dst = registers_->take();
      if (!registers_->has_register(x[replaced])) encoder_.load(dst, registers_->memory(x[replaced]));
      else encoder_.move(dst, registers_->in_register(x[replaced]));
    }
    int first = replaced == 2 ? 0 : 2, last = replaced == 2 ? 1 : 1 - replaced;
    if (!registers_->has_register(x[first])) std::swap(first, last);
    const int first_register = registers_->in_register(x[first]);
    const VectorOperand operand = registers_->anywhere(x[last]);
    std::uint8_t form = 0x20;                           // 231
    if (replaced != 2) form = last == 2 ? 0x10 : 0x00;  // 213 if the term that is added is last; else 132
    encoder_.vector({1, 2, static_cast<std::uint8_t>(opcode + form), node.f64}, dst, first_register, operand);
    registers_->set_result(id, dst);
  }

  void choose(std::uint32_t id) {
    const VectorNode& node = registers_->node(id);
    const int mask = registers_->in_register(node.operands[0]);
    if (!set_.avx512) {
      const std::uint8_t opcode = node.f64 ? 0x4b : 0x4a;
      return binary_of(id, {1, 3, opcode}, node.operands[1], node.operands[2], mask << 4);
    }
    const int no = registers_->in_register(node.operands[1]);
    const VectorOperand yes = registers_->anywhere(node.operands[2]);
    encoder_.evex({1, 2, 0x65, node.f64}, registers_->result(id), no, yes, mask);  // vblendmpd
  }

  void negative(std::uint32_t id) {
    const VectorNode& node = registers_->node(id);
    const int from = registers_->in_register(node.operands[0]);
    encoder_.evex({2, 2, 0x39, node.f64}, registers_->result(id), 0,
                  VectorOperand::in_vector(from));  // vpmovq2m
  }

  void of_masks(std::uint32_t id, VectorOpcode opcode) {
    const VectorNode& node = registers_->node(id);
    const int a = registers_->in_register(node.operands[0]);
    if (arity(node.op) == 1)
      return encoder_.vex(opcode, registers_->result(id), 0, VectorOperand::in_vector(a));
    const int b = registers_->in_register(node.operands[1]);
    encoder_.vex(opcode, registers_->result(id), a, VectorOperand::in_vector(b));
  }

  void shift(std::uint32_t id, int kind) {
    const VectorNode& node = registers_->node(id);
    const int from = registers_->in_register(node.operands[0]), dst = registers_->result(id);
    const std::uint8_t opcode = node.f64 ? 0x73 : 0x72;
    write({1, 1, opcode, node.f64}, kind, dst, VectorOperand::in_vector(from), static_cast<int>(node.number));
  }

  // Copies the vector `half` to the upper half of `dst`. take_upper() copies the upper half of `from` to
  // `dst`.
  void set_upper(int dst, int half) {
    const std::uint8_t opcode = set_.avx512 ? 0x1a : 0x18;  // vinsertf64x4, vinsertf128
    write({1, 3, opcode, set_.avx512}, dst, dst, VectorOperand::in_vector(half), 1);
  }
  void take_upper(int dst, int from) {
    const std::uint8_t opcode = set_.avx512 ? 0x1b : 0x19;
    write({1, 3, opcode, set_.avx512}, from, 0, VectorOperand::in_vector(dst), 1);
  }

  // Fetches the data of a later turn. A vector of AVX-512 is a line of the cache. Addresses beyond the data
  // do no harm.
  void fetch_ahead(VectorOperand from) {
    if (!set_.avx512 || lanes_) return;
    from.displacement += kAhead;
    encoder_.prefetch(from);
  }

  void load_f64(std::uint32_t id) {
    const int dst = registers_->result(id), second = registers_->take();
    for (const int half : {0, 1}) {
      const VectorOperand from = registers_->of_tile(id, true, half);
      encoder_.vector(kToFloat, half == 0 ? dst : second, 0, from);
      fetch_ahead(from);
    }
    set_upper(dst, second);
  }

  void widen(std::uint32_t id, bool second) {
    int from = registers_->in_register(registers_->node(id).operands[0]);
    const int dst = registers_->result(id);
    if (second) take_upper(dst, std::exchange(from, dst));
    encoder_.vector({0, 1, 0x5a}, dst, 0, VectorOperand::in_vector(from));  // vcvtps2pd
  }

  void narrow(std::uint32_t id) {
    const VectorNode& node = registers_->node(id);
    const int first = registers_->in_register(node.operands[0]);
    const int second = registers_->in_register(node.operands[1]);
    const int dst = registers_->take(), upper = registers_->take();
    encoder_.vector(kToFloat, dst, 0, VectorOperand::in_vector(first));
    encoder_.vector(kToFloat, upper, 0, VectorOperand::in_vector(second));
    set_upper(dst, upper);
    registers_->set_result(id, dst);
  }

  // The result replaces the indices.
  void permute(std::uint32_t id) {
    const VectorNode& node = registers_->node(id);
    int dst = registers_->in_register(node.operands[0]);
    const int first = registers_->in_register(node.operands[1]);
    if (!registers_->is_last_use(node.operands[0]))
      encoder_.move(dst, std::exchange(dst, registers_->take()));
    const VectorOperand second = registers_->anywhere(node.operands[2]);
    encoder_.evex({1, 2, 0x77, true}, dst, first, second);  // vpermi2pd
    registers_->set_result(id, dst);
  }

  // Loads entries one by one, which takes half the time of the instruction that gathers (Zen 3).
  void gather(std::uint32_t id) {
    const VectorNode& node = registers_->node(id);
    const int index = registers_->in_register(node.operands[0]);
    const int dst = registers_->take(), upper = registers_->take(), half = registers_->take();
    const VectorOperand entry{.kind = VectorOperand::Kind::indexed,
                              .base = CodeRegisters::table,
                              .index = CodeRegisters::scratch,
                              .scale = 3};
    const auto pair = [&](int from, int to) {
      encoder_.extract(CodeRegisters::scratch, from, 0);
      encoder_.vex({3, 1, 0x10, false, true}, to, 0, entry);  // vmovsd
      encoder_.extract(CodeRegisters::scratch, from, 1);
      encoder_.vex({1, 1, 0x16, false, true}, to, to, entry);  // vmovhpd
    };
    encoder_.set_pointer(CodeRegisters::table, node.number);
    pair(index, dst);
    take_upper(half, index);
    pair(half, upper);
    set_upper(dst, upper);
    registers_->set_result(id, dst);
  }

  void require(const VectorNode& node) {
    const int mask = registers_->in_register(node.operands[0]);
    const std::uint8_t p = node.f64 ? 1 : 0;
    if (set_.avx512) {
      encoder_.vex({p, 1, 0x98, false, true}, mask, 0, VectorOperand::in_vector(mask));  // kortestb, kortestw
      exits_.push_back(encoder_.jump(0x83));                                             // jnc
      return;
    }
    encoder_.vex({p, 1, 0x50}, 0, 0, VectorOperand::in_vector(mask));  // vmovmskpd eax
    encoder_.bytes({0x3d});                                            // cmp eax, …
    encoder_.word(node.f64 ? 0xf : 0xff);
    exits_.push_back(encoder_.jump(0x85));  // jne
  }

  static constexpr VectorOpcode kToFloat{1, 1, 0x5a, true};  // vcvtpd2ps

  std::span<const VectorNode> nodes_;
  std::vector<std::uint32_t> order_;
  const VectorSet& set_;
  bool f64_, lanes_;
  std::vector<int> uniform_slots_;  // place on the stack of each node
  std::vector<std::uint64_t> pointers_;
  int slots_ = 0;  // vectors on the stack
  std::vector<std::size_t> exits_;
  Encoder encoder_;
  VectorRegisters* registers_ = nullptr;  // those of the loop that is being written
};

}  // namespace

std::vector<std::uint8_t> assembled(const VectorCode& code, const VectorSet& set, bool f64, bool lanes) {
  return Assembly(code, set, f64, lanes).assemble();
}

}  // namespace nlsq::inline v0
