#include "certificate.hpp"

#include "linear_solver.hpp"

#include <Eigen/Cholesky>
#include <Eigen/SVD>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

using DenseMatrix = Eigen::MatrixXd;
using DenseVector = Eigen::VectorXd;

constexpr double kU = 0x1p-53;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Vector safe_norms(const Linearization& at) {
  Vector scale = column_norms(at);
  for (double& d : scale) d = d > 0 ? d : 1;
  return scale;
}

// ‖D s‖ / ‖D x‖.
double relative_size(const Vector& step, std::span<const double> x, const Vector& scale) {
  double s2 = 0, x2 = 0;
  for (std::size_t j = 0; j < step.size(); ++j) {
    s2 += step[j] * step[j] * scale[j] * scale[j];
    x2 += x[j] * x[j] * scale[j] * scale[j];
  }
  return s2 == 0 ? 0.0 : std::sqrt(s2 / x2);
}

// The scaled triangle R D⁻¹ with Qᵀr beside it: from QR of the rows, or from Cholesky of H.
struct Factor {
  DenseMatrix R;
  DenseVector z;
  bool qr = false;
};

bool factor_normal(const Linearization& at, const Vector& scale, Factor& out) {
  LinearSolver solver(at, scale);
  const auto n = static_cast<Eigen::Index>(scale.size());
  DenseMatrix H(n, n);
  DenseVector g(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto ui = static_cast<std::size_t>(i);
    g[i] = at.gradient[ui] / scale[ui];
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto uj = static_cast<std::size_t>(j);
      H(i, j) = at.normal(ui, uj) / (scale[ui] * scale[uj]);
    }
  }
  const Eigen::LLT<DenseMatrix> llt(H);
  if (llt.info() != Eigen::Success) return false;
  out.R = llt.matrixU();
  out.z = llt.matrixL().solve(g);
  return true;
}

Factor factor_triangle(const Linearization& at, const Vector& scale) {
  const auto n = static_cast<Eigen::Index>(scale.size());
  Factor out{DenseMatrix::Zero(n, n), DenseVector(n), true};
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto ui = static_cast<std::size_t>(i);
    for (Eigen::Index j = i; j < n; ++j) out.R(i, j) = at.triangle(ui, static_cast<std::size_t>(j)) / scale[static_cast<std::size_t>(j)];
    out.z[i] = at.triangle(ui, scale.size());
  }
  return out;
}

// Singular values below this share of the largest are rounding: a column computed to a few units
// in the last place cannot show a smaller angle to the others.
double rank_tolerance(Eigen::Index n) { return 64 * kU * std::sqrt(static_cast<double>(n)); }

// Rank, null directions, covariance and undamped step from the singular values of the scaled triangle.
void analyse(const Factor& factor, const Vector& scale, Certified& out) {
  const auto n = factor.R.rows();
  const Eigen::JacobiSVD<DenseMatrix> svd(factor.R, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const DenseVector& sv = svd.singularValues();
  const double largest = sv[0], tolerance = rank_tolerance(n) * largest;
  Eigen::Index rank = 0;
  while (rank < n && sv[rank] > tolerance) ++rank;

  Certificate& c = out.certificate;
  c.rank = static_cast<int>(rank);
  c.qr = factor.qr;
  const double ratio = rank > 0 ? largest / sv[rank - 1] : 1;
  c.condition = rank == n ? ratio * ratio : std::numeric_limits<double>::infinity();
  c.covariance_error = static_cast<double>(n) * kU * (factor.qr ? ratio : ratio * ratio);

  const DenseMatrix V = svd.matrixV();
  const DenseVector projected = (svd.matrixU().transpose() * factor.z).head(rank);
  DenseMatrix weighted = V.leftCols(rank);
  for (Eigen::Index k = 0; k < rank; ++k) weighted.col(k) /= sv[k];
  const DenseVector s = -(weighted * projected);
  const DenseMatrix covariance = weighted * weighted.transpose();

  const auto un = static_cast<std::size_t>(n);
  out.step.resize(un);
  out.covariance = Matrix(un, un);
  std::vector<bool> determined(un, true);
  for (std::size_t j = 0; j < un; ++j) {
    const auto null_part = V.row(static_cast<Eigen::Index>(j)).tail(n - rank).norm();
    determined[j] = null_part < 1e-6;
    if (null_part > 0.05) c.confounded.push_back(static_cast<int>(j));
    out.step[j] = s[static_cast<Eigen::Index>(j)] / scale[j];
  }
  for (std::size_t i = 0; i < un; ++i) {
    for (std::size_t j = 0; j < un; ++j) {
      out.covariance(i, j) = determined[i] && determined[j]
                                 ? covariance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) / (scale[i] * scale[j])
                                 : kNaN;
    }
  }
  c.decrement_sigma = projected.norm();  // ν₀; the caller divides by σ
}

}  // namespace

int numerical_rank(const Linearization& at) {
  const Eigen::JacobiSVD<DenseMatrix> svd(factor_triangle(at, safe_norms(at)).R);
  const DenseVector& sv = svd.singularValues();
  return static_cast<int>((sv.array() > rank_tolerance(sv.size()) * sv[0]).count());
}

double scatter(double cost, std::size_t rows, std::size_t parameters, bool unit_sigma) {
  if (unit_sigma) return 1;
  return rows > parameters ? std::sqrt(2 * cost / static_cast<double>(rows - parameters)) : 0;
}

double gradient_cosine(const Linearization& at) {
  const double r = std::sqrt(2 * at.cost);
  double largest = 0;
  for (std::size_t j = 0; j < at.gradient.size(); ++j) {
    const double column = std::sqrt(at.normal(j, j));
    if (column > 0 && r > 0) largest = std::max(largest, std::fabs(at.gradient[j]) / column / r);
  }
  return largest;
}

