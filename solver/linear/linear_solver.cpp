// Implements LinearSolver's factorizations, and the norms that its factors define.
#include "linear/linear_solver_impl.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/small_dense.hpp"
#include "linear/wide_factor.hpp"
#include "support/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nlsq::inline v0 {

namespace {

constexpr int kExactInverse = 64;

const Parallelism& one_thread() {
  static const Parallelism one{1, {}};
  return one;
}
const Parallelism& use_of(const Parallelism* threads) { return threads != nullptr ? *threads : one_thread(); }

double one_norm(const DenseMatrix& A) { return A.cwiseAbs().colwise().sum().maxCoeff(); }

// Returns ‖A⁻¹‖₁ of A = LLᵀ, exactly for n <= 64. For larger n, Hager's method (Higham, Accuracy and
// Stability, algorithm 15.1) gives a lower bound, nearly always within a factor 3.
double inverse_one_norm(const DenseMatrix& L) {
  const auto n = L.rows();
  const auto size = static_cast<std::size_t>(n);
  const auto solve = [&](DenseVector v) {
    dense::solve_lower(L.data(), size, v.data());
    dense::solve_lower_transposed(L.data(), size, v.data());
    return v;
  };
  if (n <= kExactInverse) {
    DenseMatrix inverse = DenseMatrix::Identity(n, n);
    dense::solve_lower(L.data(), size, inverse.data(), size);
    dense::solve_lower_transposed(L.data(), size, inverse.data(), size);
    return one_norm(inverse);
  }
  DenseVector v = DenseVector::Constant(n, 1.0 / static_cast<double>(n));
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const DenseVector y = solve(v);
    const double norm = y.cwiseAbs().sum();
    if (round > 0 && norm <= best) break;
    best = norm;
    const DenseVector z = solve(y.unaryExpr([](double t) { return t < 0 ? -1.0 : 1.0; }));
    Eigen::Index j = 0;
    if (z.cwiseAbs().maxCoeff(&j) <= z.dot(v)) break;
    v.setZero();
    v[j] = 1;
  }
  return best;
}

}  // namespace

const Parallelism& LinearSolver::Impl::threads_for_wide() const {
  return size() >= kWide ? use_of(threads) : one_thread();
}

void LinearSolver::Impl::solve_lower(double* v) const {
  if (small()) return small_dense::solve_lower(L.data(), size(), inverse_pivots.data(), v);
  dense::solve_lower(L.data(), size(), v);
}

void LinearSolver::Impl::solve_lower_transposed(double* v) const {
  if (small()) return small_dense::solve_lower_transposed(L.data(), size(), inverse_pivots.data(), v);
  dense::solve_lower_transposed(L.data(), size(), v);
}

bool LinearSolver::Impl::small() const { return size() <= small_dense::kMost; }

// Returns λ‖s‖² with the weights of the damping.
double LinearSolver::Impl::damping_energy(double lambda) const {
  if (weights.size() > 0) return lambda * s.dot(weights.cwiseProduct(s));
  const double norm = small_dense::norm(s.data(), size());
  return lambda * norm * norm;
}

void LinearSolver::weigh_damping(std::span<const double> weights) {
  impl_->weights = Eigen::Map<const DenseVector>(weights.data(), static_cast<Eigen::Index>(weights.size()));
}

