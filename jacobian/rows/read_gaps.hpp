// Tells the source of the rows that only some groups of rows are read.
#pragma once

#include "rows/row_model.hpp"

#include <algorithm>
#include <cstddef>

namespace nlsq::inline v0 {

// While it lives, reads of `model` are of `groups` groups of rows that are spread evenly. Where the gaps are
// short, reading ahead costs no more than leaving rows out, and nothing is said.
class ReadGaps {
 public:
  ReadGaps(const RowModel& model, std::size_t groups)
      : model_(model), long_(model.rows() / std::max<std::size_t>(1, groups) >= kLong) {
    if (long_) model_.expect_gaps(true);
  }
  ~ReadGaps() {
    if (long_) model_.expect_gaps(false);
  }
  bool are_long() const { return long_; }
  ReadGaps(const ReadGaps&) = delete;
  ReadGaps& operator=(const ReadGaps&) = delete;

 private:
  static constexpr std::size_t kLong = 1 << 14;  // rows; 128 kB of doubles
  const RowModel& model_;
  bool long_;
};

}  // namespace nlsq::inline v0
