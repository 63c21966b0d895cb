// Computes the statistics of a fit: covariance, standard errors, R² and information criteria.
#include "fit/fit_statistics.hpp"

#include "certificate/difference_errors.hpp"
#include "dense/data_survey.hpp"
#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// Returns √(a b), also where a b leaves the range of double.
double root_of_product(double a, double b) {
  const double product = a * b;
  return std::isnormal(product) ? std::sqrt(product) : std::sqrt(a) * std::sqrt(b);
}

void fill_covariance(FitResult& fit, const Matrix& covariance, const std::vector<int>& free, double sigma2) {
  const std::size_t n = fit.parameters.size();
  fit.covariance = Matrix(n, n);
  fit.standard_errors.assign(n, 0.0);
  const bool known = covariance.rows() == free.size();
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto row = static_cast<std::size_t>(free[i]);
    for (std::size_t j = 0; j < free.size(); ++j) {
      fit.covariance(row, static_cast<std::size_t>(free[j])) = known ? covariance(i, j) * sigma2 : kNaN;
    }
    fit.standard_errors[row] = root_of_product(known ? covariance(i, i) : kNaN, sigma2);
  }
}

// Sets variances and covariances of undetermined parameters to NaN. Under a loss, the covariance is computed
// from all rows, as if none were an outlier. So it has numbers even for a parameter whose rows all lie beyond
// the scale of the loss, although these rows do not take part in the fit.
void forget_undetermined(FitResult& fit, const Certificate& c, const std::vector<int>& free) {
  for (const int k : c.confounded) {
    const auto row = static_cast<std::size_t>(free[static_cast<std::size_t>(k)]);
    for (std::size_t j = 0; j < fit.parameters.size(); ++j)
      fit.covariance(row, j) = fit.covariance(j, row) = kNaN;
    fit.standard_errors[row] = kNaN;
  }
}

// Returns true if the covariance was left out because derivatives by differences have too few digits.
bool lost_by_differences(const FitResult& fit, const Certificate& c, const std::vector<int>& free) {
  if (!(c.covariance_error > kStandardErrorsUnknown) ||
      c.rank < static_cast<int>(free.size() - c.at_bound.size()))
    return false;
  return std::ranges::all_of(
      free, [&](int j) { return std::isnan(fit.standard_errors[static_cast<std::size_t>(j)]); });
}

// Lists the parameters on a bound and their values: "a (0), b (2.5)".
std::string held_names(const WarnedEnd& end) {
  std::string names;
  for (const std::size_t j : end.at_bound)
    names += fmt::format("{}{} ({:g})", names.empty() ? "" : ", ", end.names[j], end.parameters[j]);
  return names;
}

std::string warning_of_undetermined(const WarnedEnd& end) {
  std::vector<std::string> names;
  for (const std::size_t j : end.undetermined) names.push_back(end.names[j]);
  if (end.lost && !std::isnan(end.r_squared))  // where y does not vary, no start helps
    return fmt::format(
        "the data do not determine {} where the fit ended: start elsewhere, or fix those parameters",
        fmt::join(names, ", "));
  if (names.size() == 1)
    return fmt::format("the data do not determine {}: fix it, or simplify the model", names[0]);
  return fmt::format(
      "the data do not determine {}: only combinations of them; fix one, or simplify the model",
      fmt::join(names, ", "));
}

// Returns what warnings_of() needs to know of a fit.
WarnedEnd warned_end(const FitResult& fit, const MinimizerResult& minimum, const std::vector<int>& free,
                     bool absolute_sigma) {
  const Certificate& c = minimum.summary.certificate;
  WarnedEnd end = end_of(c, free);
  end.names = fit.parameter_names;
  end.parameters = fit.parameters;
  end.dof = fit.dof;
  end.rss = fit.rss;
  end.r_squared = fit.r_squared;
  end.scale_known = absolute_sigma || fit.loss.is_counts();
  end.lost = minimum.lost_parameters;
  end.errors_lost = lost_by_differences(fit, c, free);
  end.least_squares = fit.loss.is_linear() && !fit.errors_in_x;
  end.rows = fit.rows;
  end.beyond = fit.beyond;
  end.scale = fit.loss.scale();
  return end;
}

}  // namespace

