// Sums of built-in models, as in "gaussian + 3*lorentzian + linear". nlsq::model makes one for each such
// text.
#pragma once

#include <nlsq/models.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nlsq::inline v0::guessing {

// Returns true if the text has the form of a sum; its names may be unknown.
bool is_sum(std::string_view text);

// Returns true if the text chooses a built-in model, so that it is no formula: a single name that is no
// predictor, or a sum that names a built-in model. In a sum that names none, names are parameters and
// predictors: a + 2*x.
bool chooses_model(std::string_view text, std::span<const std::string> predictors);

// Returns true if a formula has the form of a sum and names no predictor, so that a built-in model may have
// been meant, as in 2*gausian.
bool may_mean_models(std::string_view text, std::span<const std::string> predictors);

// Builds the model of a sum, or returns nothing if `text` does not have the form of one: names and multiples
// of names, joined by +. A name alone is no sum. Throws ValidationError if a name is unknown, if the models
// have different numbers of predictors, or if there are more than 20 terms.
std::optional<Model> make_sum(std::string_view text);

}  // namespace nlsq::inline v0::guessing
