// Computes predictions, derived quantities and the bootstrap of a fit.
#include "prediction/prediction_results.hpp"

#include "errors.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "report/output_file.hpp"
#include "table/numbers/number.hpp"

#include <fmt/format.h>

#include <string_view>

namespace nlsq::cli {

namespace {

// Returns the reason why nothing can be computed by profile likelihood. It is empty if it can.
std::string no_profile(const Arguments& arguments, const FitResult& fit) {
  if (!fit.success()) return "the fit has no certified minimum";
  if (!arguments.absolute_sigma && (fit.dof <= 0 || !(fit.rss > 0)))
    return "the fit has no degrees of freedom, or residuals of zero";
  if (fit.loss.is_counts()) return "it is not available for counts";
  if (!arguments.selection.sigma_x.empty()) return "it is not available with errors in x";
  return "";
}

std::vector<DerivedQuantity> derived_quantities(const Arguments& arguments, const PreparedModel& model,
                                                const FitData& data, const FitOptions& options,
                                                const FitResult& fit, std::vector<std::string>& warnings) {
  DeriveOptions wanted;
  wanted.confidence = arguments.confidence;
  wanted.threads = arguments.threads;
  wanted.stop = [] { return interrupted(); };
  const std::vector<std::string>& texts = arguments.prediction.derive;
  const std::string why = arguments.profile_intervals ? no_profile(arguments, fit) : "";
  if (!why.empty())
    warnings.push_back(fmt::format("--derive: intervals are from standard errors, not by profile: {}", why));
  std::vector<DerivedQuantity> out =
      arguments.profile_intervals && why.empty()
          ? derive_by_profile(model, Columns(data.predictors), data.y, fit, texts, options, wanted)
          : derive(fit, texts, options, wanted);
  for (const DerivedQuantity& q : out) {
    if (!q.note.empty()) warnings.push_back(fmt::format("{}: {}", q.name, q.note));
  }
  return out;
}

Prediction prediction_at(const Arguments& arguments, const PreparedModel& model, const FitData& data,
                         const FitOptions& options, const PredictionPoints& points, const FitResult& fit,
                         bool by_profile) {
  PredictionOptions wanted;
  wanted.confidence = arguments.confidence;
  wanted.threads = arguments.threads;
  if (!points.sigma.empty()) wanted.sigma = points.sigma;
  wanted.data = data.predictors;
  wanted.stop = [] { return interrupted(); };
  const std::vector<Column> at(points.x.begin(), points.x.end());
  if (!by_profile) return predict(model, at, fit, options, wanted);
  return predict_by_profile(model, Columns(data.predictors), data.y, at, fit, options, wanted);
}

Bootstrap resample(const Arguments& arguments, const PreparedModel& model, const FitData& data,
                   const FitOptions& options, const FitResult& fit) {
  BootstrapOptions wanted;
  wanted.samples = arguments.prediction.bootstrap;
  wanted.method = arguments.prediction.method.value_or(suitable_method(fit, options));
  if (arguments.seed) wanted.seed = *arguments.seed;
  wanted.confidence = arguments.confidence;
  wanted.derived = arguments.prediction.derive;
  wanted.threads = arguments.threads;
  wanted.team = options.team;
  wanted.journal = options.journal;
  wanted.stop = [] { return interrupted(); };
  wanted.progress = progress_of;
  const ProgressPart part("fitting samples");
  return bootstrap(model, Columns(data.predictors), data.y, fit, options, wanted);
}

}  // namespace

void check_derived(const Arguments& arguments, const ModelChoice& model) {
  try {
    nlsq::check_derived(model.formula.parameters, arguments.prediction.derive);
  } catch (const Error& e) {
    std::string_view message = e.what();  // begins with: derived 'NAME=EXPR'
    message.remove_prefix(std::string_view("derived ").size());
    throw UsageError(fmt::format("--derive {}", message));
  }
}

PredictionResults after_fit(const Arguments& arguments, const ModelChoice& model, const FitData& data,
                            const FitOptions& options, PredictionPoints points, const FitResult& fit,
                            std::vector<std::string>& warnings) {
  const PredictionArguments& wanted = arguments.prediction;
  PredictionResults out;
  if (points.x.empty() && wanted.derive.empty() && wanted.bootstrap == 0) return out;
  const PreparedModel prepared_model = model.prepared();
  if (!wanted.derive.empty())
    out.derived = derived_quantities(arguments, prepared_model, data, options, fit, warnings);
  if (wanted.bootstrap > 0) {
    const bool possible = fit.success() && fit.summary.verdict != Verdict::rank_deficient;
    if (possible) {
      out.bootstrap = resample(arguments, prepared_model, data, options, fit);
      for (const std::string& warning : out.bootstrap->warnings) warnings.push_back(warning);
    } else {
      warnings.emplace_back(
          "--bootstrap: left out, since the fit has no certified minimum that determines every parameter");
    }
  }
  out.interrupted = interrupted();
  if (points.x.empty()) return out;
  const std::string why = wanted.profile_band ? no_profile(arguments, fit) : "";
  if (!why.empty()) warnings.push_back(fmt::format("--band: from standard errors, not by profile: {}", why));
  out.by_profile = wanted.profile_band && why.empty();
  out.prediction = prediction_at(arguments, prepared_model, data, options, points, fit, out.by_profile);
  out.interrupted = interrupted();
  if (out.interrupted) {  // a file with some of the bands would look like one with all
    out.prediction.reset();
    warnings.emplace_back("--predict: interrupted, so there are no predictions");
    return out;
  }
  for (const std::string& warning : out.prediction->warnings) warnings.push_back(warning);
  out.predictors = model.formula.predictors;
  out.x = std::move(points.x);
  for (std::size_t k = 0; k < out.x.size(); ++k) out.times.push_back(data.time_of_x(k));
  return out;
}

void write_prediction_csv(const Arguments& arguments, const PredictionResults& results) {
  if (arguments.prediction.csv.empty() || !results.prediction) return;
  const Prediction& p = *results.prediction;
  OutputFile file(arguments.prediction.csv);
  const std::vector<std::string> others{"fit", "conf_low", "conf_high", "pred_low", "pred_high"};
  for (const std::string& name : headers_of(results.predictors, others)) file.write(name + ",");
  file.write("fit,conf_low,conf_high,pred_low,pred_high\n");
  for (std::size_t i = 0; i < p.size(); ++i) {
    std::string line;
    for (std::size_t k = 0; k < results.x.size(); ++k)
      line += date_text(results.times[k], results.x[k][i]).value_or(shortest(results.x[k][i])) + ",";
    line += fmt::format("{},{},{},{},{}\n", p.fit[i], p.confidence_low[i], p.confidence_high[i],
                        p.prediction_low[i], p.prediction_high[i]);
    file.write(line);
  }
  file.commit();
}

}  // namespace nlsq::cli
