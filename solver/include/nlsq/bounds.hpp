// Declares bounds of parameters in SciPy's form: options.bounds = {lower, upper}.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Bounds lower <= p <= upper. Each side is one number for all parameters, or one for each in the model's
// order, in the parameters' units. ±∞ means no bound. If both sides of a parameter are equal, it is fixed
// there.
struct Bounds {
  struct Side {
    Side(double all) : values{all} {}                            // NOLINT: implicit by design
    Side(std::vector<double> each) : values(std::move(each)) {}  // NOLINT
    Side(std::initializer_list<double> each) : values(each) {}   // NOLINT
    std::vector<double> values;
  };
  Bounds() = default;
  Bounds(Side lower_side, Side upper_side)
      : lower(std::move(lower_side.values)), upper(std::move(upper_side.values)) {}

  std::vector<double> lower, upper;  // one value for all parameters, or one for each; both are empty without
                                     // bounds
  bool empty() const { return lower.empty() && upper.empty(); }
};

}  // namespace nlsq::inline v0
