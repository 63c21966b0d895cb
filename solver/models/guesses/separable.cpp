// Implements separable least squares: projection onto the linear columns and a damped search over q.
#include "models/guesses/separable.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

double dot(const double* a, const double* b, std::size_t n) {
  double sum[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sum[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void subtract(double* a, const double* b, double factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] -= factor * b[i];
}

// Result of one evaluation: the projected residual and the linear coefficients.
struct Projection {
  std::vector<double> residual, columns, c;
  double rss = std::numeric_limits<double>::infinity();
};

void evaluate(const Separable& problem, std::span<const double> q, Projection& out) {
  const std::size_t n = problem.y.size(), k = static_cast<std::size_t>(problem.linear);
  out.residual.assign(problem.y.begin(), problem.y.end());
  out.columns.resize(n * k);
  out.c.assign(k, 0.0);
  problem.basis(q, out.columns.data());
  out.rss = project(out.residual, problem.linear, out.columns.data(), out.c.data());
}

void clamp(const Separable& problem, std::vector<double>& q) {
  for (std::size_t j = 0; j < q.size(); ++j)
    q[j] = std::clamp(std::isfinite(q[j]) ? q[j] : 0.0, problem.lower[j], problem.upper[j]);
}

// Forward differences of the projected residual by column. Returns false if one is not finite.
bool differences(const Separable& problem, const std::vector<double>& q, const Projection& at,
                 Projection& work, std::vector<double>& J) {
  const std::size_t n = problem.y.size();
  J.resize(n * q.size());
  for (std::size_t j = 0; j < q.size(); ++j) {
    std::vector<double> moved = q;
    double h = 1e-7 * std::max(1.0, std::abs(q[j]));
    if (q[j] + h > problem.upper[j]) h = -h;
    moved[j] += h;
    evaluate(problem, moved, work);
    if (!std::isfinite(work.rss)) return false;
    for (std::size_t i = 0; i < n; ++i) J[j * n + i] = (work.residual[i] - at.residual[i]) / h;
  }
  return true;
}

// Solves (JᵀJ + lambda diag) s = -Jᵀ r by Gaussian elimination. The matrix is positive definite and tiny.
std::vector<double> damped_step(const std::vector<double>& J, const std::vector<double>& r, std::size_t p,
                                double lambda) {
  const std::size_t n = r.size();
  std::vector<double> A(p * p), s(p);
  for (std::size_t i = 0; i < p; ++i) {
    for (std::size_t j = 0; j < p; ++j) A[i * p + j] = dot(&J[i * n], &J[j * n], n);
    s[i] = -dot(&J[i * n], r.data(), n);
  }
  for (std::size_t i = 0; i < p; ++i) A[i * p + i] += lambda * A[i * p + i] + 1e-300;
  for (std::size_t i = 0; i < p; ++i)
    for (std::size_t k = i + 1; k < p; ++k) {
      const double factor = A[k * p + i] / A[i * p + i];
      for (std::size_t j = i; j < p; ++j) A[k * p + j] -= factor * A[i * p + j];
      s[k] -= factor * s[i];
    }
  for (std::size_t i = p; i-- > 0;) {
    for (std::size_t j = i + 1; j < p; ++j) s[i] -= A[i * p + j] * s[j];
    s[i] /= A[i * p + i];
  }
  return s;
}

}  // namespace

double project(std::span<double> residual, int linear, double* columns, double* c) {
  const std::size_t n = residual.size(), k = static_cast<std::size_t>(linear);
  std::vector<double> R(k * k, 0.0), z(k, 0.0);
  for (std::size_t j = 0; j < k; ++j) {
    double* b = columns + j * n;
    const double before = std::sqrt(dot(b, b, n));
    if (!std::isfinite(before)) return std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < 2; ++pass)  // twice is enough (Parlett)
      for (std::size_t i = 0; i < j; ++i) {
        const double r = dot(columns + i * n, b, n);
        R[i * k + j] += r;
        subtract(b, columns + i * n, r, n);
      }
    const double norm = std::sqrt(dot(b, b, n));
    const bool dependent = !(norm > 1e-11 * before);
    R[j * k + j] = dependent ? 0.0 : norm;
    for (std::size_t i = 0; i < n; ++i) b[i] = dependent ? 0.0 : b[i] / norm;
    z[j] = dot(b, residual.data(), n);
    subtract(residual.data(), b, z[j], n);
  }
  for (std::size_t j = k; j-- > 0;) {
    double value = z[j];
    for (std::size_t i = j + 1; i < k; ++i) value -= R[j * k + i] * c[i];
    c[j] = R[j * k + j] == 0 ? 0.0 : value / R[j * k + j];
  }
  const double rss = dot(residual.data(), residual.data(), n);
  return std::isfinite(rss) ? rss : std::numeric_limits<double>::infinity();
}

Solution solve(const Separable& problem, std::vector<double> q) {
  clamp(problem, q);
  Projection at;
  evaluate(problem, q, at);
  return {std::move(q), std::move(at.c), at.rss};
}

Solution improve(const Separable& problem, Solution best, int iterations) {
  if (!std::isfinite(best.rss) || best.q.empty()) return best;
  Projection at, trial, work;
  evaluate(problem, best.q, at);
  std::vector<double> J;
  double lambda = 1e-3;
  bool stale = true;
  for (int k = 0; k < iterations; ++k) {
    if (stale && !differences(problem, best.q, at, work, J)) break;
    const std::vector<double> step = damped_step(J, at.residual, best.q.size(), lambda);
    std::vector<double> q = best.q;
    for (std::size_t j = 0; j < q.size(); ++j) q[j] += step[j];
    clamp(problem, q);
    evaluate(problem, q, trial);
    stale = trial.rss < at.rss;
    if (!stale) {
      lambda = std::max(lambda, 1e-3) * 10;
      if (lambda > 1e6) break;
      continue;
    }
    const double decrease = at.rss - trial.rss;
    std::swap(at, trial);
    best = {std::move(q), at.c, at.rss};
    lambda *= 0.1;
    if (decrease <= 1e-7 * at.rss) break;
  }
  return best;
}

Solution search(const Separable& problem, const std::vector<std::vector<double>>& starts, int keep) {
  std::vector<Solution> tried;
  for (const auto& start : starts) {
    Solution solution = solve(problem, start);
    if (std::isfinite(solution.rss)) tried.push_back(std::move(solution));
  }
  if (tried.empty())
    return {starts.front(), std::vector<double>(static_cast<std::size_t>(problem.linear), 0.0)};
  const std::size_t kept = std::min(tried.size(), static_cast<std::size_t>(keep));
  std::partial_sort(tried.begin(), tried.begin() + static_cast<std::ptrdiff_t>(kept), tried.end(),
                    [](const Solution& a, const Solution& b) { return a.rss < b.rss; });
  Solution best;
  for (std::size_t i = 0; i < kept; ++i) {
    Solution improved = improve(problem, std::move(tried[i]));
    if (improved.rss < best.rss) best = std::move(improved);
  }
  return best;
}

std::vector<double> grid(double low, double high, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low + (high - low) * i / std::max(1, count - 1));
  return values;
}

}  // namespace nlsq::inline v0::guessing
