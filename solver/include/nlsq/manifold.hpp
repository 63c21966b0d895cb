// Parameters that are no plain vector: what a step is, and how it is added. A manifold says how a point of
// `ambient` numbers moves by a step of `tangent` numbers.
#pragma once

#include <nlsq/export.hpp>

#include <memory>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API Manifold {
 public:
  virtual ~Manifold();
  virtual int ambient() const = 0;
  virtual int tangent() const = 0;
  // out = x ⊞ delta; x itself, to the bit, where delta is zero.
  virtual void plus(const double* x, const double* delta, double* out) const = 0;
  // ∂(x ⊞ delta)/∂delta at delta = 0: ambient x tangent, by rows.
  virtual void plus_jacobian(const double* x, double* J) const = 0;
};

using ManifoldPtr = std::shared_ptr<const Manifold>;

// A plain vector of which some places are held. Throws ValidationError for places that are not there.
NLSQ_API ManifoldPtr subset_manifold(int size, const std::vector<int>& held);
// Unit quaternions: w, x, y, z, or, as Eigen stores them, x, y, z, w. The step is half the rotation vector, in the fixed
// frame: x ⊞ δ = exp(δ) x, as in Ceres.
NLSQ_API ManifoldPtr quaternion_manifold();
NLSQ_API ManifoldPtr eigen_quaternion_manifold();
// Vectors of that many numbers whose length does not change.
NLSQ_API ManifoldPtr sphere_manifold(int size);
// One after the other: a pose is product_manifold({quaternion_manifold(), euclidean_manifold(3)}).
NLSQ_API ManifoldPtr euclidean_manifold(int size);
NLSQ_API ManifoldPtr product_manifold(std::vector<ManifoldPtr> parts);

}  // namespace nlsq::inline v0
