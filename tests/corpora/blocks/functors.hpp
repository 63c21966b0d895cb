// Defines functors that several problem families share, as users write them for Ceres.
#pragma once

#include "noise.hpp"
#include "scene.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace blocks {

using problems::Noise;

// Computes one row of a curve: Model::f(p, t) minus its y. All parameters are one block.
template <class Model>
struct Row {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = Model::f(p, t) - y;
    return true;
  }
};
// Computes one row of a curve, with one block for each parameter.
template <class Model>
struct Row2 {
  double t, y;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    const T p[] = {a[0], b[0]};
    r[0] = Model::f(p, t) - y;
    return true;
  }
};

struct Exponential {
  static constexpr int n = 2;
  template <class T>
  static T f(const T* p, double t) {
    using std::exp;
    return p[0] * exp(p[1] * t);
  }
};
struct Power {
  static constexpr int n = 2;
  template <class T>
  static T f(const T* p, double t) {
    using std::pow;
    return p[0] * pow(T(t), p[1]);
  }
};
struct Line {
  static constexpr int n = 2;
  template <class T>
  static T f(const T* p, double t) {
    return p[0] + p[1] * t;
  }
};

struct Sampled {
  std::vector<double> t, y;
};
// Returns `rows` values of the model between t0 and t1, with noise.
template <class Model>
Sampled sample(const std::vector<double>& truth, int rows, double t0, double t1, double sigma, Noise& noise) {
  Sampled out;
  for (int i = 0; i < rows; ++i) {
    const double t = t0 + (t1 - t0) * i / (rows - 1);
    out.t.push_back(t);
    out.y.push_back(Model::f(truth.data(), t) + sigma * noise.normal());
  }
  return out;
}
template <class Model>
void add_rows(Scene& scene, const Sampled& data, int id, LossSpec loss = {}) {
  for (std::size_t i = 0; i < data.t.size(); ++i)
    scene.add<1, Model::n>(Row<Model>{data.t[i], data.y[i]}, {id}, loss);
}

// Rotates p by the rotation vector w (Rodrigues' formula).
template <class T, class P>
void rotate(const T* w, const P* p, T* out) {
  using std::cos, std::sin, std::sqrt;
  const T squares = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  const T cross[3] = {w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]};
  if (squares > 1e-20) {
    const T angle = sqrt(squares), c = cos(angle), s = sin(angle) / angle;
    const T along = (w[0] * p[0] + w[1] * p[1] + w[2] * p[2]) * (1.0 - c) / squares;
    for (int i = 0; i < 3; ++i) out[i] = c * p[i] + s * cross[i] + along * w[i];
  } else {
    for (int i = 0; i < 3; ++i) out[i] = p[i] + cross[i];
  }
}

// Rotates by the quaternion w, x, y, z of any length.
template <class T, class P>
void rotate_by_quaternion(const T* q, const P* p, T* out) {
  const T scale = 1.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  const T x = q[2] * p[2] - q[3] * p[1], y = q[3] * p[0] - q[1] * p[2], z = q[1] * p[1] - q[2] * p[0];
  out[0] = p[0] + 2.0 * scale * (q[0] * x + q[2] * z - q[3] * y);
  out[1] = p[1] + 2.0 * scale * (q[0] * y + q[3] * x - q[1] * z);
  out[2] = p[2] + 2.0 * scale * (q[0] * z + q[1] * y - q[2] * x);
}

// Returns the Hamilton product a b of quaternions w, x, y, z.
template <class A, class B, class T>
void multiply(const A* a, const B* b, T* out) {
  out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

// Returns the quaternion of a rotation vector.
inline std::vector<double> quaternion_of(const std::vector<double>& w) {
  const double angle = std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]),
               s = angle > 0 ? std::sin(angle / 2) / angle : 0.5;
  return {std::cos(angle / 2), s * w[0], s * w[1], s * w[2]};
}

// Computes the residuals of measured values of a block.
template <int n>
struct Prior {
  std::array<double, n> mean;
  double weight;
  template <class T>
  bool operator()(const T* x, T* r) const {
    for (std::size_t i = 0; i < n; ++i) r[i] = weight * (x[i] - mean[i]);
    return true;
  }
};

}  // namespace blocks
