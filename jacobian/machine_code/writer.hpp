// Writer<T, avx512> is a vector type like Simd<T> of AVX2 or AVX-512, but its operations are not computed.
// They are recorded as nodes of VectorCode. The functions of kernels/functions and kernels/operations.hpp
// accept it.
#pragma once

#include "kernels/inline.hpp"
#include "machine_code/vector_code.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace nlsq::inline v0 {

// This is a node, or a constant that no code holds yet.
struct WrittenValue {
  VectorCode* code = nullptr;
  std::uint32_t node = 0;
  std::uint64_t bits = 0;
};

template <class T, bool avx512_>
struct Writer {
  using Element = T;
  using V = WrittenValue;
  using M = WrittenValue;
  using Bits = WrittenValue;
  using Wide = Writer<double, avx512_>;
  static constexpr bool avx512 = avx512_;
  static constexpr bool f64 = std::is_same_v<T, double>;
  using Word = std::conditional_t<f64, std::uint64_t, std::uint32_t>;

  static V set(T value) { return set_bits(std::bit_cast<Word>(value)); }
  static V set_bits(std::uint64_t bits) { return {nullptr, 0, static_cast<Word>(bits)}; }
  static V zero() { return set_bits(0); }

  static V add(V a, V b) { return write(VectorOp::add, a, b); }
  static V sub(V a, V b) { return write(VectorOp::sub, a, b); }
  static V mul(V a, V b) { return write(VectorOp::mul, a, b); }
  static V div(V a, V b) { return write(VectorOp::div, a, b); }
  static V min(V a, V b) { return write(VectorOp::min, a, b); }
  static V max(V a, V b) { return write(VectorOp::max, a, b); }
  static V mul_add(V a, V b, V c) { return write(VectorOp::fma, a, b, c); }
  static V mul_sub(V a, V b, V c) { return write(VectorOp::fms, a, b, c); }
  static V neg_mul_add(V a, V b, V c) { return write(VectorOp::fnma, a, b, c); }
  static V neg(V a) { return exclusive_or(a, set_bits(kSign)); }
  static V abs(V a) { return write(VectorOp::bit_and, a, set_bits(~kSign)); }
  static V sqrt(V a) { return write(VectorOp::sqrt, a); }
  static V floor(V a) { return write(VectorOp::floor, a); }
  static V ceil(V a) { return write(VectorOp::ceil, a); }

  static M less(V a, V b) { return write(VectorOp::less, a, b); }
  static M less_equal(V a, V b) { return write(VectorOp::less_equal, a, b); }
  static M equal(V a, V b) { return write(VectorOp::equal, a, b); }
  static M mask_not(M a) {
    return avx512 ? write(VectorOp::mask_not, a) : exclusive_or(a, set_bits(~Word(0)));
  }
  static M mask_and(M a, M b) { return write(avx512 ? VectorOp::mask_and : VectorOp::bit_and, a, b); }
  static M mask_or(M a, M b) { return write(avx512 ? VectorOp::mask_or : VectorOp::bit_or, a, b); }
  static V choose(M mask, V yes, V no) { return write(VectorOp::choose, mask, no, yes); }

  static Bits bits(V a) { return a; }
  static V from_bits(Bits a) { return a; }
  static Bits add_bits(Bits a, Bits b) { return write(VectorOp::add_bits, a, b); }
  static Bits sub_bits(Bits a, Bits b) { return write(VectorOp::sub_bits, a, b); }
  static Bits and_bits(Bits a, Bits b) { return write(VectorOp::bit_and, a, b); }
  static Bits or_bits(Bits a, Bits b) { return write(VectorOp::bit_or, a, b); }
  template <int places>
  static Bits shift_left(Bits a) {
    return write(VectorOp::shift_left, a, {}, {}, places);
  }
  template <int places>
  static Bits shift_right(Bits a) {
    return write(VectorOp::shift_right, a, {}, {}, places);
  }
  static V exclusive_or(V a, V b) { return write(VectorOp::bit_xor, a, b); }
  static V sign_of(V a) { return write(VectorOp::bit_and, a, set_bits(kSign)); }
  static V choose_negative(V sign, V yes, V no) {
    return choose(avx512 ? write(VectorOp::negative, sign) : sign, yes, no);
  }
  static V gather(const double* table, Bits index) {
    return write(VectorOp::gather, index, {}, {}, reinterpret_cast<std::uintptr_t>(table));
  }
  static V permute(const double (&table)[16], Bits index) {
    const auto half = [&](const double* from) -> V {
      const auto address = reinterpret_cast<std::uintptr_t>(from);
      return {index.code, index.code->add({.op = VectorOp::table, .f64 = f64, .number = address}), 0};
    };
    return write(VectorOp::permute, index, half(table), half(table + 8));
  }
  static V scale(V a, V n) { return write(VectorOp::scale, a, n); }

  static V widen_first(V a) { return Wide::write(VectorOp::widen_first, a); }
  static V widen_second(V a) { return Wide::write(VectorOp::widen_second, a); }
  static V narrow(V first, V second) { return write(VectorOp::narrow, first, second); }

  // If `mask` is not set in some lane, the code is left and the interpreter continues, because these lanes
  // need another function.
  static void require(M mask) { write(VectorOp::require, mask); }

  static V write(VectorOp op, V a, V b = {}, V c = {}, std::uint64_t number = 0) {
    VectorCode* code = a.code != nullptr ? a.code : b.code != nullptr ? b.code : c.code;
    const V operands[] = {a, b, c};
    VectorNode node{.op = op, .f64 = f64, .number = number};
    for (int k = 0; k < arity(op); ++k) {
      const V& operand = operands[k];
      node.operands[k] = operand.code != nullptr
                             ? operand.node
                             : code->add({.op = VectorOp::constant, .f64 = f64, .number = operand.bits});
    }
    return {code, code->add(node), 0};
  }

 private:
  static constexpr Word kSign = Word(1) << (8 * sizeof(T) - 1);
};

}  // namespace nlsq::inline v0
