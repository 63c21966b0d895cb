// Generates pose graphs of any size, for example 7 and the bench: a robot drives rounds on top of each other,
// measures each motion, and sometimes its pose relative to that of a round before.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace pose_graph {

// A measured relative pose in the plane. x, y and angle of each pose are parameter blocks of one number.
struct Planar {
  double dx, dy, turn;

  template <class T>
  bool operator()(const T* xa, const T* ya, const T* ta, const T* xb, const T* yb, const T* tb,
                  T* residuals) const {
    using std::cos, std::floor, std::sin;
    constexpr double pi = std::numbers::pi;
    const T c = cos(ta[0]), s = sin(ta[0]), x = xb[0] - xa[0], y = yb[0] - ya[0];
    residuals[0] = 50.0 * (c * x + s * y - dx);
    residuals[1] = 50.0 * (c * y - s * x - dy);
    const T off = tb[0] - ta[0] - turn;
    residuals[2] = 500.0 * (off - 2 * pi * floor((off + pi) / (2 * pi)));
    return true;
  }
};

// Holds a measured relative pose in space, with position (3 numbers) and unit quaternion (x, y, z, w) of each
// pose.
struct Spatial {
  Eigen::Vector3d position;
  Eigen::Quaterniond turn;

  template <class T>
  bool operator()(const T* pa, const T* qa, const T* pb, const T* qb, T* residuals) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    const Eigen::Map<const Eigen::Quaternion<T>> a(qa), b(qb);
    const Eigen::Quaternion<T> back = a.conjugate();
    const Vector moved = back * (Eigen::Map<const Vector>(pb) - Eigen::Map<const Vector>(pa));
    const Eigen::Quaternion<T> off = turn.template cast<T>() * (back * b).conjugate();
    Eigen::Map<Eigen::Matrix<T, 6, 1>> out(residuals);
    out.template head<3>() = T(50.0) * (moved - position.template cast<T>());
    out.template tail<3>() = T(1000.0) * off.vec();
    return true;
  }
};

template <class Measurement>
struct Edge {
  int from, to;
  Measurement measured;
};

template <class Measurement>
struct Graph {
  std::vector<double>
      poses;  // 3 numbers per pose in the plane, 7 in space; the start, integrated from the motions
  std::vector<Edge<Measurement>> edges;
};

namespace detail {

// Draws approximately normal numbers, the same on all platforms: the sum of twelve uniform numbers.
class Noise {
 public:
  explicit Noise(unsigned seed) : random_(seed) {}
  double operator()(double size) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_()) / 4294967296.0;
    return size * sum;
  }
  Eigen::Vector3d vector(double size) {
    const double x = (*this)(size), y = (*this)(size), z = (*this)(size);
    return {x, y, z};
  }
  bool one_in(unsigned n) { return random_() % n == 0; }

 private:
  std::mt19937 random_;
};

}  // namespace detail

// `round` is the number of poses per round. One pose in `rare` is measured relative to the round before.
inline Graph<Planar> planar(int poses, int round, unsigned rare, unsigned seed) {
  constexpr double pi = std::numbers::pi;
  detail::Noise noise(seed);
  Graph<Planar> graph;
  std::vector<Eigen::Vector3d> truth;
  const auto relative = [&](int a, int b) {
    const Eigen::Vector3d &p = truth[static_cast<std::size_t>(a)], &q = truth[static_cast<std::size_t>(b)];
    const double c = std::cos(p[2]), s = std::sin(p[2]), x = q[0] - p[0], y = q[1] - p[1];
    return Planar{c * x + s * y + noise(0.02), c * y - s * x + noise(0.02),
                  std::remainder(q[2] - p[2], 2 * pi) + noise(0.002)};
  };
  double x = 0, y = 0, angle = 0;
  for (int i = 0; i < poses; ++i) {
    const double place = 2 * pi * i / round, radius = round / (2 * pi) * (1 + 0.2 * std::sin(3 * place));
    truth.emplace_back(radius * std::cos(place), radius * std::sin(place),
                       std::remainder(place + pi / 2, 2 * pi));
    if (i == 0) {
      x = truth[0][0], y = truth[0][1], angle = truth[0][2];
    } else {
      const Planar m = relative(i - 1, i);
      graph.edges.push_back({i - 1, i, m});
      x += std::cos(angle) * m.dx - std::sin(angle) * m.dy;
      y += std::sin(angle) * m.dx + std::cos(angle) * m.dy;
      angle = std::remainder(angle + m.turn, 2 * pi);
    }
    graph.poses.insert(graph.poses.end(), {x, y, angle});
    if (i >= round && noise.one_in(rare)) graph.edges.push_back({i - round, i, relative(i - round, i)});
  }
  return graph;
}

inline Graph<Spatial> spatial(int poses, int round, unsigned rare, unsigned seed) {
  constexpr double pi = std::numbers::pi;
  detail::Noise noise(seed);
  Graph<Spatial> graph;
  std::vector<Eigen::Vector3d> place;
  std::vector<Eigen::Quaterniond> turn;
  const auto relative = [&](int a, int b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    const Eigen::Vector3d w = noise.vector(0.001);
    const Eigen::Quaterniond off = Eigen::Quaterniond(1, w[0], w[1], w[2]).normalized();
    return Spatial{turn[i].conjugate() * (place[j] - place[i]) + noise.vector(0.02),
                   turn[i].conjugate() * turn[j] * off};
  };
  Eigen::Vector3d p(0, 0, 0);
  Eigen::Quaterniond q(1, 0, 0, 0);
  for (int i = 0; i < poses; ++i) {
    const double angle = 2 * pi * i / round, radius = round / (2 * pi);
    place.emplace_back(radius * std::cos(angle), radius * std::sin(angle),
                       0.02 * i + 2 * std::sin(2 * angle));
    turn.push_back(Eigen::AngleAxisd(angle, Eigen::Vector3d(0.1, 0.2, 1).normalized()) *
                   Eigen::Quaterniond::Identity());
    if (i == 0) {
      p = place[0], q = turn[0];
    } else {
      const Spatial m = relative(i - 1, i);
      graph.edges.push_back({i - 1, i, m});
      p += q * m.position;
      q = (q * m.turn).normalized();
    }
    graph.poses.insert(graph.poses.end(), {p[0], p[1], p[2], q.x(), q.y(), q.z(), q.w()});
    if (i >= round && noise.one_in(rare)) graph.edges.push_back({i - round, i, relative(i - round, i)});
  }
  return graph;
}

}  // namespace pose_graph
