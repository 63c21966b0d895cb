// Defines dual numbers of long double. A functor called with them returns residuals and derivatives with a
// 64-bit significand. The oracle of the block corpus uses them. They share no arithmetic with the library.
#pragma once

#include <array>
#include <cmath>
#include <limits>

namespace blocks {

using Real = long double;

// Holds a value and its derivatives by N numbers.
template <int N>
struct Wide {
  Real a = 0;
  std::array<Real, N> v{};

  Wide() = default;
  Wide(Real value) : a(value) {}  // NOLINT: implicit by design, as for any scalar
  Wide(Real value, int place) : a(value) { v[static_cast<std::size_t>(place)] = 1; }

  // Applies a function whose value and slope at x are given.
  static Wide chain(Real value, const Wide& x, Real slope) {
    Wide out(value);
    for (std::size_t i = 0; i < N; ++i) out.v[i] = slope == 0 ? 0 : slope * x.v[i];
    return out;
  }
  static Wide chain(Real value, const Wide& x, Real by_x, const Wide& y, Real by_y) {
    Wide out(value);
    for (std::size_t i = 0; i < N; ++i) out.v[i] = by_x * x.v[i] + by_y * y.v[i];
    return out;
  }

  friend Wide operator+(const Wide& x) { return x; }
  friend Wide operator-(const Wide& x) { return chain(-x.a, x, -1); }
  friend Wide operator+(const Wide& x, const Wide& y) { return chain(x.a + y.a, x, 1, y, 1); }
  friend Wide operator-(const Wide& x, const Wide& y) { return chain(x.a - y.a, x, 1, y, -1); }
  friend Wide operator*(const Wide& x, const Wide& y) { return chain(x.a * y.a, x, y.a, y, x.a); }
  friend Wide operator/(const Wide& x, const Wide& y) {
    return chain(x.a / y.a, x, 1 / y.a, y, -x.a / y.a / y.a);
  }
  Wide& operator+=(const Wide& y) { return *this = *this + y; }
  Wide& operator-=(const Wide& y) { return *this = *this - y; }
  Wide& operator*=(const Wide& y) { return *this = *this * y; }
  Wide& operator/=(const Wide& y) { return *this = *this / y; }

  friend bool operator<(const Wide& x, const Wide& y) { return x.a < y.a; }
  friend bool operator>(const Wide& x, const Wide& y) { return x.a > y.a; }
  friend bool operator<=(const Wide& x, const Wide& y) { return x.a <= y.a; }
  friend bool operator>=(const Wide& x, const Wide& y) { return x.a >= y.a; }
  friend bool operator==(const Wide& x, const Wide& y) { return x.a == y.a; }
  friend bool operator!=(const Wide& x, const Wide& y) { return x.a != y.a; }

  friend Wide exp(const Wide& x) {
    const Real e = std::exp(x.a);
    return chain(e, x, e);
  }
  friend Wide log(const Wide& x) { return chain(std::log(x.a), x, 1 / x.a); }
  friend Wide sqrt(const Wide& x) {
    const Real root = std::sqrt(x.a);
    return chain(root, x, 0.5L / root);
  }
  friend Wide sin(const Wide& x) { return chain(std::sin(x.a), x, std::cos(x.a)); }
  friend Wide cos(const Wide& x) { return chain(std::cos(x.a), x, -std::sin(x.a)); }
  friend Wide tan(const Wide& x) {
    const Real t = std::tan(x.a);
    return chain(t, x, 1 + t * t);
  }
  friend Wide tanh(const Wide& x) {
    const Real t = std::tanh(x.a);
    return chain(t, x, 1 - t * t);
  }
  friend Wide atan(const Wide& x) { return chain(std::atan(x.a), x, 1 / (1 + x.a * x.a)); }
  friend Wide acos(const Wide& x) { return chain(std::acos(x.a), x, -1 / std::sqrt(1 - x.a * x.a)); }
  friend Wide abs(const Wide& x) { return x.a < 0 ? -x : x; }
  friend Wide floor(const Wide& x) { return Wide(std::floor(x.a)); }
  friend Wide atan2(const Wide& y, const Wide& x) {
    const Real squares = x.a * x.a + y.a * y.a;
    return chain(std::atan2(y.a, x.a), y, x.a / squares, x, -y.a / squares);
  }
  friend Wide hypot(const Wide& x, const Wide& y) {
    const Real h = std::hypot(x.a, y.a);
    return chain(h, x, x.a / h, y, y.a / h);
  }
  friend Wide pow(const Wide& x, const Wide& y) {
    const Real p = std::pow(x.a, y.a);
    Wide out = chain(p, x, y.a == 0 ? 0 : y.a * std::pow(x.a, y.a - 1));
    bool variable = false;
    for (const Real d : y.v) variable = variable || d != 0;
    if (!variable) return out;
    const Real by_y = p == 0 ? 0 : p * std::log(x.a);
    for (std::size_t i = 0; i < N; ++i) out.v[i] += by_y * y.v[i];
    return out;
  }
};

}  // namespace blocks
