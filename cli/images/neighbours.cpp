// Implements Neighbours.
#include "images/neighbours.hpp"

#include <nlsq/evaluate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace nlsq::cli {

namespace {

constexpr std::size_t kSide = 8, kInOneRow = 64;  // pixels of a block

double half_squares(const double* y, const double* curve, const double* sigma, std::size_t points) {
  double sum = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double r = sigma == nullptr ? y[i] - curve[i] : (y[i] - curve[i]) / sigma[i];
    sum += r * r;
  }
  return sum / 2;
}

}  // namespace

Neighbours::Neighbours(const Image& image)
    : image_(image), block_height_(image.height == 1 ? 1 : kSide),
      block_width_(image.height == 1 ? kInOneRow : kSide),
      rows_((image.height + block_height_ - 1) / block_height_),
      columns_((image.width + block_width_ - 1) / block_width_), of_block_(rows_ * columns_) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> nearest(of_block_.size(), kNone);
  std::vector<std::size_t> distance(of_block_.size());
  for (std::size_t pixel = 0; pixel < image.pixels(); ++pixel) {
    if (!image.is_fitted(pixel)) continue;
    const auto off = [](std::size_t place, std::size_t side) {
      const std::size_t at = place % side, middle = side / 2;
      return at > middle ? at - middle : middle - at;
    };
    const std::size_t d = off(pixel / image.width, block_height_) + off(pixel % image.width, block_width_);
    const std::size_t block = block_of(pixel);
    if (nearest[block] != kNone && distance[block] <= d) continue;
    nearest[block] = static_cast<std::uint32_t>(pixel);
    distance[block] = d;
  }
  for (const std::uint32_t pixel : nearest)
    if (pixel != kNone) chosen_.push_back(pixel);
  std::sort(chosen_.begin(), chosen_.end());
}

std::size_t Neighbours::block_of(std::size_t pixel) const {
  return pixel / image_.width / block_height_ * columns_ + pixel % image_.width / block_width_;
}

void Neighbours::add(const PreparedModel& model, std::uint32_t pixel, std::span<const double> parameters,
                     double cost) {
  Neighbour one;
  one.parameters.assign(parameters.begin(), parameters.end());
  one.cost = cost;
  EvaluateOptions options;
  options.threads = 1;
  Evaluation model_there =
      evaluate(model, image_.predictors(), one.parameters, PrecisionPolicy::all_f64(), options);
  if (!model_there.finite) return;
  one.curve = std::move(model_there.values);
  of_block_[block_of(pixel)] = std::move(one);
}

template <class Use>
void Neighbours::around(std::uint32_t pixel, Use use) const {
  const std::size_t block = block_of(pixel), row = block / columns_, column = block % columns_;
  const auto one = [&](bool inside, std::size_t other) {
    if (inside && of_block_[other]) use(*of_block_[other]);
  };
  one(true, block);
  one(row > 0, block - columns_);
  one(column > 0, block - 1);
  one(column + 1 < columns_, block + 1);
  one(row + 1 < rows_, block + columns_);
}

const Neighbour* Neighbours::closest(std::uint32_t pixel, const double* y, const double* sigma,
                                     double& cost) const {
  const Neighbour* best = nullptr;
  cost = std::numeric_limits<double>::infinity();
  around(pixel, [&](const Neighbour& one) {
    const double its = half_squares(y, one.curve.data(), sigma, image_.points);
    if (its < cost) best = &one, cost = its;
  });
  return best;
}

double Neighbours::usual_cost(std::uint32_t pixel) const {
  std::array<double, 5> costs;
  costs.fill(std::numeric_limits<double>::infinity());  // sorted behind those that are known
  std::size_t count = 0;
  around(pixel, [&](const Neighbour& one) { costs[count++] = one.cost; });
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(costs);
  return costs[count / 2];
}

}  // namespace nlsq::cli
