// Implements NullSpace by inverse iteration for one direction after the other.
#include "blocks/schur/null_space.hpp"

#include "linear/dot.hpp"

#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

double NullSpace::product(const std::vector<double>& v, const std::vector<double>& w) const {
  double sum = 0;
  for (std::size_t j = 0; j < v.size(); ++j) sum += norms_[j] * v[j] * norms_[j] * w[j];
  return sum;
}

void NullSpace::remove_from(std::vector<double>& v) const {
  for (const std::vector<double>& direction : found_) {
    const double along = product(direction, v);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] -= along * direction[j];
  }
}

double NullSpace::share_of(std::size_t j) const {
  double squares = 0;
  for (const std::vector<double>& v : found_) squares += v[j] * v[j];
  return norms_[j] * std::sqrt(squares);
}

// Makes v a unit vector that is orthogonal to the directions found.
void NullSpace::normalise(std::vector<double>& v) const {
  for (int twice = 0; twice < 2; ++twice) remove_from(v);  // the first time leaves rounding errors
  const double length = std::sqrt(product(v, v));
  for (double& number : v) number /= length;
}

// Returns a random unit vector that is orthogonal to the space.
std::vector<double> NullSpace::random_outside() {
  std::vector<double> v(norms_.size());
  fill_with_signs(random_, v);
  for (std::size_t j = 0; j < v.size(); ++j) v[j] = !fixed_.empty() && fixed_[j] != 0 ? 0 : v[j] / norms_[j];
  normalise(v);
  return v;
}

// Replaces v by (JᵀJ + λD²)⁻¹ D² v.
void NullSpace::apply_inverse(std::vector<double>& v) {
  for (std::size_t j = 0; j < v.size(); ++j) v[j] *= norms_[j] * norms_[j];
  solver_.solve_factored(J_, v);
}

// Returns the direction outside of the space along which J is the shortest. Each inverse iteration reduces
// the part along another direction by the factor λ over the square of its singular value.
std::vector<double> NullSpace::shortest_outside() {
  constexpr int kIterations = 3;
  std::vector<double> v = random_outside();
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    apply_inverse(v);
    normalise(v);
  }
  return v;
}

// Tests whether the data determine all directions outside of the space. Multiplies random vectors by the
// inverse of JᵀJ + λD² and then by JᵀJ. If this gives the vectors back, JᵀJ is regular outside of the space.
// If some direction there were undetermined, its part of the vectors would be lost; a random vector has a
// part in each direction. This also finds directions that the factor does not show because of its rounding
// errors.
bool NullSpace::others_are_determined() {
  constexpr int kVectors = 3;
  constexpr double kMostError = 1e-3;
  std::vector<double> image(norms_.size());
  for (int k = 0; k < kVectors; ++k) {
    const std::vector<double> v = random_outside();
    std::vector<double> inverse = v;
    apply_inverse(inverse);
    solver_.multiply(J_, inverse, image);
    double squares = 0;
    for (std::size_t j = 0; j < v.size(); ++j)
      squares += std::pow(norms_[j] * v[j] - image[j] / norms_[j], 2);
    if (!(squares <= kMostError * kMostError)) return false;
  }
  return true;
}

bool NullSpace::find(std::size_t free, double rounding) {
  constexpr double kClear = 1e-6;  // its square is far above the rounding errors of JᵀJ
  constexpr int kRefinements = 3;
  std::vector<double> image(norms_.size());
  const auto length_of_image = [&](const std::vector<double>& v) {  // leaves JᵀJv in `image`
    solver_.multiply(J_, v, image);
    return std::sqrt(std::fabs(dot(v, image)));
  };
  while (found_.size() < free) {
    std::vector<double> v = shortest_outside();
    double length = length_of_image(v);
    if (length > kClear) return others_are_determined();
    // The factor has rounding errors, and so has v. JᵀJv, computed from the rows, shows its wrong part.
    for (int round = 0; round < kRefinements && !(length <= rounding); ++round) {
      solver_.solve_factored(J_, image);
      for (std::size_t j = 0; j < v.size(); ++j) v[j] -= image[j];
      normalise(v);
      length = length_of_image(v);
    }
    if (!(length <= rounding)) return false;
    found_.push_back(std::move(v));
  }
  return true;
}

}  // namespace nlsq::inline v0
