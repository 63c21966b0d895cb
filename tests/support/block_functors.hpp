// Defines residual functors as users write them for Ceres. Each is made from a number, which sets its
// constants, and takes parameter blocks of given sizes with values between 0.2 and 1.2. Tests of residual
// blocks use them.
#pragma once

#include <nlsq/eigen_scalars.hpp>
#include <nlsq/where.hpp>

#include <Eigen/Dense>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>

namespace block_functors {

// Rotates p by the rotation vector w (Rodrigues' formula).
template <class T>
void rotate(const T* w, const T* p, T* out) {
  using std::cos, std::sin, std::sqrt;
  const T squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  const T cross[3] = {w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]};
  if (squared > 1e-16) {
    const T angle = sqrt(squared), c = cos(angle), s = sin(angle) / angle;
    const T along = (w[0] * p[0] + w[1] * p[1] + w[2] * p[2]) * (1.0 - c) / squared;
    for (int i = 0; i < 3; ++i) out[i] = c * p[i] + s * cross[i] + along * w[i];
  } else {
    for (int i = 0; i < 3; ++i) out[i] = p[i] + cross[i];
  }
}

// A camera has rotation, translation, focal length and two radial terms, as in "Bundle Adjustment in the
// Large".
template <class T>
bool reproject(const T* camera, const T* point, double u, double v, T* r) {
  T p[3];
  rotate(camera, point, p);
  for (int i = 0; i < 3; ++i) p[i] += camera[3 + i];
  const T x = -p[0] / p[2], y = -p[1] / p[2];
  const T rr = x * x + y * y;
  const T scale = camera[6] * (1.0 + rr * (camera[7] + camera[8] * rr));
  r[0] = scale * x - u;
  r[1] = scale * y - v;
  return true;
}

#define NLSQ_BLOCK_FUNCTOR(type, count, ...)      \
  static const char* name() { return #type; }     \
  static constexpr std::array sizes{__VA_ARGS__}; \
  static constexpr int residuals = count;         \
  double c;                                       \
  explicit type(int number) : c(0.25 * (number % 7) - 0.5) {}

struct Reprojection {
  NLSQ_BLOCK_FUNCTOR(Reprojection, 2, 9, 3)
  template <class T>
  bool operator()(const T* camera, const T* point, T* r) const {
    return reproject(camera, point, c, 2 * c, r);
  }
};

struct HelloWorld {
  NLSQ_BLOCK_FUNCTOR(HelloWorld, 1, 1)
  template <class T>
  bool operator()(const T* const x, T* r) const {
    r[0] = 10.0 + c - x[0];
    return true;
  }
};

struct PowellF3 {
  NLSQ_BLOCK_FUNCTOR(PowellF3, 2, 1, 1, 1)
  template <class T>
  bool operator()(const T* a, const T* b, const T* d, T* r) const {
    r[0] = (a[0] - 2.0 * b[0]) * (a[0] - 2.0 * b[0]);
    r[1] = std::sqrt(10.0) * (a[0] - d[0]) * (b[0] - d[0]) + c;
    return true;
  }
};

struct ExponentialCurve {
  NLSQ_BLOCK_FUNCTOR(ExponentialCurve, 1, 1, 1)
  template <class T>
  bool operator()(const T* m, const T* k, T* r) const {
    using std::exp;
    r[0] = c - exp(m[0] * c + k[0]);
    return true;
  }
};

struct Circle {
  NLSQ_BLOCK_FUNCTOR(Circle, 1, 1, 1, 1)
  template <class T>
  bool operator()(const T* x, const T* y, const T* m, T* r) const {
    const T dx = c - x[0], dy = 2 * c + 3 - y[0];
    r[0] = m[0] * m[0] - dx * dx - dy * dy;
    return true;
  }
};

struct Distance {  // uses hypot
  NLSQ_BLOCK_FUNCTOR(Distance, 2, 2, 3)
  template <class T>
  bool operator()(const T* p, const T* q, T* r) const {
    using std::hypot;
    r[0] = hypot(p[0] - c, p[1] + 1.0);
    r[1] = hypot(q[0] + 1.0, q[1], q[2]);
    return true;
  }
};

struct Rosenbrock {
  NLSQ_BLOCK_FUNCTOR(Rosenbrock, 2, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 * (x[1] - x[0] * x[0]);
    r[1] = 1.0 - x[0] + c;
    return true;
  }
};

struct Segment {  // the nearest point of a segment: min and max depend on the parameters but record no guard
  NLSQ_BLOCK_FUNCTOR(Segment, 2, 2, 2)
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    const T dx = b[0] - a[0] + 2.0, dy = b[1] - a[1];
    const T t = ((c - a[0]) * dx + (1.0 - a[1]) * dy) / (dx * dx + dy * dy);
    const T clamped = nlsq::where(nlsq::less(t, 0.0), T(0.0), nlsq::where(nlsq::greater(t, 1.0), T(1.0), t));
    r[0] = a[0] + clamped * dx - c;
    r[1] = a[1] + clamped * dy - 1.0;
    return true;
  }
};

