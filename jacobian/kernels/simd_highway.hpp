// Defines the vector type of a wide instruction set, by Highway. Only simd.hpp includes this file.
//
//  HWY_STATIC_TARGET follows the compiler flags of this file; kernel.cpp asserts the width.
#pragma once

#include <hwy/highway.h>

#include "kernels/inline.hpp"

#include <cstddef>
#include <cstdint>

namespace nlsq::inline v0 {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Simd {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  using Element = T;
  using U = hn::RebindToUnsigned<D>;
  using Bits = hn::Vec<U>;
  using Wide = Simd<double>;
  static constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(T);
  static constexpr bool avx512 = HWY_MAX_BYTES == 64;  // has permute() and scale()

  NLSQ_INLINE static V load(const T* p) { return hn::LoadU(D(), p); }
  NLSQ_INLINE static void store(V v, T* p) { hn::StoreU(v, D(), p); }
  NLSQ_INLINE static V set(T value) { return hn::Set(D(), value); }
  NLSQ_INLINE static V zero() { return hn::Zero(D()); }

  NLSQ_INLINE static V add(V a, V b) { return hn::Add(a, b); }
  NLSQ_INLINE static V sub(V a, V b) { return hn::Sub(a, b); }
  NLSQ_INLINE static V mul(V a, V b) { return hn::Mul(a, b); }
  NLSQ_INLINE static V div(V a, V b) { return hn::Div(a, b); }
  NLSQ_INLINE static V mul_add(V a, V b, V c) { return hn::MulAdd(a, b, c); }
  NLSQ_INLINE static V mul_sub(V a, V b, V c) { return hn::MulSub(a, b, c); }
  NLSQ_INLINE static V neg_mul_add(V a, V b, V c) { return hn::NegMulAdd(a, b, c); }
  NLSQ_INLINE static V neg(V a) { return hn::Neg(a); }
  NLSQ_INLINE static V abs(V a) { return hn::Abs(a); }
  NLSQ_INLINE static V sqrt(V a) { return hn::Sqrt(a); }
  NLSQ_INLINE static V floor(V a) { return hn::Floor(a); }
  NLSQ_INLINE static V ceil(V a) { return hn::Ceil(a); }
  NLSQ_INLINE static V round(V a) { return hn::Round(a); }  // ties to even

  // If an argument is NaN, x86 returns the second one and ARM returns NaN.
  NLSQ_INLINE static V min(V a, V b) { return hn::Min(a, b); }
  NLSQ_INLINE static V max(V a, V b) { return hn::Max(a, b); }

  // Comparisons are false where an argument is NaN.
  NLSQ_INLINE static M less(V a, V b) { return hn::Lt(a, b); }
  NLSQ_INLINE static M less_equal(V a, V b) { return hn::Le(a, b); }
  NLSQ_INLINE static M equal(V a, V b) { return hn::Eq(a, b); }
  NLSQ_INLINE static M mask_not(M m) { return hn::Not(m); }
  NLSQ_INLINE static M mask_and(M a, M b) { return hn::And(a, b); }
  NLSQ_INLINE static M mask_or(M a, M b) { return hn::Or(a, b); }
  NLSQ_INLINE static bool any(M m) { return !hn::AllFalse(D(), m); }
  NLSQ_INLINE static V choose(M m, V a, V b) { return hn::IfThenElse(m, a, b); }
  // Keeps the first n lanes; the others become zero.
  NLSQ_INLINE static V keep_first(V a, std::size_t n) { return hn::IfThenElseZero(hn::FirstN(D(), n), a); }

