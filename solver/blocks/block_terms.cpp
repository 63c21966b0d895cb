// Implements measure_terms(): magnitudes and rounding errors of the residuals and gradients of a block
// problem.
#include "blocks/block_terms.hpp"

#include "support/constants.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Consecutive columns of a row of J: their first column, first tangent index, and number.
struct Columns {
  std::size_t column, tangent, count;
};

void columns_of(const BlockStructure& s, std::size_t point, std::size_t slot, std::vector<Columns>& out) {
  out.clear();
  if (s.point_size[point] > 0) out.push_back({0, s.point_offset[point], s.point_size[point]});
  for (std::uint32_t c = s.cell_first[slot]; c < s.cell_first[slot + 1]; ++c) {
    const std::uint32_t camera = s.entry_block[s.entry_first[point] + s.cell_entry[c]];
    out.push_back({s.cell_column[c], s.point_numbers + s.camera_offset[camera], s.block_size[camera]});
  }
}

struct RowTerms {
  double terms, residual;
};

// Sums up the terms of all rows, and compares each residual with the terms of its own row: one row of huge
// terms must not make the residuals of all others look like rounding errors. Rows whose terms are 0 or nearly
// so, such as a prior that holds a parameter at 0, would never look small beside themselves. The median of
// all terms stands for smaller ones.
void compare_rows(std::vector<RowTerms>& rows, BlockTerms& out) {
  double squares = 0;
  for (const RowTerms& row : rows) squares += row.terms * row.terms;
  out.magnitude = std::sqrt(squares);
  if (rows.empty()) return;
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
  std::ranges::nth_element(rows, middle, {}, &RowTerms::terms);
  const double median = middle->terms;
  for (const RowTerms& row : rows) {
    const double terms = std::max(row.terms, median);
    if (terms > 0) out.furthest = std::max(out.furthest, row.residual / terms);
  }
}

}  // namespace

std::vector<double> tangent_sizes(const Problem::Impl& problem, const BlockStructure& structure,
                                  std::span<const double> x) {
  std::vector<double> sizes(structure.tangent_size(), 0.0);
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    const std::int64_t first = structure.tangent_offset(p);
    if (first < 0) continue;
    const double* numbers = x.data() + structure.list.offsets[p];
    double squares = 0;
    for (int i = 0; i < block.size; ++i) squares += numbers[i] * numbers[i];
    for (int j = 0; j < block.tangent(); ++j) {
      sizes[static_cast<std::size_t>(first + j)] =
          block.manifold ? std::sqrt(squares) : std::fabs(numbers[j]);
    }
  }
  return sizes;
}

BlockTerms measure_terms(const BlockStructure& s, const Problem::Impl& problem, RecordReader<double>& J,
                         std::span<const double> squares, std::span<const double> x, double cost) {
  const std::vector<double> sizes = tangent_sizes(problem, s, x);
  BlockTerms out;
  out.gradient_noise.assign(sizes.size(), 0.0);
  std::vector<Columns> parts;
  double products = 0;
  std::vector<RowTerms> rows;
  rows.reserve(s.residuals);
  J.sweep([&](std::size_t first, std::size_t last, const RecordView<double>& records) {
    for (std::size_t point = first; point < last; ++point) {
      for (std::size_t slot = s.slot_first[point]; slot < s.slot_first[point + 1]; ++slot) {
        columns_of(s, point, slot, parts);
        const double* row = records.at(s.record()[slot]);
        for (std::size_t i = 0; i < s.rows[slot]; ++i, row += s.stride()[slot]) {
          const double residual = std::fabs(row[s.point_size[point]]);
          double first_order = 0;
          for (const Columns& part : parts) {
            for (std::size_t c = 0; c < part.count; ++c)
              first_order += std::fabs(row[part.column + c]) * sizes[part.tangent + c];
          }
          const double terms = std::max(residual, first_order);
          rows.push_back({terms, residual});
          products += terms * residual;
          for (const Columns& part : parts) {
            double* noise = out.gradient_noise.data() + part.tangent;
            for (std::size_t c = 0; c < part.count; ++c) noise[c] += std::fabs(row[part.column + c]) * terms;
          }
        }
      }
    }
  });
  // Bounds a few roundings in each residual, and sums of products with some tens of additions (as in
  // certificate.cpp).
  const double r = std::sqrt(2 * cost);
  for (std::size_t j = 0; j < sizes.size(); ++j)
    out.gradient_noise[j] = kUnitRoundoff * (4 * out.gradient_noise[j] + 32 * std::sqrt(squares[j]) * r);
  compare_rows(rows, out);
  out.cost_noise =
      kUnitRoundoff *
      (8 * cost + 4 * products / std::sqrt(std::max<double>(1, static_cast<double>(s.residuals))));
  return out;
}

}  // namespace nlsq::inline v0
