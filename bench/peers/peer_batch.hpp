// Many small images of one spot each: the batch suite's data, and its peer.
#pragma once

#include "harness.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace bench {

// 15 x 15 pixels; a exp(-((x - cx)² + (y - cy)²) / 2s²) + b, parameters in the order a, cx, cy, s, b.
struct SpotBatch {
  std::size_t fits = 0;
  std::vector<double> x, y;            // of the pixels, which all images share
  std::vector<double> images, starts;  // fit after fit
};

// On so many threads of its own, fits shared out evenly.
std::optional<Contender> cminpack_batch(const SpotBatch& batch, double tolerance, int threads);

}  // namespace bench