void column_norms(const Linearization& at, Vector& out) {
  out.resize(at.gradient.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = std::sqrt(at.normal(j, j));
}

Vector column_norms(const Linearization& at) {
  Vector norms;
  column_norms(at, norms);
  return norms;
}

LinearSolver::LinearSolver() : impl_(std::make_unique<Impl>()) {}
LinearSolver::~LinearSolver() = default;
LinearSolver::LinearSolver(LinearSolver&&) noexcept = default;
LinearSolver& LinearSolver::operator=(LinearSolver&&) noexcept = default;

void LinearSolver::share_out(const Parallelism& threads) { impl_->threads = &threads; }
const Parallelism& LinearSolver::threads() const { return use_of(impl_->threads); }

void LinearSolver::set(const Linearization& at, std::span<const double> scale) {
  const auto n = static_cast<Eigen::Index>(scale.size());
  Impl& m = *impl_;
  m.room_given = m.reduced = false;
  m.weights.resize(0);
  m.inverse_scale.resize(n);
  m.g.resize(n);
  m.H.resize(n, n);
  const double* normal = at.normal.data();
  for (Eigen::Index i = 0; i < n; ++i) m.inverse_scale[i] = 1 / scale[static_cast<std::size_t>(i)];
  for (Eigen::Index j = 0; j < n; ++j) {
    m.g[j] = m.inverse_scale[j] * at.gradient[static_cast<std::size_t>(j)];
    for (Eigen::Index i = 0; i < n; ++i)
      m.H(i, j) = m.inverse_scale[i] * normal[j * n + i] * m.inverse_scale[j];
  }
  if (at.triangle.empty()) {
    m.R.resize(0, 0);
    return;
  }
  m.R.setZero(n, n);
  m.z.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = i; j < n; ++j) {
      m.R(i, j) = at.triangle(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) * m.inverse_scale[j];
    }
    m.z[i] = at.triangle(static_cast<std::size_t>(i), static_cast<std::size_t>(n));
  }
}

void LinearSolver::add_to_normal(const Matrix& S) {
  Impl& m = *impl_;
  const auto n = m.g.size();
  const Eigen::Map<const DenseMatrix> added(S.data(), n, n);
  m.H += m.inverse_scale.asDiagonal() * added * m.inverse_scale.asDiagonal();
}

// Solves by Cholesky of H + λI. Leaves the factor in L and the step in s.
bool LinearSolver::Impl::solve_normal(double lambda, Step& out) {
  if (small()) {
    L.resize(g.size(), g.size());
    inverse_pivots.resize(g.size());
    s.resize(g.size());
    return small_dense::with_constant(size(), [&](auto n) {
      // The compiler can keep local arrays in registers.
      constexpr std::size_t kMost = small_dense::most_of<decltype(n)>;
      double factor[kMost * kMost], inverse[kMost * kMost], pivots[kMost], v[kMost];
      std::copy_n(H.data(), n * n, factor);
      for (std::size_t j = 0; j < n; ++j) factor[j * n + j] += damping(static_cast<Eigen::Index>(j), lambda);
      std::copy_n(g.data(), std::size_t{n}, v);
      const double norm = small_dense::one_norm(factor, n);
      if (!small_dense::cholesky(factor, n, pivots)) return false;
      out.condition = norm * small_dense::inverse_one_norm(factor, n, pivots, inverse);
      small_dense::solve_lower(factor, n, pivots, v);
      out.nu = small_dense::norm(v, n);
      small_dense::solve_lower_transposed(factor, n, pivots, v);
      std::copy_n(factor, n * n, L.data());
      std::copy_n(pivots, std::size_t{n}, inverse_pivots.data());
      for (std::size_t i = 0; i < n; ++i) s.data()[i] = -v[i];
      return true;
    });
  }
  A = H;
  for (Eigen::Index j = 0; j < g.size(); ++j) A(j, j) += damping(j, lambda);
  s = g;
  const double norm = one_norm(A);
  if (size() >= kWide) {
    if (!factor_wide(A.data(), size(), use_of(threads))) return false;
    L.resize(A.rows(), A.cols());
    transpose_wide(A.data(), size(), L.data());
  } else {
    L = A;
    if (!dense::cholesky(L.data(), size())) return false;
  }
  out.condition = norm * inverse_one_norm(L);
  solve_lower(s.data());
  out.nu = s.norm();
  solve_lower_transposed(s.data());
  s = -s;
  return true;
}

// Returns entry j of the diagonal block below R in the QR of [R; √λ I].
double LinearSolver::Impl::damping_row(Eigen::Index j, double lambda) const {
  if (reduced && on[static_cast<std::size_t>(j)] != Held::none) return 1;  // its column in R is zero
  return std::sqrt(damping(j, lambda));
}

