// A Manifold describes parameters that are not a plain vector, such as rotations. It defines how a point of
// `ambient` numbers moves by a step of `tangent` numbers.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/export.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API Manifold {
  // The interface of a manifold.
 public:
  virtual ~Manifold();
  virtual int ambient() const = 0;
  virtual int tangent() const = 0;
  // Computes out = x ⊞ delta, where x and out have ambient() and delta has tangent() numbers. For delta = 0,
  // out equals x bit by bit.
  virtual void plus(const double* x, const double* delta, double* out) const = 0;
  // Computes J = ∂(x ⊞ delta)/∂delta at delta = 0: ambient x tangent, row-major.
  virtual void plus_jacobian(const double* x, double* J) const = 0;
};

using ManifoldPtr = std::shared_ptr<const Manifold>;

// Returns the manifold of a plain vector with some numbers fixed; `held` has their indices. Throws
// ValidationError for indices out of range.
NLSQ_API ManifoldPtr subset_manifold(int size, const std::vector<int>& held);
// Return the manifold of unit quaternions, stored as w, x, y, z, or, as in Eigen, as x, y, z, w. The step is
// half the rotation vector in the fixed frame: x ⊞ δ = exp(δ) x, as in Ceres.
NLSQ_API ManifoldPtr quaternion_manifold();
NLSQ_API ManifoldPtr eigen_quaternion_manifold();
// Returns the manifold of vectors of `size` numbers whose norm does not change.
NLSQ_API ManifoldPtr sphere_manifold(int size);
// Returns the manifold of lines in `size` dimensions: a point on the line, then its direction, whose norm
// does not change. The point moves only at right angles to the line.
NLSQ_API ManifoldPtr line_manifold(int size);
// Blocks of numbers one after the other, each with its own manifold. A pose is
// product_manifold({quaternion_manifold(), euclidean_manifold(3)}).
NLSQ_API ManifoldPtr euclidean_manifold(int size);
NLSQ_API ManifoldPtr product_manifold(std::vector<ManifoldPtr> parts);

namespace detail {

template <class Functor, int kAmbient, int kTangent>
class AutodiffManifold final : public Manifold {
  static_assert(kAmbient > 0 && kTangent > 0 && kTangent <= kAmbient);

 public:
  explicit AutodiffManifold(Functor functor) : functor_(std::move(functor)) {}
  int ambient() const override { return kAmbient; }
  int tangent() const override { return kTangent; }
  void plus(const double* x, const double* delta, double* out) const override {
    if (std::all_of(delta, delta + kTangent, [](double d) { return d == 0; })) std::copy_n(x, kAmbient, out);
    else if (!functor_.Plus(x, delta, out))
      std::fill_n(out, kAmbient, std::numeric_limits<double>::quiet_NaN());
  }
  void plus_jacobian(const double* x, double* J) const override {
    Dual8 at[kAmbient], moved[kAmbient];
    std::copy_n(x, kAmbient, at);
    for (int first = 0; first < kTangent; first += kWidth) {
      Dual8 delta[kTangent] = {};
      const int end = std::min(kTangent, first + kWidth);
      for (int j = first; j < end; ++j) delta[j] = Dual8(0.0, j - first);
      const bool there =
          functor_.Plus(static_cast<const Dual8*>(at), static_cast<const Dual8*>(delta), moved);
      for (int i = 0; i < kAmbient; ++i) {
        for (int j = first; j < end; ++j) {
          J[i * kTangent + j] =
              there ? moved[i].derivative(j - first) : std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
  }

 private:
  static constexpr int kWidth = static_cast<int>(kDualWidth);
  Functor functor_;
};

}  // namespace detail

// Makes a manifold from a functor that is generic in its scalar, as for ceres::AutoDiffManifold:
//   template <class T> bool Plus(const T* x, const T* delta, T* x_plus_delta) const;
// Plus returns false if there is no such point. Dual numbers give its derivative at delta = 0. A `Minus` is
// not needed.
template <int ambient, int tangent, class Functor>
ManifoldPtr autodiff_manifold(Functor functor) {
  return std::make_shared<detail::AutodiffManifold<Functor, ambient, tangent>>(std::move(functor));
}

}  // namespace nlsq::inline v0
