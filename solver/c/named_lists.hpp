// Parses the texts of options and starting values, such as "a=1,b=2", "a=0:10,b=:5" and "c=0,d", and the
// names of manifolds.
#pragma once

#include "policy_text.hpp"  // trimmed()

#include <nlsq/manifold.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0::c {

// Returns a number with a decimal point, whatever the locale; "inf" and "nan" are numbers, too. Returns
// nothing if the text is no number.
std::optional<double> parsed_number(std::string_view text);

// The functions below throw ValidationError that begins with `what` and quotes the wrong part.
std::vector<std::pair<std::string, double>> parsed_values(std::string_view what, std::string_view text);
// A name without a value is allowed.
std::vector<std::pair<std::string, std::optional<double>>> parsed_fixed(std::string_view text);

struct NamedBounds {
  std::string name;
  double lower, upper;  // infinite if a side is not given
};
std::vector<NamedBounds> parsed_bounds(std::string_view text);

// Makes the manifold of a block of `size` numbers from its name, such as "quaternion + euclidean 3". Returns
// null for an empty text. Throws ValidationError for an unknown name, and if the sizes of the parts do not
// add up to `size`.
ManifoldPtr manifold_of(std::string_view text, int size);

}  // namespace nlsq::inline v0::c
