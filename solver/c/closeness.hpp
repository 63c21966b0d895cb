// Whether two vectors of values are equal but for rounding. nlsq_model_agrees compares with it.
#pragma once

#include <cstddef>

namespace nlsq::inline v0::c {

// Two values may differ by relative * |theirs| + of_largest * (the largest finite |theirs| of all rows).
struct Closeness {
  double relative, of_largest;

  // Whether a part of the rows is close beyond doubt, by sums of squares: no difference is larger than the
  // root of their squares, and the largest value is no smaller than the root of the mean square. False says
  // nothing. Overwrites `ours`.
  bool is_plain(double* ours, const double* theirs, std::size_t count) const;
  // NaN agrees with NaN, and an infinity with the same infinity. `largest`: largest_size of all rows.
  bool holds(const double* ours, const double* theirs, std::size_t count, double largest) const;
};

// The largest finite size of a value; 0 if there is none.
double largest_size(const double* values, std::size_t count);

}  // namespace nlsq::inline v0::c
