// Implements separable least squares: projection onto the linear columns and a damped search over q.
#include "models/guesses/separable.hpp"

#include "models/guesses/wide_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace nlsq::inline v0::guessing {
namespace {

[[gnu::always_inline]] inline double dot(const double* a, const double* b, std::size_t n) {
  Four sum[2] = {}, left, right;  // independent sums, so that additions overlap
  std::size_t i = 0;
  for (; i + 2 * kFour <= n; i += 2 * kFour) {
    for (std::size_t k = 0; k < 2; ++k) {
      load(a + i + k * kFour, left);
      load(b + i + k * kFour, right);
      sum[k] += left * right;
    }
  }
  double rest = 0;
  for (; i < n; ++i) rest += a[i] * b[i];
  return total(sum[0]) + total(sum[1]) + rest;
}

[[gnu::always_inline]] inline void subtract(double* a, const double* b, double factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] -= factor * b[i];
}

constexpr std::size_t kMostLinear = 12;
constexpr int kRace = 3;           // damped steps of each kept start before the best one is improved further
constexpr double kSettled = 1e-5;  // relative decrease at which a start is good enough for the fit
constexpr double kHopeless = 10;   // starts with so many times the least sum of squares are not kept

// The memory of a search, in one piece, because many small searches would spend a tenth of their time on
// separate allocations.
class Room {
 public:
  explicit Room(std::size_t numbers) : numbers_(std::make_unique_for_overwrite<double[]>(numbers)) {}
  std::span<double> take(std::size_t count) {
    return {numbers_.get() + std::exchange(used_, used_ + count), count};
  }

 private:
  std::unique_ptr<double[]> numbers_;
  std::size_t used_ = 0;
};

// Holds the result of one evaluation: the projected residual and the linear coefficients.
struct Projection {
  static std::size_t numbers(const Separable& problem) {
    const std::size_t n = problem.y.size(), k = static_cast<std::size_t>(problem.linear);
    return n + n * k + k;
  }
  Projection(const Separable& problem, Room& room)
      : residual(room.take(problem.y.size())),
        columns(room.take(problem.y.size() * static_cast<std::size_t>(problem.linear))),
        c(room.take(static_cast<std::size_t>(problem.linear))) {}

  std::vector<double> coefficients() const { return {c.begin(), c.end()}; }

  std::span<double> residual, columns, c;
  double rss = std::numeric_limits<double>::infinity();
};

void evaluate(const Separable& problem, std::span<const double> q, Projection& out) {
  std::ranges::copy(problem.y, out.residual.begin());
  std::ranges::fill(out.c, 0.0);
  problem.basis(problem.u, q, out.columns.data());
  apply_weight(problem.weight, out.residual, problem.linear, out.columns.data());
  out.rss = project(out.residual, problem.linear, out.columns.data(), out.c.data());
}

void clamp(const Separable& problem, std::span<double> q) {
  for (std::size_t j = 0; j < q.size(); ++j)
    q[j] = std::clamp(std::isfinite(q[j]) ? q[j] : 0.0, problem.lower[j], problem.upper[j]);
}

// Computes forward differences of the projected residual by column. Returns false if one is not finite.
// `moved` is memory for a point.
bool differences(const Separable& problem, std::span<const double> q, const Projection& at, Projection& work,
                 std::span<double> moved, std::span<double> J) {
  const std::size_t n = problem.y.size();
  for (std::size_t j = 0; j < q.size(); ++j) {
    std::ranges::copy(q, moved.begin());
    double h = 1e-7 * std::max(1.0, std::abs(q[j]));
    if (q[j] + h > problem.upper[j]) h = -h;
    moved[j] += h;
    evaluate(problem, moved, work);
    if (!std::isfinite(work.rss)) return false;
    const double per_h = 1 / h;
    for (std::size_t i = 0; i < n; ++i) J[j * n + i] = (work.residual[i] - at.residual[i]) * per_h;
  }
  return true;
}

// Solves (JᵀJ + lambda diag) s = -Jᵀ r by Gaussian elimination. The matrix A is positive definite and tiny.
void damped_step(std::span<const double> J, std::span<const double> r, double lambda, std::span<double> A,
                 std::span<double> s) {
  const std::size_t n = r.size(), p = s.size();
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
}

