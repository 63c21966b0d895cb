// Defines the models of NIST's certified regressions, with derivatives by hand. Data sets with the same model
// share a struct; nist_model() gives its name. Suites nist and small use them.
#pragma once

#include <cmath>
#include <numbers>
#include <string_view>
#include <tuple>

namespace bench {

struct NistRise {  // Misra1a, BoxBOD: b1*(1-exp(-b2*x))
  static constexpr const char* name = "Misra1a";
  static constexpr int parameters = 2, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return b[0] * (1.0 - exp(-b[1] * x[0]));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double e = std::exp(-b[1] * x[0]);
    d[0] = 1 - e;
    d[1] = b[0] * x[0] * e;
  }
};

struct NistMisra1b {  // b1*(1-(1+b2*x/2)^(-2))
  static constexpr const char* name = "Misra1b";
  static constexpr int parameters = 2, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    const T u = 1.0 + b[1] * (0.5 * x[0]);
    return b[0] * (1.0 - 1.0 / (u * u));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double u = 1 + b[1] * x[0] / 2;
    d[0] = 1 - 1 / (u * u);
    d[1] = b[0] * x[0] / (u * u * u);
  }
};

struct NistMisra1c {  // b1*(1-(1+2*b2*x)^(-0.5))
  static constexpr const char* name = "Misra1c";
  static constexpr int parameters = 2, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::sqrt;
    return b[0] * (1.0 - 1.0 / sqrt(1.0 + b[1] * (2 * x[0])));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double u = 1 + 2 * b[1] * x[0], root = std::sqrt(u);
    d[0] = 1 - 1 / root;
    d[1] = b[0] * x[0] / (u * root);
  }
};

struct NistMisra1d {  // b1*b2*x*((1+b2*x)^(-1))
  static constexpr const char* name = "Misra1d";
  static constexpr int parameters = 2, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    return b[0] * b[1] * x[0] / (1.0 + b[1] * x[0]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double u = 1 + b[1] * x[0];
    d[0] = b[1] * x[0] / u;
    d[1] = b[0] * x[0] / (u * u);
  }
};

struct NistChwirut {  // exp(-b1*x)/(b2+b3*x)
  static constexpr const char* name = "Chwirut1";
  static constexpr int parameters = 3, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return exp(-b[0] * x[0]) / (b[1] + b[2] * x[0]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double q = 1 / (b[1] + b[2] * x[0]), f = std::exp(-b[0] * x[0]) * q;
    d[0] = -x[0] * f;
    d[1] = -f * q;
    d[2] = x[0] * d[1];
  }
};

struct NistDanWood {  // b1*x^b2
  static constexpr const char* name = "DanWood";
  static constexpr int parameters = 2, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::pow;
    return b[0] * pow(x[0], b[1]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    d[0] = std::pow(x[0], b[1]);
    d[1] = b[0] * d[0] * std::log(x[0]);
  }
};

struct NistBennett5 {  // b1*(b2+x)^(-1/b3)
  static constexpr const char* name = "Bennett5";
  static constexpr int parameters = 3, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::pow;
    return b[0] * pow(b[1] + x[0], -1.0 / b[2]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double u = b[1] + x[0];
    d[0] = std::pow(u, -1 / b[2]);
    d[1] = -b[0] * d[0] / (b[2] * u);
    d[2] = b[0] * d[0] * std::log(u) / (b[2] * b[2]);
  }
};

struct NistEnso {  // b1 and three waves, periods 12, b4 and b7
  static constexpr const char* name = "ENSO";
  static constexpr int parameters = 9, predictors = 1;
  static constexpr double two_pi = 2 * std::numbers::pi;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::cos;
    using std::sin;
    const double year = two_pi * x[0] / 12;
    const T second = two_pi * x[0] / b[3], third = two_pi * x[0] / b[6];
    return b[0] + b[1] * std::cos(year) + b[2] * std::sin(year) + b[4] * cos(second) + b[5] * sin(second) +
           b[7] * cos(third) + b[8] * sin(third);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double year = two_pi * x[0] / 12, second = two_pi * x[0] / b[3], third = two_pi * x[0] / b[6];
    d[0] = 1;
    d[1] = std::cos(year);
    d[2] = std::sin(year);
    d[4] = std::cos(second);
    d[5] = std::sin(second);
    d[3] = (b[4] * d[5] - b[5] * d[4]) * second / b[3];
    d[7] = std::cos(third);
    d[8] = std::sin(third);
    d[6] = (b[7] * d[8] - b[8] * d[7]) * third / b[6];
  }
};

