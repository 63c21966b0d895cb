// Defines the bootstrap of intervals.h.
#include "c/caller_fit.hpp"
#include "c/errors.hpp"
#include "c/results/table_result.hpp"
#include "prediction/bootstrap_samples.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/intervals.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace nlsq::inline v0::c {

namespace {

// Returns the method of this name. Without a name, it is the one that suits the fit.
BootstrapMethod method_of(std::string_view text, const FitResult& fit, const FitOptions& options) {
  using enum BootstrapMethod;
  if (text.empty()) return suitable_method(fit, options);
  for (const BootstrapMethod method : std::array{residual, cases, parametric}) {
    if (text == name(method)) return method;
  }
  throw ValidationError(
      fmt::format("there is no bootstrap method '{}': use residual, case or parametric", text.substr(0, 80)));
}

// Calls a callback, and takes some of its rows. A bootstrap that draws rows fits this to them.
struct DrawnRows {
  const Callback& whole;
  const std::vector<std::size_t>& rows;
  std::size_t parameters;
  std::vector<double> y = std::vector<double>(rows.size()), J = {};

  static int call(const double* p, double* y, double* jacobian, void* user) {
    DrawnRows& self = *static_cast<DrawnRows*>(user);
    const std::size_t n = self.parameters;
    if (jacobian != nullptr) self.J.resize(self.rows.size() * n);
    std::ranges::fill(self.y, std::numeric_limits<double>::quiet_NaN());  // for rows that are not filled
    const int code =
        self.whole.function(p, self.y.data(), jacobian != nullptr ? self.J.data() : nullptr, self.whole.user);
    if (code != 0) return code;
    for (std::size_t i = 0; i < self.rows.size(); ++i) {
      y[i] = self.y[self.rows[i]];
      if (jacobian != nullptr) std::copy_n(&self.J[self.rows[i] * n], n, &jacobian[i * n]);
    }
    return 0;
  }
};

FitResult fit_drawn_rows(const CallerModel& model, const BootstrapSample& sample, const NamedValues& p0,
                         const FitOptions& options, Differences differences) {
  DrawnRows drawn{model.callback, sample.rows, model.parameters.size()};
  CallerModel changed;
  changed.parameters = model.parameters;
  changed.has_jacobian = model.has_jacobian;
  changed.callback = {DrawnRows::call, &drawn};
  return fit_callback(changed, sample.y, p0, options, differences);
}

Bootstrap bootstrap_callback(const CurveCall& call, const FitResult& fit, const BootstrapOptions& wanted) {
  check_bootstrap(fit, wanted);
  const std::size_t rows = call.y.size();
  std::vector<double> y(rows), fitted(rows);
  call.y.read(0, rows, y.data());
  evaluate_model(call.model, call.x, rows, fit.parameters, Options(), fitted.data(), nullptr);
  const BootstrapSampler sampler(call.x, y, std::move(fitted), fit, call.fit, wanted);
  const FitSample fit_again = [&](const BootstrapSample& sample, const FitOptions& options) {
    const NamedValues start = refit_start(fit, fit.parameters);
    const Differences differences = call.options.differences;
    return sample.rows.empty() ? fit_callback(call.model, sample.y, start, options, differences)
                               : fit_drawn_rows(call.model, sample, start, options, differences);
  };
  return bootstrap_by(fit_again, sampler, fit, call.fit, wanted);
}

nlsq_result* bootstrap_call(const CurveCall& call, const CurveResult& of, BootstrapOptions wanted) {
  const FpEnvironment environment;
  check_rows(call, of);
  wanted.threads = call.model.is_callback() ? 1 : call.fit.threads;
  wanted.stop = [&] { return call.options.stop_wanted(); };
  const Bootstrap made = call.model.is_callback()
                             ? bootstrap_callback(call, of.fit, wanted)
                             : bootstrap(*call.model.prepared, call.x, call.y, of.fit, call.fit, wanted);

  std::vector<BootstrapEstimate> all = made.parameters;
  all.insert(all.end(), made.derived.begin(), made.derived.end());
  const auto table = std::make_shared<TableResult>(made.confidence);
  table->add("samples", static_cast<double>(made.samples));
  table->add("failures", static_cast<double>(made.failures));
  table->add("seed", static_cast<double>(made.seed));
  table->add("method", std::vector<std::string>{name(made.method)});
  using E = BootstrapEstimate;
  add_column(*table, "names", all, &E::name);
  add_column(*table, "estimate", all, &E::estimate);
  add_column(*table, "bias", all, &E::bias);
  add_column(*table, "std_error", all, &E::standard_error);
  add_column(*table, "ci_low", all, &E::ci_low);
  add_column(*table, "ci_high", all, &E::ci_high);
  table->add("warnings", made.warnings);
  table->add("values", made.values);
  return table->finish(table);
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" int nlsq_model_bootstrap(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                    const nlsq_column* y, const nlsq_result* fit, int samples, size_t seed,
                                    const char* method, const char* quantities, double confidence,
                                    const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    const auto object = from_handle<CallerModel>(model);
    const auto set = options_of(options);
    const CurveCall call(*object, x, predictors, y, *set);
    const auto of = fit_of(fit, *object);
    nlsq::BootstrapOptions wanted;
    wanted.samples = samples;
    wanted.method = method_of(method == nullptr ? "" : method, of->fit, call.fit);
    wanted.seed = seed;
    wanted.confidence = std::isnan(confidence) ? of->confidence : confidence;
    wanted.derived = listed(quantities == nullptr ? "" : quantities, '\n');
    return bootstrap_call(call, *of, wanted);
  });
}
