// The minimum of a least-squares problem near a point, in numbers of twice the digits of f64. What the terms
// of a model lose where they cancel is still known to these numbers: the residuals, and the rank of J.
#pragma once

#include "expression/twofold.hpp"
#include "rows/twofold_rows.hpp"

#include <nlsq/matrix.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct TwofoldProblem {
  TwofoldRows& rows;
  std::size_t count;                                       // of the rows
  std::vector<std::size_t> free;                           // the numbers of x that no bound holds
  std::function<bool(std::span<const double> x)> allowed;  // whether x is within the bounds
  bool unit_sigma = false;
  bool may_move = true;  // x may be replaced by better f64 numbers
};

// What is known of the best f64 numbers that were found.
struct TwofoldMinimum {
  std::vector<double> x;
  bool whole = false;   // J has the rank of all columns
  double distance = 0;  // ν₀ and what may be wrong with it, on the scale of the residuals
  double sigma = 0;     // the scatter of the residuals at the minimum; 1 with absolute sigma
  double scatter = 0;   // the scatter of the residuals at x
  double cost = 0;      // at x
  double gradient = 0;  // the largest cosine of a column of J and the residuals
  double gradient_bound = 0;
  double step = 0;       // ‖D s‖ / ‖D x‖ of what is left to the minimum
  double condition = 0;  // an upper bound of κ₀, by norms of Frobenius
  Matrix covariance;     // (JᵀJ)⁻¹ of the free numbers; empty unless `whole`
  bool near = false;     // the minimum is within a tenth of a standard error
  // The data are exact: their residuals at the minimum are no more than some last digits. x is as near as
  // rounding each number of it by itself would leave it, and its residuals are small beside the data.
  bool exact = false;
  bool rounded = false;  // the same, and the residuals at the minimum are what rounding took from the data
};

// Moves x to its minimum by at most a few Gauss-Newton steps that help, each to f64 numbers that lie close to
// where it leads. Returns nothing where derivatives or residuals are not finite, or where there are so many
// rows that this would take too long.
std::optional<TwofoldMinimum> minimum_by_twofold(const TwofoldProblem& problem, std::span<const double> x);

// Finds small whole numbers that make ‖z + B·numbers‖ small, for an n x n upper triangle B by columns: LLL
// reduction and Babai's nearest plane. A column of B is the effect of one last digit of a parameter.
std::vector<Twofold> nearest_on_grid(std::vector<Twofold> B, std::size_t n, std::vector<Twofold> z);

}  // namespace nlsq::inline v0
