// Implements NullSpace by inverse iteration for several directions at a time, because they share the readings
// of J.
#include "blocks/schur/null_space.hpp"

#include "linear/dot.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>

namespace nlsq::inline v0 {

namespace {

double length_by_image(const std::vector<double>& v, const std::vector<double>& image) {
  return std::sqrt(std::fabs(dot(v, image)));
}

}  // namespace

double NullSpace::product(const std::vector<double>& v, const std::vector<double>& w) const {
  double sum = 0;
  for (std::size_t j = 0; j < norms_.size(); ++j) sum += norms_[j] * v[j] * norms_[j] * w[j];
  return sum;
}

// Subtracts from v its part along a unit vector.
void NullSpace::remove_part(std::vector<double>& v, const std::vector<double>& along) const {
  const double part = product(along, v);
  for (std::size_t j = 0; j < v.size(); ++j) v[j] -= part * along[j];
}

void NullSpace::remove_from(std::vector<double>& v) const {
  for (const std::vector<double>& direction : found_) remove_part(v, direction);
}

double NullSpace::share_of(std::size_t j) const {
  double squares = 0;
  for (const std::vector<double>& v : found_) squares += v[j] * v[j];
  return norms_[j] * std::sqrt(squares);
}

// Makes the vectors unit vectors that are orthogonal to each other and to the directions found.
void NullSpace::normalise(std::span<std::vector<double>> block) const {
  for (std::size_t k = 0; k < block.size(); ++k) {
    std::vector<double>& v = block[k];
    for (int twice = 0; twice < 2; ++twice) {  // the first time leaves rounding errors
      remove_from(v);
      for (std::size_t i = 0; i < k; ++i) remove_part(v, block[i]);
    }
    const double length = std::sqrt(product(v, v));
    for (double& number : v) number /= length;
  }
}

// Returns random unit vectors that are orthogonal to each other and to the space.
NullSpace::Block NullSpace::random_outside(std::size_t count) {
  Block block(count, std::vector<double>(norms_.size()));
  for (std::vector<double>& v : block) {
    fill_with_signs(random_, v);
    for (std::size_t j = 0; j < v.size(); ++j)
      v[j] = !fixed_.empty() && fixed_[j] != 0 ? 0 : v[j] / norms_[j];
  }
  normalise(block);
  return block;
}

// Replaces each v by (JᵀJ + λD²)⁻¹ D² v.
void NullSpace::apply_inverse(std::span<std::vector<double>> block) {
  for (std::vector<double>& v : block) {
    for (std::size_t j = 0; j < v.size(); ++j) v[j] *= norms_[j] * norms_[j];
  }
  solver_.solve_factored(J_, block);
}

// Returns JᵀJ v of each v.
NullSpace::Block NullSpace::image_of(std::span<const std::vector<double>> block) const {
  Block image(block.size(), std::vector<double>(norms_.size()));
  solver_.multiply(J_, block, image);
  return image;
}

// Returns the directions outside of the space along which J is the shortest. Each inverse iteration reduces
// the parts along other directions by the factor λ over the squares of their singular values.
NullSpace::Block NullSpace::shortest_outside(std::size_t count) {
  constexpr int kIterations = 3;
  Block block = random_outside(count);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    apply_inverse(block);
    normalise(block);
  }
  return block;
}

// Removes errors of the vectors that come from rounding errors of the factor. The products JᵀJ v, which are
// computed from the rows of J, show these errors. Returns false if J v stays longer than `rounding` for some
// v.
bool NullSpace::shorten(Block& block, Block& image, double rounding) {
  constexpr int kRefinements = 3;
  const auto is_short = [&] {
    for (std::size_t k = 0; k < block.size(); ++k) {
      if (!(length_by_image(block[k], image[k]) <= rounding)) return false;
    }
    return true;
  };
  for (int round = 0; round < kRefinements && !is_short(); ++round) {
    solver_.solve_factored(J_, image);
    for (std::size_t k = 0; k < block.size(); ++k) {
      for (std::size_t j = 0; j < block[k].size(); ++j) block[k][j] -= image[k][j];
    }
    normalise(block);
    image = image_of(block);
  }
  return is_short();
}

// Tests whether the data determine all directions outside of the space. Multiplies random vectors by the
// inverse of JᵀJ + λD² and then by JᵀJ. If this gives the vectors back, JᵀJ is regular outside of the space.
// If some direction there were undetermined, its part of the vectors would be lost; a random vector has a
// part in each direction. This also finds directions that the factor does not show because of its rounding
// errors.
bool NullSpace::others_are_determined() {
  constexpr std::size_t kVectors = 3;
  constexpr double kMostError = 1e-3;
  const Block block = random_outside(kVectors);
  Block inverse = block;
  apply_inverse(inverse);
  const Block image = image_of(inverse);
  return std::ranges::all_of(std::views::iota(std::size_t{0}, kVectors), [&](std::size_t k) {
    double squares = 0;
    for (std::size_t j = 0; j < norms_.size(); ++j)
      squares += std::pow(norms_[j] * block[k][j] - image[k][j] / norms_[j], 2);
    return squares <= kMostError * kMostError;
  });
}

bool NullSpace::find(std::size_t free, double rounding) {
  constexpr std::size_t kAtOnce = 8;  // one more than a scene without a fixed frame has
  constexpr double kClear = 1e-6;     // its square is far above the rounding errors of JᵀJ
  while (found_.size() < free) {
    Block block = shortest_outside(std::min(kAtOnce, free - found_.size()));
    Block image = image_of(block);
    const std::size_t tried = block.size();
    std::size_t open = 0;  // vectors whose directions may be undetermined; they come first
    for (std::size_t k = 0; k < tried; ++k) {
      if (length_by_image(block[k], image[k]) > kClear) continue;
      std::swap(block[open], block[k]);
      std::swap(image[open++], image[k]);
    }
    block.resize(open);
    image.resize(open);
    if (!shorten(block, image, rounding)) return false;
    std::ranges::move(block, std::back_inserter(found_));
    if (open < tried) return others_are_determined();
  }
  return true;
}

}  // namespace nlsq::inline v0
