// Implements the functions of options.h, and converts the options to those of the library.
#include "c/caller_options.hpp"

#include "c/errors.hpp"
#include "fit/fit_setup.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0::c {

SolverOptions Options::solver_options() const {
  SolverOptions out = fit;
  if (precision || !rules.empty()) {
    out.precision = precision.value_or(PrecisionPolicy{});
    for (const PrecisionRule& rule : rules) out.precision->rules.push_back(rule);
  }
  out.callback = [progress = progress, user = user, cancelled = cancelled](const IterationSummary& it) {
    if (cancelled->load(std::memory_order_relaxed)) return Stop;
    if (progress == nullptr) return Continue;
    const double distance = std::isfinite(it.decrement_sigma) ? it.decrement_sigma : kNaN;
    return progress(static_cast<std::size_t>(it.iteration), 0, it.cost, distance, user) == 0 ? Continue
                                                                                             : Stop;
  };
  return out;
}

Loss Options::loss_function() const {
  const Loss named = Loss::named(loss.value_or("linear"));
  if (!f_scale) return named;
  if (!named.is_robust()) {
    throw ValidationError(fmt::format(
        "f_scale = {} is the scale of a robust loss: set loss to soft_l1, huber, cauchy, arctan or tukey",
        *f_scale));
  }
  return Loss::named(named.name(), *f_scale);
}

namespace {

Bounds bounds_by_array(const Options& options) {
  if (options.lower.empty() && options.upper.empty()) return {};
  Bounds bounds{-kInfinity, kInfinity};
  if (!options.lower.empty()) bounds.lower = options.lower;
  if (!options.upper.empty()) bounds.upper = options.upper;
  return bounds;
}

Bounds bounds_by_name(const Options& options, const std::vector<std::string>& parameters) {
  if (!options.lower.empty() || !options.upper.empty())
    throw ValidationError(
        "bounds: they are given by name and by the arrays lower and upper, too: leave one out");
  Bounds bounds;
  bounds.lower.assign(parameters.size(), -kInfinity);
  bounds.upper.assign(parameters.size(), kInfinity);
  for (const NamedBounds& one : options.bounds) {
    const std::size_t j = parameter_index(parameters, one.name, "bounds");
    if (std::isfinite(bounds.lower[j]) || std::isfinite(bounds.upper[j])) {
      throw ValidationError(
          fmt::format("bounds: {0} is given twice: give both bounds at once, as in {0}=0:10", one.name));
    }
    bounds.lower[j] = one.lower;
    bounds.upper[j] = one.upper;
  }
  return bounds;
}

}  // namespace

FitOptions Options::curve_options(const std::vector<std::string>& parameters, std::size_t predictors,
                                  CallerColumns& kept) const {
  if (!x_scale.empty())
    throw ValidationError("x_scale: it is of nlsq_least_squares; leave it out for a curve");
  FitOptions out = fit;
  static_cast<SolverOptions&>(out) = solver_options();
  out.loss = loss_function();
  out.bounds = bounds.empty() ? bounds_by_array(*this) : bounds_by_name(*this, parameters);
  for (const auto& [name, value] : fixed) {
    parameter_index(parameters, name, "fix");
    out.fixed.push_back(name);
  }
  for (const auto& [name, column] : columns) {
    if (name == "sigma") {
      out.sigma = kept.view(column, name);
      continue;
    }
    const auto k = static_cast<std::size_t>(*parsed_number(name.substr(7)));
    if (k >= predictors)
      throw ValidationError(
          fmt::format("{}: the model has {} predictor(s), counted from 0", name, predictors));
    out.sigma_x.resize(predictors);
    out.sigma_x[k] = kept.view(column, name);
  }
  return out;
}

LeastSquaresOptions Options::least_squares_options() const {
  if (!bounds.empty() || !fixed.empty() || !fit.ties.empty()) {
    throw ValidationError(
        "bounds, fix, tie: residual functions have no names of parameters; use the arrays lower and upper");
  }
  if (!columns.empty() || !fit.sigma_matrix.empty() || fit.absolute_sigma)
    throw ValidationError("sigma: a residual function weights its residuals itself");
  LeastSquaresOptions out;
  static_cast<SolverOptions&>(out) = solver_options();
  out.loss = loss_function();
  out.bounds = bounds_by_array(*this);
  out.differences = differences;
  out.starts = fit.starts;
  out.seed = fit.seed;
  return out;
}

std::vector<double> Options::scale_of(std::size_t n) const {
  if (x_scale.size() == 1) return std::vector<double>(n, x_scale[0]);
  if (!x_scale.empty() && x_scale.size() != n)
    throw ValidationError(fmt::format("x_scale has {} numbers: give one, or {}", x_scale.size(), n));
  return x_scale;
}