// |fl(g_j) - g_j| <= 4u Σ_i |J_ij| |terms of r_i| + 32u ‖J_j‖‖r‖: a few roundings in each residual, and sums
// of at most some tens of additions in a chain (lanes, tiles, tree) over products. By column: one row of huge
// weight must not excuse parameters that it says nothing of.
GradientNoise gradient_noise(const Linearization& at, double magnitude, std::span<const double> column_magnitude,
                             double jacobian_error) {
  const double r = std::sqrt(2 * at.cost);
  if (!(r > 0)) return {true, 1.0};
  GradientNoise out{true, 0};
  double furthest = 1;
  for (std::size_t j = 0; j < at.gradient.size(); ++j) {
    const double column = std::sqrt(at.normal(j, j));
    const double cosine = column > 0 ? std::fabs(at.gradient[j]) / column / r : 0;
    const double terms = column_magnitude.empty() ? magnitude : column_magnitude[j];
    const double bound = kU * (4 * terms / r + 32) + jacobian_error;
    if (cosine > furthest * bound) {
      furthest = cosine / bound;
      out = {false, bound};
    } else if (out.noise) {
      out.bound = std::max(out.bound, bound);
    }
  }
  return out;
}

// ν₀ = ‖Qᵀr‖ moves by no more than r does.
double decrement_noise(double cost, double magnitude) { return 32 * kU * (magnitude + std::sqrt(2 * cost)); }

double step_noise(double condition, std::size_t parameters) {
  return static_cast<double>(parameters) * kU * std::sqrt(condition);
}

bool zero_residual(double cost, double initial_cost, double magnitude) {
  constexpr double kRounding = 1e4 * kU;
  return cost == 0 || (cost <= kU * kU * initial_cost && std::sqrt(2 * cost) <= kRounding * magnitude);
}

FirstOrder first_order(const Linearization& at, std::span<const double> x, std::size_t rows, bool unit_sigma) {
  FirstOrder out;
  out.cosine = gradient_cosine(at);
  const Vector scale = safe_norms(at);
  LinearSolver solver(at, scale);
  Step step = solver.solve(0);
  if (!step.factored) return out;
  out.usable = true;
  out.condition = step.condition;
  out.decrement = step.nu;
  const double sigma = scatter(at.cost, rows, x.size(), unit_sigma);
  out.decrement_sigma = sigma > 0 ? step.nu / sigma : std::numeric_limits<double>::infinity();
  out.step_size = relative_size(step.step, x, scale);
  out.step = std::move(step.step);
  return out;
}

Certified certify(Evaluator& evaluator, std::span<const double> x, Linearization& at, const CertificateTests& tests) {
  Certified out;
  Certificate& c = out.certificate;
  c.cost = at.cost;
  out.step.assign(x.size(), 0.0);
  if (!at.finite) return out;  // derivatives that are not finite where the residuals are: nothing to certify
  const Vector scale = safe_norms(at);
  Factor factor;
  bool ready = !at.triangle.empty();
  if (ready) {
    factor = factor_triangle(at, scale);
  } else {
    const FirstOrder cheap = first_order(at, x, evaluator.residuals(), tests.unit_sigma);
    // Normal equations serve while the covariance keeps ten digits.
    ready = cheap.usable && static_cast<double>(x.size()) * kU * cheap.condition < 1e-10 && factor_normal(at, scale, factor);
  }
  if (!ready) {
    Linearization by_qr = evaluator.linearize(x, {Format::f64, Gram::qr});
    if (!by_qr.finite) return out;
    at = std::move(by_qr);
    c.cost = at.cost;
    factor = factor_triangle(at, scale);
  }
  analyse(factor, scale, out);
  const double nu = c.decrement_sigma;
  const double sigma = scatter(c.cost, evaluator.residuals(), static_cast<std::size_t>(c.rank), tests.unit_sigma);
  c.decrement_sigma = sigma > 0 ? nu / sigma : kNaN;
  c.gradient_norm = gradient_cosine(at);
  const GradientNoise rounding = gradient_noise(at, tests.magnitude, tests.column_magnitude, evaluator.jacobian_error());
  c.gradient_bound = rounding.bound;
  c.step = relative_size(out.step, x, scale);

  const bool near = sigma > 0 && c.decrement_sigma <= tests.tau;
  const bool flat = c.gradient_norm <= tests.gtol;
  const bool settled = c.step <= std::max(tests.xtol, c.qr ? c.covariance_error : 0.0);
  // Where columns are nearly dependent a gradient of rounding size may be far from the optimum.
  const bool noise = rounding.noise && (near || nu <= decrement_noise(c.cost, tests.magnitude));
  const bool zero = zero_residual(c.cost, tests.initial_cost, tests.magnitude);
  const bool deficient = c.rank < static_cast<int>(x.size());
  // Squares that underflow hide the gradient; and where no parameter moves the residual nothing was fitted.
  if (tests.underflow || (c.rank == 0 && !zero)) return out;
  if ((near || flat) && settled) {
    c.verdict = Verdict::converged;
    c.governed_by = near ? "decrement+xtol" : "gtol+xtol";
  } else if (noise || zero) {
    c.verdict = Verdict::noise_floor;
    c.governed_by = noise ? "gradient bound" : "zero residual";
  } else {
    return out;
  }
  if (deficient) c.verdict = Verdict::rank_deficient;
  c.passed = out.first_order = true;
  return out;
}

}  // namespace nlsq::inline v0
