// The sixteen vector registers of AVX2 during one loop of generated code.
//
//  The code has no branches but those that leave it, so all uses of a value are known. Where a register is
//  needed and none is free, the value whose next use is farthest away gives up its own (Belady, IBM Systems
//  J. 5, 1966). Constants, uniforms and vectors of the tile are operands in memory where an instruction
//  allows it; other values are kept on the stack meanwhile.
#pragma once

#include "machine_code/encoder.hpp"
#include "machine_code/vector_code.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// What general registers hold in generated code.
struct CodeRegisters {
  static constexpr Register vectors = Register::rdi, uniforms = Register::rsi, row = Register::rdx,
                            end = Register::rcx, scratch = Register::rax, table = Register::r15;
  // Pointers to vectors of the tile. Further ones are loaded where they are needed.
  static constexpr Register pointers[] = {Register::r8,  Register::r9,  Register::r10, Register::r11,
                                          Register::rbx, Register::r12, Register::r13, Register::r14};
};

inline constexpr std::int32_t kVectorBytes = 32;

class VectorRegisters {
 public:
  static constexpr int none = -1;

  // `order` lists nodes of `nodes` as they are computed. Instructions of `copies` vectors of rows alternate,
  // each `lag` instructions behind the one before. `pointers` lists the vectors of the tile that have a
  // pointer in a register. `uniform_slots` has the place of each uniform on the stack, or `none` where
  // uniforms are vectors. Places from `first_slot` on are free.
  VectorRegisters(Encoder& encoder, std::span<const VectorNode> nodes, std::span<const std::uint32_t> order,
                  int copies, std::size_t lag, std::span<const std::uint64_t> pointers,
                  std::span<const int> uniform_slots, int first_slot);

  std::uint32_t count() const { return static_cast<std::uint32_t>(order_.size()); }
  // Moves on to the next instruction, number `at`, and returns its node.
  std::uint32_t next_instruction(std::uint32_t at);
  const VectorNode& node(std::uint32_t id) const { return nodes_[id]; }
  int slots() const { return slots_; }

  // Operands of the instruction; their registers are not taken before the next instruction. `anywhere` may
  // be in memory.
  int in_register(std::uint32_t id);
  VectorOperand anywhere(std::uint32_t id);
  bool has_register(std::uint32_t id) const { return register_[id] != none; }
  bool is_last_use(std::uint32_t id) { return next_use(id) == kNever; }
  // Where a constant, a uniform, a vector of the tile or a value on the stack is.
  VectorOperand memory(std::uint32_t id);
  // A vector of the tile; `doubles`: for f32 code that reads doubles, the first or second half of the rows.
  VectorOperand of_tile(std::uint32_t id, bool doubles = false, int half = 0);

  // A register for anything until the next instruction.
  int take();
  // The register of the result, which may be that of an operand used last here.
  int result(std::uint32_t id);
  // The same where the result is in a register already.
  void set_result(std::uint32_t id, int r);

 private:
  static constexpr std::uint32_t kNever = 0xffffffff;

  void list_uses();
  std::uint32_t next_use(std::uint32_t id);
  bool is_operand(std::uint32_t id) const;
  bool is_free(int r);
  void release_operands();
  bool can_load_freely();
  void give_up(int r);

  Encoder& encoder_;
  std::span<const std::uint64_t> pointers_;
  std::uint32_t size_;  // nodes of one copy; copy k of node n is node n + k * size_
  std::vector<VectorNode> nodes_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> uses_;        // all places in the order where a node is an operand
  std::vector<std::uint32_t> next_, end_;  // of a node: its next use in uses_, and the end of its uses
  std::vector<int> register_, slot_;       // of a node: its register, and its place on the stack
  std::array<std::uint32_t, 16> node_in_;  // of a register
  std::uint32_t locked_ = 0, now_ = 0;     // registers in use by the instruction; its place in the order
  std::vector<int> free_slots_;            // places on the stack whose values are not used again
  int slots_;
  bool uniform_vectors_;
};

}  // namespace nlsq::inline v0
