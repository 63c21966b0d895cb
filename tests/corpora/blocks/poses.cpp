// Defines pose graphs in the plane and in space: map offsets, gauge freedom, far starts, wrong loop closures,
// rotations near π.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

namespace blocks {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Measures the pose of b in the frame of a. A pose is x, y, angle.
struct Planar {
  double dx, dy, turn;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::cos, std::floor, std::sin;
    const T c = cos(a[2]), s = sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    r[0] = 10.0 * (c * x + s * y - dx);
    r[1] = 10.0 * (c * y - s * x - dy);
    const T angle = b[2] - a[2] - turn;
    r[2] = 20.0 * (angle - kTurn * floor((angle + 0.5 * kTurn) / kTurn));
    return true;
  }
};

struct Setup {
  double offset = 0, away = 0.1, sigma = 0.05;
  bool gauge_free = false;
  LossSpec loss = {};
  double wrong = 0;  // error of two of the loop closures
  std::uint64_t seed = 1;
};

Scene planar(const Setup& s) {
  constexpr int kPoses = 12;
  Noise noise(s.seed);
  Scene scene;
  std::vector<std::array<double, 3>> truth;
  std::vector<int> ids;
  for (int i = 0; i < kPoses; ++i) {
    const double angle = kTurn * i / 8;
    truth.push_back({s.offset + 5 * std::cos(angle), s.offset + 5 * std::sin(angle),
                     std::remainder(angle + 0.25 * kTurn, kTurn)});
    std::vector<double> start(truth.back().begin(), truth.back().end());
    if (i > 0 || s.gauge_free)
      start[0] += s.away * noise.normal(), start[1] += s.away * noise.normal(),
          start[2] += 0.3 * s.away * noise.normal();
    ids.push_back(scene.block(start));
  }
  if (!s.gauge_free) scene.hold(ids[0]);
  const auto edge = [&](int i, int j, double wrong) {
    const auto &a = truth[static_cast<std::size_t>(i)], &b = truth[static_cast<std::size_t>(j)];
    const double c = std::cos(a[2]), si = std::sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    const Planar f{c * x + si * y + s.sigma * noise.normal() + wrong,
                   c * y - si * x + s.sigma * noise.normal(),
                   std::remainder(b[2] - a[2], kTurn) + 0.3 * s.sigma * noise.normal()};
    scene.add<3, 3, 3>(f, {ids[static_cast<std::size_t>(i)], ids[static_cast<std::size_t>(j)]}, s.loss);
  };
  for (int i = 0; i + 1 < kPoses; ++i) edge(i, i + 1, 0);
  for (int i = 0; i + 8 < kPoses; ++i) edge(i, i + 8, i < 2 ? s.wrong : 0);
  edge(2, 7, 0), edge(1, 6, 0);
  return scene;
}

// Measures the same in space. A pose is a position and a quaternion w, x, y, z.
struct Spatial {
  double d[3], q[4];
  template <class T>
  bool operator()(const T* pa, const T* qa, const T* pb, const T* qb, T* r) const {
    const T back[4] = {qa[0], -qa[1], -qa[2], -qa[3]};
    const T way[3] = {pb[0] - pa[0], pb[1] - pa[1], pb[2] - pa[2]};
    T moved[3], between[4], rest[4];
    rotate_by_quaternion(back, way, moved);
    multiply(back, qb, between);
    const T measured_back[4] = {T(q[0]), T(-q[1]), T(-q[2]), T(-q[3])};
    multiply(measured_back, between, rest);
    for (int i = 0; i < 3; ++i) r[i] = 10.0 * (moved[i] - d[i]);
    for (int i = 0; i < 3; ++i) r[3 + i] = 40.0 * rest[1 + i];
    return true;
  }
};

