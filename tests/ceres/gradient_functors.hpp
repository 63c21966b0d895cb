// Defines functors as users of Ceres write them, to compare recorded derivatives with those of Ceres's jets.
// Some can be recorded, some read the parts of the jet, and some are excluded from recording.
#pragma once

#include "block_functors.hpp"

#include <ceres/cubic_interpolation.h>
#include <ceres/rotation.h>

#include <array>
#include <cmath>
#include <memory>

namespace gradient_functors {

using namespace nlsq;

#define NLSQ_BLOCK_FUNCTOR(type, count, ...)      \
  static const char* name() { return #type; }     \
  static constexpr std::array sizes{__VA_ARGS__}; \
  static constexpr int residuals = count;         \
  double c;                                       \
  explicit type(int number) : c(0.25 * (number % 7) - 0.5) {}

struct RotationByCeres {
  NLSQ_BLOCK_FUNCTOR(RotationByCeres, 3, 3, 3)
  template <class T>
  bool operator()(const T* w, const T* p, T* r) const {
    ceres::AngleAxisRotatePoint(w, p, r);
    r[0] -= c;
    return true;
  }
};

struct RotationAtZeroByCeres {
  NLSQ_BLOCK_FUNCTOR(RotationAtZeroByCeres, 3, 3, 3)
  template <class T>
  bool operator()(const T* w, const T* p, T* r) const {
    const T none[3] = {w[0] - w[0], w[1] - w[1], w[2] - w[2]};
    ceres::AngleAxisRotatePoint(none, p, r);
    r[2] += c;
    return true;
  }
};

struct QuaternionByCeres {
  NLSQ_BLOCK_FUNCTOR(QuaternionByCeres, 3, 4, 3)
  template <class T>
  bool operator()(const T* q, const T* p, T* r) const {
    ceres::QuaternionRotatePoint(q, p, r);
    r[1] += c;
    return true;
  }
};

struct MatrixAndBack {  // decides on the trace, and has loops
  NLSQ_BLOCK_FUNCTOR(MatrixAndBack, 4, 3)
  template <class T>
  bool operator()(const T* w, T* r) const {
    T R[9], back[3];
    ceres::AngleAxisToRotationMatrix(w, R);
    ceres::RotationMatrixToAngleAxis(R, back);
    for (int i = 0; i < 3; ++i) r[i] = back[i] * (1.0 + c);
    r[3] = R[1];
    return true;
  }
};

struct EulerAngles {
  NLSQ_BLOCK_FUNCTOR(EulerAngles, 9, 3)
  template <class T>
  bool operator()(const T* e, T* r) const {
    const T degrees[3] = {e[0] * 50.0, e[1] * 40.0 + c, e[2] * 30.0};
    ceres::EulerAnglesToRotationMatrix(degrees, 3, r);
    return true;
  }
};

struct FullNames {  // calls Ceres's functions by their full names
  NLSQ_BLOCK_FUNCTOR(FullNames, 2, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = ceres::exp(x[0]) * ceres::sin(x[1]) + ceres::sqrt(x[0]) - ceres::pow(x[1], 1.5) +
           ceres::atan2(x[0], x[1]) + c;
    r[1] = ceres::tanh(x[0]) + ceres::log(x[1]) + ceres::hypot(x[0], x[1]) + ceres::cbrt(x[0]) +
           ceres::BesselJ0(x[1]);
    return true;
  }
};

struct PlainNumbers {  // mixes ints and floats with jets
  NLSQ_BLOCK_FUNCTOR(PlainNumbers, 2, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    T sum = T(0);
    sum += 2.0;
    sum *= x[0];
    sum -= 0.5;
    sum /= 1.5;
    if (x[1] > 0 && !(x[0] < -1) && x[0] != 17) sum += x[1];
    r[0] = -sum + +x[0] * 3.0 - 2.0 / x[1];
    r[1] = (x[0] <= x[1]) ? 1.0 - x[0] : x[1] + c;
    return true;
  }
};

struct SmallerAndLarger {
  NLSQ_BLOCK_FUNCTOR(SmallerAndLarger, 2, 3)
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::fmax, std::fmin, std::isfinite, std::fpclassify;
    r[0] = fmax(x[0], x[1]) * fmin(x[1] + 0.3, x[2]) + c;
    r[1] = isfinite(x[0]) && fpclassify(x[1]) == FP_NORMAL ? x[0] * x[2] : x[1];
    return true;
  }
};

struct Slerp {
  NLSQ_BLOCK_FUNCTOR(Slerp, 4, 4, 4, 1)
  template <class T>
  bool operator()(const T* a, const T* b, const T* t, T* r) const {
    const Eigen::Quaternion<T> qa = Eigen::Map<const Eigen::Quaternion<T>>(a).normalized();
    const Eigen::Quaternion<T> qb = Eigen::Map<const Eigen::Quaternion<T>>(b).normalized();
    const Eigen::Quaternion<T> between = qa.slerp(t[0] * 0.5 + 0.1, qb);
    Eigen::Map<Eigen::Matrix<T, 4, 1>>(r, 4) = between.coeffs() * T(1.0 + c);
    return true;
  }
};

struct EigenPose {  // converts angle-axis to matrix to isometry, mixed with doubles
  NLSQ_BLOCK_FUNCTOR(EigenPose, 3, 6, 3)
  template <class T>
  bool operator()(const T* pose, const T* point, T* r) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    const Vector w(pose[0], pose[1], pose[2]);
    const T angle = w.norm();
    Eigen::Transform<T, 3, Eigen::Isometry> to = Eigen::Transform<T, 3, Eigen::Isometry>::Identity();
    to.linear() = Eigen::AngleAxis<T>(angle, Vector(w / angle)).toRotationMatrix();
    to.translation() = Eigen::Map<const Vector>(pose + 3);
    const Vector moved = to * Eigen::Map<const Vector>(point);
    Eigen::Map<Vector>(r, 3) = moved - Eigen::Vector3d(c, 2, -1).cast<T>();
    return true;
  }
};

