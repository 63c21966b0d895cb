// A Matrix is a small dense row-major matrix of doubles, in which the library returns results.
#pragma once

#include <cstddef>
#include <vector>

namespace nlsq::inline v0 {

// rows() x columns() entries; entry (i, j) is at data()[i * columns() + j].
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns, double fill = 0)
      : rows_(rows), columns_(columns), values_(rows * columns, fill) {}

  // Changes the size and fills all entries, reusing memory.
  void assign(std::size_t rows, std::size_t columns, double fill = 0) {
    rows_ = rows;
    columns_ = columns;
    values_.assign(rows * columns, fill);
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  bool empty() const { return values_.empty(); }
  double& operator()(std::size_t i, std::size_t j) { return values_[i * columns_ + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values_[i * columns_ + j]; }
  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<double> values_;
};

}  // namespace nlsq::inline v0
