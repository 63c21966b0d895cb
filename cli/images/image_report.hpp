// Declares the report about the fits of an image. image_command.cpp prints it.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "images/image.hpp"
#include "images/image_fit.hpp"
#include "table/joined/input_files.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

// This is the default of --max-iterations for a pixel. Pixels without a minimum, such as those outside a
// peak, use all of it. Hardly any pixel with a minimum needs more.
inline constexpr int kPixelIterations = 200;

struct ImageReport {
  const Arguments& arguments;
  const Image& image;
  const ModelChoice& model;
  const ImageFits& fits;
  double read_seconds = 0, total_seconds = 0;
  std::vector<InputFile> files = {};  // for --json: the image, x, sigma and mask

  // Returns the number of pixels with this status.
  std::size_t count(PixelStatus status) const;
  // Return the number of pixels that were fitted, and of those of them that did not succeed.
  std::size_t fitted() const { return fits.status.size() - count(kMasked); }
  std::size_t failed() const;
};

// Holds the range of a parameter over the pixels that succeeded.
struct ParameterRange {
  std::string name;
  double median = 0, lowest = 0, highest = 0, median_error = 0;  // NaN where nothing determines them
  std::optional<std::size_t> at_bound = {};  // pixels in which it ends on a bound, if it has bounds
};
// Returns nothing if no pixel succeeded.
std::vector<ParameterRange> parameter_ranges(const ImageReport& report);

std::string image_text(const ImageReport& report);
std::string image_json(const ImageReport& report);

}  // namespace nlsq::cli