// Returns a pose graph in space. With `near_pi`, each pose is rotated by nearly π from the previous one.
// `turned` is the rotation of the starts from the truth.
Scene spatial(const Setup& s, bool near_pi, double turned) {
  constexpr int kPoses = 7;
  Noise noise(s.seed);
  Scene scene;
  std::vector<std::vector<double>> places, turns;
  std::vector<int> p, q;
  for (int i = 0; i < kPoses; ++i) {
    const double angle = kTurn * i / kPoses, about = near_pi ? std::numbers::pi * i - 1e-4 * i : 0.4 * i;
    places.push_back({s.offset + 4 * std::cos(angle), s.offset + 4 * std::sin(angle), s.offset + 0.3 * i});
    turns.push_back(quaternion_of({0.2 * about, 0.1 * about, about}));
    std::vector<double> place = places.back(), w(3);
    if (i > 0 || s.gauge_free) {
      for (double& v : place) v += s.away * noise.normal();
      for (double& v : w) v = 0.3 * s.away * noise.normal();
      if (i == 3) w[0] += turned;
    }
    double start[4];
    multiply(quaternion_of(w).data(), turns.back().data(), start);
    p.push_back(scene.block(place));
    q.push_back(scene.block({start[0], start[1], start[2], start[3]}, Shape::quaternion));
  }
  if (!s.gauge_free) scene.hold(p[0]), scene.hold(q[0]);
  const auto edge = [&](std::size_t i, std::size_t j) {
    const double *qa = turns[i].data(), back[4] = {qa[0], -qa[1], -qa[2], -qa[3]};
    double way[3], between[4];
    for (std::size_t k = 0; k < 3; ++k) way[k] = places[j][k] - places[i][k];
    Spatial f{};
    rotate_by_quaternion(back, way, f.d);
    for (double& v : f.d) v += s.sigma * noise.normal();
    multiply(back, turns[j].data(), between);
    const std::vector<double> w = quaternion_of(
        {0.3 * s.sigma * noise.normal(), 0.3 * s.sigma * noise.normal(), 0.3 * s.sigma * noise.normal()});
    multiply(between, w.data(), f.q);
    scene.add<6, 3, 4, 3, 4>(f, {p[i], q[i], p[j], q[j]}, s.loss);
  };
  for (std::size_t i = 0; i + 1 < kPoses; ++i) edge(i, i + 1);
  edge(0, 6), edge(1, 4), edge(2, 6);
  return scene;
}

void add_planar(std::vector<Case>& cases, const char* family, std::string name, const Setup& s) {
  cases.push_back(
      {family, std::move(name), [s] { return planar(s); }, s.gauge_free ? Kind::deficient : Kind::healthy});
}

}  // namespace

void add_poses(std::vector<Case>& cases) {
  for (const bool free : {false, true}) {
    for (const double offset : {0.0, 1e6, 1e9}) {
      for (const double away : {0.1, 1.5}) {
        for (const double sigma : {0.05, 0.0}) {
          add_planar(cases, "poses 2d",
                     fmt::format("gauge {} offset {:g} away {:g} sigma {:g}", free ? "free" : "held", offset,
                                 away, sigma),
                     {.offset = offset, .away = away, .sigma = sigma, .gauge_free = free});
        }
      }
    }
  }
  for (const LossSpec::Kind kind : kRobust) {
    const LossSpec loss{kind, kind == LossSpec::Kind::tukey ? 5.0 : 1.0, 0.3};
    for (const double wrong : {4.0, 1e4}) {
      add_planar(cases, "poses 2d outliers", fmt::format("{} loops off by {:g}", name(kind), wrong),
                 {.loss = loss, .wrong = wrong});
    }
  }
  for (const bool free : {false, true}) {
    for (const double offset : {0.0, 1e6}) {
      for (const bool near_pi : {false, true}) {
        for (const double turned : {0.0, 2.0, 3.1}) {
          const Setup s{.offset = offset, .gauge_free = free};
          cases.push_back({"poses 3d",
                           fmt::format("gauge {} offset {:g}{} one turned {:g}", free ? "free" : "held",
                                       offset, near_pi ? " near pi" : "", turned),
                           [=] { return spatial(s, near_pi, turned); },
                           free ? Kind::deficient : Kind::healthy});
        }
      }
    }
  }
}

}  // namespace blocks