struct Branches {
  NLSQ_BLOCK_FUNCTOR(Branches, 1, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    if (x[0] > x[1]) r[0] = x[0] * x[0] - x[1] + c;
    else r[0] = x[1] * x[1] * x[1] + c * x[0];
    return true;
  }
};

struct AngleAxisAtZero {
  NLSQ_BLOCK_FUNCTOR(AngleAxisAtZero, 3, 3, 3)
  template <class T>
  bool operator()(const T* w, const T* p, T* r) const {
    const T none[3] = {w[0] - w[0], w[1] - w[1], w[2] - w[2]};
    T turned[3], still[3];
    rotate(w, p, turned);
    rotate(none, p, still);
    for (int i = 0; i < 3; ++i) r[i] = turned[i] - 0.5 * still[i] - c;
    return true;
  }
};

struct QuaternionRotation {
  NLSQ_BLOCK_FUNCTOR(QuaternionRotation, 3, 4, 3)
  template <class T>
  bool operator()(const T* q, const T* p, T* r) const {
    using std::sqrt;
    const T scale = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const T w = scale * q[0], x = scale * q[1], y = scale * q[2], z = scale * q[3];
    const T tx = 2.0 * (y * p[2] - z * p[1]), ty = 2.0 * (z * p[0] - x * p[2]),
            tz = 2.0 * (x * p[1] - y * p[0]);
    r[0] = p[0] + w * tx + y * tz - z * ty - c;
    r[1] = p[1] + w * ty + z * tx - x * tz;
    r[2] = p[2] + w * tz + x * ty - y * tx + c;
    return true;
  }
};

struct EigenQuaternionPose {
  NLSQ_BLOCK_FUNCTOR(EigenQuaternionPose, 6, 3, 4, 3, 4)
  template <class T>
  bool operator()(const T* pa, const T* qa, const T* pb, const T* qb, T* r) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    const Eigen::Map<const Vector> a(pa), b(pb);
    const Eigen::Map<const Eigen::Quaternion<T>> ra(qa), rb(qb);
    const Eigen::Quaternion<T> between = ra.conjugate() * rb;
    const Vector moved = ra.conjugate() * (b - a);
    Eigen::Map<Eigen::Matrix<T, 6, 1>> out(r);
    out.template head<3>() = moved - Eigen::Vector3d(c, 1, -c).template cast<T>();
    out.template tail<3>() = 2.0 * between.vec();
    return true;
  }
};

struct PlanarPose {
  NLSQ_BLOCK_FUNCTOR(PlanarPose, 3, 1, 1, 1, 1, 1, 1)
  template <class T>
  bool operator()(const T* xa, const T* ya, const T* ta, const T* xb, const T* yb, const T* tb, T* r) const {
    using std::cos, std::floor, std::sin;
    const T dx = xb[0] - xa[0], dy = yb[0] - ya[0], co = cos(ta[0]), si = sin(ta[0]);
    r[0] = co * dx + si * dy - c;
    r[1] = co * dy - si * dx - 2.0 * c;
    const T turn = tb[0] - ta[0] - c;
    r[2] = turn - 6.283185307179586 * floor((turn + 3.141592653589793) / 6.283185307179586);
    return true;
  }
};

