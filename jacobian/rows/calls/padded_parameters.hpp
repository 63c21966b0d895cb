// Guards against a user's function that reads more parameters than there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// A copy of parameters that is followed in memory by 16 other numbers, which are NaN if nothing else is
// given. A function that reads beyond its parameters finds these numbers, and not what the memory held
// before.
class PaddedParameters {
 public:
  explicit PaddedParameters(std::span<const double> p,
                            double behind = std::numeric_limits<double>::quiet_NaN())
      : count_(p.size()), numbers_(p.size() + 16, behind) {
    std::ranges::copy(p, numbers_.begin());
  }
  std::span<const double> parameters() const { return {numbers_.data(), count_}; }

 private:
  std::size_t count_;
  std::vector<double> numbers_;
};

}  // namespace nlsq::inline v0
