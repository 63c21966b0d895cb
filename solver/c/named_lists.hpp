// Texts of options and starting values, "a=1,b=2", "a=0:10,b=:5", "c=0,d", and the names of manifolds.
#pragma once

#include "policy_text.hpp"  // trimmed()

#include <nlsq/manifold.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0::c {

// A number with a decimal point, whatever the locale; "inf" and "nan" are numbers, too. Empty if it is none.
std::optional<double> parsed_number(std::string_view text);

// What follows throws ValidationError that begins with `what` and quotes the wrong part.
std::vector<std::pair<std::string, double>> parsed_values(std::string_view what, std::string_view text);
// A name without a value is allowed.
std::vector<std::pair<std::string, std::optional<double>>> parsed_fixed(std::string_view text);

struct NamedBounds {
  std::string name;
  double lower, upper;  // infinite where a side is not given
};
std::vector<NamedBounds> parsed_bounds(std::string_view text);

// A manifold by name: "quaternion + euclidean 3".
// The manifold of a block of `size` numbers; null for "". Throws ValidationError for an unknown name and for
// sizes that do not add up.
ManifoldPtr manifold_of(std::string_view text, int size);

}  // namespace nlsq::inline v0::c
