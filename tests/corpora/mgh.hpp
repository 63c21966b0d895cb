// Defines the least-squares problems of Moré, Garbow and Hillstrom (Testing unconstrained optimization
// software, ACM TOMS 7, 1981), numbers 1 to 19. Each starts from its published start and from 10 and 100
// times it; ten of them also have bounds. Functors are called as Ceres calls them. Minima are of ‖r‖², as
// printed there.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace problems::mgh {

// Holds the properties of a functor: sizes, start, minimum of ‖r‖².
template <int parameters_, int residuals_>
struct Sized {
  static constexpr int parameters = parameters_, residuals = residuals_;
  using Start = std::array<double, parameters_>;
};

struct Rosenbrock : Sized<2, 2> {
  static constexpr const char* name = "Rosenbrock";
  static constexpr Start start{-1.2, 1};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 * (x[1] - x[0] * x[0]);
    r[1] = 1.0 - x[0];
    return true;
  }
};

struct FreudensteinRoth : Sized<2, 2> {
  static constexpr const char* name = "Freudenstein and Roth";
  static constexpr Start start{0.5, -2};
  static constexpr double minimum = 0, local_minimum = 48.9842;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = -13.0 + x[0] + ((5.0 - x[1]) * x[1] - 2.0) * x[1];
    r[1] = -29.0 + x[0] + ((x[1] + 1.0) * x[1] - 14.0) * x[1];
    return true;
  }
};

struct PowellBadlyScaled : Sized<2, 2> {
  static constexpr const char* name = "Powell, badly scaled";
  static constexpr Start start{0, 1};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    r[0] = 1e4 * x[0] * x[1] - 1.0;
    r[1] = exp(-x[0]) + exp(-x[1]) - 1.0001;
    return true;
  }
};

struct BrownBadlyScaled : Sized<2, 3> {
  static constexpr const char* name = "Brown, badly scaled";
  static constexpr Start start{1, 1};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] - 1e6;
    r[1] = x[1] - 2e-6;
    r[2] = x[0] * x[1] - 2.0;
    return true;
  }
};

struct Beale : Sized<2, 3> {
  static constexpr const char* name = "Beale";
  static constexpr Start start{1, 1};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 1.5 - x[0] * (1.0 - x[1]);
    r[1] = 2.25 - x[0] * (1.0 - x[1] * x[1]);
    r[2] = 2.625 - x[0] * (1.0 - x[1] * x[1] * x[1]);
    return true;
  }
};

struct JennrichSampson : Sized<2, 10> {
  static constexpr const char* name = "Jennrich and Sampson";
  static constexpr Start start{0.3, 0.4};
  static constexpr double minimum = 124.362;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 1; i <= residuals; ++i)
      r[i - 1] = 2.0 + 2.0 * i - (exp(double(i) * x[0]) + exp(double(i) * x[1]));
    return true;
  }
};

struct HelicalValley : Sized<3, 3> {
  static constexpr const char* name = "helical valley";
  static constexpr Start start{-1, 0, 0};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::atan;
    using std::sqrt;
    constexpr double kTurn = 6.283185307179586;
    T theta = atan(x[1] / x[0]) / kTurn;
    if (x[0] < 0.0) theta = theta + 0.5;
    r[0] = 10.0 * (x[2] - 10.0 * theta);
    r[1] = 10.0 * (sqrt(x[0] * x[0] + x[1] * x[1]) - 1.0);
    r[2] = x[2];
    return true;
  }
};

struct Bard : Sized<3, 15> {
  static constexpr const char* name = "Bard";
  static constexpr Start start{1, 1, 1};
  static constexpr double minimum = 8.21487e-3;
  static constexpr double y[] = {.14, .18, .22, .25, .29,  .32,  .35, .39,
                                 .37, .58, .73, .96, 1.34, 2.10, 4.39};
  template <class T>
  bool operator()(const T* x, T* r) const {
    for (int i = 1; i <= residuals; ++i) {
      const double u = i, v = 16 - i, w = i < 8 ? u : v;
      r[i - 1] = y[i - 1] - (x[0] + u / (v * x[1] + w * x[2]));
    }
    return true;
  }
};

struct Gaussian : Sized<3, 15> {
  static constexpr const char* name = "Gaussian";
  static constexpr Start start{0.4, 1, 0};
  static constexpr double minimum = 1.12793e-8;
  static constexpr double y[] = {.0009, .0044, .0175, .0540, .1295, .2420, .3521, .3989,
                                 .3521, .2420, .1295, .0540, .0175, .0044, .0009};
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 1; i <= residuals; ++i) {
      const T distance = (8.0 - i) / 2.0 - x[2];
      r[i - 1] = x[0] * exp(-0.5 * x[1] * distance * distance) - y[i - 1];
    }
    return true;
  }
};

struct Meyer : Sized<3, 16> {
  static constexpr const char* name = "Meyer";
  static constexpr Start start{0.02, 4000, 250};
  static constexpr double minimum = 87.9458;
  static constexpr double y[] = {34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
                                 8261,  7030,  6005,  5147,  4427,  3820,  3307,  2872};
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 1; i <= residuals; ++i) r[i - 1] = x[0] * exp(x[1] / (45.0 + 5.0 * i + x[2])) - y[i - 1];
    return true;
  }
};

