// Implements the oracle of block problems: cost, rank and distance from the minimum in long double.
#include "oracle.hpp"

#include <Eigen/QR>
#include <Eigen/SVD>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace blocks {

namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr Real kAllowed = 0.005L;        // in units of σ²: half the square of a tenth of a standard error
constexpr Real kExact = 1e-8L;           // least σ, relative to the scene's scale
constexpr Real kLeastCurvature = 1e-3L;  // lower limit of 1 + 2 s ρ″/ρ′ of a loss
constexpr Real kRank = 1e-15L;
constexpr int kMostSteps = 120;

bool is_finite(Real v) { return v - v == 0; }

std::vector<const Real*> pointers(const Scene& scene, const Term& term, const std::vector<Real>& x) {
  std::vector<const Real*> out;
  for (const int id : term.blocks)
    out.push_back(x.data() + scene.blocks()[static_cast<std::size_t>(id)].first);
  return out;
}

int tangent_of(const Block& b) {
  if (b.constant) return 0;
  return b.shape == Shape::vector ? b.size - static_cast<int>(b.held.size()) : b.size - 1;
}

// Returns D, the column norms of J, with 1 for a column that is zero in f64, such as exp(-2000).
Vector column_norms(const Matrix& J) {
  Vector d = J.colwise().norm().transpose();
  for (Real& v : d) v = v > std::numeric_limits<double>::min() ? v : 1;
  return d;
}

}  // namespace

Real Judgement::gain_in_errors() const {
  return sigma > 0 ? std::sqrt(2 * std::max<Real>(gain(), 0)) / sigma : 0;
}

int Oracle::tangent_size() const {
  int size = 0;
  for (const Block& b : scene_.blocks()) size += tangent_of(b);
  return size;
}

Real Oracle::cost_at(const Point& x) const {
  Real sum = 0;
  std::vector<Real> r;
  for (const auto& term : scene_.terms()) {
    r.assign(static_cast<std::size_t>(term->residuals), 0);
    const auto at = pointers(scene_, *term, x);
    if (!term->value(at.data(), r.data())) return kInfinity;
    Real squares = 0;
    for (const Real v : r) squares += v * v;
    sum += 0.5L * term->loss(squares)[0];
  }
  return is_finite(sum) ? sum : kInfinity;
}

Real Oracle::cost(std::span<const double> x) const { return cost_at(Point(x.begin(), x.end())); }

// The columns are the directions in which the block's numbers may move.
Matrix Oracle::tangent_basis(const Block& b, const Point& x) const {
  if (b.shape == Shape::vector) {
    Matrix basis = Matrix::Zero(b.size, tangent_of(b));
    for (int i = 0, j = 0; i < b.size; ++i) {
      if (std::ranges::find(b.held, i) == b.held.end()) basis(i, j++) = 1;
    }
    return basis;
  }
  // Directions orthogonal to x: the last columns of a Householder reflection that maps x to an axis.
  const Vector direction = Eigen::Map<const Vector>(x.data() + b.first, b.size).normalized();
  const Matrix q = Eigen::HouseholderQR<Matrix>(direction).householderQ();
  return q.rightCols(b.size - 1);
}

