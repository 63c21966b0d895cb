// Fits by Levenberg-Marquardt in one floating-point type throughout, by Householder QR of blocks of rows,
// with columns scaled to unit length. In long double it is the oracle. In float, or with stored numbers
// rounded further, it is a naive solver without certificates.
#pragma once

#include "problem.hpp"
#include "step_machine.hpp"

#include <Eigen/QR>

namespace problems {

template <class Real, class Storage = AsComputed>
class PlainFit {
 public:
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
  using Point = std::vector<Real>;

  PlainFit(const Problem& problem, const nlsq::Formula& formula)
      : problem_(problem), formula_(formula), model_(formula.steps, formula.parameters.size()),
        response_(formula.response_steps, 0) {}

  // [J | r] reduced to its triangular factor, with unscaled columns.
  struct System {
    Matrix triangle;     // (n + 1) x (n + 1)
    Real magnitude = 0;  // ‖terms of r‖
  };

  bool linearize(const Point& p, System& out) {
    constexpr std::size_t kBlock = 512;
    const std::size_t m = problem_.rows();
    const auto n = static_cast<Eigen::Index>(p.size());
    Matrix folded = Matrix::Zero(n + 1, n + 1), block;
    out.magnitude = 0;
    for (std::size_t first = 0; first < m; first += kBlock) {
      const std::size_t count = std::min(kBlock, m - first);
      block.setZero(n + 1 + static_cast<Eigen::Index>(count), n + 1);
      block.topRows(n + 1) = folded;
      for (std::size_t i = 0; i < count; ++i) {
        Real size = 0;
        const Real weight = weight_of(first + i);
        const Real r = residual(p, first + i, true, size);
        const auto row = n + 1 + static_cast<Eigen::Index>(i);
        for (Eigen::Index j = 0; j < n; ++j) {
          block(row, j) = Storage::store(derivatives_[j] * weight);
          size += std::fabs(block(row, j) * p[static_cast<std::size_t>(j)]);  // first-order terms of f
        }
        block(row, n) = r;
        out.magnitude += size * size;
      }
      if (!block.allFinite()) return false;
      const Eigen::HouseholderQR<Matrix> qr(block);
      folded = qr.matrixQR().topRows(n + 1).template triangularView<Eigen::Upper>();
    }
    out.triangle = std::move(folded);
    out.magnitude = std::sqrt(out.magnitude);
    return true;
  }

  bool cost(const Point& p, Real& out) {
    out = 0;
    Real size = 0;
    for (std::size_t i = 0; i < problem_.rows(); ++i) {
      const Real r = residual(p, i, false, size);
      out += r * r / 2;
    }
    return std::isfinite(out);
  }

  // Ends when a step reduces the cost by less than the fraction `ftol`, or when no step reduces it. Returns
  // false if the start is not finite or `max_iterations` is reached.
  bool minimise(Point& p, Real& cost_out, Real lambda, Real ftol, int max_iterations) {
    constexpr Real kU = std::numeric_limits<Real>::epsilon();
    const auto n = static_cast<Eigen::Index>(p.size());
    Real here = 0;
    if (!cost(p, here)) return false;
    cost_out = here;
    for (int iteration = 0; iteration < max_iterations; ++iteration) {
      System at;
      if (!linearize(p, at)) return false;
      Vector scale(n);
      for (Eigen::Index j = 0; j < n; ++j) {
        scale[j] = at.triangle.col(j).head(n).norm();
        if (!(scale[j] > 0)) scale[j] = 1;
      }
      Real gain = 0;
      for (int tries = 0; tries < 40 && gain == 0; ++tries) {
        const Vector s = step(at, scale, lambda);
        Point next = p;
        for (Eigen::Index j = 0; j < n; ++j) {
          Real& v = next[static_cast<std::size_t>(j)];
          v = Storage::store(v + s[j] / scale[j]);
        }
        if (next == p) break;
        Real there = 0;
        if (s.allFinite() && cost(next, there) && there < here) {
          gain = here - there;
          p = std::move(next);
          here = there;
          lambda = lambda < kU ? Real(0) : lambda / 10;
        } else {
          lambda = std::max(lambda * 10, kU * kU);
        }
      }
      cost_out = here;
      if (gain <= ftol * here) return true;
    }
    return false;
  }

 private:
  Vector step(const System& at, const Vector& scale, Real lambda) const {
    const auto n = scale.size();
    Matrix A = Matrix::Zero(2 * n, n);
    A.topRows(n) = at.triangle.topLeftCorner(n, n) * scale.cwiseInverse().asDiagonal();
    A.bottomRows(n).diagonal().setConstant(std::sqrt(lambda));
    Vector rhs = Vector::Zero(2 * n);
    rhs.head(n) = at.triangle.topRightCorner(n, 1);
    return -A.householderQr().solve(rhs);
  }

  Real weight_of(std::size_t row) const {
    return problem_.sigma.empty() ? Real(1) : Real(1) / static_cast<Real>(problem_.sigma[row]);
  }

  Real residual(const Point& p, std::size_t row, bool with_derivatives, Real& size) {
    predictors_.resize(problem_.x.size());
    for (std::size_t c = 0; c < predictors_.size(); ++c) predictors_[c] = problem_.x[c][row];
    Real y = static_cast<Real>(problem_.y[row]);
    if (formula_.has_left_side)
      y = response_.run(predictors_.data(), predictors_.size(), problem_.y[row], p, false)[0];
    const Real* f = model_.run(predictors_.data(), predictors_.size(), 0, p, with_derivatives);
    derivatives_ = f + 1;
    const Real weight = weight_of(row);
    size = (std::fabs(f[0]) + std::fabs(y)) * weight;
    return Storage::store((f[0] - Storage::store(y)) * weight);
  }

  const Problem& problem_;
  const nlsq::Formula& formula_;
  Machine<Real, Storage> model_, response_;
  std::vector<double> predictors_;
  const Real* derivatives_ = nullptr;
};

}  // namespace problems
