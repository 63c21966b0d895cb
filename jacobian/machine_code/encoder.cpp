// Encodes instructions as bytes.
#include "machine_code/encoder.hpp"

#include <algorithm>
#include <cstring>

namespace nlsq::inline v0 {

namespace {

std::uint8_t low(int number) { return static_cast<std::uint8_t>(number & 7); }
std::uint8_t low(Register r) { return low(static_cast<int>(r)); }
bool high(int number) { return number >= 8; }
bool high(Register r) { return high(static_cast<int>(r)); }
std::uint8_t byte(int value) { return static_cast<std::uint8_t>(value); }

// Writes a VEX prefix of three bytes, then the opcode. The prefix holds the fourth bit of the registers
// `reg`, `index` and `base`, and the number of the register `first`, all of them inverted.
void prefix(std::vector<std::uint8_t>& code, VectorOpcode op, bool reg, bool index, bool base, int first) {
  code.push_back(0xc4);
  code.push_back(byte((reg ? 0 : 0x80) | (index ? 0 : 0x40) | (base ? 0 : 0x20) | op.map));
  code.push_back(byte((op.w ? 0x80 : 0) | (~first & 15) << 3 | (op.half ? 0 : 4) | op.prefix));
  code.push_back(op.opcode);
}

}  // namespace

void Encoder::word(std::uint32_t value) {
  for (int k = 0; k < 4; ++k) code_.push_back(byte(static_cast<int>(value >> 8 * k & 255)));
}

void Encoder::set_word(std::size_t place, std::uint32_t value) {
  std::memcpy(code_.data() + place, &value, 4);
}

// A displacement of one byte counts in steps of `unit` bytes.
void Encoder::operand(int dst, const VectorOperand& last, std::int32_t unit) {
  using Kind = VectorOperand::Kind;
  const int reg = low(dst) << 3;
  if (last.kind == Kind::vector) {
    code_.push_back(byte(0xc0 | reg | low(last.vector)));
    return;
  }
  if (last.kind == Kind::constant) {  // relative to the next instruction
    code_.push_back(byte(reg | 5));
    references_.push_back({here(), last.constant, here() + 4});
    word(0);
    return;
  }
  const std::int32_t steps = last.displacement / unit;
  const bool small = steps * unit == last.displacement && steps >= -128 && steps < 128;
  const bool indexed = last.kind == Kind::indexed;
  code_.push_back(byte((small ? 0x40 : 0x80) | reg | (indexed ? 4 : low(last.base))));
  if (indexed) code_.push_back(byte(last.scale << 6 | low(last.index) << 3 | low(last.base)));
  else if (low(last.base) == 4) code_.push_back(0x24);  // rsp and r12 need a second byte
  if (small) code_.push_back(byte(steps & 255));
  else word(static_cast<std::uint32_t>(last.displacement));
}

void Encoder::vex(VectorOpcode op, int dst, int first, const VectorOperand& last) {
  using Kind = VectorOperand::Kind;
  const bool memory = last.kind == Kind::memory || last.kind == Kind::indexed;
  const bool base = memory ? high(last.base) : last.kind == Kind::vector && high(last.vector);
  prefix(code_, op, high(dst), last.kind == Kind::indexed && high(last.index), base, first);
  operand(dst, last, 1);
}

// The prefix holds the fourth and the fifth bit of registers, inverted. If `repeat` is true, the instruction
// copies the one number in memory to all lanes.
void Encoder::evex(VectorOpcode op, int dst, int first, const VectorOperand& last, int mask, bool repeat) {
  using Kind = VectorOperand::Kind;
  const bool memory = last.kind == Kind::memory || last.kind == Kind::indexed;
  const bool in_register = last.kind == Kind::vector;
  const bool fourth = memory ? high(last.base) : in_register && (last.vector & 8) != 0;
  const bool other = in_register ? last.vector >= 16 : last.kind == Kind::indexed && high(last.index);
  code_.push_back(0x62);
  code_.push_back(
      byte((dst & 8 ? 0 : 0x80) | (other ? 0 : 0x40) | (fourth ? 0 : 0x20) | (dst & 16 ? 0 : 0x10) | op.map));
  code_.push_back(byte((op.w ? 0x80 : 0) | (~first & 15) << 3 | 4 | op.prefix));
  code_.push_back(byte(0x40 | (repeat ? 0x10 : 0) | (first & 16 ? 0 : 8) | mask));
  code_.push_back(op.opcode);
  operand(dst, last, last.each != 0 ? last.each : set_.bytes);
}

void Encoder::evex(VectorOpcode op, int dst, int first, const VectorOperand& last, int mask) {
  evex(op, dst, first, last, mask, last.each != 0);
}

void Encoder::vector(VectorOpcode op, int dst, int first, const VectorOperand& last) {
  if (set_.avx512) evex(op, dst, first, last);
  else vex(op, dst, first, last);
}

void Encoder::immediate(std::uint8_t value) {
  if (!references_.empty() && references_.back().end == here()) ++references_.back().end;
  code_.push_back(value);
}

void Encoder::load(int dst, const VectorOperand& from) {
  if (from.each == 0) return vector({0, 1, 0x10}, dst, 0, from);
  const bool f64 = from.each == 8;  // vbroadcastsd, vbroadcastss
  evex({1, 2, byte(f64 ? 0x19 : 0x18), f64}, dst, 0, from, 0, false);
}

void Encoder::extract(Register dst, int vector, int number) {
  const VectorOperand to = VectorOperand::in_vector(static_cast<int>(dst));  // encoded as a vector is
  vex({1, 3, 0x16, true, true}, vector, 0, to);                              // vpextrq
  immediate(static_cast<std::uint8_t>(number));
}

void Encoder::prefetch(const VectorOperand& from) {
  const bool index = from.kind == VectorOperand::Kind::indexed && high(from.index);
  bytes({byte(0x40 | (index ? 2 : 0) | (high(from.base) ? 1 : 0)), 0x0f, 0x18});  // prefetcht0
  operand(1, from, 1);
}

void Encoder::load_pointer(Register dst, Register base, std::int32_t displacement) {
  code_.push_back(byte(0x48 | (high(dst) ? 4 : 0) | (high(base) ? 1 : 0)));
  code_.push_back(0x8b);
  code_.push_back(byte(0x80 | low(dst) << 3 | low(base)));
  if (low(base) == 4) code_.push_back(0x24);
  word(static_cast<std::uint32_t>(displacement));
}

void Encoder::set_pointer(Register dst, std::uint64_t value) {
  code_.push_back(byte(0x48 | (high(dst) ? 1 : 0)));
  code_.push_back(byte(0xb8 | low(dst)));
  word(static_cast<std::uint32_t>(value));
  word(static_cast<std::uint32_t>(value >> 32));
}

std::size_t Encoder::jump(std::uint8_t condition) {
  bytes({0x0f, condition});
  word(0);
  return here();
}

void Encoder::bind(std::size_t jump, std::size_t target) {
  const auto distance = static_cast<std::int32_t>(static_cast<std::ptrdiff_t>(target - jump));
  std::memcpy(code_.data() + jump - 4, &distance, 4);
}

void Encoder::align(std::size_t bytes) {
  while (code_.size() % bytes != 0) code_.push_back(0x90);
}

std::uint32_t Encoder::constant(std::uint64_t eight_bytes) {
  const auto place =
      static_cast<std::size_t>(std::ranges::find(constants_, eight_bytes) - constants_.begin());
  if (place == constants_.size()) constants_.push_back(eight_bytes);
  return static_cast<std::uint32_t>(place);
}

std::vector<std::uint8_t> Encoder::finish() {
  align(64);
  const std::size_t pool = here(), copies = set_.avx512 ? 1 : 4;
  for (const Reference& at : references_) {
    const auto distance = static_cast<std::int32_t>(pool + 8 * copies * at.constant - at.end);
    std::memcpy(code_.data() + at.place, &distance, 4);
  }
  for (const std::uint64_t number : constants_) {
    for (std::size_t copy = 0; copy < copies; ++copy) {
      word(static_cast<std::uint32_t>(number));
      word(static_cast<std::uint32_t>(number >> 32));
    }
  }
  align(64);
  return std::move(code_);
}

}  // namespace nlsq::inline v0