struct NistEckerle4 {  // (b1/b2)*exp(-0.5*((x-b3)/b2)^2)
  static constexpr const char* name = "Eckerle4";
  static constexpr int parameters = 3, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    const T z = (x[0] - b[2]) / b[1];
    return b[0] / b[1] * exp(-0.5 * z * z);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double z = (x[0] - b[2]) / b[1];
    d[0] = std::exp(-0.5 * z * z) / b[1];
    const double scaled = b[0] * d[0] / b[1];
    d[1] = scaled * (z * z - 1);
    d[2] = scaled * z;
  }
};

struct NistGauss {  // b1*exp(-b2*x)+b3*exp(-(x-b4)^2/b5^2)+b6*exp(-(x-b7)^2/b8^2)
  static constexpr const char* name = "Gauss1";
  static constexpr int parameters = 8, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    const T first = (x[0] - b[3]) / b[4], second = (x[0] - b[6]) / b[7];
    return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-first * first) + b[5] * exp(-second * second);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    d[0] = std::exp(-b[1] * x[0]);
    d[1] = -b[0] * x[0] * d[0];
    peak(x[0], b + 2, d + 2);
    peak(x[0], b + 5, d + 5);
  }
  static void peak(double x, const double* b, double* d) {
    const double z = (x - b[1]) / b[2];
    d[0] = std::exp(-z * z);
    d[1] = 2 * b[0] * d[0] * z / b[2];
    d[2] = d[1] * z;
  }
};

struct NistCubics {  // Hahn1, Thurber: (b1+b2*x+b3*x^2+b4*x^3)/(1+b5*x+b6*x^2+b7*x^3)
  static constexpr const char* name = "Hahn1";
  static constexpr int parameters = 7, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    return (b[0] + x[0] * (b[1] + x[0] * (b[2] + x[0] * b[3]))) /
           (1.0 + x[0] * (b[4] + x[0] * (b[5] + x[0] * b[6])));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double t = x[0], q = 1 / (1 + t * (b[4] + t * (b[5] + t * b[6])));
    const double f = (b[0] + t * (b[1] + t * (b[2] + t * b[3]))) * q;
    d[0] = q, d[1] = t * q, d[2] = t * d[1], d[3] = t * d[2];
    d[4] = -f * d[1], d[5] = -f * d[2], d[6] = -f * d[3];
  }
};

struct NistKirby2 {  // (b1+b2*x+b3*x^2)/(1+b4*x+b5*x^2)
  static constexpr const char* name = "Kirby2";
  static constexpr int parameters = 5, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    return (b[0] + x[0] * (b[1] + x[0] * b[2])) / (1.0 + x[0] * (b[3] + x[0] * b[4]));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double t = x[0], q = 1 / (1 + t * (b[3] + t * b[4])), f = (b[0] + t * (b[1] + t * b[2])) * q;
    d[0] = q, d[1] = t * q, d[2] = t * d[1];
    d[3] = -f * d[1], d[4] = -f * d[2];
  }
};

struct NistLanczos {  // b1*exp(-b2*x)+b3*exp(-b4*x)+b5*exp(-b6*x)
  static constexpr const char* name = "Lanczos1";
  static constexpr int parameters = 6, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-b[3] * x[0]) + b[4] * exp(-b[5] * x[0]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    for (int k = 0; k < 6; k += 2) {
      d[k] = std::exp(-b[k + 1] * x[0]);
      d[k + 1] = -b[k] * x[0] * d[k];
    }
  }
};

struct NistMgh09 {  // b1*(x^2+x*b2)/(x^2+x*b3+b4)
  static constexpr const char* name = "MGH09";
  static constexpr int parameters = 4, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    return b[0] * (x[0] * x[0] + x[0] * b[1]) / (x[0] * x[0] + x[0] * b[2] + b[3]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double q = 1 / (x[0] * x[0] + x[0] * b[2] + b[3]), above = x[0] * (x[0] + b[1]);
    d[0] = above * q;
    d[1] = b[0] * x[0] * q;
    d[3] = -b[0] * d[0] * q;
    d[2] = x[0] * d[3];
  }
};

