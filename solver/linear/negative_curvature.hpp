// Finds a direction in which a quadratic form is negative, where the matrix is known by its products alone.
// The checks for saddles use it, for blocks and for curves.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// A curvature below minus this share of the largest one counts as negative.
inline constexpr double kNegativeCurvature = 1e-4;

struct NegativeCurvature {
  double value = 0;           // the form along the direction: below 0, or 0 if none was found
  std::vector<double> along;  // of length 1; empty if none was found
};
// Computes a product of the matrix and v. Returns false if it cannot.
using CurvatureProduct = std::function<bool(std::span<const double> v, std::span<double> product)>;

// `n`: order of the matrix, which is symmetric up to errors of its products. Takes at most `most` products. A
// value above -kNegativeCurvature times the largest eigenvalue counts as 0.
NegativeCurvature negative_curvature(std::size_t n, std::size_t most, const CurvatureProduct& times);

}  // namespace nlsq::inline v0
