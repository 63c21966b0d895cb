// Makes a Linearization from the sums of a pass.
#include "dense/dense_pass.hpp"

#include "support/constants.hpp"

#include <numeric>

namespace nlsq::inline v0 {

namespace {

// Unpacks JᵀJ, Jᵀr and ½rᵀr from the sums of [J | r].
void unpack(const Vector& packed, Linearization& out) {
  const std::size_t n = out.gradient.size();
  std::size_t k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j, ++k) out.normal(i, j) = out.normal(j, i) = packed[k];
    out.gradient[i] = packed[k++];
  }
  out.cost = 0.5 * packed[k];
}

// Computes JᵀJ, Jᵀr and ½rᵀr from the triangle R of a QR pass over [J | r]: they are the products of R's
// columns.
void square(const Matrix& R, Linearization& out) {
  const std::size_t n = out.gradient.size();
  if (in_blocks(static_cast<int>(n) + 1)) {
    Vector packed(packed_size(static_cast<int>(n) + 1));
    square_triangle(R.data(), n + 1, packed.data());
    return unpack(packed, out);
  }
  double squares = 0;
  for (std::size_t k = 0; k <= n; ++k) squares += R(k, n) * R(k, n);
  out.cost = 0.5 * squares;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k <= i; ++k) out.gradient[i] += R(k, i) * R(k, n);
    for (std::size_t j = i; j < n; ++j) {
      for (std::size_t k = 0; k <= i; ++k) out.normal(i, j) += R(k, i) * R(k, j);
      out.normal(j, i) = out.normal(i, j);
    }
  }
}

}  // namespace

void DenseEvaluator::linearization_of(const Sums& sums, const PrecisionPlan& plan, Linearization& out) const {
  out.plan = plan;
  out.nonfinite_tiles = 0;
  out.finite = sums.finite;
  if (!out.finite) {
    out.cost = kNaN;
    return;
  }
  const std::size_t redone = std::accumulate(sums.redone.begin(), sums.redone.end(), std::size_t{0});
  out.nonfinite_tiles =
      static_cast<double>(redone) / static_cast<double>(std::max<std::size_t>(1, model_.tile_count()));
  out.unbiased = false;
  out.nonfinite_of.assign(model_.components().size(), 0.0);
  if (redone > 0 && !out.nonfinite_of.empty()) {
    std::vector<std::size_t> tiles(out.nonfinite_of.size(), 0);
    for (std::size_t t = 0; t < model_.tile_count(); ++t) ++tiles[model_.component(t)];
    for (std::size_t c = 0; c < tiles.size(); ++c) {
      if (tiles[c] > 0)
        out.nonfinite_of[c] = static_cast<double>(sums.redone[c]) / static_cast<double>(tiles[c]);
    }
  }
  const auto n = static_cast<std::size_t>(parameters());
  out.gradient.assign(n, 0.0);
  out.normal.assign(n, n);
  out.triangle.assign(0, 0);
  if (plan.gram == Gram::qr) {
    square(sums.triangle, out);
    out.triangle = sums.triangle;
  } else {
    unpack(sums.packed, out);
  }
}

}  // namespace nlsq::inline v0
