// Implements second_order(): second derivatives of the cost of a small block problem, by finite differences.
#include "blocks/certificate/block_second_order.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/negative_curvature.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Third derivatives make one-sided differences inexact. But a curvature above this share of the largest one
// is certainly positive.
constexpr double kClearly = 1e-2;

// This is a free parameter block that has a manifold. `block` is null if parameter block p is constant or has
// none.
struct CurvedBlock {
  const ParameterBlock* block = nullptr;
  std::size_t number = 0, first = 0;  // of its numbers and of its tangent coordinates
};
CurvedBlock curved_block(const BlockPoint& at, std::uint32_t p) {
  const ParameterBlock& block = at.problem.parameters[p];
  const std::int64_t first = at.structure.tangent_offset(p);
  if (!block.manifold || first < 0) return {};
  return {&block, at.structure.list.offsets[p], static_cast<std::size_t>(first)};
}
// Returns the block with a manifold to which tangent coordinate k belongs; `block` is null if there is none.
CurvedBlock manifold_of(const BlockPoint& at, std::size_t k) {
  for (std::uint32_t p = 0; p < at.problem.parameters.size(); ++p) {
    const CurvedBlock curved = curved_block(at, p);
    if (curved.block && k >= curved.first &&
        k < curved.first + static_cast<std::size_t>(curved.block->manifold->tangent()))
      return curved;
  }
  return {};
}

// Converts a gradient from the tangent coordinates at `there` to those at x, as a vector of the surrounding
// space. The conversion is needed because a manifold may rotate its tangent coordinates from one point to the
// next, and even reverse one (the sphere of Ceres at its pole). Returns false if the coordinates at `there`
// depend on each other.
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

// Does the same for the coordinates of all blocks.
bool turn_back(const BlockPoint& at, std::span<const double> there, std::vector<double>& gradient) {
  for (std::uint32_t p = 0; p < at.problem.parameters.size(); ++p) {
    const CurvedBlock curved = curved_block(at, p);
    if (curved.block && !turn_back(at, curved, there, gradient)) return false;
  }
  return true;
}

enum class Difference : std::uint8_t { known, crosses_bound, not_finite };

// Computes the change of the gradient along one tangent coordinate, from the lower point to the upper. One of
// the two is x, and the sign of `shift` shows on which side of it the other one lies.
Difference one_sided(const BlockPoint& at, const GradientAt& gradient_at, std::size_t k, double shift,
                     std::span<const double> here, std::vector<double>& change) {
  std::vector<double> step(at.structure.tangent_size(), 0.0), there;
  step[k] = shift;
  if (at.model.plus(at.x, step, there)) return Difference::crosses_bound;
  if (!gradient_at(there, change)) return Difference::not_finite;
  const CurvedBlock curved = manifold_of(at, k);
  if (curved.block && !turn_back(at, curved, there, change)) return Difference::not_finite;
  for (std::size_t j = 0; j < change.size(); ++j)
    change[j] = shift > 0 ? change[j] - here[j] : here[j] - change[j];
  return Difference::known;
}

// Returns the shift_length() of each tangent coordinate.
std::vector<double> lengths_of(const BlockPoint& at, ShiftBy by) {
  std::vector<double> lengths = tangent_sizes(at.problem, at.structure, at.x);
  const std::vector<double> norms = column_norms(at.solver);
  for (std::size_t k = 0; k < lengths.size(); ++k)
    lengths[k] = shift_length(lengths[k], norms[k], at.cost, by);
  return lengths;
}

}  // namespace

bool sizes_are_offsets(const BlockPoint& at) {
  const std::vector<double> lengths = lengths_of(at, ShiftBy::size), norms = column_norms(at.solver);
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    if (!at.is_fixed(k) && is_offset(lengths[k], norms[k], at.cost)) return true;
  }
  return false;
}

SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by,
                         CurvatureWanted wanted) {
  SecondOrder out;
  const std::vector<std::size_t> free = at.free_columns();
  if (free.empty() || free.size() > kMostExamined) return out;
  const std::vector<double> here = at.solver.gradient(), shifts = lengths_of(at, by);
  const std::size_t n = free.size();
  std::vector<double> sums(n * n, 0.0), spans(n, 0.0);  // changes of the gradient, by columns, and of x
  std::vector<double> G(n * n), lengths(n), along(n, 0.0), change;
  ScaledSpectrum spectrum;
  for (std::size_t j = 0; j < n; ++j) lengths[j] = std::sqrt(at.solver.squares()[free[j]]);
  for (const double way : {1.0, -1.0}) {
    for (std::size_t j = 0; j < n; ++j) {
      const double shift = kCurvatureShift * shifts[free[j]];
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

namespace {

// Computes products of H with vectors over some of the columns, each by one difference of the gradient.
// Columns of J are scaled to unit length.
class ScaledCurvature {
 public:
  ScaledCurvature(const BlockPoint& at, const GradientAt& gradient_at, std::span<const std::size_t> columns,
                  ShiftBy by, double relative)
      : at_(at), gradient_at_(gradient_at), columns_(columns), here_(at.solver.gradient()),
        norms_(column_norms(at.solver)), lengths_(lengths_of(at, by)), relative_(relative),
        step_(here_.size(), 0.0) {}

  double norm(std::size_t j) const { return norms_[columns_[j]]; }
  // Returns false if a bound is in the way or the gradient is not finite.
  bool times(std::span<const double> v, std::span<double> product) {
    const double r = std::sqrt(2 * at_.cost);
    double shift = kInfinity;
    // A number that happens to be near 0 must not make the step along all others short, because rounding
    // errors would be large then. So its length counts as 1, or as the length that would compensate the
    // residuals.
    for (std::size_t j = 0; j < v.size(); ++j) {
      const double longest = std::max(lengths_[columns_[j]] * norm(j), std::min(norm(j), r));
      shift = std::min(shift, relative_ * longest / std::fabs(v[j]));
    }
    for (std::size_t j = 0; j < v.size(); ++j) step_[columns_[j]] = shift * v[j] / norm(j);
    if (at_.model.plus(at_.x, step_, there_) || !gradient_at_(there_, gradient_)) return false;
    if (!turn_back(at_, there_, gradient_)) return false;
    for (std::size_t j = 0; j < v.size(); ++j)
      product[j] = (gradient_[columns_[j]] - here_[columns_[j]]) / norm(j) / shift;
    return true;
  }

 private:
  const BlockPoint& at_;
  const GradientAt& gradient_at_;
  std::span<const std::size_t> columns_;
  const std::vector<double> here_, norms_, lengths_;
  double relative_;
  std::vector<double> step_, there_, gradient_;
};

// Holds A = JᵀJ for the free columns of J, scaled to unit length, and the Cholesky factor L of A + εI.
struct NormalMetric {
  std::vector<std::size_t> free;
  std::vector<double> A, L;

  // Returns false if there is no factor.
  bool take(const BlockPoint& at, double epsilon) {
    free = at.free_columns();
    A = scaled_normal(at, free);
    L = A;
    for (std::size_t j = 0; j < free.size(); ++j) L[j * free.size() + j] += epsilon;
    return dense::cholesky(L.data(), free.size());
  }
};

// Estimates ‖B‖ for B = L⁻¹SL⁻ᵀ, where S = H - JᵀJ, by differences over the given share of the shifts.
// Returns 0 if ‖B‖ < 1 is almost certain, and NaN if a bound prevents a shift or the gradient is not finite.
//
// For a random direction u of n numbers, √n ‖Bu‖ / ‖u‖ estimates the Frobenius norm of B, which is at least
// ‖B‖. The estimate is too low by a factor f or more with a probability of about 1/f, if B changes one
// direction only and u is almost at right angles to it. The probability that the estimates of k directions
// are all too low by f is about f⁻ᵏ. So a single estimate must be tiny, and the largest of several may be
// larger: after k directions, the largest times f must be below 1, with f⁻ᵏ = 2.5e-5. With many unknowns,
// up to twelve directions are tried, because second_order() would take far more evaluations.
double beyond_normal(const BlockPoint& at, const GradientAt& gradient_at, NormalMetric& metric, ShiftBy by,
                     double relative) {
  constexpr double kChance = 2.5e-5;
  constexpr std::size_t kLeastDirections = 4, kMostDirections = 12;
  const std::size_t n = metric.free.size();
  const std::size_t most = std::clamp(n / 4, kLeastDirections, kMostDirections);
  const auto too_low = [](std::size_t k) { return std::pow(kChance, -1 / static_cast<double>(k)); };
  std::vector<double> u(n), v(n), normal(n), change(n);
  ScaledCurvature H(at, gradient_at, metric.free, by, relative);
  Random random(1);
  double largest = 0;
  for (std::size_t k = 1; k <= most; ++k) {
    fill_with_signs(random, u);
    v = u;
    dense::solve_lower_transposed(metric.L.data(), n, v.data());
    if (!H.times(v, change)) return kNaN;
    dense::multiply_transposed(metric.A.data(), n, v.data(), normal.data());
    for (std::size_t j = 0; j < n; ++j) change[j] -= normal[j];
    dense::solve_lower(metric.L.data(), n, change.data());
    const double estimate =
        std::sqrt(static_cast<double>(n)) * dense::norm(change.data(), n) / dense::norm(u.data(), n);
    largest = std::max(largest, estimate);
    if (too_low(k) * largest < 1) return 0;
    if (!(too_low(most) * largest < 1)) return largest;
  }
  return largest;
}

}  // namespace

// Returns true if H certainly has no eigenvalue below -ε, where ε is `limit`. That follows from ‖B‖ < 1 in
// the metric of JᵀJ + εI.
bool curves_like_normal(const BlockPoint& at, const GradientAt& gradient_at, double limit) {
  constexpr std::size_t kLeastUnknowns = 3;  // with fewer, second_order() takes no more evaluations
  // The shifts are shorter than those of second_order(). One-sided differences have an error that is
  // proportional to third derivatives, and this error is large along weakly determined directions.
  constexpr double kShorter = 0x1p-4;
  constexpr double kFalls = 0.5 / kShorter;  // nearly as much as rounding errors do
  NormalMetric metric;
  if (at.free() < kLeastUnknowns || !metric.take(at, limit)) return false;
  const auto beyond = [&](ShiftBy by, double share) {
    return beyond_normal(at, gradient_at, metric, by, share * kCurvatureShift);
  };
  if (sizes_are_offsets(at)) {
    // Shifts by size may be far longer than a region in which the cost curves down. They are used only if the
    // short shifts show nothing but rounding error, which decreases as the shifts grow, unlike a curvature.
    const double shorter = beyond(ShiftBy::residual, kShorter);
    if (shorter == 0) return true;
    const double longer = beyond(ShiftBy::residual, 1);
    if (longer == 0) return true;
    if (!(kFalls * longer <= shorter)) return false;
  }
  return beyond(ShiftBy::size, kShorter) == 0;
}

SecondOrder curvature_where_level(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by) {
  SecondOrder out;
  std::vector<std::size_t> level = at.free_columns();
  std::erase_if(level, [&](std::size_t j) { return at.solver.gradient()[j] != 0; });
  if (level.empty()) return out;
  constexpr std::size_t kMostProducts = 20;
  ScaledCurvature H(at, gradient_at, level, by, kCurvatureShift);
  const NegativeCurvature found = negative_curvature(
      level.size(), kMostProducts,
      [&](std::span<const double> v, std::span<double> product) { return H.times(v, product); });
  if (found.along.empty()) return out;
  out.known = true;
  out.least = found.value;
  out.along_least.assign(at.structure.tangent_size(), 0.0);
  for (std::size_t i = 0; i < level.size(); ++i) out.along_least[level[i]] = found.along[i] / H.norm(i);
  return out;
}

}  // namespace nlsq::inline v0
