// Defines Traced, a double that records the operations that produced it.
//
//  Code that is generic in its scalar runs once on Traced numbers and leaves a tape of its operations.
//  - A number that depends on no recorded input is a plain constant (node 0). Constants belong to no tape, so
//    they may outlive every tape; all-zero bytes are 0.0.
//  - A comparison returns the actual answer. It is recorded as a *guard* unless both sides are plain.
//  - Reading a number (value(), static_cast<double>) makes the recording *opaque*, because later uses of that
//    number are not seen. Using a number from an earlier recording does too. This is decided at run time; the
//    caller then uses dual numbers.
//  - Without an active recording on this thread, Traced only computes.
//
//  Traced supports the same operations as Dual: code that compiles for one compiles for the other.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/op.hpp>

#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <type_traits>

namespace nlsq::inline v0 {

class TracedMask;

class NLSQ_API Traced {
 public:
  constexpr Traced() : value_(0), node_(0), tape_(0) {}
  template <class S>
  requires std::is_arithmetic_v<S>
  constexpr Traced(S value)
      : value_(static_cast<double>(value)), node_(0), tape_(0) {}  // NOLINT: implicit by design

  // Returns the plain number. The recording becomes opaque unless the number is a constant.
  double value() const;
  // Code that reads derivatives of Dual can call this. It returns 0, and the recording becomes opaque.
  double derivative(int k) const;
  template <class S>
  requires(std::is_arithmetic_v<S> && !std::is_same_v<S, bool>) explicit operator S() const {
    return static_cast<S>(value());
  }
  explicit operator bool() const { return *this != Traced(0.0); }  // this is a guard and is not opaque

  Traced& operator+=(const Traced& b) { return *this = *this + b; }
  Traced& operator-=(const Traced& b) { return *this = *this - b; }
  Traced& operator*=(const Traced& b) { return *this = *this * b; }
  Traced& operator/=(const Traced& b) { return *this = *this / b; }
  Traced& operator++() { return *this += Traced(1.0); }
  Traced& operator--() { return *this -= Traced(1.0); }
  Traced operator++(int) {
    const Traced old = *this;
    ++*this;
    return old;
  }
  Traced operator--(int) {
    const Traced old = *this;
    --*this;
    return old;
  }

  // The functions below are found only through their arguments, so that exp(double) inside namespace nlsq
  // never means this exp.
  friend Traced operator+(const Traced& a) { return a; }
  friend Traced operator-(const Traced& a) { return record(Op::neg, a); }
  friend Traced operator+(const Traced& a, const Traced& b) { return record(Op::add, a, b); }
  friend Traced operator-(const Traced& a, const Traced& b) { return record(Op::sub, a, b); }
  friend Traced operator*(const Traced& a, const Traced& b) { return record(Op::mul, a, b); }
  friend Traced operator/(const Traced& a, const Traced& b) { return record(Op::div, a, b); }

  friend bool operator<(const Traced& a, const Traced& b) { return guard(Op::less, a, b); }
  friend bool operator>(const Traced& a, const Traced& b) { return guard(Op::less, b, a); }
  friend bool operator<=(const Traced& a, const Traced& b) { return guard(Op::less_equal, a, b); }
  friend bool operator>=(const Traced& a, const Traced& b) { return guard(Op::less_equal, b, a); }
  friend bool operator==(const Traced& a, const Traced& b) { return guard(Op::equal, a, b); }
  friend bool operator!=(const Traced& a, const Traced& b) { return guard(Op::not_equal, a, b); }
  friend bool operator!(const Traced& a) { return guard(Op::equal, a, Traced(0.0)); }

#define NLSQ_TRACED_UNARY(function, op) \
  friend Traced function(const Traced& a) { return record(Op::op, a); }
#define NLSQ_TRACED_SAME(function) NLSQ_TRACED_UNARY(function, function)
  NLSQ_ELEMENTARY_FUNCTIONS(NLSQ_TRACED_SAME)
  NLSQ_TRACED_SAME(abs)
  NLSQ_TRACED_SAME(sign)
  NLSQ_TRACED_SAME(floor)
  NLSQ_TRACED_SAME(ceil)
  NLSQ_TRACED_SAME(sqrt)
  NLSQ_TRACED_SAME(erfc)
  NLSQ_TRACED_SAME(lgamma)
  NLSQ_TRACED_UNARY(fabs, abs)
  NLSQ_TRACED_UNARY(tgamma, gamma)
#undef NLSQ_TRACED_SAME
#undef NLSQ_TRACED_UNARY

