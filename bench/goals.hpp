// Declares the goals of the bench: the required value of a figure, and whether this run met it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class Asked { at_least, at_most };

struct Goal {
  std::string suite, figure;  // "exp, 1e7 rows, 2 threads: over GSL"
  double measured = 0;
  Asked asked = Asked::at_least;
  double limit = 0;
  std::string unit;  // "x", "GB/s", " ns"; may be empty
  bool met() const {
    return asked == Asked::at_least ? measured >= limit : measured <= limit;
  }  // NaN counts as missed
};

// Returns one line for each goal, and a line with their counts.
std::string goals_table(const std::vector<Goal>& goals);

}  // namespace bench
