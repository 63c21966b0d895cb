// Defines the models of the curve suite for fused loops. `Functions` computes exp, sin and similar functions
// of a row first; the row [J | r] follows from them. Parameters are in the order of the formulas in
// curve_models.hpp. Only isa_loops.cpp includes this file.
#pragma once

#include "isa/isa_vector.hpp"

namespace bench {
namespace {

template <class T>
struct One {
  Vector<T> first;
};
template <class T>
struct Two {
  Vector<T> first, second;
};

struct FusedExp {
  static constexpr int n = 3;
  template <class F, class T>
  static One<T> functions(Vector<T> x, const T* p) {
    return {F::exp(-p[1] * x)};
  }
  template <class T>
  static Vector<T> row(Vector<T> x, const One<T>& f, const T* p, Vector<T>* J) {
    J[0] = f.first;
    J[1] = -p[0] * x * f.first;
    J[2] = Vector<T>{} + 1;
    return p[0] * f.first + p[2];
  }
};

struct FusedGaussian {  // h, mu, sigma, c
  static constexpr int n = 4;
  template <class F, class T>
  static One<T> functions(Vector<T> x, const T* p) {
    const Vector<T> z = (x - p[1]) * (1 / p[2]);
    return {F::exp(T(-0.5) * z * z)};
  }
  template <class T>
  static Vector<T> row(Vector<T> x, const One<T>& f, const T* p, Vector<T>* J) {
    const T inverse = 1 / p[2];
    const Vector<T> z = (x - p[1]) * inverse, slope = p[0] * inverse * f.first * z;
    J[0] = f.first;
    J[1] = slope;
    J[2] = slope * z;
    J[3] = Vector<T>{} + 1;
    return p[0] * f.first + p[3];
  }
};

struct FusedBiexp {  // a1, b1, a2, b2, c
  static constexpr int n = 5;
  template <class F, class T>
  static Two<T> functions(Vector<T> x, const T* p) {
    return {F::exp(-p[1] * x), F::exp(-p[3] * x)};
  }
  template <class T>
  static Vector<T> row(Vector<T> x, const Two<T>& f, const T* p, Vector<T>* J) {
    J[0] = f.first;
    J[1] = -p[0] * x * f.first;
    J[2] = f.second;
    J[3] = -p[2] * x * f.second;
    J[4] = Vector<T>{} + 1;
    return p[0] * f.first + p[2] * f.second + p[4];
  }
};

struct FusedLogistic {  // L, k, x0, c
  static constexpr int n = 4;
  template <class F, class T>
  static One<T> functions(Vector<T> x, const T* p) {
    return {F::exp(-p[1] * (x - p[2]))};
  }
  template <class T>
  static Vector<T> row(Vector<T> x, const One<T>& f, const T* p, Vector<T>* J) {
    const Vector<T> s = 1 / (1 + f.first), slope = p[0] * f.first * s * s;
    J[0] = s;
    J[1] = slope * (x - p[2]);
    J[2] = -p[1] * slope;
    J[3] = Vector<T>{} + 1;
    return p[0] * s + p[3];
  }
};

struct FusedSine {  // a, f, phi, c
  static constexpr int n = 4;
  static constexpr double two_pi = 6.283185307179586477;
  template <class F, class T>
  static Two<T> functions(Vector<T> x, const T* p) {
    const auto both = F::sincos(T(two_pi) * p[1] * x + p[2]);
    return {both.sine, both.cosine};
  }
  template <class T>
  static Vector<T> row(Vector<T> x, const Two<T>& f, const T* p, Vector<T>* J) {
    const Vector<T> slope = p[0] * f.second;
    J[0] = f.first;
    J[1] = T(two_pi) * x * slope;
    J[2] = slope;
    J[3] = Vector<T>{} + 1;
    return p[0] * f.first + p[3];
  }
};

struct FusedPower {  // a, b; uses pow, because exp(b log x) loses digits
  static constexpr int n = 2;
  template <class F, class T>
  static Two<T> functions(Vector<T> x, const T* p) {
    const auto both = F::log_pow(x, Vector<T>{} + p[1]);
    return {both.power, both.logarithm};
  }
  template <class T>
  static Vector<T> row(Vector<T>, const Two<T>& f, const T* p, Vector<T>* J) {
    const Vector<T> value = p[0] * f.first;
    J[0] = f.first;
    J[1] = value * f.second;
    return value;
  }
};

struct FusedRational22 {  // a0, a1, a2, b1, b2
  static constexpr int n = 5;
  template <class F, class T>
  static One<T> functions(Vector<T> x, const T* p) {
    return {1 / (1 + x * (p[3] + p[4] * x))};
  }
  template <class T>
  static Vector<T> row(Vector<T> x, const One<T>& f, const T* p, Vector<T>* J) {
    const Vector<T> value = (p[0] + x * (p[1] + p[2] * x)) * f.first;
    J[0] = f.first;
    J[1] = x * f.first;
    J[2] = x * J[1];
    J[3] = -value * J[1];
    J[4] = -value * J[2];
    return value;
  }
};

}  // namespace
}  // namespace bench
