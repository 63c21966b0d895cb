// Defines the models of the curve suite in C++, with derivatives by hand. Peers run them.
#pragma once

#include <cmath>
#include <numbers>
#include <tuple>

namespace bench {

struct ExpCurve {  // a*exp(-b*x)+c
  static constexpr const char* name = "exp";
  static constexpr int parameters = 3, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    using std::exp;
    return p[0] * exp(-p[1] * x[0]) + p[2];
  }
  static void derivatives(const double* x, const double* p, double* d) {
    const double e = std::exp(-p[1] * x[0]);
    d[0] = e;
    d[1] = -p[0] * x[0] * e;
    d[2] = 1;
  }
};

struct GaussianCurve {  // h*exp(-(x-mu)^2/(2*sigma^2))+c
  static constexpr const char* name = "gaussian";
  static constexpr int parameters = 4, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    using std::exp;
    const T z = (x[0] - p[1]) / p[2];
    return p[0] * exp(-0.5 * z * z) + p[3];
  }
  static void derivatives(const double* x, const double* p, double* d) {
    const double z = (x[0] - p[1]) / p[2], e = std::exp(-0.5 * z * z);
    d[0] = e;
    d[1] = p[0] * e * z / p[2];
    d[2] = d[1] * z;
    d[3] = 1;
  }
};

struct BiexpCurve {  // a1*exp(-b1*x)+a2*exp(-b2*x)+c
  static constexpr const char* name = "biexp";
  static constexpr int parameters = 5, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    using std::exp;
    return p[0] * exp(-p[1] * x[0]) + p[2] * exp(-p[3] * x[0]) + p[4];
  }
  static void derivatives(const double* x, const double* p, double* d) {
    d[0] = std::exp(-p[1] * x[0]);
    d[1] = -p[0] * x[0] * d[0];
    d[2] = std::exp(-p[3] * x[0]);
    d[3] = -p[2] * x[0] * d[2];
    d[4] = 1;
  }
};

struct LogisticCurve {  // L/(1+exp(-k*(x-x0)))+c
  static constexpr const char* name = "logistic";
  static constexpr int parameters = 4, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    using std::exp;
    return p[0] / (1.0 + exp(-p[1] * (x[0] - p[2]))) + p[3];
  }
  static void derivatives(const double* x, const double* p, double* d) {
    const double e = std::exp(-p[1] * (x[0] - p[2])), s = 1 / (1 + e), slope = p[0] * e * s * s;
    d[0] = s;
    d[1] = slope * (x[0] - p[2]);
    d[2] = -slope * p[1];
    d[3] = 1;
  }
};

struct SineCurve {  // a*sin(2*pi*f*x+phi)+c
  static constexpr const char* name = "sine";
  static constexpr int parameters = 4, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    using std::sin;
    return p[0] * sin(2 * std::numbers::pi * x[0] * p[1] + p[2]) + p[3];
  }
  static void derivatives(const double* x, const double* p, double* d) {
    const double w = 2 * std::numbers::pi * x[0], angle = w * p[1] + p[2];
    d[0] = std::sin(angle);
    d[2] = p[0] * std::cos(angle);
    d[1] = w * d[2];
    d[3] = 1;
  }
};

struct PowerCurve {  // a*x^b
  static constexpr const char* name = "power";
  static constexpr int parameters = 2, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    using std::pow;
    return p[0] * pow(x[0], p[1]);
  }
  static void derivatives(const double* x, const double* p, double* d) {
    d[0] = std::pow(x[0], p[1]);
    d[1] = p[0] * d[0] * std::log(x[0]);
  }
};

struct Rational22Curve {  // (a0+a1*x+a2*x^2)/(1+b1*x+b2*x^2)
  static constexpr const char* name = "rational22";
  static constexpr int parameters = 5, predictors = 1;
  template <class T>
  static T value(const double* x, const T* p) {
    return (p[0] + x[0] * (p[1] + p[2] * x[0])) / (1.0 + x[0] * (p[3] + p[4] * x[0]));
  }
  static void derivatives(const double* x, const double* p, double* d) {
    const double q = 1 / (1 + x[0] * (p[3] + p[4] * x[0])), f = (p[0] + x[0] * (p[1] + p[2] * x[0])) * q;
    d[0] = q;
    d[1] = x[0] * q;
    d[2] = x[0] * d[1];
    d[3] = -f * d[1];
    d[4] = -f * d[2];
  }
};

using CurveModels =
    std::tuple<ExpCurve, GaussianCurve, BiexpCurve, LogisticCurve, SineCurve, PowerCurve, Rational22Curve>;

}  // namespace bench
