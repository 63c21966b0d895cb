// Defines the scalar that records cost functions written for Ceres: ceres::Jet<double, 0>, a jet without
// derivatives. Code that compiles for Ceres's jets compiles for it. Code that reads the parts `.a` and `.v`
// of a jet extracts plain numbers, which the recording detects; it then ends, and Ceres's own jets are used.
//
// Part of <nlsq/ceres.hpp>. Include that header before functors that call ceres::sin and similar functions by
// their full names. Otherwise those calls select Ceres's general functions, which read the parts.
#pragma once

#include <nlsq/let_out.hpp>
#include <nlsq/traced.hpp>

#include <ceres/jet.h>

#include <type_traits>

namespace nlsq::inline v0::detail {

// The reason given when a recording stops because code reads a part of a jet. Ceres's own functions read
// parts, and a call such as ceres::floor(x) selects them, not ours, if <nlsq/ceres.hpp> is included after it.
inline constexpr const char* kReadsPart =
    "it reads the part .a of a jet, or calls a function such as ceres::floor by its full name in a header "
    "that is "
    "included before <nlsq/ceres.hpp>: include <nlsq/ceres.hpp> first";

// Stands for the part `.a` of a recording jet.
class RecordedPart {
 public:
  constexpr RecordedPart() = default;
  constexpr RecordedPart(double value) : number_(value) {}  // NOLINT: implicit by design
  constexpr explicit RecordedPart(const Traced& number) : number_(number) {}
  operator double() const { return let_out(number_, kReadsPart); }  // NOLINT: implicit by design
  RecordedPart& operator+=(double s) { return *this = RecordedPart(double(*this) + s); }
  RecordedPart& operator-=(double s) { return *this = RecordedPart(double(*this) - s); }
  RecordedPart& operator*=(double s) { return *this = RecordedPart(double(*this) * s); }
  RecordedPart& operator/=(double s) { return *this = RecordedPart(double(*this) / s); }
  const Traced& number() const { return number_; }

 private:
  Traced number_;
};

}  // namespace nlsq::inline v0::detail

namespace ceres {

template <>
struct Jet<double, 0> {
  enum { DIMENSION = 0 };
  using Scalar = double;

  Jet() = default;
  template <class S>
  requires std::is_arithmetic_v<S>
  explicit Jet(S value) : a(static_cast<double>(value)) {}
  Jet(double value, int) : a(value) {}
  template <class Derived>
  Jet(double value, const Eigen::DenseBase<Derived>&) : a(value) {}
  explicit Jet(const nlsq::Traced& number) : a(number) {}

  nlsq::detail::RecordedPart a;
  [[no_unique_address]] Eigen::Matrix<double, 0, 1> v;

  const nlsq::Traced& number() const { return a.number(); }

#define NLSQ_JET_ASSIGN(op)                                                         \
  Jet& operator op##=(const Jet& y) { return *this = Jet(number() op y.number()); } \
  template <class S>                                                                \
  requires std::is_arithmetic_v<S> Jet& operator op##=(S s) {                       \
    return *this = Jet(number() op nlsq::Traced(s));                                \
  }
  NLSQ_JET_ASSIGN(+)
  NLSQ_JET_ASSIGN(-)
  NLSQ_JET_ASSIGN(*)
  NLSQ_JET_ASSIGN(/)
#undef NLSQ_JET_ASSIGN
};

// Defines each operation for two jets, and for a plain number on either side. double has its own overload,
// which is preferred over Ceres's templates.
#define NLSQ_JET_BINARY(result, name, expression)                                              \
  inline result name(const Jet<double, 0>& f, const Jet<double, 0>& g) {                       \
    const nlsq::Traced &x = f.number(), &y = g.number();                                       \
    return result(expression);                                                                 \
  }                                                                                            \
  inline result name(const Jet<double, 0>& f, double g) { return name(f, Jet<double, 0>(g)); } \
  inline result name(double f, const Jet<double, 0>& g) { return name(Jet<double, 0>(f), g); } \
  template <class S>                                                                           \
  requires(std::is_arithmetic_v<S> && !std::is_same_v<S, double>) inline result name(          \
      const Jet<double, 0>& f, const S& g) {                                                   \
    return name(f, Jet<double, 0>(g));                                                         \
  }                                                                                            \
  template <class S>                                                                           \
  requires(std::is_arithmetic_v<S> && !std::is_same_v<S, double>) inline result name(          \
      const S& f, const Jet<double, 0>& g) {                                                   \
    return name(Jet<double, 0>(f), g);                                                         \
  }
#define NLSQ_JET_UNARY(result, name, expression) \
  inline result name(const Jet<double, 0>& f) {  \
    const nlsq::Traced& x = f.number();          \
    return result(expression);                   \
  }
