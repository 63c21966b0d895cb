// Parts of the rows of a fit: ranges, and parts with a name.
#pragma once

#include <cstddef>
#include <string>

namespace nlsq::inline v0 {

// Rows [first, first + count).
struct TileRange {
  std::size_t first = 0, count = 0;
};

// A named part of the rows, whose precision may differ from the others'. In the order of the residuals.
struct RowComponent {
  std::string name;
  std::size_t rows = 0;
};

}  // namespace nlsq::inline v0
