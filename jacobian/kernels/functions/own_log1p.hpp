// Computes log1p, inline and without look-ups, for every instruction set with a fused multiply-add.
//
//  1 + x = u + c with the rounding error c, and u = 2^k m with sqrt(1/2) <= m < sqrt 2. With f = m - 1 and
//  s = f/(2 + f), log m = f - (f²/2 - s (f²/2 + R(s²))); this is the form of fdlibm's log. R is a minimax fit
//  (Remez) of 2 atanh(s)/s - 2. The first part of k ln2 and f are added with the error of their sum, and c,
//  scaled, is multiplied by 1 - 2s + 2s², which is 1/m but for 2s³.
#pragma once

#include "kernels/functions/own_exp.hpp"

#include <cstdint>

namespace nlsq::inline v0 {
namespace {
namespace own {

// Holds the constants of a format. `least` holds the bits of sqrt(1/2). k + bias is positive, and as the low
// bits of `integer` it becomes a number. The first part of ln2 has zeros in its low bits.
template <class T>
struct Log1pConstants;
template <>
struct Log1pConstants<double> {
  static constexpr std::uint64_t least = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
  static constexpr std::uint64_t exponent = 0xfff0000000000000, bias = 0x4000000000000000;
  static constexpr std::uint64_t integer = 0x4330000000000000;
  static constexpr double to_k = 0x1p52 + 1024, ln2 = 0x1.62e42fefa3800p-1, ln2_rest = 0x1.ef35793c76730p-45;
};
template <>
struct Log1pConstants<float> {
  static constexpr std::uint64_t least = 0x3f3504f3, one = 0x3f800000, exponent = 0xff800000;
  static constexpr std::uint64_t bias = 0x40000000, integer = 0x4b000000;
  static constexpr float to_k = 0x1p23f + 128, ln2 = 0x1.62e4p-1f, ln2_rest = 0x1.7f7d1cp-20f;
};

// Returns R(z) for z = s².
template <class S>
NLSQ_INLINE VectorOf<S> log_polynomial(VectorOf<S> z) {
  using T = typename S::Element;
  const auto pair = [z](T a, T b) NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  if constexpr (sizeof(T) == sizeof(double)) {
    const auto z2 = S::mul(z, z);
    const auto p0 = pair(0x1.5555555555592p-1, 0x1.999999997ff05p-2);
    const auto p1 = pair(0x1.24924941e37e5p-2, 0x1.c71c5211ccc5fp-3);
    const auto p2 = pair(0x1.74663d957a40ap-3, 0x1.39a1d48fa3562p-3);
    const auto last = S::mul_add(z2, S::set(0x1.2f04a46b6a231p-3), p2);
    return S::mul(z, S::mul_add(S::mul_add(last, z2, p1), z2, p0));
  } else {
    const auto p = S::mul_add(z, pair(0x1.995ed4p-2f, 0x1.31e0dap-2f), S::set(0x1.55557ap-1f));
    return S::mul(z, p);
  }
}

// Returns the lanes for which this function is valid. Others need another function. Next to the largest
// number, 2^-k has no exponent.
template <class S>
NLSQ_INLINE typename S::M has_log1p(VectorOf<S> x) {
  using T = typename S::Element;
  const T most = sizeof(T) == sizeof(double) ? T(1e300) : T(1e37);
  return S::mask_and(S::less(S::set(-1), x), S::less_equal(x, S::set(most)));
}

template <class S>
NLSQ_INLINE VectorOf<S> log1p(VectorOf<S> x) {
  using T = typename S::Element;
  using C = Log1pConstants<T>;
  using V = VectorOf<S>;
  constexpr int mantissa = ExpConstants<T>::mantissa_bits;
  const V one = S::set(1), u = S::add(one, x);
  const V lost = S::sub(S::min(one, x), S::sub(u, S::max(one, x)));
  const auto difference = S::sub_bits(S::bits(u), S::set_bits(C::least));
  const auto exponent = S::and_bits(difference, S::set_bits(C::exponent));
  const V f = S::sub(S::from_bits(S::sub_bits(S::bits(u), exponent)), one);
  const auto biased = S::template shift_right<mantissa>(S::add_bits(difference, S::set_bits(C::bias)));
  const V k = S::sub(S::from_bits(S::or_bits(biased, S::set_bits(C::integer))), S::set(C::to_k));
  const V c = S::mul(lost, S::from_bits(S::sub_bits(S::set_bits(C::one), exponent)));
  const V s = S::div(f, S::add(f, S::set(2))), twice = S::add(s, s);
  const V half = S::mul(S::mul(f, f), S::set(T(0.5))), whole = S::mul(k, S::set(C::ln2));
  const V sum = S::add(whole, f), sum_rest = S::sub(f, S::sub(sum, whole));
  const V turned = S::mul_add(c, S::mul_sub(twice, s, twice), c);
  const V small = S::add(S::mul_add(k, S::set(C::ln2_rest), turned), sum_rest);
  const V log_rest = S::mul_add(s, S::add(half, log_polynomial<S>(S::mul(s, s))), small);
  const V result = S::add(sum, S::sub(log_rest, half));
  return S::choose(S::equal(u, one), x, result);  // tiny numbers, and a zero keeps its sign
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
