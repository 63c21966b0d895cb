// Implements --compare: chooses the options of each model, fits them all, and ranks them.
#include "compare/compare_models.hpp"

#include "errors.hpp"
#include "fit_command.hpp"
#include "prediction/prediction_results.hpp"
#include "processes/processes.hpp"
#include "report/row_places.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::cli {

namespace {

bool has(const ModelChoice& model, const std::string& name) {
  const auto& all = model.formula.parameters;
  return std::find(all.begin(), all.end(), name) != all.end();
}

OneModel one_model(const std::string& text, const Arguments& arguments, const NamedValues& p0,
                   const FitData& data, std::span<const std::string> names) {
  OneModel one{arguments, choose_model(text, data, names)};
  const ModelChoice& model = one.model;
  if (model.formula.has_left_side) {
    throw UsageError(fmt::format(
        "--compare {}: a left side changes the data, and AIC compares fits of the same data; transform y "
        "instead, as in --y 'log(y)'",
        printable(text)));
  }
  Arguments& own = one.arguments;
  own.model = text;
  own.p0 = p0;
  own.p0_file.clear();
  std::erase_if(own.p0, [&](const auto& p) { return !has(model, p.first); });
  std::erase_if(own.bounds, [&](const auto& b) { return !has(model, b.name); });
  std::erase_if(own.fixed, [&](const std::string& name) { return !has(model, name); });
  std::erase_if(own.ties, [&](const std::string& tie) { return !has(model, tied_name(tie)); });
  check_derived(arguments, model);
  return one;
}

void check_names(const std::vector<OneModel>& models, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::any_of(models, [&](const OneModel& one) { return has(one.model, name); })) continue;
    std::string all;
    for (const OneModel& one : models) {
      all += fmt::format("{}{} has {}", all.empty() ? "" : "; ", printable(one.arguments.model, 60),
                         fmt::join(one.model.formula.parameters, ", "));
    }
    throw UsageError(
        fmt::format("--compare: no model has a parameter '{}', which --p0, --fix, --bounds or "
                    "--tie names; {}",
                    name, all));
  }
}

[[noreturn]] void no_fit(const std::vector<ModelFit>& fits, bool data_error) {
  std::string reasons;
  for (const ModelFit& m : fits)
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", printable(m.name, 60), m.error);
  const std::string message = fmt::format("--compare: no model could be fitted. {}", reasons);
  if (data_error) throw BadData(message);  // the reasons name the file
  throw UsageError(message);
}

}  // namespace

ComparedModels compare_models(const Arguments& arguments, const NamedValues& p0, const FitData& data,
                              const FitOneModel& fit) {
  const std::vector<std::string> names = names_given(arguments, p0);
  std::vector<OneModel> models;
  for (const std::string& text : arguments.compare.models)
    models.push_back(one_model(text, arguments, p0, data, names));
  check_names(models, names);

  ComparedModels out;
  bool data_error = false;
  std::vector<ModelFit> fits;
  for (const OneModel& one : models) {
    const Model* const built_in = one.model.builtin;
    ModelFit& made = fits.emplace_back();
    made.name = one.arguments.model;
    made.known = built_in != nullptr ? built_in : known_model(one.model.formula);
    out.interrupted = out.interrupted || shall_stop();
    if (out.interrupted && fits.size() > 1) {
      made.error = "not fitted: interrupted";
      continue;
    }
    try {
      made.fit = fit(one);
      name_places(data, *made.fit);
    } catch (const DataError& e) {
      made.error = placed_message(e, data);
      data_error = true;
    } catch (const Error& e) {
      made.error = e.what();
    }
  }
  out.interrupted = out.interrupted || shall_stop();
  if (std::ranges::none_of(fits, [](const ModelFit& m) { return m.fit.has_value(); }))
    no_fit(fits, data_error);
  FitOptions options;
  options.absolute_sigma = arguments.absolute_sigma;
  options.sigma = data.sigma;
  options.loss = arguments.loss;
  out.comparison = rank_models(std::move(fits), data.y, options);
  const std::string& first = out.comparison.models.front().name;
  out.arguments =
      std::ranges::find(models, first, [](const OneModel& one) { return one.arguments.model; })->arguments;
  return out;
}

}  // namespace nlsq::cli
