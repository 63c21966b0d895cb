// The report about the fits of an image. image_command.cpp prints it.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "images/image.hpp"
#include "images/image_fit.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

struct ImageReport {
  const Arguments& arguments;
  const Image& image;
  const ModelChoice& model;
  const ImageFits& fits;
  double read_seconds = 0, total_seconds = 0;

  // Pixels with this status.
  std::size_t count(PixelStatus status) const;
  // Pixels that were fitted, and those of them that did not succeed.
  std::size_t fitted() const { return fits.status.size() - count(kMasked); }
  std::size_t failed() const;
};

std::string image_text(const ImageReport& report);
// Which pixels did not succeed and why: a line for each reason. Empty if all did.
std::string failed_pixels(const ImageReport& report);

}  // namespace nlsq::cli
