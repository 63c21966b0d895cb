// The face of the bounds that x lies on: parameters that are held there, and the problem of the others.
#pragma once

#include "dense/evaluator.hpp"
#include "linear/linear_solver.hpp"
#include "minimizer/box.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct Certified;

struct Face {
  std::vector<std::size_t> kept;  // parameters that are free to move
  std::vector<bool> held;         // the others, of all
};

// Held are those that the minimum of the undamped model within the bounds leaves on the bound they lie on;
// where that model has no one minimum, those that their own gradient pushes there. `model`: that minimum.
Face pushed_face(const Linearization& at, const Box& room, const Step& model);
// Held are all that lie on a bound.
Face touched_face(const Box& room);

// Held are those listed, of n.
Face face_without(std::size_t n, std::span<const int> listed);

// A linearization's columns of the parameters that are kept.
Linearization restricted(const Linearization& at, const Face& face);
std::vector<double> restricted(std::span<const double> x, const Face& face);
// Of all parameters again: what is held has no step and no covariance.
void expand(const Face& face, Certified& out);

}  // namespace nlsq::inline v0
