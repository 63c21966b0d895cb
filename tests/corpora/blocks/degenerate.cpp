// Defines block problems whose data determine some directions hardly or not at all, with exact data, with
// cancellation, and with points where residuals do not exist.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blocks {

namespace {

// (a + b) + c t: only the sum of a and b is determined.
struct SumOfTwo {
  double t, y;
  template <class T>
  bool operator()(const T* a, const T* b, const T* c, T* r) const {
    r[0] = a[0] + b[0] + c[0] * t - y;
    return true;
  }
};
// The curve is a b exp(-c t), so only the product of a and b is determined.
struct Product {
  double t, y;
  template <class T>
  bool operator()(const T* p, const T* c, T* r) const {
    using std::exp;
    r[0] = p[0] * p[1] * exp(-c[0] * t) - y;
    return true;
  }
};
// The third parameter is unused.
struct Unused {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] * (1.0 + 0.3 * t) + p[1] * t * t + 0.0 * p[2] - y;
    return true;
  }
};
// The model has two columns that differ only by `e`.
struct Twins {
  double t, y, e;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = a[0] * t + b[0] * (t + e * t * t) - y;
    return true;
  }
};
template <int n>
struct Polynomial {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    T sum(0.0);
    for (int i = n; i-- > 0;) sum = sum * t + p[i];
    r[0] = sum - y;
    return true;
  }
};
// Subtracts two terms that cancel in all but their last digits.
struct Cancelling {
  double t, y, large;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::exp;
    r[0] = (large + a[0] * exp(-b[0] * t)) - (large + y);
    return true;
  }
};
struct Lanczos {
  static constexpr int n = 6;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp;
    return p[0] * exp(-p[1] * t) + p[2] * exp(-p[3] * t) + p[4] * exp(-p[5] * t);
  }
};
// a ln(b + t): for b <= -t the result is NaN, or the functor returns `false`.
template <bool kTold>
struct Logarithm {
  double t, y;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::log;
    const T at = b[0] + t;
    if constexpr (kTold) {
      if (at <= 0.0) return false;
    }
    r[0] = a[0] * log(at) - y;
    return true;
  }
};
struct Root {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::sqrt;
    r[0] = sqrt(p[0] - p[1] * t) - y;
    return true;
  }
};
struct Pole {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] / (t - p[1]) - y;
    return true;
  }
};
struct Raised {  // t^b of a shifted t; NaN for negative bases
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::pow;
    r[0] = p[0] * pow(t - p[1], p[2]) - y;
    return true;
  }
};

template <class F, class Truth>
void for_rows(int rows, double step, double sigma, std::uint64_t seed, Truth truth, F add) {
  Noise noise(seed);
  for (int i = 0; i < rows; ++i) add(step * i, truth(step * i) + sigma * noise.normal());
}

void add_undetermined(std::vector<Case>& cases) {
  for (const double sigma : {0.1, 0.0}) {
    for (const double offset : {0.0, 1e6}) {
      const auto title = [=](const char* what) {
        return fmt::format("{} sigma {:g} offset {:g}", what, sigma, offset);
      };
      cases.push_back({"undetermined", title("sum"),
                       [=] {
                         Scene scene;
                         const int a = scene.block({offset + 3}), b = scene.block({-2}), c = scene.block({0});
                         for_rows(
                             20, 0.5, sigma, 1, [=](double t) { return offset + 1 + 0.5 * t; },
                             [&](double t, double y) {
                               scene.add<1, 1, 1, 1>(SumOfTwo{t, y}, {a, b, c});
                             });
                         return scene;
                       },
                       Kind::deficient});
      cases.push_back({"undetermined", title("product"),
                       [=] {
                         Scene scene;
                         const int p = scene.block({1, 3}), c = scene.block({0.2});
                         for_rows(
                             20, 0.3, sigma, 2, [=](double t) { return (2 + offset) * std::exp(-0.6 * t); },
                             [&](double t, double y) {
                               scene.add<1, 2, 1>(Product{t, y}, {p, c});
                             });
                         return scene;
                       },
                       Kind::deficient});
      cases.push_back({"undetermined", title("unused"),
                       [=] {
                         Scene scene;
                         const int p = scene.block({offset, 0, 5});
                         scene.scale = std::min(offset + 1, 100.0);
                         for_rows(
                             20, 0.5, sigma, 3,
                             [=](double t) { return (offset + 1) * (1 + 0.3 * t) + 0.2 * t * t; },
                             [&](double t, double y) {
                               scene.add<1, 3>(Unused{t, y}, {p});
                             });
                         return scene;
                       },
                       Kind::deficient});
    }
    for (const double e : {0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3}) {
      cases.push_back({"undetermined", fmt::format("twins {:g} sigma {:g}", e, sigma),
                       [=] {
                         Scene scene;
                         const int a = scene.block({1}), b = scene.block({5});
                         for_rows(
                             20, 0.5, sigma, 4, [](double t) { return 3 * t; },
                             [&](double t, double y) {
                               scene.add<1, 1, 1>(Twins{t, y, e}, {a, b});
                             });
                         return scene;
                       },
                       e == 0 ? Kind::deficient : Kind::healthy});
    }
  }
}

