// Implements measure_terms(): magnitudes and rounding errors of the residuals and gradients of a block
// problem.
#include "blocks/block_terms.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kU = 0x1p-53;

// One residual block: the position of its record, and the tangent indices of its columns.
struct SlotColumns {
  struct Part {
    std::size_t tangent, column, count;
  };
  std::vector<Part> parts;

  void read(const BlockStructure& s, const Problem::Impl& problem, std::size_t slot) {
    parts.clear();
    for (std::uint32_t k = s.list.first[slot]; k < s.list.first[slot + 1]; ++k) {
      if (s.local_column()[k] < 0) continue;
      const std::uint32_t p = s.list.parameters[k];
      parts.push_back({static_cast<std::size_t>(s.tangent_offset(p)),
                       static_cast<std::size_t>(s.local_column()[k]),
                       static_cast<std::size_t>(problem.parameters[p].tangent())});
    }
  }
};

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

BlockTerms measure_terms(const BlockStructure& s, const Problem::Impl& problem, const double* J,
                         std::span<const double> x, double cost) {
  const std::vector<double> sizes = tangent_sizes(problem, s, x);
  BlockTerms out;
  out.gradient_noise.assign(sizes.size(), 0.0);
  out.largest.assign(sizes.size(), 0.0);
  std::vector<double> squares(sizes.size(), 0.0);
  SlotColumns columns;
  double magnitude_squares = 0, products = 0;
  for (std::size_t point = 0; point < s.points; ++point) {
    for (std::size_t slot = s.slot_first[point]; slot < s.slot_first[point + 1]; ++slot) {
      columns.read(s, problem, slot);
      const double* row = J + s.record()[slot];
      for (std::size_t i = 0; i < s.rows[slot]; ++i, row += s.stride()[slot]) {
        const double residual = std::fabs(row[s.point_size[point]]);
        double terms = residual;
        double first_order = 0;
        for (const auto& part : columns.parts) {
          for (std::size_t c = 0; c < part.count; ++c)
            first_order += std::fabs(row[part.column + c]) * sizes[part.tangent + c];
        }
        terms = std::max(terms, first_order);
        magnitude_squares += terms * terms;
        products += terms * residual;
        for (const auto& part : columns.parts) {
          for (std::size_t c = 0; c < part.count; ++c) {
            const double entry = std::fabs(row[part.column + c]);
            out.gradient_noise[part.tangent + c] += entry * terms;
            out.largest[part.tangent + c] = std::max(out.largest[part.tangent + c], entry);
            squares[part.tangent + c] += entry * entry;
          }
        }
      }
    }
  }
  // Bounds a few roundings in each residual, and sums of products with some tens of additions (as in
  // certificate.cpp).
  const double r = std::sqrt(2 * cost);
  for (std::size_t j = 0; j < sizes.size(); ++j)
    out.gradient_noise[j] = kU * (4 * out.gradient_noise[j] + 32 * std::sqrt(squares[j]) * r);
  out.magnitude = std::sqrt(magnitude_squares);
  out.cost_noise =
      kU * (8 * cost + 4 * products / std::sqrt(std::max<double>(1, static_cast<double>(s.residuals))));
  return out;
}

}  // namespace nlsq::inline v0