struct InverseOfMatrix {
  NLSQ_BLOCK_FUNCTOR(InverseOfMatrix, 2, 9)
  template <class T>
  bool operator()(const T* h, T* r) const {
    Eigen::Matrix<T, 3, 3> H = Eigen::Map<const Eigen::Matrix<T, 3, 3>>(h);
    H.diagonal().array() += T(3.0);
    const Eigen::Matrix<T, 3, 1> y = H.inverse() * Eigen::Vector3d(c, 1, 1).template cast<T>();
    r[0] = y[0] / y[2] - c;
    r[1] = y[1] / y[2];
    return true;
  }
};

struct DynamicSums {
  NLSQ_BLOCK_FUNCTOR(DynamicSums, 2, 7)
  template <class T>
  bool operator()(const T* x, T* r) const {
    std::vector<T> partial(1, T(c));
    for (std::size_t i = 0; i < sizes[0]; ++i)
      partial.push_back(partial.back() + x[i] * x[i] * (1.0 + static_cast<double>(i)));
    Eigen::Matrix<T, Eigen::Dynamic, 1> v(static_cast<Eigen::Index>(partial.size()));
    for (std::size_t i = 0; i < partial.size(); ++i) v[static_cast<Eigen::Index>(i)] = partial[i];
    r[0] = v.sum();
    r[1] = v.squaredNorm() * 0.01;
    return true;
  }
};

// The functors that follow read the parts of the jet.
template <class T>
double value_of(const T& x) {
  return x.a;
}
inline double value_of(double x) { return x; }

struct LooksInside {
  NLSQ_BLOCK_FUNCTOR(LooksInside, 1, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * (value_of(x[1]) > 0.5 ? 2.0 : 3.0) + x[1] + c;
    return true;
  }
};

struct Interpolates {
  NLSQ_BLOCK_FUNCTOR(Interpolates, 1, 1)
  template <class T>
  bool operator()(const T* x, T* r) const {
    static const double values[] = {1, 4, 2, 6, 3, 8, 5, 9};
    static const ceres::Grid1D<double> grid(values, 0, 8);
    static const ceres::CubicInterpolator<ceres::Grid1D<double>> interpolator(grid);
    interpolator.Evaluate(x[0] * 3.0 + 1.0, r);
    r[0] = r[0] + c;
    return true;
  }
};

template <int N>
double slope_of(const ceres::Jet<double, N>& x) {
  return N > 0 ? x.v.sum() : 0;
}
inline double slope_of(double) { return 0; }

struct ScalesSlope {  // changes only the derivatives, which only the comparison with jets can detect
  NLSQ_BLOCK_FUNCTOR(ScalesSlope, 1, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[1] + c;
    if constexpr (!std::is_same_v<T, double>) r[0].v *= 0.5;
    (void)slope_of(r[0]);
    return true;
  }
};

struct Counts {  // has state
  NLSQ_BLOCK_FUNCTOR(Counts, 1, 1)
  mutable int calls = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * (1.0 + 1e-3 * (++calls % 7)) + c;
    return true;
  }
};

struct OptedOut {
  NLSQ_BLOCK_FUNCTOR(OptedOut, 1, 1)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[0] + c;
    return true;
  }
};

}  // namespace gradient_functors

template <>
inline constexpr bool nlsq::no_trace<gradient_functors::OptedOut> = true;