struct Homography {
  NLSQ_BLOCK_FUNCTOR(Homography, 2, 9)
  template <class T>
  bool operator()(const T* h, T* r) const {
    Eigen::Matrix<T, 3, 3> H = Eigen::Map<const Eigen::Matrix<T, 3, 3>>(h);
    H.diagonal().array() += 3.0;
    const Eigen::Matrix<T, 3, 1> y = H.inverse() * Eigen::Vector3d(c, 1, 1).template cast<T>();
    r[0] = y[0] / y[2] - c;
    r[1] = y[1] / y[2];
    return true;
  }
};

struct Horner {  // a loop whose length is only known at run time
  NLSQ_BLOCK_FUNCTOR(Horner, 1, 6)
  template <class T>
  bool operator()(const T* p, T* r) const {
    T sum(0.0);
    for (std::size_t i = sizes[0]; i-- > 0;) sum = sum * c + p[i];
    r[0] = sum;
    return true;
  }
};

struct Pointers {
  NLSQ_BLOCK_FUNCTOR(Pointers, 2, 2, 1, 3)
  template <class T>
  bool operator()(const T* const* blocks, T* r) const {
    r[0] = T(c);
    r[1] = T(1.0);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      for (int i = 0; i < sizes[k]; ++i) r[0] += blocks[k][i] * (1.0 + i), r[1] *= blocks[k][i];
    }
    return true;
  }
};

struct Returned {
  NLSQ_BLOCK_FUNCTOR(Returned, 2, 2, 1)
  template <class T>
  std::array<T, 2> operator()(const T* a, const T* b) const {
    return {a[0] * b[0] - c, a[1] / b[0]};
  }
};

struct Silent {  // returns void
  NLSQ_BLOCK_FUNCTOR(Silent, 1, 2)
  template <class T>
  void operator()(const T* a, T* r) const {
    r[0] = a[0] * a[1] - c;
  }
};

struct Sorted {
  NLSQ_BLOCK_FUNCTOR(Sorted, 1, 3)
  template <class T>
  bool operator()(const T* a, T* r) const {
    T v[3] = {a[0] + 4.0, a[1], a[2] + 2.0};
    std::sort(v, v + 3);
    r[0] = v[0] + 2.0 * v[1] + 4.0 * v[2] * c;
    return true;
  }
};

struct Elementary {
  NLSQ_BLOCK_FUNCTOR(Elementary, 2, 2, 1)
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using namespace std;
    r[0] = exp(-a[0]) + log(a[1]) + sin(b[0]) * cosh(a[0]) + atan2(a[0], b[0] + 1.0) + pow(a[1], 2.5) + c;
    r[1] = tanh(a[0] * b[0]) + erf(a[1]) + cbrt(b[0]) + pow(a[0] + 1.0, b[0]) + abs(a[1] - 3.0);
    return true;
  }
};

struct StaticConstants {
  NLSQ_BLOCK_FUNCTOR(StaticConstants, 1, 2)
  template <class T>
  bool operator()(const T* a, T* r) const {
    static const T kHalf(0.5), kTable[] = {T(0.25), T(3.0)};
    r[0] = kHalf * a[0] + kTable[0] * a[1] * a[1] + kTable[1] * c;
    return true;
  }
};

struct ConstantResidual {  // a residual that depends on no parameter
  NLSQ_BLOCK_FUNCTOR(ConstantResidual, 2, 2)
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = T(c);
    r[1] = a[0] - a[1] * c;
    return true;
  }
};

#undef NLSQ_BLOCK_FUNCTOR
#define NLSQ_BLOCK_FUNCTORS                                                                               \
  block_functors::Reprojection, block_functors::HelloWorld, block_functors::PowellF3,                     \
      block_functors::ExponentialCurve, block_functors::Circle, block_functors::Distance,                 \
      block_functors::Rosenbrock, block_functors::Segment, block_functors::Branches,                      \
      block_functors::AngleAxisAtZero, block_functors::QuaternionRotation,                                \
      block_functors::EigenQuaternionPose, block_functors::PlanarPose, block_functors::Homography,        \
      block_functors::Horner, block_functors::Pointers, block_functors::Returned, block_functors::Silent, \
      block_functors::Sorted, block_functors::Elementary, block_functors::StaticConstants,                \
      block_functors::ConstantResidual

}  // namespace block_functors
