// Defines curves as block problems, with one residual block for each row: far starts, scales, offsets.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

namespace blocks {

namespace {

struct Saturation {
  static constexpr int n = 2;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp;
    return p[0] * (1.0 - exp(-p[1] * t));
  }
};
struct Michaelis {
  static constexpr int n = 2;
  template <class T>
  static T f(const T* p, double t) {
    return p[0] * t / (p[1] + t);
  }
};
struct Logistic {
  static constexpr int n = 3;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp;
    return p[0] / (1.0 + exp((p[1] - t) / p[2]));
  }
};
struct Peak {
  static constexpr int n = 3;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp;
    const T z = (t - p[1]) / p[2];
    return p[0] * exp(-0.5 * z * z);
  }
};
struct DampedSine {
  static constexpr int n = 4;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp, std::sin;
    return p[0] * exp(-p[1] * t) * sin(p[2] * t + p[3]);
  }
};
struct TwoExponentials {
  static constexpr int n = 4;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp;
    return p[0] * exp(-p[1] * t) + p[2] * exp(-p[3] * t);
  }
};

template <class Model>
Scene two_parameters(const std::vector<double>& truth, const std::vector<double>& start, int rows, double t0,
                     double t1, double sigma, bool split, std::uint64_t seed) {
  Noise noise(seed);
  const Sampled data = sample<Model>(truth, rows, t0, t1, sigma, noise);
  Scene scene;
  if (!split) {
    add_rows<Model>(scene, data, scene.block(start));
    return scene;
  }
  const int a = scene.block({start[0]}), b = scene.block({start[1]});
  for (std::size_t i = 0; i < data.t.size(); ++i)
    scene.add<1, 1, 1>(Row2<Model>{data.t[i], data.y[i]}, {a, b});
  return scene;
}

template <class Model>
void add_far_starts(std::vector<Case>& cases, const char* family, std::vector<double> truth, double t0,
                    double t1, double sigma, const std::vector<std::vector<double>>& starts) {
  for (const auto& start : starts) {
    for (const bool split : {false, true}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        cases.push_back(
            {family,
             fmt::format("from ({:g}, {:g}){} seed {}", start[0], start[1], split ? " split" : "", seed),
             [=] { return two_parameters<Model>(truth, start, 30, t0, t1, sigma, split, seed); }});
      }
    }
  }
}

// Says how a parameter scales with the units of t and y: y^of_y t^of_t.
struct Units {
  double of_y, of_t;
};

template <class Model>
void add_scaled(std::vector<Case>& cases, const char* model, std::vector<double> truth,
                std::vector<double> near, std::vector<double> far, std::vector<Units> units, double t0,
                double t1) {
  struct Scales {
    double y, t;
  };
  for (const Scales s : {Scales{1, 1}, {1, 1e8}, {1, 1e-8}, {1e8, 1}, {1e-8, 1}, {1e8, 1e-8}}) {
    for (const bool from_far : {false, true}) {
      cases.push_back({"scaled curves",
                       fmt::format("{} y {:g} t {:g} {}", model, s.y, s.t, from_far ? "far" : "near"), [=] {
                         std::vector<double> p = truth, start = from_far ? far : near;
                         for (std::size_t j = 0; j < p.size(); ++j) {
                           const double unit = std::pow(s.y, units[j].of_y) * std::pow(s.t, units[j].of_t);
                           p[j] *= unit, start[j] *= unit;
                         }
                         Noise noise(11);
                         Scene scene;
                         scene.scale = s.y;
                         add_rows<Model>(scene, sample<Model>(p, 40, t0 * s.t, t1 * s.t, 0.01 * s.y, noise),
                                         scene.block(start));
                         return scene;
                       }});
    }
  }
}

template <class Model>
void add_offset(std::vector<Case>& cases, const char* model, double width) {
  for (const double offset : {1e6, 1e9, 1.7e9}) {
    for (const double away : {0.5, 3.0}) {
      for (const double sigma : {0.01, 0.0}) {
        cases.push_back({"offset curves",
                         fmt::format("{} at {:g} from {:g} sigma {:g}", model, offset, away, sigma), [=] {
                           Noise noise(5);
                           Scene scene;
                           const std::vector<double> truth{2, offset + 5, width};
                           add_rows<Model>(scene, sample<Model>(truth, 40, offset, offset + 10, sigma, noise),
                                           scene.block({1, offset + 5 + away, 1.5 * width}));
                           return scene;
                         }});
      }
    }
  }
}

}  // namespace

void add_curves(std::vector<Case>& cases) {
  add_far_starts<Exponential>(
      cases, "exponential", {1, 0.5}, 0, 8, 0.1,
      {{1, 4.4}, {1, 5}, {1, 8}, {1, -3}, {5, 2}, {1e-3, 3}, {1, 0}, {-1, 4.4}, {1, 1.5}, {100, 5}});
  add_far_starts<Power>(cases, "power", {2, 1.5}, 0.5, 10, 0.1,
                        {{1, 6}, {1, 10}, {1, -4}, {100, 0.1}, {1e-6, 8}, {1, 15}, {1, 4}, {1e3, 5}});
  add_scaled<Saturation>(cases, "saturation", {2, 0.7}, {1, 1}, {10, 20}, {{1, 0}, {0, -1}}, 0, 6);
  add_scaled<Michaelis>(cases, "michaelis", {2, 1.5}, {1, 1}, {100, 80}, {{1, 0}, {0, 1}}, 0.1, 9);
  add_scaled<Logistic>(cases, "logistic", {2, 5, 0.8}, {1, 4, 1}, {10, 1, 3}, {{1, 0}, {0, 1}, {0, 1}}, 0,
                       10);
  add_scaled<Peak>(cases, "peak", {2, 5, 0.8}, {1, 4.5, 1}, {1, 9, 3}, {{1, 0}, {0, 1}, {0, 1}}, 0, 10);
  add_scaled<DampedSine>(cases, "damped sine", {2, 0.3, 2, 0.5}, {1.5, 0.2, 2.1, 0.4}, {1, 0.1, 2.6, 0},
                         {{1, 0}, {0, -1}, {0, -1}, {0, 0}}, 0, 8);
  add_scaled<TwoExponentials>(cases, "two exponentials", {2, 0.3, 1, 2}, {1.5, 0.2, 1.5, 3}, {1, 1, 1, 1.1},
                              {{1, 0}, {0, -1}, {1, 0}, {0, -1}}, 0, 8);
  add_offset<Peak>(cases, "peak", 0.8);
  add_offset<Logistic>(cases, "logistic", 0.8);
}

}  // namespace blocks
