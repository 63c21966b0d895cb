// Assigns the vector registers, and the mask registers of AVX-512, during one loop of generated code.
//
// The code has no branches but those that leave it, so all uses of a value are known. If a register is needed
// and none is free, the value whose next use is farthest away loses its register (Belady, IBM Systems J. 5,
// 1966). Constants, uniforms and vectors of the tile are operands in memory if an instruction allows it.
// Other values are kept on the stack meanwhile. With AVX-512 most programs leave registers free. Constants
// and uniforms then keep registers during the whole loop.
#pragma once

#include "machine_code/encoder.hpp"
#include "machine_code/vector_code.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Says what the general registers hold in generated code.
struct CodeRegisters {
  static constexpr Register vectors = Register::rdi, uniforms = Register::rsi, row = Register::rdx,
                            end = Register::rcx, scratch = Register::rax, table = Register::r15;
  // These hold pointers to vectors of the tile. Further pointers are loaded where they are needed.
  static constexpr Register pointers[] = {Register::r8,  Register::r9,  Register::r10, Register::r11,
                                          Register::rbx, Register::r12, Register::r13, Register::r14};
};

// The code that gets registers, and properties of its run.
struct CodeToRun {
  const VectorSet& set;
  std::span<const VectorNode> nodes;
  std::span<const std::uint32_t> order;     // the nodes as they are computed
  std::span<const std::uint64_t> pointers;  // the vectors of the tile that have a pointer in a register
  bool lanes;                               // uniforms are vectors
  std::span<const int> uniform_slots;       // for each node, the place of a uniform on the stack
};

class VectorRegisters {
 public:
  static constexpr int none = -1;

  // Instructions of `copies` vectors of rows alternate, each `lag` instructions behind the one before. Places
  // on the stack from `first_slot` on are free. Writes the instructions that come before the loop.
  VectorRegisters(Encoder& encoder, const CodeToRun& code, int copies, std::size_t lag, int first_slot);

  std::uint32_t count() const { return static_cast<std::uint32_t>(order_.size()); }
  // Moves on to the next instruction, number `at`, and returns its node.
  std::uint32_t next_instruction(std::uint32_t at);
  const VectorNode& node(std::uint32_t id) const { return nodes_[id]; }
  int slots() const { return slots_; }

  // Return the operands of the instruction. Their registers are not taken before the next instruction.
  // `anywhere` may return memory. Mask registers are numbered separately.
  int in_register(std::uint32_t id);
  VectorOperand anywhere(std::uint32_t id);
  bool has_register(std::uint32_t id) const { return register_[id] != none; }
  bool is_last_use(std::uint32_t id) { return !is_kept(id) && next_use(id) == kNever; }
  // Returns the place of a constant, a uniform, a vector of the tile or a value on the stack.
  VectorOperand memory(std::uint32_t id);
  // Returns a vector of the tile. If `doubles` is true, f32 code reads doubles, and `half` is 0 or 1 for the
  // first or second half of the rows.
  VectorOperand of_tile(std::uint32_t id, bool doubles = false, int half = 0);

  // Returns a vector register that may be used freely until the next instruction.
  int take() { return take(false); }
  // Returns the register of the result, which may be that of an operand used last here.
  int result(std::uint32_t id);
  // Sets the register of a result that is in a register already.
  void set_result(std::uint32_t id, int r);

 private:
  static constexpr std::uint32_t kNever = 0xffffffff;

  // Mask registers follow the vector registers in tables. The first one is never used, because an instruction
  // with the number of this mask has no mask.
  static constexpr int first_mask = 33, end_of_masks = 40;
  static int number_of(int r) { return r < first_mask ? r : r - first_mask + 1; }

  void list_uses();
  int most_live() const;
  void keep_fixed_values();
  bool is_kept(std::uint32_t id) const { return register_[id] >= registers_ && register_[id] < first_mask; }
  int take(bool mask);
  void keep(std::uint32_t id, int r);
  bool masked(std::uint32_t id) const;
  std::uint32_t next_use(std::uint32_t id);
  bool is_operand(std::uint32_t id) const;
  bool is_free(int r);
  void release_operands();
  bool can_load_freely();
  void give_up(int r);

  Encoder& encoder_;
  CodeToRun code_;
  std::uint32_t size_;  // nodes of one copy; copy k of node n is node n + k * size_
  std::vector<VectorNode> nodes_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> uses_;        // all places in the order where a node is an operand
  std::vector<std::uint32_t> next_, end_;  // for each node, its next use in uses_, and the end of its uses
  std::vector<int> register_, slot_;       // for each node, its register, and its place on the stack
  std::array<std::uint32_t, end_of_masks> node_in_;  // the node in each register
  std::uint64_t locked_ = 0;                         // registers in use by the instruction
  std::uint32_t now_ = 0;                            // its place in the order
  std::vector<int> free_slots_;                      // places on the stack whose values are not used again
  int slots_;
  int registers_;  // vector registers that are not kept for one value during the whole loop
};

}  // namespace nlsq::inline v0
