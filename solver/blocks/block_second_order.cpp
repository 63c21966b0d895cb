// Implements second_order(): second derivatives of the cost of a small block problem, by finite differences.
#include "blocks/block_second_order.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/scaled_spectrum.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kShift = 0x1p-17;        // relative to a parameter; balances third derivatives and rounding
constexpr double kLeastCurvature = 1e-9;  // relative to the largest

// The parameter block with a manifold to which a tangent coordinate belongs; null if it has none.
struct CurvedBlock {
  const ParameterBlock* block = nullptr;
  std::size_t number = 0, first = 0;  // of its numbers and of its tangent coordinates
};
CurvedBlock manifold_of(const BlockPoint& at, std::size_t k) {
  for (std::uint32_t p = 0; p < at.problem.parameters.size(); ++p) {
    const ParameterBlock& block = at.problem.parameters[p];
    const std::int64_t first = at.structure.tangent_offset(p);
    if (!block.manifold || first < 0) continue;
    const auto begin = static_cast<std::size_t>(first);
    if (k < begin || k >= begin + static_cast<std::size_t>(block.manifold->tangent())) continue;
    return {&block, at.structure.list.offsets[p], begin};
  }
  return {};
}

// A manifold may turn its tangent coordinates from one point to the next, and even reverse one (the sphere of
// Ceres at its pole). This rewrites a gradient in the coordinates at `there` in those at x: as a vector of
// the surrounding space, and back. Returns false if the coordinates at `there` depend on each other.
bool turn_back(const BlockPoint& at, const CurvedBlock& curved, std::span<const double> there,
               std::vector<double>& gradient) {
  const Manifold& manifold = *curved.block->manifold;
  const auto m = static_cast<std::size_t>(manifold.ambient()),
             n = static_cast<std::size_t>(manifold.tangent());
  std::vector<double> here(m * n), P(m * n), squares(n * n, 0.0);
  manifold.plus_jacobian(at.x.data() + curved.number, here.data());
  manifold.plus_jacobian(there.data() + curved.number, P.data());
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) squares[b * n + a] += P[i * n + a] * P[i * n + b];
    }
  }
  double* g = &gradient[curved.first];
  std::vector<double> c(g, g + n);
  if (!dense::cholesky(squares.data(), n)) return false;
  dense::solve_lower(squares.data(), n, c.data());
  dense::solve_lower_transposed(squares.data(), n, c.data());
  std::fill_n(g, n, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    double along = 0;
    for (std::size_t a = 0; a < n; ++a) along += P[i * n + a] * c[a];
    for (std::size_t a = 0; a < n; ++a) g[a] += here[i * n + a] * along;
  }
  return true;
}

// Differences of the gradient along one tangent coordinate, within the bounds.
bool gradient_change(const BlockPoint& at, const GradientAt& gradient_at, std::size_t k, double shift,
                     std::span<const double> here, std::vector<double>& out) {
  std::vector<double> step(at.structure.tangent_size(), 0.0), there;
  out.assign(step.size(), 0.0);
  double span = 0;
  const CurvedBlock curved = manifold_of(at, k);
  for (const double way : {shift, -shift}) {
    step[k] = way;
    if (at.model.plus(at.x, step, there)) continue;  // at a bound: one-sided difference
    if (!gradient_at(there)) return false;
    std::vector<double> g = at.solver.gradient();
    if (curved.block && !turn_back(at, curved, there, g)) return false;
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += way > 0 ? g[j] - here[j] : here[j] - g[j];
    span += shift;
  }
  for (double& v : out) v /= span;
  return span > 0;
}

// For each tangent coordinate, the length that kShift is relative to.
std::vector<double> lengths_of(const BlockPoint& at, ShiftBy by) {
  constexpr double kTiny = 1e-6;      // a parameter smaller than this share of the other length is 0
  constexpr double kLeast = 0x1p-19;  // of the size: shorter shifts drown in the rounding of x
  std::vector<double> lengths = tangent_sizes(at.problem, at.structure, at.x);
  const std::vector<double> norms = column_norms(at.solver);
  const double r = std::sqrt(2 * at.cost);
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const double undo = r / norms[k], size = lengths[k];
    if (!(size > kTiny * std::min(1.0, undo))) lengths[k] = std::min(1.0, undo);
    else if (by == ShiftBy::residual) lengths[k] = std::clamp(undo, kLeast * size, std::max(size, 1.0));
  }
  return lengths;
}

}  // namespace

bool sizes_are_offsets(const BlockPoint& at) {
  const std::vector<double> sizes = lengths_of(at, ShiftBy::size), norms = column_norms(at.solver);
  const double r = std::sqrt(2 * at.cost);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (!at.is_fixed(k) && kShift * sizes[k] * norms[k] > r) return true;
  }
  return false;
}

SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by) {
  SecondOrder out;
  const std::vector<std::size_t> free = at.free_columns();
  if (free.empty() || free.size() > kMostExamined) return out;
  const std::vector<double> here = at.solver.gradient(), norms = column_norms(at.solver);
  const std::vector<double> shifts = lengths_of(at, by);
  const std::size_t n = free.size();
  std::vector<double> G(n * n), change;  // by columns
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t k = free[j];
    if (!gradient_change(at, gradient_at, k, kShift * shifts[k], here, change)) return out;
    for (std::size_t i = 0; i < n; ++i) G[j * n + i] = change[free[i]];
  }
  std::vector<double> lengths(n), along(n, 0.0);
  for (std::size_t j = 0; j < n; ++j) lengths[j] = norms[free[j]];
  ScaledSpectrum spectrum;
  if (!scaled_spectrum(G, lengths, spectrum)) return out;
  const auto& [scale, values, V] = spectrum;
  double largest = 0, smallest = values[0];
  for (std::size_t k = 0; k < n; ++k) {
    largest = std::max(largest, std::fabs(values[k]));
    smallest = std::min(smallest, values[k]);
    for (std::size_t i = 0; i < n; ++i) along[k] += V[k * n + i] * here[free[i]] / scale[i];
  }
  const double least = kLeastCurvature * largest;
  if (!(largest > 0)) return out;
  out.known = true;
  out.definite = smallest > least;
  out.least = smallest / largest;
  out.along_least.assign(at.structure.tangent_size(), 0.0);
  out.curvature.assign(at.structure.tangent_size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) out.curvature[free[i]] = G[i * n + i];
  const auto lowest = static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
  for (std::size_t i = 0; i < n; ++i)
    out.along_least[free[i]] = V[lowest * n + i] / (scale[i] * std::sqrt(largest));
  out.step.assign(at.structure.tangent_size(), 0.0);
  double promised = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double step = 0;
    for (std::size_t k = 0; k < n; ++k)
      step -= V[k * n + i] * along[k] / std::max(std::fabs(values[k]), least);
    out.step[free[i]] = step / scale[i];
    promised -= out.step[free[i]] * here[free[i]];
  }
  out.decrement = std::sqrt(std::max(promised, 0.0));
  return out;
}

}  // namespace nlsq::inline v0