Oracle::Linear Oracle::linearize(const Point& x) const {
  Linear out;
  const int n = tangent_size();
  out.r = Vector::Zero(scene_.residuals());
  Matrix J = Matrix::Zero(scene_.residuals(), n);
  std::vector<int> first;
  std::vector<Matrix> basis;
  for (int next = 0; const Block& b : scene_.blocks()) {
    first.push_back(next);
    basis.push_back(b.constant ? Matrix() : tangent_basis(b, x));
    next += tangent_of(b);
  }
  out.finite = true;
  std::vector<Real> numbers;
  int row = 0;
  for (const auto& term : scene_.terms()) {
    int inputs = 0;
    for (const int id : term->blocks) inputs += scene_.blocks()[static_cast<std::size_t>(id)].size;
    numbers.assign(static_cast<std::size_t>(term->residuals * inputs), 0);
    auto r = out.r.segment(row, term->residuals);
    auto rows = J.middleRows(row, term->residuals);
    const auto at = pointers(scene_, *term, x);
    if (!term->derivatives(at.data(), r.data(), numbers.data())) {
      out.finite = false;
      return out;
    }
    using RowMajor = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> ambient(numbers.data(), term->residuals, inputs);
    for (int k = 0, column = 0; k < static_cast<int>(term->blocks.size()); ++k) {
      const auto id = static_cast<std::size_t>(term->blocks[static_cast<std::size_t>(k)]);
      const Block& b = scene_.blocks()[id];
      if (!b.constant)
        rows.middleCols(first[id], tangent_of(b)) += ambient.middleCols(column, b.size) * basis[id];
      column += b.size;
    }
    // Applies the loss to residuals and rows: Triggs and others, Bundle adjustment: a modern synthesis
    // (2000), 4.3.
    const Real s = r.squaredNorm();
    const auto rho = term->loss(s);
    out.cost += 0.5L * rho[0];
    const Real curvature = rho[1] > 0 ? std::max(1 + 2 * s * rho[2] / rho[1], kLeastCurvature) : 1;
    const Real alpha = 1 - std::sqrt(curvature), weight = std::sqrt(std::max<Real>(rho[1], 0));
    if (s > 0 && alpha != 0) rows -= (alpha / s) * r * (r.transpose() * rows).eval();
    rows *= weight;
    r *= weight / (1 - alpha);
    row += term->residuals;
  }
  out.finite = is_finite(out.cost) && is_finite(out.r.sum()) && is_finite(J.sum());
  if (!out.finite) return out;
  // Numbers at a bound stay fixed if the gradient points outwards.
  const Vector g = J.transpose() * out.r;
  for (std::size_t id = 0; id < scene_.blocks().size(); ++id) {
    const Block& b = scene_.blocks()[id];
    for (int i = 0, j = 0; i < b.size && j < tangent_of(b); ++i) {
      if (b.shape == Shape::vector && std::ranges::find(b.held, i) != b.held.end()) continue;
      const int column = first[id] + j++;
      const auto place = static_cast<std::size_t>(i);
      const Real v = x[b.first + place];
      if (!b.lower.empty() &&
          ((v <= b.lower[place] && g[column] > 0) || (v >= b.upper[place] && g[column] < 0)))
        continue;
      if (!b.lower.empty() && b.lower[place] == b.upper[place]) continue;
      out.columns.push_back(column);
    }
  }
  out.J = J(Eigen::all, out.columns);
  return out;
}

// Moves x by a step in the free directions, and keeps it on its manifolds and within its bounds.
Oracle::Point Oracle::moved(const Point& x, const Linear& at, const Vector& step) const {
  Vector all = Vector::Zero(tangent_size());
  for (std::size_t j = 0; j < at.columns.size(); ++j) all[at.columns[j]] = step[static_cast<Eigen::Index>(j)];
  Point out = x;
  for (int next = 0; const Block& b : scene_.blocks()) {
    if (b.constant) continue;
    const int size = tangent_of(b);
    Eigen::Map<Vector> numbers(out.data() + b.first, b.size);
    const Real length = numbers.norm();
    numbers += tangent_basis(b, x) * all.segment(next, size);
    next += size;
    if (b.shape != Shape::vector) numbers *= length / numbers.norm();
    for (std::size_t i = 0; i < b.lower.size(); ++i) {
      out[b.first + i] = std::clamp<Real>(out[b.first + i], b.lower[i], b.upper[i]);
    }
  }
  return out;
}

Vector Oracle::damped_step(const Linear& at, Real lambda) const {
  const auto m = at.J.rows(), n = at.J.cols();
  const Vector d = column_norms(at.J);
  Matrix A = Matrix::Zero(m + n, n);
  A.topRows(m) = at.J * d.cwiseInverse().asDiagonal();
  A.bottomRows(n).diagonal().setConstant(std::sqrt(lambda));
  Vector b = Vector::Zero(m + n);
  b.head(m) = -at.r;
  return Eigen::HouseholderQR<Matrix>(A).solve(b).cwiseQuotient(d);
}

