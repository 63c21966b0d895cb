// Declares how the file of each family of models adds them to the registry.
#pragma once

#include "models/guesses/sample.hpp"

#include <nlsq/column.hpp>
#include <nlsq/models.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0::guessing {

struct ParameterRow {
  const char* name;
  const char* meaning;
  TrialRange trial;
};

// Properties that only some models have.
struct Details {
  std::size_t most = kSmooth;  // largest number of rows in the sample that the rule gets
  Domain domain = Domain::all;
  std::vector<std::string> aliases = {};
  int predictors = 1;
};

// Adds one built-in model to the list. `parameters` must stand in the order in which the formula first uses
// them.
void add(std::vector<Model>& models, std::string name, std::string formula, std::string description,
         const std::vector<ParameterRow>& parameters, TrialRange trial_x, GuessRule rule,
         Details details = {});

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

// The functions below are about poles of ratios of polynomials: places where the denominator is 0
// (rationals.cpp).

// Returns a zero of 1 + b[0] v + b[1] v^2 within [low, high], if there is one. `b` has one or two
// coefficients.
std::optional<double> pole_within(std::span<const double> b, double low, double high);

// Returns a warning with the place of a pole if the fitted curve of rational11 or rational22 has one within
// the range of x; else an empty string.
std::string pole_warning(const Model& model, std::span<const double> parameters, const Column& x);

}  // namespace nlsq::inline v0::guessing