#define NLSQ_JET_FUNCTION(name) NLSQ_JET_UNARY(NLSQ_JET, name, name(x))
#define NLSQ_JET Jet<double, 0>

NLSQ_JET_BINARY(NLSQ_JET, operator+, x + y)
NLSQ_JET_BINARY(NLSQ_JET, operator-, x - y)
NLSQ_JET_BINARY(NLSQ_JET, operator*, x* y)
NLSQ_JET_BINARY(NLSQ_JET, operator/, x / y)
NLSQ_JET_UNARY(NLSQ_JET, operator+, x)
NLSQ_JET_UNARY(NLSQ_JET, operator-, -x)
NLSQ_JET_BINARY(bool, operator<, x < y)
NLSQ_JET_BINARY(bool, operator<=, x <= y)
NLSQ_JET_BINARY(bool, operator>, x > y)
NLSQ_JET_BINARY(bool, operator>=, x >= y)
NLSQ_JET_BINARY(bool, operator==, x == y)
NLSQ_JET_BINARY(bool, operator!=, x != y)

NLSQ_JET_FUNCTION(abs)
NLSQ_JET_FUNCTION(acos)
NLSQ_JET_FUNCTION(asin)
NLSQ_JET_FUNCTION(atan)
NLSQ_JET_FUNCTION(cbrt)
NLSQ_JET_FUNCTION(ceil)
NLSQ_JET_FUNCTION(cos)
NLSQ_JET_FUNCTION(cosh)
NLSQ_JET_FUNCTION(erf)
NLSQ_JET_FUNCTION(erfc)
NLSQ_JET_FUNCTION(exp)
NLSQ_JET_FUNCTION(exp2)
NLSQ_JET_FUNCTION(expm1)
NLSQ_JET_FUNCTION(floor)
NLSQ_JET_FUNCTION(log)
NLSQ_JET_FUNCTION(log10)
NLSQ_JET_FUNCTION(log1p)
NLSQ_JET_FUNCTION(log2)
NLSQ_JET_FUNCTION(norm)
NLSQ_JET_FUNCTION(sin)
NLSQ_JET_FUNCTION(sinh)
NLSQ_JET_FUNCTION(sqrt)
NLSQ_JET_FUNCTION(tan)
NLSQ_JET_FUNCTION(tanh)
NLSQ_JET_UNARY(NLSQ_JET, BesselJ0, nlsq::besj0(x))
NLSQ_JET_UNARY(NLSQ_JET, BesselJ1, nlsq::besj1(x))
NLSQ_JET_UNARY(bool, isfinite, isfinite(x))
NLSQ_JET_UNARY(bool, isinf, isinf(x))
NLSQ_JET_UNARY(bool, isnan, isnan(x))
NLSQ_JET_UNARY(bool, isnormal, isnormal(x))
NLSQ_JET_UNARY(bool, signbit, signbit(x))
NLSQ_JET_UNARY(int, fpclassify, fpclassify(x))
NLSQ_JET_BINARY(NLSQ_JET, atan2, atan2(x, y))
NLSQ_JET_BINARY(NLSQ_JET, copysign, copysign(x, y))
NLSQ_JET_BINARY(NLSQ_JET, fdim, fdim(x, y))
NLSQ_JET_BINARY(NLSQ_JET, fmax, fmax(x, y))
NLSQ_JET_BINARY(NLSQ_JET, fmin, fmin(x, y))
NLSQ_JET_BINARY(NLSQ_JET, hypot, hypot(x, y))
NLSQ_JET_BINARY(NLSQ_JET, pow, pow(x, y))
NLSQ_JET_BINARY(bool, isless, x < y)
NLSQ_JET_BINARY(bool, islessequal, x <= y)
NLSQ_JET_BINARY(bool, isgreater, x > y)
NLSQ_JET_BINARY(bool, isgreaterequal, x >= y)
inline NLSQ_JET hypot(const NLSQ_JET& f, const NLSQ_JET& g, const NLSQ_JET& h) {
  return NLSQ_JET(hypot(f.number(), g.number(), h.number()));
}
inline NLSQ_JET fma(const NLSQ_JET& f, const NLSQ_JET& g, const NLSQ_JET& h) { return f * g + h; }

// Prints the number. The recording stays valid.
inline std::ostream& operator<<(std::ostream& out, const NLSQ_JET& f) { return out << f.number(); }

#undef NLSQ_JET
#undef NLSQ_JET_FUNCTION
#undef NLSQ_JET_UNARY
#undef NLSQ_JET_BINARY

}  // namespace ceres
