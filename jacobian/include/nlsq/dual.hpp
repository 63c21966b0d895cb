// Declares forward dual numbers: a value and N derivatives (Clifford 1871; Griewank and Walther, Evaluating
// Derivatives, chapter 3). The library uses them where a callable cannot be recorded.
//
//  Dual supports the same operations as Traced: code that compiles for one compiles for the other. Plain
//  numbers of any arithmetic type mix in and stay plain. Special points follow Ceres: abs has slope ±1 by the
//  sign bit, pow of a zero base with an exponent above 1 has slope 0, and hypot has slope NaN at the origin.
//  There is one difference: an infinite slope times a derivative of exactly 0 is 0 and not NaN, so that
//  d sqrt(p0)/dp0 = ∞ does not spoil ∂/∂p1.
#pragma once

#include <nlsq/special_functions.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <iosfwd>
#include <limits>
#include <numbers>
#include <type_traits>

namespace nlsq::inline v0 {

template <class T, int N>
class Dual;

namespace detail {

template <class A>
inline constexpr bool is_dual = false;
template <class T, int N>
inline constexpr bool is_dual<Dual<T, N>> = true;

// This is the dual type among A... It is defined if there is one and all other types are the same or plain
// numbers.
template <class... A>
struct FirstDual;
template <class A, class... Rest>
struct FirstDual<A, Rest...> : FirstDual<Rest...> {};
template <class T, int N, class... Rest>
struct FirstDual<Dual<T, N>, Rest...> {
  using type = Dual<T, N>;
};
template <class D, class A>
concept MixesWith = std::is_same_v<A, D> || std::is_arithmetic_v<A>;
template <class... A>
requires(is_dual<A> || ...) using CommonDual =
    std::enable_if_t<(MixesWith<typename FirstDual<A...>::type, A> && ...), typename FirstDual<A...>::type>;

}  // namespace detail

template <class T, int N>
class Dual {
 public:
  using Derivatives = std::array<T, static_cast<std::size_t>(N)>;

  constexpr Dual() = default;
  template <class S>
  requires(std::is_arithmetic_v<S> || std::is_same_v<S, T>) constexpr Dual(S value)
      : value_(static_cast<T>(value)) {}  // NOLINT: implicit by design
  // Makes the k-th variable: derivative k is 1, the others are 0.
  constexpr Dual(T value, int k) : value_(value) { derivatives_[static_cast<std::size_t>(k)] = T(1); }
  constexpr Dual(T value, const Derivatives& derivatives) : value_(value), derivatives_(derivatives) {}

  const T& value() const { return value_; }
  const T& derivative(int k) const { return derivatives_[static_cast<std::size_t>(k)]; }
  const Derivatives& derivatives() const { return derivatives_; }
  template <class S>
  requires(std::is_arithmetic_v<S>) explicit operator S() const { return static_cast<S>(value_); }

  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  Dual& operator-=(const Dual& b) { return *this = *this - b; }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }
  template <class S>
  requires std::is_arithmetic_v<S> Dual& operator+=(S s) { return *this = *this + s; }
  template <class S>
  requires std::is_arithmetic_v<S> Dual& operator-=(S s) { return *this = *this - s; }
  template <class S>
  requires std::is_arithmetic_v<S> Dual& operator*=(S s) { return *this = *this * s; }
  template <class S>
  requires std::is_arithmetic_v<S> Dual& operator/=(S s) { return *this = *this / s; }
  Dual& operator++() {
    value_ += T(1);
    return *this;
  }
  Dual& operator--() {
    value_ -= T(1);
    return *this;
  }
  Dual operator++(int) {
    const Dual old = *this;
    ++*this;
    return old;
  }
  Dual operator--(int) {
    const Dual old = *this;
    --*this;
    return old;
  }

