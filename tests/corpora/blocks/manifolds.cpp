// Defines block problems on directions and rotations: starts on the far side, rotations of nearly π, and two
// representations of the same rotation.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

namespace blocks {

namespace {

struct Direction {
  double d[3], weight;
  template <class T>
  bool operator()(const T* x, T* r) const {
    for (int i = 0; i < 3; ++i) r[i] = weight * (x[i] - d[i]);
    return true;
  }
};
// Measures the component of a scaled vector along a direction.
struct Projection {
  double d[3], length;
  template <class T>
  bool operator()(const T* x, const T* size, T* r) const {
    r[0] = size[0] * (x[0] * d[0] + x[1] * d[1] + x[2] * d[2]) - length;
    return true;
  }
};
struct TurnedVector {
  double from[3], to[3];
  template <class T>
  bool operator()(const T* q, T* r) const {
    T turned[3];
    rotate_by_quaternion(q, from, turned);
    for (int i = 0; i < 3; ++i) r[i] = 10.0 * (turned[i] - to[i]);
    return true;
  }
};
// TurnedByVector has a rotation vector instead of the quaternion. Registered has a quaternion x, y, z, w and
// a shift.
struct TurnedByVector {
  double from[3], to[3];
  template <class T>
  bool operator()(const T* w, T* r) const {
    T turned[3];
    rotate(w, from, turned);
    for (int i = 0; i < 3; ++i) r[i] = 10.0 * (turned[i] - to[i]);
    return true;
  }
};
struct Registered {
  double from[3], to[3];
  template <class T>
  bool operator()(const T* q, const T* shift, T* r) const {
    const T real_first[4] = {q[3], q[0], q[1], q[2]};
    T turned[3];
    rotate_by_quaternion(real_first, from, turned);
    for (int i = 0; i < 3; ++i) r[i] = 10.0 * (turned[i] + shift[i] - to[i]);
    return true;
  }
};
// Applies two unknown rotations, with a known one between them, as in hand-eye calibration.
struct TwoTurns {
  double from[3], to[3], between[4];
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    T once[3], twice[3], last[3];
    const T middle[4] = {T(between[0]), T(between[1]), T(between[2]), T(between[3])};
    rotate_by_quaternion(a, from, once);
    rotate_by_quaternion(middle, once, twice);
    rotate_by_quaternion(b, twice, last);
    for (int i = 0; i < 3; ++i) r[i] = 10.0 * (last[i] - to[i]);
    return true;
  }
};

std::array<double, 3> random_vector(Noise& noise) { return {noise.normal(), noise.normal(), noise.normal()}; }

template <class F>
F pair_of(const std::vector<double>& q, const std::array<double, 3>& shift, double sigma, double offset,
          Noise& noise) {
  F f{};
  const auto v = random_vector(noise);
  rotate_by_quaternion(q.data(), v.data(), f.to);
  for (std::size_t i = 0; i < 3; ++i) {
    f.from[i] = v[i];
    f.to[i] += shift[i] + offset + sigma * noise.normal();
  }
  return f;
}

Scene wahba(double turn, double start_turn, double sigma, bool by_vector) {
  Noise noise(12);
  Scene scene;
  const std::vector<double> truth = quaternion_of({0.6 * turn, 0.64 * turn, 0.48 * turn});
  const std::vector<double> w{-0.6 * start_turn, 0.48 * start_turn, 0.64 * start_turn};
  const int q = by_vector ? scene.block(w) : scene.block(quaternion_of(w), Shape::quaternion);
  for (int i = 0; i < 8; ++i) {
    if (by_vector) scene.add<3, 3>(pair_of<TurnedByVector>(truth, {}, sigma, 0, noise), {q});
    else scene.add<3, 4>(pair_of<TurnedVector>(truth, {}, sigma, 0, noise), {q});
  }
  return scene;
}

}  // namespace

