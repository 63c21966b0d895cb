// Implements bootstrap(): fits the samples on several threads and describes their estimates.
#include "prediction/bootstrap_samples.hpp"
#include "prediction/delta_method.hpp"
#include "prediction/derived_expressions.hpp"
#include "support/all_finite.hpp"
#include "support/bytes.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"
#include "support/parallel.hpp"
#include "support/shared_work.hpp"

#include <nlsq/evaluate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>

namespace nlsq::inline v0 {

namespace {

constexpr double kManyFailures = 0.05;  // share of failed fits that deserves a warning

struct Outcome {
  bool drawn = false;
  std::vector<double> values;  // parameters and derived quantities; empty if the fit failed
};

// Fits one sample. Returns its parameters and derived quantities.
Outcome fit_sample(const FitSample& fit_again, FitOptions options, const BootstrapSample& sample,
                   const DerivedExpressions& derived) {
  Outcome out{true, {}};
  options.sampling = Sampling::never;  // the start is near the end
  if (!sample.sigma.empty()) options.sigma = sample.sigma;
  for (std::size_t k = 0; k < sample.sigma_x.size(); ++k) options.sigma_x[k] = sample.sigma_x[k];
  const FitResult again = fit_again(sample, options);
  if (!again.success() || again.summary.verdict == Verdict::rank_deficient) return out;
  out.values = again.parameters;
  const std::vector<double> more = derived.values(again.parameters);
  out.values.insert(out.values.end(), more.begin(), more.end());
  return out;
}

// Identifies the samples, for the journal.
std::uint64_t request_of(const FitResult& fit, const BootstrapOptions& wanted) {
  ByteHash hash;
  for (const double p : fit.parameters) hash.add_value(p);
  for (const std::string& text : wanted.derived) hash.add(text);
  hash.add_value(wanted.method);
  hash.add_value(wanted.seed);
  return hash.value();
}

std::string to_bytes(std::span<const Outcome> outcomes) {
  ByteWriter out;
  for (const Outcome& outcome : outcomes) {
    out.put(outcome.drawn);
    out.put_all(std::span<const double>(outcome.values));
  }
  return std::move(out.text());
}

void from_bytes(std::string_view bytes, std::span<Outcome> outcomes) {
  ByteReader in(bytes);
  for (Outcome& outcome : outcomes) {
    outcome.drawn = in.get<bool>();
    outcome.values = in.get_all<double>();
  }
}

using FitOne = std::function<void(std::size_t k)>;

// Fits the samples [begin, end). Returns false if the fits were stopped.
bool fit_block(const BootstrapOptions& wanted, const FitOne& fit_one, std::size_t begin, std::size_t end) {
  std::atomic<bool> stopped = false;
  run_tasks(end - begin, wanted, [&](std::size_t k) {
    if (wanted.stop && wanted.stop()) stopped = true;
    if (!stopped) fit_one(begin + k);
  });
  return !stopped;
}

// Fits all samples, together with the processes of a team and the journal if there are any.
void fit_all_samples(const BootstrapOptions& wanted, std::uint64_t request, const FitOne& fit_one,
                     std::vector<Outcome>& outcomes) {
  constexpr std::size_t kSamplesOfRecord = 256;
  SharedWork work(wanted);
  bool stopped = false;
  work.in_blocks(outcomes.size(), kSamplesOfRecord, 1, [&](std::size_t begin, std::size_t end) {
    if (stopped) return;
    if (work.alone()) return void(fit_block(wanted, fit_one, begin, end));
    const std::span<Outcome> block(outcomes.data() + begin, end - begin);
    std::size_t here = 0;
    const auto fit_range = [&](std::size_t first, std::size_t last) {
      here = last - first;
      const bool complete = fit_block(wanted, fit_one, begin + first, begin + last);
      return SharedWork::Results{0, to_bytes(block.subspan(first, here)), complete};
    };
    const SharedWork::Results results = work.run(request + begin + (end << 32), block.size(), 1, fit_range);
    from_bytes(results.bytes, block);
    stopped = !results.complete;
    if (wanted.progress && !stopped) wanted.progress(block.size() - here, outcomes.size());
  });
}

// Returns the quantile of sorted values by linear interpolation (type 7 of Hyndman and Fan, 1996; NumPy's
// default).
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

BootstrapEstimate describe(const std::string& name, double estimate, std::vector<double> values,
                           double confidence) {
  BootstrapEstimate out{name, estimate, kNaN, kNaN, kNaN, kNaN};
  if (values.size() < 2 || !all_finite(values)) return out;
  const double first = values[0], count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) sum += v - first;
  const double mean = first + sum / count;
  for (const double v : values) squares += (v - mean) * (v - mean);
  out.bias = mean - estimate;
  out.standard_error = std::sqrt(squares / (count - 1));
  std::ranges::sort(values);
  out.ci_low = quantile(values, 0.5 * (1 - confidence));
  out.ci_high = quantile(values, 0.5 * (1 + confidence));
  return out;
}

void warn(const BootstrapOptions& wanted, Bootstrap& out) {
  if (out.samples < wanted.samples)
    out.warnings.push_back(
        fmt::format("bootstrap: stopped after {} of {} samples", out.samples, wanted.samples));
  if (out.failures > kManyFailures * out.samples) {
    out.warnings.push_back(fmt::format(
        "bootstrap: {} of {} fits ended without a minimum or with undetermined parameters; the figures "
        "describe the others and may be too narrow",
        out.failures, out.samples));
  }
  const double outside = 0.5 * (1 - wanted.confidence) * (out.samples - out.failures);
  if (outside < 10) {
    out.warnings.push_back(fmt::format(
        "bootstrap: only about {:.3g} samples lie beyond each end of the intervals; for stable ends take "
        "{:.0f} samples or more",
        outside, std::ceil(20 / (1 - wanted.confidence))));
  }
}

}  // namespace

