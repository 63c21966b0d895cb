// Draws the data sets of a bootstrap.
#include "prediction/bootstrap_samples.hpp"

#include "prediction/right_side.hpp"

#include <nlsq/special_functions.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

// Draws a Poisson number. For a mean below 10, factors are drawn until their product falls below exp(-mean).
// For larger means it uses transformed rejection (W. Hörmann, Insurance: Mathematics and Economics 12, 1993,
// algorithm PTRS).
double SampleRandom::poisson(double mean) {
  if (mean < 10) {
    const double limit = std::exp(-mean);
    double count = 0;
    for (double product = uniform(); product > limit; product *= uniform()) ++count;
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), inside = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniform() - 0.5, v = uniform(), room = 0.5 - std::fabs(u);
    const double count = std::floor((2 * a / room + b) * u + mean + 0.43);
    if (room >= 0.07 && v <= inside) return count;
    if (!(count >= 0) || (room < 0.013 && v > room)) continue;
    const double hat = std::log(v * inverse_alpha / (a / (room * room) + b));
    if (hat <= count * std::log(mean) - mean - lgamma_function(count + 1)) return count;
  }
}

namespace {

void check_method(const FitResult& fit, const FitOptions& options, BootstrapMethod method) {
  const auto refuse = [&](const char* why) {
    throw ValidationError(fmt::format("bootstrap method {}: {}", name(method), why));
  };
  if (!options.sigma_matrix.empty())
    throw ValidationError("bootstrap: the rows have a covariance matrix, and samples need rows apart");
  if (has_x_errors(options) && method != BootstrapMethod::cases)
    refuse("it draws errors of y alone, and x has errors, too; use case");
  if (fit.loss.is_counts() && method == BootstrapMethod::residual)
    refuse("the scatter of counts differs by row; use parametric or case");
  if (fit.loss.is_robust() && !options.absolute_sigma && method == BootstrapMethod::parametric)
    refuse("a robust loss does not say how large normal errors are; use residual or case, or absolute sigma");
  if (fit.dof <= 0 && method != BootstrapMethod::cases && !options.absolute_sigma && !fit.loss.is_counts())
    refuse("there are as many parameters as rows, so nothing is known of the errors; use absolute sigma");
  if (fit.dof <= 0 && method == BootstrapMethod::cases)
    refuse(
        "there are as many parameters as rows, so a sample is fitted only if it has every row; use "
        "parametric");
  if (fit.dof <= 0 && method == BootstrapMethod::residual)
    refuse("there are as many parameters as rows, so residuals are 0; use parametric");
}

std::vector<double> resampled(const Column& column, const std::vector<std::size_t>& rows) {
  std::vector<double> out;
  if (column.empty()) return out;
  out.reserve(rows.size());
  for (const std::size_t i : rows) out.push_back(column[i]);
  return out;
}

}  // namespace

const char* name(BootstrapMethod method) noexcept {
  switch (method) {
    case BootstrapMethod::residual: return "residual";
    case BootstrapMethod::cases: return "case";
    case BootstrapMethod::parametric: return "parametric";
  }
  return "?";
}

BootstrapMethod suitable_method(const FitResult& fit, const FitOptions& options) {
  if (has_x_errors(options)) return BootstrapMethod::cases;
  return fit.loss.is_counts() || fit.dof <= 0 ? BootstrapMethod::parametric : BootstrapMethod::residual;
}

BootstrapSampler::BootstrapSampler(const Columns& x, const std::vector<double>& y, std::vector<double> fitted,
                                   const FitResult& fit, const FitOptions& options,
                                   const BootstrapOptions& wanted)
    : method_(wanted.method), x_(x), options_(options), y_(y), counts_(fit.loss.is_counts()),
      scatter_(options.absolute_sigma ? 1 : std::sqrt(fit.chi2_reduced)), dof_(fit.dof),
      fitted_(std::move(fitted)) {
  check_method(fit, options, method_);
  if (!counts_ && !has_x_errors(options) && options.sigma_matrix.empty())
    check_same_cost("bootstrap", sum_of_squares(), fit.rss, fit);
  if (method_ == BootstrapMethod::residual) prepare_residuals(fit.loss.is_robust());
}

double BootstrapSampler::residual(std::size_t row) const {
  return (y_[row] - fitted_[row]) / (options_.sigma.empty() ? 1 : options_.sigma[row]);
}

double BootstrapSampler::sum_of_squares() const {
  double sum = 0;
  for (std::size_t i = 0; i < y_.size(); ++i) sum += residual(i) * residual(i);
  return sum;
}

// Prepares the residuals for drawing. They are multiplied by a factor, because fitted curves lie closer to
// the data than the true curve does. Residuals of least squares are centred. Residuals of a robust loss are
// not, because their mean need not be zero: centring them would shift every sample by the mean of the
// outliers.
void BootstrapSampler::prepare_residuals(bool robust) {
  const std::size_t m = y_.size();
  residuals_.resize(m);
  for (std::size_t i = 0; i < m; ++i) residuals_[i] = residual(i);
  const double sum = std::accumulate(residuals_.begin(), residuals_.end(), 0.0);
  const double mean = robust ? 0 : sum / static_cast<double>(m);
  const double factor = dof_ > 0 ? std::sqrt(static_cast<double>(m) / static_cast<double>(dof_)) : 1;
  for (double& e : residuals_) e = (e - mean) * factor;
}

void BootstrapSampler::draw_rows(SampleRandom& random, BootstrapSample& out) const {
  out.rows.resize(y_.size());
  for (std::size_t& row : out.rows) row = random.below(y_.size());
  const std::vector<std::size_t>& rows = out.rows;
  out.y = resampled(Column(y_), rows);
  out.sigma = resampled(options_.sigma, rows);
  for (const Column& column : x_.list()) out.x.push_back(resampled(column, rows));
  for (const Column& column : options_.sigma_x) out.sigma_x.push_back(resampled(column, rows));
}

void BootstrapSampler::draw(SampleRandom random, BootstrapSample& out) const {
  if (method_ == BootstrapMethod::cases) return draw_rows(random, out);
  out.y.resize(y_.size());
  for (std::size_t i = 0; i < y_.size(); ++i) {
    if (counts_) {
      out.y[i] = random.poisson(fitted_[i]);
      continue;
    }
    const double error = method_ == BootstrapMethod::residual ? residuals_[random.below(residuals_.size())]
                                                              : scatter_ * random.normal();
    out.y[i] = fitted_[i] + (options_.sigma.empty() ? 1 : options_.sigma[i]) * error;
  }
}

}  // namespace nlsq::inline v0
