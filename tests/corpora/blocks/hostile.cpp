// Defines block problems whose functions have wrong derivatives, only have finite differences, or branch on
// their parameters.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

#include <atomic>
#include <memory>

namespace blocks {

namespace {

// The curve consists of two straight lines that meet at the third parameter.
struct Broken {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    if (p[2] > t) r[0] = p[0] * (t - p[2]) - y;
    else r[0] = p[1] * (t - p[2]) - y;
    return true;
  }
};
struct Absolute {
  double t, y;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::abs;
    r[0] = a[0] * abs(t - b[0]) - y;
    return true;
  }
};
// Uses another formula of the same function for small arguments, as sinc is usually written.
struct Sinc {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::sin;
    const T x = p[1] * t;
    if (x * x < 1e-6) r[0] = p[0] * (1.0 - x * x / 6.0) - y;
    else r[0] = p[0] * sin(x) / x - y;
    return true;
  }
};
// Sums the series of an exponential in a loop whose length depends on the parameters.
struct Counted {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    T term(1.0), sum(1.0);
    const T x = p[1] * t;
    for (int k = 1; k < 200 && (term > 1e-18 || term < -1e-18); ++k) term = term * x / double(k), sum += term;
    r[0] = p[0] * sum - y;
    return true;
  }
};

// Says how the values of a functor depend on its count of calls, which goes on through all copies and solves.
enum class Habit { noisy, drifts, refuses };

// Row<Exponential> plus a term that depends on the number of earlier calls.
struct Unsteady {
  Row<Exponential> row;
  Habit habit;
  double size;
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  bool call(const double* p, double* r) const {
    const int count = (*calls)++;
    row(p, r);
    switch (habit) {
      case Habit::noisy: r[0] += size * std::sin(12.9898 * count); break;
      case Habit::drifts: r[0] += size * 1e-3 * count; break;
      case Habit::refuses: return count % static_cast<int>(size) != static_cast<int>(size) - 1;
    }
    return true;
  }
};
struct UnsteadyByDifferences : Unsteady {
  bool operator()(const double* p, double* r) const { return call(p, r); }
};
// This one is generic, so it is recorded, or evaluated by dual numbers.
struct UnsteadyGeneric : Unsteady {
  bool operator()(const double* p, double* r) const { return call(p, r); }
  template <class T>
  bool operator()(const T* p, T* r) const {
    return row(p, r);
  }
};

template <class Shown>
Scene unsteady(Habit habit, double size) {
  Noise noise(27);
  Scene scene;
  const int p = scene.block({2, 0.1});
  const Sampled data = sample<Exponential>({1, 0.5}, 25, 0, 4, 0.1, noise);
  for (std::size_t i = 0; i < data.t.size(); ++i) {
    const Row<Exponential> row{data.t[i], data.y[i]};
    scene.add_masked<1, 2>(Shown{{row, habit, size}}, row, {p});
  }
  return scene;
}

template <class F, class Truth>
Scene rows_of(const std::vector<double>& start, Truth truth, double sigma) {
  Noise noise(21);
  Scene scene;
  const int p = scene.block(start);
  for (int i = 0; i < 25; ++i) {
    const double t = 0.25 * i;
    scene.add<1, 2>(F{t, truth(t) + sigma * noise.normal()}, {p});
  }
  return scene;
}

}  // namespace