// Solves by QR of [R; √λ I] with the kernels, which exploit its zeros. Leaves Rᵀ in L and the step in s.
bool LinearSolver::Impl::solve_wide_triangle(double lambda, Step& out) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto n = g.size();
  Rows top = Rows::Zero(n + 1, n + 1);
  top.topLeftCorner(n, n) = R;
  top.topRightCorner(n, 1) = z;
  DenseVector diagonal(n);
  for (Eigen::Index j = 0; j < n; ++j) diagonal[j] = damping_row(j, lambda);
  KernelCounters uncounted;  // the kernels read no rows of the data here
  fold_diagonal(top.data(), diagonal.data(), size(), size() + 1, uncounted);
  if (!(top.diagonal().head(n).cwiseAbs().minCoeff() > 0)) return false;
  L = top.topLeftCorner(n, n).transpose();
  A = H;
  for (Eigen::Index j = 0; j < n; ++j) A(j, j) += damping(j, lambda);
  out.condition = one_norm(A) * inverse_one_norm(L);
  s = -top.topRightCorner(n, 1);
  out.nu = s.norm();
  solve_lower_transposed(s.data());
  return true;
}

// Solves by QR of [R; √λ I]. Leaves Rᵀ in L and the step in s.
bool LinearSolver::Impl::solve_triangle(double lambda, Step& out) {
  if (size() >= kWide) return solve_wide_triangle(lambda, out);
  const auto n = g.size();
  DenseMatrix stacked = DenseMatrix::Zero(2 * n, n);
  stacked.topRows(n) = R;
  for (Eigen::Index j = 0; j < n; ++j) stacked(n + j, j) = damping_row(j, lambda);
  DenseVector rhs = DenseVector::Zero(2 * n);
  rhs.head(n) = z;
  dense::householder_qr(stacked.data(), 2 * size(), size(), rhs.data());
  const DenseMatrix top = stacked.topRows(n).triangularView<Eigen::Upper>();
  if (!(top.diagonal().cwiseAbs().minCoeff() > 0)) return false;
  L = top.transpose();
  inverse_pivots = L.diagonal().cwiseInverse();
  A.resize(n, n);
  dense::square(top.data(), size(), A.data());
  out.condition = one_norm(A) * inverse_one_norm(L);
  s = -rhs.head(n);
  out.nu = s.norm();
  dense::solve_upper(top.data(), size(), s.data());
  return true;
}

bool LinearSolver::Impl::solve_system(double lambda, Step& out) {
  return R.size() == 0 ? solve_normal(lambda, out) : solve_triangle(lambda, out);
}

void LinearSolver::solve(double lambda, Step& out) {
  Impl& m = *impl_;
  out.factored = false;
  out.condition = out.nu = out.predicted = out.scaled_norm = 0;
  out.step.assign(m.size(), 0.0);
  out.held.clear();
  if (!(m.room_given ? m.search(lambda, out) : m.solve_system(lambda, out))) return;
  out.factored = m.s.allFinite() && std::isfinite(out.condition);
  if (!out.factored) return;
  out.scaled_norm = small_dense::norm(m.s.data(), m.size());
  out.predicted = 0.5 * (m.damping_energy(lambda) - m.g.dot(m.s));
  for (std::size_t j = 0; j < m.size(); ++j) {
    out.step[j] = m.inverse_scale[static_cast<Eigen::Index>(j)] * m.s[static_cast<Eigen::Index>(j)];
  }
  if (m.room_given) m.end_on_bounds(lambda, out);
}

void LinearSolver::apply_inverse(const Vector& v, Vector& out) const {
  Impl& m = *impl_;
  m.s = m.inverse_scale.cwiseProduct(Eigen::Map<const DenseVector>(v.data(), m.g.size()));
  m.solve_lower(m.s.data());
  m.solve_lower_transposed(m.s.data());
  out.resize(v.size());
  Eigen::Map<DenseVector>(out.data(), m.g.size()) = -m.inverse_scale.cwiseProduct(m.s);
}