void add_manifolds(std::vector<Case>& cases) {
  for (const double away : {0.1, 2.0, 3.1, 3.14159}) {
    for (const double sigma : {0.1, 0.0}) {
      cases.push_back({"directions", fmt::format("mean, away {:g} sigma {:g}", away, sigma), [=] {
                         Noise noise(13);
                         Scene scene;
                         const int x = scene.block({std::cos(away), std::sin(away), 0}, Shape::sphere);
                         for (int i = 0; i < 10; ++i) {
                           scene.add<3, 3>(Direction{{1 + sigma * noise.normal(), sigma * noise.normal(),
                                                      sigma * noise.normal()},
                                                     10},
                                           {x});
                         }
                         return scene;
                       }});
      cases.push_back({"directions", fmt::format("projections, away {:g} sigma {:g}", away, sigma), [=] {
                         Noise noise(14);
                         Scene scene;
                         const int x = scene.block({2 * std::cos(away), 2 * std::sin(away), 0},
                                                   Shape::sphere),
                                   size = scene.block({1});
                         for (int i = 0; i < 12; ++i) {
                           const auto d = random_vector(noise);
                           scene.add<1, 3, 1>(
                               Projection{{d[0], d[1], d[2]}, 3 * d[0] + sigma * noise.normal()}, {x, size});
                         }
                         return scene;
                       }});
    }
  }
  for (const double turn : {0.5, std::numbers::pi - 1e-6, std::numbers::pi, 5.0}) {
    for (const double start : {0.0, 2.0, std::numbers::pi - 1e-9}) {
      for (const double sigma : {0.05, 0.0}) {
        for (const bool vector : {false, true}) {
          cases.push_back({"rotations",
                           fmt::format("{} turn {:g} from {:g} sigma {:g}", vector ? "vector" : "quaternion",
                                       turn, start, sigma),
                           [=] { return wahba(turn, start, sigma, vector); }});
        }
      }
    }
  }
  for (const double offset : {0.0, 1e6, 1e9}) {
    for (const double away : {0.5, 3.0}) {
      cases.push_back(
          {"registration", fmt::format("offset {:g} away {:g}", offset, away), [=] {
             Noise noise(15);
             Scene scene;
             const std::vector<double> truth = quaternion_of({0.3, -1.2, 2.5}),
                                       start = quaternion_of({0.3 + away, -1.2, 2.5 - away});
             const int q = scene.block({start[1], start[2], start[3], start[0]}, Shape::eigen_quaternion);
             const int shift = scene.block({offset + away, offset - away, offset});
             for (int i = 0; i < 9; ++i)
               scene.add<3, 4, 3>(pair_of<Registered>(truth, {1, 2, 3}, 0.05, offset, noise), {q, shift});
             return scene;
           }});
    }
  }
  for (const double away : {0.3, 1.5, 3.0}) {
    cases.push_back({"rotations", fmt::format("two turns away {:g}", away), [=] {
                       Noise noise(16);
                       Scene scene;
                       const std::vector<double> first = quaternion_of({0.4, 1.0, -0.3}),
                                                 second = quaternion_of({-2.0, 0.1, 1.9});
                       const int a = scene.block(quaternion_of({0.4 + away, 1.0, -0.3}), Shape::quaternion);
                       const int b = scene.block(quaternion_of({-2.0, 0.1 + away, 1.9}), Shape::quaternion);
                       for (int i = 0; i < 12; ++i) {
                         const auto v = random_vector(noise), w = random_vector(noise);
                         const std::vector<double> between = quaternion_of({w[0], w[1], w[2]});
                         double once[3], twice[3], last[3];
                         rotate_by_quaternion(first.data(), v.data(), once);
                         rotate_by_quaternion(between.data(), once, twice);
                         rotate_by_quaternion(second.data(), twice, last);
                         for (double& l : last) l += 0.05 * noise.normal();
                         scene.add<3, 4, 4>(TwoTurns{{v[0], v[1], v[2]},
                                                     {last[0], last[1], last[2]},
                                                     {between[0], between[1], between[2], between[3]}},
                                            {a, b});
                       }
                       return scene;
                     }});
  }
}

}  // namespace blocks
