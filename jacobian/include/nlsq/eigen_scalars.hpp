// Lets Eigen vectors and matrices hold Traced and Dual numbers and mix them with plain ones. Include it in
// code whose callables use Eigen; nothing else in the library includes it.
#pragma once

#include <nlsq/dual.hpp>
#include <nlsq/traced.hpp>

#include <Eigen/Core>

#include <type_traits>

namespace nlsq::inline v0::detail {

// The costs only affect which subexpressions Eigen stores in temporaries.
template <class T, int Width>
struct EigenTraits : Eigen::NumTraits<double> {
  using Real = T;
  using NonInteger = T;
  using Nested = T;
  using Literal = double;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 1 + Width,
    AddCost = 1 + Width,
    MulCost = 3 + 2 * Width,
    HasFloatingPoint = 1
  };
  static T epsilon() { return T(std::numeric_limits<double>::epsilon()); }
  static T dummy_precision() { return T(Eigen::NumTraits<double>::dummy_precision()); }
  static T highest() { return T(std::numeric_limits<double>::max()); }
  static T lowest() { return T(std::numeric_limits<double>::lowest()); }
  static T infinity() { return T(std::numeric_limits<double>::infinity()); }
  static T quiet_NaN() { return T(std::numeric_limits<double>::quiet_NaN()); }
};

template <class S>
concept PlainNumber = std::is_arithmetic_v<S>;

}  // namespace nlsq::inline v0::detail

namespace Eigen {

template <>
struct NumTraits<nlsq::Traced> : nlsq::detail::EigenTraits<nlsq::Traced, 0> {};
template <class T, int N>
struct NumTraits<nlsq::Dual<T, N>> : nlsq::detail::EigenTraits<nlsq::Dual<T, N>, N> {};

template <nlsq::detail::PlainNumber S, class BinaryOp>
struct ScalarBinaryOpTraits<nlsq::Traced, S, BinaryOp> {
  using ReturnType = nlsq::Traced;
};
template <nlsq::detail::PlainNumber S, class BinaryOp>
struct ScalarBinaryOpTraits<S, nlsq::Traced, BinaryOp> {
  using ReturnType = nlsq::Traced;
};
template <class T, int N, nlsq::detail::PlainNumber S, class BinaryOp>
struct ScalarBinaryOpTraits<nlsq::Dual<T, N>, S, BinaryOp> {
  using ReturnType = nlsq::Dual<T, N>;
};
template <class T, int N, nlsq::detail::PlainNumber S, class BinaryOp>
struct ScalarBinaryOpTraits<S, nlsq::Dual<T, N>, BinaryOp> {
  using ReturnType = nlsq::Dual<T, N>;
};

}  // namespace Eigen
