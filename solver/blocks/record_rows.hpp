// Visits the rows of J in the records of a block problem, with the columns that each row has. Sums over rows
// that need no array of all columns use it.
#pragma once

#include "blocks/block_structure.hpp"
#include "blocks/windows/record_reader.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Describes consecutive columns of a row of J: the first column, its tangent index, and their number.
struct RecordColumns {
  std::size_t column, tangent, count;
};

// A row of J. `number` is its place among all residuals.
struct JacobianRow {
  const double* entries;
  std::span<const RecordColumns> parts;
  std::size_t residual_at, number;

  double residual() const { return entries[residual_at]; }
  // Calls visit(tangent index, entry) for each entry.
  void for_each(const auto& visit) const {
    for (const RecordColumns& part : parts) {
      for (std::size_t c = 0; c < part.count; ++c) visit(part.tangent + c, entries[part.column + c]);
    }
  }
  // Returns the product with a vector over tangent indices.
  double times(const double* v) const {
    double sum = 0;
    for_each([&](std::size_t j, double entry) { sum += entry * v[j]; });
    return sum;
  }
  double norm() const {
    double squares = 0;
    for_each([&](std::size_t, double entry) { squares += entry * entry; });
    return std::sqrt(squares);
  }
  // Adds a multiple of the row to a vector over tangent indices.
  void add_multiple(double factor, double* to) const {
    for_each([&](std::size_t j, double entry) { to[j] += factor * entry; });
  }
};

// Calls visit(JacobianRow) for each row of J that belongs to a point, in the order of the slots. If the point
// has columns of its own, they are the first part of each row. All other parts are columns of cameras. The
// function overwrites `parts`. Callers keep this vector, so that its memory is used again.
void for_each_row_of_point(const BlockStructure& s, const RecordView<double>& records, std::size_t point,
                           std::vector<RecordColumns>& parts, const auto& visit) {
  for (std::size_t slot = s.slot_first[point]; slot < s.slot_first[point + 1]; ++slot) {
    parts.clear();
    if (s.point_size[point] > 0) parts.push_back({0, s.point_offset[point], s.point_size[point]});
    for (std::uint32_t c = s.cell_first[slot]; c < s.cell_first[slot + 1]; ++c) {
      const std::uint32_t camera = s.entry_block[s.entry_first[point] + s.cell_entry[c]];
      parts.push_back({s.cell_column[c], s.point_numbers + s.camera_offset[camera], s.block_size[camera]});
    }
    const double* row = records.at(s.record()[slot]);
    const std::size_t rows = s.rows[slot], stride = s.stride()[slot], residual_at = s.point_size[point];
    for (std::size_t i = 0; i < rows; ++i, row += stride)
      visit(JacobianRow{row, parts, residual_at, s.list.row[slot] + i});
  }
}

// Does the same for the rows of all points.
void for_each_record_row(const BlockStructure& s, RecordReader<double>& J, const auto& visit) {
  std::vector<RecordColumns> parts;
  J.sweep([&](std::size_t first, std::size_t last, const RecordView<double>& records) {
    for (std::size_t point = first; point < last; ++point)
      for_each_row_of_point(s, records, point, parts, visit);
  });
}

}  // namespace nlsq::inline v0
