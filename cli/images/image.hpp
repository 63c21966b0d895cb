// Declares an image whose pixels are curves: the array, its axes, x, sigma and the mask. image_fit.cpp fits
// it.
#pragma once

#include "arguments/arguments.hpp"
#include "table/data_selection.hpp"
#include "table/npy/npy_array.hpp"
#include "table/source/checksum.hpp"

#include <nlsq/columns.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Pixels are numbered along the rows of the image. An array of two dimensions is an image of one row.
struct Image {
  std::string source;  // the file's name
  // All files that were read: the image, x, sigma and mask.
  std::vector<std::pair<std::string, std::shared_ptr<InputChecksum>>> files;
  std::unique_ptr<NpyArray> data;  // as on disk: no copy is made of it
  std::size_t axis = 0;            // axis of the points
  std::string axis_reason;         // "it has as many points as x", for the report
  std::vector<std::size_t> shape;  // shape of the maps: that of the array without `axis`
  std::size_t height = 1, width = 1, points = 1;
  std::vector<std::vector<double>> x;  // a column for each predictor
  std::vector<std::string> x_names;    // names of the predictors
  std::string x_text;                  // "50 values of times.npy"
  // The sigma of each point, the same in all pixels; empty if there is none, or with sigmas.
  std::vector<double> sigma;
  std::unique_ptr<NpyArray> sigmas;  // sigma of each number, in an array of the image's shape
  std::string sigma_text;            // "0.5"; empty: none
  std::vector<std::uint8_t> fitted;  // 1 for each pixel to be fitted; empty if all are

  std::size_t pixels() const { return height * width; }
  bool has_sigma() const { return !sigma.empty() || sigmas != nullptr; }
  bool is_fitted(std::size_t pixel) const { return fitted.empty() || fitted[pixel] != 0; }
  // Returns the predictors as columns, which refer to `x`.
  Columns predictors() const;
  // Copies the numbers of some pixels, all points of the first, then of the next. `array`: *data or *sigmas.
  void read(const NpyArray& array, std::span<const std::uint32_t> pixels, double* out) const;
  std::vector<std::size_t> index(std::size_t pixel) const;  // position of the pixel in the maps
  // "[3, 17]", as it is written in Python.
  std::string place(std::size_t pixel) const;
};

// "512 × 512 × 50"
std::string shape_text(const std::vector<std::size_t>& shape);

// Reads the image with its x, sigma and mask. Throws BadData or UsageError.
Image read_image(const Arguments& arguments);

// Returns the data that choose_model() and fit_options() need: names of the predictors, but no rows.
FitData fit_data_of(const Image& image);

}  // namespace nlsq::cli
