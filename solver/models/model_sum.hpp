// Sums of built-in models, as in "gaussian + 3*lorentzian + linear". nlsq::model makes one for each such
// text.
#pragma once

#include <nlsq/models.hpp>

#include <optional>
#include <string_view>

namespace nlsq::inline v0::guessing {

// Whether the text has the form of a sum; its names may be unknown.
bool is_sum(std::string_view text);

// Builds the model of a sum, or returns nothing if `text` does not have the form of one: names and multiples
// of names, joined by +. A name alone is no sum. Throws ValidationError if a name is unknown, if the models
// have different numbers of predictors, or if there are more than 20 terms.
std::optional<Model> make_sum(std::string_view text);

}  // namespace nlsq::inline v0::guessing