// If the cost rises on the way, a lower cost behind that belongs to another minimum, and does not count.
bool Oracle::rises(const Point& x, const Linear& at, const Vector& step, Real noise) const {
  return std::ranges::any_of(std::array{0.01L, 0.1L, 0.3L},
                             [&](Real part) { return cost_at(moved(x, at, part * step)) > at.cost + noise; });
}

// Takes Levenberg-Marquardt steps from x until the model promises a decrease of less than `stop`.
Oracle::Point Oracle::polish(Point x, Real lambda, Real stop) const {
  Linear at = linearize(x);
  Real grow = 4;
  for (int k = 0; k < kMostSteps && at.finite && at.J.cols() > 0; ++k) {
    const Vector step = damped_step(at, lambda);
    const Real promised = -at.r.dot(at.J * step) - 0.5L * (at.J * step).squaredNorm();
    if (!is_finite(step.sum()) || promised <= 0) break;
    Point trial = moved(x, at, step);
    const Real cost = cost_at(trial);
    if (cost < at.cost && !rises(x, at, step, stop)) {
      const bool done = at.cost - cost <= stop && promised <= stop;
      Linear next = linearize(trial);
      if (!next.finite) break;
      at = std::move(next), x = std::move(trial);
      lambda = std::max<Real>(lambda * 0.1L, 1e-18L), grow = 4;
      if (done && lambda <= 1e-6L) break;
    } else {
      if (promised <= stop * 1e-3L || lambda > 1e12L) break;
      lambda = std::max<Real>(lambda, 1e-12L) * grow, grow *= 2;
    }
  }
  return x;
}

// Returns the part of the cost that f64 cannot resolve: rounding in the residual functions, in the numbers of
// x, and in the sum.
Real Oracle::rounding(std::span<const double> x, const Linear& at) const {
  const Point wide(x.begin(), x.end());
  Real squares = 0, products = 0;
  std::vector<double> r64;
  std::vector<Real> r;
  for (const auto& term : scene_.terms()) {
    r64.assign(static_cast<std::size_t>(term->residuals), 0);
    r.assign(r64.size(), 0);
    std::vector<const double*> at64;
    for (const int id : term->blocks)
      at64.push_back(x.data() + scene_.blocks()[static_cast<std::size_t>(id)].first);
    const auto at_wide = pointers(scene_, *term, wide);
    if (!term->value(at64.data(), r64.data()) || !term->value(at_wide.data(), r.data())) continue;
    Real own = 0, difference = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      own += r[i] * r[i];
      difference += (r64[i] - r[i]) * (r64[i] - r[i]);
    }
    const Real slope = term->loss(own)[1];
    squares += slope * difference;
    products += slope * std::sqrt(own * difference);
  }
  // If the terms J_j x_j are large, a gain of 64 of their roundings does not count. The oracle of curves has
  // the same rule.
  Real moved_by = 0;
  const std::vector<Real> size = sizes(x);
  for (std::size_t j = 0; j < at.columns.size(); ++j) {
    const Real norm = at.J.col(static_cast<Eigen::Index>(j)).norm() * 0x1p-53L *
                      size[static_cast<std::size_t>(at.columns[j])];
    moved_by += norm * norm;
  }
  return 4 * products + 8 * squares + 0.5L * 64 * 64 * moved_by + 0x1p-50L * at.cost;
}

std::vector<Real> Oracle::sizes(std::span<const double> x) const {
  std::vector<Real> out;
  for (const Block& b : scene_.blocks()) {
    for (int i = 0, j = 0; i < b.size && j < tangent_of(b); ++i) {
      if (b.shape == Shape::vector && std::ranges::find(b.held, i) != b.held.end()) continue;
      out.push_back(b.shape == Shape::vector ? std::fabs(x[b.first + static_cast<std::size_t>(i)]) : 1), ++j;
    }
  }
  return out;
}