void add_hostile(std::vector<Case>& cases) {
  for (const double factor : {-1.0, 0.0, 0.5, 0.9, 1.1, 2.0, 1e6, 1 + 1e-3, 1 + 1e-6}) {
    for (const int number : {0, 1}) {
      for (const double sigma : {0.1, 0.0}) {
        cases.push_back(
            {"lying derivatives", fmt::format("of number {} times {:g} sigma {:g}", number, factor, sigma),
             [=] {
               Noise noise(22);
               Scene scene;
               const int p = scene.block({2, 0.1});
               const Sampled data = sample<Exponential>({1, 0.5}, 25, 0, 4, sigma, noise);
               for (std::size_t i = 0; i < data.t.size(); ++i) {
                 scene.add_by_hand<1, 2>(Row<Exponential>{data.t[i], data.y[i]}, Lie{number, factor}, {p});
               }
               return scene;
             },
             Kind::hostile});
      }
    }
  }
  struct Way {
    const char* name;
    Habit habit;
    std::vector<double> sizes;
  };
  for (const Way& way : {Way{"noisy", Habit::noisy, {1, 1e-2, 1e-6}},
                         {"drifts", Habit::drifts, {1, 1e-3}},
                         {"refuses", Habit::refuses, {3, 50}}}) {
    for (const double size : way.sizes) {
      cases.push_back({"changing functors", fmt::format("{} {:g} by differences", way.name, size),
                       [=] { return unsteady<UnsteadyByDifferences>(way.habit, size); }, Kind::changing});
      cases.push_back({"changing functors", fmt::format("{} {:g} recorded", way.name, size),
                       [=] { return unsteady<UnsteadyGeneric>(way.habit, size); }, Kind::changing});
    }
  }
  // One of many residual blocks has wrong derivatives.
  for (const double factor : {-1.0, 0.0, 3.0}) {
    cases.push_back({"lying derivatives", fmt::format("of one block times {:g}", factor),
                     [=] {
                       Noise noise(23);
                       Scene scene;
                       const int p = scene.block({2, 0.1});
                       const Sampled data = sample<Exponential>({1, 0.5}, 25, 0, 4, 0.1, noise);
                       for (std::size_t i = 0; i < data.t.size(); ++i) {
                         scene.add_by_hand<1, 2>(Row<Exponential>{data.t[i], data.y[i]},
                                                 i == 20 ? Lie{1, factor} : Lie{}, {p});
                       }
                       return scene;
                     },
                     Kind::hostile});
  }
  for (const std::vector<double>& start : {std::vector<double>{2, 0.1}, {1, 2}, {1, 5}, {100, -1}}) {
    for (const bool differences : {true, false}) {
      for (const double sigma : {0.1, 0.0}) {
        cases.push_back({"own derivatives",
                         fmt::format("{} from ({:g}, {:g}) sigma {:g}",
                                     differences ? "differences" : "by hand", start[0], start[1], sigma),
                         [=] {
                           Noise noise(24);
                           Scene scene;
                           const int p = scene.block(start);
                           const Sampled data = sample<Exponential>({1, 0.5}, 25, 0, 6, sigma, noise);
                           for (std::size_t i = 0; i < data.t.size(); ++i) {
                             const Row<Exponential> f{data.t[i], data.y[i]};
                             if (differences) scene.add_differences<1, 2>(f, {p});
                             else scene.add_by_hand<1, 2>(f, {}, {p});
                           }
                           return scene;
                         }});
      }
    }
  }
  for (const double sigma : {0.1, 0.0}) {
    for (const std::vector<double>& start : {std::vector<double>{1, 1, 1}, {-1, 4, 5}, {0, 0, 3}}) {
      cases.push_back(
          {"branches",
           fmt::format("broken line from ({:g}, {:g}, {:g}) sigma {:g}", start[0], start[1], start[2], sigma),
           [=] {
             Noise noise(25);
             Scene scene;
             const int p = scene.block(start);
             for (int i = 0; i < 30; ++i) {
               const double t = 0.2 * i, y = (t < 2.71 ? 0.5 : 2) * (t - 2.71) + sigma * noise.normal();
               scene.add<1, 3>(Broken{t, y}, {p});
             }
             return scene;
           }});
    }
    for (const double from : {0.3, 2.0, 5.9}) {
      cases.push_back(
          {"branches", fmt::format("absolute from {:g} sigma {:g}", from, sigma), [=] {
             Noise noise(26);
             Scene scene;
             const int a = scene.block({0.5}), b = scene.block({from});
             for (int i = 0; i < 30; ++i) {
               const double t = 0.2 * i;
               scene.add<1, 1, 1>(Absolute{t, 2 * std::fabs(t - 2.71) + sigma * noise.normal()}, {a, b});
             }
             return scene;
           }});
    }
    for (const double from : {1e-6, 0.8, 2.0}) {
      cases.push_back(
          {"branches", fmt::format("sinc from {:g} sigma {:g}", from, sigma), [=] {
             return rows_of<Sinc>(
                 {1, from}, [](double t) { return t == 0 ? 2.0 : 2 * std::sin(1.1 * t) / (1.1 * t); }, sigma);
           }});
      cases.push_back({"branches", fmt::format("series from {:g} sigma {:g}", from, sigma), [=] {
                         return rows_of<Counted>(
                             {1, from}, [](double t) { return 0.5 * std::exp(0.4 * t); }, sigma);
                       }});
    }
  }
}

}  // namespace blocks