[[gnu::always_inline]] inline double project_columns(std::span<double> residual, int linear, double* columns,
                                                     double* c) {
  const std::size_t n = residual.size(), k = static_cast<std::size_t>(linear);
  double R[kMostLinear * kMostLinear] = {}, z[kMostLinear] = {};
  for (std::size_t j = 0; j < k; ++j) {
    double* b = columns + j * n;
    const double before = dot(b, b, n);
    if (!std::isfinite(before)) return std::numeric_limits<double>::infinity();
    double square = before;
    for (int pass = 0; pass < 2 && j > 0; ++pass) {  // twice is enough (Parlett)
      for (std::size_t i = 0; i < j; ++i) {
        const double r = dot(columns + i * n, b, n);
        R[i * k + j] += r;
        subtract(b, columns + i * n, r, n);
      }
      square = dot(b, b, n);
      if (square > 0.01 * before) break;  // hardly a digit was lost, so one pass is enough
    }
    const bool dependent = !(square > 1e-22 * before);
    const double norm = std::sqrt(square), scale = dependent ? 0.0 : 1 / norm;
    R[j * k + j] = dependent ? 0.0 : norm;
    for (std::size_t i = 0; i < n; ++i) b[i] *= scale;
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

NLSQ_WIDE_VECTORS double project_wide(std::span<double> residual, int linear, double* columns, double* c) {
  return project_columns(residual, linear, columns, c);
}

}  // namespace

double project(std::span<double> residual, int linear, double* columns, double* c) {
  return has_wide_vectors() ? project_wide(residual, linear, columns, c)
                            : project_columns(residual, linear, columns, c);
}

void apply_weight(std::span<const double> weight, std::span<double> residual, int linear, double* columns) {
  for (std::size_t i = 0; i < weight.size(); ++i) residual[i] *= weight[i];
  for (int j = 0; j < linear; ++j, columns += weight.size())
    for (std::size_t i = 0; i < weight.size(); ++i) columns[i] *= weight[i];
}

Solution solve(const Separable& problem, std::vector<double> q) {
  clamp(problem, q);
  Room room(Projection::numbers(problem));
  Projection at(problem, room);
  evaluate(problem, q, at);
  return {std::move(q), at.coefficients(), at.rss};
}

Solution improve(const Separable& problem, Solution best, int iterations) {
  const std::size_t n = problem.y.size(), p = best.q.size();
  Room room(3 * Projection::numbers(problem) + n * p + p * p + 3 * p);
  Projection at(problem, room), trial(problem, room), work(problem, room);
  const std::span<double> J = room.take(n * p), A = room.take(p * p), step = room.take(p),
                          moved = room.take(p), q = room.take(p);
  evaluate(problem, best.q, at);
  if (!std::isfinite(at.rss) || best.q.empty()) iterations = 0;
  double lambda = 1e-3;
  bool stale = true;
  for (int k = 0; k < iterations; ++k) {
    if (stale && !differences(problem, best.q, at, work, moved, J)) break;
    damped_step(J, at.residual, lambda, A, step);
    for (std::size_t j = 0; j < p; ++j) q[j] = best.q[j] + step[j];
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
    std::ranges::copy(q, best.q.begin());
    lambda *= 0.1;
    if (decrease <= kSettled * at.rss) break;
  }
  best.c = at.coefficients();
  best.rss = at.rss;
  return best;
}

namespace {

// Means of successive rows, for the evaluation of many starts.
struct Thinned {
  std::vector<double> u, y, weight;
};

Thinned thinned(const Separable& problem, std::size_t most) {
  const std::size_t n = problem.y.size(), group = (n + most - 1) / most;
  Thinned out;
  for (std::size_t first = 0; first < n; first += group) {
    const std::size_t last = std::min(n, first + group);
    const double count = static_cast<double>(last - first);
    double u = 0, y = 0, total = 0;
    for (std::size_t i = first; i < last; ++i) {
      const double w = squared_weight(problem.weight, i);
      u += w * problem.u[i];
      y += w * problem.y[i];
      total += w;
    }
    out.u.push_back(u / total);
    out.y.push_back(y / total);
    if (!problem.weight.empty()) out.weight.push_back(std::sqrt(total / count));
  }
  return out;
}

bool lower_rss(const Solution& a, const Solution& b) { return a.rss < b.rss; }

// Returns the starts within the limits with their sums of squares. Starts that are not finite are left out.
std::vector<Solution> evaluated(const Separable& problem, const std::vector<std::vector<double>>& starts) {
  std::vector<Solution> tried;
  tried.reserve(starts.size());
  Room room(Projection::numbers(problem));
  Projection work(problem, room);
  for (const auto& start : starts) {
    Solution one{start, {}};
    clamp(problem, one.q);
    evaluate(problem, one.q, work);
    one.rss = work.rss;
    if (std::isfinite(one.rss)) tried.push_back(std::move(one));
  }
  return tried;
}

// Does the same on averaged rows, if the problem allows that.
std::vector<Solution> evaluated_roughly(const Separable& problem,
                                        const std::vector<std::vector<double>>& starts) {
  if (problem.thin_to == 0 || problem.y.size() <= problem.thin_to) return evaluated(problem, starts);
  const Thinned few = thinned(problem, problem.thin_to);
  Separable rough = problem;
  rough.u = few.u;
  rough.y = few.y;
  rough.weight = few.weight;
  return evaluated(rough, starts);
}

void keep_best(std::vector<Solution>& tried, const Effort& effort) {
  const std::size_t kept = std::min(tried.size(), static_cast<std::size_t>(effort.keep));
  const auto middle = tried.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(tried.begin(), middle, tried.end(), lower_rss);
  tried.erase(middle, tried.end());
  while (tried.size() > 1 && tried.back().rss > kHopeless * tried.front().rss) tried.pop_back();
}

// Takes a few steps from each start, and then improves those that are lowest.
Solution winner(const Separable& problem, std::vector<Solution> kept, const Effort& effort) {
  if (kept.size() > 1) {
    for (Solution& one : kept) one = improve(problem, std::move(one), kRace);
    std::sort(kept.begin(), kept.end(), lower_rss);
  }
  Solution best;
  int improved = 0;
  for (std::size_t i = 0; i < kept.size() && improved < effort.finalists; ++i) {
    if (i > 0 && !(kept[i].rss < effort.rival * best.rss)) break;
    if (i > 0 && kept[i].rss < (1 + 1e-4) * kept[i - 1].rss) continue;  // likely the same minimum
    Solution one = improve(problem, kept[i]);
    if (one.rss < best.rss || i == 0) best = std::move(one);
    ++improved;
  }
  return best;
}

// Returns the lowest point of the parabola through three sums of squares. The middle one is the least of
// them.
double vertex(const Tried& left, const Tried& middle, const Tried& right) {
  const double before = middle.q - left.q, after = right.q - middle.q;
  const double down = (middle.rss - left.rss) / before, up = (right.rss - middle.rss) / after;
  const double change = up - down;
  return change > 0 ? middle.q - (up * before + down * after) / (2 * change) : middle.q;
}

// Returns the local minima among the starts of a search for a single q, moved to where the sum of squares
// seems lowest.
std::vector<Solution> lows_of(std::span<const Tried> tried) {
  std::vector<Solution> lows;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if ((i > 0 && tried[i].rss >= tried[i - 1].rss) ||
        (i + 1 < tried.size() && tried[i].rss > tried[i + 1].rss))
      continue;
    const bool inside = i > 0 && i + 1 < tried.size();
    const double q = inside ? vertex(tried[i - 1], tried[i], tried[i + 1]) : tried[i].q;
    lows.push_back({{q}, {}, tried[i].rss});
  }
  keep_best(lows, Effort());
  return lows;
}

// Returns the result of a search in which no start has finite values.
Solution nothing_found(const Separable& problem, std::vector<double> q) {
  return {std::move(q), std::vector<double>(static_cast<std::size_t>(problem.linear), 0.0)};
}

}  // namespace

