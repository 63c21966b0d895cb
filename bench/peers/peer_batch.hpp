// Declares data and peer of suite batch, which has many small images of one spot each.
#pragma once

#include "harness.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace bench {

// Holds images of 15 x 15 pixels of a exp(-((x - cx)² + (y - cy)²) / 2s²) + b, with parameters in the order
// a, cx, cy, s, b.
struct SpotBatch {
  std::size_t fits = 0;
  std::vector<double> x, y;            // of the pixels, the same for all images
  std::vector<double> images, starts;  // consecutive by fit
};

// Returns a contender that runs on `threads` threads of its own and divides the fits evenly.
std::optional<Contender> cminpack_batch(const SpotBatch& batch, double tolerance, int threads);

}  // namespace bench
