// Describes subsets of the rows of a fit: ranges, and named components. Row evaluation and precision policies
// use them.
#pragma once

#include <cstddef>
#include <string>

namespace nlsq::inline v0 {

// This is the range of rows [first, first + count).
struct TileRange {
  std::size_t first = 0, count = 0;
};

// This is a named range of the rows, whose precision may differ from the rest. Components are in the order of
// the residuals.
struct RowComponent {
  std::string name;
  std::size_t rows = 0;
};

}  // namespace nlsq::inline v0