double LinearSolver::norm_in_metric(const Vector& v) const {
  Impl& m = *impl_;
  m.s = m.inverse_scale.cwiseProduct(Eigen::Map<const DenseVector>(v.data(), m.g.size()));
  m.solve_lower(m.s.data());
  return small_dense::norm(m.s.data(), m.size());
}

namespace {

using Rows = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

Rows rows_of(const Matrix& A) {
  return Rows(A.data(), static_cast<Eigen::Index>(A.rows()), static_cast<Eigen::Index>(A.columns()));
}

}  // namespace

double LinearSolver::rms_in_metric(const Matrix& B) const {
  constexpr Eigen::Index kTogether = 16;
  const Impl& m = *impl_;
  const Rows rows = rows_of(B);
  std::vector<double> squares(static_cast<std::size_t>((rows.rows() + kTogether - 1) / kTogether));
  run_tasks(squares.size(), m.threads_for_wide(), [&](std::size_t t) {
    const auto first = static_cast<Eigen::Index>(t) * kTogether;
    DenseMatrix columns = m.inverse_scale.asDiagonal() *
                          rows.middleRows(first, std::min(kTogether, rows.rows() - first)).transpose();
    dense::solve_lower(m.L.data(), m.size(), columns.data(), static_cast<std::size_t>(columns.cols()));
    squares[t] = columns.squaredNorm();
  });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

double LinearSolver::largest_in_metric(const Matrix& A, const Matrix& B) const {
  constexpr int kRounds = 8;
  constexpr Eigen::Index kTogether = 128;
  const Impl& m = *impl_;
  const Rows a = rows_of(A), b = rows_of(B);
  const auto parts = static_cast<std::size_t>((a.rows() + kTogether - 1) / kTogether);
  // Holds rows of E = (B - A)D⁻¹, and their products with v.
  struct Part {
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> E;
    DenseVector product;
    double squares = 0;
  };
  std::vector<Part> rows(parts);
  DenseVector v = DenseVector::Ones(m.g.size()).normalized();
  double norm = 0;
  for (int round = 0; round < kRounds; ++round) {
    dense::solve_lower_transposed(m.L.data(), m.size(), v.data());
    run_tasks(parts, m.threads_for_wide(), [&](std::size_t t) {
      Part& part = rows[t];
      if (round == 0) {
        const auto first = static_cast<Eigen::Index>(t) * kTogether,
                   count = std::min(kTogether, a.rows() - first);
        part.E = (b.middleRows(first, count) - a.middleRows(first, count)) * m.inverse_scale.asDiagonal();
      }
      // Computes Ev and Eᵀ(Ev) together, row by row, because E is larger than most caches.
      part.product.setZero(v.size());
      part.squares = 0;
      for (Eigen::Index i = 0; i < part.E.rows(); ++i) {
        const double u = part.E.row(i).dot(v);
        part.squares += u * u;
        part.product += u * part.E.row(i).transpose();
      }
    });
    double squares = 0;
    v.setZero();
    for (const Part& part : rows) {
      v += part.product;
      squares += part.squares;
    }
    norm = std::max(norm, std::sqrt(squares));
    dense::solve_lower(m.L.data(), m.size(), v.data());
    const double size = v.norm();
    if (!(size > 0)) break;
    v /= size;
  }
  return norm;
}

double LinearSolver::contraction(const Matrix& A, const Matrix& B, const Step& step) const {
  const Impl& m = *impl_;
  const Eigen::Map<const DenseVector> s(step.step.data(), m.g.size());
  const Rows a = rows_of(A), b = rows_of(B);
  DenseVector e = b.transpose() * (b * s) - a.transpose() * (a * s);
  e = m.inverse_scale.cwiseProduct(e);
  dense::solve_lower(m.L.data(), m.size(), e.data());
  return step.nu > 0 ? e.norm() / step.nu : 0.0;
}

}  // namespace nlsq::inline v0
