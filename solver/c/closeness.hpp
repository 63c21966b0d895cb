// Decides whether two vectors of values are equal but for rounding. nlsq_model_agrees uses it.
#pragma once

#include <cstddef>
#include <functional>

namespace nlsq::inline v0::c {

// Sums of squares of ours - theirs and of theirs, over rows that are added one part after the other.
struct SquareSums {
  double differences = 0, theirs = 0;
  std::size_t count = 0;
  void add(const double* differing, const double* values, std::size_t rows);
};

// Two values may differ by relative * |theirs| + of_largest * (the largest finite |theirs| of all rows), or
// by the rounding of the terms they are made of, where large terms cancel.
struct Closeness {
  double relative, of_largest;

  // A fast test. True means that the values of these rows are close: no difference is larger than the root of
  // the sum of their squares, and the largest value is no smaller than the root mean square. False means that
  // `holds` must decide.
  bool is_plain(const SquareSums& sums) const;
  // The exact test. NaN agrees with NaN, and an infinity with the same infinity. `largest` is largest_size()
  // of all rows. `rounding(i)` tells how far the rounding of its operations moves value i, if each is rounded
  // by operation_rounding(). It is asked only where values differ by more than the rest allows. Where it
  // exceeds 1000 * relative * largest, the values say nothing about the model, and do not count as close.
  bool holds(const double* ours, const double* theirs, std::size_t count, double largest,
             const std::function<double(std::size_t)>& rounding) const;
  // 2^-44 for 1e-12: functions may be wrong by some last digits, and terms may be many.
  double operation_rounding() const { return of_largest / 16; }
};

// Returns the largest |value| among the finite values, or 0 if there is none.
double largest_size(const double* values, std::size_t count);

}  // namespace nlsq::inline v0::c
