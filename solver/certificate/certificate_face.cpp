// Selects the fixed parameters, and restricts a linearization to the free ones.
#include "certificate/certificate_face.hpp"

#include "dense/dense_algebra.hpp"
#include "support/constants.hpp"

namespace nlsq::inline v0 {

namespace {

Face face_of(std::vector<bool> held) {
  Face face;
  for (std::size_t j = 0; j < held.size(); ++j) {
    if (!held[j]) face.kept.push_back(j);
  }
  face.held = std::move(held);
  return face;
}

// Returns R of the free columns and the residual, (k+1) x (k+1). Removing columns destroys the triangular
// shape, so the rest is factored again.
Matrix triangle_of(const Matrix& triangle, const Face& face) {
  const std::size_t rows = triangle.rows(), k = face.kept.size();
  std::vector<double> columns(rows * (k + 1));
  for (std::size_t j = 0; j <= k; ++j) {
    const std::size_t column = j < k ? face.kept[j] : triangle.columns() - 1;
    for (std::size_t i = 0; i <= column; ++i) columns[j * rows + i] = triangle(i, column);
  }
  dense::householder_qr(columns.data(), rows, k + 1);
  Matrix out(k + 1, k + 1);
  for (std::size_t j = 0; j <= k; ++j) {
    for (std::size_t i = 0; i <= j; ++i) out(i, j) = columns[j * rows + i];
  }
  return out;
}

}  // namespace

Face pushed_face(const Linearization& at, const Box& room, const Step& model) {
  std::vector<bool> is_held(at.gradient.size(), false);
  for (std::size_t j = 0; j < is_held.size(); ++j) {
    if (!model.factored) is_held[j] = held(room, j, at.gradient[j]) != Held::none;
    else is_held[j] = !model.held.empty() && model.held[j] != Held::none && model.step[j] == 0;
  }
  return face_of(std::move(is_held));
}

Face touched_face(const Box& room) {
  std::vector<bool> is_held(room.lower.size());
  for (std::size_t j = 0; j < is_held.size(); ++j) is_held[j] = room.lower[j] == 0 || room.upper[j] == 0;
  return face_of(std::move(is_held));
}

Face face_without(std::size_t n, std::span<const int> listed) {
  std::vector<bool> is_held(n, false);
  for (const int j : listed) is_held[static_cast<std::size_t>(j)] = true;
  return face_of(std::move(is_held));
}

Linearization restricted(const Linearization& at, const Face& face) {
  const std::size_t k = face.kept.size();
  Linearization part;
  part.plan = at.plan;
  part.derivative_error = at.derivative_error;
  part.cost = at.cost;
  part.finite = at.finite;
  part.gradient = restricted(std::span(at.gradient), face);
  part.normal = Matrix(k, k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) part.normal(i, j) = at.normal(face.kept[i], face.kept[j]);
  }
  if (!at.triangle.empty()) part.triangle = triangle_of(at.triangle, face);
  return part;
}

std::vector<double> restricted(std::span<const double> x, const Face& face) {
  std::vector<double> out;
  for (const std::size_t j : face.kept) out.push_back(x[j]);
  return out;
}

void expand(const Face& face, Certified& out) {
  const std::size_t n = face.held.size();
  Vector step(n, 0.0);
  Matrix covariance(n, n, kNaN);
  for (std::size_t i = 0; i < face.kept.size(); ++i) {
    step[face.kept[i]] = out.step[i];
    for (std::size_t j = 0; j < face.kept.size(); ++j)
      covariance(face.kept[i], face.kept[j]) = out.covariance(i, j);
  }
  out.step = std::move(step);
  out.covariance = std::move(covariance);
  for (int& j : out.certificate.confounded) j = static_cast<int>(face.kept[static_cast<std::size_t>(j)]);
}

}  // namespace nlsq::inline v0