// This has the published correction: |y_i - x_2| instead of |y_i m i x_2|.
struct Gulf : Sized<3, 100> {
  static constexpr const char* name = "Gulf research";
  static constexpr Start start{5, 2.5, 0.15};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::abs;
    using std::exp;
    using std::pow;
    for (int i = 1; i <= residuals; ++i) {
      const double t = i / 100.0, y = 25 + std::pow(-50 * std::log(t), 2.0 / 3.0);
      r[i - 1] = exp(-pow(abs(y - x[1]), x[2]) / x[0]) - t;
    }
    return true;
  }
};

template <int residuals_>
struct BoxOf : Sized<3, residuals_> {
  static constexpr const char* name = "Box, three-dimensional";
  static constexpr std::array<double, 3> start{0, 10, 20};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 1; i <= residuals_; ++i) {
      const double t = 0.1 * i;
      r[i - 1] = exp(-t * x[0]) - exp(-t * x[1]) - x[2] * (std::exp(-t) - std::exp(-10 * t));
    }
    return true;
  }
};

using Box = BoxOf<10>;

struct PowellSingular : Sized<4, 4> {
  static constexpr const char* name = "Powell, singular";
  static constexpr Start start{3, -1, 0, 1};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] + 10.0 * x[1];
    r[1] = std::sqrt(5.0) * (x[2] - x[3]);
    r[2] = (x[1] - 2.0 * x[2]) * (x[1] - 2.0 * x[2]);
    r[3] = std::sqrt(10.0) * (x[0] - x[3]) * (x[0] - x[3]);
    return true;
  }
};

struct Wood : Sized<4, 6> {
  static constexpr const char* name = "Wood";
  static constexpr Start start{-3, -1, -3, -1};
  static constexpr double minimum = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 * (x[1] - x[0] * x[0]);
    r[1] = 1.0 - x[0];
    r[2] = std::sqrt(90.0) * (x[3] - x[2] * x[2]);
    r[3] = 1.0 - x[2];
    r[4] = std::sqrt(10.0) * (x[1] + x[3] - 2.0);
    r[5] = (x[1] - x[3]) / std::sqrt(10.0);
    return true;
  }
};

struct KowalikOsborne : Sized<4, 11> {
  static constexpr const char* name = "Kowalik and Osborne";
  static constexpr Start start{.25, .39, .415, .39};
  static constexpr double minimum = 3.07505e-4;
  static constexpr double y[] = {.1957, .1947, .1735, .1600, .0844, .0627, .0456, .0342, .0323, .0235, .0246};
  static constexpr double u[] = {4, 2, 1, .5, .25, .167, .125, .1, .0833, .0714, .0625};
  template <class T>
  bool operator()(const T* x, T* r) const {
    for (int i = 0; i < residuals; ++i) {
      r[i] = y[i] - x[0] * (u[i] * u[i] + u[i] * x[1]) / (u[i] * u[i] + u[i] * x[2] + x[3]);
    }
    return true;
  }
};

struct BrownDennis : Sized<4, 20> {
  static constexpr const char* name = "Brown and Dennis";
  static constexpr Start start{25, 5, -5, -1};
  static constexpr double minimum = 85822.2;
  template <class T>
  bool operator()(const T* x, T* r) const {
    for (int i = 1; i <= residuals; ++i) {
      const double t = i / 5.0;
      const T a = x[0] + t * x[1] - std::exp(t), b = x[2] + std::sin(t) * x[3] - std::cos(t);
      r[i - 1] = a * a + b * b;
    }
    return true;
  }
};

struct OsborneOne : Sized<5, 33> {
  static constexpr const char* name = "Osborne 1";
  static constexpr Start start{0.5, 1.5, -1, 0.01, 0.02};
  static constexpr double minimum = 5.46489e-5;
  static constexpr double y[] = {.844, .908, .932, .936, .925, .908, .881, .850, .818, .784, .751,
                                 .718, .685, .658, .628, .603, .580, .558, .538, .522, .506, .490,
                                 .478, .467, .457, .448, .438, .431, .424, .420, .414, .411, .406};
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 0; i < residuals; ++i) {
      const double t = 10.0 * i;
      r[i] = y[i] - (x[0] + x[1] * exp(-t * x[3]) + x[2] * exp(-t * x[4]));
    }
    return true;
  }
};

struct BiggsExp6 : Sized<6, 13> {
  static constexpr const char* name = "Biggs EXP6";
  static constexpr Start start{1, 2, 1, 1, 1, 1};
  static constexpr double minimum = 0, local_minimum = 5.65565e-3;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 1; i <= residuals; ++i) {
      const double t = 0.1 * i, y = std::exp(-t) - 5 * std::exp(-10 * t) + 3 * std::exp(-4 * t);
      r[i - 1] = x[2] * exp(-t * x[0]) - x[3] * exp(-t * x[1]) + x[5] * exp(-t * x[4]) - y;
    }
    return true;
  }
};

