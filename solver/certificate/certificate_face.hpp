// The face of the bounds that x lies on says which parameters are fixed, and holds the smaller problem of the
// free ones. The certificate uses it.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct Certified;

struct Face {
  std::vector<std::size_t> kept;  // indices of free parameters
  std::vector<bool> held;         // true for each fixed parameter
};

// Fixes the parameters that the minimum of the undamped model within the bounds leaves on their bound.
// `model` is that minimum. If it is not unique, fixes the parameters that their own gradient pushes against
// their bound.
Face pushed_face(const Linearization& at, const Box& room, const Step& model);
// Fixes every parameter that lies on a bound.
Face touched_face(const Box& room);

// Fixes the listed ones of n parameters.
Face face_without(std::size_t n, std::span<const int> listed);

// Returns the columns of a linearization that belong to free parameters.
Linearization restricted(const Linearization& at, const Face& face);
std::vector<double> restricted(std::span<const double> x, const Face& face);
// Expands a result to all parameters. Fixed ones get a zero step and NaN covariance.
void expand(const Face& face, Certified& out);

}  // namespace nlsq::inline v0
