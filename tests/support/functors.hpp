// Defines callables f(x, p) that are generic in their scalar, as users write them, with points at which tests
// evaluate them.
#pragma once

#include <nlsq/eigen_scalars.hpp>
#include <nlsq/where.hpp>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace functors {

using Point = std::pair<double, std::vector<double>>;
using Points = std::vector<Point>;
template <class T>
using P = std::span<const T>;

inline Points usual() {
  return {{0.7, {1.3, 0.8, 0.4}}, {2.5, {0.6, 1.7, 1.1}}, {0.0, {1.5, 0.9, 0.2}}, {1.0, {2.0, 0.3, 0.5}}};
}

struct Decay {
  static const char* name() { return "decay"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  }
};

struct Operators {
  static const char* name() { return "operators"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    T s = +p[0], n = T(2);
    s += x, s -= 0.5f, s *= p[1], s /= 3;
    ++n, n--, --n, n++;
    T blank{};
    blank += n;
    return 1 - s / (p[2] + 2L) + 2u * x - blank * -x + 7 / (x + 3) + (p[0] - 1) * static_cast<short>(3);
  }
};

struct Elementary {
  static const char* name() { return "elementary"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using namespace std;
    const T a = p[0] / 3, b = p[1] + x;
    return exp(a) + exp2(a) + expm1(a) + log(b) + log10(b) + log2(b) + log1p(b) + sqrt(b) + cbrt(b) + sin(a) +
           cos(b) + tan(a) + asin(a) + acos(a) + atan(b) + sinh(a) + cosh(a) + tanh(a) + asinh(a) +
           acosh(b + 1) + atanh(a) + atan2(a, b) + abs(a) + fabs(p[2]);
  }
};

struct Special {
  static const char* name() { return "special functions"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using nlsq::besj0, nlsq::besj1, nlsq::digamma, nlsq::erfcx, nlsq::voigt;
    using std::erf, std::erfc, std::lgamma, std::tgamma;
    const T b = p[1] + x;
    return erf(p[0]) + erfc(b) + erfcx(b) + tgamma(b) + lgamma(b) + digamma(b) + besj0(b) + besj1(b) +
           voigt(x, p[0], p[2]);
  }
};

struct Powers {
  static const char* name() { return "powers"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using std::hypot, std::pow;
    return pow(p[0], 2) + pow(p[0], 2.5) + pow(2, p[1]) + pow(p[0], p[1]) + pow(p[2], -1) + pow(p[1], 0.5f) +
           hypot(p[0], x) + hypot(p[0], p[1], x + 1) + hypot(p[0], 3.0);
  }
};

struct Rounding {
  static const char* name() { return "rounding and choice"; }
  static Points points() { return {{0.7, {1.3, 0.8, 0.4}}, {-2.6, {0.6, 1.7, -1.1}}}; }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using namespace std;
    const T s = x * p[0];
    return floor(s) + ceil(s) + trunc(s) + round(s) + fmod(s, p[1]) + fmin(s, p[1]) + fmax(s, p[2]) +
           fmax(s, 0.1) + fmin(0.1, s) + fdim(s, p[2]) + copysign(p[1], p[2]) + fma(s, p[1], p[2]) +
           min(s, p[1]) + max(s, p[1]) + max(p[2], T(0)) + clamp(s, T(-1), T(1));
  }
};

struct Branches {
  static const char* name() { return "branches"; }
  static Points points() { return {{0.7, {1.3, 0.8, 0.4}}, {2.5, {0.6, 1.7, 1.1}}, {-3.0, {1.5, 0.9, 0.2}}}; }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using std::exp;
    if (x < 0) return p[0] * x;
    if (x > p[1]) {
      return x >= 2 && p[0] != 0.0 ? p[2] * x * x : p[0];
    }
    return 1 <= p[0] ? exp(-x * p[1]) : p[0] + p[2];
  }
};

struct WithoutGuards {
  static const char* name() { return "where"; }
  static Points points() { return {{0.7, {1.3, 0.8, 0.4}}, {2.5, {0.6, 1.7, 1.1}}, {-3.0, {1.5, 0.9, 0.2}}}; }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    using nlsq::where, nlsq::less, nlsq::greater_equal, nlsq::equal;
    const T low = where(less(x, p[0]), x * p[1], p[0] * p[1]);
    return where(greater_equal(x, 0) && !equal(x, 2.5), low, p[2]) +
           where(less(x, -1) || less(2, x), p[0], 0);
  }
};

struct Sorting {
  static const char* name() { return "sort and clamp"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    std::vector<T> values(p.begin(), p.end());
    values.push_back(x);
    std::sort(values.begin(), values.end());
    T sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(i + 1) * values[i];
    return sum + std::clamp(x, T(0.5), T(2)) * std::max(p[0], p[1]);
  }
};

struct DynamicSum {
  static const char* name() { return "loop over a dynamic size"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    T sum(0);
    for (std::size_t j = p.size(); j-- > 0;) sum = sum * x + p[j];  // Horner's scheme
    return sum;
  }
};

struct Complex {
  static const char* name() { return "complex"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    const std::complex<T> z(p[0], x), w(p[1], p[2]);
    const std::complex<T> q = z * w + z / w - std::complex<T>(T(1), T(2));
    return q.real() * q.imag();
  }
};

struct WithEigen {
  static const char* name() { return "Eigen"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    Eigen::Matrix<T, 3, 1> v(p[0], p[1], p[2]);
    Eigen::Matrix<T, 3, 3> A = v * v.transpose();
    A.diagonal().array() += x + 1.0;
    const Eigen::Vector3d c(1, -2, 3);
    const Eigen::Matrix<T, 3, 1> u = A.inverse() * (c + v);
    Eigen::Matrix<T, Eigen::Dynamic, 1> d(3);
    d << p[0], x, 2.0;
    return u.dot(v) + v.norm() * u.squaredNorm() + (2.0 * u.cross(v)).sum() + d.dot(v);
  }
};

struct OutlivingConstants {
  static const char* name() { return "static constants"; }
  static Points points() { return usual(); }
  template <class T>
  T operator()(const T& x, P<T> p) const {
    static const T kOne(1.0), kTable[] = {T(0.5), T(0.25)};
    T zeroed[2];
    std::fill_n(reinterpret_cast<unsigned char*>(static_cast<void*>(zeroed)), sizeof(zeroed), 0);
    return kOne / (kOne + p[0] * x) + kTable[1] * p[1] * p[2] + zeroed[1];
  }
};

// Calls `use` with each of the callables.
template <class Use>
void for_each(Use use) {
  std::apply([&](const auto&... functor) { (use(functor), ...); },
             std::tuple<Decay, Operators, Elementary, Special, Powers, Rounding, Branches, WithoutGuards,
                        Sorting, DynamicSum, Complex, WithEigen, OutlivingConstants>());
}

}  // namespace functors