WarnedEnd end_of(const Certificate& c, std::span<const int> free) {
  WarnedEnd end;
  end.verdict = c.verdict;
  for (const int k : c.at_bound)
    end.at_bound.push_back(static_cast<std::size_t>(free[static_cast<std::size_t>(k)]));
  for (const int k : c.confounded)
    end.undetermined.push_back(static_cast<std::size_t>(free[static_cast<std::size_t>(k)]));
  return end;
}

std::vector<std::string> warnings_of(const WarnedEnd& end) {
  constexpr double kRounding = 1e-6;
  std::vector<std::string> out;
  if (!end.at_bound.empty()) {
    out.push_back(fmt::format(
        "{} at a bound: no standard error; those of the others are computed as if it were fixed there",
        held_names(end)));
  }
  if (!end.undetermined.empty()) out.push_back(warning_of_undetermined(end));
  if (end.errors_lost) {
    out.emplace_back(
        "standard errors are not known: beside values as large as these, differences for derivatives have "
        "too few digits. Subtract the offset from y and from the function, or give derivatives");
  }
  if (end.verdict == Verdict::noise_floor) out.emplace_back("the fit ended at the noise floor of f64");
  if (end.dof > 0 && end.rss == 0 && !end.scale_known) {
    out.emplace_back(
        "every residual is zero: there is no scatter to take standard errors from, and they are undefined");
  }
  if (2 * end.beyond > end.rows) {
    out.push_back(
        fmt::format("most residuals ({} of {}) are beyond the scale of the loss, {:g}: standard errors may "
                    "be far too small. "
                    "Give the size of residuals that are no outliers as its scale",
                    end.beyond, end.rows, end.scale));
  }
  if (is_success(end.verdict) && end.least_squares && end.r_squared < -kRounding) {
    out.emplace_back(
        "a constant would fit y better than this curve (R² is below 0): try other starting values, or "
        "another model");
  }
  if (end.dof == 0 && !end.scale_known)
    out.emplace_back("as many parameters as rows: standard errors are undefined");
  return out;
}

std::string message_of_too_few(const RowStatistics& of_rows, std::size_t rows, const Loss& loss) {
  if (!of_rows.too_few_within) return {};
  return fmt::format(
      "no usable minimum: only {} of {} rows are within the scale of the loss, {:g}. The model can go "
      "through so few rows whatever they are, so they determine neither the parameters nor their errors. "
      "Give other starting values, or a larger scale",
      rows - of_rows.beyond, rows, loss.scale());
}

double FitResult::correlation(std::size_t i, std::size_t j) const {
  const double product = standard_errors[i] * standard_errors[j];
  if (i == j && covariance(i, i) > 0 && std::isfinite(product)) return 1;  // exactly, without rounding
  return covariance(i, j) / product;
}

std::size_t determined_parameters(const Certificate& c, std::size_t free) {
  const std::size_t moved = free - c.at_bound.size();
  return c.verdict == Verdict::rank_deficient ? std::min(moved, static_cast<std::size_t>(c.rank)) : moved;
}

double covariance_factor(double rss, std::size_t rows, std::size_t free, int rank, bool absolute_sigma) {
  if (absolute_sigma) return 1;
  const double scatter_dof = static_cast<double>(rows) - static_cast<double>(rank);
  return rows > free && scatter_dof > 0 && rss > 0 ? rss / scatter_dof : kNaN;
}

Response response_of(const Formula& formula) {
  if (!formula.has_left_side) return {};
  return [&formula](std::span<const double> row) {
    return formula.evaluate_response(row.first(formula.predictors.size()), row[formula.predictors.size()]);
  };
}