struct NistMgh10 {  // b1*exp(b2/(x+b3))
  static constexpr const char* name = "MGH10";
  static constexpr int parameters = 3, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return b[0] * exp(b[1] / (x[0] + b[2]));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double q = 1 / (x[0] + b[2]);
    d[0] = std::exp(b[1] * q);
    d[1] = b[0] * d[0] * q;
    d[2] = -b[1] * d[1] * q;
  }
};

struct NistMgh17 {  // b1+b2*exp(-x*b4)+b3*exp(-x*b5)
  static constexpr const char* name = "MGH17";
  static constexpr int parameters = 5, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return b[0] + b[1] * exp(-x[0] * b[3]) + b[2] * exp(-x[0] * b[4]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    d[0] = 1;
    d[1] = std::exp(-x[0] * b[3]);
    d[2] = std::exp(-x[0] * b[4]);
    d[3] = -b[1] * x[0] * d[1];
    d[4] = -b[2] * x[0] * d[2];
  }
};

struct NistNelson {  // log(y) = b1-b2*x1*exp(-b3*x2)
  static constexpr const char* name = "Nelson";
  static constexpr int parameters = 3, predictors = 2;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return b[0] - b[1] * x[0] * exp(-b[2] * x[1]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double e = std::exp(-b[2] * x[1]);
    d[0] = 1;
    d[1] = -x[0] * e;
    d[2] = b[1] * x[0] * x[1] * e;
  }
};

struct NistRat42 {  // b1/(1+exp(b2-b3*x))
  static constexpr const char* name = "Rat42";
  static constexpr int parameters = 3, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    return b[0] / (1.0 + exp(b[1] - b[2] * x[0]));
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double e = std::exp(b[1] - b[2] * x[0]);
    d[0] = 1 / (1 + e);
    d[1] = -b[0] * e * d[0] * d[0];
    d[2] = -x[0] * d[1];
  }
};

struct NistRat43 {  // b1/((1+exp(b2-b3*x))^(1/b4))
  static constexpr const char* name = "Rat43";
  static constexpr int parameters = 4, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::exp;
    using std::pow;
    return b[0] / pow(1.0 + exp(b[1] - b[2] * x[0]), 1.0 / b[3]);
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double e = std::exp(b[1] - b[2] * x[0]), u = 1 + e;
    d[0] = std::pow(u, -1 / b[3]);
    const double f = b[0] * d[0];
    d[1] = -f * e / (u * b[3]);
    d[2] = -x[0] * d[1];
    d[3] = f * std::log(u) / (b[3] * b[3]);
  }
};

struct NistRoszman1 {  // b1-b2*x-atan(b3/(x-b4))/pi
  static constexpr const char* name = "Roszman1";
  static constexpr int parameters = 4, predictors = 1;
  template <class T>
  static T value(const double* x, const T* b) {
    using std::atan;
    return b[0] - b[1] * x[0] - atan(b[2] / (x[0] - b[3])) / std::numbers::pi;
  }
  static void derivatives(const double* x, const double* b, double* d) {
    const double u = x[0] - b[3], q = std::numbers::inv_pi / (u * u + b[2] * b[2]);
    d[0] = 1;
    d[1] = -x[0];
    d[2] = -u * q;
    d[3] = -b[2] * q;
  }
};

using NistModels =
    std::tuple<NistRise, NistMisra1b, NistMisra1c, NistMisra1d, NistChwirut, NistDanWood, NistBennett5,
               NistEnso, NistEckerle4, NistGauss, NistCubics, NistKirby2, NistLanczos, NistMgh09, NistMgh10,
               NistMgh17, NistNelson, NistRat42, NistRat43, NistRoszman1>;

// Returns the name of the struct with the model of a data set.
inline std::string_view nist_model(std::string_view set) {
  if (set == "BoxBOD") return "Misra1a";
  if (set == "Chwirut2") return "Chwirut1";
  if (set == "Gauss2" || set == "Gauss3") return "Gauss1";
  if (set == "Thurber") return "Hahn1";
  if (set == "Lanczos2" || set == "Lanczos3") return "Lanczos1";
  return set;
}

}  // namespace bench
