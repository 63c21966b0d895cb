// Decides whether two vectors of values are equal but for rounding. nlsq_model_agrees uses it.
#pragma once

#include <cstddef>

namespace nlsq::inline v0::c {

// Two values may differ by relative * |theirs| + of_largest * (the largest finite |theirs| of all rows).
struct Closeness {
  double relative, of_largest;

  // A fast test by sums of squares of ours - theirs and of theirs. True means that the values of these rows
  // are close: no difference is larger than the root of the sum of their squares, and the largest value is no
  // smaller than the root mean square. False means that `holds` must decide.
  bool is_plain(const double* differences, const double* theirs, std::size_t count) const;
  // The exact test. NaN agrees with NaN, and an infinity with the same infinity. `largest` is largest_size()
  // of all rows.
  bool holds(const double* ours, const double* theirs, std::size_t count, double largest) const;
};

// Returns the largest |value| among the finite values, or 0 if there is none.
double largest_size(const double* values, std::size_t count);

}  // namespace nlsq::inline v0::c