  friend Traced pow(const Traced& a, const Traced& b) { return record(Op::pow, a, b); }
  friend Traced atan2(const Traced& a, const Traced& b) { return record(Op::atan2, a, b); }
  friend Traced fmod(const Traced& a, const Traced& b) { return record(Op::fmod, a, b); }
  friend Traced hypot(const Traced& a, const Traced& b) { return record(Op::hypot, a, b); }
  friend Traced hypot(const Traced& a, const Traced& b, const Traced& c) { return hypot(hypot(a, b), c); }
  // These are operations and record no guard. fmin and fmax ignore a NaN as C's do; min, max and clamp select
  // as std::min, std::max and std::clamp do, also for NaN.
  friend Traced fmin(const Traced& a, const Traced& b) { return pick_number(a, b, true); }
  friend Traced fmax(const Traced& a, const Traced& b) { return pick_number(a, b, false); }
  friend Traced min(const Traced& a, const Traced& b) {
    return b.is_number() ? record(Op::min, a, b) : select(record(Op::less, b, a), b, a);
  }
  friend Traced max(const Traced& a, const Traced& b) {
    return b.is_number() ? record(Op::max, a, b) : select(record(Op::less, a, b), b, a);
  }
  friend Traced clamp(const Traced& x, const Traced& low, const Traced& high) {
    return min(max(x, low), high);
  }
  friend Traced fdim(const Traced& a, const Traced& b) {
    return select(record(Op::less_equal, a, b), Traced(0.0), a - b);
  }
  friend Traced exp2(const Traced& a) { return pow(Traced(2.0), a); }
  friend Traced fma(const Traced& a, const Traced& b, const Traced& c) { return a * b + c; }
  friend Traced norm(const Traced& a) { return a * a; }
  friend Traced trunc(const Traced& a) { return select(record(Op::less, a, Traced(0.0)), ceil(a), floor(a)); }
  // Rounds halves away from zero. Comparing the fraction keeps 0.49999999999999994 from rounding up.
  friend Traced round(const Traced& a) {
    const Traced whole = trunc(a);
    return select(record(Op::less, abs(a - whole), Traced(0.5)), whole, whole + copysign(Traced(1.0), a));
  }
  friend Traced copysign(const Traced& a, const Traced& b) { return select(sign_bit(b), -abs(a), abs(a)); }

  // These return a bool, so they record guards.
  friend bool isnan(const Traced& a) { return !guard(Op::less_equal, a, infinity()); }
  friend bool isinf(const Traced& a) { return guard(Op::equal, abs(a), infinity()); }
  friend bool isfinite(const Traced& a) { return guard(Op::less, abs(a), infinity()); }
  friend bool isnormal(const Traced& a) { return fpclassify(a) == FP_NORMAL; }
  friend bool signbit(const Traced& a) { return guard(Op::not_equal, sign_bit(a), Traced(0.0)); }
  friend int fpclassify(const Traced& a) {
    if (isnan(a)) return FP_NAN;
    if (isinf(a)) return FP_INFINITE;
    if (a == Traced(0.0)) return FP_ZERO;
    return abs(a) < Traced(std::numeric_limits<double>::min()) ? FP_SUBNORMAL : FP_NORMAL;
  }

  // Printing shows the number and does not make the recording opaque.
  template <class Char, class Traits>
  friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out,
                                                      const Traced& a) {
    return out << a.value_;
  }

 private:
  friend class Tape;
  friend class TracedMask;
  friend NLSQ_API Traced record_op(Op op, const Traced& a, const Traced& b, const Traced& c);

