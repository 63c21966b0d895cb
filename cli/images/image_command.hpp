// Runs nlsq-fit with --maps: fits each pixel of an image by itself and writes maps of the parameters.
#pragma once

#include "arguments/arguments.hpp"

namespace nlsq::cli {

// Throws UsageError for options that images cannot be combined with, and for those of images without --maps.
void check_image_arguments(const Arguments& arguments);

// Returns the exit status: 0 if every fitted pixel succeeded, 1 if one did not.
int image_command(const Arguments& arguments);

}  // namespace nlsq::cli
