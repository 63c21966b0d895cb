// Encodes the instructions of x86-64 of which generated code consists, with AVX2 and FMA, or with AVX-512.
//
//  The encodings are from Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. Vector
//  instructions of AVX2, and those of mask registers, have a VEX prefix of three bytes; vector instructions
//  of AVX-512 have an EVEX prefix of four.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace nlsq::inline v0 {

// Holds the properties of an instruction set on which generated code depends.
struct VectorSet {
  std::int32_t bytes;  // bytes of a vector register
  int registers;       // number of vector registers
  // Is true for AVX-512. Its instructions begin with the EVEX prefix, its comparisons write their results to
  // mask registers, and an instruction can use one number from memory for all lanes. With AVX2, comparisons
  // write their results to vectors.
  bool avx512;
};

inline constexpr VectorSet vectors_avx2{32, 16, false}, vectors_avx512{64, 32, true};

// Numbers the general registers as in an encoding.
enum class Register : std::uint8_t {
  rax,
  rcx,
  rdx,
  rbx,
  rsp,
  rbp,
  rsi,
  rdi,
  r8,
  r9,
  r10,
  r11,
  r12,
  r13,
  r14,
  r15
};

// This is the last operand of a vector instruction: a vector register or memory.
struct VectorOperand {
  enum class Kind : std::uint8_t { vector, memory, indexed, constant };
  Kind kind = Kind::vector;
  std::uint8_t vector = 0;         // vector: its number
  Register base = Register::rax;   // memory, indexed: the address is base + displacement
  Register index = Register::rax;  // indexed: + index << scale
  std::uint8_t scale = 0;
  std::int32_t displacement = 0;
  std::uint32_t constant = 0;  // constant: its number among the constants behind the code
  std::uint8_t each = 0;       // bytes of the one number in memory that is for all lanes; 0: a vector

  static VectorOperand in_vector(int v) { return {.vector = static_cast<std::uint8_t>(v)}; }
  static VectorOperand at(Register base, std::int32_t displacement) {
    return {.kind = Kind::memory, .base = base, .displacement = displacement};
  }
};

// Holds an opcode with its mandatory prefix (0, 0x66, 0xf3, 0xf2 as 0 to 3), map (1: 0F, 2: 0F38, 3: 0F3A)
// and W. If `half` is true, the VEX form works on 16 bytes.
struct VectorOpcode {
  std::uint8_t prefix, map, opcode;
  bool w = false, half = false;
};

class NLSQ_API Encoder {
 public:
  explicit Encoder(const VectorSet& set) : set_(set) {}

  // Writes an instruction whose operands are the manual's ymm1 (dst), ymm2 (first) and ymm3/m256 (last).
  // `first` is 0 if the instruction has no such operand.
  void vex(VectorOpcode op, int dst, int first, const VectorOperand& last);
  // Writes the same for zmm. Only lanes of mask register `mask` are changed; with 0, all lanes are.
  void evex(VectorOpcode op, int dst, int first, const VectorOperand& last, int mask = 0);
  // Writes the form that the instruction set has.
  void vector(VectorOpcode op, int dst, int first, const VectorOperand& last);
  // Ends an instruction that has one more byte.
  void immediate(std::uint8_t value);

  // Copies number 0 or 1 of the two words of eight bytes in the first half of a vector to dst. It needs AVX2.
  void extract(Register dst, int vector, int number);
  void load(int dst, const VectorOperand& from);
  void store(int from, const VectorOperand& to) { vector({0, 1, 0x11}, from, 0, to); }
  void move(int dst, int from) { vector({0, 1, 0x28}, dst, 0, VectorOperand::in_vector(from)); }
  // These move mask registers.
  void load_mask(int dst, const VectorOperand& from) { vex({0, 1, 0x90, false, true}, dst, 0, from); }
  void store_mask(int from, const VectorOperand& to) { vex({0, 1, 0x91, false, true}, from, 0, to); }

  // Fetches a line of the cache before it is needed.
  void prefetch(const VectorOperand& from);
  void load_pointer(Register dst, Register base, std::int32_t displacement);
  void set_pointer(Register dst, std::uint64_t value);
  void bytes(std::initializer_list<std::uint8_t> code) {
    for (const std::uint8_t byte : code) code_.push_back(byte);
  }
  void word(std::uint32_t value);
  void set_word(std::size_t place, std::uint32_t value);
  // Writes a conditional jump, with `condition` as the second byte of its opcode. bind() sets its target.
  std::size_t jump(std::uint8_t condition);
  void bind(std::size_t jump, std::size_t target);
  std::size_t here() const { return code_.size(); }
  void align(std::size_t bytes);

  // Returns the number of the constant whose lanes all hold these eight bytes. With AVX-512 it is stored
  // once.
  std::uint32_t constant(std::uint64_t eight_bytes);
  // Returns the code, then the constants. The code must be placed at a multiple of 64 bytes.
  std::vector<std::uint8_t> finish();

 private:
  void operand(int dst, const VectorOperand& last, std::int32_t unit);
  void evex(VectorOpcode op, int dst, int first, const VectorOperand& last, int mask, bool repeat);

  struct Reference {
    std::size_t place;  // position of a displacement of 4 bytes
    std::uint32_t constant;
    std::size_t end;  // end of the instruction
  };
  VectorSet set_;
  std::vector<std::uint8_t> code_;
  std::vector<std::uint64_t> constants_;
  std::vector<Reference> references_;
};

}  // namespace nlsq::inline v0