SolverOptions Options::problem_options() const {
  const bool of_curves = !bounds.empty() || !fixed.empty() || !fit.ties.empty() || !lower.empty() ||
                         !upper.empty() || !columns.empty() || !fit.sigma_matrix.empty() ||
                         !x_scale.empty() || loss || f_scale;
  if (of_curves) {
    throw ValidationError(
        "bounds, fix, tie, sigma, loss and x_scale are options of fits: a problem has them by block "
        "(nlsq_problem_set_bounds, "
        "nlsq_problem_set_constant, the loss of each residual block)");
  }
  return solver_options();
}

NamedValues Options::fixed_values() const {
  NamedValues values;
  std::vector<std::string> names;
  for (const auto& [name, value] : fixed) {
    if (std::ranges::find(names, name) != names.end())
      throw ValidationError(fmt::format("fix: {} is given twice", name));
    names.push_back(name);
    if (value) values.emplace_back(name, *value);
  }
  return values;
}

std::shared_ptr<const Options> options_of(const nlsq_options* handle) {
  static const std::shared_ptr<const Options> defaults = std::make_shared<Options>();
  return handle == nullptr ? defaults : from_handle<Options>(handle);
}

namespace {

void set_column(Options& options, const std::string& name, const nlsq_column* column) {
  const bool of_x = name.starts_with("sigma_x") && name.size() > 7 && name.size() < 11 &&
                    name.find_first_not_of("0123456789", 7) == std::string::npos;
  if (name != "sigma" && !of_x)
    throw ValidationError(
        fmt::format("there is no column option '{}'; use sigma, sigma_x0, sigma_x1 ...", name));
  if (column == nullptr) {
    options.columns.erase(name);
    return;
  }
  CallerColumns().view(*column, name);  // checks it
  options.columns[name] = *column;
}

void set_array(Options& options, std::string_view name, const double* values, std::size_t count) {
  std::vector<double>* const array = name == "lower"     ? &options.lower
                                     : name == "upper"   ? &options.upper
                                     : name == "x_scale" ? &options.x_scale
                                                         : nullptr;
  if (array == nullptr) {
    throw ValidationError(
        fmt::format("there is no array option '{}'; use lower, upper or x_scale", name.substr(0, 80)));
  }
  if (count > 0) required(values, "values");
  for (std::size_t i = 0; i < count && name == "x_scale"; ++i) {
    if (!(values[i] > 0 && std::isfinite(values[i])))
      throw ValidationError(fmt::format("x_scale[{}] = {}: use positive finite numbers", i, values[i]));
  }
  array->assign(values, values + count);
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;
using nlsq::ValidationError;

extern "C" {

int nlsq_options_new(nlsq_options** options) {
  return output(options, "options", [&] { return to_handle<nlsq_options>(std::make_shared<Options>()); });
}

int nlsq_options_copy(const nlsq_options* options, nlsq_options** copy) {
  return output(copy, "copy", [&] {
    auto made = std::make_shared<Options>(*from_handle<Options>(options));
    made->cancelled = std::make_shared<std::atomic<bool>>(false);
    return to_handle<nlsq_options>(std::move(made));
  });
}

int nlsq_options_free(nlsq_options* options) {
  return guarded([&] { free_handle<Options>(options); });
}

int nlsq_options_set(nlsq_options* options, const char* name, const char* value) {
  return guarded(
      [&] { from_handle<Options>(options)->set(required(name, "name"), required(value, "value")); });
}

int nlsq_options_set_number(nlsq_options* options, const char* name, double value) {
  return guarded([&] { from_handle<Options>(options)->set(required(name, "name"), value); });
}

int nlsq_options_set_array(nlsq_options* options, const char* name, const double* values, size_t count) {
  return guarded([&] { set_array(*from_handle<Options>(options), required(name, "name"), values, count); });
}

int nlsq_options_set_column(nlsq_options* options, const char* name, const nlsq_column* column) {
  return guarded([&] { set_column(*from_handle<Options>(options), required(name, "name"), column); });
}

int nlsq_options_set_matrix(nlsq_options* options, const char* name, const double* values, size_t rows) {
  return guarded([&] {
    const auto object = from_handle<Options>(options);
    if (std::string_view(required(name, "name")) != "sigma_matrix")
      throw ValidationError(fmt::format("there is no matrix option '{:.80}'; use sigma_matrix", name));
    if (values == nullptr) rows = 0;
    constexpr std::size_t kMost = std::size_t{1} << 20;  // its square still counts numbers
    if (rows > kMost) throw ValidationError(fmt::format("sigma_matrix: {} rows; at most {}", rows, kMost));
    nlsq::Matrix matrix(rows, rows);
    std::copy_n(values, rows * rows, matrix.data());
    object->fit.sigma_matrix = std::move(matrix);
  });
}

int nlsq_options_set_progress(nlsq_options* options, nlsq_progress progress, void* user) {
  return guarded([&] {
    const auto object = from_handle<Options>(options);
    object->progress = progress;
    object->user = user;
  });
}

int nlsq_options_cancel(const nlsq_options* options) {
  return guarded([&] { from_handle<Options>(options)->cancelled->store(true); });
}

int nlsq_options_reset_cancel(const nlsq_options* options) {
  return guarded([&] { from_handle<Options>(options)->cancelled->store(false); });
}

}  // extern "C"