  static Traced infinity() { return std::numeric_limits<double>::infinity(); }
  static Traced record(Op op, const Traced& a, const Traced& b = {}, const Traced& c = {});
  static bool guard(Op comparison, const Traced& a, const Traced& b);
  static Traced select(const Traced& condition, const Traced& a, const Traced& b) {
    return record(Op::select, condition, a, b);
  }
  bool is_number() const { return node_ == 0 && value_ == value_; }  // a constant other than NaN
  static Traced pick_number(const Traced& a, const Traced& b, bool smaller);
  static Traced sign_bit(const Traced& a);

  double value_;
  std::uint32_t node_;  // 0: a plain constant; otherwise a step of the recording below
  std::uint32_t tape_;  // number of the recording
};
static_assert(std::is_trivially_copyable_v<Traced>);

// Records any operation of the graph. Functions that are not in <cmath> use it.
NLSQ_API Traced record_op(Op op, const Traced& a, const Traced& b = {}, const Traced& c = {});

inline Traced erfcx(const Traced& a) { return record_op(Op::erfcx, a); }
inline Traced digamma(const Traced& a) { return record_op(Op::digamma, a); }
inline Traced gamma_function(const Traced& a) { return record_op(Op::gamma, a); }
inline Traced lgamma_function(const Traced& a) { return record_op(Op::lgamma, a); }
inline Traced besj0(const Traced& a) { return record_op(Op::besj0, a); }
inline Traced besj1(const Traced& a) { return record_op(Op::besj1, a); }
inline Traced wofz_re(const Traced& re, const Traced& im) { return record_op(Op::wofz_re, re, im); }
inline Traced wofz_im(const Traced& re, const Traced& im) { return record_op(Op::wofz_im, re, im); }

// Holds the result of a comparison as a recorded number, for nlsq::where. It is evaluated for each row and
// records no guard. `&&` and `||` evaluate both sides. A mask that is used as a bool becomes a guard.
class NLSQ_API TracedMask {
 public:
  TracedMask(bool truth) : condition_(truth ? 1.0 : 0.0) {}  // NOLINT: implicit by design
  static TracedMask compare(Op comparison, const Traced& a, const Traced& b) {
    return TracedMask(record_op(comparison, a, b));
  }
  explicit operator bool() const { return condition_ != Traced(0.0); }
  friend TracedMask operator&&(const TracedMask& a, const TracedMask& b) {
    return TracedMask(record_op(Op::logical_and, a.condition_, b.condition_));
  }
  friend TracedMask operator||(const TracedMask& a, const TracedMask& b) {
    return TracedMask(record_op(Op::logical_or, a.condition_, b.condition_));
  }
  // Without these overloads, the built-in operator would be ambiguous if one side is a bool.
  friend TracedMask operator&&(bool a, const TracedMask& b) { return TracedMask(a) && b; }
  friend TracedMask operator&&(const TracedMask& a, bool b) { return a && TracedMask(b); }
  friend TracedMask operator||(bool a, const TracedMask& b) { return TracedMask(a) || b; }
  friend TracedMask operator||(const TracedMask& a, bool b) { return a || TracedMask(b); }
  friend TracedMask operator!(const TracedMask& a) {
    return TracedMask(record_op(Op::logical_not, a.condition_));
  }
  Traced select(const Traced& a, const Traced& b) const { return Traced::select(condition_, a, b); }

 private:
  explicit TracedMask(const Traced& condition) : condition_(condition) {}
  Traced condition_;
};

}  // namespace nlsq::inline v0

template <>
class std::numeric_limits<nlsq::Traced> : public std::numeric_limits<double> {
  using T = nlsq::Traced;
  using D = std::numeric_limits<double>;

 public:
  static constexpr T min() noexcept { return D::min(); }
  static constexpr T max() noexcept { return D::max(); }
  static constexpr T lowest() noexcept { return D::lowest(); }
  static constexpr T epsilon() noexcept { return D::epsilon(); }
  static constexpr T round_error() noexcept { return D::round_error(); }
  static constexpr T infinity() noexcept { return D::infinity(); }
  static constexpr T quiet_NaN() noexcept { return D::quiet_NaN(); }
  static constexpr T signaling_NaN() noexcept { return D::signaling_NaN(); }
  static constexpr T denorm_min() noexcept { return D::denorm_min(); }
};
