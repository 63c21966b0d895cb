// Updates S = Σ rᵢ∇²rᵢ from gradient changes and chooses between the models with and without it.
#include "minimizer/residual_curvature.hpp"

#include "linear/dot.hpp"
#include "support/all_finite.hpp"

#include <cmath>
#include <cstddef>

namespace nlsq::inline v0 {

namespace {

void multiply(const Matrix& A, std::span<const double> d, Vector& out) {
  out.assign(d.size(), 0.0);
  for (std::size_t i = 0; i < d.size(); ++i) out[i] = dot({A.data() + i * d.size(), d.size()}, d);
}

double form(const Matrix& A, std::span<const double> d) {
  double sum = 0;
  for (std::size_t i = 0; i < d.size(); ++i) sum += d[i] * dot({A.data() + i * d.size(), d.size()}, d);
  return sum;
}

}  // namespace

void ResidualCurvature::learn(const Linearization& from, const Linearization& to, std::span<const double> d) {
  const std::size_t n = d.size();
  if (S_.empty()) S_.assign(n, n, 0.0);
  // y is the change of the gradient. S₊ is to satisfy S₊d = z, z = y - J₊ᵀJ₊d.
  Vector& y = change_;
  y.resize(n);
  for (std::size_t j = 0; j < n; ++j) y[j] = to.gradient[j] - from.gradient[j];
  const double along = dot(y, d);
  if (!(along > 0) || !std::isfinite(along)) return;
  Vector& z = product_;
  multiply(to.normal, d, z);
  for (std::size_t j = 0; j < n; ++j) z[j] = y[j] - z[j];

  const double wanted = std::fabs(dot(z, d)), there = std::fabs(form(S_, d));
  const double size = there > wanted ? wanted / there : 1;
  for (std::size_t k = 0; k < n * n; ++k) S_.data()[k] *= size;
  for (std::size_t i = 0; i < n; ++i) z[i] -= dot({S_.data() + i * n, n}, d);
  const double rest = dot(z, d) / (along * along);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) S_(i, j) += (z[i] * y[j] + y[i] * z[j]) / along - rest * y[i] * y[j];
  }
  if (!all_finite({S_.data(), n * n})) forget();
}

bool ResidualCurvature::choose(const Linearization& at, std::span<const double> d, double decrease) {
  constexpr double kNearer = 1.5;  // the value of NL2SOL
  // The number of trials in a row that must favour the other model. Where residuals vanish at the minimum,
  // one or two steps may favour S although S makes the other steps slower.
  constexpr int kToUse = 3, kToLeave = 2;
  if (S_.empty()) return false;
  const double without = -dot(at.gradient, d) - 0.5 * form(at.normal, d), with = without - 0.5 * form(S_, d);
  const double error = std::fabs(without - decrease), other = std::fabs(with - decrease);
  const bool against = in_use_ ? kNearer * error < other : kNearer * other < error;
  in_a_row_ = against ? in_a_row_ + 1 : 0;
  if (in_a_row_ < (in_use_ ? kToLeave : kToUse)) return false;
  in_a_row_ = 0;
  in_use_ = !in_use_;
  return true;
}

void ResidualCurvature::forget() {
  S_.assign(0, 0);
  in_use_ = false;
  in_a_row_ = 0;
}

}  // namespace nlsq::inline v0
