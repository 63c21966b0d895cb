// Reads a column block by block, so that columns of files need not fit into memory.
#pragma once

#include <nlsq/column.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Calls visit(first, values) for each block, where `first` is the row of its first value.
template <class Visit>
void for_blocks(const Column& column, Visit visit) {
  std::vector<double> block(4096);
  for (std::size_t first = 0; first < column.size(); first += block.size()) {
    const std::size_t count = std::min(block.size(), column.size() - first);
    column.read(first, count, block.data());
    visit(first, std::span<const double>(block).first(count));
  }
}

// Holds the smallest and the largest number of a column.
struct ColumnRange {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  double width() const { return most - least; }
};
inline ColumnRange range_of(const Column& column) {
  ColumnRange out;
  for_blocks(column, [&](std::size_t, std::span<const double> values) {
    for (const double v : values) out.least = std::min(out.least, v), out.most = std::max(out.most, v);
  });
  return out;
}

// Adds numbers that parameters of a model often have, given the range of a predictor: places in the range,
// its width, and the inverse of the width. Adds none if all numbers of the column are the same.
inline void add_usual_numbers(const Column& column, std::vector<double>& out) {
  const ColumnRange range = range_of(column);
  const double width = range.width();
  if (!(width > 0) || !std::isfinite(width)) return;
  for (const double place : {0.25, 0.5, 0.75}) out.push_back(range.least + place * width);
  out.push_back(width);
  out.push_back(1 / width);
}

inline bool is_zero(const Column& column) {
  const ColumnRange range = range_of(column);
  return range.least == 0 && range.most == 0;
}

// Returns true if all numbers of a column are the same, and not 0.
inline bool is_constant(const Column& column) {
  const ColumnRange range = range_of(column);
  return range.least == range.most && range.least != 0;
}

// Returns the mean of the finite numbers of a column; 0 if it has none.
inline double mean_of_finite(const Column& column) {
  double sum = 0;
  std::size_t finite = 0;
  for_blocks(column, [&](std::size_t, std::span<const double> values) {
    double part = 0;
    for (const double v : values)
      if (std::isfinite(v)) part += v, ++finite;
    sum += part;
  });
  return finite == 0 ? 0 : sum / static_cast<double>(finite);
}

}  // namespace nlsq::inline v0