  // Returns each lane as an unsigned integer of the same size.
  NLSQ_INLINE static Bits bits(V v) { return hn::BitCast(U(), v); }
  NLSQ_INLINE static V from_bits(Bits v) { return hn::BitCast(D(), v); }
  NLSQ_INLINE static Bits set_bits(std::uint64_t v) { return hn::Set(U(), static_cast<hn::TFromD<U>>(v)); }
  NLSQ_INLINE static Bits add_bits(Bits a, Bits b) { return hn::Add(a, b); }
  NLSQ_INLINE static Bits sub_bits(Bits a, Bits b) { return hn::Sub(a, b); }
  NLSQ_INLINE static Bits and_bits(Bits a, Bits b) { return hn::And(a, b); }
  NLSQ_INLINE static Bits or_bits(Bits a, Bits b) { return hn::Or(a, b); }
  template <int places>
  NLSQ_INLINE static Bits shift_left(Bits v) {
    return hn::ShiftLeft<places>(v);
  }
  template <int places>
  NLSQ_INLINE static Bits shift_right(Bits v) {
    return hn::ShiftRight<places>(v);
  }
  NLSQ_INLINE static V exclusive_or(V a, V b) { return hn::Xor(a, b); }
  NLSQ_INLINE static V sign_of(V v) { return hn::And(v, hn::SignBit(D())); }
  NLSQ_INLINE static V choose_negative(V sign, V yes, V no) { return hn::IfNegativeThenElse(sign, yes, no); }
  NLSQ_INLINE static V gather(const double* table, Bits index) {
#if HWY_TARGET == HWY_AVX2  // four loads take half the time of the instruction that gathers (Zen 3)
    const __m128i low = _mm256_castsi256_si128(index.raw), high = _mm256_extracti128_si256(index.raw, 1);
    const auto pair = [table](__m128i i) NLSQ_INLINE_LAMBDA {
      return _mm_loadh_pd(_mm_load_sd(table + _mm_cvtsi128_si64(i)), table + _mm_extract_epi64(i, 1));
    };
    return {_mm256_set_m128d(pair(high), pair(low))};
#else
    return hn::GatherIndex(D(), table, hn::BitCast(hn::RebindToSigned<D>(), index));
#endif
  }
#if HWY_MAX_BYTES == 64
  // Returns entries of a table of doubles. Only the low four bits of an index matter.
  NLSQ_INLINE static V permute(const double (&table)[16], Bits index) {
    return {_mm512_permutex2var_pd(hn::Load(D(), table).raw, index.raw, hn::Load(D(), table + 8).raw)};
  }
  // Returns v 2^floor(n), rounded once.
  NLSQ_INLINE static V scale(V v, V n) {
    if constexpr (sizeof(T) == sizeof(double)) return {_mm512_scalef_pd(v.raw, n.raw)};
    else return {_mm512_scalef_ps(v.raw, n.raw)};
  }
#endif

  // Returns the first half of a vector of floats as doubles.
  NLSQ_INLINE static hn::Vec<hn::ScalableTag<double>> widen_first(V v) {
    return hn::PromoteTo(hn::ScalableTag<double>(), hn::LowerHalf(hn::Half<D>(), v));
  }
  NLSQ_INLINE static hn::Vec<hn::ScalableTag<double>> widen_second(V v) {
    return hn::PromoteTo(hn::ScalableTag<double>(), hn::UpperHalf(hn::Half<D>(), v));
  }
  NLSQ_INLINE static V narrow(hn::Vec<hn::ScalableTag<double>> first,
                              hn::Vec<hn::ScalableTag<double>> second) {
    const hn::Half<D> half;
    return hn::Combine(D(), hn::DemoteTo(half, second), hn::DemoteTo(half, first));
  }

  // Loads as many floats as there are lanes of double, widened.
  NLSQ_INLINE static V load_widened(const float* p) {
    return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), p));
  }
  NLSQ_INLINE static void store_narrowed(V v, float* p) {
    const hn::Rebind<float, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, v), narrow, p);
  }
  // Returns the sum of the lanes, in double.
  NLSQ_INLINE static double sum(V a) {
    if constexpr (sizeof(T) == sizeof(double)) {
      return hn::GetLane(hn::SumOfLanes(D(), a));
    } else {
      const hn::ScalableTag<double> wide;
      const hn::Half<D> half;
      const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, a));
      const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, a));
      return hn::GetLane(hn::SumOfLanes(wide, hn::Add(low, high)));
    }
  }
};

// The compiler's own vector type, which SLEEF's functions take.
template <class V>
NLSQ_INLINE auto raw(V v) {
  return v.raw;
}
template <class T, class Raw>
NLSQ_INLINE typename Simd<T>::V from_raw(Raw r) {
  return typename Simd<T>::V{r};
}

}  // namespace
}  // namespace nlsq::inline v0
