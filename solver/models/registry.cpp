// Implements the registry of built-in models: all rows, and look-up by name. An unknown name gives an error
// with the nearest names.
#include "models/model_families.hpp"
#include "models/model_sum.hpp"

#include "expression/names.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace nlsq::inline v0 {

void guessing::add(std::vector<Model>& models, std::string name, std::string formula, std::string description,
                   const std::vector<ParameterRow>& parameters, TrialRange trial_x, GuessRule rule,
                   Details details) {
  Model& model = models.emplace_back();
  model.name = std::move(name);
  model.formula = std::move(formula);
  model.description = std::move(description);
  for (const ParameterRow& parameter : parameters) {
    model.parameters.emplace_back(parameter.name);
    model.meaning.emplace_back(parameter.meaning);
    model.trials.push_back(parameter.trial);
  }
  model.predictors = details.predictors;
  model.aliases = std::move(details.aliases);
  model.trial_x = trial_x;
  model.rule = sampled(details.predictors, parameters.size(), details.domain, details.most, std::move(rule));
}

namespace {

std::vector<Model> all_models() {
  std::vector<Model> models;
  guessing::add_polynomials(models);
  guessing::add_exponentials(models);
  guessing::add_powers(models);
  guessing::add_peaks(models);
  guessing::add_skewed_peaks(models);
  guessing::add_double_peaks(models);
  guessing::add_distributions(models);
  guessing::add_waves(models);
  guessing::add_steps(models);
  guessing::add_saturations(models);
  guessing::add_rationals(models);
  guessing::add_thermal(models);
  guessing::add_surfaces(models);
  return models;
}

const std::vector<Model>& registry() {
  static const std::vector<Model> models = all_models();
  return models;
}

// Words that other programs and textbooks use for a model. Errors suggest the model for them. They are not
// accepted as names, because several models might be meant: `exponential` is exp, exp0 or exp_growth.
constexpr std::pair<const char*, const char*> kOtherWords[] = {
    {"quadratic", "poly2"},
    {"parabola", "poly2"},
    {"polynomial", "poly2"},
    {"cubic", "poly3"},
    {"quartic", "poly4"},
    {"exponential", "exp"},
    {"exponential", "exp_growth"},
    {"decay", "exp"},
    {"double_exponential", "biexp"},
    {"two_exponentials", "biexp"},
    {"sigmoid", "logistic"},
    {"sigmoid", "logistic4"},
    {"boltzmann", "fermi"},
    {"normal", "gaussian"},
    {"hyperbola", "rational11"},
    {"doseresponse", "logistic4"},
};

// Returns the three names nearest to `name` as "a, b, c".
std::string nearest_names(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  const auto rank = [&](const std::string& candidate, const std::string& shown) {
    const bool contained = !name.empty() && candidate != name && candidate.find(name) != std::string::npos;
    ranked.emplace_back(contained ? 1 : edit_distance(name, candidate), shown);
  };
  for (const auto& [word, model] : kOtherWords) rank(word, model);
  for (const Model& model : registry()) {
    rank(model.name, model.name);
    for (const std::string& alias : model.aliases) rank(alias, alias);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [distance, shown] : ranked) {
    if (names.size() < 3 && std::ranges::find(names, shown) == names.end()) names.push_back(shown);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Sums are made once for each text and kept, so that references to them stay valid.
const Model* find_sum(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, Model, std::less<>> sums;
  {
    const std::lock_guard lock(mutex);
    if (const auto known = sums.find(text); known != sums.end()) return &known->second;
  }
  std::optional<Model> sum = guessing::make_sum(text);
  if (!sum) return nullptr;
  const std::lock_guard lock(mutex);
  return &sums.try_emplace(std::string(text), std::move(*sum)).first->second;
}

}  // namespace

std::span<const Model> models() { return registry(); }

const Model* find_builtin(std::string_view name) {
  for (const Model& model : registry())
    if (model.name == name || std::ranges::find(model.aliases, name) != model.aliases.end()) return &model;
  return nullptr;
}

bool is_model_sum(std::string_view text) { return guessing::is_sum(text); }

const Model& model(std::string_view name) {
  if (const Model* builtin = find_builtin(name)) return *builtin;
  if (const Model* sum = find_sum(name)) return *sum;
  const std::string_view shown = name.substr(0, 64);  // the name may be long, even a whole file
  throw ValidationError(
      fmt::format("no built-in model is called '{}'; the nearest names are {}", shown, nearest_names(shown)));
}

}  // namespace nlsq::inline v0
