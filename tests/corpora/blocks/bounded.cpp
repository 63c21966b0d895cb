// Defines block problems with bounds that are active at the minimum, reached on the way, on subset manifolds,
// narrow, or active at the start.
#include "corpus.hpp"
#include "functors.hpp"
#include "mgh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace blocks {

namespace {

namespace mgh = problems::mgh;

// The curve is a exp(b t) + c. Its three parameters are one block.
struct Shifted {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * exp(p[1] * t) + p[2] - y;
    return true;
  }
};

struct Interval {
  double lower, upper;
};

Scene shifted(const std::vector<double>& start, const std::vector<Interval>& bounds,
              const std::vector<int>& held, double unit, LossSpec loss) {
  Noise noise(6);
  Scene scene;
  scene.scale = unit;
  const double truth[] = {2 * unit, -0.6, 1 * unit};
  std::vector<double> from = start;
  from[0] *= unit, from[2] *= unit;
  const int p = scene.block(from);
  if (!held.empty()) scene.hold_numbers(p, held);
  for (int j = 0; j < 3; ++j) {
    const double u = j == 1 ? 1 : unit;
    const Interval& b = bounds[static_cast<std::size_t>(j)];
    scene.bound(p, j, b.lower * u, b.upper * u);
  }
  for (int i = 0; i < 25; ++i) {
    const double t = 0.3 * i, y = truth[0] * std::exp(truth[1] * t) + truth[2] + 0.05 * unit * noise.normal();
    scene.add<1, 3>(Shifted{t, y}, {p}, loss);
  }
  return scene;
}

template <class F>
void add_published_bounded(std::vector<Case>& cases, const mgh::Bounded<F>& problem) {
  for (const double scale : {1.0, 10.0}) {
    cases.push_back({"bounded published", fmt::format("{} x{:g}", F::name, scale), [=] {
                       Scene scene;
                       std::vector<double> start(F::start.begin(), F::start.end());
                       for (std::size_t j = 0; j < start.size(); ++j)
                         start[j] = std::clamp(scale * start[j], problem.lower[j], problem.upper[j]);
                       const int x = scene.block(start);
                       for (int j = 0; j < F::parameters; ++j) {
                         scene.bound(x, j, problem.lower[static_cast<std::size_t>(j)],
                                     problem.upper[static_cast<std::size_t>(j)]);
                       }
                       scene.add<F::residuals, F::parameters>(F{}, {x});
                       return scene;
                     }});
  }
}

// Near gives a block of n numbers measured values. Tied couples a block of three numbers with one of two.
template <int n>
struct Near {
  std::array<double, n> at;
  template <class T>
  bool operator()(const T* p, T* r) const {
    for (std::size_t i = 0; i < n; ++i) r[i] = p[i] - at[i];
    return true;
  }
};
struct Tied {
  double offset;
  template <class T>
  bool operator()(const T* p, const T* q, T* r) const {
    r[0] = (p[0] - offset) * q[0] - 2.0;
    r[1] = p[1] + q[1] * q[1] - 3.0;
    return true;
  }
};

Scene coupled(double offset, double box, bool held) {
  Noise noise(8);
  Scene scene;
  const int p = scene.block({offset + 0.5, 0.5, 7}), q = scene.block({0.3, 0.2});
  if (held) scene.hold_numbers(p, {2});
  for (int i = 0; i < 8; ++i) {
    scene.add<3, 3>(
        Near<3>{{offset + 1 + 0.1 * noise.normal(), 2 + 0.1 * noise.normal(), 7 + 0.1 * noise.normal()}},
        {p});
    scene.add<2, 2>(Near<2>{{1.5 + 0.1 * noise.normal(), 1 + 0.1 * noise.normal()}}, {q});
  }
  scene.add<2, 3, 2>(Tied{offset}, {p, q});
  scene.bound(p, 0, offset, offset + box);
  scene.bound(p, 1, -kNone, box);
  scene.bound(q, 0, 0.1, kNone);
  return scene;
}

}  // namespace

void add_bounded(std::vector<Case>& cases) {
  mgh::for_each_bounded(
      [&cases]<class F>(const mgh::Bounded<F>& problem) { add_published_bounded(cases, problem); });
  constexpr double inf = kNone;
  struct Named {
    const char* name;
    std::vector<Interval> bounds;
    std::vector<double> start;
  };
  const std::vector<Named> ways{
      {"inactive", {{0, 10}, {-5, 0}, {0, 10}}, {1, -1, 0.5}},
      {"one active", {{0, 10}, {-5, 0}, {0, 0.8}}, {1, -1, 0.5}},
      {"two active", {{2.5, 10}, {-5, 0}, {0, 0.8}}, {3, -1, 0.5}},
      {"all active", {{2.5, 10}, {-0.4, 0}, {0, 0.8}}, {3, -0.2, 0.5}},
      {"start on the bounds", {{0, 10}, {-5, 0}, {0, 10}}, {0, 0, 0}},
      {"start on the wrong bound", {{-inf, 5}, {-2, inf}, {-inf, 4}}, {5, -2, 4}},
      {"start outside", {{0, 10}, {-5, 0}, {0, 0.8}}, {20, 3, 4}},
      {"narrow", {{2, 2 + 1e-9}, {-5, 0}, {0, 10}}, {2, -1, 0.5}},
      {"far", {{-inf, inf}, {-5, 5}, {-inf, inf}}, {1, 4.9, 0}},
  };
  for (const Named& way : ways) {
    for (const double unit : {1.0, 1e8, 1e-8}) {
      cases.push_back({"bounded", fmt::format("{} unit {:g}", way.name, unit),
                       [=] { return shifted(way.start, way.bounds, {}, unit, {}); }});
    }
    cases.push_back({"bounded", fmt::format("{} huber", way.name), [=] {
                       return shifted(way.start, way.bounds, {}, 1, {LossSpec::Kind::huber, 0.05});
                     }});
  }
  for (const int held : {0, 1, 2}) {
    for (const std::size_t which : {0u, 1u, 5u, 8u}) {
      const Named way = ways[which];
      cases.push_back({"bounded subset", fmt::format("{} held {}", way.name, held), [=] {
                         std::vector<double> start = way.start;
                         if (which == 8) start[1] = 1.5;
                         return shifted(start, way.bounds, {held}, 1, {});
                       }});
    }
  }
  for (const double offset : {0.0, 1e6, 1e9}) {
    for (const double box : {0.8, 1.2, 5.0}) {
      for (const bool held : {false, true}) {
        cases.push_back({"bounded subset",
                         fmt::format("coupled offset {:g} box {:g}{}", offset, box, held ? " held" : ""),
                         [=] { return coupled(offset, box, held); }});
      }
    }
  }
}

}  // namespace blocks