Judgement Oracle::judge(std::span<const double> x, bool thorough) const {
  Judgement out;
  const Point here(x.begin(), x.end());
  const Linear at = linearize(here);
  out.finite = at.finite;
  out.cost = out.lowest = at.cost;
  if (!at.finite) return out;
  out.directions = static_cast<int>(at.columns.size());
  const int dof = scene_.residuals() - out.directions;
  const Real least = kExact * scene_.scale, noise = rounding(x, at);
  const auto consider = [&](Real lowest) {
    out.lowest = std::min(out.lowest, lowest);
    out.sigma = std::max(dof > 0 ? std::sqrt(2 * out.lowest / dof) : Real(0), least);
    out.allowed = kAllowed * out.sigma * out.sigma + noise;
  };
  consider(at.cost);
  if (out.directions == 0) return out;

  const Vector d = column_norms(at.J);
  const Matrix scaled = at.J * d.cwiseInverse().asDiagonal();
  const Eigen::ColPivHouseholderQR<Matrix> qr(scaled);
  const Matrix R =
      qr.matrixR().topRows(std::min(scaled.rows(), scaled.cols())).template triangularView<Eigen::Upper>();
  const Vector values = Eigen::JacobiSVD<Matrix>(R).singularValues();
  for (const Real v : values) out.singular.push_back(values[0] > 0 ? v / values[0] : 0);
  out.visible = out.singular;
  std::vector<int> seen;
  const std::vector<Real> size = sizes(x);
  for (int j = 0; j < out.directions; ++j) {
    const Real of_x = size[static_cast<std::size_t>(at.columns[static_cast<std::size_t>(j)])];
    if (of_x == 0 || at.J.col(j).norm() * of_x > 0x1p-53L * at.r.norm()) seen.push_back(j);
  }
  if (static_cast<int>(seen.size()) < out.directions) {
    out.visible.clear();
    const Vector of_seen =
        seen.empty() ? Vector()
                     : Vector(Eigen::JacobiSVD<Matrix>(Matrix(scaled(Eigen::all, seen))).singularValues());
    for (const Real v : of_seen) out.visible.push_back(of_seen[0] > 0 ? v / of_seen[0] : 0);
  }
  out.rank = static_cast<int>(std::ranges::count_if(out.singular, [](Real v) { return v > kRank; }));
  const int k = std::min<int>(out.rank, static_cast<int>(R.rows()));
  const Vector projected = (qr.householderQ().transpose() * at.r).head(k);
  out.distance = projected.norm() / out.sigma;

  // Tries the undamped step, and a tenth of a standard error along each direction to both sides, which
  // detects a saddle.
  const auto try_step = [&](const Vector& step) {
    if (!is_finite(step.sum())) return;
    const Real lower = cost_at(moved(here, at, step));
    if (lower < at.cost && !rises(here, at, step, 0.01L * noise)) consider(lower);
  };
  const Matrix inverse =
      R.topLeftCorner(k, k).template triangularView<Eigen::Upper>().solve(Matrix::Identity(k, k));
  const auto spread = [&](const Vector& short_step) {
    Vector step = Vector::Zero(out.directions);
    step.head(k) = short_step;
    return Vector((qr.colsPermutation() * step).cwiseQuotient(d));
  };
  try_step(spread(-inverse * projected));
  for (int j = 0; j < k; ++j) {
    const Vector direction = spread(inverse.col(j));
    try_step(direction * (0.1L * out.sigma));
    try_step(direction * (-0.1L * out.sigma));
  }
  const bool clear = out.distance <= 0.02L && out.gain() <= 0.1L * out.allowed;
  if (clear && !thorough) return out;
  for (const Real lambda : {1e-12L, 1e-3L}) {
    if (out.gain() > 10 * out.allowed && !thorough) break;  // it is not a minimum
    consider(cost_at(polish(here, lambda, 1e-3L * out.allowed)));
  }
  return out;
}

}  // namespace blocks