struct OsborneTwo : Sized<11, 65> {
  static constexpr const char* name = "Osborne 2";
  static constexpr Start start{1.3, .65, .65, .7, .6, 3, 5, 7, 2, 4.5, 5.5};
  static constexpr double minimum = 4.01377e-2;
  static constexpr double y[] = {1.366, 1.191, 1.112, 1.013, .991, .885, .831, .847, .786, .725, .746,
                                 .679,  .608,  .655,  .616,  .606, .602, .626, .651, .724, .649, .649,
                                 .694,  .644,  .624,  .661,  .612, .558, .533, .495, .500, .423, .395,
                                 .375,  .372,  .391,  .396,  .405, .428, .429, .523, .562, .607, .653,
                                 .672,  .708,  .633,  .668,  .645, .632, .591, .559, .597, .625, .739,
                                 .710,  .729,  .720,  .636,  .581, .428, .292, .162, .098, .054};
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    for (int i = 0; i < residuals; ++i) {
      const double t = i / 10.0;
      const T a = t - x[8], b = t - x[9], c = t - x[10];
      r[i] = y[i] - (x[0] * exp(-t * x[4]) + x[1] * exp(-a * a * x[5]) + x[2] * exp(-b * b * x[6]) +
                     x[3] * exp(-c * c * x[7]));
    }
    return true;
  }
};

// Calls use(functor) for each, in order.
template <class Use>
void for_each(Use use) {
  use(Rosenbrock{});
  use(FreudensteinRoth{});
  use(PowellBadlyScaled{});
  use(BrownBadlyScaled{});
  use(Beale{});
  use(JennrichSampson{});
  use(HelicalValley{});
  use(Bard{});
  use(Gaussian{});
  use(Meyer{});
  use(Gulf{});
  use(Box{});
  use(PowellSingular{});
  use(Wood{});
  use(KowalikOsborne{});
  use(BrownDennis{});
  use(OsborneOne{});
  use(BiggsExp6{});
  use(OsborneTwo{});
}

inline constexpr double kScales[] = {1, 10, 100};  // multiples of the start

// D. M. Gay, A trust-region approach to linearly constrained optimization, in Numerical Analysis, Lecture
// Notes in Mathematics 1066, 1984, added bounds to some of them. The minima are those of Neumaier's
// collection (Global Optimization test problems).
template <class F>
struct Bounded {
  F functor;
  typename F::Start lower, upper;
  double minimum;
};

// Calls use(bounded problem) for each. The minimum of Gulf is not in the literature, because its formula is
// the corrected one. With the first two parameters at the bound 10, a search along the third (SciPy's
// minimize_scalar) gives 5.290862426 at 0.61450846.
template <class Use>
void for_each_bounded(Use use) {
  use(Bounded<PowellBadlyScaled>{{}, {0, 1}, {1, 9}, 1.5125900e-10});
  use(Bounded<BrownBadlyScaled>{{}, {0, 3e-5}, {1e6, 100}, 784});
  use(Bounded<Beale>{{}, {0.6, 0.5}, {10, 100}, 0});
  use(Bounded<HelicalValley>{{}, {-100, -1, -1}, {0.8, 1, 1}, 0.99042212});
  use(Bounded<Gaussian>{{}, {0.398, 1, -0.5}, {4.2, 2, 0.1}, 1.12793e-8});
  use(Bounded<BoxOf<3>>{{}, {0, 5, 0}, {2, 9.5, 20}, 3.0998153e-6});
  use(Bounded<Wood>{{}, {-100, -100, -100, -100}, {0, 10, 100, 100}, 1.5567008});
  use(Bounded<BrownDennis>{{}, {-10, 0, -100, -20}, {100, 15, 0, 0.2}, 88860.479});
  use(Bounded<BiggsExp6>{{}, {0, 0, 0, 1, 0, 0}, {2, 8, 1, 7, 5, 5}, 5.3209865e-4});
  use(Bounded<Gulf>{{}, {1e-16, 0, 0}, {10, 10, 10}, 5.2908624});
}

// A problem in the form of least_squares: r(p), a vector.
template <class F>
inline constexpr auto vector_function = [](const auto& p) {
  using T = std::decay_t<decltype(p[0])>;
  std::vector<T> x, r(F::residuals);
  for (int j = 0; j < F::parameters; ++j) x.push_back(p[static_cast<std::size_t>(j)]);
  F{}(x.data(), r.data());
  return r;
};

// Returns true if ‖r‖² = `found` is the minimum to the printed digits. If the minimum is zero, `found` must
// be at most 1e-10 of the value at the start.
inline bool reached(double minimum, double found, double at_start) {
  if (minimum == 0) return found <= 1e-10 * std::fmax(1.0, at_start);
  return std::fabs(found - minimum) <= 1e-4 * minimum;
}

// This is the criterion of Ceres's example of these problems: four digits, or four decimals if the minimum is
// zero. No other minimum counts.
inline bool reached_for_ceres(double minimum, double found) {
  return std::fabs(found - minimum) <= 1e-4 * (minimum > 0 ? minimum : 1);
}

}  // namespace problems::mgh
