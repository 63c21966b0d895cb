// Fits each pixel of an image by itself. image_command.cpp uses it.
#pragma once

#include "arguments/model_choice.hpp"
#include "images/image.hpp"

#include <nlsq/groups.hpp>
#include <nlsq/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace nlsq::cli {

// The status of a pixel in the maps: 0 if it is masked, otherwise its verdict + 1.
using PixelStatus = std::uint8_t;
inline constexpr PixelStatus kMasked = 0;
inline PixelStatus status_of(Verdict verdict) {
  return static_cast<PixelStatus>(static_cast<int>(verdict) + 1);
}
// Returns "masked", "CONVERGED" and so on.
std::string status_name(PixelStatus status);
inline constexpr PixelStatus kStatuses = 7;
// Returns true if the numbers of the pixel may be used as a minimum.
bool is_success(PixelStatus status);

// Holds the fits of all pixels. Row or entry p of every array belongs to pixel p. It is NaN if nothing was
// fitted.
struct ImageFits {
  std::vector<std::string> parameter_names;
  Matrix parameters, standard_errors;
  // For each parameter with bounds, 1 in pixels in which it ends on one, else 0.
  std::map<std::string, std::vector<std::uint8_t>> at_bound;
  std::vector<double> cost;
  std::vector<PixelStatus> status;
  std::map<std::size_t, std::string> message;   // reasons of pixels that did not succeed
  std::map<std::size_t, std::string> warnings;  // of pixels that succeeded; see GroupsResult
  std::vector<std::uint8_t> from_neighbour;     // 1: the fit started from a neighbour's result
};

// One pixel in each block of 8 × 8 (neighbours.hpp) is fitted from its own guess, as curve_fit_groups does.
// The others start from the result of such a neighbour, because a guess takes several times as long as a fit.
// A neighbour is used only if its curve has an R² of at least 0.5 for the pixel. Three kinds of pixels are
// then fitted from their own guess, too, and the lower cost counts: those that are not certified, those whose
// cost is far above the median of the neighbours', and those whose residuals are correlated in x. A pixel
// that is still not certified, or still far above, is fitted from the closest result whatever its R² is.
//
// All steps depend on the data alone: results have the same bits for any number of threads. `p0` and
// `options` are those of curve_fit_groups. Throws the errors of the library.
ImageFits fit_image(const Image& image, const ModelChoice& model, const NamedValues& p0,
                    const GroupOptions& options);

}  // namespace nlsq::cli
