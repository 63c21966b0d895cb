// A row of the registry: a built-in model in a short form, and how it becomes a Model. The file of each
// family of models fills such rows.
#pragma once

#include "models/guesses/sample.hpp"

#include <nlsq/models.hpp>

#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0::guessing {

struct ParameterRow {
  const char* name;
  const char* meaning;
  TrialRange trial;
};

struct Row {
  std::string name, formula, description;
  std::vector<ParameterRow> parameters;  // in order of first appearance in the formula
  TrialRange trial_x;
  GuessRule rule;
  std::size_t most = kSmooth;  // largest number of rows in the sample that the rule gets
  Domain domain = Domain::all;
  std::vector<std::string> aliases = {};
  int predictors = 1;
};

inline Model make_model(Row row) {
  Model model;
  model.name = std::move(row.name);
  model.formula = std::move(row.formula);
  model.description = std::move(row.description);
  for (const ParameterRow& parameter : row.parameters) {
    model.parameters.emplace_back(parameter.name);
    model.meaning.emplace_back(parameter.meaning);
    model.trials.push_back(parameter.trial);
  }
  model.predictors = row.predictors;
  model.aliases = std::move(row.aliases);
  model.trial_x = row.trial_x;
  model.rule = sampled(row.predictors, row.parameters.size(), row.domain, row.most, std::move(row.rule));
  return model;
}

// Add the families, in the order in which models are listed.
void add_polynomials(std::vector<Model>& models);
void add_exponentials(std::vector<Model>& models);
void add_powers(std::vector<Model>& models);
void add_peaks(std::vector<Model>& models);
void add_skewed_peaks(std::vector<Model>& models);
void add_double_peaks(std::vector<Model>& models);
void add_distributions(std::vector<Model>& models);
void add_waves(std::vector<Model>& models);
void add_steps(std::vector<Model>& models);
void add_saturations(std::vector<Model>& models);
void add_rationals(std::vector<Model>& models);
void add_thermal(std::vector<Model>& models);
void add_surfaces(std::vector<Model>& models);

}  // namespace nlsq::inline v0::guessing
