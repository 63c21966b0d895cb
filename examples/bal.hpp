// Bundle adjustment problems in the format of "Bundle Adjustment in the Large" (Agarwal, Snavely, Seitz,
// Szeliski, ECCV 2010), for example 5 and the bench: reads a file, writes one, or generates a problem of any
// size.
//
//   cameras points observations
//   camera point x y            one line for each observation
//   9 numbers per camera (rotation vector, translation, focal length, k1, k2), 3 per point, one per line
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace bal {

struct Observation {
  int camera = 0, point = 0;
  double x = 0, y = 0;
};

struct Problem {
  int cameras = 0, points = 0;
  std::vector<Observation> observations;
  std::vector<double> parameters;  // all cameras, then all points

  double* camera(int i) { return parameters.data() + 9 * i; }
  double* point(int i) { return parameters.data() + 9 * cameras + 3 * i; }
};

// A reprojection error: rotate, translate, project (the camera looks along -z), distort.
struct Reprojection {
  double x, y;

  template <class T>
  bool operator()(const T* camera, const T* point, T* residuals) const {
    using std::cos, std::sin, std::sqrt;
    const T* w = camera;
    const T cross[3] = {w[1] * point[2] - w[2] * point[1], w[2] * point[0] - w[0] * point[2],
                        w[0] * point[1] - w[1] * point[0]};
    const T squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    T p[3];
    if (squared > 1e-20) {  // Rodrigues' formula
      const T angle = sqrt(squared), c = cos(angle), s = sin(angle) / angle;
      const T along = (w[0] * point[0] + w[1] * point[1] + w[2] * point[2]) * (1.0 - c) / squared;
      for (int i = 0; i < 3; ++i) p[i] = c * point[i] + s * cross[i] + along * w[i];
    } else {
      for (int i = 0; i < 3; ++i) p[i] = point[i] + cross[i];
    }
    for (int i = 0; i < 3; ++i) p[i] += camera[3 + i];
    const T u = -p[0] / p[2], v = -p[1] / p[2];
    const T rr = u * u + v * v;
    const T scale = camera[6] * (1.0 + rr * (camera[7] + rr * camera[8]));
    residuals[0] = scale * u - x;
    residuals[1] = scale * v - y;
    return true;
  }
};

inline Problem read(const std::string& path) {
  std::ifstream in(path);
  Problem problem;
  std::size_t count = 0;
  if (!(in >> problem.cameras >> problem.points >> count))
    throw std::runtime_error(path + ": no such problem");
  problem.observations.resize(count);
  for (Observation& o : problem.observations) in >> o.camera >> o.point >> o.x >> o.y;
  problem.parameters.resize(static_cast<std::size_t>(9 * problem.cameras + 3 * problem.points));
  for (double& v : problem.parameters) in >> v;
  if (!in) throw std::runtime_error(path + ": it ends too early");
  for (const Observation& o : problem.observations) {
    if (o.camera < 0 || o.camera >= problem.cameras || o.point < 0 || o.point >= problem.points) {
      throw std::runtime_error(path + ": an observation of a camera or a point that is not there");
    }
  }
  return problem;
}

inline void write(const Problem& problem, const std::string& path) {
  std::ofstream out(path);
  out.precision(17);
  out << problem.cameras << ' ' << problem.points << ' ' << problem.observations.size() << '\n';
  for (const Observation& o : problem.observations)
    out << o.camera << ' ' << o.point << ' ' << o.x << ' ' << o.y << '\n';
  for (const double v : problem.parameters) out << v << '\n';
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

// Generates a problem: cameras on a ring look at points around its centre. Each point is seen from a few
// adjacent places, or, if `scattered`, from anywhere on the ring. `noise` is the error of the pixels, and
// `error` the relative error of the start. The same seed gives the same problem.
inline Problem generate(int cameras, int points, std::size_t observations, unsigned seed, double noise = 0.5,
                        double error = 0.01, bool scattered = false) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  // Box and Muller: the standard library's distribution differs between implementations.
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  };
  Problem problem;
  problem.cameras = cameras;
  problem.points = points;
  problem.parameters.resize(static_cast<std::size_t>(9 * cameras + 3 * points));
  for (int c = 0; c < cameras; ++c) {
    const double place = 2 * std::numbers::pi * c / cameras, height = 0.5 * std::sin(3 * place);
    const double turn = std::remainder(place - std::numbers::pi / 2, 2 * std::numbers::pi);
    const double center[3] = {10 * std::cos(place), height, 10 * std::sin(place)};
    double* camera = problem.camera(c);
    camera[1] = turn;
    camera[3] = -(std::cos(turn) * center[0] + std::sin(turn) * center[2]);
    camera[4] = -center[1];
    camera[5] = -(-std::sin(turn) * center[0] + std::cos(turn) * center[2]);
    camera[6] = 500 + 20 * uniform();
    camera[7] = -0.02 + 0.04 * uniform();
    camera[8] = -0.002 + 0.004 * uniform();
  }
  for (int p = 0; p < points; ++p) {
    for (int i = 0; i < 3; ++i) problem.point(p)[i] = 6 * uniform() - 3;
  }
  for (int p = 0; p < points; ++p) {
    const auto from = static_cast<std::size_t>(p), all = static_cast<std::size_t>(points);
    const std::size_t seen = std::min<std::size_t>(
        (from + 1) * observations / all - from * observations / all, static_cast<std::size_t>(cameras));
    const auto first = static_cast<int>(random() % static_cast<unsigned>(cameras));
    const auto apart =
        scattered
            ? 1 + static_cast<int>(random() % static_cast<unsigned>(
                                                  cameras / static_cast<int>(std::max<std::size_t>(seen, 1))))
            : 1;
    for (int k = 0; k < static_cast<int>(seen); ++k) {
      const int c = (first + k * apart) % cameras;
      double r[2];
      Reprojection{0, 0}(problem.camera(c), problem.point(p), r);
      problem.observations.push_back({c, p, r[0] + noise * normal(), r[1] + noise * normal()});
    }
  }
  for (double& v : problem.parameters) v += error * (1 + 0.1 * std::fabs(v)) * 0.3 * normal();
  return problem;
}

}  // namespace bal
