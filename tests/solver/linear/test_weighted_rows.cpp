// Tests QR of rows of very different weights.
#include "linear/weighted_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace nlsq;

namespace {

// Returns three columns of unit length over four rows. The third is the second if they are dependent.
DenseRows rows_of(bool dependent) {
  const double half = 0.5, root = std::sqrt(0.5);
  DenseRows out{4, 3, {}, std::vector<double>(4, 0.0)};
  out.J = {half, half, half, half, root, -root, 0, 0};
  const std::vector<double> third =
      dependent ? std::vector<double>{root, -root, 0, 0} : std::vector<double>{0, 0, root, -root};
  out.J.insert(out.J.end(), third.begin(), third.end());
  return out;
}

// Returns the image of a vector under rows_of().
std::vector<double> image(const DenseRows& A, const std::vector<double>& v) {
  std::vector<double> out(A.rows, 0.0);
  for (std::size_t j = 0; j < A.columns; ++j)
    for (std::size_t i = 0; i < A.rows; ++i) out[i] += A.J[j * A.rows + i] * v[j];
  return out;
}

}  // namespace

TEST_CASE("random solutions have the covariance (JᵀJ)⁻¹") {
  const DenseRows A = rows_of(false);
  const auto found = random_solutions(A, 4000);
  REQUIRE(found.size() == 4000);
  double products[3][3] = {};
  for (const std::vector<double>& v : found)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        products[i][j] += v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)] / 4000;
  // The columns are orthogonal, so this is the identity.
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) CHECK(std::fabs(products[i][j] - (i == j ? 1 : 0)) < 0.1);
}

// Moves of 1e9 along what the data do not determine made the check of derivatives blind.
TEST_CASE("random solutions do not move along dependent columns") {
  const DenseRows A = rows_of(true);
  for (const std::vector<double>& v : random_solutions(A, 20)) {
    double squares = 0;
    for (const double number : v) {
      CHECK(std::fabs(number) < 3);
      squares += number * number;
    }
    double moved = 0;
    for (const double number : image(A, v)) moved += number * number;
    CHECK(squares > 0);
    CHECK(moved == doctest::Approx(2));  // one for each of the two determined directions
  }
}