Solution search(const Separable& problem, const std::vector<std::vector<double>>& starts,
                const Effort& effort) {
  std::vector<Solution> tried = evaluated_roughly(problem, starts);
  if (tried.empty()) return nothing_found(problem, starts.front());
  keep_best(tried, effort);
  return winner(problem, std::move(tried), effort);
}

Solution search_line(const Separable& problem, const std::vector<double>& starts) {
  std::vector<std::vector<double>> points;
  for (const double q : starts) points.push_back({q});
  std::vector<Tried> tried;
  for (const Solution& one : evaluated_roughly(problem, points)) tried.push_back({one.q[0], one.rss});
  return best_of_line(problem, tried);
}

std::optional<double> only_low(std::span<const Tried> tried) {
  const std::vector<Solution> lows = lows_of(tried);
  return lows.size() == 1 ? std::optional(lows.front().q[0]) : std::nullopt;
}

Solution best_of_line(const Separable& problem, std::span<const Tried> tried) {
  if (tried.empty()) return nothing_found(problem, {std::clamp(0.0, problem.lower[0], problem.upper[0])});
  std::vector<Solution> lows = lows_of(tried);
  // If there is only one local minimum, one step from the vertex is enough, because the fit itself takes
  // cheaper steps.
  if (lows.size() == 1) return improve(problem, std::move(lows.front()), 1);
  return winner(problem, std::move(lows), Effort());
}

std::vector<double> grid(double low, double high, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low + (high - low) * i / std::max(1, count - 1));
  return values;
}

}  // namespace nlsq::inline v0::guessing
