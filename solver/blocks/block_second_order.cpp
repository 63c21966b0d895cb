// Implements second_order(): second derivatives of the cost of a small block problem, by finite differences.
#include "blocks/block_second_order.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/scaled_spectrum.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kShift = 0x1p-17;  // relative to a parameter; balances third derivatives and rounding
// Third derivatives make one-sided differences inexact. A curvature that they show to be above this share of
// the largest one is positive all the same.
constexpr double kClearly = 1e-2;
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

enum class Difference : std::uint8_t { known, crosses_bound, not_finite };

// Computes the change of the gradient along one tangent coordinate, from the lower point to the upper. One of
// the two is x, and the sign of `shift` says on which side of it the other one lies.
Difference one_sided(const BlockPoint& at, const GradientAt& gradient_at, std::size_t k, double shift,
                     std::span<const double> here, std::vector<double>& change) {
  std::vector<double> step(at.structure.tangent_size(), 0.0), there;
  step[k] = shift;
  if (at.model.plus(at.x, step, there)) return Difference::crosses_bound;
  if (!gradient_at(there)) return Difference::not_finite;
  change = at.solver.gradient();
  const CurvedBlock curved = manifold_of(at, k);
  if (curved.block && !turn_back(at, curved, there, change)) return Difference::not_finite;
  for (std::size_t j = 0; j < change.size(); ++j)
    change[j] = shift > 0 ? change[j] - here[j] : here[j] - change[j];
  return Difference::known;
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

SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by,
                         CurvatureWanted wanted) {
  SecondOrder out;
  const std::vector<std::size_t> free = at.free_columns();
  if (free.empty() || free.size() > kMostExamined) return out;
  const std::vector<double> here = at.solver.gradient(), norms = column_norms(at.solver);
  const std::vector<double> shifts = lengths_of(at, by);
  const std::size_t n = free.size();
  std::vector<double> sums(n * n, 0.0), spans(n, 0.0);  // changes of the gradient, by columns, and of x
  std::vector<double> G(n * n), lengths(n), along(n, 0.0), change;
  ScaledSpectrum spectrum;
  for (std::size_t j = 0; j < n; ++j) lengths[j] = norms[free[j]];
  for (const double way : {1.0, -1.0}) {
    for (std::size_t j = 0; j < n; ++j) {
      const double shift = kShift * shifts[free[j]];
      const Difference found = one_sided(at, gradient_at, free[j], way * shift, here, change);
      if (found == Difference::not_finite) return out;
      if (found == Difference::crosses_bound) continue;
      spans[j] += shift;
      for (std::size_t i = 0; i < n; ++i) {
        sums[j * n + i] += change[free[i]];
        G[j * n + i] = sums[j * n + i] / spans[j];
      }
    }
    const bool sign_only = way > 0 && wanted == CurvatureWanted::sign && std::ranges::count(spans, 0.0) == 0;
    if (!sign_only || !scaled_spectrum(G, lengths, spectrum)) continue;
    const auto [least, most] = std::ranges::minmax(spectrum.values);
    out.known = out.definite = least > kClearly * most && most > 0;
    if (out.known) return out;
  }
  if (std::ranges::count(spans, 0.0) > 0 || !scaled_spectrum(G, lengths, spectrum)) return out;
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

// For S = H - JᵀJ and a random direction v of n numbers, √n ‖Sv‖ / ‖v‖ estimates the Frobenius norm of S,
// which is at least its largest eigenvalue. If S has one direction only, v may happen to be almost at right
// angles to it. So several directions are tried, and a safety factor is left.
bool curves_like_normal(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by, double limit) {
  constexpr std::size_t kDirections = 3, kLeastUnknowns = 6;
  constexpr double kSafety = 30;
  const std::vector<std::size_t> free = at.free_columns();
  const auto curved = [](const ParameterBlock& block) { return static_cast<bool>(block.manifold); };
  if (free.size() < kLeastUnknowns || std::ranges::any_of(at.problem.parameters, curved)) return false;
  const std::vector<double> here = at.solver.gradient(), norms = column_norms(at.solver);
  const std::vector<double> lengths = lengths_of(at, by);
  double shift = kInfinity;  // of a scaled unknown
  // A number that happens to be small would make all steps short, and rounding errors large.
  for (const std::size_t j : free)
    shift =
        std::min(shift, kShift * std::max(lengths[j] * norms[j], std::min(norms[j], std::sqrt(2 * at.cost))));
  Random random(1);
  std::vector<std::vector<double>> steps(kDirections), products(kDirections);
  for (std::size_t k = 0; k < kDirections; ++k) {
    steps[k].assign(here.size(), 0.0);
    products[k].resize(here.size());
    // Numbers from 0.5 to 1.5 of either sign: no single unknown is left out.
    for (const std::size_t j : free)
      steps[k][j] = (0.5 + random.uniform()) * (random.below(2) == 0 ? -shift : shift) / norms[j];
    at.solver.multiply(at.model.records<double>(), steps[k], products[k]);
  }
  std::vector<double> there, change(free.size()), scaled(free.size());
  for (std::size_t k = 0; k < kDirections; ++k) {
    if (at.model.plus(at.x, steps[k], there) || !gradient_at(there)) return false;
    for (std::size_t i = 0; i < free.size(); ++i) {
      const std::size_t j = free[i];
      scaled[i] = steps[k][j] * norms[j];
      change[i] = (at.solver.gradient()[j] - here[j] - products[k][j]) / norms[j];
    }
    const double beyond =
        dense::norm(change.data(), change.size()) / dense::norm(scaled.data(), scaled.size());
    if (!(kSafety * std::sqrt(static_cast<double>(free.size())) * beyond < limit)) return false;
  }
  return true;
}

}  // namespace nlsq::inline v0