void check_bootstrap(const FitResult& fit, const BootstrapOptions& wanted) {
  check_confidence(wanted.confidence);
  if (wanted.samples < 2)
    throw ValidationError(fmt::format("bootstrap samples = {}: use 2 or more", wanted.samples));
  if (!fit.success()) throw ValidationError("bootstrap: the fit ended without a certified minimum");
  if (fit.summary.verdict == Verdict::rank_deficient)
    throw ValidationError("bootstrap: the data do not determine every parameter; fix one first");
}

Columns columns_of(const BootstrapSample& sample, const Columns& x) {
  std::vector<Column> columns = x.list();
  for (std::size_t k = 0; k < sample.x.size(); ++k) columns[k] = Column(sample.x[k]);
  return Columns(columns);
}

Bootstrap bootstrap(const PreparedModel& model, const Columns& x, const Column& y, const FitResult& fit,
                    const FitOptions& options, const BootstrapOptions& wanted) {
  const FpEnvironment environment;
  check_bootstrap(fit, wanted);
  check_model("bootstrap", model, fit);
  const RightSide right = right_side(model, x, y);
  const BootstrapSampler sampler(x, right.y,
                                 evaluate(right.model, x, fit.parameters, PrecisionPolicy::all_f64()).values,
                                 fit, options, wanted);
  const FitSample fit_again = [&](const BootstrapSample& sample, const FitOptions& refit) {
    return curve_fit(right.model, columns_of(sample, x), sample.y, refit_start(fit, fit.parameters), refit);
  };
  if (right.concurrent) return bootstrap_by(fit_again, sampler, fit, options, wanted);
  BootstrapOptions alone = wanted;
  alone.threads = 1;
  alone.executor = nullptr;
  return bootstrap_by(fit_again, sampler, fit, options, alone);
}

Bootstrap bootstrap_by(const FitSample& fit_again, const BootstrapSampler& sampler, const FitResult& fit,
                       const FitOptions& options, const BootstrapOptions& wanted) {
  const DerivedExpressions derived(fit.parameter_names, wanted.derived);
  const FitOptions refit = refit_options(fit, options, wanted.stop);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(wanted.samples));
  const auto fit_one = [&](std::size_t k) {
    BootstrapSample sample;
    sampler.draw(SampleRandom(wanted.seed, k), sample);
    outcomes[k] = fit_sample(fit_again, refit, sample, derived);
    if (outcomes[k].values.empty() && wanted.stop && wanted.stop()) outcomes[k] = {};  // it was stopped
    if (wanted.progress) wanted.progress(1, outcomes.size());
  };
  fit_all_samples(wanted, request_of(fit, wanted), fit_one, outcomes);

  Bootstrap out;
  out.method = wanted.method;
  out.seed = wanted.seed;
  out.confidence = wanted.confidence;
  const std::size_t n = fit.parameters.size(), columns = n + derived.size();
  std::vector<std::vector<double>> values(columns);
  for (const Outcome& outcome : outcomes) {
    out.samples += outcome.drawn ? 1 : 0;
    out.failures += outcome.drawn && outcome.values.empty() ? 1 : 0;
    for (std::size_t j = 0; j < outcome.values.size(); ++j) values[j].push_back(outcome.values[j]);
  }
  out.values = Matrix(values.front().size(), columns);
  for (std::size_t i = 0; i < out.values.rows(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) out.values(i, j) = values[j][i];
  }
  const std::vector<double> of_fit = derived.values(fit.parameters);
  for (std::size_t j = 0; j < n; ++j)
    out.parameters.push_back(
        describe(fit.parameter_names[j], fit.parameters[j], values[j], wanted.confidence));
  for (std::size_t k = 0; k < derived.size(); ++k)
    out.derived.push_back(describe(derived.name(k), of_fit[k], values[n + k], wanted.confidence));
  warn(wanted, out);
  for (const BootstrapEstimate& e : out.derived) {
    if (std::isfinite(e.estimate) && !std::isfinite(e.standard_error))
      out.warnings.push_back(fmt::format(
          "bootstrap: {} is not finite in every sample, so it has no standard error and no interval",
          e.name));
  }
  return out;
}

}  // namespace nlsq::inline v0
