// Declares the pixels of an image whose answers are starts for the pixels around them. image_fit.cpp uses it.
#pragma once

#include "images/image.hpp"

#include <nlsq/prepared_model.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::cli {

// Holds the answer of a pixel whose fit from its own guess succeeded.
struct Neighbour {
  std::vector<double> parameters, curve;  // the curve: the model at every x
  double cost = 0;
};

// The image is divided into blocks of 8 × 8 pixels, or of 64 in a single row. One pixel of each, the one
// nearest to the middle that is fitted, may become a neighbour.
class Neighbours {
 public:
  explicit Neighbours(const Image& image);

  // Returns the chosen pixels, in their order.
  const std::vector<std::uint32_t>& chosen() const { return chosen_; }
  // Adds the answer of a chosen pixel. It is left out if the model is not finite there.
  void add(const PreparedModel& model, std::uint32_t pixel, std::span<const double> parameters, double cost);

  // Compares the neighbours in the pixel's block and in the four beside it. Returns the one whose curve is
  // closest to y, and the cost of that curve, or null if there is no neighbour. `sigma` is null if there is
  // none.
  const Neighbour* closest(std::uint32_t pixel, const double* y, const double* sigma, double& cost) const;
  // Returns the median cost of these neighbours, or NaN if there are none.
  double usual_cost(std::uint32_t pixel) const;

 private:
  std::size_t block_of(std::size_t pixel) const;
  // Calls use(neighbour) for those of the block and of the four beside it.
  template <class Use>
  void around(std::uint32_t pixel, Use use) const;

  const Image& image_;
  std::size_t block_height_, block_width_, rows_, columns_;  // rows and columns of blocks
  std::vector<std::uint32_t> chosen_;
  std::vector<std::optional<Neighbour>> of_block_;
};

}  // namespace nlsq::cli
