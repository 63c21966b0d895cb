// Computes the covariances of M-estimators and of counts from a pass with extra columns.
#include "dense/row_statistics.hpp"

#include "certificate/certificate.hpp"
#include "certificate/certificate_face.hpp"
#include "certificate/difference_errors.hpp"
#include "dense/dense_evaluator.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nlsq::inline v0 {

namespace {

// Removes the extra columns between J and the residual.
Linearization without_extra(const Linearization& all, std::size_t n) {
  Linearization out;
  out.plan = all.plan;
  out.finite = all.finite;
  out.cost = all.cost;
  out.derivative_error = all.derivative_error;
  out.gradient.assign(all.gradient.begin(), all.gradient.begin() + static_cast<std::ptrdiff_t>(n));
  out.normal = Matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out.normal(i, j) = all.normal(i, j);
  }
  if (all.triangle.empty()) return out;
  out.triangle = Matrix(n + 1, n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) out.triangle(i, j) = all.triangle(i, j);
    out.triangle(i, n) = all.triangle(i, all.gradient.size());
  }
  return out;
}

// Returns the factor of (JᵀJ)⁻¹. The extra columns are 1, ψ', r and `beyond`; the residual is ψ.
double robust_factor(const Linearization& all, std::size_t n, std::size_t rows, int rank) {
  const double m = static_cast<double>(rows), dof = m - rank;
  const double mean = all.normal(n, n + 1) / m, variance = all.normal(n + 1, n + 1) / m - mean * mean;
  // ψ' <= 0 on average: these sums cannot belong to a minimum
  if (!(dof > 0) || !(mean > 0)) return kNaN;
  const double K = 1 + rank / m * std::max(0.0, variance) / (mean * mean);
  return K * K * (2 * all.cost / dof) / (mean * mean);
}

// Returns true if the pull of a row falls again once its residual is beyond the scale.
bool redescends(const Loss& loss) {
  switch (loss.kind()) {
    case Loss::Kind::cauchy:
    case Loss::Kind::arctan:
    case Loss::Kind::tukey: return true;
    case Loss::Kind::linear:
    case Loss::Kind::soft_l1:
    case Loss::Kind::huber:
    case Loss::Kind::poisson:
    case Loss::Kind::own: break;
  }
  return false;
}

// Integrates by Simpson's rule.
template <class F>
double integral(F f, double from, double to) {
  constexpr int kSteps = 64;
  const double h = (to - from) / kSteps;
  double sum = f(from) + f(to);
  for (int k = 1; k < kSteps; ++k) sum += (k % 2 == 1 ? 4 : 2) * f(from + k * h);
  return sum * h / 3;
}

}  // namespace

double normal_variance(const Loss& loss) {
  constexpr double kEnd = 9;
  const auto density = [](double r) {
    return std::exp(-0.5 * r * r) * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
  };  // both tails together
  double squares = 0, slopes = 0;
  // Integrates over pieces. They begin at the scale, where some losses have a kink. Their length doubles up
  // to a limit.
  for (double from = 0, to = std::min(loss.scale(), kEnd); from < kEnd;
       from = to, to = std::min(2 * to, kEnd)) {
    const int parts = 1 + static_cast<int>(to - from);
    const double width = (to - from) / parts;
    for (int k = 0; k < parts; ++k) {
      const double a = from + k * width, b = from + (k + 1) * width, middle = 0.5 * (a + b);
      const bool beyond = middle > loss.scale();
      // At the kink itself, the slope on the piece's own side is used.
      const auto inside = [&](double r) {
        return beyond ? std::max(r, loss.scale() * (1 + 1e-15)) : std::min(r, loss.scale());
      };
      squares += integral([&](double r) { return std::pow(r * loss(r * r).slope, 2) * density(r); }, a, b);
      slopes += integral(
          [&](double r) {
            const double s = inside(r) * inside(r);
            return (loss(s).slope + 2 * s * loss.curvature(s)) * density(r);
          },
          a, b);
    }
  }
  return slopes > 0 ? squares / (slopes * slopes) : kNaN;
}

RowStatistics row_statistics(DenseEvaluator& evaluator, const ResidualForm& form, std::span<const double> x,
                             bool absolute_sigma, std::span<const int> at_bound) {
  const std::size_t n = x.size();
  RowStatistics out;
  out.covariance = Matrix(n, n, kNaN);
  Vector at(x.begin(), x.end());
  at.resize(static_cast<std::size_t>(evaluator.parameters()), 0.0);
  Linearization all = evaluator.linearize(at, kF64Plan);
  if (evaluator.rough(at)) {
    evaluator.renew(at);
    evaluator.linearize_into(at, kF64Plan, all);
  }
  if (!all.finite) return out;
  const bool robust = form.loss.is_robust();
  out.rss = robust ? all.normal(n + 2, n + 2) : 2 * all.cost;
  out.beyond = robust ? static_cast<std::size_t>(std::llround(all.normal(n + 3, n + 3))) : 0;
  const Face face = face_without(n, at_bound);
  if (face.kept.empty()) return out;
  const auto seen = [&](const Linearization& of) {
    return at_bound.empty() ? without_extra(of, n) : restricted(without_extra(of, n), face);
  };
  Certified judged;
  if (!judge_covariance(seen(all), judged)) {
    const Linearization by_qr = evaluator.linearize(at, kQrPlan);
    if (!by_qr.finite || !judge_covariance(seen(by_qr), judged)) return out;
  }
  if (error_by_differences(all, judged.certificate, evaluator.residuals()) > kStandardErrorsUnknown)
    return out;
  const auto rank = static_cast<std::size_t>(judged.certificate.rank);
  out.too_few_within = redescends(form.loss) && out.beyond > 0 && evaluator.residuals() - out.beyond <= rank;
  if (out.too_few_within) return out;
  if (!at_bound.empty()) expand(face, judged);
  const double factor = !robust ? 1
                        : absolute_sigma
                            ? normal_variance(form.loss)
                            : robust_factor(all, n, evaluator.residuals(), judged.certificate.rank);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out.covariance(i, j) = judged.covariance(i, j) * factor;
  }
  return out;
}

RowStatistics row_statistics(RowModel& rows, const ResidualForm& form, std::span<const double> x,
                             bool absolute_sigma, const Parallelism& parallelism,
                             std::span<const int> at_bound, bool extrapolated) {
  if (extrapolated) rows.extrapolate(true);
  DenseEvaluator evaluator(rows, parallelism);
  return row_statistics(evaluator, form, x, absolute_sigma, at_bound);
}

}  // namespace nlsq::inline v0