template <int n>
Scene polynomial(double centre, double sigma) {
  Scene scene;
  scene.largest_term = 1 + centre + 0.3 * centre * centre;
  const int p = scene.block(std::vector<double>(n, 0.0));
  Noise noise(5);
  for (int i = 0; i < 40; ++i) {
    const double t = centre + 0.1 * i, u = t - centre;
    scene.add<1, n>(Polynomial<n>{t, 1 + u - 0.3 * u * u + sigma * noise.normal()}, {p});
  }
  return scene;
}

void add_cancelling(std::vector<Case>& cases) {
  for (const double sigma : {0.1, 0.0}) {
    for (const double centre : {0.0, 10.0, 100.0, 1000.0}) {
      cases.push_back({"cancelling", fmt::format("parabola at {:g} sigma {:g}", centre, sigma),
                       [=] { return polynomial<3>(centre, sigma); }});
      cases.push_back({"cancelling", fmt::format("quintic at {:g} sigma {:g}", centre, sigma),
                       [=] { return polynomial<6>(centre, sigma); }});
    }
    for (const double large : {1e4, 1e8, 1e12}) {
      cases.push_back({"cancelling", fmt::format("within {:g} sigma {:g}", large, sigma), [=] {
                         Scene scene;
                         const int a = scene.block({1}), b = scene.block({1});
                         for_rows(
                             25, 0.2, sigma, 6, [](double t) { return 2 * std::exp(-0.6 * t); },
                             [&](double t, double y) {
                               scene.add<1, 1, 1>(Cancelling{t, y, large}, {a, b});
                             });
                         return scene;
                       }});
    }
    for (const double digits : {1e-3, 1e-7}) {
      cases.push_back({"cancelling", fmt::format("Lanczos sigma {:g}", sigma * digits), [=] {
                         Noise noise(7);
                         Scene scene;
                         const Sampled data = sample<Lanczos>({0.0951, 1, 0.8607, 3, 1.5576, 5}, 24, 0, 1.15,
                                                              sigma * digits, noise);
                         add_rows<Lanczos>(scene, data, scene.block({1.2, 0.3, 5.6, 5.5, 6.5, 7.6}));
                         return scene;
                       }});
    }
  }
}

void add_partial(std::vector<Case>& cases) {
  for (const double sigma : {0.05, 0.0}) {
    for (const std::vector<double>& start : {std::vector<double>{1, 2}, {5, 0.01}, {-3, 50}, {0.1, 1e4}}) {
      const auto title = [=](const char* what) {
        return fmt::format("{} from ({:g}, {:g}) sigma {:g}", what, start[0], start[1], sigma);
      };
      cases.push_back({"no residuals", title("log, NaN"), [=] {
                         Scene scene;
                         const int a = scene.block({start[0]}), b = scene.block({start[1]});
                         for_rows(
                             20, 0.4, sigma, 8, [](double t) { return 2 * std::log(0.1 + t); },
                             [&](double t, double y) {
                               scene.add<1, 1, 1>(Logarithm<false>{t, y}, {a, b});
                             });
                         return scene;
                       }});
      cases.push_back({"no residuals", title("log, false"), [=] {
                         Scene scene;
                         const int a = scene.block({start[0]}), b = scene.block({start[1]});
                         for_rows(
                             20, 0.4, sigma, 8, [](double t) { return 2 * std::log(0.1 + t); },
                             [&](double t, double y) {
                               scene.add<1, 1, 1>(Logarithm<true>{t, y}, {a, b});
                             });
                         return scene;
                       }});
      cases.push_back({"no residuals", title("root"), [=] {
                         Scene scene;
                         const int p = scene.block({std::fabs(start[0]) + 10, start[1] > 1 ? 0.5 : start[1]});
                         for_rows(
                             20, 0.4, sigma, 9, [](double t) { return std::sqrt(8 - 0.99 * t); },
                             [&](double t, double y) {
                               scene.add<1, 2>(Root{t, y}, {p});
                             });
                         return scene;
                       }});
      cases.push_back({"no residuals", title("pole"), [=] {
                         Scene scene;
                         const int p = scene.block({start[0], -std::fabs(start[1])});
                         for_rows(
                             20, 0.4, sigma, 10, [](double t) { return 3 / (t + 0.2); },
                             [&](double t, double y) {
                               scene.add<1, 2>(Pole{t, y}, {p});
                             });
                         return scene;
                       }});
      cases.push_back({"no residuals", title("power"), [=] {
                         Scene scene;
                         const int p = scene.block({std::fabs(start[0]), -0.5, 0.7});
                         for_rows(
                             20, 0.4, sigma, 11, [](double t) { return 2 * std::pow(t + 0.01, 0.5); },
                             [&](double t, double y) {
                               scene.add<1, 3>(Raised{t, y}, {p});
                             });
                         return scene;
                       }});
    }
  }
}

}  // namespace

void add_degenerate(std::vector<Case>& cases) {
  add_undetermined(cases);
  add_cancelling(cases);
  add_partial(cases);
}

}  // namespace blocks