std::vector<double> responses_of(const Formula& formula, const Columns& x, const Column& y) {
  std::vector<double> out(y.size()), row(x.size());
  y.read(0, out.size(), out.data());
  for (std::size_t i = 0; i < out.size() && formula.has_left_side; ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = x.list()[k][i];
    out[i] = formula.evaluate_response(row, out[i]);
  }
  return out;
}

double total_squares(const RowSource& data, std::size_t predictors, bool weighted, const Response& response) {
  const auto columns = static_cast<std::size_t>(data.columns());
  std::vector<double> block(columns * ScatterSums::most), row(columns), y(ScatterSums::most);
  ScatterSums sums;
  for (std::size_t first = 0; first < data.rows(); first += ScatterSums::most) {
    const std::size_t count = std::min(ScatterSums::most, data.rows() - first);
    for (std::size_t c = 0; c < columns; ++c) data.read(first, count, static_cast<int>(c), &block[c * count]);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < columns; ++c) row[c] = block[c * count + i];
      y[i] = response(std::span(row).first(predictors + 1));
    }
    if (first == 0) sums = ScatterSums(y[0]);
    sums.add(y.data(), weighted ? &block[(predictors + 1) * count] : nullptr, count);
  }
  return sums.total();
}

double constant_deviance(const RowSource& data, int y) {
  const Column column(data, y);
  const double mean = mean_of_finite(column);
  double sum = 0;
  for_blocks(column, [&](std::size_t, std::span<const double> counts) {
    double part = 0;
    for (const double k : counts) part += k > 0 ? k * std::log(k / mean) : 0;
    sum += part;
  });
  return 2 * sum;
}

void fill_statistics(FitResult& fit, const MinimizerResult& minimum, const std::vector<int>& free,
                     const Loss& loss, const RowStatistics* of_rows, bool absolute_sigma, double total,
                     std::optional<double> log_variances) {
  const Certificate& c = minimum.summary.certificate;
  const auto m = static_cast<double>(fit.rows);
  fit.loss = loss;
  fit.rss = loss.is_robust() ? of_rows->rss : 2 * minimum.summary.final_cost;
  if (minimum.summary.termination == Termination::failure) fit.rss = kNaN;  // there are no residuals
  fit.beyond = loss.is_robust() ? of_rows->beyond : 0;
  const std::size_t moved = determined_parameters(c, free.size());
  fit.dof = static_cast<std::ptrdiff_t>(fit.rows) - static_cast<std::ptrdiff_t>(moved);
  fit.chi2_reduced = fit.dof > 0 ? fit.rss / static_cast<double>(fit.dof) : kNaN;
  if (of_rows != nullptr) {
    fill_covariance(fit, of_rows->covariance, free, 1);
    if (c.verdict == Verdict::rank_deficient) forget_undetermined(fit, c, free);
  } else {
    fill_covariance(fit, minimum.covariance, free,
                    covariance_factor(fit.rss, fit.rows, moved, c.rank, absolute_sigma));
  }
  fit.r_squared = total > 0 ? 1 - fit.rss / total : kNaN;
  // Parameters on a bound count as parameters of the model. Counts have no variance to estimate, and their
  // deviance is -2 ln L up to a constant. A robust loss is not a likelihood.
  const double k = static_cast<double>(moved + c.at_bound.size()) + (loss.is_counts() ? 0 : 1);
  double deviance = fit.rss > 0 ? m * std::log(fit.rss / m) : kNaN;
  fit.errors_in_x = log_variances.has_value();
  if (fit.errors_in_x) deviance = (absolute_sigma && fit.rss > 0 ? fit.rss : deviance) + *log_variances;
  if (loss.is_counts()) deviance = fit.rss;
  if (loss.is_robust()) deviance = kNaN;
  fit.aic = deviance + 2 * k;
  fit.bic = deviance + k * std::log(m);
  std::ranges::move(warnings_of(warned_end(fit, minimum, free, absolute_sigma)),
                    std::back_inserter(fit.warnings));
}

}  // namespace nlsq::inline v0