  friend Dual operator+(const Dual& a) { return a; }
  friend Dual operator-(const Dual& a) {
    return combine(-a.value_, [&](std::size_t i) { return -a.derivatives_[i]; });
  }
  friend Dual operator+(const Dual& a, const Dual& b) {
    return combine(a.value_ + b.value_, [&](std::size_t i) { return a.derivatives_[i] + b.derivatives_[i]; });
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return combine(a.value_ - b.value_, [&](std::size_t i) { return a.derivatives_[i] - b.derivatives_[i]; });
  }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return combine(a.value_ * b.value_, [&](std::size_t i) {
      return a.derivatives_[i] * b.value_ + a.value_ * b.derivatives_[i];
    });
  }
  friend Dual operator/(const Dual& a, const Dual& b) {  // (a' - (a/b) b') / b
    const T quotient = a.value_ / b.value_, inverse = T(1) / b.value_;
    return combine(quotient, [&](std::size_t i) {
      return (a.derivatives_[i] - quotient * b.derivatives_[i]) * inverse;
    });
  }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator+(const Dual& a, S s) { return Dual(a.value_ + static_cast<T>(s), a.derivatives_); }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator+(S s, const Dual& a) { return a + s; }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator-(const Dual& a, S s) { return Dual(a.value_ - static_cast<T>(s), a.derivatives_); }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator-(S s, const Dual& a) {
    return combine(static_cast<T>(s) - a.value_, [&](std::size_t i) { return -a.derivatives_[i]; });
  }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator*(const Dual& a, S s) {
    const T t = static_cast<T>(s);
    return combine(a.value_ * t, [&](std::size_t i) { return a.derivatives_[i] * t; });
  }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator*(S s, const Dual& a) { return a * s; }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator/(const Dual& a, S s) {
    const T t = static_cast<T>(s);
    return combine(a.value_ / t, [&](std::size_t i) { return a.derivatives_[i] / t; });
  }
  template <class S>
  requires std::is_arithmetic_v<S>
  friend Dual operator/(S s, const Dual& a) { return Dual(static_cast<T>(s)) / a; }

  // Comparisons use only the values.
  friend bool operator<(const Dual& a, const Dual& b) { return a.value_ < b.value_; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.value_ > b.value_; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.value_ <= b.value_; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.value_ >= b.value_; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value_ == b.value_; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.value_ != b.value_; }
  friend bool operator!(const Dual& a) { return a.value_ == T(0); }

  template <class Char, class Traits>
  friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, const Dual& a) {
    out << a.value_;
    for (const T& d : a.derivatives_) out << ' ' << d;
    return out;
  }

  // Apply the chain rule to f(a) with a given slope, and to f(a, b) with both slopes given.
  static Dual chain(const T& value, const Dual& a, const T& slope) {
    return combine(value, [&](std::size_t i) { return times(slope, a.derivatives_[i]); });
  }
  static Dual chain(const T& value, const Dual& a, const T& slope_a, const Dual& b, const T& slope_b) {
    return combine(value, [&](std::size_t i) {
      return times(slope_a, a.derivatives_[i]) + times(slope_b, b.derivatives_[i]);
    });
  }

 private:
  template <class F>
  static Dual combine(const T& value, F derivative) {
    Dual result(value);
    for (std::size_t i = 0; i < static_cast<std::size_t>(N); ++i) result.derivatives_[i] = derivative(i);
    return result;
  }
  static T times(const T& slope, const T& d) { return d == T(0) ? T(0) : slope * d; }

  T value_{};
  Derivatives derivatives_{};
};

namespace detail {
template <class A>
double plain(A a) {
  return static_cast<double>(a);
}
template <class T, int N>
const T& plain(const Dual<T, N>& a) {
  return a.value();
}
template <class T>
inline constexpr T kTwoOverSqrtPi = T(2 * std::numbers::inv_sqrtpi);
}  // namespace detail

}  // namespace nlsq::inline v0

#include <nlsq/dual_functions.hpp>

template <class T, int N>
class std::numeric_limits<nlsq::Dual<T, N>> : public std::numeric_limits<T> {
  using D = nlsq::Dual<T, N>;
  using L = std::numeric_limits<T>;

 public:
  static constexpr D min() noexcept { return L::min(); }
  static constexpr D max() noexcept { return L::max(); }
  static constexpr D lowest() noexcept { return L::lowest(); }
  static constexpr D epsilon() noexcept { return L::epsilon(); }
  static constexpr D round_error() noexcept { return L::round_error(); }
  static constexpr D infinity() noexcept { return L::infinity(); }
  static constexpr D quiet_NaN() noexcept { return L::quiet_NaN(); }
  static constexpr D signaling_NaN() noexcept { return L::signaling_NaN(); }
  static constexpr D denorm_min() noexcept { return L::denorm_min(); }
};
