// Implements undetermined_in_all() by eigenvectors of the normal matrix.
#include "batch/joint_directions.hpp"

#include "dense/dense_algebra.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMost = 500;  // parameters
// A parameter takes part in a direction of unit length if its component exceeds this, divided by √n. Normal
// matrices know components to about 1e-8.
constexpr double kPart = 1e-3;

// JᵀJ of all groups, with columns of J scaled to unit length.
Matrix joined(std::span<const Matrix> normals, std::size_t shared, std::size_t n) {
  Matrix out(n, n);
  std::size_t first = shared;
  for (const Matrix& normal : normals) {
    const auto place = [&](std::size_t j) { return j < shared ? j : first + j - shared; };
    for (std::size_t i = 0; i < normal.rows(); ++i)
      for (std::size_t j = 0; j < normal.rows(); ++j) out(place(i), place(j)) += normal(i, j);
    first += normal.rows() - shared;
  }
  std::vector<double> scale(n);
  for (std::size_t j = 0; j < n; ++j) scale[j] = out(j, j) > 0 ? 1 / std::sqrt(out(j, j)) : 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out(i, j) *= scale[i] * scale[j];
  return out;
}

}  // namespace

std::vector<bool> undetermined_in_all(std::span<const Matrix> normals, std::size_t shared, std::size_t rank) {
  std::size_t n = shared;
  for (const Matrix& normal : normals) n += normal.rows() - shared;
  if (n > kMost) return {};
  Matrix directions = joined(normals, shared, n);  // then its eigenvectors, least eigenvalue first
  std::vector<double> values(n);
  if (!dense::symmetric_eigen(directions.data(), n, values.data())) return {};
  std::vector<bool> out(n, false);
  const double least = kPart / std::sqrt(static_cast<double>(n));
  for (std::size_t k = 0; k + rank < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      if (std::fabs(directions.data()[k * n + j]) > least) out[j] = true;
  return out;
}

}  // namespace nlsq::inline v0
