// Straight-line code over vectors: what one run of instructions of a tile program computes from one vector of
// rows. Each node is one operation of the CPU, and its operands are earlier nodes. Equal nodes are one node,
// so sin and cos of a value share their reduction, and log and pow their logarithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace nlsq::inline v0 {

enum class VectorOp : std::uint8_t {
  // values in memory
  load,      // vector `number` of the tile
  load_f64,  // vector `number` of the tile, which holds doubles, rounded to floats
  uniform,   // uniform `number`
  constant,  // `number` holds the bits of one lane
  table,     // the eight doubles at address `number`; AVX-512 only
  // arithmetic
  add,
  sub,
  mul,
  div,
  min,    // a < b ? a : b
  max,    // a > b ? a : b
  fma,    // a*b + c
  fms,    // a*b - c
  fnma,   // c - a*b
  scale,  // a 2^floor(b); AVX-512 only
  sqrt,
  floor,
  ceil,
  // masks: with AVX2, lanes of all ones or all zeros
  less,
  less_equal,
  equal,
  choose,  // c where mask a is set, or with AVX2 where a is negative; else b
  // masks of AVX-512
  negative,  // mask of the lanes whose sign bit is set
  mask_and,
  mask_or,
  mask_not,
  // bits
  bit_and,
  bit_or,
  bit_xor,
  add_bits,
  sub_bits,
  shift_left,   // by `number`
  shift_right,  // by `number`
  // between formats
  widen_first,   // the first half of a vector of floats
  widen_second,  // the second half
  narrow,        // two vectors of doubles
  gather,        // entries a of the table of doubles at address `number`; AVX2 only
  permute,       // entries a of the doubles b and c, of which the low four bits count; AVX-512 only
  // effects
  require,  // leaves the code unless every lane of mask a is set
  store,    // a becomes vector `number` of the tile
};

constexpr int arity(VectorOp op) {
  using enum VectorOp;
  switch (op) {
    case load:
    case load_f64:
    case uniform:
    case constant:
    case table: return 0;
    case sqrt:
    case floor:
    case ceil:
    case negative:
    case mask_not:
    case shift_left:
    case shift_right:
    case widen_first:
    case widen_second:
    case gather:
    case require:
    case store: return 1;
    case fma:
    case fms:
    case fnma:
    case choose:
    case permute: return 3;
    default: return 2;
  }
}
// Returns true if the value is the same for all rows.
constexpr bool is_fixed(VectorOp op) {
  return op == VectorOp::uniform || op == VectorOp::constant || op == VectorOp::table;
}
constexpr bool is_load(VectorOp op) { return op == VectorOp::load || op == VectorOp::load_f64; }
// Returns true if the result is a mask, which AVX-512 keeps in a register of another kind.
constexpr bool is_mask(VectorOp op) {
  using enum VectorOp;
  return op == less || op == less_equal || op == equal || op == negative || op == mask_and || op == mask_or ||
         op == mask_not;
}
constexpr bool has_effect(VectorOp op) { return op == VectorOp::require || op == VectorOp::store; }

struct VectorNode {
  VectorOp op = VectorOp::constant;
  bool f64 = false;  // lanes are doubles
  std::uint32_t operands[3] = {0, 0, 0};
  std::uint64_t number = 0;
  friend bool operator==(const VectorNode&, const VectorNode&) = default;
};

struct VectorNodeHash {
  std::size_t operator()(const VectorNode& node) const;
};

class VectorCode {
 public:
  // Returns the number of this node, or that of an equal one if there is one.
  std::uint32_t add(const VectorNode& node);
  std::span<const VectorNode> nodes() const { return nodes_; }
  // Returns the nodes that effects need, in an order in which they can be computed. A store comes as soon as
  // its value is known, but after all nodes that may leave the code and after the last use of the vector's
  // earlier value. So if the code is left, no vector has changed in this turn.
  std::vector<std::uint32_t> order() const;

 private:
  std::vector<VectorNode> nodes_;
  std::unordered_map<VectorNode, std::uint32_t, VectorNodeHash> places_;  // in nodes_
};

struct VectorSet;  // encoder.hpp

// Translates `code` into machine code for AVX2 or AVX-512 (assembly.cpp). Returns the bytes of one function
// and of the constants that it uses. The bytes may be copied to any address that is a multiple of 64. The
// result is empty if the function would be so long that the interpreter is faster. In C++ the function is
// declared so:
//
//   size_t function(T* const* vectors, const T* uniforms, size_t begin, size_t end);
//
// T is double if `f64` is true, and float otherwise. The function follows the calling convention of System V.
// `vectors` points at the arrays of a tile. The function runs the code on these arrays from byte `begin` to
// byte `end`, one vector register after the other. Both are multiples of a register's size. It returns `end`,
// or a little more if it has computed beyond it. If a lane does not meet a requirement, the function stops
// and returns the byte that it has reached, which is less than `end`.
//
// Without `lanes`, each entry of the arrays is a row, and `uniforms` has one number for each uniform. The
// function may compute up to the next multiple of two registers, for which the arrays have room.
// With `lanes`, each entry is a fit of its own. Uniform u of lane l is uniforms[u * number of lanes + l], and
// nothing beyond `end` is touched.
std::vector<std::uint8_t> assembled(const VectorCode& code, const VectorSet& set, bool f64, bool lanes);

}  // namespace nlsq::inline v0
