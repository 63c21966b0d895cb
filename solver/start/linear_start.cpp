// Solves for the linear parameters of a start, from one linearization.
#include "linear/small_svd.hpp"
#include "minimizer/dense_system.hpp"
#include "rows/sample_rows.hpp"
#include "start/start.hpp"

#include "program/local_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Returns the length of column j of J, or 1 for a column of zeros.
double column_scale(const Linearization& at, std::size_t j) {
  const double length = std::sqrt(at.normal(j, j));
  return length > 0 ? length : 1;
}

}  // namespace

// With the nonlinear parameters fixed, the best linear parameters are one linear least-squares solution. From
// BoxBOD's first start, plain LM ends in the wrong minimum, but with this solution it does not. `at` is the
// linearization at x, by normal equations. `doubtfully` means that some directions are not resolved in this
// precision.
Solved solve_linear(const Linearization& at, const std::vector<int>& linear, Vector& x) {
  constexpr std::size_t kFew = 16;
  const std::size_t k = linear.size();
  LocalBuffer<double, kFew * kFew> H(k * k), V(k * k);
  LocalBuffer<double, kFew> g(k), scale(k), values(k), projected(k);
  const auto index = [&](std::size_t i) { return static_cast<std::size_t>(linear[i]); };
  for (std::size_t i = 0; i < k; ++i) scale[i] = column_scale(at, index(i));
  for (std::size_t i = 0; i < k; ++i) {
    g[i] = at.gradient[index(i)] / scale[i];
    for (std::size_t j = 0; j < k; ++j) H[j * k + i] = at.normal(index(i), index(j)) / (scale[i] * scale[j]);
  }
  small_svd(H.data(), k, g.data(), values.data(), V.data(), projected.data());
  // Directions that the rows do not determine are left unchanged.
  const double least = (at.plan.residual == Format::f32 ? 1e-7 : 1e-13) * values[0];
  for (std::size_t i = 0; i < k; ++i) {
    double step = 0;
    for (std::size_t j = 0; j < k; ++j)
      step -= values[j] > least ? V[j * k + i] * (projected[j] / values[j]) : 0.0;
    if (!std::isfinite(step)) return Solved::not_at_all;
    g[i] = step / scale[i];
  }
  for (std::size_t i = 0; i < k; ++i) x[index(i)] += g[i];
  // Normal equations lose all digits of a direction at 1e-16.
  return values[k - 1] > std::max(least, 1e-12 * values[0]) ? Solved::well : Solved::doubtfully;
}

// Does the same from the triangular factor of a QR pass, whose condition number is the square root of that of
// the normal equations. It takes the shortest of all solutions, with columns at unit length. So directions
// that the rows do not determine do not change.
bool solve_linear_by_triangle(const Linearization& at, const std::vector<int>& linear, Vector& x) {
  const std::size_t k = linear.size(), rows = at.triangle.rows();
  const auto index = [&](std::size_t i) { return static_cast<std::size_t>(linear[i]); };
  std::vector<double> columns(rows * k), right(rows), scale(k);
  for (std::size_t j = 0; j < k; ++j) {
    scale[j] = column_scale(at, index(j));
    // Entries below the diagonal of the triangle count as zero, whatever is stored there.
    for (std::size_t i = 0; i <= index(j); ++i) columns[j * rows + i] = at.triangle(i, index(j)) / scale[j];
  }
  for (std::size_t i = 0; i < rows; ++i) right[i] = -at.triangle(i, at.gradient.size());
  std::vector<double> s(k);
  if (!shortest_solution(columns.data(), rows, k, right.data(), 1e-13, s.data())) return false;
  for (std::size_t j = 0; j < k; ++j) x[index(j)] += s[j] / scale[j];
  return true;
}

// Moves the linear parameters to the best values within the bounds, by the bounded linear model, if the best
// values of all violate them.
bool solve_linear_within(const Linearization& at, const std::vector<int>& linear, const Limits& limits,
                         Vector& x) {
  constexpr double kDamping = 1e-12;  // gives undetermined directions their shortest solution
  const std::size_t k = linear.size();
  Linearization part;
  part.plan = at.plan;
  part.gradient.resize(k);
  part.normal = Matrix(k, k);
  Vector scale(k), below(k), above(k), start(k);
  const auto index = [&](std::size_t i) { return static_cast<std::size_t>(linear[i]); };
  for (std::size_t i = 0; i < k; ++i) {
    part.gradient[i] = at.gradient[index(i)];
    for (std::size_t j = 0; j < k; ++j) part.normal(i, j) = at.normal(index(i), index(j));
    scale[i] = column_scale(part, i);
    start[i] = x[index(i)];
    below[i] = limits.lower[index(i)] - start[i];
    above[i] = limits.upper[index(i)] - start[i];
  }
  LinearSolver solver(part, scale);
  solver.keep_within({below, above});
  Step step = solver.solve(0);
  if (!step.factored) step = solver.solve(at.plan.residual == Format::f32 ? 1e-6 : kDamping);
  if (!step.factored) return false;
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t j = index(i);
    const Held side = step.held.empty() ? Held::none : step.held[i];
    x[j] = side == Held::lower   ? limits.lower[j]
           : side == Held::upper ? limits.upper[j]
                                 : std::clamp(start[i] + step.step[i], limits.lower[j], limits.upper[j]);
  }
  return true;
}

Vector linear_least_squares(RowModel& rows, const Vector& x0, const std::vector<int>& linear,
                            const Limits& limits) {
  SampleRows sample(rows, kStartRows);
  DenseEvaluator evaluator(sample);
  Vector x = x0;
  const Linearization at = evaluator.linearize(x0, kF64Plan);
  if (!at.finite) return x0;
  const Solved how = solve_linear(at, linear, x);
  if (how == Solved::not_at_all) return x0;
  if (!limits.allow(x)) {
    x = x0;
    return solve_linear_within(at, linear, limits, x) ? x : x0;
  }
  if (how == Solved::well) return x;
  const Linearization by_qr = evaluator.linearize(x0, kQrPlan);
  Vector better = x0;
  return by_qr.finite && solve_linear_by_triangle(by_qr, linear, better) && limits.allow(better) ? better : x;
}

}  // namespace nlsq::inline v0
