// Measures how far wrong derivatives by the user's functions have moved the minimum. An error that is small
// beside its column may still move it far: rows of large weight fill the column, and light rows alone
// determine a direction. So the measure is the error of the gradient, e = (differences - J)ᵀ r, in the metric
// of (JᵀJ)⁻¹. The root of eᵀ (JᵀJ)⁻¹ e is the distance from x to the right minimum, as in a certificate.
//
// For d = (JᵀJ)⁻¹ Jᵀ z with random signs z, the mean of (dᵀe)² is eᵀ (JᵀJ)⁻¹ e. So few moves d are enough
// for any number of parameters. A step of σ d is as long as the moves that noise of the data causes, so each
// number moves on its own scale. The checks of blocks and of residual functions use this.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

inline constexpr std::size_t kMovesByNoise = 4;
// So many moves are tried first. If they show no more than a part of what counts, errors that move the
// minimum are unlikely, and the others are left out.
inline constexpr std::size_t kFirstMoves = 2;
inline constexpr double kFarOff = 0.08;  // standard errors; below 0.1, because the measure is random

// Holds moves whose images J d are orthogonal and have the expected length. So the measure is exact if there
// are as many moves as parameters.
class OrthogonalMoves {
 public:
  // `free` is the number of parameters that move.
  OrthogonalMoves(std::size_t free, std::size_t residuals);
  // Adds a move with its image, unless it depends on the others.
  void add(std::vector<double> move, std::vector<double> image);
  const std::vector<std::vector<double>>& moves() const { return moves_; }

 private:
  double length_;
  std::vector<std::vector<double>> moves_, images_;
};

// Describes a comparison along a move.
struct MovedRows {
  std::span<const double> given;     // J d
  std::span<const double> weighted;  // the residuals, times the squared weights that losses give them
  double sigma = 0;                  // one standard error, if d has unit length
  double rounding = 0;               // error of a residual
  // Writes (r(x + h d) - r(x)) / h by row, and returns false if it cannot. Rows without a value are NaN.
  std::function<bool(double h, std::vector<double>& slopes)> slopes;
};
// Returns the size of the effect of wrong derivatives on the slope of the cost along a move, or 0 if
// differences do not clearly show one. They must show the same effect with two steps, and about the same with
// a long one.
double effect_along(const MovedRows& rows);

// Returns the place of the largest effect if all of them together, in standard errors, say that the minimum
// has moved too far. The effects are those along each move, on a `share` of the rows.
std::optional<std::size_t> worst_move(std::span<const double> effects, double share = 1);

// Returns true if the effects along the first moves ask for all of them.
bool needs_all_moves(std::span<const double> effects);

// Returns true if the data determine some number so weakly that even the shortest step along a move leaves
// the shape of the functions, as beside a peak that no row sees. `sizes` are those of the numbers.
bool is_too_long(std::span<const double> move, double sigma, std::span<const double> sizes);

}  // namespace nlsq::inline v0
